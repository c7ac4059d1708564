"""Every map of `maps/*.txt` behaves as it is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing import open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.modes import TABLE_MODES
from routing_graphs import open_plain
from scenarios.ascii_map import Scene, write_scenes
from scenarios.asking import answer
from scenarios.storybook import read_stories

pytestmark = pytest.mark.xdist_group("stories")

STORIES = read_stories()
ASKS = [(story, ask) for story in STORIES for ask in story.asks]


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("stories")
    made = [story.make_scene() for story in STORIES]
    write_scenes(made, folder / "map.osm.pbf")
    lons, lats = zip(*(at for scene in made for at in scene.positions.values()), strict=True)
    box = Bbox(min(lons), min(lats), max(lons), max(lats))
    build_graph(folder / "map.osm.pbf", folder / "routing", box, threads=1)
    engine = open_routing(folder / "routing")
    plain = open_plain(folder / "routing", folder / "plain")
    for scene in made:
        scene.engine, scene.plain = engine, plain
    return {scene.name: scene for scene in made}


@pytest.mark.parametrize(
    ("sentence", "ask", "sources"),
    [(story.sentence, ask, story.sources) for story, ask in ASKS],
    ids=[f"{story.theme}: {story.sentence}: {ask}" for story, ask in ASKS],
)
def test_it_happens_as_it_is_told(
    told: dict[str, Scene], sentence: str, ask: str, sources: list[str]
) -> None:
    found, expected = answer(told[sentence], ask)
    assert found == expected, sources


def test_every_mode_has_a_matrix_of_all_maps(told: dict[str, Scene]) -> None:
    """Else nothing above would have asked it."""
    engine = next(iter(told.values())).engine
    assert engine is not None
    for mode in TABLE_MODES:
        table = engine.tables.find(mode)
        assert table is not None
        assert table.reach_m == np.inf
