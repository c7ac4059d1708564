"""Trips, found in one call, against the three calls that it stands for."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.routing.kernels.test_way import make_network

from mapyard.errors import MapyardError
from mapyard.routing import find_routes
from mapyard.routing.contraction import trips
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.modes import TABLE_MODES
from routing_graphs import UNIT_DEG, build_roads

RADIUS_M = 1_000.0


@pytest.fixture(scope="module")
def pairs(graph):
    roads = read_graph(graph / "tiles.tar")
    rng = np.random.default_rng(9)
    nodes = np.column_stack([roads.lon, roads.lat])[rng.integers(len(roads.lon), size=200)]
    moved = nodes + rng.uniform(-2e-4, 2e-4, nodes.shape)
    moved[::9] = (8.0, 43.5)  # the sea
    moved[1::11] = moved[::11][: len(moved[1::11])]
    return moved.reshape(-1, 2, 2)


@pytest.mark.parametrize(("edges", "points"), [(4_096, 16_384), (4_096, 7), (3, 16_384), (1, 1)])
@pytest.mark.parametrize("mode", TABLE_MODES)
def test_trips_are_places_ways_and_lines(engine, pairs, mode, edges, points, monkeypatch):
    monkeypatch.setattr(trips._rooms, "own", trips._Room(edges, points))
    table = engine.tables.find(mode)
    found = 0
    for pair in pairs:
        trip = table.find_trip(*pair.tolist(), RADIUS_M)
        way = table.find_way(*table.find_places(pair, RADIUS_M).split())
        if way is None:
            assert trip is None
            continue
        found += 1
        for name in ("ends", "is_relaxed", "cost_s", "time_s", "length_m"):
            assert getattr(trip.way, name) == getattr(way, name)
        assert trip.way.edges.tolist() == way.edges.tolist()
        assert trip.way.vertices.tolist() == way.vertices.tolist()
        line = table.roads.find_line(way.edges, way.ends)
        assert trip.line.positions.tolist() == line.positions.tolist()
        assert trip.line.last.tolist() == line.last.tolist()
        assert trip.line.kinds == line.kinds
    assert found > 40


def test_a_trip_is_nobody_elses(engine, pairs):
    """The next one is written where it was."""
    table = engine.tables.find("foot")
    first = table.find_trip(*pairs[1].tolist(), RADIUS_M)
    kept = first.line.positions.tolist(), first.way.edges.tolist()
    for pair in pairs[2:9]:
        table.find_trip(*pair.tolist(), RADIUS_M)
    assert (first.line.positions.tolist(), first.way.edges.tolist()) == kept


def test_a_crossing_of_more_roads_than_there_is_room_for_at_once(tmp_path):
    center, spokes = (9_500_000, 47_100_000), 40
    tips = [(9_500_000 + 5_000 + 10 * i, 47_100_000 + 300 * i) for i in range(spokes)]
    roads = build_roads(tmp_path, [(center, tip) for tip in tips], [1] * spokes, from_hub=True)
    count = 2 * spokes
    turns = [(2 * i + 1, 2 * j, 0) for i in range(spokes) for j in range(spokes) if i != j]
    start = [0 if edge % 2 == 0 else 1 + edge // 2 for edge in range(count)]
    net = SimpleNamespace(
        count=count, cost=[1_000] * count, time=[2_000] * count, length=[3_000] * count,
        start=start, end=[start[edge ^ 1] for edge in range(count)], strict=turns, relaxed=turns,
        asks_again=False, scale=1_000, used=set(range(count)),
    )  # fmt: skip
    network = make_network(net)
    at_tip, at_center = (tuple(np.array(place) * UNIT_DEG) for place in (tips[7], center))
    trip = trips.find_trip(roads, network, "auto", at_tip, at_center, 100.0)
    assert trip.way.edges.tolist() == [15]
    assert len(roads.find(np.array([at_center]), "auto", 100.0).edge) == count


def test_routes_over_stops_are_made_of_trips(engine, pairs):
    for pair, other in zip(pairs[:20], pairs[20:40], strict=True):
        stops = np.concatenate([pair, other[:1]])
        try:
            whole = find_routes(engine, stops, "foot")[0]
            parts = [find_routes(engine, stops[i : i + 2], "foot")[0] for i in range(2)]
        except MapyardError:
            continue
        assert whole.duration_s == pytest.approx(sum(part.duration_s for part in parts), abs=0.01)
