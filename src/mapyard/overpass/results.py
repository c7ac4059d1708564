"""Results kept between pages: page 2 of a query costs no second run."""

from __future__ import annotations

import threading
from collections import OrderedDict

from mapyard.overpass.entries import Entries

#: Memory for kept results in one process, and the share of it that one result may take.
MAX_BYTES = 64 << 20
MAX_SHARE = 4


class ResultCache:
    """The entries of the latest queries by key, bounded by memory; used by several threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, Entries] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, key: str) -> Entries | None:
        """Return the kept entries, or None."""
        with self._lock:
            entries = self._entries.get(key)
            if entries is not None:
                self._entries.move_to_end(key)
            return entries

    def keep(self, key: str, entries: Entries) -> None:
        """Keep entries, and drop the ones used longest ago."""
        size = entries.nbytes
        if size > self._max_bytes // MAX_SHARE:
            return
        with self._lock:
            old = self._entries.pop(key, None)
            self._bytes += size - (old.nbytes if old is not None else 0)
            self._entries[key] = entries
            while self._bytes > self._max_bytes:
                _, dropped = self._entries.popitem(last=False)
                self._bytes -= dropped.nbytes
