"""Queries against a plain look at every element, as pyosmium reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import osmium
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import InvalidCursor, InvalidRequest, StaleCursor, Timeout
from mapyard.features import query as queries
from mapyard.features.listing import list_features
from mapyard.features.query import ALL_TYPES, FeatureQuery, collect_rows
from mapyard.features.regions import AroundRegion, BoxRegion, ShapeRegion
from mapyard.features.tags import TagFilter
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import haversine_m
from mapyard.results.pages import PageRequest
from mapyard.store.reader import Store
from osm_files import EXAMPLES

WEST, SOUTH, EAST, NORTH = 7.40, 43.72, 7.45, 43.755
KINDS = {"n": 0, "w": 1, "r": 2}


class Element(NamedTuple):
    eid: int
    kind: int
    tags: dict[str, str]
    shape: Any


@pytest.fixture(scope="session")
def elements(monaco_store: Store) -> list[Element]:
    """All listed elements, sorted by eid; shapes of relations are the store's."""
    store = monaco_store
    found = []
    for o in osmium.FileProcessor(str(EXAMPLES / "monaco.osm.pbf")).with_locations():
        kind = KINDS[o.type_str()]
        shape: Any
        if kind == 0:
            if not len(o.tags):
                continue
            shape = shapely.Point(o.location.lon, o.location.lat)
        elif kind == 1:
            line = [(n.location.lon, n.location.lat) for n in o.nodes if n.location.valid()]
            row = np.array([store.find_row(1, o.id)])
            shape = shapely.Polygon(line) if store.is_area(row)[0] else shapely.LineString(line)
            if not shape.is_valid:
                shape = store.geometries(row)[0]
        else:
            shape = store.geometries(np.array([store.find_row(2, o.id)]))[0]
        found.append(Element(o.id * 4 + kind, kind, dict(o.tags), shape))
    assert len(found) == len(store.listed)
    return sorted(found)


def ask(store: Store, query: FeatureQuery, **options: Any) -> list[int]:
    return store.eids(collect_rows(store, query, no_deadline(), **options)).tolist()


FILTERS: list[tuple[TagFilter, Callable[[dict[str, str]], bool]]] = [
    (TagFilter("highway", "exists"), lambda t: "highway" in t),
    (TagFilter("building", "in", ("yes",)), lambda t: t.get("building") == "yes"),
    (TagFilter("name", "absent"), lambda t: "name" not in t),
    (TagFilter("name", "regex", ("a",)), lambda t: "a" in t.get("name", "")),
    (
        TagFilter("amenity", "in", ("cafe", "restaurant")),
        lambda t: t.get("amenity") in ("cafe", "restaurant"),
    ),
    (TagFilter("shop", "exists"), lambda t: "shop" in t),
]
PLACES = st.tuples(
    st.floats(WEST, EAST), st.floats(SOUTH, NORTH), st.floats(0.0001, 0.03), st.floats(0.0001, 0.02)
)
SUBSETS = st.tuples(
    st.sets(st.sampled_from(ALL_TYPES), min_size=1),
    st.sets(st.integers(0, len(FILTERS) - 1), max_size=2),
)


def select(elements: list[Element], types: set[int], chosen: set[int]) -> list[Element]:
    return [e for e in elements if e.kind in types and all(FILTERS[i][1](e.tags) for i in chosen)]


