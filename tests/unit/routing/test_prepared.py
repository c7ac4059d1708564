"""Routes out of the prepared graph, against those of the engine."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from mapyard.errors import MapyardError
from mapyard.routing import find_routes
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.costing import CostingOptions
from mapyard.routing.edges import find_edges, find_route_edges
from mapyard.routing.engine import NoRoad
from mapyard.routing.modes import TABLE_MODES
from mapyard.routing.stops import Stop

CASINO, STADIUM, PALACE = (7.4281, 43.7392), (7.4155, 43.7276), (7.4200, 43.7314)
SEA = (7.45, 43.70)


@pytest.fixture(scope="module")
def pairs(graph):
    roads = read_graph(graph / "tiles.tar")
    rng = np.random.default_rng(8)
    nodes = np.column_stack([roads.lon, roads.lat])[rng.integers(len(roads.lon), size=240)]
    return (nodes + rng.uniform(-2e-4, 2e-4, nodes.shape)).reshape(-1, 2, 2)


def find(engine, positions, mode):
    try:
        return find_routes(engine, positions, mode)[0]
    except MapyardError as error:
        return error.code


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_routes_are_those_of_the_engine(engine, plain, pairs, mode):
    others = 0
    for pair in pairs:
        mine, theirs = find(engine, pair, mode), find(plain, pair, mode)
        if isinstance(mine, str) or isinstance(theirs, str):
            others += mine != theirs
            continue
        if (
            abs(mine.duration_s - theirs.duration_s) > 1
            or abs(mine.distance_m - theirs.distance_m) > 5
        ):
            others += 1  # as cheap to the engine, which stops at the first good way
            continue
        assert mine.has_toll == theirs.has_toll
        assert mine.has_motorway == theirs.has_motorway
        assert mine.has_ferry == theirs.has_ferry
        if len(mine.positions) == len(theirs.positions):
            assert np.abs(mine.positions - theirs.positions)[[0, -1]].max() < 3e-6
        away_m = [
            abs(a.distance_m - b.distance_m)
            for a, b in zip(mine.waypoints, theirs.waypoints, strict=True)
        ]
        assert max(away_m) < 1.0  # at a crossing within a meter
    assert others <= 0.08 * len(pairs)


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_a_line_goes_over_the_points_of_the_engines(engine, plain, pairs, mode):
    same = 0
    for pair in pairs[:60]:
        mine, theirs = find(engine, pair, mode), find(plain, pair, mode)
        if isinstance(mine, str) or isinstance(theirs, str):
            continue
        over = {tuple(point) for point in mine.positions[1:-1].round(6).tolist()}
        same += over == {tuple(point) for point in theirs.positions[1:-1].round(6).tolist()}
    assert same > 30


def test_the_engine_is_not_asked(engine, pairs, monkeypatch):
    asked = []
    monkeypatch.setattr(engine, "ask", lambda *arguments, **options: asked.append(arguments))
    for stops in ((CASINO, PALACE), (CASINO, STADIUM, PALACE)):
        route = find_routes(engine, np.array(stops), "foot")[0]
        assert len(route.legs) == len(stops) - 1
        assert route.distance_m == pytest.approx(sum(leg.distance_m for leg in route.legs), abs=0.2)
        assert [leg.begin for leg in route.legs[1:]] == [leg.end for leg in route.legs[:-1]]
        assert route.legs[-1].end == len(route.positions) - 1
    assert not asked


@pytest.mark.parametrize(
    "options",
    [
        {"alternatives": 1}, {"exclude": ["ferry"]},
        {"options": CostingOptions(walking_speed_kmh=4.0)}, {"stops": [Stop(side="same"), Stop()]},
        {"avoid_points": np.array([STADIUM])},
    ],
)  # fmt: skip
def test_what_is_not_usual_is_asked_of_the_engine(engine, monkeypatch, options):
    asked, call = [], engine.call

    def listen(action, *arguments, **how):
        asked.append(action)
        return call(action, *arguments, **how)

    monkeypatch.setattr(engine, "call", listen)
    find_routes(engine, np.array([CASINO, PALACE]), "foot", **options)
    assert "route" in asked


def test_errors_are_those_of_the_engine(engine):
    with pytest.raises(NoRoad) as caught:
        find_routes(engine, np.array([CASINO, PALACE, SEA]), "foot")
    assert caught.value.details["index"] == 2


def test_on_one_road_and_at_one_place(engine, plain):
    there = (CASINO[0] + 0.00004, CASINO[1] + 0.00002)
    for pair in (np.array([CASINO, there]), np.array([there, CASINO]), np.array([CASINO] * 2)):
        mine, theirs = (find_routes(asked, pair, "foot")[0] for asked in (engine, plain))
        assert mine.distance_m == pytest.approx(theirs.distance_m, abs=1.0)
        assert mine.duration_s == pytest.approx(theirs.duration_s, abs=1.0)
        assert len(mine.positions) >= 2


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_edges_are_those_under_the_line(engine, plain, pairs, mode):
    compared = 0
    for pair in pairs[:60]:
        route = find(engine, pair, mode)
        if isinstance(route, str) or not route.ways:
            continue
        mine = find_route_edges(engine, route, mode)
        assert mine.elapsed_s[-1] == pytest.approx(route.duration_s, abs=0.1)
        assert mine.durations_s.sum() == pytest.approx(route.duration_s, abs=0.1)
        assert mine.lengths_m.sum() == pytest.approx(route.distance_m, rel=0.01, abs=2)
        assert mine.begins[0] == 0 and mine.ends[-1] == len(route.positions) - 1
        assert (mine.begins[1:] == mine.ends[:-1]).all()
        try:
            theirs = find_edges(plain, route.positions, mode)
        except MapyardError:
            continue
        if [edge.edge_id for edge in mine.edges] != [edge.edge_id for edge in theirs.edges]:
            continue  # the engine leaves out, or adds, an edge that is only touched
        for one, other in zip(mine.edges, theirs.edges, strict=True):
            assert abs(one.speed_kmh - other.speed_kmh) <= 1
            assert replace(one, speed_kmh=0) == replace(other, speed_kmh=0)
        assert np.abs(mine.elapsed_s - theirs.elapsed_s).max() < 0.5
        if len(mine.positions) == len(theirs.positions):
            assert mine.begins.tolist() == theirs.begins.tolist()
        compared += 1
    assert compared > 30


def test_edges_go_on_over_stops(engine, monkeypatch):
    stops = np.array([CASINO, PALACE, STADIUM])
    route = find_routes(engine, stops, "foot")[0]
    monkeypatch.setattr(engine, "ask", None)
    path = find_route_edges(engine, route, "foot")
    assert path.elapsed_s[-1] == pytest.approx(route.duration_s, abs=0.1)
    assert path.starts_piece.tolist() == [True] + [False] * (len(path.edges) - 1)
    assert (np.diff(path.elapsed_s) >= 0).all()
    ids = [edge.edge_id for edge in path.edges]
    assert all(one != other for one, other in pairwise(ids))


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_steps_are_worded_along_the_line(engine, plain, pairs, mode):
    same = others = lost = 0
    for pair in pairs[:60]:
        try:
            mine, theirs = (
                find_routes(one, pair, mode, with_steps=True)[0] for one in (engine, plain)
            )
        except MapyardError:
            continue
        if not mine.ways:
            lost += 1  # the engine cannot walk it, as over squares, and searches
            continue
        (leg,) = mine.legs
        assert [step.begin for step in leg.steps[1:]] == [step.end for step in leg.steps[:-1]]
        assert leg.steps[0].begin == 0 and leg.steps[-1].end == len(mine.positions) - 1
        assert sum(step.distance_m for step in leg.steps) == pytest.approx(mine.distance_m, abs=6)
        if not np.array_equal(mine.positions, theirs.positions):
            continue  # as long, over other edges
        texts = [[step.instruction for step in route.legs[0].steps] for route in (mine, theirs)]
        same += texts[0] == texts[1]
        others += texts[0] != texts[1]
    assert same >= 20
    assert others <= 0.25 * same
    assert lost <= 20


def test_steps_cost_one_walk_per_leg(engine, monkeypatch):
    asked = []

    def listen(action, request, **options):
        asked.append(action)
        return call(action, request, **options)

    call = engine.call
    monkeypatch.setattr(engine, "call", listen)
    stops = np.array([CASINO, PALACE, STADIUM])
    route = find_routes(engine, stops, "foot", with_steps=True, language="de-DE")[0]
    assert asked == ["trace_route"] * 2
    assert [leg.steps[-1].maneuver for leg in route.legs] == ["arrive", "arrive"]
    assert "Ziel" in route.legs[-1].steps[-1].instruction
    assert route.legs[1].steps[0].begin == route.legs[0].end


def test_a_destination_is_on_the_side_where_it_was_asked_for(engine, plain):
    checked = 0
    rng = np.random.default_rng(2)
    for pair in rng.uniform((7.415, 43.729), (7.43, 43.742), (60, 2, 2)):
        try:
            mine, theirs = (
                find_routes(one, pair, "auto", with_steps=True)[0] for one in (engine, plain)
            )
        except MapyardError:
            continue
        if mine.ways and abs(mine.duration_s - theirs.duration_s) < 0.1:
            texts = [route.legs[0].steps[-1].instruction for route in (mine, theirs)]
            checked += texts[0] == texts[1] and "on the" in texts[0]
    assert checked > 15
