"""Static packed Hilbert R-tree on numpy arrays: built once, searched level by level.

Items lie in Hilbert order; each node of a level holds FANOUT neighbors of the level below. A
search compares whole levels of boxes at once, so its cost is some numpy calls plus the result.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import open_column, write_column

FANOUT = 16
_ARANGE = np.arange(FANOUT, dtype=np.int64)

# (n, 4): x0, y0, x1, y1; points are (n, 2), so x1 and y1 are read as [-2] and [-1].
Boxes = NDArray[np.int32]


def hilbert_code(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the position on the Hilbert curve of order 16 for x, y in [0, 65536)."""
    x = x.astype(np.uint32)
    y = y.astype(np.uint32)
    code = np.zeros(len(x), np.uint32)
    side = np.uint32(1 << 15)
    while side:
        rx = (x & side) > 0
        ry = (y & side) > 0
        code += side * side * ((np.uint32(3) * rx) ^ ry.astype(np.uint32))
        flip = ~ry & rx
        x = np.where(flip, np.uint32(65535) - x, x)
        y = np.where(flip, np.uint32(65535) - y, y)
        swap = ~ry
        x, y = np.where(swap, y, x), np.where(swap, x, y)
        side >>= np.uint32(1)
    return code


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
        starts = np.arange(0, len(boxes), FANOUT)
        boxes = np.column_stack(
            [
                np.minimum.reduceat(boxes[:, 0], starts),
                np.minimum.reduceat(boxes[:, 1], starts),
                np.maximum.reduceat(boxes[:, -2], starts),
                np.maximum.reduceat(boxes[:, -1], starts),
            ]
        ).astype(np.int32)
        levels.append(boxes)
    return levels


def write_rtree(folder: Path, name: str, rows: NDArray[np.uint32], boxes: Boxes) -> None:
    """Write the tree over items `rows` with their boxes, both in any order."""
    order = _hilbert_order_of(boxes)
    _write(folder, name, rows[order], boxes[order])


def append_rtree(
    old_folder: Path,
    folder: Path,
    name: str,
    keep: NDArray[np.bool_],
    row_map: NDArray[np.int64],
    is_touched: NDArray[np.bool_],
    rows: NDArray[np.uint32],
    boxes: Boxes,
) -> None:
    """Write an old tree without touched or gone items, and with new ones at its end.

    The new items are packed among themselves: a few of them cost a search next to nothing.
    """
    old_rows = open_column(old_folder, f"{name}_rows")
    stays = keep[old_rows]
    mapped = row_map[old_rows]
    stays[stays] = ~is_touched[mapped[stays]]
    order = _hilbert_order_of(boxes)
    _write(
        folder,
        name,
        np.concatenate([mapped[stays], rows[order]]).astype(np.uint32),
        np.concatenate([open_column(old_folder, f"{name}_boxes")[stays], boxes[order]]),
    )


def _hilbert_order_of(boxes: Boxes) -> NDArray[np.int64]:
    wide = boxes.astype(np.int64)
    return hilbert_order(wide[:, 0] + wide[:, -2], wide[:, 1] + wide[:, -1])


def _write(folder: Path, name: str, rows: NDArray[np.uint32], boxes: Boxes) -> None:
    levels = build_levels(boxes)
    write_column(folder, f"{name}_rows", rows)
    write_column(folder, f"{name}_boxes", boxes)
    upper = np.concatenate(levels) if levels else np.empty((0, 4), np.int32)
    write_column(folder, f"{name}_levels", upper)


class Rtree:
    """Search over a written tree."""

    def __init__(self, folder: Path, name: str) -> None:
        self.rows: NDArray[np.uint32] = open_column(folder, f"{name}_rows")
        leaf: Boxes = open_column(folder, f"{name}_boxes")
        upper: Boxes = open_column(folder, f"{name}_levels")
        self._levels = [leaf]
        start, count = 0, len(leaf)
        while count > FANOUT:
            count = -(-count // FANOUT)
            self._levels.append(upper[start : start + count])
            start += count

    def search(self, x0: int, y0: int, x1: int, y1: int) -> NDArray[np.uint32]:
        """Return the rows (Hilbert order) whose box meets the box, edges included."""
        found: NDArray[np.int64] | None = None
        for boxes in reversed(self._levels):
            if found is None:
                near = boxes
            else:
                found = (found[:, None] * FANOUT + _ARANGE).ravel()
                if len(found) and found[-1] >= len(boxes):
                    found = found[found < len(boxes)]
                near = boxes[found]
            hit = (
                (near[:, 0] <= x1) & (near[:, -2] >= x0) & (near[:, 1] <= y1) & (near[:, -1] >= y0)
            )
            found = np.flatnonzero(hit) if found is None else found[hit]
            if not len(found):
                break
        return self.rows[found]

    def estimate(self, x0: int, y0: int, x1: int, y1: int) -> int:
        """Return about how many items `search` would find, rather too many; for query plans."""
        found: NDArray[np.int64] | None = None
        for depth in range(len(self._levels) - 1, -1, -1):
            boxes = self._levels[depth]
            if found is None:
                near = boxes
            else:
                found = (found[:, None] * FANOUT + _ARANGE).ravel()
                if len(found) and found[-1] >= len(boxes):
                    found = found[found < len(boxes)]
                near = boxes[found]
            hit = (near[:, 0] <= x1) & (near[:, 2] >= x0) & (near[:, 1] <= y1) & (near[:, 3] >= y0)
            found = np.flatnonzero(hit) if found is None else found[hit]
            if depth <= 1 or len(found) > 64:
                return min(len(found) * FANOUT**depth, len(self.rows))
        return 0

    def search_many(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return all pairs (index of a query box, row) that meet, in no particular order."""
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
