"""Relations that are no area: the lines of their member ways, each way's text kept once.

Routes share their ways (in Liechtenstein each is in six), so keeping lines by way takes a seventh
of what keeping them by relation takes, and a relation's text is a few runs of them.
"""

from __future__ import annotations

import ctypes
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.geojson import dump_floats, split_lines
from mapyard.native import address
from mapyard.store.arrays import E7, Ints, Ragged
from mapyard.store.columns import (
    ColumnWriter,
    Heap,
    offsets_of,
    open_column,
    ranges,
    write_column,
    write_narrow,
    write_offsets,
)
from mapyard.store.kernels import Lines, load_kernels, place

#: What stands around the lines of a geometry.
LINES_HEAD: Final = b'{"type":"MultiLineString","coordinates":['
LINES_TAIL: Final = b"]}"
_LINES_AT_ONCE: Final = 20_000
#: Ways are sorted by so many of their relations: that makes a third of the
#: runs that relations have with ways in the order of rows.
_SORTED_BY: Final = 8


class LinesBefore(NamedTuple):
    """Texts of lines in another store: the rows of their ways, ascending, and their numbers."""

    folder: Path
    ways: NDArray[np.uint32]
    numbers: Ints


def write_relation_lines(
    folder: Path,
    counts: list[int],
    lengths: NDArray[Any],
    ways: NDArray[np.uint32],
    before: LinesBefore | None = None,
) -> None:
    """Write the lines of all relations: how many ways each has (0: no lines) and their rows.

    Texts that are there `before` are taken over.
    """
    relations = np.repeat(np.arange(len(lengths)), lengths)
    line_ways, places = _order_lines(lengths, relations, ways)
    write_column(folder, "line_ways", line_ways)
    _write_texts(folder, counts, line_ways, before)
    # Neighbors among the lines are one run.
    packed = np.sort(relations << 32 | places)
    first = np.ones(len(packed), np.bool_)
    first[1:] = np.diff(packed) != 1
    runs = np.flatnonzero(first)
    write_column(folder, "line_run_starts", packed[runs].astype(np.uint32))
    write_narrow(folder, "line_run_lengths", np.diff(runs, append=len(packed)))
    write_offsets(
        folder, "line_run_offsets", np.bincount(packed[runs] >> 32, minlength=len(lengths))
    )


