"""What a dataset's rows have, kept on disk until all rows are known.

Values are kept key by key, so that at the end one key after the other is sorted, in bounded memory:
runs of distinct values are sorted and merged.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import Heap, offsets_of, write_heap

type Uints = NDArray[np.uint32]
#: Distinct values that are held in memory at once.
RUN: Final = 150_000


class _Segment(NamedTuple):
    offset: int
    pairs: int
    length: int


class TagSpool:
    """Pairs of row and value by key, appended in portions."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w+b")
        self._segments: dict[str, list[_Segment]] = {}

    @property
    def keys(self) -> list[str]:
        """Return the keys in the order in which they came."""
        return list(self._segments)

    def add(self, key: str, rows: list[int], values: list[bytes]) -> None:
        """Append the values that some rows have of a key."""
        head = np.array([rows, [len(value) for value in values]], np.uint32).tobytes()
        text = b"".join(values)
        segment = _Segment(self._file.tell(), len(rows), len(text))
        self._file.write(head)
        self._file.write(text)
        self._segments.setdefault(key, []).append(segment)

    def iter_values(self, key: str) -> Iterator[tuple[Uints, list[bytes]]]:
        """Yield rows and values of a key, portion by portion."""
        self._file.flush()
        with self._path.open("rb") as file:
            for segment in self._segments[key]:
                file.seek(segment.offset)
                head = np.frombuffer(file.read(8 * segment.pairs), np.uint32)
                lengths = head[segment.pairs :]
                text = file.read(segment.length)
                edges = offsets_of(lengths).tolist()
                yield (
                    head[: segment.pairs],
                    [text[a:b] for a, b in pairwise(edges)],
                )

    def close(self) -> None:
        """Delete what was kept."""
        self._file.close()
        self._path.unlink(missing_ok=True)


class SortedKey(NamedTuple):
    """One key: its distinct values in order, and per pair the row and the place of its value."""

    values: Iterator[list[bytes]]
    rows: Uints
    codes: Uints


class _Run(NamedTuple):
    folder: Path
    name: str
    size: int

    def iter_values(self) -> Iterator[bytes]:
        heap = Heap(self.folder, self.name)
        for start in range(0, self.size, 10_000):
            yield from heap.span(start, min(start + 10_000, self.size))

    def delete(self) -> None:
        for part in ("bytes", "offsets"):
            (self.folder / f"{self.name}_{part}.npy").unlink(missing_ok=True)


def sort_key(spool: TagSpool, key: str, folder: Path) -> SortedKey:
    """Return the values of one key sorted; `folder` takes runs that do not fit into memory."""
    rows: list[Uints] = []
    codes: list[Uints] = []
    runs: list[_Run] = []
    #: Of each run, the codes that are of it.
    spans: list[int] = []
    known: dict[bytes, int] = {}
    for some_rows, values in spool.iter_values(key):
        rows.append(some_rows)
        found = [known.setdefault(value, len(known)) for value in values]
        codes.append(np.array(found, np.uint32))
        if len(known) >= RUN:
            runs.append(_write_run(folder, len(runs), known, codes, sum(spans)))
            spans.append(len(codes) - sum(spans))
            known = {}
    all_rows = np.concatenate(rows)
    if not runs:
        ordered = _order(known, codes, 0)
        return SortedKey(iter([ordered]), all_rows, np.concatenate(codes))
    runs.append(_write_run(folder, len(runs), known, codes, sum(spans)))
    spans.append(len(codes) - sum(spans))
    merged, mappings = _merge(runs, folder)
    start = 0
    for mapping, count in zip(mappings, spans, strict=True):
        for place in range(start, start + count):
            codes[place] = mapping[codes[place]]
        start += count
    return SortedKey(_read_merged(merged), all_rows, np.concatenate(codes))


def _order(known: dict[bytes, int], codes: list[Uints], first: int) -> list[bytes]:
    """Return the values sorted, and number the codes from `first` on by their order."""
    ordered = sorted(known)
    places = np.empty(len(known), np.uint32)
    places[[known[value] for value in ordered]] = np.arange(len(known), dtype=np.uint32)
    for place in range(first, len(codes)):
        codes[place] = places[codes[place]]
    return ordered


def _write_run(
    folder: Path, number: int, known: dict[bytes, int], codes: list[Uints], first: int
) -> _Run:
    run = _Run(folder, f"run{number}", len(known))
    write_heap(folder, run.name, _order(known, codes, first))
    return run


def _merge(runs: list[_Run], folder: Path) -> tuple[_Run, list[Uints]]:
    """Return one run of all values, and for each run the places of its values in it."""
    mappings = [np.empty(run.size, np.uint32) for run in runs]
    places = [0] * len(runs)
    lengths: list[int] = []
    last: bytes | None = None
    path = folder / "merged.values"
    streams = [zip(run.iter_values(), [n] * run.size, strict=True) for n, run in enumerate(runs)]
    with path.open("wb") as out:
        for value, number in heapq.merge(*streams):
            if value != last:
                out.write(value)
                lengths.append(len(value))
                last = value
            mappings[number][places[number]] = len(lengths) - 1
            places[number] += 1
    for run in runs:
        run.delete()
    np.save(folder / "merged.npy", np.array(lengths, np.uint32))
    return _Run(folder, "merged", len(lengths)), mappings


def _read_merged(run: _Run) -> Iterator[list[bytes]]:
    lengths = np.load(run.folder / "merged.npy")
    path = run.folder / "merged.values"
    with path.open("rb") as file:
        for start in range(0, len(lengths), 100_000):
            edges = offsets_of(lengths[start : start + 100_000]).tolist()
            text = file.read(edges[-1])
            yield [text[a:b] for a, b in pairwise(edges)]
    path.unlink()
    (run.folder / "merged.npy").unlink()
