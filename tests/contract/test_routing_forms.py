"""Every form in which the published clients, S1 to S7, ask for ways and heights."""

from __future__ import annotations

import asyncio
import importlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import plaza
import pytest

from mapyard.http.app import Application
from mapyard.http.endpoints import collect
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES
from servers import copy_data

pytestmark = pytest.mark.xdist_group("routing-forms")

MODULES = ("route", "nearest", "isochrone", "matrix", "map_match", "optimize", "elevation")
CASINO, PALACE, PORT = (7.4281, 43.7392), (7.4203, 43.7312), (7.4235, 43.7350)
STADIUM = (7.4156, 43.7277)
SEA = (7.46, 43.68)
EMPTY = {"content-type": "application/json"}
LIBRARY = {"X-Stainless-Lang": "python", "X-Stainless-Package-Version": "0.0.4"}


def point(at: tuple[float, float]) -> dict[str, Any]:
    return {"type": "Point", "coordinates": list(at)}


def pair(at: tuple[float, float]) -> dict[str, float]:
    return {"lat": at[1], "lng": at[0]}


@pytest.fixture(scope="module")
def application(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Application:
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    data = tmp_path_factory.mktemp("forms") / "data"
    copy_data(built, data)
    (data / "elevation").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    settings = Settings(data=data)
    endpoints = collect([importlib.import_module(f"mapyard.http.routes.{n}") for n in MODULES])
    return Application(Services(settings, Snapshots(settings), endpoints=endpoints), endpoints)


@pytest.fixture(scope="module")
def client(application: Application) -> Iterator[LocalClient]:
    with LocalClient(application=application) as made:
        yield made


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert error["code"] == code
    return error


# Routes


@pytest.mark.parametrize("form", [point, pair, list, lambda at: f"{at[1]},{at[0]}"])
def test_route_positions_in_every_spelling(client: LocalClient, form: Any) -> None:
    body = {"origin": form(CASINO), "destination": form(PALACE), "mode": "foot"}
    answer = client.post("/api/v1/route", json=body)
    feature = ok(answer)
    assert answer.headers["content-type"] == "application/geo+json"
    assert feature["type"] == "Feature"
    assert feature["geometry"]["type"] == "LineString"
    properties = feature["properties"]
    assert properties["distance"] == properties["distance_m"] > 900
    assert properties["duration"] == properties["duration_s"] > 600
    assert properties["mode"] == "foot"
    assert [way["name"] for way in properties["waypoints"]]
    assert all(way["distance_m"] < 50 for way in properties["waypoints"])


def test_route_with_everything_that_the_command_line_client_sends(client: LocalClient) -> None:
    body = {
        "origin": pair(CASINO), "destination": pair(PALACE), "mode": "auto", "overview": "full",
        "geometries": "geojson", "alternatives": 0, "annotations": False, "steps": False,
        "waypoints": None, "exclude": None, "depart_at": None, "ev": None, "traffic_model": None,
    }  # fmt: skip
    assert ok(client.post("/api/v1/route?format=geojson", json=body))["type"] == "Feature"


@pytest.mark.parametrize(
    "waypoints",
    [
        [pair(PORT)],
        [point(PORT)],
        {"type": "MultiPoint", "coordinates": [list(PORT)]},
        [list(PORT)],
    ],
)
def test_route_over_waypoints(client: LocalClient, waypoints: Any) -> None:
    body = {"origin": point(CASINO), "destination": point(PALACE), "waypoints": waypoints}
    properties = ok(client.post("/api/v1/route", json=body))["properties"]
    assert len(properties["legs"]) == 2
    assert len(properties["waypoints"]) == 3


def test_route_alternatives_are_a_collection(client: LocalClient) -> None:
    body = {"origin": point(CASINO), "destination": point(PALACE), "mode": "foot"}
    found = ok(client.post("/api/v1/route", json=body | {"alternatives": 3}))
    assert found["type"] == "FeatureCollection"
    assert 1 < len(found["features"]) <= 4
    assert "OpenStreetMap" in found["attribution"]


def test_route_steps_annotations_overviews_and_polylines(client: LocalClient) -> None:
    body = {"origin": point(CASINO), "destination": point(PALACE), "mode": "auto"}
    full = ok(client.post("/api/v1/route", json=body | {"steps": True, "lang": "de"}))
    steps = full["properties"]["steps"]
    assert sum(step["distance_m"] for step in steps) == pytest.approx(
        full["properties"]["distance_m"], abs=20
    )
    assert "Ziel" in steps[-1]["instruction"]
    last = full["geometry"]["coordinates"][steps[-1]["geometry_index"][1]]
    assert last == full["geometry"]["coordinates"][-1]

    noted = ok(client.post("/api/v1/route", json=body | {"annotations": True}))["properties"]
    assert sum(noted["annotations"]["distance_m"]) == pytest.approx(noted["distance_m"], rel=0.02)
    assert len(noted["edges"]) == len(noted["annotations"]["duration_s"])

    simple = ok(client.post("/api/v1/route", json=body | {"overview": "simplified"}))
    assert len(simple["geometry"]["coordinates"]) < len(full["geometry"]["coordinates"])
    none = ok(client.post("/api/v1/route", json=body | {"overview": "false"}))
    assert none["geometry"] is None
    coded = ok(client.post("/api/v1/route", json=body | {"geometries": "polyline6"}))
    assert coded["geometry"] is None
    assert isinstance(coded["properties"]["polyline"], str)


def test_route_with_heights_and_as_gpx(client: LocalClient) -> None:
    body = {"origin": point(CASINO), "destination": point(PALACE), "mode": "foot"}
    high = ok(client.post("/api/v1/route", json=body | {"elevation": True}))
    assert len(high["geometry"]["coordinates"][0]) == 3
    assert high["properties"]["elevation"]["total_descent_m"] > 0
    gpx = client.post("/api/v1/route", json=body | {"format": "gpx"})
    assert gpx.headers["content-type"].startswith("application/gpx+xml")
    assert b"<trkpt" in gpx.content
    back = client.post("/api/v1/map-match?mode=foot", content=gpx.content, headers={
        "content-type": "application/gpx+xml"
    })  # fmt: skip
    assert ok(back)["properties"]["confidence"] > 0.8  # pavements run along


def test_a_route_is_asked_for_with_a_link(client: LocalClient) -> None:
    query = "from=43.7384,7.4246&to=43.7314,7.4197&mode=bicycle"
    usual = ok(client.get(f"/api/v1/route?{query}"))["properties"]
    assert usual["assumed_time"] == "2026-06-17T12:00"
    electric = ok(client.get(f"/api/v1/route?{query}&costing[bicycle_type]=electric"))["properties"]
    assert electric["duration_s"] < usual["duration_s"]
    timed = ok(client.get(f"/api/v1/route?{query}&depart_at=2026-04-06T08:30&headings=90,null"))
    assert "assumed_time" not in timed["properties"]
    assert (
        "costing[wings]"
        in refused(client.get(f"/api/v1/route?{query}&costing[wings]=2"), 400, "invalid_request")[
            "details"
        ]
    )
    assert (
        "costing[height_m]"
        in refused(
            client.get(f"/api/v1/route?{query}&costing[height_m]=3"), 422, "validation_failed"
        )["details"]
    )
    assert (
        "depart_at"
        in refused(client.get(f"/api/v1/route?{query}&depart_at=soon"), 400, "invalid_request")[
            "details"
        ]
    )


def test_a_route_as_kml_and_its_steps_as_a_table(client: LocalClient) -> None:
    body = {"origin": point(CASINO), "destination": point(PALACE), "mode": "foot"}
    kml = client.post("/api/v1/route", json=body | {"format": "kml", "elevation": True})
    assert kml.headers["content-type"].startswith("application/vnd.google-earth.kml+xml")
    assert b"<altitudeMode>absolute" in kml.content
    table = client.post("/api/v1/route", json=body | {"format": "csv", "lang": "fr"})
    assert table.headers["content-type"].startswith("text/csv")
    rows = table.text.splitlines()
    steps = ok(client.post("/api/v1/route", json=body | {"steps": True, "lang": "fr"}))
    assert len(rows) == 1 + len(steps["properties"]["steps"])
    assert all({"voice", "banner"} <= set(step) for step in steps["properties"]["steps"])
    for name, value in (("geometries", "polyline"), ("annotations", True), ("extra_info", "toll")):
        answer = client.post("/api/v1/route", json=body | {"format": "kml", name: value})
        assert name in refused(answer, 400, "invalid_request")["details"]


def test_slopes_and_surfaces_of_a_route(client: LocalClient) -> None:
    body = {"origin": point(CASINO), "destination": point(PALACE), "mode": "foot"}
    asked = {"annotations": True, "elevation": True, "extra_info": "steepness,surface"}
    told = ok(client.post("/api/v1/route", json=body | asked))["properties"]
    grades = told["annotations"]["grade_percent"]
    assert len(grades) == len(told["edges"])
    assert max(abs(grade) for grade in grades) > 2  # it leads up and down
    assert {row["value"] for row in told["extras"]["steepness"]["summary"]} <= set(range(-5, 6))
    refused(client.post("/api/v1/route", json=body | {"extra_info": "green"}), 400,
            "invalid_request")  # fmt: skip


def test_a_route_of_an_electric_car(client: LocalClient) -> None:
    body = {"origin": point(CASINO), "destination": point(STADIUM)}
    full = ok(client.post("/api/v1/route", json=body | {"ev": {"battery_capacity_wh": 50_000}}))
    told = full["properties"]
    assert told["charging_stops"] == []
    assert told["charging_s"] == 0
    assert 200 < told["energy_used_wh"] < 2_000
    assert told["charge_profile"][0] == [0, 0.8]
    assert told["slopes_counted"] is True

    low = {"battery_capacity_wh": 4_000, "initial_charge_pct": 0.2, "min_charge_pct": 0.1}
    need = told["energy_used_wh"] / 0.1 * 0.7  # 0.7 of what the way needs is in the battery
    low["battery_capacity_wh"] = round(max(1_000, need))
    stops = ok(client.post("/api/v1/route", json=body | {"ev": low, "steps": True}))["properties"]
    (stop,) = stops["charging_stops"]
    assert stop["departure_charge_pct"] > stop["arrival_charge_pct"] >= 0.1
    assert stop["osm_type"] in ("node", "way")
    assert stops["duration_s"] == pytest.approx(stops["driving_s"] + stops["charging_s"], abs=0.2)
    assert min(charge for _, charge in stops["charge_profile"]) >= 0.1
    assert len(stops["legs"]) == 2
    for more, name in (
        ({"mode": "foot"}, "ev"), ({"alternatives": 1}, "alternatives"),
        ({"depart_at": "2026-06-17T08:30"}, "depart_at"),
    ):  # fmt: skip
        error = refused(
            client.post("/api/v1/route", json=body | {"ev": low} | more), 422, "validation_failed"
        )
        assert name in error["details"]
    for bad in ({}, {"battery_capacity_wh": 1}, low | {"min_charge_pct": 0.5},
                low | {"connector_types": ["wire"]}, low | {"range": 3}):  # fmt: skip
        answer = client.post("/api/v1/route", json=body | {"ev": bad})
        assert answer.status_code in (400, 422), answer.text
        assert any(name.startswith("ev") for name in answer.json()["error"]["details"])


def test_what_a_route_refuses(client: LocalClient) -> None:
    body = {"origin": point(CASINO), "destination": point(PALACE)}
    for name, value in (
        ("traffic_model", "best_guess"), ("exclude", "toll,primary"),
    ):  # fmt: skip
        error = refused(
            client.post("/api/v1/route", json=body | {name: value}), 422, "validation_failed"
        )
        assert name in error["details"]
    error = refused(
        client.post("/api/v1/route", json=body | {"destination": point(SEA)}), 404, "no_road_found"
    )
    assert error["details"]["index"] == 1
    refused(client.post("/api/v1/route", json={"origin": point(CASINO)}), 400, "invalid_request")
    for bad in ({"lat": 91, "lng": 0}, [181, 0], {"lat": "NaN", "lng": 7}, "x"):
        refused(client.post("/api/v1/route", json=body | {"origin": bad}), 400, "invalid_request")
    many = body | {"waypoints": [list(PORT)] * 26}
    refused(client.post("/api/v1/route", json=many), 413, "too_large")
    same = ok(
        client.post("/api/v1/route", json={"origin": point(CASINO), "destination": point(CASINO)})
    )
    assert same["properties"]["distance_m"] == 0


# Nearest


@pytest.mark.parametrize(
    ("method", "query", "body"),
    [
        ("GET", "?lat=43.7392&lng=7.4281", None),
        ("GET", "?lat=43.7392&lon=7.4281&radius=500.000000", None),
        ("POST", "?lat=43.7392&lng=7.4281&radius=500", None),
        ("POST", "", {"geometry": point(CASINO)}),
        ("POST", "?format=json", {"geometry": point(CASINO), "radius": 100}),
    ],
)
def test_nearest_in_every_form(
    client: LocalClient, method: str, query: str, body: dict[str, Any] | None
) -> None:
    answer = client.request(method, f"/api/v1/nearest{query}", json=body, headers=EMPTY)
    feature = ok(answer)
    assert feature["geometry"]["type"] == "Point"
    assert set(feature["properties"]) == {
        "distance_m", "edge_id", "edge_length_m", "highway", "name", "osm_way_id", "surface"
    }  # fmt: skip
    assert "distance" not in feature


def test_nearest_is_flat_as_well_for_libraries(client: LocalClient) -> None:
    feature = ok(client.get("/api/v1/nearest?lat=43.7392&lng=7.4281", headers=LIBRARY))
    assert feature["distance"] == feature["properties"]["distance_m"]
    assert [feature["lng"], feature["lat"]] == feature["geometry"]["coordinates"]


def test_nearest_output_options_and_bounds(client: LocalClient) -> None:
    base = "/api/v1/nearest?lat=43.7392&lng=7.4281"
    feature = ok(client.get(f"{base}&output%5Bfields%5D=name&output%5Bprecision%5D=3"))
    assert list(feature["properties"]) == ["name"]
    assert feature["geometry"]["coordinates"] == [
        round(value, 3) for value in feature["geometry"]["coordinates"]
    ]
    found = ok(client.get(f"{base}&number=3"))
    assert len(found["features"]) == 3
    for bad in ("&radius=5001", "&radius=0", "&number=11", "&mode=train"):
        refused(client.get(base + bad), 400, "invalid_request")
    refused(client.get("/api/v1/nearest?lat=43.68&lng=7.46"), 404, "no_road_found")


# Isochrones


@pytest.mark.parametrize(
    ("method", "query", "body", "kind"),
    [
        ("GET", "?lat=43.7392&lng=7.4281&time=300&mode=foot", None, "Feature"),
        ("GET", "?lat=43.7392&lng=7.4281&time=120,300&mode=foot", None, "FeatureCollection"),
        ("POST", "?lat=43.7392&lng=7.4281&time=300", None, "Feature"),
        ("POST", "", {"geometry": point(CASINO), "time": [300]}, "FeatureCollection"),
        ("POST", "", {"geometry": point(CASINO), "time": [60, 300]}, "FeatureCollection"),
        ("POST", "", {"center": point(CASINO), "time": 300}, "Feature"),
        ("POST", "", {"center": point(CASINO), "time": "60,300"}, "FeatureCollection"),
        ("POST", "", {"center": point(CASINO), "contours_minutes": "5"}, "Feature"),
        ("GET", "?lat=43.7392&lng=7.4281&time=300.5", None, "Feature"),
    ],
)
def test_isochrones_in_every_form(
    client: LocalClient, method: str, query: str, body: Any, kind: str
) -> None:
    found = ok(client.request(method, f"/api/v1/isochrone{query}", json=body, headers=EMPTY))
    assert found["type"] == kind
    features = found["features"] if kind == "FeatureCollection" else [found]
    for feature in features:
        assert feature["geometry"]["type"] in ("Polygon", "MultiPolygon")
        assert feature["properties"]["area_m2"] > 0
        assert {"time_seconds", "mode"} <= set(feature["properties"])


def test_isochrone_bounds(client: LocalClient) -> None:
    base = "/api/v1/isochrone?lat=43.7392&lng=7.4281"
    for bad in ("", "&time=0", "&time=7201", "&time=0.5", "&time=x", "&time=60&contours_minutes=1",
                "&time=60&intersections=true"):  # fmt: skip
        refused(client.get(base + bad), 400, "invalid_request")
    many = ",".join(str(60 * n) for n in range(1, 12))
    refused(client.get(f"{base}&time={many}"), 413, "too_large")
    near = ok(client.get(f"{base}&distance=300&mode=foot"))
    assert near["properties"]["distance_meters"] == 300
    bare = ok(client.get(f"{base}&time=60&output%5Bgeometry%5D=false"))
    assert bare["geometry"] is None


# Matrix


@pytest.mark.parametrize(
    "form",
    [
        lambda places: [pair(at) for at in places],
        lambda places: [point(at) for at in places],
        lambda places: {"type": "MultiPoint", "coordinates": [list(at) for at in places]},
        lambda places: [list(at) for at in places],
    ],
)
def test_matrices_in_every_form(client: LocalClient, form: Any) -> None:
    body = {
        "origins": form([CASINO, PALACE]),
        "destinations": form([PORT, CASINO, PALACE]),
        "mode": "foot",
        "annotations": "duration",
    }
    answer = client.post("/api/v1/matrix", json=body)
    found = ok(answer)
    assert answer.headers["content-type"] == "application/json"
    assert [len(row) for row in found["distances"]] == [3, 3]
    assert [len(row) for row in found["durations"]] == [3, 3]
    assert found["distances"][0][1] == 0


def test_matrix_limits(client: LocalClient) -> None:
    body = {"origins": [list(CASINO)] * 101, "destinations": [list(CASINO)] * 100}
    error = refused(client.post("/api/v1/matrix", json=body), 413, "too_large")
    assert error["details"] == {"limit": 10_000, "count": 10_100}
    body = {"origins": [list(CASINO)], "destinations": [list(SEA)]}
    assert refused(client.post("/api/v1/matrix", json=body), 404, "no_road_found")


# Map matching

TRACE = [[7.4281, 43.7392], [7.4277, 43.7389], [7.4272, 43.7386], [7.4267, 43.7383]]


def test_a_trace_is_one_line_with_a_leg_less_than_points(client: LocalClient) -> None:
    body = {"trace": {"type": "LineString", "coordinates": TRACE}, "mode": "foot"}
    found = ok(client.post("/api/v1/map-match", json=body))
    assert found["type"] == "Feature"
    assert len(found["legs"]) == len(TRACE) - 1
    assert 0 < found["properties"]["confidence"] <= 1
    assert {"distance", "duration"} <= set(found["properties"])


@pytest.mark.parametrize(
    "body",
    [
        {"coordinates": [{"lat": lat, "lng": lng} for lng, lat in TRACE]},
        {"geometry": {"type": "LineString", "coordinates": TRACE}},
    ],
)
def test_coordinates_are_a_collection_of_points(client: LocalClient, body: Any) -> None:
    asked = body | {"radiuses": [50] * 4, "mode": "foot"}
    found = ok(client.post("/api/v1/map-match", json=asked))
    assert found["type"] == "FeatureCollection"
    assert found["matchings"]
    for feature in found["features"]:
        assert set(feature["properties"]) >= {
            "distance_m", "edge_id", "matchings_index", "name", "original", "waypoint_index"
        }  # fmt: skip


def test_bad_traces(client: LocalClient) -> None:
    line = {"type": "LineString", "coordinates": TRACE}
    refused(
        client.post("/api/v1/map-match", json={"trace": line, "radiuses": [1]}), 400,
        "invalid_request",
    )  # fmt: skip
    sea = {"type": "LineString", "coordinates": [[7.46, 43.68], [7.461, 43.68]]}
    refused(client.post("/api/v1/map-match", json={"trace": sea}), 422, "validation_failed")
    refused(client.post("/api/v1/map-match", json={}), 400, "invalid_request")
    long = {"type": "LineString", "coordinates": TRACE * 2501}
    refused(client.post("/api/v1/map-match", json={"trace": long}), 413, "too_large")


# Tours


@pytest.mark.parametrize(
    "form",
    [
        lambda places: [pair(at) for at in places],
        lambda places: {"type": "MultiPoint", "coordinates": [list(at) for at in places]},
    ],
)
def test_tours_in_every_form(client: LocalClient, form: Any) -> None:
    body = {"waypoints": form([CASINO, PALACE, PORT]), "mode": "foot", "roundtrip": True}
    found = ok(client.post("/api/v1/optimize", json=body))
    assert found["type"] == "FeatureCollection"
    assert found["status"] == "completed"
    assert sorted(found["waypoint_order"]) == [0, 1, 2]
    assert [f["properties"]["waypoint_index"] for f in found["features"]] == found["waypoint_order"]
    assert found["route"]["geometry"]["type"] == "LineString"
    assert len(found["route"]["properties"]["legs"]) == 3
    assert found["total_cost_s"] == found["duration_s"]
    assert found["route"]["properties"]["duration_s"] == pytest.approx(
        found["duration_s"], rel=0.02
    )


def test_tours_with_ends(client: LocalClient) -> None:
    places = [list(at) for at in (CASINO, PALACE, PORT)]
    body = {"waypoints": places, "mode": "foot", "roundtrip": False, "source": "2"}
    found = ok(client.post("/api/v1/optimize", json=body | {"destination": "first"}))
    assert found["waypoint_order"][0] == 2
    assert found["waypoint_order"][-1] == 0
    refused(client.post("/api/v1/optimize", json=body | {"source": "9"}), 400, "invalid_request")
    refused(client.post("/api/v1/optimize", json={"waypoints": places[:1]}), 400, "invalid_request")
    many = {"waypoints": places * 40}
    refused(client.post("/api/v1/optimize", json=many), 413, "too_large")
    refused(client.get("/api/v1/optimize/none"), 404, "not_found")


# Heights


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("GET", "?lat=43.7392&lng=7.4281", None, "Point"),
        ("GET", "?locations=7.4281,43.7392", None, "list"),
        ("GET", "?locations=7.4281,43.7392%7C7.4203,43.7312", None, "list"),
        ("POST", "?lat=43.7392&lng=7.4281", None, "Point"),
        ("POST", "", {"geometry": point(CASINO)}, "Point"),
        ("POST", "", {"geometry": {"type": "MultiPoint", "coordinates": TRACE}}, "list"),
        ("POST", "", {"geometry": {"type": "LineString", "coordinates": TRACE}}, "line"),
        ("POST", "/batch", {"geometry": {"type": "MultiPoint", "coordinates": TRACE}}, "list"),
        ("POST", "/batch", {"coordinates": [pair(CASINO), pair(PALACE)]}, "list"),
        ("POST", "/profile", {"geometry": {"type": "LineString", "coordinates": TRACE}}, "line"),
        ("POST", "/profile", {"coordinates": [pair(CASINO), pair(PALACE)]}, "line"),
    ],
)
def test_heights_in_every_form(
    client: LocalClient, method: str, path: str, body: Any, kind: str
) -> None:
    found = ok(client.request(method, f"/api/v1/elevation{path}", json=body, headers=EMPTY))
    if kind == "list":
        assert found["type"] == "FeatureCollection"
        found = found["features"][0]
    if kind == "line":
        assert found["geometry"]["type"] == "LineString"
        assert {
            "min_elevation_m", "max_elevation_m", "avg_elevation_m", "total_ascent_m",
            "total_descent_m",
        } <= set(found["properties"])  # fmt: skip
        assert len(found["geometry"]["coordinates"][0]) == 3
    else:
        assert found["properties"]["elevation_m"] == found["geometry"]["coordinates"][2]
        assert 0 < found["properties"]["elevation_m"] < 200
        assert found["properties"]["source"] == ["N43E007.hgt.zip"]


