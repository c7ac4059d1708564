"""Regions of roads: what they hold, which one answers, and that it answers as the whole map."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import osmium
import pytest
import shapely

from fleet_agreement import Requests
from fleets import ROADS_FOLDER, Away, ask, build_roads, make_single, normalize, write_areas
from mapyard.errors import MapyardError
from mapyard.fleet.build import choose_parts
from mapyard.fleet.front import Front, Table
from mapyard.fleet.generation import Generation, Region, Split
from mapyard.fleet.host import Host
from mapyard.fleet.map import RegionMap
from mapyard.fleet.split import split_regions
from mapyard.geo.bbox import Bbox
from mapyard.http.app import Application
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshot
from mapyard.server.assembly import load_endpoints
from mapyard.settings import get_settings
from osm_files import EXAMPLES, write_osm

pytestmark = [pytest.mark.xdist_group("fleet-front"), pytest.mark.timeout(1200)]


def read_ids(folder: Path) -> set[str]:
    return {
        f"{item.type_str()}{item.id}" for item in osmium.FileProcessor(folder / "source.osm.pbf")
    }


def test_a_region_of_roads_holds_what_its_ways_are_built_of(tmp_path: Path) -> None:
    """In the west: a road over the border, a park with a pond, a turn, a country around all."""
    square = [(0, 0), (0.01, 0), (0.01, 0.01), (0, 0.01)]

    def place(first: int, x: float, y: float, side: float) -> dict[int, tuple[float, float]]:
        return {first + i: (x + dx * side, y + dy * side) for i, (dx, dy) in enumerate(square)}

    nodes: dict[int, Any] = {
        1: (1.0, 1.0), 2: (1.5, 1.0, {"barrier": "gate"}), 3: (2.5, 1.0), 4: (3.0, 1.0),
        5: (3.5, 1.0), 6: (1.2, 1.2, {"amenity": "cafe"}), 7: (1.5, 1.5),
        **place(10, 1.3, 1.3, 1.0),  # a park of 1 km, then in it and far from it:
        **place(20, 1.304, 1.304, 0.1), **place(30, 1.6, 1.8, 0.1), **place(40, 1.308, 1.308, 0.1),
        50: (0, 0), 51: (9, 0), 52: (9, 9), 53: (0, 9),
    }  # fmt: skip

    def ring(first: int) -> list[int]:
        return [first, first + 1, first + 2, first + 3, first]

    source = write_osm(
        tmp_path / "map.osm", nodes,
        {1: ([1, 2, 3], {"highway": "primary"}), 2: ([3, 4], {"highway": "primary"}),
         3: ([4, 5], {"highway": "primary"}), 4: ([2, 7], {"waterway": "river"}),
         5: (ring(10), {"leisure": "park"}), 6: (ring(20), {"building": "yes"}),
         7: (ring(30), {"building": "yes"}), 8: (ring(40), {}),
         9: (ring(50), {}), 10: ([2, 7], {"highway": "path"})},
        {1: ([("way", 1, "from"), ("node", 3, "via"), ("way", 2, "to")],
             {"type": "restriction", "restriction": "no_left_turn"}),
         2: ([("way", 8, "outer")], {"type": "multipolygon", "natural": "water"}),
         3: ([("way", 9, "outer")], {"type": "boundary", "boundary": "administrative"}),
         4: ([("way", 3, "")], {"type": "route", "route": "bus"}),
         5: ([("way", 1, ""), ("way", 3, "")], {"type": "route", "route": "bicycle"}),
         6: ([("way", 7, "outer")], {"type": "multipolygon", "natural": "water"})},
    )  # fmt: skip
    areas = write_areas(tmp_path / "roads.json", west=(0.5, 0.5, 2.0, 2.0))
    split = split_regions(
        [source], "2", tmp_path / "out", margin_m=0.0, roads=str(areas), roads_margin_m=0.0
    )
    assert [roads.name for roads in split.roads] == ["roads-west"]
    held = read_ids(tmp_path / "out" / "roads-west")
    ways = {name for name in held if name[0] == "w"}
    # Not the river, not the building far from the park, nor the roads of the east.
    assert ways == {"w1", "w5", "w6", "w8", "w9", "w10"}
    # Of the turn and of the cycle route as much as is there; all of the pond and of the country.
    assert {name for name in held if name[0] == "r"} == {"r1", "r2", "r3", "r5"}
    expected = {1, 2, 3, 7, *range(10, 14), *range(20, 24), *range(40, 44), *range(50, 54)}
    assert {name for name in held if name[0] == "n"} == {f"n{number}" for number in expected}
    # The regions have no roads of their own then.
    assert choose_parts(split, split.regions[0]) == ["text", "tiles"]
    assert choose_parts(split, split.regions[0], ["routing"]) == []
    assert choose_parts(split, split.roads[0]) == ["routing"]
    assert choose_parts(split, split.roads[0], ["text"]) == []


def test_the_region_of_roads_is_chosen_whose_border_is_farthest() -> None:
    def make(name: str, *box: float) -> Region:
        area = json.loads(shapely.to_geojson(shapely.box(*box)))
        west, south, east, north = box
        return Region(name, area, (west, south, east, north), "x", 0, "roads")

    regions = [
        make("west", -180, -90, 10, 90),
        make("east", 8, -90, 180, 90),
        make("alps", 5, 45, 15, 48),
    ]
    found = RegionMap(Generation(1, "g", "", "", 0.0, regions)).find_roads
    assert found(Bbox(7, 46, 7.1, 46.1)).name == "west"  # type: ignore[union-attr]
    assert found(Bbox(8.5, 46, 8.6, 46.1)).name == "west"  # type: ignore[union-attr]  # 1.4 to 10
    assert found(Bbox(9.5, 46, 9.6, 46.1)).name == "east"  # type: ignore[union-attr]  # 1.5 to 8
    assert found(Bbox(7, 46, 12, 46.1)).name == "alps"  # type: ignore[union-attr]
    assert found(Bbox(7, 40, 12, 46.1)) is None
    whole = make("one", -180, -90, 180, 90)
    everywhere = RegionMap(Generation(1, "g", "", "", 0.0, [*regions, whole])).find_roads
    assert everywhere(Bbox(-179, -80, 179, 80)) is whole
    assert everywhere(Bbox(7, 46, 7.1, 46.1)) is whole  # nothing is beyond its border


@pytest.fixture(scope="module")
def split(shared_folder: Path) -> tuple[Split, Path]:
    return build_roads(shared_folder), shared_folder / ROADS_FOLDER


def make_node(split: tuple[Split, Path], *names: str) -> tuple[Front, Application]:
    """Return a node of a generation with these regions of roads, all of them away."""
    made, folder = split
    settings, endpoints = get_settings(), load_endpoints()
    regions = [Region(r.name, r.area, r.grown, "x", 0, r.kind) for r in made.regions]
    replicas = {}
    for roads in made.roads:
        if roads.name in names:
            snapshot = Snapshot((folder / roads.name / "data" / "current").resolve(), settings)
            replicas[roads.name] = [Away(roads.name, Host(snapshot, settings, endpoints))]
            regions.append(Region(roads.name, roads.area, roads.grown, snapshot.id, 0, roads.kind))
    generation = Generation(
        1, "g", "", made.osm_timestamp, made.margin_m, regions, made.roads_margin_m
    )
    front = Front(settings, endpoints)
    front.table, front.is_current = Table(generation, replicas, {}), True
    application = Application(Services(settings, front, endpoints), endpoints)
    application.elsewhere = front
    return front, application


@pytest.fixture(scope="module")
def applications(split: tuple[Split, Path], monaco: Path) -> Iterator[list[Application]]:
    """One machine, a node of a fleet with both regions of roads, one with that of the west."""
    fronts = [make_node(split, "roads-all", "roads-west"), make_node(split, "roads-west")]
    yield [make_single(monaco), *(application for _, application in fronts)]
    for front, _ in fronts:
        front.close()


#: When an answer was made, and how long it took.
_MOMENT = re.compile(rb'"timestamp":\d{13}|"took":[\d.]+|"graph_date":"[^"]*"')
_HERE, _THERE = (7.4197, 43.7314), (7.4273, 43.7402)


def other_forms() -> Iterator[tuple[str, dict[str, Any], Any]]:
    (x, y), (x1, y1) = _HERE, _THERE
    at = {"lat": y, "lon": x}
    for profile, costing in (("foot", "pedestrian"), ("car", "auto")):
        yield f"/osrm/nearest/v1/{profile}/{x},{y}", {"number": 3}, None
        yield f"/osrm/table/v1/{profile}/{x},{y};{x1},{y1}", {}, None
        yield f"/osrm/trip/v1/{profile}/{x},{y};{x1},{y1}", {}, None
        yield "/graphhopper/isochrone", {"point": f"{y},{x}", "profile": profile,
                                         "time_limit": 90}, None  # fmt: skip
        yield "/graphhopper/nearest", {"point": f"{y},{x}", "profile": profile}, None
        yield "/valhalla/isochrone", {}, {"locations": [at], "costing": costing,
                                          "contours": [{"time": 2}]}  # fmt: skip
        steps = {"action": "isochrone", "contours": [{"time": 1}]}
        yield "/valhalla/expansion", {}, {"locations": [at], "costing": costing, **steps}
    yield "/ors/v2/isochrones/foot-walking", {}, {"locations": [_HERE], "range": [200]}
    yield "/ors/v2/snap/driving-car", {}, {"locations": [_HERE, _THERE], "radius": 300}
    yield "/ors/v2/matrix/foot-walking", {}, {"locations": [_HERE, _THERE]}
    jobs = [{"id": 1, "location": _THERE}, {"id": 2, "location": [7.4203, 43.7312]}]
    problem = {"vehicles": [{"id": 1, "profile": "auto", "start": _HERE}], "jobs": jobs}
    yield "/api/v1/tours", {}, problem
    problem["vehicles"] = [{"id": 1, "profile": "driving-car", "start": _HERE}]
    yield "/ors/optimization", {}, problem
    yield "/api/v1/isochrone", {"near": f"{y},{x}", "time": 300, "mode": "foot"}, None
    yield "/api/v1/route", {"origin": f"{y},{x}", "destination": f"{y1},{x1}", "edges": "true",
                            "mode": "foot"}, None  # fmt: skip


def same(one: Any, other: Any) -> bool:
    bodies = [_MOMENT.sub(b"", answer.content) for answer in (one, other)]
    return bool(one.status_code == other.status_code) and (
        bodies[0] == bodies[1] or normalize(bodies[0]) == normalize(bodies[1])
    )


def test_roads_are_answered_as_by_one_machine(
    applications: list[Application],
) -> None:
    single, fleet, _ = applications
    store: Any = single.services.snapshots.lease().part("store")
    requests = Requests(store, 18)
    names = ("route", "matrix", "nearest", "trace", "isochrone", "tour", "other_forms_of_ways")
    makers = [getattr(requests, f"make_{name}") for name in names]
    asked = [makers[number % len(makers)]() for number in range(140)]
    found_some = 0
    for path, params, body in [*asked, *other_forms()]:
        expected, found = (ask(app, path, params, body) for app in (single, fleet))
        assert same(expected, found), (path, params, body, expected.text[:900], found.text[:900])
        found_some += expected.status_code == 200
    assert found_some > 130


def test_a_region_of_roads_answers_for_what_it_holds(applications: list[Application]) -> None:
    _, fleet, west = applications
    inside = {"origin": "43.7277,7.4130", "destination": "43.7270,7.4160"}
    expected, found = (ask(app, "/api/v1/route", inside) for app in (fleet, west))
    assert expected.status_code == 200 and same(expected, found)
    outside = {"origin": "43.7277,7.4130", "destination": "43.7402,7.4273"}
    refused = ask(west, "/api/v1/route", outside)
    assert refused.status_code == 422
    message = refused.json()["error"]["message"]
    assert "roads-west" in message and "holds all positions" in message
    named = ask(west, "/api/v1/route", inside, headers={"X-Region": "roads-west"})
    assert named.status_code == 200
    # As far as five minutes by car may lead, the west is not known.
    reach = ask(west, "/api/v1/isochrone", {"near": "43.7277,7.4130", "time": 300})
    assert reach.status_code == 422
    # What cannot be read is nowhere, and what is wrong with it is said.
    gone = ask(west, "/ors/v2/directions/driving-car", {"start": "x", "end": "7.42,43.73"})
    assert gone.status_code == 400 and "start" in gone.text


def test_no_two_datasets_have_one_name(tmp_path: Path) -> None:
    areas = write_areas(tmp_path / "a.json", **{"roads-west": (7.3, 43.6, 7.6, 43.9)})
    roads = write_areas(tmp_path / "b.json", west=(7.3, 43.6, 7.6, 43.9))
    with pytest.raises(MapyardError, match="no region may be called roads-west"):
        split_regions([EXAMPLES / "monaco.osm.pbf"], str(areas), tmp_path / "out", roads=str(roads))
