"""Clients of other routers, unchanged, against this server, and the members that they document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import routingpy
from routingpy.exceptions import RouterApiError

from mapyard import forms
from mapyard.http.endpoints import collect
from members import check
from osm_files import EXAMPLES
from servers import Server, copy_data, running

CASINO, PALACE, PORT = [7.4281, 43.7392], [7.4203, 43.7312], [7.4235, 43.7350]
SEA = [7.46, 43.60]
TRACE = [[7.4246, 43.7384], [7.4250, 43.7390], [7.4255, 43.7396]]


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    folder = tmp_path_factory.mktemp("forms-routing")
    with running(copy_data(built, folder / "data"), folder / "serve.log") as started:
        yield started


def address(server: Server, form: str) -> str:
    """Return the base of a form with the key in the path, for clients that have no place for it."""
    return f"http://127.0.0.1:{server.port}/key/{server.key}/{form}"


def write(*places: list[float]) -> str:
    return ";".join(f"{lon},{lat}" for lon, lat in places)


# -- OSRM ----------------------------------------------------------------------------------------


@pytest.fixture
def osrm(server: Server) -> routingpy.OSRM:
    return routingpy.OSRM(base_url=address(server, "osrm"), retry_timeout=5)


def ask_osrm(server: Server, service: str, *places: list[float], **params: Any) -> httpx.Response:
    profile = params.pop("profile", "driving")
    return server.get(f"/osrm/{service}/v1/{profile}/{write(*places)}", params=params)


#: The members of each object of OSRM's docs/http.md.
LANE = {"indications": [str], "valid": bool}
INTERSECTION = {
    "location": [float], "bearings": [int], "entry": [bool], "in?": int, "out?": int,
    "lanes?": [LANE], "classes?": [str],
}  # fmt: skip
MANEUVER = {
    "location": [float], "bearing_before": int, "bearing_after": int, "exit?": int,
    "type": frozenset((
        "turn", "new name", "depart", "arrive", "merge", "on ramp", "off ramp", "fork",
        "end of road", "continue", "roundabout", "rotary", "roundabout turn", "notification",
        "exit roundabout", "exit rotary",
    )),
    "modifier?": frozenset((
        "uturn", "sharp right", "right", "slight right", "straight", "slight left", "left",
        "sharp left",
    )),
}  # fmt: skip
STEP = {
    "distance": float, "duration": float, "geometry": str, "weight": float, "name": str,
    "ref?": str, "destinations?": str, "exits?": str, "mode": str, "maneuver": MANEUVER,
    "intersections": [INTERSECTION], "rotary_name?": str,
    "driving_side": frozenset(("left", "right")),
}  # fmt: skip
ANNOTATION = {
    "distance": [float], "duration": [float], "speed": [float], "datasources": [int],
    "metadata": {"datasource_names": [str]},
}  # fmt: skip
LEG = {
    "distance": float, "duration": float, "weight": float, "summary": str, "steps": [STEP],
    "annotation": ANNOTATION,
}  # fmt: skip
WAY = {
    "distance": float, "duration": float, "weight": float, "weight_name": str, "geometry": str,
    "legs": [LEG],
}  # fmt: skip
WAYPOINT = {"name": str, "location": [float], "distance": float, "hint": str}
ANSWERS = {
    "route": {"code": str, "routes": [WAY], "waypoints": [WAYPOINT]},
    "table": {
        "code": str, "durations": [[float]], "distances": [[float]], "sources": [WAYPOINT],
        "destinations": [WAYPOINT],
    },
    "nearest": {"code": str, "waypoints": [{**WAYPOINT, "nodes": [int]}]},
    "match": {
        "code": str, "matchings": [{**WAY, "confidence": float}],
        "tracepoints": [
            {**WAYPOINT, "matchings_index": int, "waypoint_index": int, "alternatives_count": int}
        ],
    },
    "trip": {
        "code": str, "trips": [WAY],
        "waypoints": [{**WAYPOINT, "trips_index": int, "waypoint_index": int}],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("service", "places", "params"),
    [
        ("route", (CASINO, PALACE), {"steps": "true", "annotations": "true"}),
        ("table", (CASINO, PALACE), {"annotations": "duration,distance"}),
        ("nearest", (CASINO,), {"number": 3}),
        ("match", TRACE, {"steps": "true", "annotations": "true", "profile": "walking"}),
        ("trip", (CASINO, PALACE, PORT), {"steps": "true", "annotations": "true"}),
    ],
)
def test_osrm_has_every_documented_member(
    server: Server, service: str, places: Any, params: dict[str, Any]
) -> None:
    answer = ask_osrm(server, service, *places, **params)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    check(body, ANSWERS[service])
    assert body["code"] == "Ok"
    for way in body.get("routes", []) + body.get("matchings", []) + body.get("trips", []):
        assert sum(leg["distance"] for leg in way["legs"]) == pytest.approx(way["distance"], 1e-3)
        for leg in way["legs"]:
            steps = leg["steps"]
            assert steps[0]["maneuver"]["type"] == "depart"
            assert steps[-1]["maneuver"]["type"] == "arrive"
            assert sum(step["distance"] for step in steps) == pytest.approx(leg["distance"], 1e-2)
            figures = leg["annotation"]
            assert sum(figures["distance"]) == pytest.approx(leg["distance"], rel=1e-2, abs=2)
            assert len({len(figures[name]) for name in ("distance", "duration", "speed")}) == 1


def test_routingpy_osrm(osrm: routingpy.OSRM) -> None:
    way = osrm.directions(
        [CASINO, PORT, PALACE], profile="driving", steps=True, annotations=True,
        geometries="geojson", overview="full", radiuses=[100, 200, 300],
    )  # fmt: skip
    assert way.geometry[0] == pytest.approx(CASINO, abs=1e-3)
    assert way.geometry[-1] == pytest.approx(PALACE, abs=1e-3)
    assert 2_000 < way.distance < 6_000
    assert way.duration > 200
    assert len(way.raw["routes"][0]["legs"]) == 2
    assert "Avenue Princesse Alice" in {
        step["name"] for leg in way.raw["routes"][0]["legs"] for step in leg["steps"]
    }
    several = osrm.directions([CASINO, PALACE], alternatives=True)
    assert several[0].distance > 2_000
    rough = osrm.directions([CASINO, PALACE], overview="simplified")
    fine = osrm.directions([CASINO, PALACE], overview="full")
    assert len(rough.geometry) < len(fine.geometry)
    matrix = osrm.matrix([CASINO, PALACE, PORT], profile="walking", sources=[0, 1])
    assert [len(row) for row in matrix.durations] == [3, 3]
    assert matrix.durations[0][0] == 0
    on_foot = osrm.directions([CASINO, PALACE], profile="walking")
    assert on_foot.duration == pytest.approx(matrix.durations[0][1], abs=3)
    with pytest.raises(RouterApiError):
        osrm.directions([CASINO, SEA])


def test_osrm_reads_every_form_of_coordinates(server: Server) -> None:
    plain = ask_osrm(server, "route", CASINO, PALACE).json()
    with_suffix = server.get(f"/osrm/route/v1/car/{write(CASINO, PALACE)}.json").json()
    line = server.get("/osrm/route/v1/car/polyline6(_cslrAg_kdM~rNnfN)").json()
    assert plain["routes"] == with_suffix["routes"] == line["routes"]
    none = server.get(f"/osrm/route/v1/car/{write(CASINO, PALACE)}.flatbuffers").json()
    assert none["code"] == "InvalidValue"


def test_osrm_draws_as_asked(server: Server) -> None:
    def ask(**params: str) -> dict[str, Any]:
        way: dict[str, Any] = ask_osrm(server, "route", CASINO, PALACE, **params).json()
        return way["routes"][0]

    assert "geometry" not in ask(overview="false")
    assert ask(geometries="geojson")["geometry"]["type"] == "LineString"
    bare = ask()["legs"][0]
    assert (bare["steps"], bare["summary"]) == ([], "")
    assert "annotation" not in bare
    assert set(ask(annotations="speed")["legs"][0]["annotation"]) == {"speed"}
    answer = ask_osrm(server, "route", CASINO, PALACE, skip_waypoints="true").json()
    assert "waypoints" not in answer
    answer = ask_osrm(server, "route", CASINO, PALACE, generate_hints="false", hints=";").json()
    assert "hint" not in answer["waypoints"][0]


def test_osrm_minds_what_is_said_of_each_coordinate(server: Server) -> None:
    passed = ask_osrm(server, "route", CASINO, PORT, PALACE, waypoints="0;2").json()
    assert [len(route["legs"]) for route in passed["routes"]] == [1]
    assert len(passed["waypoints"]) == 2
    straight = ask_osrm(server, "route", CASINO, PORT, PALACE, continue_straight="true").json()
    assert len(straight["routes"][0]["legs"]) == 2
    there = ask_osrm(server, "route", CASINO, PALACE, bearings="218,20;", steps="true").json()
    back = ask_osrm(server, "route", CASINO, PALACE, bearings="38,20;", steps="true").json()
    turns = [
        answer["routes"][0]["legs"][0]["steps"][0]["maneuver"]["bearing_after"]
        for answer in (there, back)
    ]
    assert abs(turns[0] - 218) <= 20
    assert abs(turns[1] - 218) > 20
    assert ask_osrm(server, "route", CASINO, PALACE, radiuses="1;1").json()["code"] == "NoSegment"
    curb = ask_osrm(server, "route", CASINO, PALACE, approaches="curb;unrestricted")
    assert curb.json()["code"] == "Ok"


def test_osrm_tables_fill_and_scale(server: Server) -> None:
    plain = ask_osrm(server, "table", CASINO, PALACE).json()
    twice = ask_osrm(server, "table", CASINO, PALACE, scale_factor=2).json()
    assert "distances" not in plain
    assert twice["durations"][0][1] == pytest.approx(2 * plain["durations"][0][1])
    part = ask_osrm(server, "table", CASINO, PALACE, PORT, sources="2", destinations="0;1").json()
    assert [len(row) for row in part["durations"]] == [2]
    assert len(part["sources"]) == 1
    filled = ask_osrm(server, "table", CASINO, PALACE, fallback_speed=10).json()
    assert filled["fallback_speed_cells"] == []


def test_osrm_trips_order_their_stops(server: Server) -> None:
    ends = {"roundtrip": "false", "source": "first", "destination": "last"}
    open_trip = ask_osrm(server, "trip", CASINO, PALACE, PORT, **ends).json()
    assert [point["waypoint_index"] for point in open_trip["waypoints"]] == [0, 1, 2]
    assert len(open_trip["trips"][0]["legs"]) == 2
    circle = ask_osrm(server, "trip", CASINO, PALACE, PORT).json()
    assert len(circle["trips"][0]["legs"]) == 3
    assert sorted(point["waypoint_index"] for point in circle["waypoints"]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"route/v1/driving/{write(CASINO)}", "InvalidOptions"),
        ("route/v1/driving/a;b", "InvalidQuery"),
        ("route/v1/driving/200,0;0,0", "InvalidValue"),
        (f"way/v1/driving/{write(CASINO, PALACE)}", "InvalidService"),
        (f"route/v5/driving/{write(CASINO, PALACE)}", "InvalidVersion"),
        ("route/v1", "InvalidUrl"),
        ("tile/v1/car/tile(1310,3166,13).mvt", "InvalidValue"),
        (f"route/v1/driving/{write(CASINO, SEA)}", "NoSegment"),
        (f"route/v1/rocket/{write(CASINO, PALACE)}", "InvalidValue"),
        (f"route/v1/driving/{write(CASINO, PALACE)}?colour=red", "InvalidQuery"),
        (f"route/v1/driving/{write(CASINO, PALACE)}?radiuses=5", "InvalidOptions"),
        (f"route/v1/driving/{write(CASINO, PALACE)}?exclude=moon", "InvalidValue"),
        (f"route/v1/driving/{write(CASINO, PALACE)}?annotations=nodes", "InvalidValue"),
        (f"route/v1/driving/{write(CASINO, PALACE)}?steps=maybe", "InvalidQuery"),
        (f"route/v1/driving/{write(*[CASINO] * 201)}", "TooBig"),
        (f"table/v1/driving/{write(CASINO, PALACE)}?exclude=toll", "InvalidValue"),
        (f"match/v1/driving/{write(SEA, [7.461, 43.6])}", "NoMatch"),
    ],
)
def test_osrm_errors_have_its_codes(server: Server, path: str, code: str) -> None:
    answer = server.get(f"/osrm/{path}")
    assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
    assert answer.json()["message"]


def test_osrm_without_a_key_says_so_in_its_form(server: Server) -> None:
    answer = httpx.get(f"{server.address}/osrm/route/v1/car/{write(CASINO, PALACE)}", timeout=20)
    assert answer.status_code == 401
    assert set(answer.json()) == {"code", "message"}


# -- Valhalla ------------------------------------------------------------------------------------


@pytest.fixture
def valhalla(server: Server) -> routingpy.Valhalla:
    return routingpy.Valhalla(base_url=address(server, "valhalla"), retry_timeout=5)


def place(at: list[float], **members: Any) -> dict[str, Any]:
    return {"lon": at[0], "lat": at[1], **members}


def ask_valhalla(server: Server, action: str, **request: Any) -> httpx.Response:
    """Ask by GET, as curl does in Valhalla's own documentation."""
    return server.get(f"/valhalla/{action}", params={"json": json.dumps(request)})


