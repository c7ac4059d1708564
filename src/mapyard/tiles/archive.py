"""All tiles of a table into an archive, on several processes, in the order of the archive."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, tee
from pathlib import Path
from typing import Any, Protocol

from mapyard.processes import map_in_processes
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import tile_number
from mapyard.tiles.render import render_tile
from mapyard.tiles.table import Table

#: Tiles of one task; below this number of tiles no further process is worth its start.
_CHUNK_TILES = 32
_MIN_PARALLEL_TILES = 256


class Writer(Protocol):
    """PmtilesWriter or MbtilesWriter."""

    def add(self, tile: TileId, data: bytes) -> None:
        """Add one compressed tile."""

    def close(self, metadata: Mapping[str, Any], bounds_deg: tuple[float, ...]) -> None:
        """Finish the file."""


def compress_tile(tile: bytes) -> bytes:
    """Return gzip bytes, without a time, so that equal tiles stay equal."""
    stream = zlib.compressobj(6, zlib.DEFLATED, 31)
    return stream.compress(tile) + stream.flush()


def list_tiles(
    table: Table, min_zoom: int, max_zoom: int, box: tuple[int, int, int, int] | None = None
) -> list[TileId]:
    """Return the tiles that may hold something, in the order of PMTiles."""
    tiles = [
        TileId(zoom, x, y)
        for zoom in range(min_zoom, max_zoom + 1)
        for x, y in table.tiles(zoom, box).tolist()
    ]
    return sorted(tiles, key=tile_number)


def write_archive(
    folder: Path,
    tiles: list[TileId],
    writer: Writer,
    processes: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Render the tiles of the table in `folder` into a writer, in their order; return how many.

    `processes` 0 takes one per core. `progress` gets the number of tiles looked at.
    """
    written = done = 0
    for chunk, rendered in _render_chunks(folder, tiles, processes or os.cpu_count() or 1):
        for tile, data in zip(chunk, rendered, strict=True):
            if data:
                writer.add(tile, data)
                written += 1
        done += len(chunk)
        progress(done)
    return written


def _render_chunks(
    folder: Path, tiles: list[TileId], processes: int
) -> Iterator[tuple[list[TileId], list[bytes]]]:
    rest = iter(tiles)
    chunks = iter(lambda: list(islice(rest, _CHUNK_TILES)), [])
    if processes == 1 or len(tiles) < _MIN_PARALLEL_TILES:
        table = Table(folder)
        for chunk in chunks:
            yield chunk, [_compressed(table, tile) for tile in chunk]
        return
    done, asked = tee(chunks)  # as far ahead as results wait
    yield from zip(
        done, map_in_processes(_render_many, asked, processes, _open, (folder,)), strict=False
    )


_table: Table | None = None


def _open(folder: Path) -> None:
    global _table
    _table = Table(folder)


def _render_many(tiles: list[TileId]) -> list[bytes]:
    assert _table is not None
    return [_compressed(_table, tile) for tile in tiles]


def _compressed(table: Table, tile: TileId) -> bytes:
    data = render_tile(table, tile)
    return compress_tile(data) if data else b""
