"""Every story of stories.py happens as it is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing import build_graph, open_routing
from mapyard.routing.engine import NoRoute
from scenarios.ascii_map import Scene, write_scenes
from scenarios.stories import STORIES

ASKS = [(story.sentence, ask) for story in STORIES for ask in story.asks]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("stories")
    made = [story.make_scene() for story in STORIES]
    write_scenes(made, folder / "map.osm.pbf")
    lons, lats = zip(*(at for scene in made for at in scene.positions.values()), strict=True)
    box = Bbox(min(lons), min(lats), max(lons), max(lats))
    build_graph(folder / "map.osm.pbf", folder / "routing", box, threads=1)
    engine = open_routing(folder / "routing")
    for scene in made:
        scene.engine = engine
    return {scene.name: scene for scene in made}


@pytest.mark.parametrize(("sentence", "ask"), ASKS)
def test_it_happens_as_it_is_told(told: dict[str, Scene], sentence: str, ask: str) -> None:
    found = re.fullmatch(r"(\w+) (\w+): (\w+)", ask)
    assert found is not None
    mode, stops, expected = found.groups()
    try:
        passed = told[sentence].path(stops, mode)  # type: ignore[arg-type]
    except NoRoute:
        passed = "none"
    assert passed == expected


def test_no_story_is_another_one_with_a_tag_changed() -> None:
    """That would be a row of a table (rules.py); here each has a map of its own."""
    maps = {(story.drawing, tuple(sorted(story.ways))) for story in STORIES}
    assert len(maps) == len({story.sentence for story in STORIES}) == len(STORIES)
