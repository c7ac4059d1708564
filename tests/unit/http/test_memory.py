"""What was freed goes back to the system."""

from __future__ import annotations

import asyncio
import platform
import subprocess
import sys

import pytest

from mapyard.server import memory


def test_trimming_is_asked_for_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(memory, "find_trim", lambda: lambda: asked.append(1))

    async def main() -> None:
        task = asyncio.ensure_future(memory.keep_trimmed(0.005))
        while len(asked) < 3:
            await asyncio.sleep(0.005)
        task.cancel()

    asyncio.run(asyncio.wait_for(main(), 10))
    assert len(asked) >= 3


def test_the_c_library_of_this_machine_can() -> None:
    trim = memory.find_trim()
    assert trim is None or trim() in (0, 1)


WORK = """
import resource, sys
from mapyard.server.memory import keep_freed
if sys.argv[1] == "keep":
    keep_freed()
for _ in range(50):
    pieces = [b"x" * (10_000_000 + n) for n in range(4)]
    del pieces
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an option of glibc")
def test_freed_memory_is_used_again() -> None:
    def count_faults(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", WORK, how], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    # Four pieces are 9,766 pages, which are new fifty times, or once.
    assert count_faults("keep") < 30_000 < count_faults("not")
