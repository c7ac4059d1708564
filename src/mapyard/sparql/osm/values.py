"""One id per tag text, whatever the key: kv ids with equal values share the first of them.

Found once per opened dataset by a random multilinear hash over the value bytes, in arrays.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import offsets_of
from mapyard.store.reader import Store

#: Longest value by the OSM API: 255 characters of at most 4 bytes; longer ones wrap around.
_PERIOD: Final = 1024
_BATCH_BYTES: Final = 4_000_000

Hashes = NDArray[np.uint64]


class ValueIndex:
    """Maps kv ids to the shared id of their text, and texts to it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        random = np.random.default_rng()
        # Two independent hashes of 64 bits: equal texts are taken to be equal when both agree.
        self._weights = random.integers(0, 2**64, (2, _PERIOD + 1), np.uint64, endpoint=False)
        first, second = self._hash_store()
        order = np.lexsort((second, first))
        self._hashes = first[order]
        starts = np.ones(len(order), np.bool_)
        starts[1:] = (self._hashes[1:] != self._hashes[:-1]) | (
            second[order][1:] != second[order][:-1]
        )
        group = np.cumsum(starts) - 1
        self._order = order.astype(np.uint32)
        self._starts = np.flatnonzero(starts)
        lowest = np.minimum.reduceat(order, self._starts) if len(order) else order
        #: Shared kv id of each kv id.
        self.shared: NDArray[np.uint32] = np.empty(len(order), np.uint32)
        self.shared[order] = lowest[group]

    def find(self, text: str) -> int | None:
        """Return the shared kv id of a text, None when no tag has it."""
        for kv in self.kvs_of_text(text).tolist():
            return int(self.shared[kv])
        return None

    def find_many(self, texts: list[str]) -> NDArray[np.int64]:
        """Return `find` of many texts at once, −1 where no tag has it."""
        encoded = [text.encode("utf-8", "replace") for text in texts]
        offsets = offsets_of(np.array([len(text) for text in encoded], np.int64))
        hashes, _ = self._hash(np.frombuffer(b"".join(encoded), np.uint8), offsets)
        result = np.full(len(texts), -1, np.int64)
        place = np.searchsorted(self._hashes, hashes)
        place[place == len(self._hashes)] = 0
        index = np.flatnonzero(self._hashes[place] == hashes) if len(self._hashes) else place[:0]
        kvs = self._order[place[index]]
        same = [texts[i] == v for i, v in zip(index.tolist(), self._store.values(kvs), strict=True)]
        kept = np.array(same, np.bool_)
        result[index[kept]] = self.shared[kvs[kept]]
        return result

    def kvs_of_text(self, text: str) -> NDArray[np.uint32]:
        """Return the sorted kv ids, one per key, whose value is a text."""
        data = np.frombuffer(text.encode(), np.uint8)
        wanted = self._hash(data, np.array([0, len(data)]))[0][0]
        start, stop = np.searchsorted(self._hashes, [wanted, wanted + np.uint64(1)])
        if stop < start:  # the greatest hash
            stop = len(self._hashes)
        kvs = np.sort(self._order[start:stop])
        if not len(kvs):
            return kvs
        same = [value == text for value in self._store.values(kvs)]
        return kvs[np.array(same, np.bool_)]

    def _hash_store(self) -> tuple[Hashes, Hashes]:
        parts: list[tuple[Hashes, Hashes]] = []
        texts: list[Any] = []
        offsets: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        size = 0

        def flush() -> None:
            nonlocal size
            if texts:
                data = np.frombuffer(b"".join(texts), np.uint8)
                parts.append(self._hash(data, np.concatenate(offsets)))
            texts.clear()
            offsets[1:] = []
            size = 0

        for key in self._store.keys:
            raw, ends = self._store.raw_values_of_key(key)
            texts.append(raw)
            offsets.append(ends[1:] + size)
            size += len(raw)
            if size > _BATCH_BYTES:
                flush()
        flush()
        empty = np.empty(0, np.uint64)
        if not parts:
            return empty, empty
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _hash(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[Hashes, Hashes]:
        lengths = np.diff(offsets)
        place = (np.arange(len(data)) - np.repeat(offsets[:-1], lengths)) % _PERIOD
        results = []
        for weights in self._weights:
            # A byte of 0 must count too, and the length is a last digit.
            terms = weights[place] * (data.astype(np.uint64) + np.uint64(1))
            sums = np.zeros(len(data) + 1, np.uint64)
            np.cumsum(terms, out=sums[1:])
            ends = lengths.astype(np.uint64) * weights[_PERIOD]
            results.append(sums[offsets[1:]] - sums[offsets[:-1]] + ends)
        return results[0], results[1]