def test_routingpy_valhalla(valhalla: routingpy.Valhalla) -> None:
    way = valhalla.directions([CASINO, PORT, PALACE], "auto", instructions=True, language="de-DE")
    assert way.geometry[0] == pytest.approx(CASINO, abs=1e-3)
    assert way.geometry[-1] == pytest.approx(PALACE, abs=1e-3)
    assert 2_000 < way.distance < 6_000
    assert len(way.raw["trip"]["legs"]) == 2
    assert "Richtung" in way.raw["trip"]["legs"][0]["maneuvers"][0]["instruction"]
    on_foot = valhalla.directions([CASINO, PALACE], "pedestrian", options={"walking_speed": 5.1})
    slow = valhalla.directions([CASINO, PALACE], "pedestrian", options={"walking_speed": 2.5})
    assert slow.duration > 1.5 * on_foot.duration
    matrix = valhalla.matrix([CASINO, PALACE, PORT], "pedestrian", sources=[0, 1])
    assert matrix.durations[0][0] == 0
    assert matrix.durations[0][1] == pytest.approx(on_foot.duration, abs=3)
    assert matrix.distances[0][1] == pytest.approx(on_foot.distance, rel=0.01)
    areas = valhalla.isochrones(CASINO, "pedestrian", [300, 600], polygons=True)
    assert len(areas) == 2
    assert all(len(area.geometry[0]) > 4 for area in areas)
    with pytest.raises(RouterApiError):
        valhalla.directions([CASINO, SEA], "auto")


