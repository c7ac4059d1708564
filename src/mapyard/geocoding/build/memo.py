"""What an update takes over from the build before, so that only what changed is computed again.

The assembly of the geocoder runs in full with every update: its passes over arrays are cheap. What
costs is what asks geometries, trees or tags about single rows and points. Those answers go through
a `Memo`, which knows the ones of the build before:

- `by_row`: pure functions of one element. They hold until the element is touched.
- `by_point`: pure functions of a position and what is around it. They hold but in the cells around
  whatever changed.

So the result is the same, to the byte, as that of a build from nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.geocoding.build.cells import Cells
from mapyard.geocoding.build.columns import Floats, Ints
from mapyard.store.columns import open_column, write_column
from mapyard.store.reader import E7, Store

Array = NDArray[Any]
#: Value of a point that has to be computed again.
UNKNOWN: Final = -2


@dataclass(frozen=True)
class Previous:
    """The dataset before: what its build remembered, its store, and what happened to its rows.

    `row_map` gives the new row of each old one, −1 where deleted; `touched` are the sorted new rows
    that changed or depend on changed ones.
    """

    folder: Path
    store: Store
    row_map: Ints
    touched: Ints

    def map_rows(self, rows: Array) -> Ints:
        """Return the new rows of old ones; −1 stays, of deleted ones it is `UNKNOWN`."""
        rows = rows.astype(np.int64)
        mapped = self.row_map[rows]
        return np.where(rows < 0, rows, np.where(mapped < 0, UNKNOWN, mapped))

    def is_touched(self, rows: Array) -> NDArray[np.bool_]:
        """Return which new rows changed or depend on changed ones."""
        return _find(self.touched, rows)[1]


class Memo:
    """Answers of the build before, and those of this one, which go into a new folder."""

    def __init__(self, store: Store, folder: Path, previous: Previous | None = None) -> None:
        self.store = store
        self.previous = previous
        self._folder = folder
        self._points: dict[str, list[tuple[Array, ...]]] = {}
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
            keys, *others = (np.concatenate(column) for column in zip(*parts, strict=True))
            keys, first = np.unique(keys, return_index=True)
            self.put(f"{name}_keys", keys)
            for column, values in zip(("values", "labels"), others, strict=False):
                self.put(f"{name}_{column}", values[first])
        self._points = {}

    # ---- functions of an element ------------------------------------------------------------

    def by_row(self, name: str, rows: Ints, compute: Callable[[Ints], Array]) -> Array:
        """Return compute(rows), an array with one item or line per row."""
        if self.previous is None or not self._has(f"{name}_rows"):
            values = compute(rows)
        else:
            known = self.previous.map_rows(self.get(f"{name}_rows"))
            place, found = _find(known, rows)
            found &= ~self.previous.is_touched(rows)
            open_ = np.flatnonzero(~found)
            old = self.get(f"{name}_values")
            values = old[place] if len(old) else np.zeros((len(rows), *old.shape[1:]), old.dtype)
            values[open_] = compute(rows[open_])
        order = np.argsort(rows, kind="stable")
        self.put(f"{name}_rows", rows[order].astype(np.uint32))
        self.put(f"{name}_values", values[order])
        return values

    # ---- functions of a position ------------------------------------------------------------

    def by_point(
        self,
        name: str,
        lon: Floats,
        lat: Floats,
        compute: Callable[[Ints], Ints],
        dirty: Cells | None,
        *,
        translate: Callable[[Array], Ints] | None = None,
        labels: Ints | None = None,
    ) -> Ints:
        """Return one number per point: a row, −1 for none, or what `translate` makes of old ones.

        Args:
            name: of the function; may be asked several times.
            lon: degrees.
            lat: degrees.
            compute: gets places in lon and lat, returns their numbers.
            dirty: where old answers do not hold.
            translate: old numbers → new ones; rows are mapped by default.
            labels: rows that the answers depend on besides the position, −1 for none.
        """
        keys = _point_keys(lon, lat)
        values = np.full(len(lon), UNKNOWN, np.int64)
        if dirty is not None and self._has(f"{name}_keys"):
            place, found = _find(self.get(f"{name}_keys"), keys)
            found &= ~dirty.hold(lon, lat)
            at = place[found]
            assert self.previous is not None
            map_rows = self.previous.map_rows
            taken = (translate or map_rows)(self.get(f"{name}_values")[at])
            if labels is not None:
                same = map_rows(self.get(f"{name}_labels")[at]) == labels[found]
                taken = np.where(same, taken, UNKNOWN)
            values[found] = taken
        open_ = np.flatnonzero(values == UNKNOWN)
        if len(open_):
            values[open_] = compute(open_)
        columns = (values,) if labels is None else (values, labels)
        parts = self._points.setdefault(name, [])
        parts.append((keys, *(column.astype(np.int32) for column in columns)))
        return values

    # ---- what changed -----------------------------------------------------------------------

    def changed_rows(self, name: str, rows: Ints, labels: Ints | None = None) -> tuple[Ints, Ints]:
        """Return the old and the new rows in which a set of rows differs from the build before.

        A row differs when it is in one of them only, is touched, or has another label (a row).
        """
        if labels is None:
            labels = np.full(len(rows), -1, np.int64)
        self.put(f"{name}_rows", rows.astype(np.uint32))
        self.put(f"{name}_labels", labels.astype(np.int32))
        if self.previous is None:
            return np.empty(0, np.int64), rows
        old = self.get(f"{name}_rows").astype(np.int64)
        mapped = self.previous.map_rows(old)
        place, found = _find(mapped, rows)
        same = found & ~self.previous.is_touched(rows)
        if len(old):
            same &= self.previous.map_rows(self.get(f"{name}_labels"))[place] == labels
        kept = _find(rows[same], mapped)[1]
        return old[~kept], rows[~same]

    def cells_of_changes(
        self, name: str, rows: Ints, reach_deg: float = 0.0, labels: Ints | None = None
    ) -> Cells | None:
        """Return the cells around all rows in which a set differs; None in a build from nothing."""
        old, new = self.changed_rows(name, rows, labels)
        if self.previous is None:
            return None
        boxes = np.concatenate([self.previous.store.boxes(old), self.store.boxes(new)]) / E7
        return Cells(boxes[boxes[:, 0] <= boxes[:, 2]], reach_deg)


def _find(known: Array, wanted: Array) -> tuple[Ints, NDArray[np.bool_]]:
    """Return where each wanted number is in an array, and whether it is.

    The array ascends but for negative numbers (deleted rows), which are never wanted.
    """
    order = None
    if len(known) > 1 and (known[1:] < known[:-1]).any():
        order = np.argsort(known, kind="stable")
        known = known[order]
    if not len(known):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = known[place] == wanted
    return (place if order is None else order[place]), found


def _point_keys(lon: Floats, lat: Floats) -> Ints:
    """Return one number per position, of 1e-7 degree; all unknown positions share one."""
    x, y = (np.round(np.nan_to_num(v, nan=200.0) * E7).astype(np.int64) for v in (lon, lat))
    return (x << 32) + y
