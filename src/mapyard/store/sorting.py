"""Sorting of more 64-bit keys than memory may hold: sorted runs on disk, merged block by block.

A key is what things are sorted by in its upper bits and what belongs to it below, such as a node's
row and that of a way. What comes out does not depend on how much memory there was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, open_column

Keys = NDArray[np.uint64]

#: Keys that are yielded at once, about.
BLOCK_KEYS: Final = 1 << 18
_KEY_BYTES: Final = 8
#: Smallest part of a run that is read at once while merging.
_LEAST_KEYS: Final = 1 << 12


class Sorter:
    """Takes keys in any order and yields them sorted; use as a context, which removes its files."""

    def __init__(self, folder: Path, memory_bytes: int) -> None:
        # A sort takes the keys, their sorted copy and the next ones.
        self._most = max(_LEAST_KEYS, memory_bytes // (3 * _KEY_BYTES))
        self._parent = folder
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._waiting: list[Keys] = []
        self._count = 0
        self._runs: list[Keys] = []

    def __enter__(self) -> Sorter:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting, self._runs = [], []
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, keys: Keys) -> None:
        """Add keys."""
        for start in range(0, len(keys), self._most):
            part = keys[start : start + self._most]
            if self._count + len(part) > self._most:
                self._write_run()
            self._waiting.append(part.astype(np.uint64))
            self._count += len(part)

    def _take(self) -> Keys:
        keys = np.concatenate([np.empty(0, np.uint64), *self._waiting])
        self._waiting, self._count = [], 0
        keys.sort()
        return keys

    def _write_run(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="sort-", dir=self._parent)
        folder, name = Path(self._folder.name), str(len(self._runs))
        keys = self._take()
        with ColumnWriter(folder, name, np.uint64) as writer:
            writer.append(keys)
        del keys
        self._runs.append(open_column(folder, name))

    def blocks(self) -> Iterator[Keys]:
        """Yield all keys in order, in blocks; equal keys are in one block."""
        if not self._runs:
            keys = self._take()
            yield from _cut(keys)
            return
        if self._count:
            self._write_run()
        yield from merge(self._runs, min(self._most, BLOCK_KEYS))


def _cut(keys: Keys) -> Iterator[Keys]:
    start = 0
    while start < len(keys):
        stop = min(len(keys), start + BLOCK_KEYS)
        if stop < len(keys):
            stop = int(np.searchsorted(keys, keys[stop - 1], side="right"))
        yield keys[start:stop]
        start = stop


def merge(runs: list[Keys], block_keys: int) -> Iterator[Keys]:
    """Yield the keys of sorted runs in order, in blocks of about so many keys."""
    size = max(_LEAST_KEYS, block_keys // max(1, len(runs)))
    places = [0] * len(runs)
    while True:
        ends = [
            run[min(place + size, len(run)) - 1]
            for run, place in zip(runs, places, strict=True)
            if place < len(run)
        ]
        if not ends:
            return
        # All up to the smallest of the ends is there.
        bound = min(ends)
        parts = []
        for number, run in enumerate(runs):
            place = places[number]
            stop = place + int(np.searchsorted(run[place : place + size], bound, side="right"))
            if stop == place + size:
                # Equal keys may go on behind it.
                stop = place + int(np.searchsorted(run[place:], bound, side="right"))
            if stop > place:
                parts.append(run[place:stop])
                places[number] = stop
        keys = np.concatenate(parts)
        keys.sort()
        yield keys
