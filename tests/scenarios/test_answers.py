"""What steps say of lanes, exits, signs and roundabouts, and in which words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing import find_routes, match_trace, open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.edges import find_edges
from mapyard.routing.kml import write_kml_route
from mapyard.routing.steps import LANGUAGES, Step, write_steps_csv
from mapyard.routing.trip import Route
from scenarios.ascii_map import Scene, write_scenes

#: Words of the engine's English texts.
ENGLISH = re.compile(
    r"\b(Turn|Drive|Take|Then|toward|onto|Keep|Enter|the|your|You|east|Exit|meters|Continue for)\b"
)
ROAD = {"highway": "residential"}
MAIN = {"highway": "primary", "oneway": "yes"}
MOTORWAY = {"highway": "motorway", "oneway": "yes", "ref": "A 1", "maxspeed": "120"}


def make_scenes() -> list[Scene]:
    return [
        Scene(
            "exit",
            """
            a------b------c
                    . .
                     d-----e
            """,
            {
                "ab": MOTORWAY,
                "bc": MOTORWAY,
                "bd": {"highway": "motorway_link", "oneway": "yes", "destination": "Vaduz;Triesen",
                       "destination:ref": "28"},
                "de": {"highway": "primary", "name": "Landstrasse", "ref": "28"},
            },
            nodes={"b": {"highway": "motorway_junction", "ref": "12", "name": "Kreuz Süd"}},
        ),
        Scene(
            "lanes",
            """
            . . . . d
            a - b - c - e
            . . . . f
            """,
            {
                "ab": MAIN,
                "bc": MAIN | {"lanes": "3", "turn:lanes": "left|through|through;right"},
                "ce": MAIN,
                "cd": ROAD,
                "cf": ROAD,
            },
        ),
        Scene(
            "roundabout",
            """
            . . . c
            . . . h
            a - j . k - e
            . . . m
            . . . g
            """,
            {
                "aj": ROAD | {"name": "West"}, "ch": ROAD | {"name": "North"},
                "ke": ROAD | {"name": "East"}, "mg": ROAD | {"name": "South"},
                "jmkhj": {"highway": "primary", "junction": "roundabout", "name": ""},
            },
        ),
        Scene(
            "rivals",
            """
            a-----------b
            c-----------d
            .           .
            .           .
            e-----------f
            """,
            {"ab": ROAD, "cd": ROAD, "bd": ROAD, "df": ROAD, "ef": ROAD},
        ),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("answers")
    made = make_scenes()
    write_scenes(made, folder / "map.osm.pbf")
    lons, lats = zip(*(at for scene in made for at in scene.positions.values()), strict=True)
    box = Bbox(min(lons), min(lats), max(lons), max(lats))
    build_graph(folder / "map.osm.pbf", folder / "routing", box, threads=1)
    engine = open_routing(folder / "routing")
    for scene in made:
        scene.engine = engine
    return {scene.name: scene for scene in made}


def ask(scene: Scene, stops: str, **options: object) -> Route:
    return scene.route(stops, "auto", with_steps=True, **options)


def steps_of(route: Route) -> list[Step]:
    return [step for leg in route.legs for step in leg.steps]


def test_an_exit_says_what_its_sign_says(scenes: dict[str, Scene]) -> None:
    exit_ = steps_of(ask(scenes["exit"], "ae"))[1]
    assert exit_.maneuver == "exit right"
    assert exit_.sign is not None
    assert exit_.sign.exit_number == ["12"]
    assert exit_.sign.toward == ["Vaduz", "Triesen"]
    assert exit_.sign.branch == ["28"]
    assert exit_.banner == ("28", "Vaduz / Triesen")
    straight = steps_of(ask(scenes["exit"], "ac"))
    assert all(step.sign is None or not step.sign.exit_number for step in straight)


def test_lanes_are_told_with_the_one_to_take(scenes: dict[str, Scene]) -> None:
    left = steps_of(ask(scenes["lanes"], "ad"))[1]
    assert [lane.arrows for lane in left.lanes] == [
        ["left"], ["through"], ["through", "right"]
    ]  # fmt: skip
    assert [lane.is_valid for lane in left.lanes] == [True, False, False]
    assert left.lanes[0].active == "left"
    right = steps_of(ask(scenes["lanes"], "af"))[1]
    assert [lane.is_valid for lane in right.lanes] == [False, False, True]
    assert right.lanes[2].active == "right"


@pytest.mark.parametrize(("to", "number"), [("g", 1), ("e", 2), ("c", 3)])
def test_a_roundabout_counts_its_exits(scenes: dict[str, Scene], to: str, number: int) -> None:
    enter = next(
        step
        for step in steps_of(ask(scenes["roundabout"], f"a{to}"))
        if step.maneuver == "enter roundabout"
    )
    assert enter.roundabout_exit == number


def test_bearings_lead_from_step_to_step(scenes: dict[str, Scene]) -> None:
    left = steps_of(ask(scenes["lanes"], "ad"))[1]
    assert left.maneuver == "turn left"
    assert left.bearing_before_deg == pytest.approx(90, abs=1)
    assert left.bearing_after_deg == pytest.approx(0, abs=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_speaks_its_own_words(scenes: dict[str, Scene], language: str) -> None:
    for scene, stops in (("roundabout", "ac"), ("exit", "ae"), ("lanes", "ad"), ("lanes", "af")):
        steps = steps_of(ask(scenes[scene], stops, language=language))
        english = steps_of(ask(scenes[scene], stops))
        assert [step.maneuver for step in steps] == [step.maneuver for step in english]
        for step, other in zip(steps, english, strict=True):
            texts = [step.instruction, step.voice.alert, step.voice.before, step.voice.after]
            assert step.instruction
            assert step.voice.before or step.voice.alert
            if not language.startswith("en"):
                assert step.instruction != other.instruction
                assert not [text for text in texts if text and ENGLISH.search(text)]
            if step.voice.after and step.distance_m in (100, 400):
                assert f"{step.distance_m:.0f}" in step.voice.after


def test_languages_are_thirty() -> None:
    assert len({language[:2] for language in LANGUAGES}) == 30


def test_units_change_the_words_and_not_the_figures(scenes: dict[str, Scene]) -> None:
    metric = ask(scenes["exit"], "ae")
    imperial = ask(scenes["exit"], "ae", units="imperial")
    assert imperial.distance_m == pytest.approx(metric.distance_m, abs=2)
    assert imperial.duration_s == metric.duration_s
    for one, other in zip(steps_of(imperial), steps_of(metric), strict=True):
        assert one.distance_m == pytest.approx(other.distance_m, abs=2)
    texts = [
        " ".join(step.voice.after or "" for step in steps_of(route)) for route in (metric, imperial)
    ]
    assert "meters" in texts[0]
    assert "meters" not in texts[1]
    assert "feet" in texts[1] or "mile" in texts[1]


def test_limits_are_told_per_edge(scenes: dict[str, Scene]) -> None:
    scene = scenes["exit"]
    assert scene.engine is not None
    path = find_edges(scene.engine, ask(scene, "ae").positions, "auto")
    assert [edge.maxspeed_kmh for edge in path.edges] == [120, None, None]


def test_steps_as_a_table(scenes: dict[str, Scene]) -> None:
    route = ask(scenes["exit"], "ae")
    rows = write_steps_csv((0, step) for step in steps_of(route)).splitlines()
    assert rows[0].startswith("step,leg,maneuver,instruction,name,distance_m")
    assert len(rows) == 1 + len(steps_of(route))
    assert rows[2].startswith("1,0,exit right,")
    assert rows[2].endswith(",12,Vaduz;Triesen")


def test_kml_holds_line_and_steps(scenes: dict[str, Scene]) -> None:
    from xml.etree import ElementTree

    route = ask(scenes["exit"], "ae")
    heights = np.linspace(400, 450, len(route.positions))
    tree = ElementTree.fromstring(write_kml_route(route, heights))
    space = {"k": "http://www.opengis.net/kml/2.2"}
    names = [node.text for node in tree.iterfind(".//k:Folder/k:Placemark/k:name", space)]
    assert names == [step.instruction for step in steps_of(route)]
    line = tree.find(".//k:LineString/k:coordinates", space)
    assert line is not None
    assert line.text is not None
    rows = np.array([row.split(",") for row in line.text.split()], np.float64)
    np.testing.assert_allclose(rows[:, :2], route.positions)
    np.testing.assert_allclose(rows[:, 2], heights)
    holes = heights.copy()
    holes[0] = np.nan
    assert b"absolute" not in write_kml_route(route, holes)


def test_without_steps_there_are_none(scenes: dict[str, Scene]) -> None:
    scene = scenes["exit"]
    positions = np.array([scene.positions[letter] for letter in "ae"])
    assert scene.engine is not None
    assert not steps_of(find_routes(scene.engine, positions)[0])


def test_a_match_between_two_roads_is_doubtful(scenes: dict[str, Scene]) -> None:
    """A trace in the middle of two parallel streets may be of either; a third one is far."""
    scene = scenes["rivals"]
    assert scene.engine is not None

    def match(begin: str, end: str, south_m: float) -> float:
        ends = np.array([scene.positions[begin], scene.positions[end]])
        share = np.linspace(0.05, 0.95, 30)[:, None]
        trace = ends[0] + share * (ends[1] - ends[0]) - [0.0, south_m / 111_195.0]
        radiuses = np.full(len(trace), 100.0)
        return match_trace(scene.engine, trace, radiuses_m=radiuses).confidence  # type: ignore[arg-type]

    between, beside = match("a", "b", 49.5), match("e", "f", 49.5)
    assert beside > 0.5
    assert between < 0.7 * beside
    assert match("a", "b", 20.0) == pytest.approx(match("e", "f", 20.0), rel=0.02)