def test_valhalla_takes_post_and_json_in_the_query(server: Server) -> None:
    request = {"locations": [place(CASINO), place(PALACE)], "costing": "auto", "id": "mine"}
    by_get = ask_valhalla(server, "route", **request)
    by_post = httpx.post(
        f"{address(server, 'valhalla')}/route", json=request, timeout=20
    )  # fmt: skip
    assert by_get.json() == by_post.json()
    body = by_get.json()
    assert body["id"] == "mine"
    trip = body["trip"]
    check(
        trip,
        {
            "locations": [{"lat": float, "lon": float, "type": str, "original_index": int}],
            "legs": [
                {
                    "shape": str,
                    "summary": {"time": float, "length": float, "has_toll": bool},
                    "maneuvers": [
                        {
                            "type": int, "instruction": str, "time": float, "length": float,
                            "cost": float, "begin_shape_index": int, "end_shape_index": int,
                            "travel_mode": str, "travel_type": str, "street_names?": [str],
                        }
                    ],
                }
            ],
            "summary": {
                "time": float, "length": float, "cost": float, "min_lat": float, "max_lon": float,
            },
            "status": int, "status_message": str, "units": str, "language": str,
        },
    )  # fmt: skip
    assert [trip["locations"][0][name] for name in ("lon", "lat")] == CASINO
    assert "date_time" not in trip["locations"][0]
    miles = ask_valhalla(server, "route", **request, units="miles").json()["trip"]
    assert miles["summary"]["length"] == pytest.approx(
        trip["summary"]["length"] / 1.609344, rel=0.01
    )
    osrm = ask_valhalla(server, "route", **request, format="osrm").json()
    assert osrm["routes"][0]["duration"] == pytest.approx(trip["summary"]["time"], abs=1)


