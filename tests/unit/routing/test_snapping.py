"""One rule for positions and roads: nearest, route, matrix and isochrone mean the same place."""

import numpy as np
import pytest
import shapely

from mapyard.geo.sphere import haversine_m
from mapyard.routing import compute_matrix, find_isochrones, find_nearest, find_routes
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.engine import NoRoute
from mapyard.routing.modes import TABLE_MODES
from mapyard.routing.snapping import DETOUR_M, find_connected, find_roads


@pytest.fixture(scope="module")
def places():
    rng = np.random.default_rng(3)
    return np.column_stack([rng.uniform(7.412, 7.432, 60), rng.uniform(43.727, 43.745, 60)])


def find_road_places(engine, places, mode):
    return places[[bool(row) for row in find_roads(engine, places, mode, 400.0)]]


def ask_routes(engine, origins, destinations, mode):
    """Return the seconds of each pair's route, NaN where none leads."""
    found = np.full((len(origins), len(destinations)), np.nan)
    for row, origin in enumerate(origins):
        for column, destination in enumerate(destinations):
            try:
                route = find_routes(engine, np.array([origin, destination]), mode)[0]
            except NoRoute:
                continue
            found[row, column] = route.duration_s
    return found


@pytest.mark.parametrize("mode", TABLE_MODES)
@pytest.mark.parametrize("shape", [(12, 12), (12, 2), (1, 12)])
def test_cells_are_routes(engine, places, mode, shape):
    places = find_road_places(engine, places, mode)
    origins, destinations = places[: shape[0]], places[-shape[1] :]
    durations_s = compute_matrix(engine, origins, destinations, mode).durations_s
    routes_s = ask_routes(engine, origins, destinations, mode)
    assert (np.isnan(durations_s) == np.isnan(routes_s)).all()
    assert (~np.isnan(routes_s)).mean() > 0.8
    away = np.abs(durations_s - routes_s) > np.maximum(1.0, 0.01 * routes_s)
    assert away.sum() == 0


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_a_route_begins_where_nearest_says_unless_no_way_leads_from_there(engine, places, mode):
    places = find_road_places(engine, places, mode)
    connected, moved = find_connected(engine, places, mode, 1000.0, "origin")
    same = further = 0
    for place, on_road, is_moved in zip(places, connected, moved, strict=True):
        road = find_nearest(engine, *place, mode, radius_m=1000)[0]
        try:
            route = find_routes(engine, np.array([place, places[0]]), mode)[0]
        except NoRoute:
            continue
        start = route.waypoints[0]
        if haversine_m(road.lon, road.lat, start.lon, start.lat) < 1.0:
            same += 1
            continue
        further += 1
        assert is_moved
        assert haversine_m(*on_road, start.lon, start.lat) < 1.0
        assert start.distance_m <= road.distance_m + DETOUR_M + 1.0
    assert same > 20
    assert further > 0


def test_two_places_on_one_piece_without_connection_stay_on_it(engine, places):
    """No one is carried to a connected road where there is a way without it."""
    roads = [row[0] for row in find_roads(engine, places, "foot", 400.0, verbose=True) if row]
    cut_off = next(
        road
        for road in roads
        if road.reach < 10 and road.edge["edge"]["geo_attributes"]["length"] > 20
    )
    ends = np.array([[cut_off.lon, cut_off.lat]] * 2)
    ends[1] += 2e-5
    route = find_routes(engine, ends, "foot")[0]
    assert route.distance_m < 60
    assert max(waypoint.distance_m for waypoint in route.waypoints) < 5.0
    matrix = compute_matrix(engine, ends, ends, "foot")
    assert matrix.durations_s[0, 1] == pytest.approx(route.duration_s, abs=1.0)


def test_an_area_from_a_road_without_connection_holds_what_routes_reach(engine, places):
    connected, moved = find_connected(engine, places, "foot", 1000.0, "origin")
    index = int(np.flatnonzero(moved)[0])
    area = find_isochrones(engine, *places[index], [600.0], "foot")[0].geometry
    assert shapely.contains_xy(area, *connected[index])
    durations_s = compute_matrix(engine, places[index : index + 1], places, "foot").durations_s[0]
    near = places[durations_s < 400]
    assert len(near) > 3
    assert shapely.contains_xy(area, near[:, 0], near[:, 1]).mean() > 0.7


def test_a_stop_between_is_moved_where_its_road_has_no_connection(engine, places):
    places = find_road_places(engine, places, "foot")
    connected, moved = find_connected(engine, places, "foot", 1000.0, "via")
    ends, (_, ends_moved) = places[:20], find_connected(engine, places[:20], "foot", 1000.0, "via")
    first, last = ends[~ends_moved][:2]
    index = int(np.flatnonzero(moved)[0])
    route = find_routes(engine, np.array([first, places[index], last]), "foot")[0]
    assert len(route.legs) == 2
    stop = route.waypoints[1]
    assert haversine_m(*connected[index], stop.lon, stop.lat) < 1.0
    for waypoint, place in ((route.waypoints[0], first), (route.waypoints[2], last)):
        road = find_nearest(engine, *place, "foot", radius_m=1000)[0]
        assert haversine_m(road.lon, road.lat, waypoint.lon, waypoint.lat) < 1.0


@pytest.mark.parametrize("mode", TABLE_MODES)
@pytest.mark.parametrize("spread_deg", [0.0, 5e-6, 3e-5, 3e-4])
def test_prepared_roads_are_those_that_the_engine_finds(engine, graph, mode, spread_deg):
    """At crossings, within a meter of them, beside them and anywhere."""
    roads = read_graph(graph / "tiles.tar")
    rng = np.random.default_rng(4)
    node = rng.integers(len(roads.lon), size=300)
    positions = np.column_stack([roads.lon, roads.lat])[node]
    positions = np.round(positions + rng.uniform(-spread_deg, spread_deg, (300, 2)), 6)
    table = engine.tables.find(mode)
    places = table.find_places(positions, 500.0)
    theirs = find_roads(engine, positions, mode, 500.0, reach=1, verbose=True)
    wrong = 0
    for index, row in enumerate(theirs):
        ids = np.array([road.edge["edge_id"]["value"] for road in row], np.int64)
        shares = [road.edge["percent_along"] for road in row]
        expected = dict(zip(table.edge_ids.find(ids).tolist(), shares, strict=True))
        mine = places.position == index
        found = dict(zip(places.edge[mine].tolist(), places.share[mine].tolist(), strict=True))
        # Roads of a few meters have places that differ by centimeters.
        wrong += expected.keys() != found.keys() or any(
            abs(found[edge] - share) * roads.edges.length_m[edge] > 0.3
            for edge, share in expected.items()
        )
        for road in row[:1]:
            assert places.away_m[mine][0] == pytest.approx(road.distance_m, abs=1.0)
    assert wrong <= 1


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_cut_off_roads_are_those_that_the_engine_counts(plain, engine, graph, mode):
    """The rule of 037, by prepared roads and by the engine's own count."""
    rng = np.random.default_rng(5)
    roads = read_graph(graph / "tiles.tar")
    node = rng.integers(len(roads.lon), size=400)
    positions = np.column_stack([roads.lon, roads.lat])[node] + rng.uniform(-2e-4, 2e-4, (400, 2))
    for role in ("origin", "via", "destination"):
        mine, moved = find_connected(engine, positions, mode, 500.0, role)
        theirs, also = find_connected(plain, positions, mode, 500.0, role)
        assert (moved != also).sum() <= 4
        both = moved & also
        away_m = haversine_m(*mine[both].T, *theirs[both].T)
        assert (away_m < 10.0).all()  # another road of the same crossing
