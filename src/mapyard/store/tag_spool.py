"""Tags of a build, on disk until all are known, with their dictionary in runs that fit into memory.

A tag is a row and the number of its key=value in the run of the dictionary that was open then. When
a run is full its texts are sorted and written; in the end all runs are merged to one dictionary.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.area_rule import area_bits
from mapyard.store.columns import ColumnWriter, Heap, open_column, write_column, write_heap
from mapyard.store.heaps import HeapWriter

Ints = NDArray[np.int64]
Rows = NDArray[np.uint32]

#: What a text takes in a dictionary of Python besides its bytes.
_ENTRY_BYTES: Final = 200
_CHUNK_TAGS: Final = 1 << 18
_TEXTS_AT_ONCE: Final = 1 << 14


class TagSpool:
    """Takes tags in the order of rows; `write_dictionary` numbers them for good."""

    def __init__(self, work: Path, memory_bytes: int) -> None:
        self._work, self._memory_bytes = work, memory_bytes
        self._ids: dict[bytes, int] = {}
        self._size_bytes = 0
        self._rows = ColumnWriter(work, "tag_spool_rows", np.uint32)
        self._kvs = ColumnWriter(work, "tag_spool_kvs", np.uint32)
        #: How many tags there were at the end of each run.
        self._ends: list[int] = []

    def add(
        self, first_row: int, offsets: Ints, keys: Ints, values: Ints, strings: list[bytes]
    ) -> None:
        """Add the tags of consecutive rows; keys and values index `strings`."""
        if not len(keys):
            return
        if self._size_bytes > self._memory_bytes:
            self._end_run()
        pairs, inverse = np.unique((keys << 32) | values, return_inverse=True)
        ids = self._ids
        numbers, size = [], 0
        for pair in pairs.tolist():
            text = strings[pair >> 32] + b"\0" + strings[pair & 0xFFFFFFFF]
            number = ids.get(text)
            if number is None:
                number = ids[text] = len(ids)
                size += len(text) + _ENTRY_BYTES
            numbers.append(number)
        self._size_bytes += size
        self._kvs.append(np.array(numbers, np.uint32)[inverse])
        rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))
        self._rows.append(rows + np.uint32(first_row))

    def abandon(self) -> None:
        """Close the files as they are."""
        self._rows.abandon()
        self._kvs.abandon()

    def _end_run(self) -> None:
        number = len(self._ends)
        texts = [as_utf8(text) for text in self._ids]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        write_heap(self._work, f"tag_run_{number}", [texts[i] for i in order])
        write_column(self._work, f"tag_run_{number}_order", np.array(order, np.uint32))
        self._ends.append(self._rows.length)
        self._ids, self._size_bytes = {}, 0

    def write_dictionary(self, folder: Path) -> NDArray[np.uint8]:
        """Write keys and values; return the area bits of each kv id (osm/area_rule)."""
        self._end_run()
        self._rows.close()
        self._kvs.close()
        runs = [_Run(self._work, number) for number in range(len(self._ends))]
        merged = heapq.merge(*(run.texts() for run in runs), key=itemgetter(0))
        keys: list[bytes] = []
        starts: list[int] = []
        bits = bytearray()
        values = HeapWriter(folder, "value_text")
        waiting: list[bytes] = []
        for kv, (text, same) in enumerate(groupby(merged, key=itemgetter(0))):
            key, value = text.split(b"\0", 1)
            if not keys or keys[-1] != key:
                keys.append(key)
                starts.append(kv)
            bits.append(area_bits(key.decode(), value.decode()))
            waiting.append(value)
            if len(waiting) == _TEXTS_AT_ONCE:
                values.append(waiting)
                waiting = []
            for _, number in same:
                runs[number].put(kv)
        values.append(waiting)
        values.close()
        for run in runs:
            run.close()
        write_heap(folder, "key_text", keys)
        write_column(folder, "key_kv", np.array([*starts, len(bits)], np.int64))
        return np.frombuffer(bytes(bits), np.uint8)

    def chunks(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield rows and kv ids, sorted by both; the tags of a row are in one chunk."""
        rows, kvs = (open_column(self._work, f"tag_spool_{name}") for name in ("rows", "kvs"))
        for number, (first, last) in enumerate(pairwise([0, *self._ends])):
            final = open_column(self._work, f"tag_run_{number}_final")
            start = first
            while start < last:
                stop = min(last, start + _CHUNK_TAGS)
                if stop < last:
                    # Blocks end with a row, and so do runs.
                    stop = start + int(np.searchsorted(rows[start:stop], rows[stop - 1]))
                    if stop == start:
                        stop = start + int(
                            np.searchsorted(rows[start:last], rows[start], side="right")
                        )
                packed = rows[start:stop].astype(np.uint64) << np.uint64(32)
                packed |= final[kvs[start:stop]]
                packed.sort()
                yield (packed >> np.uint64(32)).astype(np.uint32), packed.astype(np.uint32)
                start = stop


class _Run:
    """Texts of a run in order, and the final number of each."""

    def __init__(self, work: Path, number: int) -> None:
        self._work, self._number = work, number
        self._heap = Heap(work, f"tag_run_{number}")
        self._finals: list[int] = []
        self._writer = ColumnWriter(work, f"tag_run_{number}_sorted", np.uint32)

    def texts(self) -> Iterator[tuple[bytes, int]]:
        for start in range(0, len(self._heap), _TEXTS_AT_ONCE):
            stop = min(len(self._heap), start + _TEXTS_AT_ONCE)
            for text in self._heap.span(start, stop):
                yield text, self._number

    def put(self, kv: int) -> None:
        self._finals.append(kv)
        if len(self._finals) == _TEXTS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._writer.append(np.array(self._finals, np.uint32))
        self._finals = []

    def close(self) -> None:
        """Write the final number of each text by the number that it had in the run."""
        self._flush()
        self._writer.close()
        name = f"tag_run_{self._number}"
        final = np.empty(len(self._heap), np.uint32)
        order = open_column(self._work, f"{name}_order")
        final[order] = open_column(self._work, f"{name}_sorted")
        write_column(self._work, f"{name}_final", final)


def as_utf8(text: bytes) -> bytes:
    """Return a text with what is no UTF-8 replaced."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="replace").encode()
    return text
