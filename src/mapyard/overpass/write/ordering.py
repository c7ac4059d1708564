"""The order of output: by type and id, or by type and place (`qt`)."""

from __future__ import annotations

import numpy as np

from mapyard.overpass.osm.rowsets import ElementSet, Rows
from mapyard.overpass.parse.syntax import Out
from mapyard.overpass.run.items import centers
from mapyard.overpass.space.lines import Ints
from mapyard.store.reader import Store


def order_rows(store: Store, rows: Rows, order: str) -> Rows:
    """Return rows by type and id (`asc`), or by type and along a Z-curve (`qt`)."""
    if order == "asc" or len(rows) < 2:
        return rows
    return rows[np.lexsort([rows.astype(np.int64), order_codes(store, rows), store.types(rows)])]


def order_codes(store: Store, rows: Rows) -> Ints:
    """Return the places of rows along a Z-curve."""
    middle = np.nan_to_num(centers(store, rows), nan=-200.0)
    x = ((middle[:, 0] + 200.0) * (2**31 / 400.0)).astype(np.uint64)
    y = ((middle[:, 1] + 200.0) * (2**31 / 400.0)).astype(np.uint64)
    return (_spread(x) | (_spread(y) << np.uint64(1))).astype(np.int64)


def _spread(
    values: np.ndarray[tuple[int], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return 31 bits with a zero bit between each two."""
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333), (1, 0x5555555555555555),
    ):  # fmt: skip
        values = (values | (values << np.uint64(shift))) & np.uint64(mask)
    return values


def take(store: Store, out: Out, elements: ElementSet) -> ElementSet:
    """Return the members that an `out` shows: ordered, and cut off at its limit."""
    rows = order_rows(store, elements.rows, out.order)
    if out.limit is None or elements.size <= out.limit:
        return elements._replace(rows=rows)
    left = out.limit
    rows = rows[:left]
    areas = elements.areas[: max(left - len(rows), 0)]
    derived = elements.derived[: max(left - len(rows) - len(areas), 0)]
    return ElementSet(rows, areas, derived)
