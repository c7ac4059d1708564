"""Rendered tiles of one dataset: the hottest in memory, the others in files, both bounded.

Files lie in `CACHE/<dataset id>/<z>/<x>/<y>`; workers share them. A worker that has written a
sixteenth of the bound looks at the whole cache and removes datasets that are gone, then the files
unused for longest. Losing the cache loses nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

from mapyard.tiles.mercator import TileId

#: Folders beside those of datasets: what is kept in them is as little lost.
NOT_DATASETS: Final = ("glyphs", "raster")


class TileCache:
    """The cache of one dataset in one worker; safe for several threads."""

    def __init__(
        self, folder: Path, dataset_id: str, max_disk_bytes: int, max_memory_bytes: int
    ) -> None:
        self._root = folder
        self._folder = folder / dataset_id
        self._max_disk_bytes = max_disk_bytes
        self._max_memory_bytes = max_memory_bytes
        self._memory: OrderedDict[TileId, bytes] = OrderedDict()
        self._memory_bytes = 0
        self._lock = threading.Lock()
        self._written_bytes = max_disk_bytes // 16  # look once when the first tile comes

    def find(self, tile: TileId) -> bytes | None:
        """Return a tile, b"" when it is known to be empty, None when it is not known."""
        with self._lock:
            data = self._memory.get(tile)
            if data is not None:
                self._memory.move_to_end(tile)
                return data
        path = self._path(tile)
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        self._remember(tile, data)
        return data

    def put(self, tile: TileId, data: bytes) -> None:
        """Keep a tile; a full or unwritable disk is no error."""
        self._remember(tile, data)
        if not self._max_disk_bytes:
            return
        path = self._path(tile)
        partial = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.partial")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(data)
            partial.replace(path)
        with self._lock:
            self._written_bytes += max(len(data), 4096)  # files take whole blocks
            is_due = self._written_bytes >= self._max_disk_bytes // 16
            if is_due:
                self._written_bytes = 0
        if is_due:
            self.prune()

    def prune(self) -> int:
        """Remove old datasets and the tiles unused for longest; return the bytes left."""
        datasets = [
            entry
            for entry in _entries(self._root)
            if entry.is_dir() and entry.name not in NOT_DATASETS
        ]
        newest = sorted(datasets, key=lambda entry: entry.name)[-2:]
        for entry in datasets:
            if entry.path != os.fspath(self._folder) and entry not in newest:
                shutil.rmtree(entry.path, ignore_errors=True)
        files = []
        for root, _, names in os.walk(self._root):
            for name in names:
                with contextlib.suppress(OSError):
                    path = Path(root, name)
                    stat = path.stat()
                    files.append((stat.st_mtime_ns, max(stat.st_size, 4096), path))
        total = sum(size for _, size, _ in files)
        if total <= self._max_disk_bytes:
            return total
        for _, size, path in sorted(files):
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size
            if total <= self._max_disk_bytes * 3 // 4:
                break
        return total

    def _remember(self, tile: TileId, data: bytes) -> None:
        with self._lock:
            old = self._memory.pop(tile, None)
            self._memory_bytes += len(data) - (len(old) if old is not None else 0)
            self._memory[tile] = data
            while self._memory_bytes > self._max_memory_bytes and len(self._memory) > 1:
                self._memory_bytes -= len(self._memory.popitem(last=False)[1])

    def _path(self, tile: TileId) -> Path:
        return self._folder / str(tile.z) / str(tile.x) / str(tile.y)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []
