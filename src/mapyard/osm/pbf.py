"""Read sorted .osm.pbf files as arrays, block by block, without an object per element.

Format: https://wiki.openstreetmap.org/wiki/PBF_Format. Reads what pyosmium writes (dense nodes;
raw, zlib or zstd blobs) and is some ten times faster than a loop over objects; anything else is
first rewritten by osm/source.py. Coordinates are int32 in 1e-7 degree.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import zstandard
from numpy.typing import NDArray

from mapyard.errors import MapyardError
from mapyard.osm.elements import NODE, RELATION, WAY

Ints = NDArray[np.int64]
MAX_HEADER_BYTES = 64 * 1024
MAX_BLOB_BYTES = 64 * 1024 * 1024
KNOWN_FEATURES = {"OsmSchema-V0.6", "DenseNodes", "HistoricalInformation", "LocationsOnWays"}


class UnreadableFile(MapyardError):  # noqa: N818
    """A file that is not (or no longer) OSM data."""

    status, code = 422, "unreadable_file"


class NeedsRewrite(Exception):  # noqa: N818 - a signal between reader and source preparation
    """A valid file that this reader does not read directly; rewrite it first."""


@dataclass(slots=True)
class Header:
    """The header block: features, optional features, replication state, bounding box in degrees."""

    required: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)
    writing_program: str = ""
    bbox: tuple[float, float, float, float] | None = None
    replication_timestamp: int = 0
    replication_sequence: int | None = None
    replication_url: str = ""

    @property
    def is_sorted(self) -> bool:
        """Whether the file says that it is sorted by type, then id."""
        return "Sort.Type_then_ID" in self.optional


@dataclass(slots=True)
class Block:
    """Elements of one type. Runs of tags, refs and members: see their *_offsets (n + 1)."""

    type: int
    ids: Ints
    strings: list[bytes]
    tag_offsets: Ints
    tag_keys: Ints  # indexes into strings
    tag_values: Ints
    version: Ints | None  # None where the block has no metadata
    timestamp: Ints | None
    changeset: Ints | None
    uid: Ints | None
    user: Ints | None  # index into strings
    visible: NDArray[np.bool_] | None
    lon: NDArray[np.int32] | None = None
    lat: NDArray[np.int32] | None = None
    offsets: Ints | None = None  # of refs (ways) or members (relations)
    refs: Ints | None = None
    member_types: Ints | None = None
    member_roles: Ints | None = None  # indexes into strings


#: Types by the fields of a group; nodes are dense or by themselves.
_TYPE_OF_FIELD: Final = {1: NODE, 2: NODE, 3: WAY, 4: RELATION}
#: What decoding a message of other fields than it should have may raise.
_CORRUPT: Final = (IndexError, KeyError, ValueError, OverflowError, TypeError, AttributeError)


def read_header(path: Path) -> Header:
    """Read the header block of a .osm.pbf file."""
    with path.open("rb") as file:
        first = next(_iter_blobs(file, path), None)
    if first is None:
        raise UnreadableFile(f"{path.name} is empty: not an .osm.pbf file")
    kind, blob = first
    if kind != b"OSMHeader":
        raise UnreadableFile(f"{path.name} does not begin with an OSM header block")
    try:
        return _parse_header(_unpack(blob, path))
    except _CORRUPT as error:
        raise UnreadableFile(f"{path.name} is corrupt: its header does not decode") from error


def read_head(path: Path) -> bytes:
    """Return the bytes of the header block: with data blobs behind it they are a file again."""
    with path.open("rb") as file:
        next(_iter_blobs(file, path), None)
        size = file.tell()
        file.seek(0)
        return file.read(size)


def iter_blocks(
    path: Path, types: Collection[int] = (NODE, WAY, RELATION), *, with_metadata: bool = True
) -> Iterator[Block]:
    """Yield the blocks of a .osm.pbf file with elements of some types, in file order.

    Raises UnreadableFile with the byte position of the fault, or NeedsRewrite.
    """
    header = read_header(path)
    unknown = [name for name in header.required if name not in KNOWN_FEATURES]
    if unknown:
        raise NeedsRewrite(", ".join(unknown))
    with path.open("rb") as file:
        for kind, blob in _iter_blobs(file, path):
            if kind == b"OSMData":
                position = file.tell()
                try:
                    yield from _parse_block(_unpack(blob, path), types, with_metadata)
                except _CORRUPT as error:
                    raise UnreadableFile(
                        f"{path.name} is corrupt near byte {position}: a block does not decode"
                    ) from error


def iter_positions(path: Path) -> Iterator[tuple[Ints, NDArray[np.int32], NDArray[np.int32]]]:
    """Yield ids, lon and lat of the nodes of a sorted .osm.pbf file; what follows is not read."""
    with path.open("rb") as file:
        for kind, blob in _iter_blobs(file, path):
            if kind != b"OSMData":
                continue
            position = file.tell()
            try:
                scale, groups = _parse_groups(_unpack(blob, path))
                for group in groups:
                    for number, value in _fields(group):
                        if number != 2:
                            return
                        yield _parse_positions(dict(_fields(value)), scale)
            except _CORRUPT as error:
                raise UnreadableFile(
                    f"{path.name} is corrupt near byte {position}: a block does not decode"
                ) from error


def iter_first_elements(path: Path) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yield (start, stop, (type, id) of the first element) of each data blob."""
    with path.open("rb") as file:
        start = 0
        for kind, blob in _iter_blobs(file, path):
            stop = file.tell()
            if kind == b"OSMData":
                try:
                    first = _peek(blob) or _first_element(_unpack(blob, path))
                except _CORRUPT as error:
                    raise UnreadableFile(
                        f"{path.name} is corrupt near byte {stop}: a block does not decode"
                    ) from error
                if first is not None:
                    yield start, stop, first
            start = stop


