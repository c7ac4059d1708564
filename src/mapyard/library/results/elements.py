"""Elements of the store as features: rows are found, and features written, when looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.features.listing import Listing
from mapyard.library.call import Call
from mapyard.library.results.feature import Features, Written
from mapyard.results.features import write_features
from mapyard.results.output import Output
from mapyard.results.pages import ATTRIBUTION, PageEnd
from mapyard.results.streams import Chunk
from mapyard.store.reader import Store


class Page(NamedTuple):
    """One page of a list: its features as JSON texts, and how it ended."""

    written: list[bytes]
    end: PageEnd
    #: Of lists by distance, meters; features have them rounded.
    distances_m: NDArray[np.float64] | None = None


class Elements(Features):
    """A list of elements. Iterating, indexing and `len()` find as much as they need.

    Only rows are kept (some bytes per element), so a whole extract can be walked through.
    """

    def __init__(
        self,
        call: Call,
        output: Output,
        find_page: Callable[[int], Listing],
        iter_chunks: Callable[[], Iterator[Chunk]],
        *,
        store: Store | None = None,
        attribution: str = ATTRIBUTION,
    ) -> None:
        """Make a list out of what finds it; `store` is the map's unless given."""
        super().__init__(members={"attribution": attribution} if attribution else {})
        self.call = call
        self.store = call.store if store is None else store
        self.attribution = attribution
        self.output = output
        self._find_page = find_page
        self.iter_chunks = iter_chunks
        self._chunks: Iterator[Chunk] | None = None
        self._rows: list[NDArray[Any]] = []
        self._distances_m: list[NDArray[np.float64] | None] = []
        self._found = 0
        self._is_whole = False

    def page(self, limit: int) -> Page:
        """Return the page that was asked for by cursor or offset, the first one else."""
        found = self.listing(limit)
        return Page(self.write(found.rows, found.distances_m), found.end, found.distances_m)

    def listing(self, limit: int) -> Listing:
        """Return the rows of that page."""
        return self._find_page(limit)

    def write(
        self, rows: NDArray[Any], distances_m: NDArray[np.float64] | None = None
    ) -> list[bytes]:
        """Return features of rows as JSON texts."""
        return write_features(
            self.store,
            rows,
            self.output,
            distances_m=distances_m,
            deadline=self.call.deadline,
        )

    @property
    def rows(self) -> NDArray[Any]:
        """Return the store's rows of all elements, in the order of the result."""
        self._find(None)
        return np.concatenate(self._rows) if self._rows else np.empty(0, np.uint32)

    def _find(self, count: int | None) -> None:
        """Find rows until there are `count`, or all."""
        if self._chunks is None:
            self._chunks = self.iter_chunks()
        while not self._is_whole and (count is None or self._found < count):
            chunk = next(self._chunks, None)
            if chunk is None:
                self._is_whole = True
                return
            rows, distances_m = chunk
            self._rows.append(rows)
            self._distances_m.append(distances_m)
            self._found += len(rows)

    def _size(self) -> int:
        self._find(None)
        return self._found

    def _take(self, start: int, stop: int) -> Sequence[Written]:
        self._find(stop)
        written: list[bytes] = []
        before = 0
        for rows, distances_m in zip(self._rows, self._distances_m, strict=True):
            first, last = max(0, start - before), min(len(rows), stop - before)
            if first < last:
                part = None if distances_m is None else distances_m[first:last]
                written += self.write(rows[first:last], part)
            before += len(rows)
            if before >= stop:
                break
        return written
