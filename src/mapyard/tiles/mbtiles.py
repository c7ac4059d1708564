"""MBTiles 1.3 writer: a SQLite file with rows counted from the south.

https://github.com/mapbox/mbtiles-spec/blob/master/1.3/spec.md
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mapyard.tiles.mercator import TileId


class MbtilesWriter:
    """Collects compressed tiles; `close` names the finished file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(path.name + ".partial")
        self._partial.unlink(missing_ok=True)
        self._database = sqlite3.connect(self._partial)
        self._database.executescript(
            "PRAGMA journal_mode=off; PRAGMA synchronous=off;"
            "CREATE TABLE metadata (name TEXT, value TEXT);"
            "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER,"
            " tile_data BLOB);"
        )
        self._zooms: set[int] = set()

    def add(self, tile: TileId, data: bytes) -> None:
        """Add one compressed tile."""
        row = (1 << tile.z) - 1 - tile.y
        self._database.execute("INSERT INTO tiles VALUES (?, ?, ?, ?)", (tile.z, tile.x, row, data))
        self._zooms.add(tile.z)

    def close(self, metadata: Mapping[str, Any], bounds_deg: tuple[float, ...]) -> None:
        """Write metadata and index, and put the file in its place."""
        west, south, east, north = bounds_deg
        low, high = min(self._zooms, default=0), max(self._zooms, default=0)
        rows = {
            "name": metadata.get("name", ""),
            "format": "pbf",
            "type": "baselayer",
            "bounds": f"{west},{south},{east},{north}",
            "center": f"{(west + east) / 2},{(south + north) / 2},{low}",
            "minzoom": str(low),
            "maxzoom": str(high),
            "attribution": metadata.get("attribution", ""),
            "json": json.dumps({"vector_layers": metadata["vector_layers"]}, ensure_ascii=False),
        }
        with self._database:
            self._database.executemany("INSERT INTO metadata VALUES (?, ?)", rows.items())
            self._database.execute(
                "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row)"
            )
        self._database.close()
        self._partial.replace(self._path)

    def abort(self) -> None:
        """Leave nothing behind."""
        self._database.close()
        self._partial.unlink(missing_ok=True)