def _peek(blob: bytes) -> tuple[int, int] | None:
    """Return the first element of a blob by its beginning; None where that does not tell.

    The first id mostly follows the table of strings, a twentieth of the whole.
    """
    try:
        packed = next(value for number, value in _fields(blob) if number == 3)
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, 16)
        if data[0] != 0x0A:  # field 1, the strings, of a length
            return None
        size, _ = _varint(memoryview(data), 1)
        data += unpacker.decompress(unpacker.unconsumed_tail, min(size, MAX_BLOB_BYTES) + 64)
        return _first_element(data, is_cut=True)
    except (StopIteration, zlib.error, *_CORRUPT):
        return None


def _first_element(data: bytes, *, is_cut: bool = False) -> tuple[int, int] | None:
    for number, group in _fields(data, is_cut=is_cut):
        if number != 2:
            continue
        for kind, part in _fields(group, is_cut=is_cut):
            if kind not in _TYPE_OF_FIELD:
                continue
            value = next((v for n, v in _fields(part, is_cut=is_cut) if n == 1), None)
            if kind == 2 and value is not None:  # dense nodes: all their ids
                value = _varint(value, 0)[0] if len(value) else None
            if value is None and kind != 2:
                raise ValueError("an element without an id")
            if value is not None:
                type_ = _TYPE_OF_FIELD[kind]
                return type_, (value >> 1) ^ -(value & 1) if type_ == NODE else _as_signed(value)
    return None


def _iter_blobs(file: BinaryIO, path: Path) -> Iterator[tuple[bytes, bytes]]:
    while True:
        position = file.tell()
        raw = file.read(4)
        if not raw:
            return
        size = int.from_bytes(raw, "big")
        if len(raw) < 4 or not 0 < size <= MAX_HEADER_BYTES:
            raise UnreadableFile(f"{path.name} is not an .osm.pbf file (at byte {position})")
        head = file.read(size)
        if len(head) < size:
            raise UnreadableFile(f"{path.name} is cut off at byte {position + 4 + len(head)}")
        kind, length = b"", -1
        try:
            for number, value in _fields(head):
                if number == 1:
                    kind = bytes(value)
                elif number == 3:
                    length = value
        except (IndexError, ValueError):
            length = -1
        if not 0 <= length <= MAX_BLOB_BYTES:
            raise UnreadableFile(f"{path.name} is not an .osm.pbf file (at byte {position})")
        blob = file.read(length)
        if len(blob) < length:
            raise UnreadableFile(f"{path.name} is cut off at byte {file.tell()}")
        yield kind, blob


