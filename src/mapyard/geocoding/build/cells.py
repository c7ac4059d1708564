"""Sets of small map cells: which points and boxes may be near something, found in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.geocoding.build.columns import Floats, Ints, sort_stably
from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct
from mapyard.store.spill import give_back_freed

#: Edge of a cell, degrees: about 550 m.
SIZE_DEG: Final = 0.005
#: Points that are asked for together: those of squares of this edge, along strips of them.
_BLOCK_DEG: Final = 0.1
_BLOCK_POINTS: Final = 20_000
#: As how many points a further square counts: few points here and there have much around them.
_COST_OF_SQUARE: Final = 500
#: A box that meets more squares than this is looked at with every block.
_MOST_SQUARES: Final = 4_096
_ROWS: Final = 1 << 17
#: More cells than this are taken for the whole world.
_MAX_CELLS: Final = 5_000_000


class Cells:
    """The cells that some boxes meet. Answers may say "near" of what is a cell off, never less."""

    def __init__(self, boxes: Floats, reach_deg: float = 0.0) -> None:
        """Cover boxes of (n, 4) degrees (west, south, east, north), each widened by a reach."""
        low = np.floor((boxes[:, :2] - reach_deg) / SIZE_DEG).astype(np.int64)
        high = np.floor((boxes[:, 2:] + reach_deg) / SIZE_DEG).astype(np.int64)
        width, height = (high - low + 1).T if len(boxes) else np.zeros((2, 0), np.int64)
        self._is_everything = bool((width * height).sum() > _MAX_CELLS)
        self._ids: Ints = np.empty(0, np.int64)
        if self._is_everything or not len(boxes):
            return
        x = ranges(low[:, 0], width)
        box = np.repeat(np.arange(len(boxes)), width)
        y = ranges(low[box, 1], height[box])
        self._ids = distinct(_cell(np.repeat(x, height[box]), y))

    def hold(self, lon: Floats, lat: Floats) -> NDArray[np.bool_]:
        """Return which points, in degrees, lie in a cell."""
        if self._is_everything:
            return np.ones(len(lon), np.bool_)
        x, y = (np.floor(np.nan_to_num(v, nan=999.0) / SIZE_DEG) for v in (lon, lat))
        return np.isin(_cell(x.astype(np.int64), y.astype(np.int64)), self._ids)

    def meet(self, boxes: Floats) -> NDArray[np.bool_]:
        """Return which boxes may meet a cell."""
        west, south, east, north = boxes.T
        # A box no larger than a cell lies in the cells of its corners.
        near = np.maximum(east - west, north - south) >= SIZE_DEG
        for x, y in ((west, south), (east, south), (west, north), (east, north)):
            near |= self.hold(x, y)
        return near


class Grid:
    """Boxes by the squares that they meet, so that a block of points looks at few of them."""

    def __init__(self, boxes: Floats, reach_deg: float = 0.0) -> None:
        """Take boxes of (n, 4) degrees (west, south, east, north), each widened by a reach."""
        low = np.floor((boxes[:, :2] - reach_deg) / _BLOCK_DEG).astype(np.int64)
        high = np.floor((boxes[:, 2:] + reach_deg) / _BLOCK_DEG).astype(np.int64)
        width, height = (np.maximum(0, high - low + 1)).T
        squares = width * height
        self._large = np.flatnonzero(squares > _MOST_SQUARES)
        width[self._large] = 0
        x = ranges(low[:, 0], width)
        box = np.repeat(np.arange(len(boxes)), width)
        y = ranges(low[box, 1], height[box])
        square = _cell(np.repeat(x, height[box]), y)
        low_square = int(square.min(initial=0))
        order = sort_stably(square - low_square)
        self._squares = square[order]
        self._boxes = np.repeat(box, height[box])[order]

    def near(self, lon: Floats, lat: Floats) -> Ints:
        """Return the sorted places of the boxes that may be in reach of one of the points."""
        squares = distinct(_square_of(lon, lat))
        first = np.searchsorted(self._squares, squares)
        stop = np.searchsorted(self._squares, squares, side="right")
        return distinct(self._boxes[ranges(first, stop - first)], self._large)


def _square_of(lon: Floats, lat: Floats) -> Ints:
    x, y = (np.floor(np.nan_to_num(v) / _BLOCK_DEG).astype(np.int64) for v in (lon, lat))
    return _cell(x, y)


def in_blocks(lon: Floats, lat: Floats, compute: Callable[[Ints], Ints]) -> Callable[[Ints], Ints]:
    """Return `compute`, of places in lon and lat, asked for neighboring ones at a time.

    What is near to them is then held for one block only. Each answer must be of its point alone.
    """

    def compute_blocks(open_: Ints) -> Ints:
        squares = _square_of(lon[open_], lat[open_])
        order = np.argsort(squares, kind="stable")
        is_new = np.diff(squares[order], prepend=squares[order[:1]]) != 0
        cost = np.cumsum(np.where(is_new, 1 + _COST_OF_SQUARE, 1))
        cuts = np.flatnonzero(np.diff(cost // _BLOCK_POINTS)) + 1
        found = np.empty(len(open_), np.int64)
        for part in np.split(order, cuts):
            found[part] = compute(open_[part])
        if len(cuts):
            give_back_freed()  # the shapes of each block
        return found

    return compute_blocks


def _cell(x: Ints, y: Ints) -> Ints:
    return x * _ROWS + y


def boxes_of_points(lon: Floats, lat: Floats) -> Floats:
    """Return the (n, 4) boxes of points."""
    return np.column_stack([lon, lat, lon, lat])
