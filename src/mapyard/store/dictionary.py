"""Tags while a store is written: the dictionary of key=value, postings, and JSON per element."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.osm.area_rule import area_bits
from mapyard.store.columns import (
    ColumnWriter,
    offsets_of,
    ranges,
    write_column,
    write_heap,
)

Ints = NDArray[np.int64]
_JSON_CHUNK_TAGS = 100_000


class TagCollector:
    """Collects tags as pairs (row, provisional kv id), eight bytes a tag."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._rows: list[NDArray[np.uint32]] = []
        self._kvs: list[NDArray[np.uint32]] = []

    def add(
        self, first_row: int, offsets: Ints, keys: Ints, values: Ints, strings: list[bytes]
    ) -> None:
        """Add the tags of consecutive rows; keys and values index `strings`."""
        if not len(keys):
            return
        pairs, inverse = np.unique((keys << 32) | values, return_inverse=True)
        ids = self._ids
        numbers = [
            ids.setdefault(strings[pair >> 32] + b"\0" + strings[pair & 0xFFFFFFFF], len(ids))
            for pair in pairs.tolist()
        ]
        self._kvs.append(np.array(numbers, np.uint32)[inverse])
        rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))
        self._rows.append(rows + np.uint32(first_row))

    def take(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], list[bytes]]:
        """Return rows and kv ids sorted by (row, kv id), and the sorted texts key NUL value.

        Of doubled keys in one element only the first value (by bytes) is kept. Empties itself.
        """
        provisional = [_as_utf8(text) for text in self._ids]
        order = sorted(range(len(provisional)), key=provisional.__getitem__)
        texts = [provisional[i] for i in order]
        final = np.empty(len(order), np.uint32)
        final[order] = np.arange(len(order), dtype=np.uint32)
        self._ids = {}
        empty = np.empty(0, np.uint32)
        rows = np.concatenate(self._rows) if self._rows else empty
        self._rows = []
        kvs = final[np.concatenate(self._kvs)] if self._kvs else empty
        self._kvs = []
        packed = (rows.astype(np.uint64) << np.uint64(32)) | kvs
        packed.sort()
        rows = (packed >> np.uint64(32)).astype(np.uint32)
        return rows, packed.astype(np.uint32), texts


def _as_utf8(text: bytes) -> bytes:
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="replace").encode()
    return text


def write_tags(
    folder: Path, rows: NDArray[np.uint32], kvs: NDArray[np.uint32], texts: list[bytes]
) -> NDArray[np.uint8]:
    """Write dictionary, postings and JSON; return the area bits of each kv id (osm/area_rule)."""
    split = [text.split(b"\0", 1) for text in texts]
    keys: list[bytes] = []
    key_starts: list[int] = []
    for index, (key, _) in enumerate(split):
        if not keys or keys[-1] != key:
            keys.append(key)
            key_starts.append(index)
    key_kv = np.array([*key_starts, len(split)], np.int64)
    kv_key = np.repeat(np.arange(len(keys)), np.diff(key_kv))
    if len(rows):
        same = np.zeros(len(rows), np.bool_)
        tag_keys = kv_key[kvs]
        same[1:] = (rows[1:] == rows[:-1]) & (tag_keys[1:] == tag_keys[:-1])
        if same.any():
            rows, kvs = rows[~same], kvs[~same]
    write_heap(folder, "key_text", keys)
    write_heap(folder, "value_text", [value for _, value in split])
    write_column(folder, "key_kv", key_kv)
    _write_postings(folder, rows, kvs, kv_key, len(keys), len(split))
    _write_json(folder, rows, kvs, JsonFragments(texts))
    return np.fromiter(
        (area_bits(k.decode(), v.decode()) for k, v in split),
        np.uint8,
        len(split),
    )


def _json(text: bytes) -> bytes:
    return orjson.dumps(text.decode())


def _write_postings(
    folder: Path,
    rows: NDArray[np.uint32],
    kvs: NDArray[np.uint32],
    kv_key: Ints,
    key_count: int,
    kv_count: int,
) -> None:
    packed = (kvs.astype(np.uint64) << np.uint64(32)) | rows
    packed.sort()
    write_column(folder, "kv_rows", packed.astype(np.uint32))
    del packed
    write_column(folder, "kv_offsets", offsets_of(np.bincount(kvs, minlength=kv_count)))
    tag_keys = kv_key[kvs].astype(np.uint32) if len(kvs) else np.empty(0, np.uint32)
    # Tags lie in row order, so a stable sort by key leaves the rows of each key sorted.
    order = np.argsort(tag_keys, kind="stable")
    write_column(folder, "key_rows", rows[order])
    write_column(folder, "key_kvs", kvs[order])
    write_column(folder, "key_offsets", offsets_of(np.bincount(tag_keys, minlength=key_count)))


class JsonFragments:
    """The JSON text of each key=value, put together to objects without a loop over elements."""

    def __init__(self, texts: list[bytes]) -> None:
        fragments = [
            _json(key) + b":" + _json(value) for key, value in (t.split(b"\0", 1) for t in texts)
        ]
        self.lengths = np.fromiter(map(len, fragments), np.int64, len(fragments))
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._heap = np.frombuffer(b"".join(fragments), np.uint8)

    def join(
        self, kvs: NDArray[Any], first: NDArray[np.bool_], last: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        """Return the objects of consecutive tags run together; `first`, `last` of each object."""
        length = self.lengths[kvs]
        sizes = length + 1 + last
        begin = np.cumsum(sizes) - sizes
        out = np.empty(int(sizes.sum()), np.uint8)
        out[begin] = np.where(first, ord("{"), ord(","))
        out[ranges(begin + 1, length)] = self._heap[ranges(self._starts[kvs], length)]
        out[(begin + 1 + length)[last]] = ord("}")
        return out


def json_objects(
    rows: NDArray[np.uint32], kvs: NDArray[np.uint32], fragments: JsonFragments
) -> tuple[NDArray[np.uint32], Ints, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the tagged rows, the offsets of their objects, and which tags begin and end one."""
    first = np.ones(len(rows), np.bool_)
    first[1:] = rows[1:] != rows[:-1]
    last = np.roll(first, -1)
    sizes = fragments.lengths[kvs] + 1 + last if len(rows) else np.empty(0, np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)[last]]).astype(np.int64)
    return rows[first], offsets, first, last


def _write_json(
    folder: Path, rows: NDArray[np.uint32], kvs: NDArray[np.uint32], fragments: JsonFragments
) -> None:
    """Write the JSON object of each tagged row."""
    tagged, offsets, first, last = json_objects(rows, kvs, fragments)
    write_column(folder, "tag_rows", tagged)
    write_column(folder, "tag_json_offsets", offsets)
    with ColumnWriter(folder, "tag_json_bytes", np.uint8) as writer:
        for start in range(0, len(rows), _JSON_CHUNK_TAGS):
            part = slice(start, start + _JSON_CHUNK_TAGS)
            writer.append(fragments.join(kvs[part], first[part], last[part]))
