"""Rows in portions whose shapes fit into memory.

Shapes of the map are as large as OpenStreetMap lets them be. In datasets of people's own (is_own)
each may have a million positions, so what needs the shapes of many rows takes them in portions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import TooLarge
from mapyard.store.arrays import Rows
from mapyard.store.reader import Store

#: Stored shapes of one portion, bytes; one that is larger is a portion alone.
PORTION_BYTES: Final = 64 << 20


def iter_portions(store: Store, rows: Rows) -> Iterator[slice]:
    """Yield where the portions of rows lie, in order; at least one, of the map always one."""
    if not store.is_own or len(rows) < 2:
        yield slice(0, len(rows))
        return
    ends = np.cumsum(store.shape_bytes(rows))
    start = 0
    while start < len(rows):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + PORTION_BYTES, side="right")))
        yield slice(start, stop)
        start = stop


def in_portions(
    store: Store,
    rows: Rows,
    measure: Callable[[Rows], NDArray[Any]],
    deadline: Deadline | None = None,
) -> NDArray[Any]:
    """Return what `measure` gives for rows, one value per row, asked portion by portion."""
    found = []
    for portion in iter_portions(store, rows):
        if deadline is not None:
            deadline.check()
        found.append(measure(rows[portion]))
    return found[0] if len(found) == 1 else np.concatenate(found)


def check_size(store: Store, rows: Rows, most_bytes: int = PORTION_BYTES) -> None:
    """Raise TooLarge where shapes of somebody's own, all in one answer, would be too much."""
    if store.is_own:
        size = int(store.shape_bytes(rows).sum())
        if size > most_bytes:
            raise TooLarge(
                f"the geometries of these {len(rows):,} rows take {size:,} bytes, at most "
                f"{most_bytes:,} go into one answer: ask for fewer rows or without geometries",
                details={"limit": most_bytes, "count": size},
            )
