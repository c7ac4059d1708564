"""One graph of all scenes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing import open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.profiles import PROFILES
from routing_graphs import open_plain
from scenarios.ascii_map import Scene, write_scenes
from scenarios.scenes import make_scenes


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scene]:
    folder: Path = tmp_path_factory.mktemp("scenes")
    made = make_scenes()
    write_scenes(made, folder / "scenes.osm.pbf")
    places = [place for scene in made for place in scene.positions.values()]
    lons, lats = zip(*places, strict=True)
    box = Bbox(min(lons), min(lats), max(lons), max(lats))
    build_graph(folder / "scenes.osm.pbf", folder / "routing", box, threads=1, chosen=PROFILES)
    engine = open_routing(folder / "routing")
    plain = open_plain(folder / "routing", folder / "plain")
    for scene in made:
        scene.engine, scene.plain = engine, plain
    return {scene.name: scene for scene in made}
