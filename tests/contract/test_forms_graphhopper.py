"""routingpy's client of GraphHopper, unchanged, and the members that GraphHopper documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import routingpy
import shapely
from routingpy.exceptions import RouterApiError
from routingpy.utils import decode_polyline5

from mapyard import forms
from mapyard.http.endpoints import collect
from members import WRONG, check
from osm_files import EXAMPLES
from servers import Server, copy_data, running

CASINO, PALACE, PORT = [7.4281, 43.7392], [7.4203, 43.7312], [7.4235, 43.7350]
SEA = [7.46, 43.60]
TRACE = [[7.4246, 43.7384], [7.4250, 43.7390], [7.4255, 43.7396]]


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("forms-graphhopper")
    data = copy_data(monaco, folder / "data")
    (data / "elevation").mkdir(exist_ok=True)
    (data / "elevation" / "N43E007.hgt.zip").write_bytes(
        (EXAMPLES / "N43E007.hgt.zip").read_bytes()
    )
    with running(data, folder / "serve.log") as started:
        yield started


@pytest.fixture
def router(server: Server) -> routingpy.Graphhopper:
    """The client as it comes: it sends the key as `key` in the query."""
    return routingpy.Graphhopper(
        api_key=server.key, base_url=f"{server.address}/graphhopper", retry_timeout=5
    )


def get(server: Server, call: str, **params: Any) -> httpx.Response:
    return server.get(f"/graphhopper/{call}", params=params)


def write(*places: list[float]) -> list[str]:
    return [f"{lat},{lon}" for lon, lat in places]


INSTRUCTION = {
    "text": str, "street_name": str, "distance": float, "time": int, "sign": int, "interval": [int],
}  # fmt: skip
PATH = {
    "distance": float, "time": int, "weight": float, "ascend": float, "descend": float,
    "points_encoded": bool, "bbox": [float], "points": {"type": str, "coordinates": [[float]]},
    "snapped_waypoints": {"type": str, "coordinates": [[float]]}, "instructions": [INSTRUCTION],
    "details": dict,
}  # fmt: skip
DETAILS = (
    "street_name", "edge_id", "osm_way_id", "road_class", "road_environment", "surface", "toll",
    "average_speed", "max_speed", "time", "distance", "leg_time", "leg_distance",
)  # fmt: skip


def test_paths_have_every_documented_member(server: Server) -> None:
    body = get(
        server, "route", point=write(CASINO, PORT, PALACE), profile="car", elevation="true",
        points_encoded="false", details=DETAILS,
    ).json()  # fmt: skip
    check(body, {"info": {"copyrights": [str], "took": int}, "paths": [PATH]})
    assert 1 <= body["info"]["took"] < 20_000
    (path,) = body["paths"]
    line, steps = path["points"]["coordinates"], path["instructions"]
    assert {len(place) for place in line} == {3}
    assert line[0][:2] == pytest.approx(CASINO, abs=1e-3)
    assert path["ascend"] > 0
    assert len(path["snapped_waypoints"]["coordinates"]) == 3
    assert [step["sign"] for step in steps if step["sign"] in (4, 5)] == [5, 4]
    assert steps[-1]["sign"] == 4
    assert (steps[-1]["distance"], steps[-1]["time"]) == (0, 0)
    assert sum(step["distance"] for step in steps) == pytest.approx(path["distance"], abs=3)
    assert sum(step["time"] for step in steps) == pytest.approx(path["time"], abs=100)
    assert steps[0]["interval"][0] == 0
    assert steps[-1]["interval"] == [len(line) - 1] * 2
    assert set(path["details"]) == set(DETAILS)
    for stretches in path["details"].values():
        assert stretches[0][0] == 0
        assert stretches[-1][1] == len(line) - 1
        assert [one[0] for one in stretches[1:]] == [one[1] for one in stretches[:-1]]
    assert sum(one[2] for one in path["details"]["leg_time"]) == pytest.approx(path["time"], abs=9)


def test_routingpy(router: routingpy.Graphhopper) -> None:
    way = router.directions(
        [CASINO, PORT, PALACE], "car", locale="de", details=["street_name"],
        headings=[218], snap_preventions=["tunnel"], curbsides=["any", "any", "any"],
        pass_through=True, points_encoded=True,
    )  # fmt: skip
    assert way.geometry[0] == pytest.approx(CASINO, abs=1e-3)
    assert way.geometry[-1] == pytest.approx(PALACE, abs=1e-3)
    assert 2_000 < way.distance < 9_000
    assert any("Ziel" in step["text"] for step in way.raw["paths"][0]["instructions"])
    climbed = router.directions([CASINO, PALACE], "car", elevation=True, points_encoded=True)
    assert {len(place) for place in climbed.geometry} == {3}
    assert all(0 < place[2] < 200 for place in climbed.geometry)
    several = router.directions(
        [CASINO, PALACE], "car", algorithm="alternative_route", alternative_route_max_paths=3,
        alternative_route_max_weight_factor=2,
    )  # fmt: skip
    assert several[0].distance > 1_000
    matrix = router.matrix([CASINO, PALACE, PORT], "foot", sources=[0], destinations=[1, 2])
    assert [len(row) for row in matrix.durations] == [2]
    whole = router.matrix([CASINO, PALACE, PORT], "foot")
    assert [row[index] for index, row in enumerate(whole.durations)] == [0, 0, 0]
    on_foot = router.directions([CASINO, PALACE], "foot")
    assert on_foot.duration == pytest.approx(matrix.durations[0][0], abs=3)
    areas = router.isochrones(CASINO, "foot", [600], buckets=2)
    assert [area.interval for area in areas] == [300, 600]
    small, large = (shapely.Polygon(area.geometry) for area in areas)
    assert small.area < large.area
    assert large.contains(shapely.Point(CASINO))
    as_features = router.isochrones(CASINO, "car", [500], type="geojson", interval_type="distance")
    assert as_features[0].geometry
    with pytest.raises(RouterApiError):
        router.directions([CASINO, SEA], "car")


def test_paths_are_drawn_as_asked(server: Server) -> None:
    def ask(**params: Any) -> dict[str, Any]:
        answer = get(server, "route", point=write(CASINO, PALACE), profile="car", **params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["paths"][0]
        return found

    plain = ask()
    fine = ask(points_encoded_multiplier=1e6)
    exact = ask(points_encoded="false")["points"]["coordinates"]
    for place, same in zip(decode_polyline5(plain["points"]), exact, strict=True):
        assert place == pytest.approx(same, abs=1e-5)
    assert len(fine["points"]) > len(plain["points"])
    assert set(ask(calc_points="false")) == {"distance", "weight", "time", "transfers"}
    assert "instructions" not in ask(instructions="false")
    gpx = get(server, "route", point=write(CASINO, PALACE), type="gpx")
    assert gpx.headers["content-type"].startswith("application/gpx+xml")
    assert gpx.text.count("<trkpt") == len(exact)
    order = httpx.post(
        f"{server.address}/graphhopper/route", params={"key": server.key}, timeout=20,
        json={
            "points": [CASINO, [7.4205, 43.7315], PORT, PALACE], "optimize": "true",
            "profile": "foot", "via_point_instructions": False,
        },
    ).json()["paths"][0]  # fmt: skip
    assert order["points_order"] == [0, 2, 1, 3]
    assert not [step for step in order["instructions"] if step["sign"] == 5]


def test_every_profile_is_served(server: Server) -> None:
    times = {}
    for one in get(server, "info").json()["profiles"]:
        body = get(server, "route", point=write(PORT, PALACE), profile=one["name"]).json()
        times[one["name"]] = body["paths"][0]["time"]
    assert times["ecargobike"] < times["bike"] < times["foot"]


def test_matches_traces(server: Server) -> None:
    points = "".join(f'<trkpt lat="{lat}" lon="{lon}"/>' for lon, lat in TRACE)
    body = f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>"

    def ask(body: str, **params: Any) -> httpx.Response:
        return httpx.post(
            f"{server.address}/graphhopper/match",
            params={"key": server.key, "profile": "foot", "points_encoded": "false", **params},
            content=body, headers={"Content-Type": "application/gpx+xml"}, timeout=20,
        )  # fmt: skip

    found = ask(body)
    assert found.status_code == 200, found.text
    check(
        found.json(),
        {
            "paths": [PATH],
            "map_matching": {"distance": float, "time": int, "original_distance": float},
        },
    )
    figures = found.json()["map_matching"]
    assert figures["distance"] == pytest.approx(figures["original_distance"], rel=0.3)
    assert "<trkpt" in ask(body, type="gpx").text
    far = "".join(
        f'<trkpt lat="{lat}" lon="{lon}"/>'
        for lon, lat in [*TRACE[:2], [7.4190, 43.7270], [7.4186, 43.7266]]
    )
    for wrong in ("nothing", "<gpx></gpx>", f"<gpx><trk><trkseg>{far[:40]}"):
        assert ask(wrong).status_code == 400


def test_geocodes(server: Server) -> None:
    hit = {"name": str, "point": {"lat": float, "lng": float}, "country": str, "osm_id": int}
    body = get(server, "geocode", q="Rue Grimaldi, Monaco", limit=2).json()
    check(body, {"hits": [hit], "locale": str})
    assert body["hits"][0]["name"] == "Rue Grimaldi"
    assert get(server, "geocode", q="rue grim", autocomplete="true").json()["hits"]
    there = get(server, "geocode", reverse="true", point="43.7384,7.4246", limit=1).json()
    assert len(there["hits"]) == 1
    near = get(server, "nearest", point="43.7384,7.4246", profile="foot", elevation="true").json()
    check(near, {"type": str, "coordinates": [float], "distance": float})
    assert len(near["coordinates"]) == 3


@pytest.mark.parametrize(
    ("call", "params"),
    [
        ("route", {"point": write(CASINO)}),
        ("route", {"point": ["here", "there"]}),
        ("route", {"point": write(*[CASINO] * 201)}),
        ("route", {"point": write(CASINO, PALACE), "profile": "rocket"}),
        ("route", {"point": write(CASINO, PALACE), "details": "colour"}),
        ("route", {"point": write(CASINO, PALACE), "algorithm": "round_trip"}),
        ("route", {"point": write(CASINO, PALACE), "curbside": "right"}),
        ("route", {"point": write(CASINO, PALACE), "heading": "500"}),
        ("route", {"point": write(CASINO, PALACE), "block_area": "1,2,3"}),
        ("route", {"point": write(CASINO, PALACE), "snap_prevention": "moon"}),
        ("isochrone", {"point": "here"}),
        ("isochrone", {"point": "43.7,7.4", "time_limit": 99_999}),
        ("isochrone", {"point": "43.7,7.4", "weight_limit": 9}),
        ("matrix", {}),
        ("matrix", {"point": write(CASINO), "from_curbsides": "left"}),
        ("geocode", {}),
        ("spt", {"point": "1,2"}),
    ],
)
def test_errors_are_its_own(server: Server, call: str, params: dict[str, Any]) -> None:
    answer = get(server, call, **params)
    assert answer.status_code == 400, answer.text
    check(answer.json(), {"message": str, "hints": [{"message": str, "details": str}]})


def test_errors_name_the_point(server: Server) -> None:
    body = get(server, "route", point=write(CASINO, SEA)).json()
    assert body["hints"][0]["point_index"] == 1
    assert body["hints"][0]["details"].endswith("PointNotFoundException")
    stranger = httpx.get(f"{server.address}/graphhopper/route", params={"key": "pk_x"}, timeout=20)
    assert (stranger.status_code, set(stranger.json())) == (401, {"message"})


def test_no_member_of_a_wrong_type_reaches_the_engine(server: Server) -> None:
    pid = server.workers()[0].pid
    requests: dict[str, dict[str, Any]] = {
        "/graphhopper/route": {"points": [CASINO, PALACE]},
        "/graphhopper/matrix": {"points": [CASINO, PALACE]},
    }
    with httpx.Client(base_url=server.address, timeout=20) as client:
        for endpoint in collect(forms.load_modules()):
            request = requests.get(endpoint.path)
            for name in sorted(endpoint.parser.names) if request else ():
                for value in WRONG:
                    body = {**(request or {}), name: value}
                    answer = client.post(endpoint.path, params={"key": server.key}, json=body)
                    assert answer.status_code in (200, 400), (endpoint.path, body, answer.text)
    assert server.workers()[0].pid == pid
