"""Tags while a store is written: the dictionary of key=value, postings, and lists per element."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.area_rule import area_bits
from mapyard.store.columns import write_column, write_heap, write_offsets
from mapyard.store.key_values import KeyValuesWriter

Ints = NDArray[np.int64]


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
    """Write dictionary, postings and lists of tags.

    Return the area bits of each kv id (osm/area_rule).
    """
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
    _write_postings(folder, rows, kvs, key_kv, kv_key)
    _write_lists(folder, rows, kvs)
    return np.fromiter(
        (area_bits(k.decode(), v.decode()) for k, v in split),
        np.uint8,
        len(split),
    )


def _write_postings(
    folder: Path,
    rows: NDArray[np.uint32],
    kvs: NDArray[np.uint32],
    key_kv: Ints,
    kv_key: Ints,
) -> None:
    packed = (kvs.astype(np.uint64) << np.uint64(32)) | rows
    packed.sort()
    write_column(folder, "kv_rows", packed.astype(np.uint32))
    del packed
    write_offsets(folder, "kv_offsets", np.bincount(kvs, minlength=len(kv_key)))
    tag_keys = kv_key[kvs].astype(np.uint32) if len(kvs) else np.empty(0, np.uint32)
    # Tags lie in row order, so a stable sort by key leaves the rows of each key sorted.
    order = np.argsort(tag_keys, kind="stable")
    write_column(folder, "key_rows", rows[order])
    counts = np.bincount(tag_keys, minlength=len(key_kv) - 1)
    write_offsets(folder, "key_offsets", counts)
    write_key_values(folder, key_kv, counts, kvs[order])


def write_key_values(
    folder: Path, key_kv: Ints, counts: NDArray[Any], kvs: NDArray[np.uint32]
) -> None:
    """Write the values of all keys' postings, given as kv ids, key after key."""
    writer = KeyValuesWriter(folder)
    ends = np.cumsum(counts)
    for first, start, stop in zip(
        key_kv.tolist(), (ends - counts).tolist(), ends.tolist(), strict=False
    ):
        writer.append(kvs[start:stop] - np.uint32(first))
    writer.close()


def list_tags(rows: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], Ints]:
    """Return the tagged rows of tags in row order, and how many tags each has."""
    first = np.ones(len(rows), np.bool_)
    first[1:] = rows[1:] != rows[:-1]
    starts = np.flatnonzero(first)
    return rows[starts], np.diff(starts, append=len(rows))


def _write_lists(folder: Path, rows: NDArray[np.uint32], kvs: NDArray[np.uint32]) -> None:
    """Write the kv ids of each tagged row."""
    tagged, lengths = list_tags(rows)
    write_column(folder, "tag_rows", tagged)
    write_offsets(folder, "tag_offsets", lengths)
    write_column(folder, "tag_kvs", kvs)
