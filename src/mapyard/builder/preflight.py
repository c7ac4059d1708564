"""Before a build: is there enough disk and memory? Refuse early, with both numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from mapyard.errors import MapyardError


class Estimate(NamedTuple):
    """What a step needs: peak memory, what it takes on disk, CPU seconds on a reference machine."""

    memory_bytes: int
    disk_bytes: int
    cpu_s: float = 0.0


class NoRoom(MapyardError):  # noqa: N818
    """Too little disk or memory for a build."""


def available_memory_bytes() -> int:
    """Return the memory that this process may still take: the machine's or its container's."""
    available = 1 << 62
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        if limit != "max":
            available = min(available, int(limit) - used)
    except (OSError, ValueError):
        pass  # no cgroup v2 here
    return available


def check_room(data: Path, needs: list[Estimate]) -> None:
    """Raise NoRoom unless disk and memory suffice for steps that run one after the other."""
    disk = sum(need.disk_bytes for need in needs)
    memory = max(need.memory_bytes for need in needs)
    free_disk = shutil.disk_usage(data).free
    free_memory = available_memory_bytes()
    if disk > free_disk:
        raise NoRoom(
            f"the build needs about {format_bytes(disk)} of disk in {data}, "
            f"{format_bytes(free_disk)} are free; "
            "remove old datasets with: mapyard datasets prune"
        )
    if memory > free_memory:
        raise NoRoom(
            f"the build needs about {format_bytes(memory)} of memory, "
            f"{format_bytes(free_memory)} are available; "
            "stop other programs or build a smaller extract"
        )


def format_bytes(size: int) -> str:
    """Return a size in gigabytes, as people write it."""
    return f"{size / 1e9:.2f} GB"