def test_heights_that_are_not_there(client: LocalClient) -> None:
    refused(client.get("/api/v1/elevation?lat=10&lng=10"), 404, "no_elevation")
    mixed = ok(
        client.post("/api/v1/elevation/batch", json={"coordinates": [pair(CASINO), pair((10, 10))]})
    )
    assert mixed["features"][1]["properties"]["elevation_m"] is None
    assert len(mixed["features"][1]["geometry"]["coordinates"]) == 2
    refused(client.get("/api/v1/elevation"), 400, "invalid_request")
    polygon = {"type": "Polygon", "coordinates": [[*TRACE, TRACE[0]]]}
    refused(client.post("/api/v1/elevation", json={"geometry": polygon}), 400, "invalid_request")


def test_the_parts_that_are_missing_say_how_to_get_them(
    build_once: Callable[..., Path], tmp_path: Path
) -> None:
    built = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    settings = Settings(data=built)
    endpoints = collect([importlib.import_module(f"mapyard.http.routes.{n}") for n in MODULES])
    services = Services(settings, Snapshots(settings), endpoints=endpoints)
    with LocalClient(application=Application(services, endpoints)) as without:
        error = refused(without.get("/api/v1/nearest?lat=43.7392&lng=7.4281"), 501, "not_installed")
        assert "routing" in error["message"]
        assert error["details"] == {"part": "routing"}
        error = refused(
            without.get("/api/v1/elevation?lat=43.7392&lng=7.4281"), 501, "not_installed"
        )
        assert str(tmp_path.parent) not in json.dumps(error)


