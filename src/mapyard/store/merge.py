"""Merging of sorted sequences: old items that stay, new items in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, offsets_of
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames, FrameWriter

Ints = NDArray[np.int64]
Array = NDArray[Any]
Change = Callable[[Array], Array]
#: Values that are read at once.
_AT_ONCE: Final = 1 << 18


class Splice:
    """One sequence out of the kept part of an old one and new items.

    `gone` are the sorted places of old items that do not stay. `at` tells before which old item,
    gone or not, each new one comes, and ascends. Values are copied in runs, so that a few changes
    in a long column cost little more than a copy of it.
    """

    def __init__(self, old_count: int, gone: Ints, at: Ints) -> None:
        kept_count = old_count - len(gone)
        self.count = kept_count + len(at)
        # The same among the kept ones, and the gap that each gone one leaves.
        at = at - np.searchsorted(gone, at)
        gaps = gone - np.arange(len(gone))
        #: Where the new items lie in the result.
        self.new_place: Ints = at + np.arange(len(at))
        cuts = distinct(np.array([0, kept_count]), gaps, at)
        first, last = np.searchsorted(at, cuts), np.searchsorted(at, cuts, side="right")
        old = cuts + np.searchsorted(gaps, cuts, side="right")
        length = np.append(np.diff(cuts), 0)
        #: Where the kept runs lie, in the old sequence and in the result.
        self.kept_starts: Ints = old[length > 0]
        self.kept_places: Ints = (cuts + last)[length > 0]
        #: (is new, start, stop) of the runs that make up the result, in order.
        self.runs: list[tuple[bool, int, int]] = [
            run
            for a, b, start, count in zip(
                first.tolist(), last.tolist(), old.tolist(), length.tolist(), strict=True
            )
            for run in ((True, a, b), (False, start, start + count))
            if run[1] < run[2]
        ]

    @classmethod
    def of_places(cls, old_count: int, gone: Ints, ranks: Ints) -> Splice:
        """Return the same where new items come after so many of the old ones that stay."""
        gaps = gone - np.arange(len(gone))
        return cls(old_count, gone, ranks + np.searchsorted(gaps, ranks, side="right"))

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
        self, old: Array, old_offsets: Array, new: Array, new_offsets: Ints
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

    def write(
        self, folder: Path, name: str, old: Array, new: Array, change: Change | None = None
    ) -> None:
        """Write the merged column without holding it; `change` old values."""
        width = old.shape[1] if old.ndim == 2 else 0
        new, changed = new.astype(old.dtype, copy=False), _Changed(old, change)
        with ColumnWriter(folder, name, old.dtype, width) as writer, Gatherer(writer) as gatherer:
            for fresh, a, b in self.runs:
                for part in (new[a:b],) if fresh else changed.read(a, b):
                    gatherer.append(part)

    def write_frames(
        self, folder: Path, name: str, old: Frames, new: Ints, change: Change | None = None
    ) -> None:
        """Write the merged column in frames; `change` old values."""
        changed = _Changed(old, change or (lambda part: part))
        with FrameWriter(folder, name) as writer, Gatherer(writer) as gatherer:
            for fresh, a, b in self.runs:
                for part in (new[a:b],) if fresh else changed.read(a, b):
                    gatherer.append(part)

    def write_ragged(
        self,
        folder: Path,
        names: tuple[str, str],
        old: Array,
        old_offsets: Array,
        new: Array,
        new_offsets: Ints,
        change: Change | None = None,
    ) -> None:
        """Write merged values and offsets as two columns; `change` old values."""
        total = 0
        new, changed = new.astype(old.dtype, copy=False), _Changed(old, change)
        with ColumnWriter(folder, names[0], old.dtype) as writer, Gatherer(writer) as gatherer:
            for fresh, a, b in self.runs:
                offsets = new_offsets if fresh else old_offsets
                first, last = int(offsets[a]), int(offsets[b])
                for part in (new[first:last],) if fresh else changed.read(first, last):
                    gatherer.append(part)
                total += last - first
        kind = np.uint32 if total < 1 << 32 else np.int64
        begin = 0
        with ColumnWriter(folder, names[1], kind) as writer, Gatherer(writer) as gatherer:
            gatherer.append(np.zeros(1, np.int64))
            for fresh, a, b in self.runs:
                offsets = new_offsets if fresh else old_offsets
                first = int(offsets[a])
                for start, stop in _steps(a, b):
                    part = offsets[start + 1 : stop + 1].astype(np.int64)
                    part += begin - first
                    gatherer.append(part)
                begin += int(offsets[b]) - first


class Gatherer:
    """Gives a writer many small arrays as one: a day of changes cuts columns into small runs."""

    def __init__(self, writer: ColumnWriter | FrameWriter) -> None:
        self._writer = writer
        self._parts: list[Array] = []
        self._count = 0

    def append(self, part: Array) -> None:
        """Append an array, now or later."""
        self._parts.append(part)
        self._count += len(part)
        if self._count >= _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._parts:
            joined = self._parts[0] if len(self._parts) == 1 else np.concatenate(self._parts)
            self._writer.append(joined)
            self._parts, self._count = [], 0

    def __enter__(self) -> Gatherer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()


class _Changed:
    """A column as it is changed, whole blocks at once, read from front to back."""

    def __init__(self, old: Array | Frames, change: Change | None) -> None:
        self._old, self._change = old, change
        self._start = 0
        self._block: Array = old[:0]

    def read(self, start: int, stop: int) -> Iterator[Array]:
        """Yield the values from one place up to another."""
        if self._change is None:
            yield self._old[start:stop]
            return
        while start < stop:
            if not self._start <= start < self._start + len(self._block):
                self._start = start - start % _AT_ONCE
                self._block = self._change(self._old[self._start : self._start + _AT_ONCE])
            end = min(stop, self._start + len(self._block))
            yield self._block[start - self._start : end - self._start]
            start = end


def _steps(start: int, stop: int) -> Iterator[tuple[int, int]]:
    for low in range(start, stop, _AT_ONCE):
        yield low, min(stop, low + _AT_ONCE)


def places_of(values: Array, wanted: Ints) -> Ints:
    """Return the places of those wanted numbers, sorted, that are among sorted values."""
    places = values.searchsorted(wanted.astype(values.dtype))
    places, wanted = places[places < len(values)], wanted[places < len(values)]
    found: Ints = places[values[places] == wanted]
    return found


def holds(values: Array, wanted: Array) -> NDArray[np.bool_]:
    """Return which of the wanted, in any order, are among a few sorted values."""
    if not len(values):
        return np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.asarray(values[place] == wanted)
