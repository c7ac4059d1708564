"""A file of 64-bit words that all processes of a machine map and change under one lock.

A file that somebody may have mapped is never made shorter: touching what is gone kills a process.
One that cannot be used is replaced by a new one under its name, and who has the old one notices.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Final, Self

MAGIC: Final = 0
LENGTH: Final = 1
FIRST: Final = 2


def _open_locked(path: Path) -> int:
    """Return the locked file that has this name now: it may be replaced while we wait."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(fd).st_ino:
                return fd
        os.close(fd)


class MappedWords:
    """`words[FIRST:]` belong to the caller, inside `with` (which holds the lock) only.

    A new file is filled with zeros; so is one whose first word is not `magic` or whose length does
    not fit, as after a power failure. The kernel releases the lock of a process that dies.
    """

    def __init__(self, path: Path, *, magic: int, length: int) -> None:
        self._path = path
        self._magic = magic
        self._length = length
        self._map: mmap.mmap | None = None
        self.words = memoryview(b"").cast("q")
        self._fd = _open_locked(path)
        try:
            #: Whether this call made it (or made it anew).
            self.is_new = not self._is_whole()
            if self.is_new:
                self._make()
            self._remap()
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def __enter__(self) -> Self:
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        if self.words[MAGIC] != self._magic:
            self._open_anew()
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

    def _is_whole(self) -> bool:
        size = os.fstat(self._fd).st_size
        found = os.pread(self._fd, 16, 0)
        return found[:8] == self._magic.to_bytes(8, "little") and (
            8 * self._length <= 8 * int.from_bytes(found[8:], "little") <= size
        )

    def _make(self) -> None:
        """Put a file of zeros under the name; the lock on the old one is held, and then its own."""
        draft = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            head = self._magic.to_bytes(8, "little") + self._length.to_bytes(8, "little")
            # All of it: a full disk is an error here and now, and not a bus error later.
            os.posix_fallocate(fd, 0, 8 * self._length)
            os.pwrite(fd, head, 0)
            draft.replace(self._path)
        except OSError:
            os.close(fd)
            draft.unlink(missing_ok=True)
            raise
        os.close(self._fd)
        self._fd = fd

    def _open_anew(self) -> None:
        """Another process could not use this file and replaced it: take the new one, locked."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)  # it may be that very file
        fd = _open_locked(self._path)
        os.close(self._fd)
        self._fd = fd
        if not self._is_whole():
            self._make()
        self._remap()

    def _allocate(self, length: int) -> None:
        # Not truncated to length: a full disk is an error here and now, and not a bus error when
        # the mapping is touched.
        size = os.fstat(self._fd).st_size
        if size < 8 * length:
            os.posix_fallocate(self._fd, size, 8 * length - size)

    def _remap(self) -> None:
        self.words.release()
        if self._map is not None:
            self._map.close()
        self._map = mmap.mmap(self._fd, os.fstat(self._fd).st_size // 8 * 8)
        self.words = memoryview(self._map).cast("q")
