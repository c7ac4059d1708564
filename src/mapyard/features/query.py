"""Feature queries: what is asked of the store, and the plan that answers it page by page.

A query is a conjunction: element types, tag filters, one region, and further conditions put
together anyhow. Its rows come in the order of
eids, (osm_id, type), from one *source* (the postings of the rarest tag filter, the candidates of
the region's boxes, or the whole list), in growing windows that start behind the cursor; each window
is then tested against the remaining conditions, cheap ones first, geometry last. The source is the
one with the least expected work for the page asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.features.conditions import Condition, Matcher, make_matcher, write_key
from mapyard.features.distance import Center
from mapyard.features.regions import Region
from mapyard.features.tags import TagFilter, TagMatcher
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.results.cursor import hash_query
from mapyard.store.distinct import distinct
from mapyard.store.portions import in_portions
from mapyard.store.reader import EMPTY_ROWS, Rows, Store
from mapyard.store.tag_places import FEW

#: Rows of a type looked at in the smallest and in the largest window.
_SMALLEST_WINDOW: Final = 128
_LARGEST_WINDOW: Final = 8_192
#: Where all rows will be looked at, up to so many are one window, which need not be put in order.
_WHOLE: Final = 65_536
#: A row of the list costs so much more than one that the R-tree finds, in C: each is tested here,
#: and those of a place may all come late, as ids are given out in clusters.
_LIST_COST: Final = 32.0

#: Rows with a tag in a box are found at once where they are so few.
_SMALL: Final = 1_024

ALL_TYPES: Final = (NODE, WAY, RELATION)


class FeatureQuery(NamedTuple):
    """Elements asked for; all conditions hold at once."""

    types: tuple[int, ...] = ALL_TYPES
    tags: tuple[TagFilter, ...] = ()
    region: Region | None = None
    where: Condition | None = None

    def hash(self, *order: str) -> bytes:
        """Return the hash that binds a cursor to this query and order."""
        parts = (order, self.types, self.tags, self.region and self.region.key)
        if self.where is None:
            return hash_query(*parts)
        return hash_query(*parts, write_key(self.where))


def iter_rows(
    store: Store,
    query: FeatureQuery,
    deadline: Deadline,
    *,
    after_eid: int | None = None,
    wanted: int | None = None,
) -> Iterator[Rows]:
    """Yield the listed rows of a query in the order of their eids, in chunks, possibly empty.

    Rows with an eid up to `after_eid` are left out. `wanted` is how many rows the caller will
    probably take (None: all); it only guides the plan.
    """
    matchers: list[Matcher] = [TagMatcher(store, wanted, deadline) for wanted in query.tags]
    if query.where is not None:
        matchers.append(make_matcher(store, query.where, deadline))
    if any(matcher.is_impossible for matcher in matchers):
        return
    plan = _choose_plan(store, query, matchers, wanted)
    for rows in _iter_windows(store, plan, query.types, after_eid):
        deadline.check()
        for matcher in plan.left:
            if len(rows):
                rows = rows[in_portions(store, rows, matcher.test, deadline)]
        if query.region is not None and len(rows):
            rows = rows[in_portions(store, rows, partial(query.region.test, store), deadline)]
        yield store.sort_by_eid(rows) if len(rows) > 1 else rows


def test_rows(store: Store, query: FeatureQuery, rows: Rows) -> NDArray[np.bool_]:
    """Return which rows (any order) a query lets through; for lists that others have found."""
    passed = np.isin(store.types(rows), query.types)
    for tag_filter in query.tags:
        passed &= TagMatcher(store, tag_filter).test(rows)
    if query.where is not None and passed.any():
        matcher = make_matcher(store, query.where, no_deadline())
        passed[passed] = in_portions(store, np.asarray(rows)[passed], matcher.test)
    if query.region is not None and passed.any():
        test = partial(query.region.test, store)
        passed[passed] = in_portions(store, np.asarray(rows)[passed], test)
    return passed


def find_candidates(
    store: Store, query: FeatureQuery, deadline: Deadline, most: int
) -> Rows | None:
    """Return rows among which all of a query are; None where these are more than about `most`."""
    matchers = [TagMatcher(store, wanted, deadline) for wanted in query.tags]
    if any(matcher.is_impossible for matcher in matchers):
        return EMPTY_ROWS
    present = [matcher for matcher in matchers if not matcher.is_absence]
    rarest = min(present, key=lambda matcher: matcher.count, default=None)
    boxes = query.region.boxes if query.region is not None else None
    searches = [store.begin_search(box) for box in boxes or ()]
    in_boxes = sum(search.estimate for search in searches)
    if rarest is not None and rarest.count <= most and (boxes is None or rarest.count <= in_boxes):
        return rarest.rows()
    if boxes is None or in_boxes > most:
        return None
    return distinct(*(search.rows() for search in searches))


class _Plan(NamedTuple):
    """Sorted rows to go through (None: all listed), filters left to test, size to begin with."""

    source: Rows | None
    left: list[Matcher]
    first_window: int


def _choose_plan(
    store: Store, query: FeatureQuery, matchers: list[Matcher], wanted: int | None
) -> _Plan:
    """Return the plan with the least work.

    Costs are in rows looked at. Postings and the list are read only as far as the page needs; the
    R-tree's candidates must all be found and sorted first.
    """
    left = sorted(matchers, key=lambda matcher: (matcher.is_absence, matcher.count))
    rarest = left[0] if left and not left[0].is_absence else None
    others = left[1:] if rarest is not None and rarest.is_exact else left
    total = max(1, len(store.listed))
    boxes = query.region.boxes if query.region is not None else None
    if rarest is not None and rarest.count <= FEW:
        return _Plan(rarest.rows(), others, FEW)
    if boxes is not None and isinstance(rarest, TagMatcher):
        near = rarest.rows_near(boxes, _SMALL)
        if near is not None:
            return _Plan(near, others, _SMALL)
    searches = [store.begin_search(box) for box in boxes or ()]
    in_boxes = total
    if boxes is not None:
        in_boxes = min(total, sum(search.estimate for search in searches))
    matches = float(in_boxes)
    for matcher in left:
        matches *= matcher.count / total if not matcher.is_absence else 1.0
    share = 1.0 if wanted is None else min(1.0, wanted / max(matches, 1.0))

    def window(count: int) -> int:
        if share == 1.0:
            return min(count, _WHOLE)
        return int(min(max(1.5 * share * count, _SMALLEST_WINDOW), _LARGEST_WINDOW))

    if rarest is not None and (boxes is None or rarest.count * share <= in_boxes):
        return _Plan(rarest.rows(), others, window(rarest.count))
    if boxes is None or _LIST_COST * total * share < in_boxes:
        return _Plan(None, left, window(total))
    found = [search.rows() for search in searches]
    rows = found[0] if len(found) == 1 else distinct(*found)
    return _Plan(rows, left, window(len(rows)))


def _iter_windows(
    store: Store, plan: _Plan, types: tuple[int, ...], after_eid: int | None
) -> Iterator[Rows]:
    """Yield the rows of a plan's source behind `after_eid` in growing windows.

    All eids of a window lie above those of the one before; within a window, rows lie anyhow: they
    are sorted when the conditions have left few.
    """
    source, size = plan.source, plan.first_window
    if source is None:
        place = 0 if after_eid is None else _find_listed(store, after_eid)
        while place < len(store.listed):
            rows = store.listed[place : place + size]
            place += size
            size = min(2 * size, _LARGEST_WINDOW)
            yield rows if len(types) == len(ALL_TYPES) else rows[np.isin(store.types(rows), types)]
        return
    runs = _cut_runs(store, source, types, after_eid)
    while runs := [run for run in runs if len(run)]:
        windows = [run[:size] for run in runs]
        rows = np.concatenate(windows) if len(windows) > 1 else windows[0]
        # Behind the first end of a window that goes on, rows of that run could come in between.
        ends = [
            int(store.eids(window[-1:])[0])
            for run, window in zip(runs, windows, strict=True)
            if len(run) > size
        ]
        if not ends:
            yield rows
            return
        taken = store.eids(rows) <= min(ends)
        edges = np.cumsum([0, *map(len, windows)]).tolist()
        counts = [int(taken[start:end].sum()) for start, end in pairwise(edges)]
        runs = [run[count:] for run, count in zip(runs, counts, strict=True)]
        yield rows[taken]
        size = min(2 * size, _LARGEST_WINDOW)


def _cut_runs(
    store: Store, source: Rows, types: tuple[int, ...], after_eid: int | None
) -> list[Rows]:
    """Return the rows of each type of a sorted source, behind `after_eid`."""
    edges = []
    for element_type in types:
        start, stop = store.type_range(element_type)
        if after_eid is not None:
            first_id = (after_eid - element_type) // 4 + 1
            start = store.ids.find(first_id, start, stop)
        edges += [start, stop]
    places = source.searchsorted(np.array(edges, source.dtype)).tolist()
    return [source[low:high] for low, high in zip(places[::2], places[1::2], strict=True)]


def _find_listed(store: Store, after_eid: int) -> int:
    """Return the first place in `store.listed` whose eid is above `after_eid`."""
    low, high = 0, len(store.listed)
    while low < high:
        middle = (low + high) // 2
        if store.eid_of(int(store.listed[middle])) <= after_eid:
            low = middle + 1
        else:
            high = middle
    return low


def collect_rows(
    store: Store,
    query: FeatureQuery,
    deadline: Deadline,
    *,
    after_eid: int | None = None,
    skip: int = 0,
    limit: int | None = None,
) -> Rows:
    """Return up to `limit` rows of a query in the order of their eids, after skipping `skip`."""
    wanted = None if limit is None else skip + limit
    chunks: list[NDArray[np.int64]] = []
    count = 0
    for rows in iter_rows(store, query, deadline, after_eid=after_eid, wanted=wanted):
        chunks.append(rows.astype(np.int64))
        count += len(rows)
        if wanted is not None and count >= wanted:
            break
    if not chunks:
        return np.empty(0, np.int64)
    return np.concatenate(chunks)[skip:wanted]


def collect_distances(
    store: Store, query: FeatureQuery, center: Center, deadline: Deadline
) -> tuple[Rows, NDArray[np.float64]]:
    """Return all rows of a query in the order of their eids, and their distances in meters.

    Distances are rounded to millimeters, so that they are the same whatever was asked besides.
    """
    rows = [np.empty(0, np.int64)]
    distances = [np.empty(0)]
    for chunk in iter_rows(store, query, deadline):
        rows.append(chunk.astype(np.int64))
        distances.append(np.round(center.distances_m(store, chunk), 3))
    return np.concatenate(rows), np.concatenate(distances)
