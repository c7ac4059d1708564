"""Static packed Hilbert R-tree on numpy arrays: built once, searched level by level.

Items lie in Hilbert order; each node of a level holds FANOUT neighbors of the level below. A
search goes from level to level in C, so its cost is some calls plus the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.native import address
from mapyard.store.columns import ColumnWriter, open_column, write_column
from mapyard.store.kernels import Tree, load_kernels, place
from mapyard.store.merge import Splice
from mapyard.store.row_map import GONE
from mapyard.store.sorting import Sorter

_BITS = 4
FANOUT = 1 << _BITS
#: The box of an item that is gone, and how far searches go, so that none meets it: 214 degrees.
NOWHERE = np.array([2**31 - 1, 2**31 - 1, -(2**31) + 1, -(2**31) + 1], np.int32)
_FARTHEST = 2**31 - 2
_ARANGE = np.arange(FANOUT, dtype=np.int64)

#: Levels of up to this many boxes are compared whole.
_AT_ONCE = 512
#: Items whose boxes are looked at together; whole nodes.
_ITEMS_AT_ONCE = FANOUT << 14
#: Nodes that are enough for an estimate.
_ENOUGH = 64

# (n, 4): x0, y0, x1, y1; points are (n, 2), so x1 and y1 are read as [-2] and [-1].
Boxes = NDArray[np.int32]


def hilbert_code(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the position on the Hilbert curve of order 16 for x, y in [0, 65536)."""
    x, y = (np.ascontiguousarray(values, np.int64) for values in (x, y))
    codes = np.empty(len(x), np.uint32)
    load_kernels().hilbert_codes(place(x), place(y), len(x), place(codes))
    return codes


