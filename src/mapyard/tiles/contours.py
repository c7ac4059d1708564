"""Contour lines as vector tiles, with the layer and the attributes of MapTiler's contours.

https://docs.maptiler.com/schema/contours/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.store.columns import offsets_of
from mapyard.tiles.mvt import EXTENT, Batch, EncodedValues, encode_tile, encode_value
from mapyard.tiles.shapes import LINE, Shapes

LAYERS: Final = {"m": "contour", "ft": "contour_ft"}
ATTRIBUTES: Final = {
    "height": "Number: height of the line, in the layer's unit",
    "nth_line": "Number: 10, 5, 2 or 1, the greatest that divides the line's number",
}
#: Vertices may go by so many units of the tile when lines are simplified.
_TOLERANCE: Final = 2.0
#: Shorter lines are left out: rings around a stone.
_SHORTEST: Final = 24.0


class Line(Protocol):
    """A line to draw: vertices (n, 2) in shares of the tile, and its attributes."""

    @property
    def xy(self) -> NDArray[np.float64]: ...  # noqa: D102
    @property
    def height(self) -> int: ...  # noqa: D102
    @property
    def rank(self) -> int: ...  # noqa: D102


def encode_contours(lines: Sequence[Line], layer: str) -> bytes:
    """Return the tile; b"" when no line is left."""
    if not lines:
        return b""
    counts = np.array([len(line.xy) for line in lines])
    xy = np.concatenate([line.xy for line in lines]) * EXTENT
    shapes = shapely.linestrings(xy, indices=np.repeat(np.arange(len(lines)), counts))
    shapes = shapely.simplify(shapes, _TOLERANCE, preserve_topology=False)
    kept = np.flatnonzero(shapely.length(shapes) >= _SHORTEST)
    coordinates, owners = shapely.get_coordinates(shapes[kept], return_index=True)
    units = np.rint(coordinates).astype(np.int64)
    # Vertices that fall together would be steps of no length.
    is_new = np.ones(len(units), np.bool_)
    is_new[1:] = (units[1:] != units[:-1]).any(axis=1) | (owners[1:] != owners[:-1])
    units, owners = units[is_new], owners[is_new]
    left, lengths = np.unique(owners, return_counts=True)
    is_line = lengths > 1
    units = units[np.repeat(is_line, lengths)]
    kept, lengths = kept[left[is_line]], lengths[is_line]
    if not len(kept):
        return b""
    heights = np.array([line.height for line in lines])[kept]
    ranks = np.array([line.rank for line in lines])[kept]
    values, place = np.unique(np.concatenate([heights, ranks]), return_inverse=True)
    count = len(kept)
    batch = Batch(
        np.zeros(count, np.int64),
        np.full(count, LINE, np.uint8),
        np.arange(1, count + 1, dtype=np.uint64),
        Shapes(units, offsets_of(lengths), np.arange(count + 1)),
        np.full(count, 2),
        np.tile([0, 1], count),
        place.reshape(2, count).T.ravel(),
    )
    messages = EncodedValues([encode_value(value) for value in values.tolist()])
    return encode_tile(batch, [layer], list(ATTRIBUTES), messages)
