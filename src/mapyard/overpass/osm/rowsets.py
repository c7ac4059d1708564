"""Sets of elements as sorted row arrays, and what is done with them.

Row arrays are uint32, ascending, without doubles (see store/reader.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.store.columns import find_place
from mapyard.store.reader import EMPTY_ROWS, Store

Rows = NDArray[np.uint32]
Mask = NDArray[np.bool_]

#: Element types of each query kind.
KIND_TYPES: Final[dict[str, tuple[int, ...]]] = {
    "node": (NODE,), "way": (WAY,), "relation": (RELATION,), "nwr": (NODE, WAY, RELATION),
    "nw": (NODE, WAY), "wr": (WAY, RELATION), "nr": (NODE, RELATION), "area": (WAY, RELATION),
    "derived": (),
}  # fmt: skip


class Derived(NamedTuple):
    """An element that make or convert made: a type name of its own, tags, maybe a geometry."""

    type_name: str
    id: int
    tags: dict[str, str]
    geometry: shapely.Geometry | None

    @property
    def nbytes(self) -> int:
        """Return a fair guess of the memory held."""
        tags = self.tags
        texts = 200 * len(tags) + sum(map(len, tags)) + sum(map(len, tags.values()))
        if self.geometry is None:  # as in most; to ask GEOS would take longer than to make it
            return 500 + texts
        return 500 + texts + 16 * int(shapely.get_num_coordinates(self.geometry))


class ElementSet(NamedTuple):
    """The value of a set: elements, areas (rows of the relations they are made of) and deriveds."""

    rows: Rows = EMPTY_ROWS
    areas: Rows = EMPTY_ROWS
    derived: tuple[Derived, ...] = ()

    @property
    def size(self) -> int:
        """Return the number of members."""
        return len(self.rows) + len(self.areas) + len(self.derived)

    @property
    def nbytes(self) -> int:
        """Return a fair guess of the memory held."""
        size = self.rows.nbytes + self.areas.nbytes
        return size + sum(d.nbytes for d in self.derived) if self.derived else size


EMPTY_SET: Final = ElementSet()


def as_rows(values: NDArray[Any]) -> Rows:
    """Return any row numbers as a row array: negative ones (absent) dropped, sorted, unique."""
    if values.dtype.kind == "i":
        values = values[values >= 0]
    if len(values) < 2:
        return values.astype(np.uint32)
    values = np.sort(values.astype(np.uint32, copy=False))
    keep = np.empty(len(values), np.bool_)
    keep[0] = True
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values if keep.all() else values[keep]


def is_member(rows: NDArray[Any], among: Rows) -> Mask:
    """Return which rows (any order) are in a row array."""
    if not len(among) or not len(rows):
        return np.zeros(len(rows), np.bool_)
    place = np.searchsorted(among, rows.astype(np.uint32, copy=False))
    place[place == len(among)] = 0
    return np.asarray(among[place] == rows)


def intersect(a: Rows, b: Rows) -> Rows:
    """Return the rows of both."""
    if len(a) > len(b):
        a, b = b, a
    return a[is_member(a, b)]


def subtract(a: Rows, b: Rows) -> Rows:
    """Return the rows of a that are not in b."""
    if not len(a) or not len(b):
        return a
    if len(b) * 8 < len(a):
        keep = np.ones(len(a), np.bool_)
        place = np.searchsorted(a, b)
        place[place == len(a)] = 0
        keep[place[a[place] == b]] = False
        return a[keep]
    return a[~is_member(a, b)]


def unite(parts: Sequence[Rows]) -> Rows:
    """Return the rows of any."""
    filled = [part for part in parts if len(part)]
    if not filled:
        return EMPTY_ROWS
    if len(filled) == 1:
        return filled[0]
    if all(a[-1] < b[0] for a, b in pairwise(filled)):
        return np.concatenate(filled)
    return as_rows(np.concatenate(filled))


def unite_sets(parts: Sequence[ElementSet]) -> ElementSet:
    """Return the union of sets; deriveds are kept once per type and id."""
    derived = {(item.type_name, item.id): item for part in parts for item in part.derived}
    return ElementSet(
        unite([part.rows for part in parts]),
        unite([part.areas for part in parts]),
        tuple(derived.values()),
    )


def subtract_sets(a: ElementSet, b: ElementSet) -> ElementSet:
    """Return the members of a that are not in b."""
    gone = {(item.type_name, item.id) for item in b.derived}
    return ElementSet(
        subtract(a.rows, b.rows),
        subtract(a.areas, b.areas),
        tuple(item for item in a.derived if (item.type_name, item.id) not in gone),
    )


def kind_ranges(store: Store, kind: str) -> list[tuple[int, int]]:
    """Return the ranges of rows [start, stop) that a query kind covers, neighbors joined."""
    ranges: list[tuple[int, int]] = []
    for element_type in KIND_TYPES[kind]:
        start, stop = store.type_range(element_type)
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((start, stop))
    return ranges


def restrict(rows: Rows, ranges: list[tuple[int, int]]) -> Rows:
    """Return the rows that lie in the ranges; a view where one range is asked."""
    parts = [part_of(rows, start, stop) for start, stop in ranges]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else EMPTY_ROWS


def part_of(rows: Rows, start: int, stop: int) -> Rows:
    """Return the rows in [start, stop) as a view."""
    low, high = find_place(rows, start, stop)
    return rows[low:high]


def split_types(store: Store, rows: Rows) -> tuple[Rows, Rows, Rows]:
    """Return the nodes, the ways and the relations of a row array, as views."""
    low, high = find_place(rows, store.way_start, store.relation_start)
    return rows[:low], rows[low:high], rows[high:]
