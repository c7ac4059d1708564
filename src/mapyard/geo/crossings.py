"""How often lines cross, counted before GEOS has to find and keep every crossing.

A shape with few positions can have millions of crossings (a zigzag over itself, one comb over
another), and GEOS neither stops nor tells: memory and time are a matter of crossings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

#: Segments looked up at once, and pairs of segments with common boxes per allowed crossing.
_AT_ONCE: Final = 64
_PAIRS_PER_CROSSING: Final = 50

Floats = NDArray[np.float64]


def count_crossings(
    shape: Any, other: Any, limit: int, check: Callable[[], None] = lambda: None
) -> int:
    """Return how many pairs of segments cross, of one shape with itself where `other` is None.

    Stops soon after `limit`. `check` is called in between and may raise.
    """
    mine = _segments(shape)
    theirs = mine if other is None else _segments(other)
    if not len(mine) or not len(theirs):
        return 0
    tree = shapely.STRtree(_boxes(theirs))
    crossings = looked = 0
    for start in range(0, len(mine), _AT_ONCE):
        check()
        part = mine[start : start + _AT_ONCE]
        a, b = tree.query(_boxes(part))
        if other is None:
            keep = b > a + start
            a, b = a[keep], b[keep]
        looked += len(a)
        crossings += int(np.count_nonzero(_cross(part[a], theirs[b])))
        if crossings > limit or looked > limit * _PAIRS_PER_CROSSING + 10 * len(mine):
            return max(crossings, limit + 1)
    return crossings


def _segments(shape: Any) -> Floats:
    """Return the straight pieces of a shape, (n, 4) x y x y."""
    lines = shapely.get_parts(shape)
    polygons = shapely.get_type_id(lines) == 3
    if polygons.any():
        lines = np.concatenate([lines[~polygons], shapely.get_rings(lines[polygons])])
    coordinates, owner = shapely.get_coordinates(lines, return_index=True)
    inside = owner[1:] == owner[:-1]
    return np.hstack([coordinates[:-1][inside], coordinates[1:][inside]])


def _boxes(segments: Floats) -> Any:
    low = np.minimum(segments[:, :2], segments[:, 2:])
    high = np.maximum(segments[:, :2], segments[:, 2:])
    return shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1])


def _cross(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Return which segments cross properly: each has the other's ends on both its sides."""

    def side(line: Floats, x: Floats, y: Floats) -> Floats:
        return np.asarray(
            (line[:, 2] - line[:, 0]) * (y - line[:, 1])
            - (line[:, 3] - line[:, 1]) * (x - line[:, 0])
        )

    apart_b = side(a, b[:, 0], b[:, 1]) * side(a, b[:, 2], b[:, 3]) < 0
    apart_a = side(b, a[:, 0], a[:, 1]) * side(b, a[:, 2], a[:, 3]) < 0
    return np.asarray(apart_a & apart_b)
