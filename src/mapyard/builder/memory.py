"""How much memory a build may take: tables and sorts beyond it go to disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mapyard.settings import Settings

_LEAST_BYTES: Final = 1 << 30
#: What a build holds besides tables and sorts: the program, and blocks of elements and shapes.
_BASE_BYTES: Final = 300 << 20
_LEAST_SORT_BYTES: Final = 32 << 20


def machine_bytes() -> int:
    """Return the memory of the machine, or of the container."""
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return size  # no cgroup v2 here
    return size if limit == "max" else min(size, int(limit))


def build_bytes(settings: Settings) -> int:
    """Return the memory that a build may take."""
    return settings.build_memory or max(_LEAST_BYTES, machine_bytes() // 4)


def array_bytes(settings: Settings) -> int:
    """Return what of it arrays may take where texts, shapes and an index are held besides."""
    return max(_LEAST_SORT_BYTES, (build_bytes(settings) - _BASE_BYTES) // 4)


def sort_bytes(settings: Settings) -> int:
    """Return what of it one sort or table may take; while one is read, the next one fills."""
    return max(_LEAST_SORT_BYTES, (build_bytes(settings) - _BASE_BYTES) // 2)
