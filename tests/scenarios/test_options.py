"""What may be asked for beyond positions and a mode, each on a map of its own."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.geo.bbox import Bbox
from mapyard.routing import (
    compute_matrix,
    find_isochrones,
    find_routes,
    open_routing,
)
from mapyard.routing.avoid import write_avoided
from mapyard.routing.building.graph import build_graph
from mapyard.routing.choice import Choice
from mapyard.routing.costing import CostingOptions
from mapyard.routing.engine import Action, NoRoute
from mapyard.routing.hours import meets_hours
from mapyard.routing.modes import MODES, Mode
from mapyard.routing.stops import Stop
from mapyard.routing.times import Travel, read_travel
from scenarios.ascii_map import Scene, write_scenes

VADUZ = (9.52, 47.14)
ROAD = {"highway": "residential"}
MAIN = {"highway": "primary"}
GATE_HOURS = "Mo-Fr 06:00-12:30,14:00-22:00; Sa 08:00-18:00"
SLOW = {"highway": "residential", "maxspeed": "10"}

#: A street straight on, and another one around the block.
BLOCK = """
s a m  b t
. |    |
. |    |
. c----d
"""
#: A block whose sides are all streets.
RING = """
a--b--c
|     |
f--e--d
"""
#: Two streets lead on from a to d.
TWINS = """
. . . b
s a . . . d e t
. . . c
"""


def at(text: str) -> Travel:
    return Travel(datetime.fromisoformat(text))


def block(name: str, **tags: str) -> Scene:
    tags = {key.replace("__", ":"): value for key, value in tags.items()}
    return Scene(name, BLOCK, {"sa": ROAD, "amb": ROAD | tags, "acdb": ROAD, "bt": ROAD})


SCENES = [
    block("plain"),
    block("low", maxheight="3.5"),
    block("narrow", maxwidth="2.2"),
    block("light", maxweight="7.5"),
    block("short", maxlength="10"),
    block("axles", maxaxleload="8"),
    block("hazmat", hazmat="no"),
    block("hgv", hgv="no"),
    block("lorries", hgv="destination"),
    block("feet", maxheight="12 ft"),
    block("bus", access="no", bus="yes"),
    block("psv", access="no", psv="yes"),
    block("moped", moped="no"),
    block("motorcycle", motorcycle="no"),
    block("taxi", motor_vehicle="no", taxi="yes"),
    block("steps", highway="steps"),
    block("wheelchair", highway="footway", wheelchair="no"),
    block("alpine", highway="path", sac_scale="mountain_hiking"),
    block("gravel", highway="track", surface="gravel", tracktype="grade3"),
    block("hours", motor_vehicle__conditional="no @ (Mo-Fr 07:00-19:00)"),
    block("night", motor_vehicle__conditional="no @ (22:00-06:00)"),
    block("open", motor_vehicle="no", motor_vehicle__conditional="yes @ (06:00-10:00)"),
    block("toll", toll="yes", highway="primary"),
    Scene(
        "gate",
        BLOCK,
        {"sa": ROAD, "amb": ROAD, "acdb": ROAD, "bt": ROAD},
        nodes={
            "m": {
                "barrier": "gate",
                "opening_hours": GATE_HOURS,
            }
        },
    ),
    block("rush hours", motor_vehicle__conditional="no @ (06:30-08:30);no @ (16:30-18:30)"),
    block("passage", highway="footway", opening_hours="07:00-19:00"),
    Scene(
        "ferry",
        BLOCK,
        {
            "sa": ROAD,
            "bt": ROAD,
            "acdb": SLOW,
            "amb": {
                "route": "ferry",
                "foot": "yes",
                "bicycle": "yes",
                "motor_vehicle": "yes",
                "duration": "00:02",
                "opening_hours": "Apr-Oct 08:00-18:00",
            },
        },
    ),
    Scene(
        "gate at a crossing",
        BLOCK,
        {"sa": ROAD, "amb": ROAD, "acdb": ROAD, "bt": ROAD},
        nodes={"b": {"barrier": "lift_gate", "opening_hours": "06:00-20:00"}},
    ),
    Scene("twins", TWINS, {"sa": MAIN, "abd": MAIN, "acd": MAIN, "de": MAIN, "et": MAIN}),
    Scene(
        "oneway",
        "a   b   c   d\nw   x   y   z",
        {name: MAIN | {"oneway": "yes"} for name in ("ab", "bc", "cd")}
        | {"aw": ROAD, "bx": ROAD, "cy": ROAD, "dz": ROAD},
    ),
    Scene("ring", RING, {"abc": MAIN, "cd": MAIN, "def": MAIN, "fa": MAIN}),
]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("options")
    write_scenes(SCENES, folder / "options.osm.pbf")
    places = np.array([place for scene in SCENES for place in scene.positions.values()])
    box = Bbox(*places.min(axis=0).tolist(), *places.max(axis=0).tolist())
    build_graph(folder / "options.osm.pbf", folder / "routing", box, threads=1)
    engine = open_routing(folder / "routing")
    for scene in SCENES:
        scene.engine = engine
    return {scene.name: scene for scene in SCENES}


def passes(scene: Scene, mode: Mode, **options: object) -> str:
    """Return m for the street straight on, c for the one around the block."""
    return "m" if "m" in scene.path("st", mode, **options) else "c"


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_goes_straight_on(scenes: dict[str, Scene], mode: Mode) -> None:
    assert passes(scenes["plain"], mode) == "m"


@pytest.mark.parametrize(
    ("name", "mode", "options", "way"),
    [
        ("low", "auto", {}, "m"),
        ("low", "truck", {}, "c"),
        ("low", "truck", {"height_m": 3.2}, "m"),
        ("low", "auto", {"height_m": 3.6}, "c"),
        ("feet", "truck", {"height_m": 3.6}, "m"),
        ("feet", "truck", {"height_m": 3.7}, "c"),
        ("narrow", "truck", {}, "c"),
        ("narrow", "truck", {"width_m": 2.1}, "m"),
        ("light", "truck", {}, "c"),
        ("light", "truck", {"weight_t": 7.4}, "m"),
        ("light", "truck", {"weight_t": 7.6}, "c"),
        ("short", "truck", {}, "c"),
        ("short", "truck", {"length_m": 9}, "m"),
        ("axles", "truck", {}, "c"),
        ("axles", "truck", {"axle_load_t": 7}, "m"),
        ("hazmat", "truck", {}, "m"),
        ("hazmat", "truck", {"hazmat": True}, "c"),
        ("hgv", "truck", {}, "c"),
        ("hgv", "auto", {}, "m"),
        ("lorries", "truck", {}, "c"),
        ("lorries", "auto", {}, "m"),
        ("bus", "bus", {}, "m"),
        ("bus", "auto", {}, "c"),
        ("bus", "taxi", {}, "c"),
        ("psv", "taxi", {}, "m"),
        ("psv", "bus", {}, "m"),
        ("taxi", "taxi", {}, "m"),
        ("taxi", "auto", {}, "c"),
        ("moped", "motor_scooter", {}, "c"),
        ("moped", "motorcycle", {}, "m"),
        ("motorcycle", "motorcycle", {}, "c"),
        ("steps", "foot", {}, "m"),
        ("steps", "wheelchair", {}, "c"),
        ("wheelchair", "foot", {}, "m"),
        ("wheelchair", "wheelchair", {}, "c"),
        ("alpine", "foot", {}, "c"),
        ("alpine", "hike", {}, "m"),
        ("alpine", "foot", {"max_hiking_difficulty": 2}, "m"),
        ("gravel", "bicycle", {"bicycle_type": "road"}, "c"),
        ("gravel", "bicycle", {"bicycle_type": "mountain"}, "m"),
        ("low", "truck", {"ignore_restrictions": True}, "m"),
    ],
)
def test_vehicles_mind_their_limits(
    scenes: dict[str, Scene], name: str, mode: Mode, options: dict[str, object], way: str
) -> None:
    assert passes(scenes[name], mode, options=CostingOptions(**options)) == way  # type: ignore[arg-type]


def test_options_of_other_modes_are_refused_by_name(scenes: dict[str, Scene]) -> None:
    with pytest.raises(Unsupported, match="mode auto has no walking_speed_kmh") as caught:
        passes(scenes["plain"], "auto", options=CostingOptions(walking_speed_kmh=4))
    assert list(caught.value.details) == ["costing[walking_speed_kmh]"]


def test_speeds_are_those_asked_for(scenes: dict[str, Scene]) -> None:
    scene = scenes["plain"]
    slow = scene.route("st", "foot", options=CostingOptions(walking_speed_kmh=2.55))
    usual = scene.route("st", "foot")
    assert slow.duration_s == pytest.approx(2 * usual.duration_s, rel=0.05)
    electric = scene.route("st", "bicycle", options=CostingOptions(bicycle_type="electric"))
    assert electric.duration_s < scene.route("st", "bicycle").duration_s
    fixed = scene.route("st", options=CostingOptions(fixed_speed_kmh=10))
    assert fixed.duration_s == pytest.approx(fixed.distance_m / 10 * 3.6, rel=0.1)


@pytest.mark.parametrize(
    ("name", "when", "way"),
    [
        ("hours", None, "c"),  # noon of a working day
        ("hours", "2026-06-17T08:00", "c"),
        ("hours", "2026-06-17T21:00", "m"),
        ("hours", "2026-06-20T12:00", "m"),  # a Saturday
        ("night", None, "m"),
        ("night", "2026-06-17T23:00", "c"),
        ("night", "2026-06-17T05:30", "c"),
        ("open", None, "c"),
        ("open", "2026-06-17T07:00", "m"),
        ("open", "2026-06-17T12:00", "c"),
    ],
)
def test_rules_of_hours_hold_at_their_hours(
    scenes: dict[str, Scene], name: str, when: str | None, way: str
) -> None:
    travel = None if when is None else at(when)
    assert passes(scenes[name], "auto", travel=travel) == way
    assert passes(scenes[name], "foot", travel=travel) == "m"


@pytest.mark.parametrize(("name", "calls"), [("plain", 1), ("night", 1), ("hours", 2)])
def test_only_what_is_closed_at_noon_is_asked_for_again(
    scenes: dict[str, Scene], monkeypatch: pytest.MonkeyPatch, name: str, calls: int
) -> None:
    """A road that is closed at night is met as often as others, and costs no second search."""
    engine, asked = scenes[name].engine, list[str]()
    assert engine is not None
    assert engine.hours is not None
    monkeypatch.setattr(engine.tables, "find", lambda mode: None)
    call = engine.call

    def count(action: Action, *args: Any, **how: Any) -> Any:
        asked.append(action)
        return call(action, *args, **how)

    monkeypatch.setattr(engine, "call", count)
    passes(scenes[name], "auto")
    assert asked == ["route"] * calls


def test_within_a_closed_road_its_ends_are_not_met(scenes: dict[str, Scene]) -> None:
    hours = scenes["hours"].engine.hours  # type: ignore[union-attr]
    assert hours is not None
    assert hours.longest_m >= 100
    summary = {"has_time_restrictions": True, "length": 0.05}
    assert meets_hours({"trip": {"summary": summary}}, hours)
    away = {"min_lon": 0, "max_lon": 1, "min_lat": 0, "max_lat": 1}
    long = {"has_time_restrictions": True, "length": hours.longest_m / 1000 + 0.1} | away
    assert not meets_hours({"trip": {"summary": long, "legs": []}}, hours)


@pytest.mark.parametrize(
    ("name", "mode", "when", "way"),
    [
        ("gate", "auto", None, "m"),
        ("gate", "auto", "2026-06-17T13:00", "c"),
        ("gate", "foot", "2026-06-17T23:30", "c"),
        ("gate", "bicycle", "2026-06-20T17:00", "m"),  # a Saturday
        ("gate", "auto", "2026-06-20T20:00", "c"),
        ("gate", "auto", "2026-06-21T12:00", "c"),  # a Sunday
        ("passage", "foot", None, "m"),
        ("passage", "foot", "2026-06-17T20:00", "c"),
        ("ferry", "foot", None, "m"),
        ("ferry", "foot", "2026-06-17T20:00", "c"),
        ("ferry", "foot", "2026-12-17T12:00", "c"),
        ("rush hours", "auto", None, "m"),
        ("rush hours", "auto", "2026-06-17T07:30", "c"),
        ("rush hours", "auto", "2026-06-17T17:30", "c"),
        ("rush hours", "bicycle", "2026-06-17T17:30", "m"),
    ],
)
def test_gates_passages_and_ferries_have_hours(
    scenes: dict[str, Scene], name: str, mode: Mode, when: str | None, way: str
) -> None:
    assert passes(scenes[name], mode, travel=None if when is None else at(when)) == way


def test_nobody_gets_past_a_closed_gate(scenes: dict[str, Scene]) -> None:
    scene = scenes["gate at a crossing"]
    assert scene.route("st", travel=at("2026-06-17T12:00")).distance_m > 0
    with pytest.raises(NoRoute):
        scene.route("st", travel=at("2026-06-17T21:00"))


def test_an_arrival_is_a_time_too(scenes: dict[str, Scene]) -> None:
    by_night = Travel(datetime.fromisoformat("2026-06-17T06:01"), "arrive_by")
    assert passes(scenes["hours"], "auto", travel=by_night) == "m"
    at_noon = Travel(datetime.fromisoformat("2026-06-17T12:00"), "arrive_by")
    assert passes(scenes["hours"], "auto", travel=at_noon) == "c"


def test_times_are_local_and_of_one_kind() -> None:
    assert read_travel(None, None, VADUZ) is None
    assert read_travel("2026-06-17T08:30", None, VADUZ) == at("2026-06-17T08:30")
    for depart_at, arrive_by in (("soon", None), ("2026-06-17", "x"), ("1960-06-17T08:30Z", None)):
        with pytest.raises(InvalidRequest):
            read_travel(depart_at, arrive_by, VADUZ)


@pytest.mark.parametrize(
    ("text", "place", "local"),
    [
        ("2026-06-17T06:30Z", VADUZ, "2026-06-17T08:30"),  # summer time
        ("2026-01-17T06:30Z", VADUZ, "2026-01-17T07:30"),
        ("2026-06-17T08:30+02:00", VADUZ, "2026-06-17T08:30"),
        ("2026-06-17T23:30-05:00", VADUZ, "2026-06-18T06:30"),
        ("2026-06-17T06:30Z", (178.44, -18.14), "2026-06-17T18:30"),  # Suva
    ],
)
def test_a_time_with_an_offset_becomes_that_of_the_place(
    text: str, place: tuple[float, float], local: str
) -> None:
    assert read_travel(text, None, place) == at(local)
    arrival = read_travel(None, text, (0.0, 51.5), place)
    assert arrival is not None
    assert arrival.at == at(local).at


def test_a_heading_decides_the_first_direction(scenes: dict[str, Scene]) -> None:
    scene = scenes["ring"]
    positions = np.array([scene.positions["b"], scene.positions["c"]])
    positions[0, 0] -= 0.0003  # on the street, west of b

    def path(heading_deg: float | None) -> str:
        stops = [Stop(heading_deg=heading_deg), Stop()]
        return scene.letters(find_routes(scene.engine, positions, stops=stops)[0])  # type: ignore[arg-type]

    assert path(None) == path(90) == "bc"
    assert path(270) == "afedc"


def test_one_is_passed_without_turning_around(scenes: dict[str, Scene]) -> None:
    scene = scenes["ring"]
    stops = [Stop(), Stop(is_through=True), Stop()]
    positions = np.array([scene.positions[letter] for letter in "aba"])
    positions[1, 0] += 0.0003
    stopped = find_routes(scene.engine, positions)[0]  # type: ignore[arg-type]
    passed = find_routes(scene.engine, positions, stops=stops)[0]  # type: ignore[arg-type]
    assert scene.letters(stopped) == "aba"
    assert scene.letters(passed) == "abcdefa"
    assert len(stopped.legs) == 2
    assert len(passed.legs) == 1
    assert len(passed.waypoints) == 3
    assert passed.waypoints[1].distance_m < 1
    with pytest.raises(InvalidRequest, match="through"):
        find_routes(scene.engine, positions[:2], stops=stops[1:])  # type: ignore[arg-type]


def test_an_end_may_have_to_lie_on_one_side(scenes: dict[str, Scene]) -> None:
    """On the right of the road one drives on the right: a place north of it is reached westward."""
    scene = scenes["ring"]
    lon, lat = scene.positions["b"]
    positions = np.array([scene.positions["a"], (lon - 0.0006, lat + 0.0001)])

    def path(side: str) -> str:
        stops = [Stop(), Stop(side=side)]  # type: ignore[arg-type]
        return scene.letters(find_routes(scene.engine, positions, stops=stops)[0])  # type: ignore[arg-type]

    assert path("any") == path("opposite") == "a"
    assert path("same") == "afedcb"


def test_a_radius_is_that_of_its_position(scenes: dict[str, Scene]) -> None:
    from mapyard.routing.engine import NoRoad

    scene = scenes["ring"]
    lon, lat = scene.positions["c"]
    positions = np.array([scene.positions["a"], (lon, lat + 0.001)])
    assert find_routes(scene.engine, positions, stops=[Stop(radius_m=5), Stop()])  # type: ignore[arg-type]
    with pytest.raises(NoRoad) as caught:
        find_routes(scene.engine, positions, stops=[Stop(), Stop(radius_m=50)])  # type: ignore[arg-type]
    assert caught.value.details["index"] == 1
    assert caught.value.details["radius_m"] == 50


def test_roads_at_points_and_over_lines_and_in_areas_are_kept_off(scenes: dict[str, Scene]) -> None:
    scene = scenes["plain"]
    lon, lat = scene.positions["m"]
    assert passes(scene, "auto", avoid_points=np.array([[lon + 0.0005, lat]])) == "c"
    across = shapely.LineString([(lon + 0.0005, lat - 0.0002), (lon + 0.0005, lat + 0.0002)])
    assert passes(scene, "auto", avoid_lines=across) == "c"
    beside = shapely.LineString([(lon + 0.0005, lat + 0.0001), (lon + 0.0005, lat + 0.0002)])
    assert passes(scene, "auto", avoid_lines=beside) == "m"
    area = shapely.Point(lon, lat).buffer(0.0003)
    assert passes(scene, "auto", avoid=area) == "c"


def test_a_hole_of_an_area_may_be_entered(scenes: dict[str, Scene]) -> None:
    scene = scenes["plain"]
    west, east = scene.positions["s"][0] - 0.001, scene.positions["t"][0] + 0.001
    south, north = scene.positions["c"][1] - 0.002, scene.positions["s"][1] + 0.002
    everything = shapely.box(west - 0.01, south - 0.01, east + 0.01, north + 0.01)
    around = everything.difference(shapely.box(west, south, east, north))
    assert around.interiors
    assert passes(scene, "auto", avoid=around) == "m"
    lon, lat = scene.positions["m"]
    ring = shapely.Point(lon, lat).buffer(0.0004).difference(shapely.Point(lon, lat).buffer(0.0001))
    assert passes(scene, "auto", avoid=ring) == "c"


def test_too_many_points_to_avoid_are_too_large(scenes: dict[str, Scene]) -> None:
    with pytest.raises(TooLarge, match="avoid_points"):
        passes(scenes["plain"], "auto", avoid_points=np.zeros((201, 2)))


def test_other_roads_are_found_over_waypoints_too(scenes: dict[str, Scene]) -> None:
    scene = scenes["twins"]
    positions = np.array([scene.positions[letter] for letter in "set"])
    routes = find_routes(scene.engine, positions, alternatives=2)  # type: ignore[arg-type]
    paths = [scene.letters(route) for route in routes]
    assert sorted(paths) == ["sabdet", "sacdet"]
    assert all(len(route.legs) == 2 for route in routes)
    for route in routes:
        assert route.duration_s == pytest.approx(sum(leg.duration_s for leg in route.legs), abs=1)


@pytest.mark.parametrize(
    ("name", "mode", "choice"),
    [
        ("low", "truck", Choice()),
        ("low", "truck", Choice(CostingOptions(height_m=3.2))),
        ("low", "auto", Choice(CostingOptions(height_m=3.6))),
        ("hours", "auto", Choice()),
        ("hours", "auto", Choice(travel=at("2026-06-17T21:00"))),
        ("toll", "auto", Choice(exclude=("toll",))),
        ("wheelchair", "wheelchair", Choice()),
        ("alpine", "hike", Choice()),
        ("taxi", "taxi", Choice()),
    ],
)
def test_cells_follow_the_choice_of_roads(
    scenes: dict[str, Scene], name: str, mode: Mode, choice: Choice
) -> None:
    scene = scenes[name]
    ends = np.array([scene.positions["s"], scene.positions["t"]])
    matrix = compute_matrix(scene.engine, ends, ends, mode, choice=choice)  # type: ignore[arg-type]
    route = scene.route(
        "st", mode, options=choice.options, exclude=choice.exclude, travel=choice.travel
    )
    assert matrix.distances_m[0, 1] == pytest.approx(route.distance_m, abs=5)
    assert matrix.durations_s[0, 1] == pytest.approx(route.duration_s, abs=2)


def reaches(scene: Scene, of: str, place: str, **options: object) -> bool:
    """Return whether a node lies in the area of five minutes around another one."""
    lon, lat = scene.positions[of]
    area = find_isochrones(scene.engine, lon, lat, [300], "auto", **options)[0]  # type: ignore[arg-type]
    return bool(area.geometry.buffer(1e-4).contains(shapely.Point(scene.positions[place])))


def test_an_area_is_what_is_reached_or_from_where(scenes: dict[str, Scene]) -> None:
    scene = scenes["oneway"]
    assert reaches(scene, "b", "d")
    assert not reaches(scene, "b", "w")
    assert reaches(scene, "c", "a", toward=True)
    assert reaches(scene, "b", "w", toward=True)
    assert not reaches(scene, "b", "z", toward=True)


def test_an_area_ends_at_what_is_kept_off(scenes: dict[str, Scene]) -> None:
    scene = scenes["oneway"]
    lon, lat = scene.positions["c"]
    across = shapely.LineString([(lon - 0.0004, lat - 0.001), (lon - 0.0004, lat + 0.001)])
    choice = Choice(avoided=write_avoided(lines=across))
    assert reaches(scene, "a", "d")
    assert not reaches(scene, "a", "d", choice=choice)
