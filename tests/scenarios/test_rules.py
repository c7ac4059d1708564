"""Every row of every table of `rules`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing import open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.edges import find_edges
from mapyard.routing.engine import NoRoute
from scenarios.ascii_map import Scene, write_scenes
from scenarios.rules import SHEETS
from scenarios.sheets import Expected, Row, Sheet

pytestmark = pytest.mark.xdist_group("rules")

CASES = [(sheet, row) for sheet in SHEETS for row in sheet.rows]


@pytest.fixture(scope="session")
def maps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("rules")
    scenes = [scene for sheet in SHEETS for _, scene in sheet.make_scenes()]
    write_scenes(scenes, folder / "rules.osm.pbf")
    places = np.array([place for scene in scenes for place in scene.positions.values()])
    box = Bbox(*places.min(axis=0).tolist(), *places.max(axis=0).tolist())
    build_graph(folder / "rules.osm.pbf", folder / "routing", box, threads=1)
    engine = open_routing(folder / "routing")
    for scene in scenes:
        scene.engine = engine
    return {scene.name: scene for scene in scenes}


@pytest.mark.parametrize(
    ("sheet", "row"), CASES, ids=[f"{sheet.sentence}: {row.text}" for sheet, row in CASES]
)
def test_row(maps: dict[str, Scene], sheet: Sheet, row: Row) -> None:
    scene = maps[f"{sheet.sentence}: {row.text}"]
    wrong = [
        f"{one.mode}{' back' * one.back}: {found}, not {one.what}"
        for one in row.expected
        if not (found := ask(scene, sheet, one)).startswith("as expected")
    ]
    assert not wrong, f"{'; '.join(wrong)} ({row.source})"


def ask(scene: Scene, sheet: Sheet, one: Expected) -> str:
    ends = sheet.ends[::-1] if one.back else sheet.ends
    try:
        route = scene.route(ends, one.mode)
    except NoRoute:
        return "as expected" if one.what == "none" else "none"
    if "-" in one.what:
        least, most = (float(value) for value in one.what.split("-"))
        path = find_edges(scene.engine, route.positions, one.mode)  # type: ignore[arg-type]
        way_id = scene.way_ids[sheet.slot]
        speeds = [edge.speed_kmh for edge in path.edges if edge.way_id == way_id]
        if speeds and all(least <= speed <= most for speed in speeds):
            return "as expected"
        return f"{speeds} km/h"
    letters = scene.letters(route)
    others = {"m": "c", "b": "c", "c": "mb"[sheet.slot == "ab"]}
    return "as expected" if one.what in letters and others[one.what] not in letters else letters
