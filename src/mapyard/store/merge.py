"""Merging of sorted sequences: old items that stay, new items in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, offsets_of, write_column

Ints = NDArray[np.int64]
Array = NDArray[Any]


class Splice:
    """One sorted sequence out of the kept part of an old one and new items.

    `keep` tells which old items stay. `kept_place` and `new_place` are where the kept and the new
    items lie in the result. Values are copied in runs, so that a few changes in a long column cost
    little more than a copy of it.
    """

    def __init__(self, keep: NDArray[np.bool_], kept_keys: Array, new_keys: Array) -> None:
        self.kept = np.flatnonzero(keep)
        self.count = len(self.kept) + len(new_keys)
        # Few new items: where each goes among the kept ones says all.
        at = np.searchsorted(kept_keys, new_keys)
        self.new_place: Ints = at + np.arange(len(new_keys))
        is_new = np.zeros(self.count, np.bool_)
        is_new[self.new_place] = True
        self.kept_place: Ints = np.flatnonzero(~is_new)
        self._runs = self._find_runs(is_new)

    def _find_runs(self, is_new: NDArray[np.bool_]) -> list[tuple[bool, int, int]]:
        """Return (is new, start, stop) of the runs that make up the result, in order."""
        if not self.count:
            return []
        source = np.empty(self.count, np.int64)
        source[self.kept_place] = self.kept
        source[self.new_place] = np.arange(len(self.new_place))
        breaks = np.flatnonzero((np.diff(source) != 1) | (is_new[1:] != is_new[:-1])) + 1
        starts = np.concatenate([[0], breaks])
        stops = np.concatenate([breaks, [self.count]])
        first, last = source[starts], source[stops - 1] + 1
        return list(zip(is_new[starts].tolist(), first.tolist(), last.tolist(), strict=True))

    def values(self, old: Array, new: Array) -> Array:
        """Return the merged column; `old` has all old items, `new` the new ones."""
        if not self._runs:
            return old[:0]
        parts = [(new if fresh else old)[a:b] for fresh, a, b in self._runs]
        return np.concatenate(parts).astype(old.dtype, copy=False)

    def ragged(
        self, old: Array, old_offsets: Ints, new: Array, new_offsets: Ints
    ) -> tuple[Array, Ints]:
        """Return merged values and offsets of runs of values per item."""
        lengths = self.values(np.diff(old_offsets), np.diff(new_offsets))
        if not self._runs:
            return old[:0], offsets_of(lengths)
        parts = [
            new[new_offsets[a] : new_offsets[b]] if fresh else old[old_offsets[a] : old_offsets[b]]
            for fresh, a, b in self._runs
        ]
        return np.concatenate(parts).astype(old.dtype, copy=False), offsets_of(lengths)

    def write(self, folder: Path, name: str, old: Array, new: Array) -> None:
        """Write the merged column, run by run, without holding it."""
        width = old.shape[1] if old.ndim == 2 else 0
        with ColumnWriter(folder, name, old.dtype, width) as writer:
            for fresh, a, b in self._runs:
                writer.append((new if fresh else old)[a:b])

    def write_ragged(
        self,
        folder: Path,
        names: tuple[str, str],
        old: Array,
        old_offsets: Ints,
        new: Array,
        new_offsets: Ints,
    ) -> None:
        """Write merged values and offsets as two columns, run by run."""
        with ColumnWriter(folder, names[0], old.dtype) as writer:
            for fresh, a, b in self._runs:
                values, offsets = (new, new_offsets) if fresh else (old, old_offsets)
                writer.append(values[offsets[a] : offsets[b]])
        lengths = self.values(np.diff(old_offsets), np.diff(new_offsets))
        write_column(folder, names[1], offsets_of(lengths))
