"""Results kept between pages: page 2 of a query costs no second run, in whatever worker it lands.

Each worker keeps the latest in memory; files beside them are shared by all workers of a machine. A
file is a copy that can be made again: what cannot be read or written is as if it were not there.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import msgspec
import numpy as np
import shapely

from mapyard.overpass.osm.rowsets import Derived
from mapyard.overpass.parse.syntax import Out
from mapyard.overpass.write.entries import Entries

#: Memory for kept results in one worker, and bytes of files of all workers.
MAX_BYTES: Final = 64 << 20
MAX_FILE_BYTES: Final = 256 << 20
#: The largest result that is kept, as a part of the memory.
_SHARE: Final = 4


class _File(msgspec.Struct, array_like=True):
    """What a file holds; arrays as bytes, geometries as WKB."""

    outs: list[Out]
    out_index: bytes
    rows: bytes
    derived: list[tuple[str, int, dict[str, str], bytes | None]]
    counts: list[dict[str, Any]]
    warnings: list[str]


class ResultCache:
    """The entries of the latest queries by name; used by several threads.

    A name holds the dataset's id and is a file name.
    """

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder / "overpass" if folder is not None else None
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, Entries] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, name: str) -> Entries | None:
        """Return kept entries, or None."""
        with self._lock:
            entries = self._entries.get(name)
            if entries is not None:
                self._entries.move_to_end(name)
                return entries
        entries = self._read(name)
        if entries is not None:
            self._remember(name, entries)
        return entries

    def keep(self, name: str, entries: Entries) -> None:
        """Keep entries, and drop the ones used longest ago."""
        if entries.nbytes > self._max_bytes // _SHARE:
            return
        self._remember(name, entries)
        self._write(name, entries)

    def _remember(self, name: str, entries: Entries) -> None:
        with self._lock:
            old = self._entries.pop(name, None)
            self._bytes += entries.nbytes - (old.nbytes if old is not None else 0)
            self._entries[name] = entries
            while self._bytes > self._max_bytes:
                _, dropped = self._entries.popitem(last=False)
                self._bytes -= dropped.nbytes

    def _read(self, name: str) -> Entries | None:
        if self._folder is None:
            return None
        try:
            data = (self._folder / name).read_bytes()
            return _decode(msgspec.msgpack.decode(data, type=_File))
        except (OSError, msgspec.MsgspecError, ValueError):
            return None

    def _write(self, name: str, entries: Entries) -> None:
        if self._folder is None:
            return
        with contextlib.suppress(OSError):  # a full disk costs a second run, nothing else
            self._folder.mkdir(parents=True, exist_ok=True)
            part = self._folder / f".{name}.{uuid4().hex}"
            part.write_bytes(msgspec.msgpack.encode(_encode(entries)))
            part.replace(self._folder / name)
            self._prune()

    def _prune(self) -> None:
        assert self._folder is not None
        with os.scandir(self._folder) as found:
            files = sorted((f.stat().st_mtime, f.stat().st_size, f.path) for f in found)
        total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= MAX_FILE_BYTES:
                break
            Path(path).unlink(missing_ok=True)
            total -= size


def _encode(entries: Entries) -> _File:
    derived = [
        (d.type_name, d.id, d.tags, None if d.geometry is None else shapely.to_wkb(d.geometry))
        for d in entries.derived
    ]
    return _File(
        entries.outs,
        entries.out_index.astype(np.uint32).tobytes(),
        entries.rows.astype(np.uint32).tobytes(),
        derived,
        entries.counts,
        entries.warnings,
    )


def _decode(file: _File) -> Entries:
    derived = [
        Derived(type_name, number, tags, None if wkb is None else shapely.from_wkb(wkb))
        for type_name, number, tags, wkb in file.derived
    ]
    return Entries(
        file.outs,
        np.frombuffer(file.out_index, np.uint32),
        np.frombuffer(file.rows, np.uint32),
        derived,
        file.counts,
        file.warnings,
    )
