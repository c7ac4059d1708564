"""One page of a feature list, by cursor or by offset, in any of its orders."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest
from mapyard.features.distance import Center
from mapyard.features.query import FeatureQuery, collect_distances, collect_rows
from mapyard.features.regions import AroundRegion
from mapyard.results.cursor import decode_cursor, encode_cursor
from mapyard.results.pages import PageEnd, PageRequest
from mapyard.store.reader import Rows, Store

type Order = Literal["osm_id", "name", "distance"]
type Floats = NDArray[np.float64]


class Listing(NamedTuple):
    """Rows of a page in their order, distances in proximity queries, and how the page ended."""

    rows: Rows
    distances_m: Floats | None
    end: PageEnd


def list_features(
    store: Store,
    dataset_id: str,
    query: FeatureQuery,
    page: PageRequest,
    deadline: Deadline,
    order: Order = "osm_id",
) -> Listing:
    """Return a page of a query.

    The order is by (osm_id, type), with a cursor or an offset; by name (those without one last) or
    distance then (osm_id, type), with an offset. Raises InvalidCursor or StaleCursor.
    """
    center = find_center(query)
    if order == "distance" and center is None:
        raise InvalidRequest.of("output[sort]", "distance needs around or near to measure from")
    if order != "osm_id":
        if page.cursor is not None:
            raise InvalidRequest.of(
                "output[sort]", f"{order} pages by offset; leave out the cursor"
            )
        rows, distances_m = _sort_all(store, query, deadline, order, center)
        skip = page.offset or 0
        end = end_by_offset(page, len(rows) > skip + page.limit)
        part = slice(skip, skip + page.limit)
        return Listing(rows[part], None if distances_m is None else distances_m[part], end)
    query_hash = query.hash("features")
    after_eid = None
    if page.cursor is not None:
        (after_eid,) = decode_cursor(page.cursor, dataset_id, query_hash, tuple[int])
    rows = collect_rows(
        store,
        query,
        deadline,
        after_eid=after_eid,
        skip=page.offset or 0 if page.by_offset else 0,
        limit=page.limit + 1,
    )
    has_more = len(rows) > page.limit
    rows = rows[: page.limit]
    if page.by_offset:
        end = end_by_offset(page, has_more)
    elif has_more:
        last = int(store.eids(rows[-1:])[0])
        end = PageEnd(page.limit, True, encode_cursor(dataset_id, query_hash, (last,)))
    else:
        end = PageEnd(page.limit, False)
    return Listing(rows, None if center is None else center.distances_m(store, rows), end)


def find_center(query: FeatureQuery) -> Center | None:
    """Return what a query measures distances from, if it is a proximity query."""
    return query.region.center if isinstance(query.region, AroundRegion) else None


def end_by_offset(page: PageRequest, has_more: bool) -> PageEnd:
    """Return the end of a page that is counted by offset."""
    if not has_more:
        return PageEnd(page.limit, False)
    return PageEnd(page.limit, True, next_offset=(page.offset or 0) + page.limit)


def _sort_all(
    store: Store, query: FeatureQuery, deadline: Deadline, order: Order, center: Center | None
) -> tuple[Rows, Floats | None]:
    rows: Rows
    distances_m: Floats | None = None
    if center is None:
        rows = collect_rows(store, query, deadline)
    else:
        rows, distances_m = collect_distances(store, query, center, deadline)
    deadline.check()
    if order == "distance":
        assert distances_m is not None
        key: NDArray[np.float64] | NDArray[np.int64] = distances_m
    else:
        # kv ids of one key are in the order of the values' bytes.
        names = store.tag_values(rows, "name")
        key = np.where(names < 0, np.iinfo(np.int64).max, names)
    places = np.argsort(key, kind="stable")  # rows come in the order of eids
    return rows[places], None if distances_m is None else distances_m[places]
