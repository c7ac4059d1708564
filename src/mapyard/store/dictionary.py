"""Tags while a store is written: the dictionary of key=value, postings, and lists per element."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, find_place, open_column, write_offsets
from mapyard.store.heaps import OffsetsWriter
from mapyard.store.key_values import KeyValuesWriter
from mapyard.store.sorting import Sorter
from mapyard.store.tag_spool import TagSpool, as_utf8

Ints = NDArray[np.int64]
_SHIFT: Final = np.uint64(32)
_LOW: Final = np.uint64(2**32 - 1)
_LAST_ROW: Final = 2**32 - 1
_AT_ONCE: Final = 1 << 18


class TagCollector:
    """Collects the tags of an update as pairs (row, provisional kv id), eight bytes a tag."""

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
        provisional = [as_utf8(text) for text in self._ids]
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


def write_tags(folder: Path, spool: TagSpool, counts: list[int], memory_bytes: int) -> None:
    """Write dictionary, postings and lists of tags, and for the time being `way_bits`.

    These are what the tags of each way say of areas (osm/area_rule).
    """
    kv_bits = spool.write_dictionary(folder)
    key_kv = open_column(folder, "key_kv")
    bits = _WayBits(folder, counts)
    lengths = OffsetsWriter(folder, "tag_offsets")
    with (
        Sorter(folder, memory_bytes) as sorter,
        ColumnWriter(folder, "tag_rows", np.uint32) as tag_rows,
        ColumnWriter(folder, "tag_kvs", np.uint32) as tag_kvs,
    ):
        for rows, kvs in spool.chunks():
            # Of doubled keys in one element only the first value (by bytes) is kept.
            keys = np.searchsorted(key_kv, kvs, side="right")
            new = np.ones(len(rows), np.bool_)
            new[1:] = (rows[1:] != rows[:-1]) | (keys[1:] != keys[:-1])
            if not new.all():
                rows, kvs = rows[new], kvs[new]
            tagged, sizes = list_tags(rows)
            tag_rows.append(tagged)
            lengths.append(sizes)
            tag_kvs.append(kvs)
            bits.add(rows, kv_bits[kvs])
            sorter.add(kvs.astype(np.uint64) << _SHIFT | rows)
        counted = np.zeros(len(kv_bits), np.uint32)
        with ColumnWriter(folder, "kv_rows", np.uint32) as kv_rows:
            for block in sorter.blocks():
                kv_rows.append(block.astype(np.uint32))
                kvs = (block >> _SHIFT).astype(np.int64)
                starts = np.flatnonzero(np.diff(kvs, prepend=-1))
                counted[kvs[starts]] += np.diff(starts, append=len(kvs)).astype(np.uint32)
    lengths.close()
    bits.close()
    write_offsets(folder, "kv_offsets", counted)
    _write_key_postings(folder, key_kv, memory_bytes)


class _WayBits:
    """Writes the column `way_bits` out of tags in the order of rows."""

    def __init__(self, folder: Path, counts: list[int]) -> None:
        self._start, self._count = counts[0], counts[1]
        self._writer = ColumnWriter(folder, "way_bits", np.uint8)

    def add(self, rows: NDArray[np.uint32], bits: NDArray[np.uint8]) -> None:
        """Add tags: their rows, and what each says."""
        low, high = find_place(rows, self._start, min(self._start + self._count, _LAST_ROW))
        if low == high:
            return
        ways = rows[low:high].astype(np.int64) - self._start
        done = self._writer.length
        out = np.zeros(int(ways[-1]) + 1 - done, np.uint8)
        for bit in (1, 2):
            out[ways[(bits[low:high] & bit) > 0] - done] |= bit
        self._writer.append(out)

    def close(self) -> None:
        """Write those of ways without tags at the end."""
        self._writer.append(np.zeros(self._count - self._writer.length, np.uint8))
        self._writer.close()


def _write_key_postings(folder: Path, key_kv: Ints, memory_bytes: int) -> None:
    """Write per key the sorted rows and their values: the postings of its values, merged."""
    kv_rows, kv_offsets = open_column(folder, "kv_rows"), open_column(folder, "kv_offsets")
    values = KeyValuesWriter(folder)
    starts = kv_offsets[key_kv].astype(np.int64)
    with ColumnWriter(folder, "key_rows", np.uint32) as key_rows:
        for key, (first, last) in enumerate(pairwise(key_kv.tolist())):
            values.begin(last - first - 1)
            with Sorter(folder, memory_bytes) as sorter:
                for start in range(int(starts[key]), int(starts[key + 1]), _AT_ONCE):
                    stop = min(int(starts[key + 1]), start + _AT_ONCE)
                    # Which value each posting is of.
                    low = int(np.searchsorted(kv_offsets[first : last + 1], start, "right")) - 1
                    edges = kv_offsets[first + low : last + 1].astype(np.int64)
                    edges = np.clip(edges[: np.searchsorted(edges, stop) + 1], start, stop)
                    numbers = np.repeat(np.arange(low, low + len(edges) - 1), np.diff(edges))
                    rows = kv_rows[start:stop].astype(np.uint64)
                    sorter.add(rows << _SHIFT | numbers.astype(np.uint64))
                for block in sorter.blocks():
                    key_rows.append((block >> _SHIFT).astype(np.uint32))
                    values.extend(block & _LOW)
            values.end()
    values.close()
    write_offsets(folder, "key_offsets", np.diff(starts))


def list_tags(rows: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], Ints]:
    """Return the tagged rows of tags in row order, and how many tags each has."""
    first = np.ones(len(rows), np.bool_)
    first[1:] = rows[1:] != rows[:-1]
    starts = np.flatnonzero(first)
    return rows[starts], np.diff(starts, append=len(rows))
