"""Sort and merge extracts of any size: what is held in memory is a slice of them.

Sorted files are merged slice by slice of ids: of each file those blobs that reach into the slice,
which osmium sorts and merges. A blob that reaches beyond it is cut in two. What is not sorted is
cut into runs that are, and these are merged in the same way; XML becomes PBF before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import osmium
import osmium.io

from mapyard.osm.pbf import NeedsRewrite, iter_first_elements

#: Type and id of an element, in the order of a sorted file.
Key = tuple[int, int]

UNLIMITED: Final = 1 << 62
#: Memory of sorting, per byte of .osm.pbf; measured: 13.
MEMORY_PER_BYTE: Final = 16
_LEAST_SLICE_BYTES: Final = 100_000


def merge_files(
    files: Sequence[Path], writer: osmium.SimpleWriter, memory_bytes: int, scratch: Path
) -> None:
    """Write sorted .osm.pbf files as one; of an element in several the newest version counts."""
    inputs = [_Input(path, scratch) for path in files]
    for cut in [*_choose_cuts(inputs, memory_bytes), None]:
        reader = osmium.MergeInputReader()
        pieces = [piece for one in inputs for piece in one.take_below(cut)]
        for piece in pieces:
            reader.add_buffer(piece, "pbf")
        if pieces:
            reader.apply(writer, simplify=True)


def write_runs(path: Path, scratch: Path, memory_bytes: int) -> list[Path]:
    """Write a file of any kind and order as sorted .osm.pbf files; return them."""
    try:
        if not path.name.endswith(".pbf"):
            raise NeedsRewrite
        header, blobs = _read_blobs(path)
    except NeedsRewrite:
        converted = scratch / f"{path.name}.osm.pbf"
        with osmium.SimpleWriter(str(converted)) as writer:
            osmium.apply(str(path), writer)
        path = converted
        header, blobs = _read_blobs(path)
    runs: list[Path] = []
    for start, stop in _slices([stop - start for start, stop, _ in blobs], memory_bytes):
        reader = osmium.MergeInputReader()
        reader.add_buffer(header + _read(path, blobs[start][0], blobs[stop - 1][1]), "pbf")
        runs.append(scratch / f"{path.name}-{len(runs)}.osm.pbf")
        with osmium.SimpleWriter(str(runs[-1])) as writer:
            reader.apply(writer, simplify=True)
    return runs


def key_of(item: Any) -> Key:
    """Return the key of an element of pyosmium."""
    return "nwr".index(item.type_str()), item.id


class _Input:
    """A sorted file that is read from slice to slice."""

    def __init__(self, path: Path, scratch: Path) -> None:
        self.path, self._scratch = path, scratch
        self._header, self.blobs = _read_blobs(path)
        self._next = 0
        #: What the slices before left of a blob, as a file of its own.
        self._rest = b""

    def take_below(self, cut: Key | None) -> list[bytes]:
        """Return what is left below a key as files, or all that is left."""
        first, blobs = self._next, self.blobs
        stop = len(blobs) if cut is None else first
        while cut is not None and stop < len(blobs) and blobs[stop][2] < cut:
            stop += 1
        self._next = stop
        found, self._rest = self._cut(self._rest, cut)
        pieces = [found]
        if first < stop:
            # The last one may reach beyond the cut.
            is_open = cut is not None and (stop == len(blobs) or blobs[stop][2] > cut)
            whole = stop - is_open
            if first < whole:
                raw = _read(self.path, blobs[first][0], blobs[whole - 1][1])
                pieces.append(self._header + raw)
            if is_open:
                raw = _read(self.path, blobs[whole][0], blobs[whole][1])
                found, self._rest = self._cut(self._header + raw, cut)
                pieces.append(found)
        return [piece for piece in pieces if piece]

    def _cut(self, file: bytes, cut: Key | None) -> tuple[bytes, bytes]:
        """Return the elements of a small file below a key, and the others."""
        if not file or cut is None:
            return file, b""
        below, above = self._scratch / "below.osm.pbf", self._scratch / "above.osm.pbf"
        counts = [0, 0]
        with (
            osmium.SimpleWriter(str(below), overwrite=True) as low,
            osmium.SimpleWriter(str(above), overwrite=True) as high,
        ):
            for item in cast(Any, osmium.FileProcessor(osmium.io.FileBuffer(file, "pbf"))):
                is_above = key_of(item) >= cut
                counts[is_above] += 1
                (high if is_above else low).add(item)
        parts = [
            path.read_bytes() if count else b""
            for path, count in zip((below, above), counts, strict=True)
        ]
        return parts[0], parts[1]


def _choose_cuts(inputs: Sequence[_Input], memory_bytes: int) -> Iterator[Key]:
    """Yield the keys between slices that fit into memory."""
    blobs = sorted((first, stop - start) for one in inputs for start, stop, first in one.blobs)
    last: Key | None = None
    for start, _ in _slices([size for _, size in blobs], memory_bytes):
        cut = blobs[start][0]
        if start and cut != last:
            yield cut
            last = cut


def _slices(sizes: Sequence[int], memory_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of neighbors that fit into memory together."""
    most = max(_LEAST_SLICE_BYTES, memory_bytes // MEMORY_PER_BYTE)
    start = held = 0
    for index, size in enumerate(sizes):
        if held + size > most and index > start:
            yield start, index
            start, held = index, 0
        held += size
    if start < len(sizes):
        yield start, len(sizes)


def _read_blobs(path: Path) -> tuple[bytes, list[tuple[int, int, Key]]]:
    """Return the header of a .osm.pbf and (start, stop, first element) of its blobs."""
    blobs = list(iter_first_elements(path))
    return _read(path, 0, blobs[0][0] if blobs else 0), blobs


def _read(path: Path, start: int, stop: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(stop - start)
