"""What an update takes over from the dataset before: shapes on the grid, and prepared tiles.

A shape depends on its element alone, and the update of the store tells which elements changed. A
tile is a function of the features whose boxes meet it, in their order: reading these of both tables
takes a fourteenth of drawing them. For tiles it is not asked which features changed, so nothing can
be forgotten that is drawn otherwise because of another one.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ranges
from mapyard.tiles.mercator import BUFFER, TileId, tile_box
from mapyard.tiles.pmtiles import PmtilesReader
from mapyard.tiles.shapes import Shapes
from mapyard.tiles.source import LOW_ZOOM_FILE, TABLE_FOLDER
from mapyard.tiles.table import Table

Ints = NDArray[np.int64]


class ShapesBefore:
    """The shapes of an earlier table, which the same program has made, by the elements' ids.

    `touched` are the sorted new rows whose element is another one or lies elsewhere than in it.
    """

    def __init__(self, folder: Path, touched: Ints) -> None:
        self._table = Table(folder / TABLE_FOLDER)
        self._touched = touched
        self._layer = -1
        self._ids, self._order = np.empty(0, np.uint64), np.empty(0, np.int64)

    def find(self, layer: int, rows: Ints, ids: Ints) -> tuple[NDArray[np.bool_], Shapes, Ints]:
        """Return which rows are known, their shapes, and the index of each one's row in `rows`.

        `ids` are those of the features of the rows; one of 0 may be anything's. Rows come layer by
        layer. A known row may have no shape: it had none before.
        """
        if layer != self._layer:
            first, stop = self._table.layer_offsets[layer : layer + 2]
            own = self._table.ids[first:stop]
            self._layer, self._order = layer, np.argsort(own, kind="stable")
            self._ids = own[self._order]
            self._order += first
        is_known = (ids > 0) & ~np.isin(rows, self._touched)
        known = np.flatnonzero(is_known)
        wanted = ids[known].astype(np.uint64)
        starts = np.searchsorted(self._ids, wanted)
        counts = np.searchsorted(self._ids, wanted, side="right") - starts
        places = self._order[ranges(starts, counts)]
        return is_known, self._table.shapes.take(places), np.repeat(known, counts)


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