def test_valhalla_orders_locations(server: Server) -> None:
    request = {"locations": [place(at) for at in (CASINO, PALACE, PORT, [7.4205, 43.7315])]}
    body = ask_valhalla(server, "optimized_route", costing="pedestrian", **request).json()
    order = [at["original_index"] for at in body["trip"]["locations"]]
    assert order == [0, 2, 1, 3]
    assert len(body["trip"]["legs"]) == 3


def test_valhalla_minds_options_in_matrices(server: Server) -> None:
    request: dict[str, Any] = {
        "sources": [place(CASINO), place(PORT)], "targets": [place(PALACE)], "costing": "auto",
    }  # fmt: skip
    plain = ask_valhalla(server, "sources_to_targets", **request, verbose=False).json()
    slow = ask_valhalla(
        server, "sources_to_targets", **request, verbose=False,
        costing_options={"auto": {"top_speed": 10}},
    ).json()  # fmt: skip
    for fast_row, slow_row in zip(
        plain["sources_to_targets"]["durations"],
        slow["sources_to_targets"]["durations"],
        strict=True,
    ):
        assert slow_row[0] > 1.5 * fast_row[0]
    cells = ask_valhalla(server, "sources_to_targets", **request).json()["sources_to_targets"]
    assert [(cell["from_index"], cell["to_index"]) for row in cells for cell in row] == [
        (0, 0),
        (1, 0),
    ]


