"""The tags of an element as JSON: members of an object, without its braces.

Elements of OpenStreetMap have a list of kv ids each, from which the text is made when it is first
asked for. Rows of somebody's own keep their text, whose values may be numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.store.arrays import Ints
from mapyard.store.columns import Heap, map_column, open_column

#: Texts that are kept, of lists and of single tags; some ten megabytes each.
_KEPT_TEXTS: Final = 100_000


class StoredTags:
    """Stored JSON objects by the place of the row among the tagged ones."""

    def __init__(self, folder: Path) -> None:
        self._heap = Heap(folder, "tag_json")

    def get(self, place: int) -> bytes:
        """Return the members of one object."""
        return self._heap.get(place, 1)

    def take(self, places: Ints) -> list[bytes]:
        """Return the members of each object, in the order asked."""
        return self._heap.take(places, 1)

    def take_objects(self, places: Ints) -> list[bytes]:
        """Return each object, in the order asked."""
        return self._heap.take(places)


class TagLists:
    """Objects put together from the kv ids of each tagged row.

    Most elements have their tags in common with others, so texts are kept by the list of kv ids;
    new ones are made of the texts of single tags, which are kept as well.
    """

    def __init__(self, folder: Path, keys: Heap, values: Heap, key_kv: Ints) -> None:
        self._offsets: NDArray[Any] = open_column(folder, "tag_offsets")
        self._offset_view = memoryview(self._offsets)
        self._base, self._data = map_column(folder, "tag_kvs")
        self._keys, self._values, self._key_kv = keys, values, key_kv
        # Replaced and never emptied, as other threads may be reading.
        self._texts: dict[bytes, bytes] = {}
        self._objects: dict[bytes, bytes] = {}
        self._tags: dict[int, bytes] = {}

    def get(self, place: int) -> bytes:
        """Return the members of one object."""
        offsets, base = self._offset_view, self._base
        kvs = self._data[base + 4 * offsets[place] : base + 4 * offsets[place + 1]]
        return self._texts.get(kvs) or self._write([kvs])[kvs]

    def take(self, places: Ints) -> list[bytes]:
        """Return the members of each object, in the order asked."""
        lists = self._read(places)
        texts = list(map(self._texts.get, lists))
        if None not in texts:
            return texts  # type: ignore[return-value]
        return list(map(self._write(lists).__getitem__, lists))

    def take_objects(self, places: Ints) -> list[bytes]:
        """Return each object, in the order asked."""
        lists = self._read(places)
        texts = list(map(self._objects.get, lists))
        if None in texts:
            members = self._write(lists)
            fresh = {kvs: b"{%b}" % members[kvs] for kvs in set(lists)}
            texts = list(map(fresh.__getitem__, lists))
            if len(self._objects) + len(fresh) > _KEPT_TEXTS:
                self._objects = fresh
            else:
                self._objects.update(fresh)
        return texts  # type: ignore[return-value]

    def _read(self, places: Ints) -> list[bytes]:
        data = self._data
        starts = (self._offsets[places].astype(np.int64) * 4 + self._base).tolist()
        ends = (self._offsets[places + 1].astype(np.int64) * 4 + self._base).tolist()
        return [data[a:b] for a, b in zip(starts, ends, strict=True)]

    def _write(self, lists: list[bytes]) -> dict[bytes, bytes]:
        """Return texts that have at least those of the lists, and keep them."""
        known = self._texts
        fresh = [kvs for kvs in dict.fromkeys(lists) if kvs not in known]
        numbers = np.frombuffer(b"".join(fresh), "<u4").tolist()
        tags = self._tags
        try:
            texts = [tags[number] for number in numbers]
        except KeyError:
            tags = self._learn(numbers)
            texts = [tags[number] for number in numbers]
        if len(known) + len(fresh) > _KEPT_TEXTS:
            known = {kvs: known[kvs] for kvs in set(lists) & known.keys()}
        place = 0
        for kvs in fresh:
            end = place + (len(kvs) >> 2)
            known[kvs] = b",".join(texts[place:end])
            place = end
        self._texts = known
        return known

    def _learn(self, kvs: list[int]) -> dict[int, bytes]:
        """Return texts that have at least those of the kv ids, and keep them."""
        known = self._tags
        unknown = [kv for kv in dict.fromkeys(kvs) if kv not in known]
        of_key = np.searchsorted(self._key_kv, np.array(unknown), side="right") - 1
        prefixes = {
            key: orjson.dumps(self._keys[key].decode()) + b":" for key in set(of_key.tolist())
        }
        value, dumps = self._values.get, orjson.dumps
        fresh = {
            kv: prefixes[key] + dumps(value(kv).decode())
            for kv, key in zip(unknown, of_key.tolist(), strict=True)
        }
        if len(known) + len(fresh) > _KEPT_TEXTS:
            known = {kv: known[kv] for kv in set(kvs) & known.keys()}
        known.update(fresh)
        self._tags = known
        return known
