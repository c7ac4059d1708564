"""The nearest roads out of prepared arrays, against those of the engine and of its tiles."""

import numpy as np
import pytest

from mapyard.errors import MapyardError
from mapyard.geo.sphere import distance_m
from mapyard.routing import find_nearest, find_routes
from mapyard.routing.modes import TABLE_MODES
from mapyard.routing.nearest import find_ends

CASINO, SEA = (7.4281, 43.7392), (7.45, 43.70)


@pytest.fixture(scope="module")
def places():
    rng = np.random.default_rng(4)
    return np.column_stack([rng.uniform(7.411, 7.433, 150), rng.uniform(43.727, 43.744, 150)])


def ask(call, *arguments, **options):
    try:
        return call(*arguments, **options)
    except MapyardError:
        return []


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_the_road_is_the_engines(engine, plain, places, mode):
    others = 0
    for place in places.tolist():
        mine, theirs = (ask(find_nearest, one, *place, mode)[:1] for one in (engine, plain))
        assert len(mine) == len(theirs)
        if not mine:
            continue
        (mine,), (theirs,) = mine, theirs
        # The engine's places are cut to a millionth of a degree.
        assert mine.distance_m == pytest.approx(theirs.distance_m, abs=0.2)
        if mine.way_id != theirs.way_id:
            others += 1  # another road of the same crossing
            continue
        for name in ("name", "highway", "surface", "edge_length_m"):
            assert getattr(mine, name) == getattr(theirs, name), name
        others += mine.edge_id != theirs.edge_id
    assert others <= 0.05 * len(places)


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_several_roads_are_at_least_as_near_as_the_engines(engine, plain, places, mode):
    for place in places[:60].tolist():
        mine, theirs = (
            ask(find_nearest, one, *place, mode, number=6, radius_m=150) for one in (engine, plain)
        )
        assert len(mine) >= len(theirs)
        assert len({road.way_id for road in mine}) == len(mine)
        away_m = [road.distance_m for road in mine]
        assert away_m == sorted(away_m)
        assert all(
            one.distance_m <= other.distance_m + 1.0
            for one, other in zip(mine, theirs, strict=False)
        )
        for road in mine:
            expected_m = distance_m(*place, road.lon, road.lat)
            assert road.distance_m == pytest.approx(expected_m, abs=0.2)
            assert road.distance_m <= 150


def test_ends_of_many_are_those_of_each(engine, plain, places):
    asked = np.concatenate([places, [SEA]])
    for one in (engine, plain):
        ends = find_ends(one, asked, "foot", 1_000.0)
        assert ends[-1] is None
        for place, end in zip(places[:40].tolist(), ends, strict=False):
            (road,) = find_nearest(one, *place, "foot", radius_m=1_000.0)
            assert (end.lon, end.lat) == pytest.approx((road.lon, road.lat), abs=2e-6)
            assert end.distance_m == pytest.approx(road.distance_m, abs=0.2)
            assert end.name == road.name


def test_the_engine_is_not_asked(engine, places, monkeypatch):
    monkeypatch.setattr(engine, "ask", None)
    for mode in TABLE_MODES:
        assert find_nearest(engine, *CASINO, mode, number=5)
        assert any(find_ends(engine, places, mode, 500.0))


def test_it_is_the_road_that_routes_begin_on(engine, places):
    same = 0
    for one, other in places.reshape(-1, 2, 2):
        routes = ask(find_routes, engine, np.stack([one, other]), "foot")
        nearest = ask(find_nearest, engine, *one.tolist(), "foot", radius_m=1_000.0)
        if not routes:
            continue
        begin, (road,) = routes[0].waypoints[0], nearest
        if begin.distance_m > road.distance_m + 1:
            continue  # moved, as that road has no connection
        assert (begin.lon, begin.lat) == pytest.approx((road.lon, road.lat), abs=2e-6)
        same += 1
    assert same > 50
