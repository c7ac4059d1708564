"""Clients of openrouteservice, unchanged, against this server, and the members it documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openrouteservice
import pytest
import routingpy
import shapely
from openrouteservice.exceptions import ApiError
from openrouteservice.optimization import Job, Shipment, ShipmentStep, Vehicle
from routingpy.exceptions import RouterApiError

from mapyard import forms
from mapyard.http.endpoints import collect
from members import WRONG, check
from osm_files import EXAMPLES
from servers import Server, copy_data, running

CASINO, PALACE, PORT = [7.4281, 43.7392], [7.4203, 43.7312], [7.4235, 43.7350]
SEA = [7.46, 43.60]


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("forms-ors")
    data = copy_data(monaco, folder / "data")
    (data / "elevation").mkdir(exist_ok=True)
    (data / "elevation" / "N43E007.hgt.zip").write_bytes(
        (EXAMPLES / "N43E007.hgt.zip").read_bytes()
    )
    with running(data, folder / "serve.log") as started:
        yield started


@pytest.fixture
def client(server: Server) -> openrouteservice.Client:
    """The client as it comes: it sends the key as Authorization alone."""
    return openrouteservice.Client(
        key=server.key, base_url=f"{server.address}/ors", retry_over_query_limit=False
    )


@pytest.fixture
def router(server: Server) -> routingpy.ORS:
    return routingpy.ORS(api_key=server.key, base_url=f"{server.address}/ors", retry_timeout=5)


def post(server: Server, path: str, **body: Any) -> httpx.Response:
    return httpx.post(
        f"{server.address}/ors/{path}", json=body, headers={"Authorization": server.key}, timeout=20
    )


STEP = {
    "distance": float, "duration": float, "type": int, "instruction": str, "name": str,
    "way_points": [int],
    "maneuver": {"location": [float], "bearing_before": int, "bearing_after": int},
}  # fmt: skip
SEGMENT = {
    "distance": float, "duration": float, "steps": [STEP], "detourfactor": float,
    "percentage": float, "avgspeed": float, "ascent": float, "descent": float,
}  # fmt: skip
EXTRA = {
    "values": [[int]], "summary": [{"value": int, "distance": float, "amount": float}],
}  # fmt: skip
METADATA = {
    "attribution": str, "service": str, "timestamp": int, "query": dict,
    "engine": {"version": str, "graph_date": str},
}  # fmt: skip
MEMBERS = {
    "segments": [SEGMENT], "way_points": [int],
    "summary": {"distance": float, "duration": float, "ascent": float, "descent": float},
    "extras": {"surface": EXTRA, "waytypes": EXTRA, "waycategory": EXTRA, "osmId": EXTRA},
}  # fmt: skip


def test_directions_have_every_documented_member(client: openrouteservice.Client) -> None:
    asked: dict[str, Any] = {
        "coordinates": [CASINO, PORT, PALACE], "profile": "driving-car", "elevation": True,
        "maneuvers": True, "attributes": ["avgspeed", "detourfactor", "percentage"],
        "extra_info": ["surface", "waytype", "waycategory", "osmid"],
    }  # fmt: skip
    body = client.directions(**asked, format="geojson")
    check(
        body,
        {
            "type": str, "bbox": [float], "metadata": METADATA,
            "features": [
                {
                    "type": str, "bbox": [float], "properties": MEMBERS,
                    "geometry": {"type": str, "coordinates": [[float]]},
                }
            ],
        },
    )  # fmt: skip
    feature = body["features"][0]
    line, properties = feature["geometry"]["coordinates"], feature["properties"]
    assert len(body["bbox"]) == 6
    assert line[0][:2] == pytest.approx(CASINO, abs=1e-3)
    assert line[-1][:2] == pytest.approx(PALACE, abs=1e-3)
    assert {len(place) for place in line} == {3}
    assert [properties["way_points"][0], properties["way_points"][-1]] == [0, len(line) - 1]
    segments = properties["segments"]
    assert sum(one["distance"] for one in segments) == pytest.approx(
        properties["summary"]["distance"], abs=1
    )
    assert sum(one["percentage"] for one in segments) == pytest.approx(100, abs=0.1)
    for segment in segments:
        assert [segment["steps"][0]["type"], segment["steps"][-1]["type"]] == [11, 10]
        assert sum(step["distance"] for step in segment["steps"]) == pytest.approx(
            segment["distance"], abs=2
        )
    for extra in properties["extras"].values():
        ends = [(first, last) for first, last, _ in extra["values"]]
        assert ends[0][0] == 0
        assert ends[-1][1] == len(line) - 1
        assert [first for first, _ in ends[1:]] == [last for _, last in ends[:-1]]
        assert sum(one["amount"] for one in extra["summary"]) == pytest.approx(100, abs=0.1)
    assert {value for *_, value in properties["extras"]["surface"]["values"]} >= {3}

    as_json = client.directions(**asked, format="json")
    check(
        as_json,
        {
            "bbox": [float], "metadata": METADATA,
            "routes": [{**MEMBERS, "bbox": [float], "geometry": str}],
        },
    )  # fmt: skip
    decoded = openrouteservice.convert.decode_polyline(as_json["routes"][0]["geometry"], is3d=True)[
        "coordinates"
    ]
    assert len(decoded) == len(line)
    for place, same in zip(decoded, line, strict=True):
        assert place[:2] == pytest.approx(same[:2], abs=1e-5)
        assert place[2] == pytest.approx(same[2], abs=0.051)


def test_every_profile_is_served(client: openrouteservice.Client) -> None:
    durations = {}
    for profile in (
        "driving-car", "driving-hgv", "foot-walking", "foot-hiking", "cycling-regular",
        "cycling-road", "cycling-mountain", "cycling-electric", "wheelchair",
    ):  # fmt: skip
        body = client.directions([PORT, PALACE], profile=profile)
        durations[profile] = body["routes"][0]["summary"]["duration"]
    assert durations["cycling-electric"] < durations["cycling-regular"]
    assert durations["driving-car"] < durations["foot-walking"]


def test_routingpy(router: routingpy.ORS) -> None:
    way = router.directions(
        [CASINO, PALACE], profile="driving-car", language="de", preference="shortest",
        options={"avoid_features": ["tollways", "ferries"]}, radiuses=[300, -1],
        bearings=[[218, 30], []], attributes=["avgspeed"],
    )  # fmt: skip
    assert way.geometry[0] == pytest.approx(CASINO, abs=1e-3)
    assert 1_000 < way.distance < 6_000
    steps = way.raw["features"][0]["properties"]["segments"][0]["steps"]
    assert any("Ziel" in step["instruction"] for step in steps)
    miles = router.directions([CASINO, PALACE], "driving-car", format="json", units="mi")
    meters = router.directions([CASINO, PALACE], "driving-car", format="json")
    summary = miles.raw["routes"][0]["summary"]
    assert summary["distance"] == pytest.approx(meters.distance / 1_609.344, rel=0.01)
    assert miles.geometry[0] == pytest.approx(CASINO, abs=1e-3)
    several = router.directions(
        [CASINO, PALACE], "driving-car",
        alternative_routes={"target_count": 3, "share_factor": 0.9, "weight_factor": 2},
    )  # fmt: skip
    assert len(several) >= 1
    matrix = router.matrix(
        [CASINO, PALACE, PORT], "foot-walking", sources=[0], metrics=["distance", "duration"]
    )
    assert [len(row) for row in matrix.durations] == [3]
    assert matrix.distances[0][0] == 0
    on_foot = router.directions([CASINO, PALACE], "foot-walking")
    assert on_foot.duration == pytest.approx(matrix.durations[0][1], abs=3)
    areas = router.isochrones(
        CASINO, "foot-walking", [300, 600], interval_type="time", attributes=["area"]
    )
    assert [area.interval for area in areas] == [300, 600]
    small, large = (shapely.Polygon(area.geometry) for area in areas)
    assert small.area < large.area
    assert large.contains(shapely.Point(CASINO))
    with pytest.raises(RouterApiError):
        router.directions([CASINO, SEA], "driving-car")


def test_lines_are_drawn_as_asked(server: Server) -> None:
    asked = {"coordinates": [CASINO, PALACE]}
    whole = post(server, "v2/directions/driving-car", **asked).json()["routes"][0]
    coarse = post(server, "v2/directions/driving-car", **asked, geometry_simplify=True).json()
    coarse = coarse["routes"][0]
    decode = openrouteservice.convert.decode_polyline
    line, fewer = (decode(one["geometry"])["coordinates"] for one in (whole, coarse))
    assert len(fewer) < len(line)
    for fine, rough in zip(whole["segments"], coarse["segments"], strict=True):
        for one, other in zip(fine["steps"], rough["steps"], strict=True):
            assert line[one["way_points"][0]] == fewer[other["way_points"][0]]
    bare = post(
        server, "v2/directions/driving-car", **asked, geometry=False, instructions=False
    ).json()["routes"][0]
    assert "geometry" not in bare
    assert "steps" not in bare["segments"][0]
    html = post(server, "v2/directions/driving-car", **asked, instructions_format="html").json()[
        "routes"
    ][0]
    assert any("<b>" in step["instruction"] for step in html["segments"][0]["steps"])
    gpx = post(server, "v2/directions/driving-car/gpx", **asked, elevation=True)
    assert gpx.headers["content-type"].startswith("application/gpx+xml")
    assert "<ele>" in gpx.text
    got = server.get(
        "/ors/v2/directions/driving-car",
        params={"start": "7.4281,43.7392", "end": "7.4203,43.7312"},
    ).json()
    assert len(got["features"][0]["geometry"]["coordinates"]) == len(line)


def test_options_choose_the_roads(server: Server) -> None:
    def ask(profile: str, **body: Any) -> dict[str, Any]:
        answer = post(server, f"v2/directions/{profile}", coordinates=[CASINO, PALACE], **body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["routes"][0]
        return found

    plain = ask("driving-car")["summary"]
    middle = openrouteservice.convert.decode_polyline(ask("driving-car")["geometry"])["coordinates"]
    lon, lat = middle[len(middle) // 2]
    ring = [[lon - 2e-4, lat - 2e-4], [lon + 2e-4, lat - 2e-4], [lon, lat + 2e-4],
            [lon - 2e-4, lat - 2e-4]]  # fmt: skip
    around = ask(
        "driving-car", options={"avoid_polygons": {"type": "Polygon", "coordinates": [ring]}}
    )
    assert around["summary"]["duration"] > plain["duration"]
    slow = ask("driving-car", maximum_speed=20)["summary"]
    assert slow["duration"] > plain["duration"]
    tall = {"profile_params": {"restrictions": {"height": 9.5}}}
    through_tunnels = {"coordinates": [CASINO, PALACE], "options": tall}
    answer = post(server, "v2/directions/driving-hgv", **through_tunnels)
    assert answer.json()["error"]["code"] == 2009
    assert ask("driving-hgv", options={"vehicle_type": "bus"})["summary"]["duration"] > 0
    level = {"avoid_features": ["steps"]}
    assert (
        ask("foot-walking", options=level)["summary"]["distance"]
        >= ask("foot-walking")["summary"]["distance"]
    )
    straight = post(
        server, "v2/directions/driving-car",
        coordinates=[CASINO, PORT, PALACE], continue_straight=True,
    ).json()["routes"][0]  # fmt: skip
    assert len(straight["segments"]) == 2


def test_matrix_and_snap(client: openrouteservice.Client, server: Server) -> None:
    body = client.distance_matrix(
        [CASINO, PALACE, PORT], profile="driving-car", metrics=["distance", "duration"],
        destinations=[1], resolve_locations=True, units="km",
    )  # fmt: skip
    place = {"location": [float], "snapped_distance": float, "name?": str}
    check(
        body,
        {
            "durations": [[float]], "distances": [[float]], "sources": [place],
            "destinations": [place], "metadata": METADATA,
        },
    )  # fmt: skip
    assert [len(row) for row in body["durations"]] == [1, 1, 1]
    assert 1 < body["distances"][0][0] < 6
    assert any("name" in one for one in body["sources"])
    avoided = {"avoid_features": ["highways"]}
    answer = post(server, "v2/matrix/driving-car", locations=[CASINO, PALACE], options=avoided)
    assert answer.status_code == 200, answer.text

    found = post(server, "v2/snap/driving-car", locations=[CASINO, SEA]).json()
    assert found["locations"][1] is None
    check(found["locations"][0], {"location": [float], "snapped_distance": float})
    found = post(server, "v2/snap/driving-car/geojson", locations=[CASINO, SEA]).json()
    assert [one["properties"]["source_id"] for one in found["features"]] == [0]


def test_isochrones(client: openrouteservice.Client, server: Server) -> None:
    body = client.isochrones(
        [CASINO, PALACE], profile="driving-car", range=[600], interval=300, range_type="time",
        attributes=["area"], location_type="destination",
    )  # fmt: skip
    check(
        body,
        {
            "type": str, "bbox": [float], "metadata": METADATA,
            "features": [
                {
                    "type": str, "geometry": {"type": frozenset(("Polygon",))},
                    "properties": {
                        "group_index": int, "value": float, "center": [float], "area": float,
                    },
                }
            ],
        },
    )  # fmt: skip
    found = [(one["properties"]["group_index"], one["properties"]["value"])
             for one in body["features"]]  # fmt: skip
    assert found == [(0, 300.0), (0, 600.0), (1, 300.0), (1, 600.0)]
    far = post(
        server, "v2/isochrones/foot-walking",
        locations=[CASINO], range=[0.5], range_type="distance", units="km", attributes=["area"],
        area_units="km",
    ).json()["features"][0]["properties"]  # fmt: skip
    assert far["value"] == 0.5
    assert 0.05 < far["area"] < 1


def test_optimization(client: openrouteservice.Client) -> None:
    vehicles = [Vehicle(id=1, profile="driving-car", start=CASINO, end=CASINO, capacity=[4])]
    jobs = [Job(id=1, location=PALACE, amount=[1]), Job(id=2, location=PORT, amount=[1])]
    body = client.optimization(jobs=jobs, vehicles=vehicles, geometry=True)
    check(
        body,
        {
            "code": int, "summary": {"cost": int, "duration": int, "unassigned": int},
            "unassigned": [dict],
            "routes": [{"vehicle": int, "steps": [{"type": str, "arrival": int}], "geometry": str}],
        },
    )  # fmt: skip
    assert len(body["routes"][0]["steps"]) == 4
    shipments = [
        Shipment(
            pickup=ShipmentStep(id=1, location=PORT), delivery=ShipmentStep(id=2, location=PALACE),
            amount=[1], skills=[7], priority=5,
        )
    ]  # fmt: skip
    vehicles[0].skills = [7]
    body = client.optimization(shipments=shipments, vehicles=vehicles)
    assert [step["type"] for step in body["routes"][0]["steps"]] == [
        "start", "pickup", "delivery", "end",
    ]  # fmt: skip
    ordered = client.directions(
        [CASINO, PORT, [7.4205, 43.7315], PALACE], profile="driving-car", optimize_waypoints=True
    )
    assert len(ordered["routes"][0]["segments"]) == 3


def test_heights_and_places(client: openrouteservice.Client) -> None:
    line = client.elevation_line("polyline", [CASINO, PALACE], format_out="polyline")
    assert all(0 < place[2] < 200 for place in line["geometry"])
    point = client.elevation_point("point", CASINO, format_out="point")
    assert point["geometry"] == pytest.approx(line["geometry"][0])
    found = client.pelias_search("Rue Grimaldi", size=1)
    assert found["features"][0]["properties"]["name"] == "Rue Grimaldi"
    assert client.pelias_autocomplete("Rue Grim")["features"]
    assert client.pelias_reverse(CASINO, size=1)["features"]


BODY = {"coordinates": [CASINO, PALACE]}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("v2/directions/driving-car", {}, 400, 2001),
        ("v2/directions/driving-car", {"coordinates": "here"}, 400, 2003),
        ("v2/directions/driving-car", {"coordinates": [CASINO]}, 400, 2003),
        ("v2/directions/driving-car", {"coordinates": [CASINO] * 201}, 400, 2004),
        ("v2/directions/driving-car", {"coordinates": [CASINO, SEA]}, 404, 2010),
        ("v2/directions/driving-car", {**BODY, "colour": "red"}, 400, 2012),
        ("v2/directions/driving-car", {**BODY, "options": {"colour": "red"}}, 400, 2012),
        ("v2/directions/driving-car", {**BODY, "preference": "nicest"}, 400, 2003),
        ("v2/directions/driving-car", {**BODY, "skip_segments": [1]}, 400, 2003),
        ("v2/directions/driving-car", {**BODY, "extra_info": ["green"]}, 400, 2003),
        ("v2/directions/driving-car", {**BODY, "radiuses": [1, 2, 3]}, 400, 2003),
        (
            "v2/directions/driving-car",
            {**BODY, "options": {"round_trip": {"length": 9}}},
            400,
            2003,
        ),
        ("v2/directions/driving-car", {**BODY, "options": {"avoid_countries": [1]}}, 400, 2003),
        ("v2/directions/rocket", BODY, 400, 2003),
        ("v2/directions/driving-car/kml", BODY, 400, 2007),
        ("v2/matrix/driving-car", {}, 400, 6001),
        ("v2/matrix/driving-car", {"locations": [CASINO, SEA]}, 404, 6010),
        ("v2/matrix/driving-car", {"locations": [CASINO], "colour": 1}, 400, 6011),
        ("v2/isochrones/driving-car", {"locations": [CASINO]}, 400, 3001),
        ("v2/isochrones/driving-car", {"locations": [CASINO], "range": [9999]}, 400, 3003),
        ("v2/snap/driving-car", {}, 400, 8001),
        ("v2/export/driving-car", {"bbox": [[1, 1], [2, 2]]}, 501, 7007),
    ],
)
def test_errors_have_its_codes(
    server: Server, path: str, body: dict[str, Any], status: int, code: int
) -> None:
    answer = post(server, path, **body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
    assert answer.json()["error"]["message"]


def test_clients_see_errors_as_theirs(client: openrouteservice.Client, server: Server) -> None:
    with pytest.raises(ApiError) as caught:
        client.directions([CASINO, SEA])
    assert caught.value.message["error"]["code"] == 2010
    with pytest.raises(ApiError) as caught:
        client.places("pois", bbox=[CASINO, PALACE])
    assert caught.value.status == 501
    stranger = openrouteservice.Client(key="nobody", base_url=f"{server.address}/ors")
    with pytest.raises(ApiError) as caught:
        stranger.directions([CASINO, PALACE])
    assert caught.value.status == 401
    assert isinstance(caught.value.message["error"], str)
    state = httpx.get(f"{server.address}/ors/v2/status", timeout=20).json()
    assert "driving-car" in state["profiles"]
    assert httpx.get(f"{server.address}/ors/v2/health", timeout=20).json() == {"status": "ready"}


def test_no_member_of_a_wrong_type_reaches_the_engine(server: Server) -> None:
    requests: dict[str, dict[str, Any]] = {
        "v2/directions/driving-car": BODY,
        "v2/matrix/driving-car": {"locations": [CASINO, PALACE]},
        "v2/isochrones/driving-car": {"locations": [CASINO], "range": [60]},
        "v2/snap/driving-car": {"locations": [CASINO]},
        "elevation/line": {"geometry": [CASINO, PALACE], "format_in": "polyline"},
    }
    nested = {"avoid_features", "avoid_polygons", "vehicle_type", "profile_params", "round_trip"}
    pid = server.workers()[0].pid
    with httpx.Client(base_url=f"{server.address}/ors/", timeout=20) as client:
        client.headers["Authorization"] = server.key
        for endpoint in collect(forms.load_modules()):
            path = endpoint.path.replace("{profile}", "driving-car").removeprefix("/ors/")
            request = requests.get(path.removesuffix("/json"))
            if request is None or endpoint.methods != ("POST",):
                continue
            bodies = [
                {**request, name: value}
                for name in sorted(endpoint.parser.names - {"profile"})
                for value in WRONG
            ]
            if "options" in endpoint.parser.names:
                bodies += [
                    {**request, "options": {name: value}} for name in nested for value in WRONG
                ]
            for body in bodies:
                answer = client.post(path, json=body)
                assert answer.status_code in (200, 400, 404), (path, body, answer.text)
    assert server.workers()[0].pid == pid
