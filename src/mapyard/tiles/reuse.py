"""Tiles of the dataset before, taken over where all that they are made of is the same.

A tile is a function of the features whose boxes meet it, in their order: reading these of both
tables takes a fourteenth of drawing them. Nothing is said of which features changed, and so nothing
can be forgotten that is drawn otherwise because of another one.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from mapyard.tiles.mercator import BUFFER, TileId, tile_box
from mapyard.tiles.pmtiles import PmtilesReader
from mapyard.tiles.source import LOW_ZOOM_FILE, TABLE_FOLDER
from mapyard.tiles.table import Table


class TilesBefore:
    """The prepared tiles of an earlier dataset, which the same program has made."""

    def __init__(self, folder: Path) -> None:
        self._table = Table(folder / TABLE_FOLDER)
        self._archive = PmtilesReader(folder / LOW_ZOOM_FILE)

    def find(self, table: Table, tile: TileId) -> bytes | None:
        """Return a compressed tile (b"": empty) where that of `table` is the same, else None."""
        if self._table.info.attributes != table.info.attributes:
            return None
        if not _are_equal(_read(self._table, tile), _read(table, tile)):
            return None
        data = self._archive.find(tile)
        if data is None:
            return b""
        try:
            zlib.decompress(data, 31)  # its own checksum: no damage is taken over
        except zlib.error:
            return None
        return data


def _read(table: Table, tile: TileId) -> list[Any]:
    """Return all that a tile is made of; what is soon read and likely to differ comes first."""
    found = table.find(tile_box(tile, BUFFER), tile.z)
    counts, attribute, value = table.tags(found, tile.z)
    # Values are numbered by their order in the tile, not by what they are in the table.
    values, rank = np.unique(value, return_inverse=True)
    shapes = table.shapes.take(found)
    return [
        table.ids[found], table.layers_of(found), counts, attribute, rank,
        table.values.take(values), shapes.features, shapes.rings, shapes.xy,
    ]  # fmt: skip


def _are_equal(ones: list[Any], others: list[Any]) -> bool:
    return all(
        np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
        for one, other in zip(ones, others, strict=True)
    )
