"""Squares, platforms and pedestrian areas are crossed on foot, around what stands on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing import open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.contraction.tiles import read_graph
from mapyard.routing.edges import find_edges
from mapyard.routing.tagging.lines import find_lines
from scenarios.ascii_map import Scene, write_scenes

ROAD = {"highway": "residential"}
SQUARE = {"highway": "pedestrian", "area": "yes"}

#: Streets lead to two corners of a square.
CORNERS = """
s a . . b
  .     .
  .     .
  d . . c t
"""
#: A fountain in the middle.
FOUNTAIN = """
s a . . . . . b
  . . e f . . .
  . . h g . . .
  d . . . . . c t
"""
#: The way from one arm to the other leads around the inner corner.
ANGLE = """
s a b
  . .
  . c . d
  f . . e t
"""
#: Two squares share a side.
NEIGHBORS = """
s a . b . c
  .   .   .
  f . e . d t
"""

SCENES = [
    Scene("square", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": SQUARE}),
    Scene("footway", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": SQUARE | {"highway": "footway"}}),
    Scene(
        "platform", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": {"railway": "platform"}}
    ),
    Scene(
        "stop", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": {"public_transport": "platform"}}
    ),
    Scene("place", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": {"place": "square"}}),
    Scene("paved place", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": {"place": "square",
                                                                     "highway": "pedestrian"}}),
    Scene("street on the rim", CORNERS, {"sab": ROAD, "ct": ROAD, "abcda": {"place": "square"}}),
    Scene("two places", NEIGHBORS, {"sa": ROAD, "dt": ROAD, "abefa": {"place": "square"},
                                    "bcdeb": {"place": "square"}}),
    Scene("island", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": {"place": "islet"}}),
    Scene("rim", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": {"highway": "pedestrian"}}),
    Scene("closed", CORNERS, {"sa": ROAD, "ct": ROAD, "abcda": SQUARE | {"foot": "no"}}),
    Scene("angle", ANGLE, {"sa": ROAD, "et": ROAD, "abcdefa": SQUARE}),
    Scene("neighbors", NEIGHBORS, {"sa": ROAD, "dt": ROAD, "abefa": SQUARE, "bcdeb": SQUARE}),
    Scene(
        "fountain",
        FOUNTAIN,
        {"sa": ROAD, "ct": ROAD, "abc": {}, "cda": {}, "efghe": {}},
        areas=[({"abc": "outer", "cda": "outer", "efghe": "inner"}, SQUARE)],
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("squares")
    write_scenes(SCENES, folder / "squares.osm.pbf")
    places = np.array([place for scene in SCENES for place in scene.positions.values()])
    box = Bbox(*places.min(axis=0).tolist(), *places.max(axis=0).tolist())
    build_graph(folder / "squares.osm.pbf", folder / "routing", box, threads=1)
    engine = open_routing(folder / "routing")
    for scene in SCENES:
        scene.engine = engine
    return {scene.name: scene for scene in SCENES}


@pytest.mark.parametrize("name", ["square", "footway", "platform", "stop", "place", "paved place"])
def test_a_square_is_crossed_from_corner_to_corner(squares: dict[str, Scene], name: str) -> None:
    scene = squares[name]
    assert scene.path("st", "foot") == "sact"
    assert scene.path("ts", "foot") == "tcas"
    assert scene.route("ac", "foot").distance_m == pytest.approx(np.hypot(600, 300), rel=0.01)


def test_a_circular_footway_is_no_area(squares: dict[str, Scene]) -> None:
    assert squares["rim"].path("st", "foot") in ("sabct", "sadct")


def test_only_places_that_are_squares_are_crossed(squares: dict[str, Scene]) -> None:
    from mapyard.routing.engine import NoRoute

    with pytest.raises(NoRoute):  # an islet is none
        squares["island"].path("st", "foot")
    scene = squares["place"]
    with pytest.raises(NoRoute):  # and cars do not cross one
        scene.path("st", "auto")


def test_the_rim_of_a_square_place_is_walked_along(squares: dict[str, Scene]) -> None:
    """Nothing makes it a way but the square itself, whose id it has."""
    scene = squares["place"]
    route = scene.route("ac", "foot")
    path = find_edges(scene.engine, route.positions, "foot")  # type: ignore[arg-type]
    assert {edge.way_id for edge in path.edges} == {scene.way_ids["abcda"]}


def test_no_line_lies_on_another_way(squares: dict[str, Scene], tmp_path: Path) -> None:
    """Two edges of one length between two nodes are told apart by nobody."""
    assert squares["street on the rim"].path("st", "foot") == "sact"
    assert squares["two places"].path("st", "foot") in ("sabdt", "saedt")
    scenes = [
        Scene(scene.name, scene.drawing, scene.ways)
        for scene in SCENES
        if scene.name in ("street on the rim", "two places")
    ]
    write_scenes(scenes, tmp_path / "two.osm.pbf")
    drawn = [line.ends for line in find_lines(tmp_path / "two.osm.pbf", tmp_path)]
    street = [number for number, letter in enumerate(scenes[0].positions, 1) if letter in "ab"]
    pairs = [frozenset(ends) for ends in drawn]
    assert frozenset(street) not in pairs
    assert len(pairs) == len(set(pairs)) > 5
    places = np.array([place for scene in scenes for place in scene.positions.values()])
    box = Bbox(*places.min(axis=0).tolist(), *places.max(axis=0).tolist())
    build_graph(tmp_path / "two.osm.pbf", tmp_path / "routing", box, threads=1)
    assert len(read_graph(tmp_path / "routing" / "tiles.tar").end)


def test_a_closed_square_is_not_entered(squares: dict[str, Scene]) -> None:
    from mapyard.routing.engine import NoRoute

    with pytest.raises(NoRoute):
        squares["closed"].route("st", "foot")


def test_the_way_leads_around_an_inner_corner(squares: dict[str, Scene]) -> None:
    assert squares["angle"].path("st", "foot") == "sacet"


def test_the_way_leads_around_what_stands_on_a_square(squares: dict[str, Scene]) -> None:
    scene = squares["fountain"]
    assert scene.path("st", "foot") in ("safct", "sahct")


def test_a_way_leads_over_two_squares(squares: dict[str, Scene]) -> None:
    assert squares["neighbors"].path("st", "foot") in ("sabdt", "saedt")


def test_the_ids_of_lines_lead_back_to_the_square(squares: dict[str, Scene]) -> None:
    scene = squares["square"]
    assert scene.engine is not None
    route = scene.route("st", "foot")
    path = find_edges(scene.engine, route.positions, "foot")
    assert scene.way_ids["abcda"] in {edge.way_id for edge in path.edges}
    assert {edge.way_id for edge in path.edges} <= set(scene.way_ids.values())
    names = {edge.name for edge in path.edges if edge.way_id == scene.way_ids["abcda"]}
    assert names == {"square abcda"}