# The published client itself (S1)


def test_the_python_client_reads_its_answers(application: Application) -> None:
    async def ask() -> None:
        transport = httpx.ASGITransport(application)
        async with plaza.AsyncPlaza(
            api_key="pk_test_any",
            base_url="http://localhost:4000",
            http_client=httpx.AsyncClient(transport=transport, base_url="http://localhost:4000"),
            _strict_response_validation=False,
        ) as api:
            origin: Any = pair(CASINO)
            destination: Any = pair(PALACE)
            route = await api.v1.calculate_route(
                origin=origin, destination=destination, mode="foot"
            )
            assert route.properties is not None
            assert route.properties.distance > 900
            assert route.properties.mode == "foot"
            nearest = await api.v1.snap_to_nearest(lat=CASINO[1], lng=CASINO[0])
            assert nearest.distance < 50
            assert nearest.lat == pytest.approx(CASINO[1], abs=0.001)
            area = await api.v1.calculate_isochrone(
                lat=CASINO[1], lng=CASINO[0], time=300, mode="foot"
            )
            assert area.type == "Feature"
            matrix = await api.v1.calculate_distance_matrix(
                origins=[origin, destination], destinations=[origin], mode="foot"
            )
            assert matrix.distances[0][0] == 0
            assert matrix.durations[1][0] > 300

    asyncio.run(ask())
