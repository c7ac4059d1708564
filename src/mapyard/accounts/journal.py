"""A worker's usage journal: one mapped file of fixed records, appended to without a system call.

A record is in the kernel's pages as soon as it is written, so a killed worker loses nothing of
what it noted. `usage.enter_journals` reads the journals into the ledger and deletes those whose
worker has let them go. A power failure loses what the kernel had not written back, usually the
last 30 seconds; the customer is then charged too little, never too much.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import mmap
import os
import struct
import threading
import uuid
from pathlib import Path
from typing import Final

import numpy as np

log = logging.getLogger(__name__)

SUFFIX: Final = ".journal"
RECORD: Final = np.dtype(
    [
        ("admitted_s", "<u4"),  # never 0 in a written record
        ("account_id", "<u4"),
        ("key_id", "<u4"),
        ("took_us", "<u4"),
        ("status", "<u2"),
        ("units", "u1"),
        ("flags", "u1"),
        ("endpoint", "S48"),
        ("code", "S28"),
        ("request_id", "S32"),
    ]
)
_LAYOUT: Final = struct.Struct("<IIIIHBB48s28s32s")
PREMIUM: Final = 1
OVERAGE: Final = 2
HEADER_BYTES: Final = 128  # the first word is the count of records
_CAPACITY: Final = 16_384
#: Where no journal can be made, records are held in memory, at most so many; how often to try.
_MOST_HELD: Final = 100_000
_RETRY_S: Final = 0.5


class JournalWriter:
    """Appends to a journal of its own in `folder`, and to a next one when it is full."""

    def __init__(self, folder: Path, *, capacity: int = _CAPACITY) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._capacity = capacity
        self._lock = threading.Lock()
        self._fd = -1
        self._map: mmap.mmap | None = None
        self._count = 0
        self._is_ahead = False
        self._spare: tuple[int, mmap.mmap] | None = None
        self._maker: threading.Thread | None = None
        #: Records that wait for a journal: the disk is full, or the folder may not be written.
        self._held: list[bytes] = []
        self._closed = threading.Event()
        #: Records that could not be kept: no journal could be made for too long.
        self.lost = 0

    def append(
        self,
        *,
        admitted_s: int,
        account_id: int,
        key_id: int,
        took_us: int,
        status: int,
        units: int,
        premium: bool,
        overage: bool,
        endpoint: str,
        code: str = "",
        request_id: str = "",
    ) -> None:
        """Note one answered request."""
        record = _LAYOUT.pack(
            admitted_s,
            account_id,
            key_id,
            min(took_us, 0xFFFF_FFFF),
            status,
            units,
            PREMIUM * premium | OVERAGE * overage,
            endpoint.encode()[:48],
            code.encode()[:28],
            request_id.encode()[:32],
        )
        with self._lock:
            if self._held:
                self._hold(record)
                return
            if self._map is None or self._count == self._capacity:
                if not self._begin():
                    self._hold(record)
                    threading.Thread(target=self._write_held, name="journal", daemon=True).start()
                    return
            elif self._is_ahead and self._count == self._capacity // 2:
                self._maker = threading.Thread(target=self.prepare, name="journal", daemon=True)
                self._maker.start()
            self._write(record)

    def _write_held(self) -> None:
        """Try until all that is held is written."""
        while not self._closed.wait(_RETRY_S):
            with self._lock:
                if not self._held or self._begin():
                    return

    def _hold(self, record: bytes) -> None:
        if len(self._held) < _MOST_HELD:
            self._held.append(record)
        else:
            self.lost += 1

    def _write(self, record: bytes) -> None:
        assert self._map is not None
        at = HEADER_BYTES + self._count * RECORD.itemsize
        self._map[at : at + RECORD.itemsize] = record
        self._count += 1
        self._map[:8] = self._count.to_bytes(8, "little")

    def close(self) -> None:
        """Let the journal go; it stays on disk until it was entered into the ledger."""
        with self._lock:
            self._closed.set()
            if self._held and not self._begin():
                self.lost += len(self._held)
                log.error("the usage of %d requests is lost: no journal", len(self._held))
            if self._map is not None:
                self._map.close()
                os.close(self._fd)
                self._map = None
            if self._spare is not None:
                self._spare[1].close()
                os.close(self._spare[0])
                self._spare = None

    def prepare(self) -> None:
        """Make the next journal ahead, from now on: it is some megabytes for the disk to write."""
        self._is_ahead = True
        if self._spare is not None:
            return
        made = self._make()
        with self._lock:
            if self._spare is None:
                self._spare = made
            elif made is not None:  # two at once
                made[1].close()
                os.close(made[0])

    def _begin(self) -> bool:
        """Go on in another journal, if one can be made, with all that was held."""
        if self._map is not None:
            self._map.close()
            os.close(self._fd)
            self._map = None
        while self._map is None or self._held or self._count == self._capacity:
            if self._map is None or self._count == self._capacity:
                made, self._spare = self._spare or self._make(), None
                if self._map is not None:
                    self._map.close()
                    os.close(self._fd)
                    self._map = None
                if made is None:
                    return False
                self._fd, self._map = made
                self._count = 0
            room = self._capacity - self._count
            for record in self._held[:room]:
                self._write(record)
            del self._held[:room]
        return True

    def _make(self) -> tuple[int, mmap.mmap] | None:
        size = HEADER_BYTES + self._capacity * RECORD.itemsize
        fd, path = -1, None
        try:
            path = self._folder / f"{folder_mark(self._folder)}-{uuid.uuid4().hex}{SUFFIX}"
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)  # held as long as this worker lives
            if os.fstat(fd).st_nlink == 0:
                raise FileNotFoundError(errno.ENOENT, "it was deleted while it was made")
            os.posix_fallocate(fd, 0, size)  # a full disk shows here, not as a bus error later
            return fd, mmap.mmap(fd, size)
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            if path is not None:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            if not self._held:
                log.error(
                    "no usage journal can be made: %s; usage is held in memory until one can",
                    error.strerror,
                )
            return None


def folder_mark(folder: Path) -> str:
    """Return what the names of this folder's journals begin with: no other machine's do."""
    path = folder / "mark"
    if not path.exists():
        draft = folder / f"mark.{uuid.uuid4().hex}"
        draft.write_text(uuid.uuid4().hex[:16])
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)  # atomic: the first of several workers wins
        draft.unlink()
    return path.read_text()
