"""Merging of sorted sequences: old items that stay, new items in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, offsets_of, write_offsets
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames, FrameWriter

Ints = NDArray[np.int64]
Array = NDArray[Any]
#: Values that are read at once.
_AT_ONCE: Final = 1 << 18


class Splice:
    """One sorted sequence out of the kept part of an old one and new items.

    `keep` tells which old items stay; `new_place` is where the new items lie in the result. Values
    are copied in runs, so that a few changes in a long column cost little more than a copy of it.
    """

    def __init__(self, keep: NDArray[np.bool_], kept_keys: Array, new_keys: Array) -> None:
        self._plan(len(keep), np.flatnonzero(~keep), np.searchsorted(kept_keys, new_keys))

    @classmethod
    def of_places(cls, count: int, gone: Ints, at: Ints) -> Splice:
        """Return what becomes of `count` old items without some, with new ones in between.

        `gone` are places of old items, `at` tells how many of those that stay lie before each new
        one; both ascend.
        """
        splice = cls.__new__(cls)
        splice._plan(count, gone, at)
        return splice

    def _plan(self, old_count: int, gone: Ints, at: Ints) -> None:
        kept_count = old_count - len(gone)
        self.count = kept_count + len(at)
        # The gaps that gone items leave, as places among the kept ones.
        gaps = gone - np.arange(len(gone))
        self.new_place: Ints = at + np.arange(len(at))
        cuts = distinct(np.array([0, kept_count]), gaps, at)
        first, last = np.searchsorted(at, cuts), np.searchsorted(at, cuts, side="right")
        old = cuts + np.searchsorted(gaps, cuts, side="right")
        length = np.append(np.diff(cuts), 0)
        #: (is new, start, stop) of the runs that make up the result, in order.
        self.runs: list[tuple[bool, int, int]] = [
            run
            for a, b, start, count in zip(
                first.tolist(), last.tolist(), old.tolist(), length.tolist(), strict=True
            )
            for run in ((True, a, b), (False, start, start + count))
            if run[1] < run[2]
        ]

    def write_places(self, places: Array, start: int) -> None:
        """Write into `places`, by old item, where the kept ones lie in the result, plus `start`."""
        for fresh, a, b in self.runs:
            if not fresh:
                places[a:b] = np.arange(start, start + b - a)
            start += b - a

    def values(self, old: Array, new: Array) -> Array:
        """Return the merged column; `old` has all old items, `new` the new ones."""
        if not self.runs:
            return old[:0]
        parts = [(new if fresh else old)[a:b] for fresh, a, b in self.runs]
        return np.concatenate(parts).astype(old.dtype, copy=False)

    def ragged(
        self, old: Array, old_offsets: Ints, new: Array, new_offsets: Ints
    ) -> tuple[Array, Ints]:
        """Return merged values and offsets of runs of values per item."""
        lengths = self.values(np.diff(old_offsets), np.diff(new_offsets))
        if not self.runs:
            return old[:0], offsets_of(lengths)
        parts = [
            new[new_offsets[a] : new_offsets[b]] if fresh else old[old_offsets[a] : old_offsets[b]]
            for fresh, a, b in self.runs
        ]
        return np.concatenate(parts).astype(old.dtype, copy=False), offsets_of(lengths)

    def write(self, folder: Path, name: str, old: Array, new: Array) -> None:
        """Write the merged column, run by run, without holding it."""
        width = old.shape[1] if old.ndim == 2 else 0
        with ColumnWriter(folder, name, old.dtype, width) as writer:
            for fresh, a, b in self.runs:
                writer.append((new if fresh else old)[a:b])

    def write_frames(self, folder: Path, name: str, old: Frames, new: Ints) -> None:
        """Write the merged column in frames, run by run."""
        with FrameWriter(folder, name) as writer:
            for fresh, a, b in self.runs:
                if fresh:
                    writer.append(new[a:b])
                    continue
                for start in range(a, b, _AT_ONCE):
                    writer.append(old.span(start, min(b, start + _AT_ONCE)))

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
            for fresh, a, b in self.runs:
                values, offsets = (new, new_offsets) if fresh else (old, old_offsets)
                writer.append(values[offsets[a] : offsets[b]])
        lengths = self.values(np.diff(old_offsets), np.diff(new_offsets))
        write_offsets(folder, names[1], lengths)