def _unpack(blob: bytes, path: Path) -> bytes:
    try:
        for number, value in _fields(blob):
            if number == 1:
                return bytes(value)
            if number == 3:
                unpacker = zlib.decompressobj()
                data = unpacker.decompress(value, MAX_BLOB_BYTES)
                if not unpacker.eof:
                    raise ValueError("cut off, or larger than a block may be")
                return data
            if number == 7:
                if zstandard.frame_content_size(value) > MAX_BLOB_BYTES:
                    raise ValueError("larger than a block may be")
                return zstandard.ZstdDecompressor().decompress(value, MAX_BLOB_BYTES)
            if number in (4, 5, 6):
                raise NeedsRewrite("a compression other than zlib or zstd")
    except (zlib.error, zstandard.ZstdError, IndexError, ValueError, TypeError) as error:
        raise UnreadableFile(f"{path.name} is corrupt: a block does not unpack") from error
    raise UnreadableFile(f"{path.name} is corrupt: a block without data")


def _fields(data: bytes | memoryview, *, is_cut: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield (field number, value) of a protobuf message: int, or memoryview for bytes.

    Of a message that is cut off the last value is what there is of it.
    """
    view = memoryview(data)
    position, end = 0, len(view)
    while position < end:
        key, position = _varint(view, position)
        wire = key & 7
        if wire == 0:
            value, position = _varint(view, position)
            yield key >> 3, value
        elif wire == 2:
            length, position = _varint(view, position)
            if position + length > end and not is_cut:
                raise ValueError("length past the end")
            yield key >> 3, view[position : position + length]
            position += length
        elif wire in (1, 5):
            position += 8 if wire == 1 else 4
        else:
            raise ValueError("unknown wire type")


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    byte = view[position]
    position += 1
    if byte < 0x80:
        return byte, position
    value, shift = byte & 0x7F, 7
    while True:
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def decode_varints(data: bytes | memoryview) -> NDArray[np.uint64]:
    """Decode a run of protobuf varints."""
    raw = np.frombuffer(data, np.uint8)
    if not len(raw):
        return np.empty(0, np.uint64)
    ends = np.flatnonzero(raw < 0x80)
    if not len(ends) or ends[-1] != len(raw) - 1:
        raise ValueError("varint cut off")
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts + 1
    values = (raw[starts] & 0x7F).astype(np.uint64)
    longest = int(lengths.max())
    if longest > 10:
        raise ValueError("varint too long")
    longer = np.arange(len(starts))
    for step in range(1, longest):
        longer = longer[lengths[longer] > step]
        part = (raw[starts[longer] + step] & 0x7F).astype(np.uint64)
        values[longer] |= part << np.uint64(7 * step)
    return values


def _unsigned(data: bytes | memoryview) -> Ints:
    return decode_varints(data).astype(np.int64)


def _signed(data: bytes | memoryview) -> Ints:
    """Decode zigzag varints."""
    values = decode_varints(data)
    return (values >> np.uint64(1)).astype(np.int64) ^ -(values & np.uint64(1)).astype(np.int64)


def _parse_header(data: bytes) -> Header:
    header = Header()
    for number, value in _fields(data):
        if number == 1:
            corner = {n: (v >> 1) ^ -(v & 1) for n, v in _fields(value)}
            west, east, north, south = (corner.get(n, 0) / 1e9 for n in (1, 2, 3, 4))
            header.bbox = (west, south, east, north)
        elif number == 4:
            header.required.append(bytes(value).decode())
        elif number == 5:
            header.optional.append(bytes(value).decode())
        elif number == 16:
            header.writing_program = bytes(value).decode(errors="replace")
        elif number == 32:
            header.replication_timestamp = value
        elif number == 33:
            header.replication_sequence = value
        elif number == 34:
            header.replication_url = bytes(value).decode(errors="replace")
    return header


@dataclass(slots=True)
class _Scale:
    strings: list[bytes]
    granularity: int = 100
    date_granularity: int = 1000
    lon_offset: int = 0
    lat_offset: int = 0
    with_metadata: bool = True

    def degrees_e7(self, values: Ints, offset: int) -> NDArray[np.int32]:
        # Stored in nanodegrees; 1e-7 degree is 100 of them.
        if self.granularity == 100 and offset == 0:
            return values.astype(np.int32)
        return ((offset + self.granularity * values) // 100).astype(np.int32)


def _parse_block(data: bytes, types: Collection[int], with_metadata: bool) -> Iterator[Block]:
    scale, groups = _parse_groups(data, has_strings=True)
    scale.with_metadata = with_metadata
    for group in groups:
        if _TYPE_OF_FIELD.get(_varint(group, 0)[0] >> 3 if len(group) else 0, NODE) not in types:
            continue
        kind = 0
        parts = []
        for number, value in _fields(group):
            kind = kind or number
            if number != kind:
                raise NeedsRewrite("a group with several types")
            parts.append(value)
        if kind == 1:
            raise NeedsRewrite("nodes that are not dense")
        if kind == 2:
            for part in parts:
                yield _parse_dense(part, scale)
        elif kind == 3:
            yield _parse_ways(parts, scale)
        elif kind == 4:
            yield _parse_relations(parts, scale)


def _parse_groups(data: bytes, *, has_strings: bool = False) -> tuple[_Scale, list[memoryview]]:
    """Return what all groups of a block share, and the groups."""
    scale = _Scale([])
    groups: list[memoryview] = []
    for number, value in _fields(data):
        if number == 1 and has_strings:
            scale.strings = [bytes(text) for n, text in _fields(value) if n == 1]
        elif number == 2:
            groups.append(value)
        elif number == 17:
            scale.granularity = value
        elif number == 18:
            scale.date_granularity = value
        elif number == 19:
            scale.lat_offset = _as_signed(value)
        elif number == 20:
            scale.lon_offset = _as_signed(value)
    return scale, groups


def _as_signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _parse_positions(
    parts: dict[int, Any], scale: _Scale
) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    ids = np.cumsum(_signed(parts.get(1, b"")))
    lat = scale.degrees_e7(np.cumsum(_signed(parts[8])), scale.lat_offset)
    lon = scale.degrees_e7(np.cumsum(_signed(parts[9])), scale.lon_offset)
    if not len(lat) == len(lon) == len(ids):
        raise ValueError("node arrays differ in length")
    return ids, lon, lat


def _parse_dense(data: memoryview, scale: _Scale) -> Block:
    parts = dict(_fields(data))
    ids, lon, lat = _parse_positions(parts, scale)
    count = len(ids)
    offsets = np.zeros(count + 1, np.int64)
    keys = values = np.empty(0, np.int64)
    if 10 in parts and len(parts[10]):
        # key, value, key, value, 0 for each node: split by the zeros, which stand at key places.
        flat = _unsigned(parts[10])
        zeros = np.flatnonzero(flat == 0)
        if len(zeros) != count:
            # A value may be the string 0 ("") in odd files: walk them.
            zeros = _walk_zeros(flat, count)
        lengths = np.diff(zeros, prepend=-1) - 1
        np.cumsum(lengths // 2, out=offsets[1:])
        keep = np.ones(len(flat), np.bool_)
        keep[zeros] = False
        flat = flat[keep]
        keys, values = flat[0::2], flat[1::2]
    version = timestamp = changeset = uid = user = visible = None
    if 5 in parts and scale.with_metadata:
        info = dict(_fields(parts[5]))
        version = _unsigned(info[1]) if len(info.get(1, b"")) else None
        if version is not None:
            zero = np.zeros(count, np.int64)

            def deltas(number: int) -> Ints:
                return np.cumsum(_signed(info[number])) if len(info.get(number, b"")) else zero

            timestamp = deltas(2) * scale.date_granularity // 1000
            changeset, uid, user = deltas(3), deltas(4), deltas(5)
        if 6 in info:
            visible = decode_varints(info[6]).astype(np.bool_)
    return Block(
        NODE, ids, scale.strings, offsets, keys, values,
        version, timestamp, changeset, uid, user, visible, lon=lon, lat=lat,
    )  # fmt: skip


def _walk_zeros(flat: Ints, count: int) -> Ints:
    places, inside = [], False
    for index, value in enumerate(flat.tolist()):
        if inside:
            inside = False
        elif value == 0:
            places.append(index)
        else:
            inside = True
    if len(places) != count:
        raise ValueError("tags of nodes do not fit")
    return np.array(places, np.int64)


class _Runs:
    """Slices of packed varints, one per element, decoded together."""

    def __init__(self, slices: list[bytes | memoryview]) -> None:
        self.data = b"".join(slices)
        lengths = np.fromiter(map(len, slices), np.int64, len(slices))
        ends = np.concatenate([[0], np.cumsum(np.frombuffer(self.data, np.uint8) < 0x80)])
        self.offsets: Ints = ends[np.concatenate([[0], np.cumsum(lengths)])]

    def unsigned(self) -> Ints:
        return _unsigned(self.data)

    def deltas(self) -> Ints:
        """Decode zigzag deltas that start anew for each element."""
        sums = np.cumsum(_signed(self.data))
        starts = self.offsets[:-1]
        before = np.where(starts > 0, sums[np.maximum(starts - 1, 0)], 0) if len(sums) else starts
        return sums - np.repeat(before, np.diff(self.offsets))


def _split(messages: list[memoryview], fields: tuple[int, ...]) -> tuple[Ints, list[Any]]:
    """Return the ids and, per wanted field, the list of its slices of each message."""
    empty = b""
    ids = []
    columns: list[list[Any]] = [[] for _ in fields]
    for message in messages:
        found = dict(_fields(message))
        ids.append(found[1])
        for column, number in zip(columns, fields, strict=True):
            column.append(found.get(number, empty))
    return np.array(ids, np.uint64).astype(np.int64), columns


def _parse_info(slices: list[Any], scale: _Scale, count: int) -> dict[str, Any]:
    """Decode Info messages: all their fields are varints, so keys and values alternate."""
    if not scale.with_metadata or not any(map(len, slices)):
        return dict.fromkeys(("version", "timestamp", "changeset", "uid", "user", "visible"))
    runs = _Runs(slices)
    flat = runs.unsigned()
    owner = np.repeat(np.arange(count), np.diff(runs.offsets) // 2)
    number, value = flat[0::2] >> 3, flat[1::2]
    columns = {n: np.zeros(count, np.int64) for n in range(1, 7)}
    columns[6][:] = 1
    for n, column in columns.items():
        chosen = number == n
        column[owner[chosen]] = value[chosen]
    return {
        "version": columns[1],
        "timestamp": columns[2] * scale.date_granularity // 1000,
        "changeset": columns[3],
        "uid": columns[4],
        "user": columns[5],
        "visible": columns[6].astype(np.bool_) if (number == 6).any() else None,
    }


def _parse_ways(messages: list[memoryview], scale: _Scale) -> Block:
    ids, (keys, values, info, refs) = _split(messages, (2, 3, 4, 8))
    tag_keys, nodes = _Runs(keys), _Runs(refs)
    return Block(
        WAY, ids, scale.strings, tag_keys.offsets, tag_keys.unsigned(), _Runs(values).unsigned(),
        **_parse_info(info, scale, len(ids)), offsets=nodes.offsets, refs=nodes.deltas(),
    )  # fmt: skip


def _parse_relations(messages: list[memoryview], scale: _Scale) -> Block:
    ids, (keys, values, info, roles, members, types) = _split(messages, (2, 3, 4, 8, 9, 10))
    tag_keys, refs = _Runs(keys), _Runs(members)
    return Block(
        RELATION, ids, scale.strings, tag_keys.offsets, tag_keys.unsigned(),
        _Runs(values).unsigned(), **_parse_info(info, scale, len(ids)),
        offsets=refs.offsets, refs=refs.deltas(),
        member_types=_Runs(types).unsigned(), member_roles=_Runs(roles).unsigned(),
    )  # fmt: skip
