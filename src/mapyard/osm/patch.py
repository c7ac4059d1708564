"""Write a source.osm.pbf with changes: blobs that no change touches are copied as they are.

The others are merged with the changes by osmium, some blobs at a time. It takes changes in memory
and streams what they apply to, and of an element in both the newer version counts. That is the rule
of an update already (updates/select.py); elements without versions are dropped beforehand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import osmium
import osmium.io
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION, TYPE_NAMES, WAY
from mapyard.osm.extract import list_blobs, write_extract
from mapyard.osm.pbf import Header, iter_blocks, read_head, read_header

type Ints = NDArray[np.int64]
#: Ascending ids per type.
type Ids = Sequence[Ints]

#: Blobs, of some thousand elements each, that are decoded and written anew together.
_MERGED_AT_ONCE = 64
#: Changes that are held as objects; where more belong to one blob, the blob is held instead.
_HELD_CHANGES = 200_000
_COPIED_AT_ONCE = 1 << 20  # bytes
#: A number for type and id, in the order of a sorted file.
_TYPE_STEP: Final = 1 << 60
#: No element has it: osmium takes the highest version.
_LAST_VERSION: Final = (1 << 31) - 1


def patch_source(
    old: Path,
    target: Path,
    changed: Path,
    ids: Ids | None,
    deleted: Ids,
    header: Header,
) -> None:
    """Write `old` with those elements of the sorted file `changed` that `ids` name, or all.

    Of an element in both files the one of `changed` counts: it must have no version, or one that is
    not below the other's. `deleted` ones are left out; those that come back count whatever their
    version. `header` gives the replication state of the result; its box is that of the old file,
    unless `header` has one.
    """
    blobs = list_blobs(old)
    # An empty file is like one blob without elements.
    firsts = np.array([kind * _TYPE_STEP + osm_id for _, _, (kind, osm_id) in blobs] or [0])
    with tempfile.TemporaryDirectory(prefix="work-", dir=target.parent) as folder:
        changes = _Changes(changed, ids, deleted, Path(folder))
        is_touched = np.zeros(len(firsts), np.bool_)
        for keys in (changes.keys, changes.gone):
            is_touched[np.maximum(np.searchsorted(firsts, keys, "right") - 1, 0)] = True
        with target.open("wb") as writing, old.open("rb") as reading:
            writing.write(encode_header(read_header(old), header))
            head = read_head(old)
            for begin, end in _iter_runs(is_touched):
                some = blobs[begin:end]
                start, stop = (some[0][0], some[-1][1]) if some else (0, 0)
                if not is_touched[begin]:
                    _copy(reading, writing, start, stop)
                    continue
                reading.seek(start)
                before = head + reading.read(stop - start)
                first = firsts[begin] if begin else -1
                until = firsts[end] if end < len(firsts) else (1 << 63) - 1
                _copy_data(changes.apply(before, first, until), writing)


def _iter_runs(is_touched: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield runs of neighboring blobs: untouched ones, and some touched ones at a time."""
    edges = [0, *(np.flatnonzero(np.diff(is_touched)) + 1).tolist(), len(is_touched)]
    for start, stop in pairwise(edges):
        step = _MERGED_AT_ONCE if is_touched[start] else stop - start
        for begin in range(start, stop, step):
            yield begin, min(begin + step, stop)


def _copy(reading: BinaryIO, writing: BinaryIO, start: int, stop: int) -> None:
    """Copy a range of bytes in pieces: between two changes may lie a country."""
    reading.seek(start)
    for at in range(start, stop, _COPIED_AT_ONCE):
        writing.write(reading.read(min(_COPIED_AT_ONCE, stop - at)))


def _copy_data(path: Path, writing: BinaryIO) -> None:
    """Copy the data blobs of a file."""
    with path.open("rb") as reading:
        _copy(reading, writing, len(read_head(path)), path.stat().st_size)


