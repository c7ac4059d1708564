"""Values kept between requests, least recently used out first, bounded by their size in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable


class ByteCache[K, V]:
    """A mapping of at most `limit_bytes`; several threads may use it at once."""

    __slots__ = ("_items", "_limit_bytes", "_lock", "_size_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._size_bytes = 0
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: K) -> V | None:
        """Return a kept value, or None."""
        with self._lock:
            item = self._items.get(key)
            if item is None:
                return None
            self._items.move_to_end(key)
            return item[0]

    def find_many(self, keys: Iterable[K]) -> list[V | None]:
        """Return the kept value of each key, or None."""
        items = self._items
        found: list[V | None] = []
        with self._lock:
            for key in keys:
                item = items.get(key)
                if item is None:
                    found.append(None)
                else:
                    items.move_to_end(key)
                    found.append(item[0])
        return found

    def keep(self, key: K, value: V, size_bytes: int) -> None:
        """Keep a value, letting go of others; one larger than a quarter of all is not kept."""
        if size_bytes > self._limit_bytes // 4:
            return
        with self._lock:
            old = self._items.pop(key, None)
            self._size_bytes += size_bytes - (old[1] if old is not None else 0)
            self._items[key] = (value, size_bytes)
            while self._size_bytes > self._limit_bytes:
                self._size_bytes -= self._items.popitem(last=False)[1][1]
