"""Write a source.osm.pbf with changes: blobs that no change touches are copied as they are."""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, cast

import osmium
import osmium.io
import osmium.osm.mutable

from mapyard.osm.pbf import Header, iter_first_elements, read_header

#: Type, then id: the order of a sorted file.
Key = tuple[int, int]

#: Blobs, of some thousand elements each, that are decoded and written anew together.
_MERGED_AT_ONCE = 32
_COPIED_AT_ONCE = 1 << 20  # bytes


def patch_source(
    old: Path,
    target: Path,
    changed: Path,
    keys: set[Key],
    deleted: set[Key],
    header: Header,
) -> None:
    """Write `old` with those elements of the sorted file `changed` that `keys` name.

    Of an element in both files the one of `changed` counts; `deleted` ones are left
    out. `header` gives the replication state of the result; its box is that of the old file,
    unless `header` has one.
    """
    blobs = list(iter_first_elements(old))
    firsts = [first for _, _, first in blobs]

    def blob_of(key: Key) -> int:
        return max(0, bisect_right(firsts, key) - 1)

    # The changed elements of each blob, in their order; a blob may only lose some.
    touched: dict[int, dict[Key, Any]] = {blob_of(key): {} for key in deleted}
    for key, item in _iter_items(changed):
        if key in keys:
            touched.setdefault(blob_of(key), {})[key] = item
    old_header = read_header(old)
    plain_header = _encode_header(old_header, Header())
    with target.open("wb") as writing, old.open("rb") as reading:
        writing.write(_encode_header(old_header, header))
        # Neighboring blobs of one kind, touched or not, are one run.
        for is_touched, run in groupby(range(len(blobs)), touched.__contains__):
            indexes = list(run)
            if not is_touched:
                _copy(reading, writing, blobs[indexes[0]][0], blobs[indexes[-1]][1])
                continue
            for begin in range(0, len(indexes), _MERGED_AT_ONCE):
                batch = indexes[begin : begin + _MERGED_AT_ONCE]
                start, stop = blobs[batch[0]][0], blobs[batch[-1]][1]
                reading.seek(start)
                own = {key: item for index in batch for key, item in touched[index].items()}
                writing.write(_merge(plain_header + reading.read(stop - start), own, deleted))


def _copy(reading: BinaryIO, writing: BinaryIO, start: int, stop: int) -> None:
    """Copy a range of bytes in pieces: between two changes may lie a country."""
    reading.seek(start)
    for at in range(start, stop, _COPIED_AT_ONCE):
        writing.write(reading.read(min(_COPIED_AT_ONCE, stop - at)))


def _iter_items(path: Path) -> Iterator[tuple[Key, Any]]:
    """Yield copies of elements that outlive pyosmium's buffers."""
    for item in cast(Any, osmium.FileProcessor(str(path))):
        common = {
            name: getattr(item, name)
            for name in ("id", "version", "timestamp", "changeset", "uid", "user")
        }
        common["tags"] = dict(item.tags)
        copy: Any
        if item.is_node():
            location = (item.location.lon, item.location.lat) if item.location.valid() else None
            copy = osmium.osm.mutable.Node(location=location, **common)
        elif item.is_way():
            copy = osmium.osm.mutable.Way(nodes=[n.ref for n in item.nodes], **common)
        else:
            members = [(m.type, m.ref, m.role) for m in item.members]
            copy = osmium.osm.mutable.Relation(members=members, **common)
        yield key_of(item), copy


def key_of(item: Any) -> Key:
    """Return the key of an element of pyosmium."""
    return "nwr".index(item.type_str()), item.id


def _merge(file: bytes, changed: dict[Key, Any], deleted: set[Key]) -> bytes:
    """Return the data blobs of a small PBF file with changed elements and without deleted ones."""
    with tempfile.TemporaryDirectory(prefix="mapyard-patch-") as folder:
        before, after = Path(folder) / "before.osm.pbf", Path(folder) / "after.osm.pbf"
        before.write_bytes(file)
        waiting = iter(changed.items())
        upcoming = next(waiting, None)
        with osmium.SimpleWriter(str(after)) as writer:
            for item in cast(Any, osmium.FileProcessor(str(before))):
                key = key_of(item)
                while upcoming is not None and upcoming[0] < key:
                    writer.add(upcoming[1])
                    upcoming = next(waiting, None)
                if key not in changed and key not in deleted:
                    writer.add(item)
            while upcoming is not None:
                writer.add(upcoming[1])
                upcoming = next(waiting, None)
        raw = after.read_bytes()
        return b"".join(raw[start:stop] for start, stop, _ in iter_first_elements(after))


def _encode_header(old: Header, new: Header) -> bytes:
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