class _Changes:
    """What changes, to be applied to parts of a file in turn."""

    def __init__(self, changed: Path, ids: Ids | None, deleted: Ids, folder: Path) -> None:
        self._changed, self._folder = changed, folder
        self._blobs = list_blobs(changed)
        self._firsts = [kind * _TYPE_STEP + osm_id for _, _, (kind, osm_id) in self._blobs]
        keys, unversioned = [], []
        for block in iter_blocks(changed):
            chosen = block.ids if ids is None else np.intersect1d(block.ids, ids[block.type])
            keys.append(chosen + block.type * _TYPE_STEP)
            if block.version is None:
                unversioned.append(keys[-1])
            else:
                without = block.ids[block.version == 0] + block.type * _TYPE_STEP
                unversioned.append(np.intersect1d(without, keys[-1]))
        self.keys = _join(keys)
        gone = _join(of_type + kind * _TYPE_STEP for kind, of_type in enumerate(deleted))
        self.gone = np.setdiff1d(gone, self.keys)
        #: Those that count whatever their version.
        self._always = _join([*unversioned, np.intersect1d(gone, self.keys)])

    def apply(self, file: bytes, first: int, until: int) -> Path:
        """Apply the changes of a range to a file of the elements in it; return the new file."""
        keys, always, gone = (
            every[slice(*np.searchsorted(every, (first, until)))]
            for every in (self.keys, self._always, self.gone)
        )
        new = self._extract(keys) if len(keys) else b""
        is_held = len(keys) <= _HELD_CHANGES
        dropped = _join([gone, always if is_held else keys])
        if not len(dropped):
            return self._merge(file, [(new, "pbf")])
        marks = (_mark_deleted(dropped), "osc")
        if not len(always) and is_held:
            return self._merge(file, [marks, (new, "pbf")])
        rest = self._merge(file, [marks], packing="none").read_bytes()
        return self._merge(*((rest, [(new, "pbf")]) if is_held else (new, [(rest, "pbf")])))

    def _extract(self, keys: Ints) -> bytes:
        """Return the elements with these keys as a file."""
        start, stop = np.searchsorted(self._firsts, (keys[0], keys[-1]), "right").tolist()
        path = self._folder / "changed.osm.pbf"
        ids = [[keys[keys // _TYPE_STEP == kind] % _TYPE_STEP] for kind in (NODE, WAY, RELATION)]
        some = self._blobs[max(0, start - 1) : stop]
        write_extract(self._changed, some, path, osmium.io.Header(), ids)
        return path.read_bytes()

    def _merge(self, file: bytes, held: Iterable[tuple[bytes, str]], packing: str = "zlib") -> Path:
        """Merge a file with what is held in memory, of which deletions are dropped."""
        merged = osmium.MergeInputReader()
        for data, kind in held:
            if data:
                merged.add_buffer(data, kind)
        path = self._folder / "merged.osm.pbf"
        target = osmium.io.File(str(path), f"pbf,pbf_compression={packing}")
        writer: Any = osmium.io.Writer(target, overwrite=True)
        reader: Any = osmium.io.Reader(osmium.io.FileBuffer(file, "pbf"))
        try:
            merged.apply_to_reader(reader, writer)
        finally:
            reader.close()
            writer.close()
        return path


def _join(parts: Iterable[Ints]) -> Ints:
    """Return all values, sorted, each once."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *parts]))


def _mark_deleted(keys: Ints) -> bytes:
    """Return a diff that deletes elements whatever their version."""
    kinds = (keys // _TYPE_STEP).tolist()
    marks = "".join(
        f'<{TYPE_NAMES[kind]} id="{osm_id}" version="{_LAST_VERSION}"/>'
        for kind, osm_id in zip(kinds, (keys % _TYPE_STEP).tolist(), strict=True)
    )
    return f'<osmChange version="0.6"><delete>{marks}</delete></osmChange>'.encode()


def encode_header(old: Header, new: Header) -> bytes:
    """Return the header blob: sorted, the old box unless there is a new one, the new state."""
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    header.set("generator", "mapyard")
    if box := new.bbox or old.bbox:
        west, south, east, north = box
        header.add_box(osmium.osm.Box(west, south, east, north))
    if new.replication_url:
        header.set("osmosis_replication_base_url", new.replication_url)
    if new.replication_sequence is not None:
        header.set("osmosis_replication_sequence_number", str(new.replication_sequence))
    if new.replication_timestamp:
        when = datetime.fromtimestamp(new.replication_timestamp, UTC)
        header.set("osmosis_replication_timestamp", when.strftime("%Y-%m-%dT%H:%M:%SZ"))
    with tempfile.TemporaryDirectory(prefix="mapyard-patch-") as folder:
        path = Path(folder) / "header.osm.pbf"
        osmium.SimpleWriter(str(path), header=header).close()
        return path.read_bytes()