@settings(max_examples=60, deadline=None)
@given(PLACES, SUBSETS, st.integers(1, 60))
def test_boxes(
    monaco_store: Store,
    elements: list[Element],
    place: tuple[float, float, float, float],
    subset: tuple[set[int], set[int]],
    wanted: int,
) -> None:
    west, south, width, height = place
    box = shapely.box(west, south, west + width, south + height)
    types, chosen = subset
    query = FeatureQuery(
        tuple(sorted(types)),
        tuple(FILTERS[i][0] for i in chosen),
        BoxRegion(Bbox(west, south, west + width, south + height)),
    )
    naive = select(elements, types, chosen)
    hits = shapely.intersects(box, np.array([e.shape for e in naive], np.object_))
    expected = [e.eid for e, hit in zip(naive, hits, strict=True) if hit]
    assert ask(monaco_store, query) == expected
    # Whatever plan a small page leads to, it is the beginning of the same list.
    assert ask(monaco_store, query, limit=wanted) == expected[:wanted]
    if len(expected) > 2:
        middle = expected[len(expected) // 2]
        assert (
            ask(monaco_store, query, after_eid=middle, limit=wanted)
            == [eid for eid in expected if eid > middle][:wanted]
        )


def naive_distance_m(shape: Any, lon: float, lat: float) -> float:
    """Walk along the shape in steps of some centimeters at most."""
    if shape is None:
        return float("inf")
    if shapely.contains_xy(shape, lon, lat):
        return 0.0
    lines = shapely.get_coordinates(shapely.segmentize(shape, 2e-6))
    return float(haversine_m(lon, lat, lines[:, 0], lines[:, 1]).min())


@settings(max_examples=8, deadline=None)
@given(st.floats(7.41, 7.44), st.floats(43.73, 43.75), st.floats(20, 600))
def test_around(
    monaco_store: Store, elements: list[Element], lon: float, lat: float, radius: float
) -> None:
    query = FeatureQuery(
        tags=(FILTERS[0][0],), region=AroundRegion(shapely.Point(lon, lat), radius)
    )
    found = set(ask(monaco_store, query))
    for element in select(elements, set(ALL_TYPES), {0}):
        near = shapely.box(*element.shape.bounds).distance(shapely.Point(lon, lat)) < 0.02
        distance = naive_distance_m(element.shape, lon, lat) if near else float("inf")
        if abs(distance - radius) > 0.2:
            assert (element.eid in found) == (distance <= radius)


POLYGON = shapely.from_wkt(
    "POLYGON ((7.415 43.73,7.425 43.728,7.43 43.74,7.42 43.745,7.415 43.73))"
)
LINE = shapely.from_wkt("LINESTRING (7.41 43.73,7.43 43.745)")
POINT = shapely.Point(7.4246, 43.7384)


@pytest.mark.parametrize("shape", [POLYGON, LINE, POINT], ids=["polygon", "line", "point"])
@pytest.mark.parametrize("relation", ["within", "intersects", "contains", "crosses", "touches"])
@pytest.mark.parametrize("negated", [False, True])
def test_relations(
    monaco_store: Store, elements: list[Element], shape: Any, relation: Any, negated: bool
) -> None:
    predicate = getattr(shapely, relation)
    shapes = np.array([e.shape for e in elements], np.object_)
    expected = predicate(shapes, shape)
    if negated:
        expected = ~expected & ~shapely.is_missing(shapes)
    query = FeatureQuery(region=ShapeRegion(relation, shape, negated=negated))
    assert ask(monaco_store, query) == [
        e.eid for e, hit in zip(elements, expected, strict=True) if hit
    ]


def test_some_element_is_in_each_relation(monaco_store: Store) -> None:
    for relation, shape in [
        ("within", POLYGON), ("contains", POINT), ("crosses", LINE), ("intersects", POINT),
    ]:  # fmt: skip
        assert ask(monaco_store, FeatureQuery(region=ShapeRegion(relation, shape)), limit=1)  # type: ignore[arg-type]


def test_a_radius_widens_a_shape(monaco_store: Store, elements: list[Element]) -> None:
    found = set(
        ask(monaco_store, FeatureQuery((0,), region=ShapeRegion("intersects", LINE, radius_m=50)))
    )
    around = set(ask(monaco_store, FeatureQuery((0,), region=AroundRegion(LINE, 50))))
    assert found
    assert len(found ^ around) <= 0.01 * len(around)  # a buffer's circle has corners
    inner = set(ask(monaco_store, FeatureQuery((0,), region=AroundRegion(LINE, 40))))
    assert inner < found


def test_elements_without_geometry_are_found_by_tags_alone(monaco_store: Store) -> None:
    store = monaco_store
    boxes = store.boxes(store.listed.astype(np.int64))
    nowhere = store.listed[boxes[:, 0] > boxes[:, 2]].astype(np.int64)
    whole = FeatureQuery()
    assert ask(store, whole) == store.eids(store.listed).tolist()
    for region in (
        BoxRegion(Bbox(-180, -90, 180, 90)),
        ShapeRegion("within", POLYGON, negated=True),
    ):
        found = collect_rows(store, FeatureQuery(region=region), no_deadline())
        assert not np.isin(nowhere, found).any()


def test_rows_given_by_others_are_tested_alike(monaco_store: Store) -> None:
    store = monaco_store
    query = FeatureQuery((1,), (FILTERS[0][0],), ShapeRegion("intersects", POLYGON))
    rows = store.listed[::-1].astype(np.int64)
    passed = queries.test_rows(store, query, rows)
    assert sorted(store.eids(rows[passed]).tolist()) == ask(store, query)


QUERIES = [
    FeatureQuery(),
    FeatureQuery((0, 2)),
    FeatureQuery(tags=(FILTERS[1][0],)),
    FeatureQuery(tags=(FILTERS[2][0],)),
    FeatureQuery(region=BoxRegion(Bbox(7.41, 43.73, 7.43, 43.745))),
    FeatureQuery(tags=(FILTERS[0][0],), region=ShapeRegion("within", POLYGON)),
    FeatureQuery((1,), (FILTERS[3][0],), AroundRegion(POINT, 700)),
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("by_offset", [False, True], ids=["cursor", "offset"])
def test_the_pages_together_are_the_whole(
    monaco_store: Store, query: FeatureQuery, by_offset: bool
) -> None:
    whole = ask(monaco_store, query)
    for limit in (1000, 333):
        pages: list[int] = []
        page = PageRequest(limit, offset=0 if by_offset else None)
        while True:
            listing = list_features(monaco_store, "d", query, page, no_deadline())
            pages += monaco_store.eids(listing.rows).tolist()
            assert listing.end.has_more == (len(pages) < len(whole))
            if not listing.end.has_more:
                assert listing.end.next_cursor is listing.end.next_offset is None
                break
            assert len(listing.rows) == limit
            page = PageRequest(limit, listing.end.next_cursor, listing.end.next_offset)
        assert pages == whole


def test_cursors_are_bound_to_dataset_and_query(monaco_store: Store) -> None:
    end = list_features(monaco_store, "a", QUERIES[2], PageRequest(5), no_deadline()).end
    again = PageRequest(7, end.next_cursor)
    with pytest.raises(StaleCursor):
        list_features(monaco_store, "b", QUERIES[2], again, no_deadline())
    with pytest.raises(InvalidCursor):
        list_features(monaco_store, "a", QUERIES[0], again, no_deadline())
    assert len(list_features(monaco_store, "a", QUERIES[2], again, no_deadline()).rows) == 7


def test_sorting(monaco_store: Store) -> None:
    store = monaco_store
    query = FeatureQuery(tags=(TagFilter("shop", "exists"),), region=AroundRegion(POINT, 900))
    whole = ask(store, query)
    named: list[tuple[bool, bytes, int]] = []
    measured: list[tuple[float, int]] = []
    for offset in range(0, len(whole), 30):
        page = PageRequest(30, offset=offset)
        by_name = list_features(store, "d", query, page, no_deadline(), "name")
        for row in by_name.rows.tolist():
            name = store.tags(row).get("name", "").encode()
            named.append((not name, name, int(store.eids(np.array([row]))[0])))
        near = list_features(store, "d", query, page, no_deadline(), "distance")
        assert near.distances_m is not None
        measured += zip(near.distances_m.tolist(), store.eids(near.rows).tolist(), strict=True)
    assert named == sorted(named)
    assert measured == sorted(measured)
    assert sorted(eid for *_, eid in named) == sorted(eid for _, eid in measured) == whole


def test_sorting_pages_by_offset_only(monaco_store: Store) -> None:
    with pytest.raises(InvalidRequest, match="offset"):
        list_features(
            monaco_store, "d", QUERIES[6], PageRequest(3, cursor="x"), no_deadline(), "name"
        )
    with pytest.raises(InvalidRequest, match="around"):
        list_features(monaco_store, "d", QUERIES[0], PageRequest(3), no_deadline(), "distance")


def test_a_deadline_ends_a_query(monaco_store: Store) -> None:
    with pytest.raises(Timeout):
        collect_rows(monaco_store, QUERIES[5], Deadline(-1.0))
    with pytest.raises(Timeout):
        collect_rows(monaco_store, FeatureQuery(tags=(FILTERS[3][0],)), Deadline(-1.0))
