"""Where the rows of an updated store went: few changes make few runs that moved by the same number.

So a map of a hundred million rows is some thousand numbers, and mapping a column is one pass in C.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct
from mapyard.store.kernels import Shifts, load_kernels, place

Ints = NDArray[np.int64]
Rows = NDArray[np.uint32]
#: The new row of one that is not there any more, in arrays of four bytes.
GONE: Final = np.uint32(2**32 - 1)
_NOWHERE: Final = np.iinfo(np.int64).min


class RowMap:
    """A map of the numbers below `count` that keeps their order; some are gone.

    Numbers from starts[i] up to the next start become larger by shifts[i]; the first start is 0.
    """

    def __init__(self, starts: Ints, shifts: Ints, count: int) -> None:
        is_new = np.ones(len(starts), np.bool_)
        is_new[1:] = shifts[1:] != shifts[:-1]
        self._starts = np.ascontiguousarray(starts[is_new], np.int64)
        self._shifts = np.ascontiguousarray(shifts[is_new], np.int64)
        self.count = count
        self._kernel = Shifts(place(self._starts), place(self._shifts), len(self._starts), count)

    @classmethod
    def of(cls, numbers: Ints) -> RowMap:
        """Return the map of a whole array: the new number of each, negative where it is gone."""
        shifts = np.where(numbers < 0, _NOWHERE, numbers - np.arange(len(numbers)))
        starts = np.flatnonzero(np.diff(shifts, prepend=shifts[:1] + 1))
        return cls(starts, shifts[starts], len(numbers))

    @classmethod
    def join(cls, starts: list[Ints], places: list[Ints], count: int) -> RowMap:
        """Return the map of runs in any order: where each begins, before and after; −1 is gone."""
        begins, news = np.concatenate(starts), np.concatenate(places)
        order = np.argsort(begins, kind="stable")
        begins, news = begins[order], news[order]
        return cls(begins, np.where(news < 0, _NOWHERE, news - begins), count)

    def __len__(self) -> int:
        return self.count

    @overload
    def __getitem__(self, rows: int) -> int: ...
    @overload
    def __getitem__(self, rows: NDArray[Any]) -> Ints: ...
    def __getitem__(self, rows: Any) -> Any:
        """Return the new numbers as int64, −1 for what is gone or none."""
        if isinstance(rows, int | np.integer):
            return int(self[np.array([rows])][0])
        mapped = self.take(rows.astype(np.uint32))[0].astype(np.int64)
        mapped[mapped == GONE] = -1
        return mapped

    def take(self, rows: Rows) -> tuple[Rows, int]:
        """Return the new numbers, GONE for what is gone or none, and how many these are."""
        rows = np.ascontiguousarray(rows, np.uint32)
        out = np.empty(rows.shape, np.uint32)
        gone = load_kernels().map_rows(
            ctypes.addressof(self._kernel), place(rows), rows.size, place(out)
        )
        return out, int(gone)

    @property
    def gone(self) -> Ints:
        """The numbers that are gone, sorted."""
        runs = np.flatnonzero(self._shifts == _NOWHERE)
        return ranges(self._starts[runs], np.append(self._starts, self.count)[runs + 1]
                      - self._starts[runs])  # fmt: skip

    def without(self, rows: Ints) -> RowMap:
        """Return the same map in which some more numbers, sorted, are gone."""
        after = rows + 1
        starts = distinct(self._starts, rows, after[after < self.count])
        shifts = self._shifts[np.searchsorted(self._starts, starts, side="right") - 1]
        shifts[np.searchsorted(starts, rows)] = _NOWHERE
        return RowMap(starts, shifts, self.count)

    def head(self, count: int) -> RowMap:
        """Return the map of the numbers below a smaller count."""
        chosen = self._starts < count
        return RowMap(self._starts[chosen], self._shifts[chosen], count)

    def runs(self) -> tuple[Ints, Ints, Ints]:
        """Return the runs that are not gone: where each begins, before and after, its length."""
        stays = self._shifts != _NOWHERE
        starts = self._starts[stays]
        lengths = np.append(self._starts, self.count)[1:][stays] - starts
        return starts, starts + self._shifts[stays], lengths

    def invert(self, rows: NDArray[Any]) -> Ints:
        """Return what became the new numbers, −1 where nothing did."""
        rows = np.asarray(rows, np.int64)
        starts, news, lengths = self.runs()
        if not len(starts):
            return np.full(len(rows), -1, np.int64)
        run = np.searchsorted(news, rows, side="right") - 1
        within = rows - news[run]
        is_there = (run >= 0) & (within < lengths[run])
        return np.where(is_there, starts[run] + within, -1)
