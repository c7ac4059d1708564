"""What an update takes over from the dataset before: shapes on the grid, and prepared tiles.

A shape depends on its element alone, and the update of the store tells which elements changed. A
tile is a function of the features whose boxes meet it, in their order. Which features differ is
read out of both tables, by a digest of all that tiles take from each: so nothing can be forgotten
that is drawn otherwise because of another one.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ranges
from mapyard.store.digests import Digests
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import PmtilesReader
from mapyard.tiles.shapes import Shapes
from mapyard.tiles.source import LOW_ZOOM_FILE, MAX_LOW_ZOOM, TABLE_FOLDER
from mapyard.tiles.table import Table, find_tiles

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

    def find(
        self, layer: int, rows: Ints, ids: Ints
    ) -> tuple[NDArray[np.bool_], Shapes, Ints, NDArray[np.uint8]]:
        """Return which rows are known, their shapes, the index of each one's row, and its zoom.

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
        shapes, source = self._table.shapes.take(places), np.repeat(known, counts)
        return is_known, shapes, source, self._table.minzoom[places]


class TilesBefore:
    """The prepared tiles of an earlier dataset, made by the same program, that another has too."""

    def __init__(self, folder: Path, table: Table) -> None:
        """Compare the table of the dataset in `folder` with another one."""
        before = Table(folder / TABLE_FOLDER)
        self._archive = PmtilesReader(folder / LOW_ZOOM_FILE)
        self._changed: list[Ints] | None = None
        if before.info.attributes == table.info.attributes:
            ones, others = find_differences(before.digest(), table.digest())
            boxes = np.concatenate([before.boxes(ones), table.boxes(others)])
            minzoom = np.concatenate([before.minzoom[ones], table.minzoom[others]])
            self._changed = [
                _number(find_tiles(boxes[minzoom <= zoom], zoom))
                for zoom in range(MAX_LOW_ZOOM + 1)
            ]

    def has(self, tile: TileId) -> bool:
        """Return whether a tile is the same, empty ones included."""
        if self._changed is None or tile.z > MAX_LOW_ZOOM:
            return False
        changed, number = self._changed[tile.z], tile.x << 32 | tile.y
        at = int(np.searchsorted(changed, number))
        return at == len(changed) or bool(changed[at] != number)

    def find(self, tile: TileId) -> bytes | None:
        """Return a compressed tile (b"": empty), or None where it is not the same, or damaged."""
        if not self.has(tile):
            return None
        data = self._archive.find(tile)
        if data is None:
            return b""
        try:
            zlib.decompress(data, 31)  # its own checksum: no damage is taken over
        except zlib.error:
            return None
        return data

    def close(self) -> None:
        """Unmap the archive."""
        self._archive.close()


def _number(tiles: Ints) -> Ints:
    return tiles[:, 0] << 32 | tiles[:, 1]


def find_differences(ones: Digests, others: Digests) -> tuple[Ints, Ints]:
    """Return the places in two lists without which they are equal, in the same order."""
    values, counts = np.unique(ones, return_counts=True)
    other_values, other_counts = np.unique(others, return_counts=True)
    _, here, there = np.intersect1d(values, other_values, assume_unique=True, return_indices=True)
    # What is in both as often is the same; of what is not, all of a kind differs.
    same = counts[here] == other_counts[there]
    is_other = np.ones(len(values), np.bool_), np.ones(len(other_values), np.bool_)
    is_other[0][here[same]] = is_other[1][there[same]] = False
    differing = np.union1d(values[is_other[0]], other_values[is_other[1]])
    differs = _holds(differing, ones), _holds(differing, others)
    left = [np.flatnonzero(~one) for one in differs]
    # Where the rest is in another order, all between what is in the same one at both ends differs.
    moved = np.flatnonzero(ones[left[0]] != others[left[1]])
    if len(moved):
        between = slice(moved[0], moved[-1] + 1)
        for one, places in zip(differs, left, strict=True):
            one[places[between]] = True
    return np.flatnonzero(differs[0]), np.flatnonzero(differs[1])


def _holds(values: Digests, wanted: Digests) -> NDArray[np.bool_]:
    """Return which of the wanted are among a few sorted values."""
    if not len(values):
        return np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.asarray(values[place] == wanted)
