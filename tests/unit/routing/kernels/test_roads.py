"""Positions onto roads, against plain geometry; shapes out of the engine's records."""

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.geo.sphere import haversine_m
from mapyard.routing.contraction.places import End
from mapyard.routing.kernels import address, load_kernels
from routing_graphs import UNIT_DEG, build_roads, encode

place = st.tuples(st.integers(9_500_000, 9_502_000), st.integers(47_100_000, 47_101_500))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(place, min_size=2, max_size=5), st.integers(1, 3)),
        min_size=1, max_size=40,
    ),
    st.lists(place, min_size=1, max_size=8),
    st.sampled_from(["auto", "foot"]),
)  # fmt: skip
def test_the_nearest_road_is_found(tmp_path_factory, roads, positions, mode):
    bit = 1 if mode == "auto" else 2
    found = build_roads(tmp_path_factory.mktemp("roads"), *zip(*roads, strict=True))
    lonlat = np.array(positions) * UNIT_DEG
    places = found.find(lonlat, mode, 1e6)
    nearest = dict(zip(places.position.tolist(), places.away_m.tolist(), strict=True))
    for index, (lon, lat) in enumerate(positions):
        width = np.cos(np.radians(lat * UNIT_DEG))
        expected_m = min(
            (
                shapely.LineString([(x * width, y) for x, y in points])
                .distance(shapely.Point(lon * width, lat)) * UNIT_DEG * 111_319.5
                for points, modes in roads if modes & bit
            ),
            default=None,
        )  # fmt: skip
        assert nearest.get(index) == pytest.approx(expected_m, abs=0.01)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(place, min_size=2, max_size=4), st.integers(1, 3)),
        min_size=1, max_size=60,
    ),
    place, st.sampled_from(["auto", "foot"]), st.integers(0, 25), st.sampled_from([60.0, 1e6]),
)  # fmt: skip
def test_several_roads_come_nearest_first(tmp_path_factory, roads, position, mode, room, radius_m):
    bit = 1 if mode == "auto" else 2
    found = build_roads(tmp_path_factory.mktemp("roads"), *zip(*roads, strict=True))
    edges, at = found.find_near(np.array(position) * UNIT_DEG, mode, radius_m, room)
    lon, lat = position
    width = np.cos(np.radians(lat * UNIT_DEG))
    here = shapely.Point(lon * width, lat)
    away_m = [
        shapely.LineString([(x * width, y) for x, y in points]).distance(here)
        * UNIT_DEG * 111_319.5
        for points, _ in roads
    ]  # fmt: skip
    nearest = sorted(
        one for one, (_, modes) in zip(away_m, roads, strict=True)
        if modes & bit and one <= radius_m
    )  # fmt: skip
    assert len(edges) == len(at) == len(set(edges.tolist()))
    assert [away_m[edge // 2] for edge in edges.tolist()] == pytest.approx(nearest[:room], abs=0.01)
    for edge, (at_lon, at_lat) in zip(edges.tolist(), at.tolist(), strict=True):
        spot = shapely.Point(at_lon / UNIT_DEG * width, at_lat / UNIT_DEG)
        line = shapely.LineString([(x * width, y) for x, y in roads[edge // 2][0]])
        assert line.distance(spot) < 1.0
        assert spot.distance(here) * UNIT_DEG * 111_319.5 == pytest.approx(
            away_m[edge // 2], abs=0.01
        )


def test_a_place_is_on_both_directions_of_its_road(tmp_path):
    roads = build_roads(tmp_path, [[(9_500_000, 47_100_000), (9_502_000, 47_100_000)]], [1])
    lonlat = np.array([[9.5005, 47.1002], [9.5, 47.1], [9.503, 47.1], [9.5005, 47.3]])
    places = roads.find(lonlat, "auto", 1000.0)
    assert places.position.tolist() == [0, 0, 1, 1, 2, 2]
    shares = dict(zip(places.edge[:2].tolist(), places.share[:2].tolist(), strict=True))
    assert shares == {0: pytest.approx(0.25, abs=0.01), 1: pytest.approx(0.75, abs=0.01)}
    # At its begin: away on the road, and back to there; at its end the other way around.
    ends = list(zip(places.edge[2:].tolist(), places.share[2:].tolist(), strict=True))
    assert sorted(ends[:2]) == [(0, 0.0), (1, 1.0)]
    assert sorted(ends[2:]) == [(0, 1.0), (1, 0.0)]
    assert roads.find(lonlat, "foot", 1000.0).position.tolist() == []
    assert roads.find(lonlat[:0], "auto", 1000.0).count == 0


def test_of_ways_along_the_same_points_the_first_is_taken(tmp_path):
    line = [(9_500_000, 47_100_000), (9_501_000, 47_100_700)]
    roads = build_roads(tmp_path, [line[::-1], line, line], [1, 1, 1])
    rng = np.random.default_rng(1)
    lonlat = np.array([9.5005, 47.10035]) + rng.uniform(-2e-4, 2e-4, (50, 2))
    assert set(roads.find(lonlat, "auto", 100.0).edge.tolist()) == {0, 1}


def test_a_road_that_is_cut_off_is_left_for_a_connected_one(tmp_path):
    near = [(9_500_000, 47_100_000), (9_502_000, 47_100_000)]
    far = [(9_500_000, 47_101_000), (9_502_000, 47_101_000)]
    roads = build_roads(tmp_path, [near, far], [1, 1], connected=[1, 3])
    lonlat = np.array([9.5010, 47.1001])
    assert roads.find_connected(lonlat, "auto", 1000.0).tolist() == pytest.approx([9.501, 47.101])
    assert roads.find_connected(lonlat, "auto", 50.0) is None
    # Two meters into the road from its end.
    lon, lat = roads.find_connected(np.array([9.4, 47.1]), "auto", 9e9)
    assert haversine_m(lon, lat, 9.5, 47.101) == pytest.approx(2.0, abs=0.01)


def test_no_roads_at_all(tmp_path):
    roads = build_roads(tmp_path, [], np.empty(0, int))
    assert roads.find(np.array([[9.5, 47.1]]), "auto", 1e6).position.tolist() == []
    assert roads.find_connected(np.array([9.5, 47.1]), "auto", 1e6) is None


@given(st.binary(max_size=60), st.lists(st.integers(-5, 70), max_size=5))
def test_broken_records_are_refused(data, records):
    raw = np.frombuffer(data or b"\0", np.uint8)
    at = np.array(records, np.int64)
    first, point = np.zeros(len(at) + 1, np.uint32), np.zeros((200, 2), np.int32)
    decode = load_kernels().decode_shapes
    where = address(raw, np.uint8), len(raw), len(at), address(at, np.int64)
    if decode(*where, address(first, np.uint32), None) == 0:
        assert first[-1] <= 5 * 30
        assert decode(*where, address(first, np.uint32), address(point, np.int32)) == 0


@given(st.lists(st.tuples(*[st.integers(-180_000_000, 180_000_000)] * 2), min_size=1, max_size=9))
def test_shapes_are_read_as_they_were_written(points):
    data = np.frombuffer(b"before" + encode(points), np.uint8)
    record, first = np.array([6], np.int64), np.zeros(2, np.uint32)
    decoded = np.zeros((len(points), 2), np.int32)
    where = address(data, np.uint8), len(data), 1, address(record, np.int64)
    decode = load_kernels().decode_shapes
    assert decode(*where, address(first, np.uint32), address(decoded, np.int32)) == 0
    assert first.tolist() == [0, len(points)]
    assert decoded.tolist() == [list(point) for point in points]


@settings(deadline=None)
@given(
    st.lists(st.lists(place, min_size=2, max_size=4, unique=True), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])] * 2),
)  # fmt: skip
def test_a_line_goes_along_its_roads(tmp_path_factory, parts, backward, shares):
    # Each road begins where the one before it ends.
    chain = [parts[0]]
    for part in parts[1:]:
        chain.append([chain[-1][-1], *part])
    turned = [
        points[::-1] if back else points for points, back in zip(chain, backward, strict=False)
    ]
    roads = build_roads(tmp_path_factory.mktemp("roads"), turned, np.ones(len(turned), int))
    edges = np.array(
        [2 * i + int(back) for i, back in zip(range(len(turned)), backward, strict=False)],
        np.int32,
    )
    if len(edges) == 1 and shares[0] > shares[1]:
        shares = shares[::-1]
    lines = [shapely.LineString(np.array(points) * UNIT_DEG) for points in (chain[0], chain[-1])]
    ends = tuple(
        End(share, *line.interpolate(share, normalized=True).coords[0])
        for share, line in zip(shares, lines, strict=True)
    )
    line, last, _ = roads.find_line(edges, ends)
    assert last[-1] == len(line) - 1
    for points, index in zip(chain[:-1], last.tolist(), strict=False):
        assert tuple(np.round(line[index] / UNIT_DEG).astype(int).tolist()) == points[-1] or (
            index == 0 and shares[0] > 0  # it is left where it was begun
        )
    assert (np.diff(last) >= 0).all()
    for (_, *expected), found in zip(ends, (line[0], line[-1]), strict=True):
        assert found == pytest.approx(expected, abs=2e-6)
    inner = [tuple(point) for points in chain[1:-1] for point in points[1:]]
    over = [tuple(np.round(point / UNIT_DEG).astype(int).tolist()) for point in line]
    assert all(point in over for point in inner)
    known = {point for points in chain for point in points}
    assert all(point in known for point in over[1:-1])


def test_a_long_line_has_room(tmp_path):
    points = [(9_500_000 + 10 * i, 47_100_000 + i % 2) for i in range(5_000)]
    roads = build_roads(tmp_path, [points], [1])
    ends = End(0.0, 0.0, 0.0), End(1.0, 0.0, 0.0)
    line, last, _ = roads.find_line(np.array([0], np.int32), ends)
    assert last.tolist() == [4_999]
    assert (np.round(line / UNIT_DEG) == points).all()


def test_roads_that_no_position_goes_to_are_drawn(tmp_path):
    """Such as steps that only bicycles may be carried over."""
    lines = [[(9_500_000, 47_100_000), (9_500_900, 47_100_000)],
             [(9_500_900, 47_100_000), (9_501_900, 47_100_300)],
             [(9_501_900, 47_100_300), (9_502_900, 47_100_300)]]  # fmt: skip
    roads = build_roads(tmp_path, lines, [1, 0, 0], usable=np.array([0, 0, 1, 1, 0, 0], bool))
    assert roads.find(np.array([[9.5015, 47.1002]]), "auto", 20.0).position.tolist() == []
    ends = End(0.0, 0.0, 0.0), End(1.0, 0.0, 0.0)
    line, last, _ = roads.find_line(np.array([0, 2], np.int32), ends)
    assert np.round(line / UNIT_DEG).astype(int).tolist() == [
        list(lines[0][0]),
        *map(list, lines[1]),
    ]
    assert last.tolist() == [1, 2]
    with pytest.raises(ValueError, match="without a road"):
        roads.find_line(np.array([2, 4], np.int32), ends)
