"""Memory that was freed goes back to the system, so that a worker's size is what it holds.

glibc keeps what threads freed in arenas of their own; over a million requests a worker grew by a
fifth, of which half came back at once when asked for. Until then it is kept: an answer of some
megabytes else takes a quarter longer, as the system hands out its pages anew.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from typing import Final

TRIM_S: Final = 120.0
#: What a process keeps of freed memory, and the largest piece that is taken of it, bytes.
_KEPT_BYTES: Final = 64 << 20
_LARGEST_PIECE_BYTES: Final = 32 << 20
#: Numbers of options of glibc's mallopt.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3


def keep_freed() -> None:
    """Keep freed memory for what is asked for next, in this process and those forked of it."""
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # another C library
    set_option(_M_TRIM_THRESHOLD, _KEPT_BYTES)
    set_option(_M_MMAP_THRESHOLD, _LARGEST_PIECE_BYTES)


def find_trim() -> Callable[[], object] | None:
    """Return the C library's malloc_trim, None where it has none (musl)."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return lambda: trim(0)


async def keep_trimmed(every_s: float = TRIM_S) -> None:
    """Give memory back now and then, in a thread: it takes some milliseconds."""
    trim = find_trim()
    while trim is not None:
        await asyncio.sleep(every_s)
        await asyncio.to_thread(trim)
