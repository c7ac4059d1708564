"""Small road maps drawn as text: letters are nodes, ways are named by their letters.

Scenes are laid side by side into one extract, so that one graph serves all tests.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import osmium
from osmium.osm import mutable

from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.routing import Engine, find_routes
from mapyard.routing.modes import Mode
from mapyard.routing.trip import Route

#: Side of a cell of the drawing.
CELL_M = 100.0
#: Where scenes lie: west of Munich, and in the English Midlands.
RIGHT_HAND = (11.0, 48.2)
LEFT_HAND = (-1.5, 52.6)
_STEP_DEG = 0.05
_SCENES_PER_LINE = 40


@dataclass
class Scene:
    """A drawing with tags.

    `ways` maps letters in order ("abc") to tags, `nodes` a letter to tags, `restrictions` holds
    (from way, via node or way, to way, tags).
    """

    name: str
    drawing: str
    ways: dict[str, dict[str, str]]
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    restrictions: list[tuple[str, str, str, dict[str, str]]] = field(default_factory=list)
    corner: tuple[float, float] = RIGHT_HAND
    #: Multipolygons: role per way, tags.
    areas: list[tuple[dict[str, str], dict[str, str]]] = field(default_factory=list)
    cell_m: float = CELL_M
    #: Filled in by `write_scenes`.
    positions: dict[str, tuple[float, float]] = field(default_factory=dict)
    way_ids: dict[str, int] = field(default_factory=dict)
    engine: Engine | None = None
    #: The same graph without what is prepared: the engine's own answers.
    plain: Engine | None = None

    def route(self, stops: str, mode: Mode = "auto", **options: object) -> Route:
        """Return the route through the named nodes; options as of `find_routes`."""
        assert self.engine is not None
        positions = np.array([self.positions[letter] for letter in stops])
        options.setdefault("radius_m", 50.0)
        return find_routes(self.engine, positions, mode, **options)[0]  # type: ignore[arg-type]

    def path(self, stops: str, mode: Mode = "auto", **options: object) -> str:
        """Return the letters of the nodes that the route passes, in order."""
        return self.letters(self.route(stops, mode, **options))

    def letters(self, route: Route) -> str:
        """Return the letters of the nodes under a route; digits are mere positions."""
        names = [name for name in self.positions if name.isalpha()]
        places = np.array([self.positions[name] for name in names])
        passed = ""
        for lon, lat in route.positions.tolist():
            away_m = haversine_m(lon, lat, places[:, 0], places[:, 1])
            nearest = int(away_m.argmin())
            if away_m[nearest] < 3.0 and not passed.endswith(names[nearest]):
                passed += names[nearest]
        return passed


def write_scenes(scenes: list[Scene], path: Path) -> None:
    """Write all scenes into one .osm.pbf file, and their positions and ids into the scenes."""
    nodes, ways, relations = [], [], []
    for index, scene in enumerate(scenes):
        west, north = scene.corner
        line, place = divmod(index, _SCENES_PER_LINE)
        west += place * _STEP_DEG
        north += line * _STEP_DEG
        ids: dict[str, int] = {}
        for row, line in enumerate(textwrap.dedent(scene.drawing).strip("\n").splitlines()):
            for column, letter in enumerate(line):
                if not letter.isalnum():
                    continue
                lat = north - row * scene.cell_m / DEGREE_M
                lon = west + column * scene.cell_m / (DEGREE_M * np.cos(np.radians(north)))
                scene.positions[letter] = (round(float(lon), 7), round(float(lat), 7))
                ids[letter] = len(nodes) + 1
                nodes.append(
                    mutable.Node(
                        id=ids[letter],
                        location=scene.positions[letter],
                        tags=scene.nodes.get(letter, {}),
                        version=1,
                    )
                )
        for letters, tags in scene.ways.items():
            scene.way_ids[letters] = len(ways) + 1
            named = {"name": f"{scene.name} {letters}"} | tags
            refs = [ids[letter] for letter in letters]
            ways.append(mutable.Way(id=len(ways) + 1, nodes=refs, tags=named, version=1))
        for start, via, end, tags in scene.restrictions:
            via_member = (
                ("n", ids[via], "via") if len(via) == 1 else ("w", scene.way_ids[via], "via")
            )
            members = [("w", scene.way_ids[start], "from"), via_member]
            members.append(("w", scene.way_ids[end], "to"))
            relations.append(
                mutable.Relation(
                    id=len(relations) + 1,
                    members=members,
                    tags={"type": "restriction"} | tags,
                    version=1,
                )
            )
        for roles, tags in scene.areas:
            members = [("w", scene.way_ids[letters], role) for letters, role in roles.items()]
            tags = {"type": "multipolygon"} | tags
            relations.append(
                mutable.Relation(id=len(relations) + 1, members=members, tags=tags, version=1)
            )
    with osmium.SimpleWriter(str(path)) as writer:
        for node in nodes:
            writer.add_node(node)
        for way in ways:
            writer.add_way(way)
        for relation in relations:
            writer.add_relation(relation)
