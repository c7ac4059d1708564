"""Elements nearest to a position."""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely

from mapyard.deadline import Deadline
from mapyard.features.listing import Floats, Listing, end_by_offset
from mapyard.features.query import ALL_TYPES, FeatureQuery, collect_distances
from mapyard.features.regions import AroundRegion
from mapyard.features.tags import TagFilter
from mapyard.results.cursor import decode_cursor, encode_cursor
from mapyard.results.pages import PageEnd, PageRequest
from mapyard.store.reader import Rows, Store

_FIRST_RADIUS_M: Final = 125.0
_GROWTH: Final = 4.0


def list_nearby(
    store: Store,
    dataset_id: str,
    lon: float,
    lat: float,
    radius_m: float,
    page: PageRequest,
    deadline: Deadline,
    *,
    types: tuple[int, ...] = ALL_TYPES,
    tags: tuple[TagFilter, ...] = (),
) -> Listing:
    """Return a page of the listed elements within a radius, by distance, then (osm_id, type).

    The search widens from a small radius until the page is full, so that a large radius costs
    nothing where there is enough nearby.
    """
    whole = FeatureQuery(types, tags, AroundRegion(shapely.Point(lon, lat), radius_m))
    query_hash = whole.hash("nearby")
    after = (-1.0, 0)
    if page.cursor is not None:
        after = decode_cursor(page.cursor, dataset_id, query_hash, tuple[float, int])
    skip = (page.offset or 0) if page.by_offset else 0
    wanted = skip + page.limit + 1
    within_m = min(radius_m, max(_FIRST_RADIUS_M, 2.0 * after[0]))
    while True:
        region = AroundRegion(shapely.Point(lon, lat), within_m)
        rows, distances_m = _sort_by_distance(
            store, FeatureQuery(types, tags, region), region, after, deadline
        )
        if len(rows) >= wanted or within_m >= radius_m:
            break
        within_m = min(radius_m, within_m * _GROWTH)
    has_more = len(rows) >= wanted
    part = slice(skip, skip + page.limit)
    rows, distances_m = rows[part], distances_m[part]
    if page.by_offset:
        end = end_by_offset(page, has_more)
    elif has_more:
        last = (float(distances_m[-1]), int(store.eids(rows[-1:])[0]))
        end = PageEnd(page.limit, True, encode_cursor(dataset_id, query_hash, last))
    else:
        end = PageEnd(page.limit, False)
    return Listing(rows, distances_m, end)


def _sort_by_distance(
    store: Store,
    query: FeatureQuery,
    region: AroundRegion,
    after: tuple[float, int],
    deadline: Deadline,
) -> tuple[Rows, Floats]:
    rows, distances_m = collect_distances(store, query, region.center, deadline)
    eids = store.eids(rows)
    behind = (distances_m > after[0]) | ((distances_m == after[0]) & (eids > after[1]))
    rows, distances_m = rows[behind], distances_m[behind]
    places = np.argsort(distances_m, kind="stable")  # rows come in the order of eids
    return rows[places], distances_m[places]
