from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.deadline import no_deadline
from mapyard.errors import InvalidCursor, StaleCursor
from mapyard.features.distance import Center
from mapyard.features.listing import Listing
from mapyard.features.nearby import list_nearby
from mapyard.features.tags import TagFilter
from mapyard.geo.sphere import haversine_m
from mapyard.results.pages import PageRequest
from mapyard.store.reader import E7, Store

CAFES = (TagFilter("amenity", "in", ("cafe", "restaurant")),)


def near(
    store: Store, lon: float, lat: float, radius: float, page: PageRequest, dataset: str = "d"
) -> Listing:
    return list_nearby(store, dataset, lon, lat, radius, page, no_deadline(), tags=CAFES)


@settings(max_examples=15, deadline=None)
@given(
    st.floats(7.40, 7.45), st.floats(43.72, 43.76), st.floats(10, 4_000), st.integers(1, 30),
    st.booleans(),
)  # fmt: skip
def test_pages_are_all_within_the_radius_by_distance(
    monaco_store: Store, lon: float, lat: float, radius: float, limit: int, by_offset: bool
) -> None:
    store = monaco_store
    rows = np.concatenate([store.rows_with_tag("amenity", v) for v in ("cafe", "restaurant")])
    distances = np.round(Center(shapely.Point(lon, lat)).distances_m(store, rows), 3)
    expected = sorted(
        (d, e) for d, e in zip(distances.tolist(), store.eids(rows).tolist(), strict=True)
        if d <= radius
    )  # fmt: skip
    found: list[tuple[float, int]] = []
    page = PageRequest(limit, offset=0 if by_offset else None)
    while True:
        listing = near(store, lon, lat, radius, page)
        assert listing.distances_m is not None
        found += zip(listing.distances_m.tolist(), store.eids(listing.rows).tolist(), strict=True)
        if not listing.end.has_more:
            break
        assert len(listing.rows) == limit
        page = PageRequest(limit, listing.end.next_cursor, listing.end.next_offset)
    assert found == expected


def test_distances_of_nodes_are_the_sphere_s(monaco_store: Store) -> None:
    listing = near(monaco_store, 7.4246, 43.7384, 1000, PageRequest(50))
    assert listing.distances_m is not None
    nodes = listing.rows < monaco_store.way_start
    rows = listing.rows[nodes]
    exact = haversine_m(7.4246, 43.7384, monaco_store.lon[rows] / E7, monaco_store.lat[rows] / E7)
    assert np.allclose(listing.distances_m[nodes], exact, atol=0.001)


def test_an_area_that_holds_the_position_is_at_zero(monaco_store: Store) -> None:
    listing = list_nearby(
        monaco_store, "d", 7.4246, 43.7384, 100, PageRequest(1), no_deadline(), types=(2,),
        tags=(TagFilter("admin_level", "in", ("2",)),),
    )  # fmt: skip
    assert [monaco_store.name_of(row) for row in listing.rows.tolist()] == ["relation/1124039"]
    assert listing.distances_m is not None
    assert listing.distances_m.tolist() == [0.0]


def test_cursors_are_bound(monaco_store: Store) -> None:
    end = near(monaco_store, 7.4246, 43.7384, 1000, PageRequest(2)).end
    page = PageRequest(2, end.next_cursor)
    with pytest.raises(StaleCursor):
        near(monaco_store, 7.4246, 43.7384, 1000, page, dataset="other")
    with pytest.raises(InvalidCursor):
        near(monaco_store, 7.4246, 43.7384, 1001, page)
