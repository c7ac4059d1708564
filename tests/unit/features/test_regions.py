from __future__ import annotations

from collections.abc import Callable

import h3
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from mapyard.deadline import no_deadline
from mapyard.errors import InvalidRequest
from mapyard.features import distance
from mapyard.features.distance import Center
from mapyard.features.query import FeatureQuery, collect_rows
from mapyard.features.regions import (
    AroundRegion,
    BoxRegion,
    Region,
    ShapeRegion,
    find_shape_boxes,
    read_h3,
)
from mapyard.geo.azimuthal import unproject
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.osm.source import prepare_source
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store
from osm_files import write_osm


@pytest.fixture(scope="module")
def pacific(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Elements around the antimeridian, and one near the pole."""
    folder = tmp_path_factory.mktemp("pacific")
    tagged = {"place": "islet"}
    write_osm(
        folder / "map.osm",
        {
            1: (179.9, -17.0, tagged),
            2: (-179.9, -17.0, tagged),
            3: (179.99, -17.1),
            4: (-179.99, -17.1),
            5: (170.0, -17.0, tagged),
            6: (0.0, 89.99, tagged),
            7: (0.0, -17.0, tagged),
            8: (0.0, 0.0),
            9: (0.01, 0.0),
        },
        {
            9: ([98, 99], {"note": "no node of it is in the extract"}),
            10: ([3, 4], {"route": "ferry"}),
            11: ([8, 9], {"highway": "path"}),
            12: ([97], {"note": "nor of this one"}),
        },
    )
    prepare_source([folder / "map.osm"], folder / "source.osm.pbf")
    write_store(folder / "elements", folder / "source.osm.pbf")
    return open_store(folder / "elements")


def names(store: Store, region: Region) -> list[str]:
    rows = collect_rows(store, FeatureQuery(region=region), no_deadline())
    return [store.name_of(row) for row in rows.tolist()]


def test_boxes_across_the_antimeridian(pacific: Store) -> None:
    assert names(pacific, BoxRegion(Bbox(179.5, -18, -179.5, -16))) == [
        "node/1", "node/2", "way/10",
    ]  # fmt: skip
    # Between the halves of the ferry's geometry, inside its bounding box, is nothing.
    assert names(pacific, BoxRegion(Bbox(-10, -18, 10, -16))) == ["node/7"]


def test_around_across_the_antimeridian(pacific: Store) -> None:
    assert names(pacific, AroundRegion(shapely.Point(180, -17), 12_000)) == [
        "node/1", "node/2", "way/10",
    ]  # fmt: skip
    near = AroundRegion(shapely.Point(-179.999, -17.1), 50)
    assert names(pacific, near) == ["way/10"]
    row = np.array([pacific.find_row(1, 10)])
    assert near.center.distances_m(pacific, row)[0] < 5


def test_around_the_pole(pacific: Store) -> None:
    assert names(pacific, AroundRegion(shapely.Point(180, 89.99), 3_000)) == ["node/6"]
    assert names(pacific, AroundRegion(shapely.Point(90, 90), 1_200)) == ["node/6"]


def test_shapes_on_both_sides(pacific: Store) -> None:
    shape = shapely.MultiPolygon(
        [shapely.box(179, -18, 180, -16), shapely.box(-180, -18, -179, -16)]
    )
    assert len(find_shape_boxes(shape)) == 2
    assert names(pacific, ShapeRegion("intersects", shape)) == ["node/1", "node/2", "way/10"]
    assert find_shape_boxes(shapely.box(-170, 0, 170, 1)) == [Bbox(-170, 0, 170, 1)]


def test_h3_cells(pacific: Store) -> None:
    for resolution in (3, 5, 7):
        cell = h3.latlng_to_cell(-17.0, 179.9, resolution)
        assert "node/1" in names(pacific, read_h3(cell))
        assert "node/5" not in names(pacific, read_h3(cell.upper()))


@pytest.mark.parametrize("text", ["", "zz", "881f1d4881ffff", "0x0", "ü"])
def test_what_is_no_h3_cell_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="H3"):
        read_h3(text)


def test_a_polygon_that_crosses_itself_is_refused_with_the_place() -> None:
    bowtie = shapely.from_wkt("POLYGON ((0 0,1 1,1 0,0 1,0 0))")
    with pytest.raises(
        InvalidRequest, match=r"self-intersection at longitude and latitude 0\.5 0\.5"
    ):
        ShapeRegion("within", bowtie)


def test_a_radius_around_half_the_world_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="20 degrees"):
        AroundRegion(shapely.box(0, 0, 30, 1), 100)
    with pytest.raises(InvalidRequest, match="not_within: spans"):
        ShapeRegion("within", shapely.box(0, 0, 1, 30), radius_m=5, negated=True)
    ShapeRegion("within", shapely.box(0, 0, 1, 30))


@given(
    st.floats(-180, 180),
    st.floats(-90, 90),
    st.floats(1, 100_000),
    st.floats(0, 360),
    st.floats(0, 1),
)
def test_the_boxes_of_a_circle_hold_it(
    lon: float, lat: float, radius: float, angle: float, share: float
) -> None:
    boxes = Center(shapely.Point(lon, lat)).boxes_within(radius)
    reach = radius * share * 0.999_999
    xy = np.array([[reach * np.cos(np.radians(angle)), reach * np.sin(np.radians(angle))]])
    x, y = unproject(xy, lon, lat)[0]
    x = (x + 180) % 360 - 180
    assert float(haversine_m(lon, lat, x, y)) <= radius
    assert any(
        b.west - 1e-9 <= x <= b.east + 1e-9 and b.south - 1e-9 <= y <= b.north + 1e-9 for b in boxes
    )


def test_ways_are_measured_alike_with_and_without_shapely(
    monaco_store: Store, pacific: Store
) -> None:
    ways = np.arange(monaco_store.way_start, monaco_store.relation_start)
    centers = shapely.centroid(monaco_store.geometries(ways[::400]))
    zeros = 0
    for point in centers[~shapely.is_missing(centers)]:
        center = Center(point)
        fast = center.distances_m(monaco_store, ways)
        assert np.allclose(fast, center._measure_shapes(monaco_store, ways), atol=1e-6)
        zeros += int((fast == 0).sum())
    assert zeros > 5
    rows = np.arange(pacific.way_start, pacific.relation_start)
    assert [pacific.name_of(row) for row in rows.tolist()] == [
        "way/9",
        "way/10",
        "way/11",
        "way/12",
    ]
    measured = Center(shapely.Point(0.005, 0.002)).distances_m(pacific, rows)
    assert measured[[0, 3]].tolist() == [np.inf, np.inf]
    assert measured[2] == pytest.approx(0.002 * DEGREE_M, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_only_segments_that_are_not_nearest_go_unmeasured(
    monaco_store: Store, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    store = monaco_store
    random = np.random.default_rng(seed)
    lon, lat = random.uniform(7.40, 7.45), random.uniform(43.72, 43.76)
    center = Center(shapely.Point(lon, lat))
    rows = np.arange(store.way_start, store.relation_start)
    monkeypatch.setattr(distance, "_MANY_NODES", 0)
    chosen = center.distances_m(store, rows)
    monkeypatch.setattr(distance, "_MANY_NODES", 10**9)
    whole = center.distances_m(store, rows)
    assert chosen.tolist() == whole.tolist()
    assert np.isfinite(whole).sum() > 1_000


def test_queries_differ_by_their_regions() -> None:
    regions: list[Callable[[], Region]] = [
        lambda: BoxRegion(Bbox(0, 0, 1, 1)),
        lambda: BoxRegion(Bbox(0, 0, 1, 2)),
        lambda: AroundRegion(shapely.Point(0, 0), 5),
        lambda: AroundRegion(shapely.Point(0, 0), 6),
        lambda: ShapeRegion("within", shapely.box(0, 0, 1, 1)),
        lambda: ShapeRegion("within", shapely.box(0, 0, 1, 1), negated=True),
        lambda: ShapeRegion("within", shapely.box(0, 0, 1, 1), radius_m=5),
    ]
    hashes = {FeatureQuery(region=make()).hash("features") for make in regions}
    assert len(hashes) == len(regions)
    assert hashes == {FeatureQuery(region=make()).hash("features") for make in regions}
