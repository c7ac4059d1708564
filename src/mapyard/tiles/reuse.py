"""Prepared tiles that an update takes over from the dataset before.

A tile is a function of the features whose boxes meet it, in their order. Which features differ is
told by `patch.py`, which compares the old and the new ones of what was touched.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.digests import Digests
from mapyard.store.distinct import distinct
from mapyard.store.merge import holds
from mapyard.tiles.mercator import TileId
from mapyard.tiles.pmtiles import PmtilesReader, tile_number
from mapyard.tiles.source import LOW_ZOOM_FILE, MAX_LOW_ZOOM
from mapyard.tiles.table import find_tiles

Ints = NDArray[np.int64]


class Differences(NamedTuple):
    """The features that two tables do not share: their boxes, from which zoom on, and layers."""

    boxes: Ints
    minzoom: NDArray[np.uint8]
    layer: Ints


class TilesBefore:
    """The prepared tiles of an earlier dataset, made by the same program, that another has too."""

    def __init__(self, folder: Path, differences: Differences) -> None:
        self.made_of = folder, differences
        self._archive = PmtilesReader(folder / LOW_ZOOM_FILE)
        self._changed: dict[TileId, set[int]] = {}
        for zoom in range(MAX_LOW_ZOOM + 1):
            for layer in distinct(differences.layer).tolist():
                seen = (differences.minzoom <= zoom) & (differences.layer == layer)
                for x, y in find_tiles(differences.boxes[seen], zoom).tolist():
                    self._changed.setdefault(TileId(zoom, x, y), set()).add(layer)

    def list_tiles(self) -> list[TileId]:
        """Return the tiles that may hold something now, in the order of PMTiles."""
        return sorted(self._changed.keys() | set(self._archive.tiles()), key=tile_number)

    def changed_layers(self, tile: TileId) -> set[int]:
        """Return the layers in which a tile is another one; none where it is the same."""
        return self._changed.get(tile, set())

    def find(self, tile: TileId) -> tuple[bytes, bytes] | None:
        """Return a tile as it was, compressed and not (b"": empty); None where it is damaged."""
        data = self._archive.find(tile)
        if data is None:
            return b"", b""
        try:
            return data, zlib.decompress(data, 31)  # its own checksum: no damage is taken over
        except zlib.error:
            return None

    def close(self) -> None:
        """Unmap the archive."""
        self._archive.close()


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
    differs = holds(differing, ones), holds(differing, others)
    left = [np.flatnonzero(~one) for one in differs]
    # Where the rest is in another order, all between what is in the same one at both ends differs.
    moved = np.flatnonzero(ones[left[0]] != others[left[1]])
    if len(moved):
        between = slice(moved[0], moved[-1] + 1)
        for one, places in zip(differs, left, strict=True):
            one[places[between]] = True
    return np.flatnonzero(differs[0]), np.flatnonzero(differs[1])
