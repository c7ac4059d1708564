"""The tiles of an opened dataset: prepared low zooms, a cache, or rendered when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from mapyard.tiles.cache import TileCache
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import PmtilesReader
from mapyard.tiles.render import compress_tile, render_tile
from mapyard.tiles.table import Table

TABLE_FOLDER: Final = "tiles"
LOW_ZOOM_FILE: Final = "tiles.pmtiles"
#: Zooms up to this one are rendered at build: few tiles, of which each holds much.
MAX_LOW_ZOOM: Final = 11


class TileSource:
    """Gives compressed tiles; safe for several threads."""

    def __init__(self, folder: Path, cache: TileCache | None = None) -> None:
        self.table = Table(folder / TABLE_FOLDER)
        self._low = PmtilesReader(folder / LOW_ZOOM_FILE)
        self._cache = cache
        #: For who serves the tiles: ready answers by the path asked for.
        self.answers: dict[str, Any] = {}

    def find_ready(self, tile: TileId) -> bytes | None:
        """Return the gzip bytes of a tile that needs no rendering (b"": empty), or None."""
        if tile.z <= MAX_LOW_ZOOM:
            return self._low.find(tile) or b""
        return self._cache.find(tile) if self._cache is not None else None

    def get(self, tile: TileId) -> bytes:
        """Return the gzip bytes of a tile, rendered if need be; b"" when nothing is in it."""
        ready = self.find_ready(tile)
        if ready is not None:
            return ready
        data = render_tile(self.table, tile)
        compressed = compress_tile(data) if data else b""
        if self._cache is not None:
            self._cache.put(tile, compressed)
        return compressed

    def close(self) -> None:
        """Unmap the archive."""
        self._low.close()
