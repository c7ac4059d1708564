"""What an update takes over from the build before, so that only what changed is computed again.

The assembly of the geocoder runs in full with every update: its passes over arrays are cheap. What
costs is what asks geometries, trees or tags about single rows and points. Those answers go through
a `Memo`, which knows the ones of the build before:

- `by_row`: pure functions of one element. They hold until the element is touched.
- `by_point`: pure functions of a position and what is around it. They hold but in the cells around
  whatever changed. They are found by the element that the point is of, and hold where it is still
  at the same position.

So the result is the same, to the byte, as that of a build from nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geocoding.build.cells import Cells
from mapyard.geocoding.build.columns import Floats, Ints, sort_stably
from mapyard.store.columns import open_column, write_column
from mapyard.store.reader import E7, Store
from mapyard.store.row_map import RowMap
from mapyard.store.sorted import find_sorted

Array = NDArray[Any]
#: Value of a point that has to be computed again.
UNKNOWN: Final = -2
#: Kinds of points that an element has: the middle of its box, its address, a place, a point on a
#: street or river, and what stands for a street that only addresses know.
MIDDLE, ADDRESS, PLACE_POINT, LINE_POINT, ORPHAN = range(5)
_PAIR: Final = ("one", "other")
_OF_POINTS: Final = ("names", "keys", "values", "labels")
_ROW_BITS: Final = 40
_ROWS: Final = (1 << _ROW_BITS) - 1


@dataclass(frozen=True)
class Previous:
    """The dataset before: what its build remembered, its store, and what happened to its rows.

    `row_map` gives the new row of each old one, −1 where deleted; `touched` are the sorted new rows
    that changed or depend on changed ones.
    """

    folder: Path
    store: Store
    row_map: RowMap
    touched: Ints

    def map_rows(self, rows: Array) -> Ints:
        """Return the new rows of old ones; −1 stays, of deleted ones it is `UNKNOWN`."""
        mapped = self.row_map[rows]
        mapped[mapped < 0] = UNKNOWN
        if rows.dtype.kind == "i":
            mapped[rows < 0] = -1
        return mapped

    def is_touched(self, rows: Array) -> NDArray[np.bool_]:
        """Return which new rows changed or depend on changed ones."""
        return find_sorted(self.touched, rows) >= 0


class Compared(NamedTuple):
    """How a set of rows differs from the build before: old and new ones, and those that do not."""

    old: Ints
    new: Ints
    same: Ints


class Nearest(NamedTuple):
    """What to do where an answer is the nearest of some elements, and others of these changed."""

    #: Sorted rows that are as before.
    same: Ints
    #: Gets places and their answers, of which each is one of `same` or −1; returns those now.
    improve: Callable[[Ints, Ints], Ints]


class Memo:
    """Answers of the build before, and those of this one, which go into a new folder."""

    def __init__(self, store: Store, folder: Path, previous: Previous | None = None) -> None:
        self.store = store
        self.previous = previous
        self._folder = folder
        self._points: dict[str, list[tuple[Array, ...]]] = {}
        self._names: dict[str, tuple[Ints, Ints]] = {}
        folder.mkdir(parents=True)

    def put(self, name: str, values: Array) -> None:
        """Remember a column."""
        write_column(self._folder, name, values)

    def get(self, name: str) -> Array:
        """Return a column of the build before; there has to be one."""
        assert self.previous is not None
        return open_column(self.previous.folder, name)

    def _has(self, name: str) -> bool:
        return self.previous is not None and (self.previous.folder / f"{name}.npy").exists()

    def close(self) -> None:
        """Remember what was asked by position."""
        for name, parts in self._points.items():
            names, *others = (np.concatenate(column) for column in zip(*parts, strict=True))
            if (names[1:] <= names[:-1]).any():
                order = sort_stably((names >> _ROW_BITS) * self.store.row_count + (names & _ROWS))
                order = order[np.diff(names[order], prepend=-1) > 0]
                names, *others = (column[order] for column in (names, *others))
            for column, values in zip(_OF_POINTS, (names, *others), strict=False):
                self.put(f"{name}_{column}", values)
        self._points = {}

    # ---- functions of an element ------------------------------------------------------------

    def by_row(self, name: str, rows: Ints, compute: Callable[[Ints], Array]) -> Array:
        """Return compute(rows), an array with one item or line per row."""
        if self.previous is None or not self._has(f"{name}_rows"):
            values = compute(rows)
        else:
            place = _find_mapped(self.previous.map_rows(self.get(f"{name}_rows")), rows)
            place[self.previous.is_touched(rows)] = -1
            open_ = np.flatnonzero(place < 0)
            old = self.get(f"{name}_values")
            values = old[place] if len(old) else np.zeros((len(rows), *old.shape[1:]), old.dtype)
            values[open_] = compute(rows[open_])
        order = slice(None) if is_ascending(rows) else np.argsort(rows, kind="stable")
        self.put(f"{name}_rows", rows[order].astype(np.uint32))
        self.put(f"{name}_values", values[order])
        return values

    def by_pair(
        self, name: str, one: Ints, other: Ints, compute: Callable[[Ints], NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """Return whether something holds for pairs of rows, of which there are few.

        `compute` gets places in both. Old answers stand until one of the two is touched.
        """
        values = np.zeros(len(one), np.bool_)
        open_ = np.arange(len(one))
        if self._has(f"{name}_one"):
            assert self.previous is not None
            rows = [self.previous.map_rows(self.get(f"{name}_{which}")) for which in _PAIR]
            old = dict(zip(zip(*(r.tolist() for r in rows), strict=True),
                           self.get(f"{name}_values").tolist(), strict=True))  # fmt: skip
            answers = [old.get(pair) for pair in zip(one.tolist(), other.tolist(), strict=True)]
            known = np.array([answer is not None for answer in answers], np.bool_)
            known &= ~(self.previous.is_touched(one) | self.previous.is_touched(other))
            values[known] = [bool(answers[place]) for place in np.flatnonzero(known).tolist()]
            open_ = np.flatnonzero(~known)
        if len(open_):
            values[open_] = compute(open_)
        for which, rows_of in zip(_PAIR, (one, other), strict=True):
            self.put(f"{name}_{which}", rows_of.astype(np.uint32))
        self.put(f"{name}_values", values)
        return values

    # ---- functions of a position ------------------------------------------------------------

    def by_point(
        self,
        name: str,
        lon: Floats,
        lat: Floats,
        compute: Callable[[Ints], Ints],
        dirty: Cells | None,
        names: Ints,
        *,
        translate: Callable[[Array], Ints] | None = None,
        labels: Ints | None = None,
        nearest: Nearest | None = None,
    ) -> Ints:
        """Return one number per point: a row, −1 for none, or what `translate` makes of old ones.

        Args:
            name: of the function; may be asked several times.
            lon: degrees.
            lat: degrees.
            compute: gets places in lon and lat, returns their numbers.
            dirty: where old answers do not hold.
            names: by which an old answer is found, of `name_points`. It holds only where the
                position is the same.
            translate: old numbers → new ones; rows are mapped by default.
            labels: rows that the answers depend on besides the position, −1 for none.
            nearest: how old answers are improved where they may not hold, instead of `compute`.
        """
        keys = _point_keys(lon, lat)
        values = np.full(len(lon), UNKNOWN, np.int64)
        if dirty is not None and self._has(f"{name}_names"):
            assert self.previous is not None
            map_rows = self.previous.map_rows
            known, places = self._old_names(name)
            place = places[find_sorted(known, names)]
            in_doubt = dirty.find_in_boxes(lon, lat)
            if nearest is None:
                place[in_doubt] = -1
            at = np.flatnonzero(place >= 0)
            place = place[at]
            same = self.get(f"{name}_keys")[place] == keys[at]
            taken = (translate or map_rows)(self.get(f"{name}_values")[place])
            if labels is not None:
                same &= map_rows(self.get(f"{name}_labels")[place]) == labels[at]
            taken[~same] = UNKNOWN
            values[at] = taken
            if nearest is not None:
                answers = values[in_doubt]
                stands = (answers == -1) | (find_sorted(nearest.same, answers) >= 0)
                values[in_doubt[~stands]] = UNKNOWN
                in_doubt, answers = in_doubt[stands], answers[stands]
                values[in_doubt] = nearest.improve(in_doubt, answers)
        open_ = np.flatnonzero(values == UNKNOWN)
        if len(open_):
            values[open_] = compute(open_)
        columns: list[Array] = [names, keys, values.astype(np.int32)]
        if labels is not None:
            columns.append(labels.astype(np.int32))
        if (names < 0).any():
            columns = [column[names >= 0] for column in columns]
        self._points.setdefault(name, []).append(tuple(columns))
        return values

    def _old_names(self, name: str) -> tuple[Ints, Ints]:
        """Return what points of the build before are called now, and the place of each; then −1."""
        if name not in self._names:
            assert self.previous is not None
            old = self.get(f"{name}_names")
            rows = self.previous.map_rows(old & _ROWS)
            places = np.flatnonzero(rows >= 0)
            known = rows | (old >> _ROW_BITS << _ROW_BITS)
            self._names[name] = known[places], np.append(places, -1)
        return self._names[name]

    # ---- what changed -----------------------------------------------------------------------

    def compare(self, name: str, rows: Ints, labels: Ints | None = None) -> Compared:
        """Return in which rows a sorted set of them differs from the build before.

        A row differs when it is in one of them only, is touched, or has another label (a row).
        """
        self.put(f"{name}_rows", rows.astype(np.uint32))
        if labels is not None:
            self.put(f"{name}_labels", labels.astype(np.int32))
        if self.previous is None:
            return Compared(np.empty(0, np.int64), rows, rows[:0])
        map_rows = self.previous.map_rows
        old = self.get(f"{name}_rows")
        place = _find_mapped(map_rows(old), rows)
        place[self.previous.is_touched(rows)] = -1
        if labels is not None and len(old):
            place[map_rows(self.get(f"{name}_labels"))[place] != labels] = -1
        kept = np.zeros(len(old) + 1, np.bool_)
        kept[place] = True  # −1 is behind the last
        return Compared(old[~kept[:-1]].astype(np.int64), rows[place < 0], rows[place >= 0])

    def cells_around(self, changes: Compared, reach_deg: float = 0.0) -> Cells | None:
        """Return the cells around all rows that differ; None in a build from nothing."""
        if self.previous is None:
            return None
        before, now = self.previous.store.boxes(changes.old), self.store.boxes(changes.new)
        boxes = np.concatenate([before, now]) / E7
        return Cells(boxes[boxes[:, 0] <= boxes[:, 2]], reach_deg)


def name_points(rows: Ints, kind: int) -> Ints:
    """Return a number for each point of an element: row and kind of point; −1 where row is."""
    return np.where(rows < 0, -1, (kind << _ROW_BITS) | rows)


def _find_mapped(known: Ints, wanted: Ints) -> Ints:
    """Return where each wanted number is in an array, −1 where it is not.

    The array ascends but for `UNKNOWN`; negative numbers are never found.
    """
    is_known = known >= 0
    if is_known.all():
        return find_sorted(known, wanted)
    places = np.append(np.flatnonzero(is_known), -1)
    return places[find_sorted(known[is_known], wanted)]


def is_ascending(values: Array) -> bool:
    """Whether no number is smaller than the one before it."""
    return not (values[1:] < values[:-1]).any()


def _point_keys(lon: Floats, lat: Floats) -> Ints:
    """Return one number per position, of 1e-7 degree; all unknown positions share one."""
    x, y = (np.rint(np.nan_to_num(v, nan=200.0) * E7).astype(np.int64) for v in (lon, lat))
    return (x << 32) + y
