"""Tags: keys, values, postings, and each element's tags as JSON."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.store.arrays import EMPTY_ROWS, Ints, Rows
from mapyard.store.columns import Heap, ranges
from mapyard.store.distinct import distinct
from mapyard.store.elements import ElementColumns
from mapyard.store.key_values import KeyValues
from mapyard.store.sorted import find_sorted
from mapyard.store.tag_texts import StoredTags, TagLists


class TagColumns(ElementColumns):
    """A kv id is the place of a key=value in the dictionary, sorted by (key, value)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._tag_rows: NDArray[np.uint32] = self._column("tag_rows")
        self._tag_row_view = memoryview(self._tag_rows)
        self._keys = Heap(folder, "key_text")
        self._values = Heap(folder, "value_text")
        self._key_kv: Ints = self._column("key_kv")
        self._tags = (
            StoredTags(folder)
            if self.is_own
            else TagLists(folder, self._keys, self._values, self._key_kv)
        )
        self._kv_offsets: NDArray[Any] = self._column("kv_offsets")
        self._kv_rows: NDArray[np.uint32] = self._column("kv_rows")
        self._key_offsets: NDArray[Any] = self._column("key_offsets")
        self._key_rows: NDArray[np.uint32] = self._column("key_rows")
        self._key_values = KeyValues(folder)

    @cached_property
    def keys(self) -> list[str]:
        """All tag keys, sorted by their UTF-8 bytes."""
        return [key.decode() for key in self._keys.span(0, len(self._keys))]

    @cached_property
    def _key_index(self) -> dict[str, int]:
        return {key: index for index, key in enumerate(self.keys)}

    def find_key(self, key: str) -> int:
        """Return the index of a key, or −1."""
        return self._key_index.get(key, -1)

    def kv_range(self, key: str) -> tuple[int, int]:
        """Return the range [start, stop) of kv ids of a key; (0, 0) when unknown."""
        index = self.find_key(key)
        return (0, 0) if index < 0 else (int(self._key_kv[index]), int(self._key_kv[index + 1]))

    def find_kv(self, key: str, value: str) -> int:
        """Return the kv id of one key=value, or −1."""
        start, stop = self.kv_range(key)
        text = value.encode()
        place = self._values.find(text, start, stop)
        return place if place < stop and self._values[place] == text else -1

    def kv_keys(self, kvs: NDArray[Any]) -> Ints:
        """Return the key index of each kv id."""
        return np.searchsorted(self._key_kv, kvs, side="right") - 1

    def values(self, kvs: NDArray[Any]) -> list[str]:
        """Return the value text of each kv id, order kept."""
        return [value.decode() for value in self._values.take(np.asarray(kvs, np.int64))]

    def values_of_key(self, key: str) -> list[bytes]:
        """Return the distinct values of a key as UTF-8, in the order of its kv ids; for regexes."""
        return self._values.span(*self.kv_range(key))

    def raw_values_of_key(self, key: str) -> tuple[memoryview, Ints]:
        """Return the same values run together, and their offsets in it."""
        start, stop = self.kv_range(key)
        offsets = self._values.offsets[start : stop + 1].astype(np.int64)
        return self._values.raw(start, stop), offsets - offsets[:1]

    def find_kv_prefix(self, key: str, prefix: str) -> tuple[int, int]:
        """Return the range of kv ids of a key whose value begins with a text."""
        start, stop = self.kv_range(key)
        text = prefix.encode()
        first = self._values.find(text, start, stop)
        return first, self._values.find(text + b"\xff", first, stop)

    def kv_counts(self, start: int, stop: int) -> Ints:
        """Return the number of elements of each kv id in [start, stop)."""
        offsets = self._kv_offsets[start : stop + 1].astype(np.int64)
        counts: Ints = offsets[1:] - offsets[:-1]
        return counts

    def key_count(self, key: str) -> int:
        """Return the number of elements with a key."""
        index = self.find_key(key)
        return 0 if index < 0 else int(self._key_offsets[index + 1] - self._key_offsets[index])

    def rows_with_kv(self, kv: int) -> NDArray[np.uint32]:
        """Return the sorted rows with one kv id, without a copy; empty for −1."""
        if kv < 0:
            return EMPTY_ROWS
        return self._kv_rows[self._kv_offsets[kv] : self._kv_offsets[kv + 1]]

    def rows_with_tag(self, key: str, value: str) -> NDArray[np.uint32]:
        """Return the sorted rows with key=value."""
        return self.rows_with_kv(self.find_kv(key, value))

    def rows_with_kvs(self, kvs: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the sorted rows with any of the kv ids (which are sorted, without doubles)."""
        kvs = np.asarray(kvs, np.int64)
        if not len(kvs):
            return EMPTY_ROWS
        starts = self._kv_offsets[kvs].astype(np.int64)
        lengths = self._kv_offsets[kvs + 1] - starts
        rows = self._kv_rows[ranges(starts, lengths)]
        if len(kvs) == 1:
            return rows
        rows.sort()
        # One element has one value per key, so doubles come only from kvs of several keys.
        return rows if self.kv_keys(kvs[:1])[0] == self.kv_keys(kvs[-1:])[0] else distinct(rows)

    def rows_with_key(self, key: str) -> NDArray[np.uint32]:
        """Return the sorted rows that have a key, without a copy."""
        return self._numbered_postings(self.find_key(key))[0]

    def key_postings(self, key: str) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the sorted rows that have a key, and the kv id of each."""
        index = self.find_key(key)
        if index < 0:
            return EMPTY_ROWS, EMPTY_ROWS
        rows, numbers = self._numbered_postings(index)
        return rows, numbers.astype(np.uint32) + np.uint32(self._key_kv[index])

    def _numbered_postings(self, index: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return the rows of a key, and their values as numbers from 0; without copies."""
        if index < 0:
            return EMPTY_ROWS, EMPTY_ROWS
        start, stop = int(self._key_offsets[index]), int(self._key_offsets[index + 1])
        return self._key_rows[start:stop], self._key_values.get(index, stop - start)

    def tag_values(self, rows: Rows, key: str) -> Ints:
        """Return the kv id of a key for each row (any order), −1 where the row lacks it."""
        index = self.find_key(key)
        having, numbers = self._numbered_postings(index)
        rows = np.asarray(rows)
        if not len(having):
            return np.full(len(rows), -1, np.int64)
        place = find_sorted(having, rows.astype(np.uint32, copy=False))
        kvs = numbers[place].astype(np.int64)
        kvs += self._key_kv[index]
        kvs[place < 0] = -1
        return kvs

    def has_key(self, rows: Rows, key: str) -> NDArray[np.bool_]:
        """Return which rows (any order) have a key."""
        rows = np.asarray(rows).astype(np.uint32, copy=False)
        return find_sorted(self.rows_with_key(key), rows) >= 0

    def has_tag(self, rows: Rows, key: str, value: str) -> NDArray[np.bool_]:
        """Return which rows (any order) have key=value."""
        rows = np.asarray(rows).astype(np.uint32, copy=False)
        return find_sorted(self.rows_with_tag(key, value), rows) >= 0

    def has_tags(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows have any tag."""
        return self._tag_places(np.asarray(rows))[1]

    def _tag_places(self, rows: Rows) -> tuple[Ints, NDArray[np.bool_]]:
        tagged = self._tag_rows
        if not len(tagged):
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        place = np.searchsorted(tagged, rows.astype(np.uint32, copy=False))
        place[place == len(tagged)] = 0
        return place, tagged[place] == rows

    def tags_json(self, rows: Rows) -> list[bytes]:
        """Return each row's tags as one JSON object in UTF-8, keys sorted; b"{}" without tags."""
        return self._take_tags(rows, self._tags.take_objects, b"{}")

    def tag_members_json(self, rows: Rows) -> list[bytes]:
        """Return the same without the braces; b"" without tags."""
        return self._take_tags(rows, self._tags.take, b"")

    def _take_tags(
        self, rows: Rows, take: Callable[[Ints], list[bytes]], without: bytes
    ) -> list[bytes]:
        place, has = self._tag_places(np.asarray(rows))
        if has.all():
            return take(place)
        if not has.any():
            return [without] * len(place)
        return [t if h else without for t, h in zip(take(place), has.tolist(), strict=True)]

    def row_tags_json(self, row: int) -> bytes:
        """Return `tags_json` of one row, at a tenth of the cost."""
        return b"{%b}" % self.row_tag_members_json(row)

    def row_tag_members_json(self, row: int) -> bytes:
        """Return the same without the braces; b"" without tags."""
        tagged = self._tag_row_view
        place = bisect_left(tagged, row)
        if place < len(tagged) and tagged[place] == row:
            return self._tags.get(place)
        return b""

    def tags(self, row: int) -> dict[str, str]:
        """Return the tags of one row."""
        tags: dict[str, str] = orjson.loads(self.row_tags_json(row))
        return tags

    def is_listed(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows a feature list holds: ways, relations and tagged nodes."""
        rows = np.asarray(rows)
        return (rows >= self.way_start) | self.has_tags(rows)
