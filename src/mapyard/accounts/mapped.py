"""A file of 64-bit words that all processes of a machine map and change under one lock."""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

MAGIC: Final = 0
LENGTH: Final = 1
FIRST: Final = 2


class MappedWords:
    """`words[FIRST:]` belong to the caller, inside `with` (which holds the lock) only.

    A new file is filled with zeros; so is one whose first word is not `magic` or whose length does
    not fit, as after a power failure. The kernel releases the lock of a process that dies.
    """

    def __init__(self, path: Path, *, magic: int, length: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._map: mmap.mmap | None = None
        self.words = memoryview(b"").cast("q")
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            size = os.fstat(self._fd).st_size
            found = os.pread(self._fd, 16, 0)
            whole = found[:8] == magic.to_bytes(8, "little") and (
                8 * length <= 8 * int.from_bytes(found[8:], "little") <= size
            )
            if not whole:
                os.ftruncate(self._fd, 0)
                self._allocate(length)
            self._remap()
            #: Whether this call made it (or made it anew).
            self.is_new = not whole
            if not whole:
                self.words[LENGTH] = length
                self.words[MAGIC] = magic
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def __enter__(self) -> Self:
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        if self.words[LENGTH] > len(self.words):
            self._remap()  # another process made the file longer
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def lengthen(self, length: int) -> None:
        """Make the file at least `length` words long; the lock is held."""
        self._allocate(length)
        self._remap()
        self.words[LENGTH] = max(length, self.words[LENGTH])

    def close(self) -> None:
        """Unmap and close."""
        self.words.release()
        if self._map is not None:
            self._map.close()
        os.close(self._fd)

    def _allocate(self, length: int) -> None:
        # Written, not truncated to length: a full disk is an error here and now, and not a bus
        # error when the mapping is touched.
        size = os.fstat(self._fd).st_size
        if size < 8 * length:
            os.pwrite(self._fd, bytes(8 * length - size), size)

    def _remap(self) -> None:
        self.words.release()
        if self._map is not None:
            self._map.close()
        self._map = mmap.mmap(self._fd, os.fstat(self._fd).st_size // 8 * 8)
        self.words = memoryview(self._map).cast("q")
