"""All tiles of a table into an archive, on several processes, in the order of the archive."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import batched
from pathlib import Path
from typing import Any, Protocol

from mapyard.processes import map_in_processes
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import tile_number
from mapyard.tiles.render import compress_tile, render_tile, replace_layers
from mapyard.tiles.reuse import Differences, TilesBefore
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
    taken: TilesBefore | None = None,
) -> int:
    """Render the tiles of the table in `folder` into a writer, in their order; return how many.

    `processes` 0 takes one per core. `progress` gets the number of tiles looked at. Tiles that are
    as in `taken` are not rendered, nor layers of them.
    """
    table = Table(folder)
    changed = [tile for tile in tiles if taken is None or taken.changed_layers(tile)]
    drawn = _render(folder, changed, processes or os.cpu_count() or 1, taken)
    written = 0
    for done, tile in enumerate(tiles, 1):
        if taken is None or taken.changed_layers(tile):
            data = next(drawn)
        else:
            data = _compressed(table, tile, taken)
        if data:
            writer.add(tile, data)
            written += 1
        if done % _CHUNK_TILES == 0 or done == len(tiles):
            progress(done)
    return written


def _render(
    folder: Path, tiles: list[TileId], processes: int, taken: TilesBefore | None
) -> Iterator[bytes]:
    """Yield the compressed tiles, b"" where nothing is in one, in their order."""
    if processes == 1 or len(tiles) < _MIN_PARALLEL_TILES:
        table = Table(folder)
        for tile in tiles:
            yield _compressed(table, tile, taken)
        return
    chunks = batched(tiles, _CHUNK_TILES)
    before = taken.made_of if taken is not None else None
    for rendered in map_in_processes(_render_many, chunks, processes, _open, (folder, before)):
        yield from rendered


_table: Table | None = None
_taken: TilesBefore | None = None


def _open(folder: Path, before: tuple[Path, Differences] | None) -> None:
    global _table, _taken
    _table = Table(folder)
    _taken = TilesBefore(*before) if before is not None else None


def _render_many(tiles: tuple[TileId, ...]) -> list[bytes]:
    assert _table is not None
    return [_compressed(_table, tile, _taken) for tile in tiles]


def _compressed(table: Table, tile: TileId, taken: TilesBefore | None) -> bytes:
    before = taken.find(tile) if taken is not None else None
    if taken is None or before is None:
        data = render_tile(table, tile)
    elif changed := taken.changed_layers(tile):
        data = replace_layers(table, tile, before[1], changed)
    else:
        return before[0]
    return compress_tile(data) if data else b""
