"""Routes and nearest roads of Monaco against the engine's own answers and against each other."""

import numpy as np
import pytest

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.geo.sphere import haversine_m
from mapyard.routing import find_nearest, find_routes
from mapyard.routing.edges import find_edges
from mapyard.routing.engine import NoRoad
from mapyard.routing.gpx import read_gpx, write_gpx_route
from mapyard.routing.modes import TABLE_MODES, make_costing
from mapyard.routing.steps import choose_language

CASINO, PALACE, STADIUM = (7.4281, 43.7392), (7.4203, 43.7312), (7.4156, 43.7277)
PAIR = np.array([CASINO, PALACE])


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_distance_and_duration_are_the_engines(engine, mode):
    route = find_routes(engine, PAIR, mode)[0]
    request = make_costing(mode) | {
        "locations": [{"lon": lon, "lat": lat} for lon, lat in PAIR.tolist()]
    }
    summary = engine.call("route", request)["trip"]["summary"]
    assert route.distance_m == pytest.approx(summary["length"] * 1000, abs=1.0)
    # The palace's nearest road is cut off for cars: the place on the next one has six decimals.
    assert route.duration_s == pytest.approx(summary["time"], abs=0.05)


def test_the_line_is_as_long_as_it_says(engine):
    route = find_routes(engine, PAIR, "foot")[0]
    line = route.positions
    length_m = haversine_m(line[:-1, 0], line[:-1, 1], line[1:, 0], line[1:, 1]).sum()
    assert length_m == pytest.approx(route.distance_m, rel=0.01)


def test_legs_and_steps_cover_the_way(engine):
    stops = np.array([CASINO, STADIUM, PALACE])
    route = find_routes(engine, stops, "auto", with_steps=True, language="de-DE")[0]
    assert len(route.legs) == 2
    assert sum(leg.distance_m for leg in route.legs) == pytest.approx(route.distance_m, abs=1)
    assert route.legs[0].end == route.legs[1].begin
    for leg in route.legs:
        assert leg.steps[0].begin == leg.begin
        assert leg.steps[-1].end == leg.end
        assert sum(step.distance_m for step in leg.steps) == pytest.approx(leg.distance_m, abs=5)
    assert any("fahren" in step.instruction for step in route.legs[0].steps)
    assert [waypoint.name is None for waypoint in route.waypoints].count(False) >= 2


def test_alternatives_are_other_ways(engine):
    routes = find_routes(engine, PAIR, "foot", alternatives=2)
    lines = {route.positions.tobytes() for route in routes}
    assert 1 < len(routes) == len(lines) <= 3
    assert routes[0].duration_s == min(route.duration_s for route in routes)


def test_an_avoided_area_is_not_entered(engine):
    import shapely

    direct = find_routes(engine, PAIR, "foot")[0]
    middle = direct.positions[len(direct.positions) // 2]
    area = shapely.Point(middle).buffer(0.0003)
    around = find_routes(engine, PAIR, "foot", avoid=area)[0]
    assert shapely.LineString(direct.positions).intersects(area)
    assert not shapely.LineString(around.positions).intersects(area)
    assert around.duration_s > direct.duration_s


def test_avoided_areas_have_limits(engine):
    import shapely

    with pytest.raises(TooLarge, match="metres around"):
        find_routes(engine, PAIR, avoid=shapely.box(0, 40, 10, 50))
    with pytest.raises(InvalidRequest, match="Polygon"):
        find_routes(engine, PAIR, avoid=shapely.Point(7.42, 43.73))


def test_from_a_place_to_itself_is_no_way(engine):
    route = find_routes(engine, np.array([CASINO, CASINO]), "foot")[0]
    assert (route.distance_m, route.duration_s) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("bad", "index"), [((7.5, 43.6), 1), ((0.0, 0.0), 1), ((7.42, 90.0), 1), ((7.42, -90.0), 1)]
)
def test_positions_without_roads_are_named(engine, bad, index):
    with pytest.raises(NoRoad) as caught:
        find_routes(engine, np.array([CASINO, bad]), "auto")
    assert caught.value.details["index"] == index


def test_the_nearest_roads_distance_is_told(engine):
    off_shore = (7.4330, 43.7355)
    with pytest.raises(NoRoad) as caught:
        find_routes(engine, np.array([off_shore, CASINO]), "auto", radius_m=50.0)
    assert 50 < caught.value.details["nearest_road_m"] < 1000
    assert caught.value.details["index"] == 0


def test_both_poles_are_refused_as_positions_without_roads(engine):
    with pytest.raises(NoRoad):
        find_routes(engine, np.array([(0.0, 90.0), (0.0, -90.0)]), "auto")


def test_not_a_number_is_no_position(engine):
    with pytest.raises(InvalidRequest, match=r"positions\[1\]"):
        find_routes(engine, np.array([CASINO, (np.nan, 43.7)]), "auto")


@pytest.mark.parametrize(
    ("lang", "expected"),
    [("de", "de-DE"), ("en-GB", "en-GB"), ("pt_BR", "pt-BR"), ("de-AT", "de-DE"), ("en", "en-US")],
)
def test_languages_are_found_by_their_first_part(lang, expected):
    assert choose_language(lang) == expected


def test_an_unknown_language_is_refused_with_the_known_ones():
    with pytest.raises(InvalidRequest, match="one of bg, ca"):
        choose_language("tlh")


def test_nearest_roads_come_in_order_each_way_once(engine):
    roads = find_nearest(engine, *CASINO, number=5)
    assert len(roads) == 5
    distances = [road.distance_m for road in roads]
    assert distances == sorted(distances)
    assert len({road.way_id for road in roads}) == 5
    assert roads[0] == find_nearest(engine, *CASINO)[0]
    assert roads[0].edge_id > 0
    assert roads[0].edge_length_m > 0


def test_nearest_keeps_to_its_radius(engine):
    distance_m = find_nearest(engine, *CASINO)[0].distance_m
    with pytest.raises(NoRoad):
        find_nearest(engine, *CASINO, radius_m=distance_m * 0.9)
    assert find_nearest(engine, *CASINO, radius_m=distance_m * 1.1)


def test_edges_under_a_route_add_up(engine):
    route = find_routes(engine, PAIR, "auto")[0]
    path = find_edges(engine, route.positions, "auto")
    assert path.lengths_m.sum() == pytest.approx(route.distance_m, rel=0.01)
    assert path.durations_s.sum() == pytest.approx(route.duration_s, rel=0.01)


def test_gpx_of_a_route_reads_back(engine):
    route = find_routes(engine, PAIR, "foot", with_steps=True)[0]
    heights = np.full(len(route.positions), 12.5)
    text = write_gpx_route(route, heights).decode()
    positions, times = read_gpx(text)
    np.testing.assert_allclose(positions, route.positions)
    assert times is None
    assert text.count("<ele>12.5</ele>") == len(route.positions)
    assert "OpenStreetMap" in text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<gpx><trk>", "not valid XML at line 1"),
        ("<gpx/>", "no GPX track"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><gpx/>', "document type"),
        ('<gpx><trk><trkseg><trkpt lat="x" lon="1"/></trkseg></trk></gpx>', "without lon and lat"),
    ],
)
def test_bad_gpx_is_refused(text, problem):
    with pytest.raises(InvalidRequest, match=problem):
        read_gpx(text)
