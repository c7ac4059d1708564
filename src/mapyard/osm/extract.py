"""Write the elements of a sorted .osm.pbf file that some ids name, in bounded memory.

A set of ids of osmium has a bit for each id up to the largest, in pieces of 4 MB: 1.6 GB for nodes
of all the world. Here a file is read some blobs at a time, and a set has the ids of these only, of
few such pieces. Blobs of which nothing is wanted are not decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import osmium
import osmium.io
from numpy.typing import NDArray

from mapyard.osm.pbf import iter_first_elements, read_head

#: Blobs, of some thousand elements each, that are decoded together.
_BLOBS: Final = 32
#: Bits of an id within a piece of a set, and pieces that a set may have.
_PIECE_BITS: Final = 25
_PIECES: Final = 8
_TYPES: Final = (osmium.osm.NODE, osmium.osm.WAY, osmium.osm.RELATION)

type Ints = NDArray[np.int64]
#: Where a blob begins and ends, and the type and id of its first element.
type Blob = tuple[int, int, tuple[int, int]]


def list_blobs(source: Path) -> list[Blob]:
    """Return the data blobs of a sorted file."""
    return list(iter_first_elements(source))


def write_extract(
    source: Path,
    blobs: Sequence[Blob],
    target: Path,
    header: osmium.io.Header,
    ids: Sequence[Iterable[Ints]],
) -> None:
    """Write the elements of blobs that `ids` name: per type ascending ids, some at a time."""
    wanted = [_Ids(of_type) for of_type in ids]
    with (
        osmium.SimpleWriter(str(target), header=header, overwrite=True) as writer,
        source.open("rb") as file,
    ):
        head = read_head(source)
        for start, end in _iter_batches(blobs):
            until = blobs[end][2] if end < len(blobs) else (len(wanted), 0)
            some = [of_type.take_before(kind, until) for kind, of_type in enumerate(wanted)]
            if not any(map(len, some)):
                continue
            file.seek(blobs[start][0])
            data = head + file.read(blobs[end - 1][1] - blobs[start][0])
            for kind, of_type in enumerate(some):
                for piece in _cut(of_type):
                    buffer = osmium.io.FileBuffer(data, "pbf")
                    reader: Any = osmium.io.Reader(buffer, _TYPES[kind])
                    osmium.apply(reader, osmium.filter.IdFilter(piece.tolist()), writer)


class _Ids:
    """Ascending ids that come some at a time."""

    def __init__(self, parts: Iterable[Ints]) -> None:
        self._parts = iter(parts)
        self._held = np.empty(0, np.int64)

    def take_before(self, kind: int, until: tuple[int, int]) -> Ints:
        """Return the ids that are left before a type and id."""
        if kind > until[0]:
            return np.empty(0, np.int64)
        taken = []
        while True:
            at = len(self._held)
            if kind == until[0]:
                at = int(np.searchsorted(self._held, until[1]))
            taken.append(self._held[:at])
            self._held = self._held[at:]
            if len(self._held) or (more := next(self._parts, None)) is None:
                return np.concatenate(taken)
            self._held = more


def _iter_batches(blobs: Sequence[Blob]) -> Iterator[tuple[int, int]]:
    """Yield first and last + 1 of blobs that are decoded together: of ids that are near."""
    start = 0
    for at in range(1, len(blobs) + 1):
        if at < len(blobs) and at - start < _BLOBS:
            (kind, first), (next_kind, last) = blobs[start][2], blobs[at][2]
            if kind == next_kind and (last - first) >> _PIECE_BITS < _PIECES:
                continue
        yield start, at
        start = at


def _cut(ids: Ints) -> Iterator[Ints]:
    """Yield ids in parts of few pieces of a set."""
    pieces = ids >> _PIECE_BITS
    firsts = np.flatnonzero(np.diff(pieces, prepend=-1))  # where another piece begins
    yield from (part for part in np.split(ids, firsts[_PIECES::_PIECES]) if len(part))
