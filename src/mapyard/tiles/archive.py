"""All tiles of a table into an archive, on several processes, in the order of the archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, tee
from pathlib import Path
from typing import Any, Protocol

from mapyard.processes import map_in_processes
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import tile_number
from mapyard.tiles.render import compress_tile, render_tile
from mapyard.tiles.reuse import TilesBefore
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
    before: Path | None = None,
) -> int:
    """Render the tiles of the table in `folder` into a writer, in their order; return how many.

    `processes` 0 takes one per core. `progress` gets the number of tiles looked at. `before` is a
    dataset by the same program, whose prepared tiles are taken where they would be the same.
    """
    written = done = 0
    places = (folder, before)
    for chunk, rendered in _render_chunks(places, tiles, processes or os.cpu_count() or 1):
        for tile, data in zip(chunk, rendered, strict=True):
            if data:
                writer.add(tile, data)
                written += 1
        done += len(chunk)
        progress(done)
    return written


def _render_chunks(
    places: tuple[Path, Path | None], tiles: list[TileId], processes: int
) -> Iterator[tuple[list[TileId], list[bytes]]]:
    rest = iter(tiles)
    chunks = iter(lambda: list(islice(rest, _CHUNK_TILES)), [])
    if processes == 1 or len(tiles) < _MIN_PARALLEL_TILES:
        table, taken = _open_tables(*places)
        for chunk in chunks:
            yield chunk, [_compressed(table, taken, tile) for tile in chunk]
        return
    done, asked = tee(chunks)  # as far ahead as results wait
    yield from zip(
        done, map_in_processes(_render_many, asked, processes, _open, places), strict=False
    )


_tables: tuple[Table, TilesBefore | None] | None = None


def _open(folder: Path, before: Path | None) -> None:
    global _tables
    _tables = _open_tables(folder, before)


def _open_tables(folder: Path, before: Path | None) -> tuple[Table, TilesBefore | None]:
    return Table(folder), TilesBefore(before) if before is not None else None


def _render_many(tiles: list[TileId]) -> list[bytes]:
    assert _tables is not None
    return [_compressed(*_tables, tile) for tile in tiles]


def _compressed(table: Table, before: TilesBefore | None, tile: TileId) -> bytes:
    known = before.find(table, tile) if before is not None else None
    if known is not None:
        return known
    data = render_tile(table, tile)
    return compress_tile(data) if data else b""