def _order_lines(
    lengths: NDArray[Any], relations: Ints, ways: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], Ints]:
    """Return the ways so that those of one relation are neighbors, and the place of each in `ways`.

    They are sorted by their largest relation, by the second largest among its ways, and so on.
    """
    by_way, places = np.unique(ways, return_inverse=True)
    rank = np.empty(len(lengths), np.int64)
    rank[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
    packed = np.sort(places << 32 | rank[relations])
    owners = packed >> 32
    number = np.arange(len(packed)) - owners.searchsorted(np.arange(len(by_way)))[owners]
    keys = np.full((_SORTED_BY, len(by_way)), len(lengths))
    chosen = number < _SORTED_BY
    keys[number[chosen], owners[chosen]] = packed[chosen] & 0xFFFFFFFF
    order = np.lexsort(keys[::-1])
    new_place = np.empty(len(order), np.int64)
    new_place[order] = np.arange(len(order))
    return by_way[order], new_place[places]


def _write_texts(
    folder: Path, counts: list[int], line_ways: NDArray[np.uint32], before: LinesBefore | None
) -> None:
    """Write each way's line as GeoJSON text with a comma behind it."""
    known = None if before is None else Heap(before.folder, "line_text")
    lengths = [np.empty(0, np.int64)]
    with ColumnWriter(folder, "line_text_bytes", np.uint8) as writer:
        for start in range(0, len(line_ways), _LINES_AT_ONCE):
            ways = line_ways[start : start + _LINES_AT_ONCE]
            texts = np.empty(len(ways), np.object_)
            is_new = np.ones(len(ways), np.bool_)
            if before is not None and known is not None and len(before.ways):
                at = np.minimum(np.searchsorted(before.ways, ways), len(before.ways) - 1)
                is_new = before.ways[at] != ways
                texts[~is_new] = known.take(before.numbers[at[~is_new]])
            texts[is_new] = _make_texts(folder, counts[0], ways[is_new].astype(np.int64))
            writer.append(np.frombuffer(b"".join(texts.tolist()), np.uint8))
            lengths.append(np.fromiter(map(len, texts), np.int64, len(texts)))
    write_offsets(folder, "line_text_offsets", np.concatenate(lengths))


def _make_texts(folder: Path, nodes: int, ways: Ints) -> list[bytes]:
    """Return the texts of ways by row; missing nodes are left out."""
    offsets, refs = open_column(folder, "way_offsets"), open_column(folder, "way_refs")
    lon, lat = open_column(folder, "lon"), open_column(folder, "lat")
    starts = offsets[ways - nodes].astype(np.int64)
    sizes = offsets[ways - nodes + 1] - starts
    of_lines = refs[ranges(starts, sizes)]
    present = of_lines < nodes
    kept = offsets_of(present)[offsets_of(sizes)]
    of_lines = of_lines[present]
    positions = np.column_stack([lon[of_lines], lat[of_lines]]) / E7
    return [b"[%b]," % line for line in split_lines(dump_floats(positions), kept)]


class RelationLines:
    """Reads the lines of relations, which are given by index."""

    def __init__(self, folder: Path) -> None:
        self._ways: NDArray[np.uint32] = open_column(folder, "line_ways")
        self._offsets: NDArray[Any] = open_column(folder, "line_run_offsets")
        self._starts: NDArray[np.uint32] = open_column(folder, "line_run_starts")
        self._lengths: NDArray[Any] = open_column(folder, "line_run_lengths")
        offsets = open_column(folder, "line_text_offsets")
        texts = open_column(folder, "line_text_bytes")
        self._kept = offsets, texts  # as long as their addresses are used
        self._lines = Lines(
            place(self._offsets),
            place(self._lengths),
            place(offsets),
            address(self._starts, np.uint32, len(self._lengths)),
            address(texts, np.uint8),
            self._offsets.itemsize,
            self._lengths.itemsize,
            offsets.itemsize,
            len(self._offsets) - 1,
            len(self._starts),
            len(offsets) - 1,
            len(texts),
        )

    def has_lines(self, relations: Ints) -> NDArray[np.bool_]:
        """Return which relations have lines."""
        has: NDArray[np.bool_] = self._offsets[relations + 1] > self._offsets[relations]
        return has

    def ways(self, relations: Ints) -> Ragged:
        """Return the way rows of each relation's lines."""
        starts = self._offsets[relations].astype(np.int64)
        counts = self._offsets[relations + 1] - starts
        runs = ranges(starts, counts)
        lengths = self._lengths[runs].astype(np.int64)
        ways = self._ways[ranges(self._starts[runs], lengths)]
        return Ragged(ways, offsets_of(lengths)[offsets_of(counts)])

    def texts(self, relations: Ints) -> list[memoryview]:
        """Return the lines of each relation as GeoJSON text; all of them have lines."""
        if not len(relations):
            return []
        kernels, lines, count = load_kernels(), ctypes.addressof(self._lines), len(relations)
        relations = np.ascontiguousarray(relations, np.int64)
        ends = np.empty(count + 1, np.int64)
        bad = kernels.measure_lines(lines, place(relations), count, place(ends))
        if bad >= 0:
            raise IndexError(f"relation {relations[bad]} has no lines, or they are damaged")
        texts = np.empty(ends[-1], np.uint8)
        kernels.gather_lines(lines, place(relations), count, place(ends), place(texts))
        view = memoryview(texts)
        return [view[start:stop] for start, stop in pairwise(ends.tolist())]
