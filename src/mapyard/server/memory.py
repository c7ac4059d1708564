"""Memory that was freed goes back to the system, so that a worker's size is what it holds.

glibc keeps what threads freed in arenas of their own; over a million requests a worker grew by a
fifth, of which half came back at once when asked for.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from typing import Final

TRIM_S: Final = 120.0


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