def test_valhalla_traces_and_locates(server: Server) -> None:
    shape = [place(at) for at in TRACE]
    request = {"shape": shape, "costing": "pedestrian", "shape_match": "map_snap"}
    body = ask_valhalla(server, "trace_route", **request).json()
    assert body["trip"]["summary"]["length"] > 0.1
    filters = {"attributes": ["edge.way_id", "shape"], "action": "include"}
    body = ask_valhalla(server, "trace_attributes", **request, filters=filters).json()
    assert set(body["edges"][0]) == {"way_id"}
    found = ask_valhalla(server, "locate", locations=[place(CASINO)], costing="auto").json()
    assert found[0]["edges"][0]["way_id"] > 0
    state = httpx.get(f"{server.address}/valhalla/status", timeout=20).json()
    assert {"version", "tileset_last_modified", "available_actions"} == set(state)
    height = ask_valhalla(server, "height", shape=shape)
    assert (height.status_code, height.json()["error_code"]) == (501, 107)


@pytest.mark.parametrize(
    ("action", "request_", "status", "code"),
    [
        ("route", {"costing": "rocket"}, 400, 125),
        ("route", {"costing": ""}, 400, 125),
        ("route", {"locations": []}, 400, 100),
        ("route", {"locations": [place(CASINO)]}, 400, 100),
        ("route", {"locations": [place(CASINO), place(SEA)]}, 400, 171),
        ("route", {"locations": [place(CASINO)] * 201}, 400, 150),
        ("route", {"locations": [{"lon": "x", "lat": 1}, place(PORT)]}, 400, 100),
        ("route", {"durations": []}, 400, 100),
        ("route", {"elevation_interval": -1}, 400, 100),
        ("route", {"format": "gpx"}, 400, 100),
        ("route", {"exclude_polygons": [[[1, "x"]]]}, 400, 100),
        ("route", {"costing_options": {"auto": {"top_speed": []}}}, 400, 100),
        ("isochrone", {"locations": [place(CASINO)]}, 400, 100),
        ("isochrone", {"locations": [place(CASINO)], "contours": [{"time": 999}]}, 400, 100),
        ("centroid", {}, 404, 106),
    ],
)
def test_valhalla_errors_have_its_codes(
    server: Server, action: str, request_: dict[str, Any], status: int, code: int
) -> None:
    whole = {"locations": [place(CASINO), place(PORT)], "costing": "auto", **request_}
    answer = ask_valhalla(server, action, **whole)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code), answer.text
    check(
        answer.json(), {"error_code": int, "error": str, "status_code": int, "status": str}
    )  # fmt: skip


#: Values of every type, in place of each member: the engine ends the process for some of them.
WRONG = (-1, 1e308, 0.5, "x", True, [], {}, [[]], [1], [{}], {"a": 1}, {"auto": {"a": []}})
REQUESTS: dict[str, dict[str, Any]] = {
    "route": {"locations": [place(CASINO), place(PORT)], "costing": "auto"},
    "sources_to_targets": {"sources": [place(CASINO)], "targets": [place(PORT)], "costing": "auto"},
    "isochrone": {"locations": [place(CASINO)], "costing": "auto", "contours": [{"time": 1}]},
    "trace_route": {"shape": [place(at) for at in TRACE], "costing": "pedestrian"},
    "locate": {"locations": [place(CASINO)], "costing": "auto"},
}


def test_no_member_of_a_wrong_type_reaches_the_engine(server: Server) -> None:
    members = {
        name
        for endpoint in collect(forms.load_modules())
        if endpoint.tag == "Valhalla"
        for name in endpoint.parser.names | set(endpoint.refused)
    } - {"json", "action"}
    assert len(members) > 40
    pid = server.workers()[0].pid
    with httpx.Client(base_url=f"{address(server, 'valhalla')}/", timeout=20) as client:
        for action, request in REQUESTS.items():
            for name in sorted(members):
                for value in WRONG:
                    answer = client.post(action, json={**request, name: value})
                    assert answer.status_code in (200, 400, 501), (action, name, value, answer.text)
    assert server.workers()[0].pid == pid


# -- all -----------------------------------------------------------------------------------------

#: Paths that answer without the road graph.
STANDARD = ("/osrm/tile/", "/osrm/{service}/", "/valhalla/{action}", "/valhalla/status")


def test_questions_of_ways_are_premium_in_every_form() -> None:
    ways = [e for e in collect(forms.load_modules()) if e.tag in ("OSRM", "Valhalla")]
    assert len(ways) >= 13
    for endpoint in ways:
        assert endpoint.premium or endpoint.path.startswith(STANDARD), endpoint.path