def hilbert_order(center_x: NDArray[np.int64], center_y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of points (1e-7 degree) along a Hilbert curve over their extent."""
    if not len(center_x):
        return np.empty(0, np.int64)

    def scaled(values: NDArray[np.int64]) -> NDArray[np.int64]:
        low, high = int(values.min()), int(values.max())
        return ((values - low) * 65535 // max(1, high - low)).astype(np.int64)

    return np.argsort(hilbert_code(scaled(center_x), scaled(center_y)), kind="stable")


def build_levels(boxes: Boxes) -> list[Boxes]:
    """Return the boxes of all upper levels, lowest first, for items in Hilbert order."""
    levels = []
    while len(boxes) > FANOUT:
        parts = [
            boxes_above(boxes[start : start + _ITEMS_AT_ONCE])
            for start in range(0, len(boxes), _ITEMS_AT_ONCE)
        ]
        boxes = np.concatenate(parts)
        levels.append(boxes)
    return levels


def boxes_above(boxes: Boxes) -> Boxes:
    """Return the boxes of the level above; the first box begins a node."""
    starts = np.arange(0, len(boxes), FANOUT)
    return np.column_stack(
        [
            np.minimum.reduceat(boxes[:, 0], starts),
            np.minimum.reduceat(boxes[:, 1], starts),
            np.maximum.reduceat(boxes[:, -2], starts),
            np.maximum.reduceat(boxes[:, -1], starts),
        ]
    ).astype(np.int32)


def write_rtree(folder: Path, name: str, rows: NDArray[np.uint32], boxes: Boxes) -> None:
    """Write the tree over items `rows` with their boxes, both in any order."""
    order = order_boxes(boxes)
    _write(folder, name, rows[order], boxes[order])


class Items(NamedTuple):
    """Items of a tree that are not all in memory: rows in portions, and how to find their boxes."""

    portions: Callable[[], Iterable[NDArray[np.uint32]]]
    boxes: Callable[[NDArray[np.uint32]], Boxes]
    #: Corners of a box: 4, of a point: 2.
    width: int


class Extent(NamedTuple):
    """What holds the centers of all boxes of a tree: the Hilbert curve runs over it."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, portions: Iterable[Boxes]) -> Extent:
        """Return that of boxes."""
        low, high = np.full(2, 2**62), np.full(2, -(2**62))
        for boxes in portions:
            if len(boxes):
                centers = _centers(boxes)
                low, high = np.minimum(low, centers.min(0)), np.maximum(high, centers.max(0))
        return cls(low, high)

    def keys(self, boxes: Boxes, rows: NDArray[Any]) -> NDArray[np.uint64]:
        """Return by what items are ordered: their place on the curve, then their row."""
        scaled = (_centers(boxes) - self.low) * 65535 // np.maximum(1, self.high - self.low)
        codes = hilbert_code(scaled[:, 0], scaled[:, 1]).astype(np.uint64)
        return codes << np.uint64(32) | rows.astype(np.uint64)


def write_large_rtree(folder: Path, name: str, items: Items, memory_bytes: int) -> None:
    """Write the same tree over items whose rows come in ascending portions."""
    extent = Extent.of(items.boxes(rows) for rows in items.portions())
    with Sorter(folder, memory_bytes) as sorter:
        for rows in items.portions():
            if len(rows):
                sorter.add(extent.keys(items.boxes(rows), rows))
        with (
            ColumnWriter(folder, f"{name}_rows", np.uint32) as all_rows,
            ColumnWriter(folder, f"{name}_boxes", np.int32, items.width) as boxes,
        ):
            for block in sorter.blocks():
                rows = block.astype(np.uint32)
                all_rows.append(rows)
                boxes.append(items.boxes(rows))
    _write_levels(folder, name, open_column(folder, f"{name}_boxes"))


def merge_rtree(
    old_folder: Path,
    folder: Path,
    name: str,
    places: NDArray[np.uint32],
    rows: NDArray[np.uint32],
    boxes: Boxes,
    memory_bytes: int,
) -> None:
    """Write the tree that `write_large_rtree` would, out of one over some of its items.

    `places` give the new row of each old item, GONE where it has none; they ascend. `rows` with
    their `boxes` are new.
    """
    old_rows, old_boxes = (
        open_column(old_folder, f"{name}_{column}") for column in ("rows", "boxes")
    )
    portions = [slice(i, i + _ITEMS_AT_ONCE) for i in range(0, len(old_rows), _ITEMS_AT_ONCE)]
    lost = [np.flatnonzero(places[old_rows[part]] == GONE) + part.start for part in portions]
    gone = np.concatenate([np.empty(0, np.int64), *lost])
    extent = Extent.of(old_boxes[part] for part in portions)
    if _holds(extent, old_boxes[gone], boxes):
        order = np.argsort(keys := extent.keys(boxes, rows))
        gaps = gone - np.arange(len(gone))

        def kept_keys(ranks: NDArray[np.int64]) -> NDArray[np.uint64]:
            at = ranks + np.searchsorted(gaps, ranks, side="right")
            return extent.keys(old_boxes[at], places[old_rows[at]])

        at = _search(len(old_rows) - len(gone), kept_keys, keys[order])
        splice = Splice.of_places(len(old_rows), gone, at)
        splice.write(folder, f"{name}_boxes", old_boxes, boxes[order])
        with ColumnWriter(folder, f"{name}_rows", np.uint32) as writer:
            for is_new, a, b in splice.runs:
                for start in range(a, b, _ITEMS_AT_ONCE):
                    part = slice(start, min(b, start + _ITEMS_AT_ONCE))
                    writer.append(rows[order[part]] if is_new else places[old_rows[part]])
        _write_levels(folder, name, open_column(folder, f"{name}_boxes"))
        return
    # The curve runs otherwise.
    every = np.empty((len(old_rows) - len(gone) + len(rows), old_boxes.shape[1]), np.int32)
    for part in portions:
        stays = (mapped := places[old_rows[part]]) != GONE
        every[mapped[stays]] = old_boxes[part][stays]
    every[rows] = boxes

    def all_rows() -> Iterable[NDArray[np.uint32]]:
        for start in range(0, len(every), _ITEMS_AT_ONCE):
            yield np.arange(start, min(len(every), start + _ITEMS_AT_ONCE), dtype=np.uint32)

    items = Items(all_rows, lambda chosen: every[chosen], every.shape[1])
    write_large_rtree(folder, name, items, memory_bytes)


def _holds(extent: Extent, gone: Boxes, new: Boxes) -> bool:
    """Return whether an extent is still that of all items: none at its edge went, none lies out."""
    lost, found = _centers(gone), _centers(new)
    return bool(
        ((lost > extent.low) & (lost < extent.high)).all()
        and ((found >= extent.low) & (found <= extent.high)).all()
    )


def _search(
    count: int,
    keys_at: Callable[[NDArray[np.int64]], NDArray[np.uint64]],
    wanted: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Return before how many of `count` ascending keys each of some others lies."""
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), count)
    while len(left := np.flatnonzero(low < high)):
        middle = (low + high)[left] >> 1
        is_before = keys_at(middle) < wanted[left]
        low[left] = np.where(is_before, middle + 1, low[left])
        high[left] = np.where(is_before, high[left], middle)
    return low


def _centers(boxes: Boxes) -> NDArray[np.int64]:
    """Return twice the centers of boxes."""
    wide = boxes.astype(np.int64)
    return np.column_stack([wide[:, 0] + wide[:, -2], wide[:, 1] + wide[:, -1]])


def order_boxes(boxes: Boxes) -> NDArray[np.int64]:
    """Return the order of boxes along the Hilbert curve."""
    centers = _centers(boxes)
    return hilbert_order(centers[:, 0], centers[:, 1])


def _write(folder: Path, name: str, rows: NDArray[np.uint32], boxes: Boxes) -> None:
    write_column(folder, f"{name}_rows", rows)
    write_column(folder, f"{name}_boxes", boxes)
    _write_levels(folder, name, boxes)


def _write_levels(folder: Path, name: str, boxes: Boxes) -> None:
    write_column(folder, f"{name}_levels", _join_levels(boxes))


def _join_levels(boxes: Boxes) -> Boxes:
    levels = build_levels(boxes)
    return np.concatenate(levels) if levels else np.empty((0, 4), np.int32)


def find_boxes(
    boxes: Boxes, asked: NDArray[np.int64], nodes: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the places of boxes that meet one, edges included, in ascending order.

    All are looked at, or those below `nodes`, FANOUT each.
    """
    places = np.empty(len(boxes) if nodes is None else FANOUT * len(nodes), np.int64)
    count = load_kernels().find_boxes(
        address(boxes, np.int32),
        boxes.shape[1],
        len(boxes),
        None if nodes is None else place(nodes),
        0 if nodes is None else len(nodes),
        FANOUT,
        address(asked, np.int64, 4),
        place(places),
    )
    if count < 0:
        raise IndexError("the tree is damaged")
    return places[:count]


def clip_box(box: tuple[int, int, int, int]) -> list[int]:
    """Return a box to be asked for, without what no box of a tree reaches."""
    return [max(-_FARTHEST, min(_FARTHEST, value)) for value in box]


class Rtree:
    """Search over a written tree, or one in memory."""

    def __init__(self, folder: Path, name: str) -> None:
        names = (f"{name}_{column}" for column in ("rows", "boxes", "levels"))
        self._take(*(open_column(folder, column) for column in names))

    @classmethod
    def of(cls, rows: NDArray[np.uint32], boxes: Boxes) -> Rtree:
        """Return a tree in memory over items with their boxes, both in any order."""
        order = order_boxes(boxes)
        tree = cls.__new__(cls)
        tree._take(rows[order], boxes[order], _join_levels(boxes[order]))
        return tree

    def _take(self, rows: NDArray[np.uint32], leaf: Boxes, upper: Boxes) -> None:
        self.rows, self._upper = rows, upper
        self._levels = [leaf]
        start, count = 0, len(leaf)
        while count > FANOUT:
            count = -(-count // FANOUT)
            self._levels.append(self._upper[start : start + count])
            start += count
        self._top = next(
            depth for depth, level in enumerate(self._levels) if len(level) <= _AT_ONCE
        )

    def begin(self, x0: int, y0: int, x1: int, y1: int) -> Search:
        """Return a search that has gone down far enough to say about how much it will find."""
        return Search(self, (x0, y0, x1, y1))

    def search(self, x0: int, y0: int, x1: int, y1: int) -> NDArray[np.uint32]:
        """Return the rows (Hilbert order) whose box meets the box, edges included."""
        return self.rows[self.descend((x0, y0, x1, y1), self._top, None, 0)[1]]

    def estimate(self, x0: int, y0: int, x1: int, y1: int) -> int:
        """Return about how many items `search` would find, rather too many; for query plans."""
        return self.begin(x0, y0, x1, y1).estimate

    def sample(self, most: int) -> Boxes:
        """Return the boxes of at most `most` items, spread evenly along the Hilbert curve."""
        leaf = self._levels[0]
        boxes = leaf[:: max(1, -(-len(leaf) // most))]
        return boxes[boxes[:, 0] <= boxes[:, -2]]

    def for_kernels(self) -> Tree:
        """Return the tree, of boxes, as kernels read it; its arrays have to live as long."""
        leaf, upper = self._levels[0], self._upper
        return Tree(
            address(leaf, np.int32, 4 * len(self.rows)), address(upper, np.int32),
            address(self.rows, np.uint32), len(leaf), len(upper), FANOUT,
        )  # fmt: skip

    @property
    def top(self) -> int:
        """The level where searches begin: the first with few boxes; 0 are the items."""
        return self._top

    def descend(
        self,
        box: tuple[int, int, int, int],
        depth: int,
        nodes: NDArray[np.int64] | None,
        stop: int,
        enough: int | None = None,
    ) -> tuple[int, NDArray[np.int64]]:
        """Go down from the children of `nodes` at a level (None: all of it) to level `stop`.

        Return the level reached and the places there whose box meets the box; higher than `stop`
        where more than `enough` are found.
        """
        asked = np.array(clip_box(box), np.int64)
        while True:
            places = find_boxes(self._levels[depth], asked, nodes)
            if depth == stop or not len(places) or (enough is not None and len(places) > enough):
                return depth, places
            nodes, depth = places, depth - 1

    def search_many(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return all pairs (index of a query box, row) that meet, in no particular order."""
        boxes = np.clip(boxes, -_FARTHEST, _FARTHEST)
        query = np.arange(len(boxes), dtype=np.int64)
        found: NDArray[np.int64] | None = None
        for level in reversed(self._levels):
            if found is None:
                query = np.repeat(query, len(level))
                found = np.tile(np.arange(len(level), dtype=np.int64), len(boxes))
            else:
                found = (found[:, None] * FANOUT + _ARANGE).ravel()
                query = np.repeat(query, FANOUT)
                inside = found < len(level)
                found, query = found[inside], query[inside]
            near, asked = level[found], boxes[query]
            hit = (
                (near[:, 0] <= asked[:, 2])
                & (near[:, -2] >= asked[:, 0])
                & (near[:, 1] <= asked[:, 3])
                & (near[:, -1] >= asked[:, 1])
            )
            found, query = found[hit], query[hit]
        assert found is not None
        return query, self.rows[found]


class Search:
    """A begun search of one box; rows come in Hilbert order."""

    __slots__ = ("_box", "_depth", "_places", "_tree")

    def __init__(self, tree: Rtree, box: tuple[int, int, int, int]) -> None:
        self._tree = tree
        self._box = box
        stop = min(1, tree.top)
        self._depth, self._places = tree.descend(box, tree.top, None, stop, _ENOUGH)

    @property
    def estimate(self) -> int:
        """About how many items the search will find, rather too many."""
        return min(len(self._places) * FANOUT**self._depth, len(self._tree.rows))

    def rows(self) -> NDArray[np.uint32]:
        """Return the rows whose box meets the box, edges included."""
        places = self._places
        if self._depth and len(places):
            places = self._tree.descend(self._box, self._depth - 1, places, 0)[1]
        return self._tree.rows[places]
