"""Names by place: which elements in a box are called so, whatever the rest of the map holds.

An index of words finds all streets of a country that are called Hauptstraße, and most of the work
is to drop those that are not in the box. Here the terms of each element are a record, records lie
along a Hilbert curve, and a tree finds the groups of them that meet a box. These are some runs of
bytes, in which terms are looked for directly:

    0xF8 term 0xF8 term … 0xF9 term … 0xFA key … 0xFF

The first byte of a term is that of its field. No byte above 0xF7 occurs in UTF-8.

An update shares all files with the dataset before. It adds the eids that are not valid any more,
and a second set of records: all elements that are newer than the last full writing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import (
    ColumnWriter,
    Heap,
    offsets_of,
    open_column,
    ranges,
    write_column,
)
from mapyard.store.distinct import distinct
from mapyard.store.heaps import HeapWriter
from mapyard.store.rtree import Rtree, order_boxes, write_rtree
from mapyard.store.sorted import find_sorted
from mapyard.text.links import link_files

#: Fields of a record, in the order of their first bytes.
FIELDS: Final = ("name", "other", "name_key", "group")
#: Records whose box is one item of the tree.
GROUP: Final = 32
#: Elements that are wider lie apart, so that they do not widen the boxes of others; 1e-7 degree.
WIDE: Final = 500_000
_FIRST: Final = 0xF8
_END: Final = b"\xff"
_FIRST_BYTES: Final = {field: bytes([_FIRST + i]) for i, field in enumerate(FIELDS)}
_AT_ONCE: Final = 1 << 14
#: Estimates of a tree are rather too high.
_TOO_MANY: Final = 4
_FRESH: Final = "fresh"
_DROPPED: Final = "dropped"
_NO_EIDS: Final = np.empty(0, np.int64)

Box = tuple[int, int, int, int]
Boxes = NDArray[np.int32]
Mask = NDArray[np.bool_]


def make_record(texts: Iterable[tuple[str, Iterable[str]]]) -> bytes:
    """Return the record of an element out of (field, terms)."""
    parts = [
        _FIRST_BYTES[field] + term.encode("utf-8", "replace")
        for field, terms in texts
        for term in terms
    ]
    return b"".join(parts) + _END


class PlacedWriter:
    """Collects records in files and writes them in the order of places."""

    def __init__(
        self, folder: Path, base: Path | None = None, dropped: NDArray[np.int64] = _NO_EIDS
    ) -> None:
        """Begin in a new folder.

        With `base` these are the records there but for the eids `dropped`, and what is added takes
        the place of what was added to `base`.
        """
        folder.mkdir(parents=True)
        #: Files that are those of `base` on disk.
        self.linked: list[Path] = []
        self._target = folder
        if base is not None:
            files = [path for path in base.iterdir() if path.is_file() and path.stem != _DROPPED]
            self.linked = link_files(files, folder)
            dropped = np.union1d(open_column(base, _DROPPED), dropped)
            self._target = folder / _FRESH
            self._target.mkdir()
        write_column(folder, _DROPPED, dropped)
        self._work = tempfile.TemporaryDirectory(prefix="work-", dir=folder)
        work = Path(self._work.name)
        self._eids = ColumnWriter(work, "eids", np.int64)
        self._boxes = ColumnWriter(work, "boxes", np.int32, 4)
        self._records = HeapWriter(work, "records")

    def add(self, eids: NDArray[np.int64], boxes: Boxes, records: list[bytes]) -> None:
        """Add elements: eids, (n, 4) boxes in 1e-7 degree, records."""
        self._eids.append(eids)
        self._boxes.append(boxes)
        self._records.append(records)

    def close(self) -> None:
        """Write everything."""
        with self._work as work:
            for writer in (self._eids, self._boxes, self._records):
                writer.close()
            self._write(Path(work))

    def _write(self, work: Path) -> None:
        eids, boxes = open_column(work, "eids"), open_column(work, "boxes")
        records = Heap(work, "records")
        width, height = (boxes[:, i + 2].astype(np.int64) - boxes[:, i] for i in (0, 1))
        is_wide = np.maximum(width, height) > WIDE
        # What has no place is in no box.
        parts = [np.flatnonzero((width >= 0) & (is_wide == wide)) for wide in (False, True)]
        order = np.concatenate([part[order_boxes(boxes[part])] for part in parts])
        target = self._target
        texts = HeapWriter(target, "records")
        with (
            ColumnWriter(target, "eids", np.int64) as sorted_eids,
            tempfile.TemporaryDirectory(prefix="groups-", dir=work) as folder,
        ):
            groups = ColumnWriter(Path(folder), "boxes", np.int32, 4)
            for start in range(0, len(order), _AT_ONCE):
                part = order[start : start + _AT_ONCE]
                sorted_eids.append(eids[part])
                texts.append(records.take(part))
                groups.append(_join_boxes(boxes[part]))
            groups.close()
            found = open_column(Path(folder), "boxes")
            write_rtree(target, "groups", np.arange(len(found), dtype=np.uint32), found)
        texts.close()


def _join_boxes(boxes: Boxes) -> Boxes:
    """Return the boxes of groups of boxes."""
    starts = np.arange(0, len(boxes), GROUP)
    low = np.minimum.reduceat(boxes[:, :2], starts)
    return np.column_stack([low, np.maximum.reduceat(boxes[:, 2:], starts)])


class Records:
    """The records around a box; answers what TextIndex does, by masks."""

    def __init__(self, parts: Sequence[_Read]) -> None:
        columns = zip(*parts, strict=True)
        self._eids, self._is_valid, lengths, self._data = map(np.concatenate, columns)
        self._offsets = offsets_of(lengths)
        self._starts = np.flatnonzero(self._data >= _FIRST)
        self._kinds = self._data[self._starts]
        self._fields: dict[str, tuple[NDArray[np.int64], NDArray[np.uint8]]] = {}
        self._found: dict[tuple[str, bytes], NDArray[np.int64]] = {}

    def list_eids(self, mask: Mask) -> NDArray[np.int64]:
        """Return the sorted eids of the elements of a mask."""
        return np.sort(self._eids[mask & self._is_valid])

    def term(self, field: str, value: str) -> Mask:
        """Return which records have a whole term or key."""
        text = value.encode("utf-8", "replace")
        starts = self._find(field, text)
        return self._mark(starts[self._data[starts + 1 + len(text)] >= _FIRST])

    def prefix(self, field: str, value: str) -> Mask:
        """Return which records have a term that begins with a text."""
        return self._mark(self._find(field, value.encode("utf-8", "replace")))

    def all_of(self, masks: Sequence[Mask]) -> Mask:
        """Return where all hold."""
        return np.logical_and.reduce(masks)

    def any_of(self, masks: Sequence[Mask]) -> Mask:
        """Return where one holds."""
        return np.logical_or.reduce(masks) if masks else np.zeros(len(self._eids), np.bool_)

    def _find(self, field: str, text: bytes) -> NDArray[np.int64]:
        """Return where the terms of a field begin that begin with a text."""
        found = self._found.get((field, text))
        if found is None:
            found = self._found[field, text] = self._compare(field, text)
        return found

    def _compare(self, field: str, text: bytes) -> NDArray[np.int64]:
        if field not in self._fields:
            starts = self._starts[self._kinds == _FIRST_BYTES[field][0]]
            self._fields[field] = starts, self._data[starts + 1]
        starts, letters = self._fields[field]
        if not text:
            return starts
        starts = starts[letters == text[0]]
        # A term that is shorter ends with a byte that no text has, so none is read beyond its end.
        for place, byte in enumerate(text[1:], 2):
            if not len(starts):
                break
            starts = starts[self._data[starts + place] == byte]
        return starts

    def _mark(self, starts: NDArray[np.int64]) -> Mask:
        mask = np.zeros(len(self._eids), np.bool_)
        mask[self._offsets.searchsorted(starts, side="right") - 1] = True
        return mask


class _Read(NamedTuple):
    """Records that were read: eids, whether each still holds, lengths, and the bytes of all."""

    eids: NDArray[np.int64]
    is_valid: Mask
    lengths: NDArray[np.int64]
    data: NDArray[np.uint8]


class _Part:
    """Records of one folder, without those of some eids."""

    def __init__(self, folder: Path, dropped: NDArray[np.int64]) -> None:
        self._eids = open_column(folder, "eids")
        self._records = Heap(folder, "records")
        self._dropped = dropped
        self.tree = Rtree(folder, "groups")

    def find(self, boxes: Sequence[Box]) -> NDArray[np.int64]:
        """Return the sorted groups that meet one of the boxes."""
        return distinct(*(self.tree.search(*box) for box in boxes)).astype(np.int64)

    def read(self, groups: NDArray[np.int64]) -> _Read:
        """Return the records of sorted groups."""
        starts = groups * GROUP
        stops = np.minimum(starts + GROUP, len(self._eids))
        places = ranges(starts, stops - starts)
        eids, offsets = self._eids[places], self._records.offsets
        lengths = offsets[places + 1].astype(np.int64) - offsets[places]
        # Neighbors on the curve are neighbors in the file.
        is_first = np.diff(groups, prepend=-2) != 1
        is_last = np.diff(groups, append=-2) != 1
        runs = [
            self._records.raw(start, stop)
            for start, stop in zip(starts[is_first].tolist(), stops[is_last].tolist(), strict=True)
        ]
        is_valid = find_sorted(self._dropped, eids) < 0
        return _Read(eids, is_valid, lengths, np.frombuffer(b"".join(runs), np.uint8))


class PlacedNames:
    """Opened records; may be used by several threads."""

    def __init__(self, folder: Path) -> None:
        dropped = open_column(folder, _DROPPED)
        self._parts = [_Part(folder, dropped)]
        if (folder / _FRESH).is_dir():
            self._parts.append(_Part(folder / _FRESH, dropped[:0]))

    def find(self, boxes: Sequence[Box], most: int) -> Records | None:
        """Return the records of all elements whose box meets one of `boxes`, and of others.

        None where these would be more than about `most`.
        """
        estimate = sum(part.tree.estimate(*box) for part in self._parts for box in boxes)
        if estimate * GROUP > _TOO_MANY * most:
            return None
        groups = [part.find(boxes) for part in self._parts]
        if sum(map(len, groups)) * GROUP > most:
            return None
        return Records([part.read(found) for part, found in zip(self._parts, groups, strict=True)])
