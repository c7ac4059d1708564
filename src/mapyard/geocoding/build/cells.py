"""Sets of small map cells: which points and boxes may be near something, found in one pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.columns import Floats, Ints, sort_stably
from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7, Store
from mapyard.store.sorted import find_sorted
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
#: Points that are looked for in the tree, in boxes of this edge or as long as the reach.
_FEW_POINTS: Final = 1_000
_ASKED_DEG: Final = 0.001
_MARGIN_DEG: Final = 1e-6
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
        self._boxes, self._reach_deg = boxes, reach_deg
        self._ids: Ints = np.empty(0, np.int64)
        self._table: NDArray[np.bool_] | None = None
        if self._is_everything or not len(boxes):
            return
        x = ranges(low[:, 0], width)
        box = np.repeat(np.arange(len(boxes)), width)
        y = ranges(low[box, 1], height[box])
        x = np.repeat(x, height[box])
        self._ids = distinct(_cell(x, y))
        self._west, self._south = int(low[:, 0].min()), int(low[:, 1].min())
        shape = int(high[:, 0].max()) - self._west + 2, int(high[:, 1].max()) - self._south + 2
        if shape[0] * shape[1] <= _MAX_CELLS:
            self._table = np.zeros(shape, np.bool_)
            self._table[x - self._west, y - self._south] = True

    def hold(self, lon: Floats, lat: Floats) -> NDArray[np.bool_]:
        """Return which points, in degrees, lie in a cell."""
        if self._is_everything:
            return np.ones(len(lon), np.bool_)
        if not len(self._ids):
            return np.zeros(len(lon), np.bool_)
        x, y = (
            np.floor(np.nan_to_num(v, nan=999.0) / SIZE_DEG).astype(np.int64) for v in (lon, lat)
        )
        if self._table is None:
            return np.isin(_cell(x, y), self._ids)
        x -= self._west
        y -= self._south
        width, height = self._table.shape
        # What lies outside of the table has its last column or row, where nothing is held.
        x[(x < 0) | (x >= width)] = width - 1
        y[(y < 0) | (y >= height)] = height - 1
        return self._table[x, y]

    def find_in_boxes(self, lon: Floats, lat: Floats) -> Ints:
        """Return the places of the points that lie in one of the widened boxes themselves."""
        held = np.flatnonzero(self.hold(lon, lat))
        if self._is_everything or not len(held):
            return held
        west, south = (self._boxes[:, :2] - self._reach_deg - _MARGIN_DEG).T
        east, north = (self._boxes[:, 2:] + self._reach_deg + _MARGIN_DEG).T
        tree = shapely.STRtree(shapely.box(west, south, east, north))
        return held[distinct(tree.query(shapely.points(lon[held], lat[held]))[0])]

    def meet(self, boxes: Floats) -> NDArray[np.bool_]:
        """Return which boxes may meet a cell."""
        west, south, east, north = boxes.T
        # A box no larger than a cell lies in the cells of its corners.
        near = np.maximum(east - west, north - south) >= SIZE_DEG
        for x, y in ((west, south), (east, south), (west, north), (east, north)):
            near |= self.hold(x, y)
        return near


class Near:
    """Finds those of some elements that may be in reach of points.

    Of few points, such as those of an update, by the store's tree; else by squares, which costs a
    pass over all of the elements once, and then a block of points looks at few of them.
    """

    def __init__(self, store: Store, rows: Ints, reach_deg: float = 0.0) -> None:
        """Take distinct rows, and how far from a point their boxes may be."""
        self._store, self._rows, self._reach_deg = store, rows, reach_deg

    def find(self, lon: Floats, lat: Floats) -> Ints:
        """Return the sorted places of the rows that may be in reach of one of the points.

        Such whose box is out of reach of all may be among them.
        """
        if len(lon) <= _FEW_POINTS and "_squares" not in self.__dict__:
            return self._find_by_tree(lon, lat)
        squares = distinct(_square_of(lon, lat))
        of_square, places, everywhere = self._squares
        first = np.searchsorted(of_square, squares)
        stop = np.searchsorted(of_square, squares, side="right")
        return distinct(places[ranges(first, stop - first)], everywhere)

    def _find_by_tree(self, lon: Floats, lat: Floats) -> Ints:
        points = boxes_of_points(lon, lat)[~np.isnan(lon)]
        size_deg = max(_ASKED_DEG, self._reach_deg)
        low = _distinct_lines(np.floor(points[:, :2] / size_deg)) * size_deg
        reach_deg = self._reach_deg + _MARGIN_DEG
        boxes = np.concatenate([low - reach_deg, low + (size_deg + reach_deg)], axis=1)
        asked = np.clip(np.rint(boxes * E7), -(2**31), 2**31 - 1).astype(np.int32)
        found = np.sort(self._store.feature_rtree.search_many(asked)[1])
        rows, places = self._by_row
        place = find_sorted(rows, found)
        return distinct(places[place[place >= 0]])

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        """The rows, sorted, and the place of each."""
        places = sort_stably(self._rows)
        return self._rows[places], places

    @cached_property
    def _squares(self) -> tuple[Ints, Ints, Ints]:
        """Sorted squares, the place of an element that meets each; elements that meet too many."""
        boxes = self._store.boxes(self._rows) / E7
        low = np.floor((boxes[:, :2] - self._reach_deg) / _BLOCK_DEG).astype(np.int64)
        high = np.floor((boxes[:, 2:] + self._reach_deg) / _BLOCK_DEG).astype(np.int64)
        width, height = (np.maximum(0, high - low + 1)).T
        everywhere = np.flatnonzero(width * height > _MOST_SQUARES)
        width[everywhere] = 0
        x = ranges(low[:, 0], width)
        box = np.repeat(np.arange(len(boxes)), width)
        y = ranges(low[box, 1], height[box])
        square = _cell(np.repeat(x, height[box]), y)
        order = sort_stably(square - int(square.min(initial=0)))
        return square[order], np.repeat(box, height[box])[order], everywhere


def _distinct_lines(table: Floats) -> Floats:
    """Return the distinct lines of a table, in any order."""
    table = table[np.lexsort(table.T)]
    is_new = np.ones(len(table), np.bool_)
    is_new[1:] = (table[1:] != table[:-1]).any(axis=1)
    return table[is_new]


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
