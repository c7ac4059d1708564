"""Areas to walk on: lines across them, along which the engine finds its way.

Between the places where ways meet an area, and around its corners and holes, the lines of sight
that lie on a shortest way are added, under the id and with the tags of the area's own way.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.azimuthal import project
from mapyard.routing.tagging.access import read_access
from mapyard.routing.tagging.blocks import Bools, Tags
from mapyard.routing.tagging.rings import PLATFORM_KEYS, Area, Positions, Ring

type Floats = NDArray[np.float64]
type Ends = tuple[int, int]

#: Kinds of ways that people walk on, also where they are areas.
WALKED: Final = frozenset(("pedestrian", "footway", "platform", "corridor", "path"))
AREA_KEYS: Final = (*PLATFORM_KEYS, "place")
#: Places of an area between which lines are drawn; corners give way to entrances.
_MOST_PLACES: Final = 100
#: A line may leave the area by so much: positions are rounded.
_TOLERANCE_M: Final = 0.05
#: A detour of so little is none.
_LEAST_GAIN_M: Final = 0.01


def is_walked_area(tags: Tags) -> bool:
    """Return whether a closed way, or a multipolygon, is an area that people walk on."""
    if tags.get("area") == "no" or read_access(tags, "foot")[0] == "closed":
        return False
    if any(tags.get(key) == "platform" for key in PLATFORM_KEYS):
        return True
    if tags.get("place") == "square" and tags.get("highway", "pedestrian") in WALKED:
        return True
    is_area = tags.get("area") == "yes" or tags.get("type") == "multipolygon"
    return is_area and tags.get("highway") in WALKED


def draw_lines(area: Area, positions: Positions, entrances: set[int]) -> list[Ends]:
    """Return the lines that shortest ways between the entrances of an area go along."""
    rings = area.rings
    if any(node not in positions for ring in rings for node in ring):
        return []  # cut off at the extract's edge
    lon0, lat0 = positions[rings[0][0]]
    planes = [_project(ring, positions, lon0, lat0) for ring in rings]
    polygon = make_polygon(planes, len(area.outers))
    if polygon is None:
        return []
    places = _choose_places(rings, planes, len(area.outers), entrances)
    doors = np.array([node in entrances for node in places], np.bool_)
    if doors.sum() < 2:
        return []
    xy = _project(places, positions, lon0, lat0)
    bearing = shapely.buffer(polygon, _TOLERANCE_M, join_style="mitre")
    lengths_m = find_sight(bearing, xy)
    kept = _keep_on_shortest(lengths_m, doors)
    # The rim of a closed way is a way to walk on already.
    beside = _find_neighbors(area.outers) if area.is_way else set()
    return [
        (places[a], places[b])
        for a, b in np.argwhere(np.triu(kept)).tolist()
        if frozenset((places[a], places[b])) not in beside
    ]


def tag_square_line(area: Tags) -> Tags:
    """Return the tags of a line over an area: its own, but that it is an area."""
    tags = {key: value for key, value in area.items() if key not in ("area", "type", "place")}
    if tags.keys().isdisjoint(PLATFORM_KEYS):
        tags["highway"] = "pedestrian"
    return tags


def _find_neighbors(rings: list[Ring]) -> set[frozenset[int]]:
    return {frozenset(pair) for ring in rings for pair in pairwise(ring)}


def _project(nodes: Ring, positions: Positions, lon0: float, lat0: float) -> Floats:
    lonlat = np.array([positions[node] for node in nodes])
    return np.asarray(project(lonlat[:, 0], lonlat[:, 1], lon0, lat0))


def make_polygon(planes: list[Floats], outer_count: int) -> shapely.Geometry | None:
    """Return the area of rings, the outer ones first; None where there is none."""
    if any(len(plane) < 4 for plane in planes):
        return None
    parts = [shapely.make_valid(shapely.Polygon(plane)) for plane in planes]
    outer, holes = shapely.union_all(parts[:outer_count]), shapely.union_all(parts[outer_count:])
    polygon = shapely.difference(outer, holes)
    return None if polygon.is_empty else polygon


def _choose_places(
    rings: list[Ring], planes: list[Floats], outer_count: int, entrances: set[int]
) -> list[int]:
    """Return entrances, and corners that a way may have to go around, each once."""
    doors: dict[int, None] = {}
    corners: dict[int, None] = {}
    for number, (ring, plane) in enumerate(zip(rings, planes, strict=True)):
        doors |= dict.fromkeys(node for node in ring if node in entrances)
        turns = find_reflex(plane[:-1], is_hole=number >= outer_count)
        corners |= dict.fromkeys(node for node, turn in zip(ring, turns, strict=False) if turn)
    every = max(1, -(-len(doors) // _MOST_PLACES))
    chosen = list(doors)[::every]
    room = _MOST_PLACES - len(chosen)
    others = [node for node in corners if node not in doors]
    every = max(1, -(-len(others) // max(room, 1)))
    return chosen + others[::every][:room]


def find_reflex(ring: Floats, *, is_hole: bool) -> Bools:
    """Return the corners that point into the area."""
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    nxt = np.roll(ring, -1, axis=0)
    area2 = float((ring[:, 0] * nxt[:, 1] - nxt[:, 0] * ring[:, 1]).sum())
    is_reflex = turn * np.sign(area2) < 0
    return np.asarray(~is_reflex if is_hole else is_reflex)


def find_sight(polygon: shapely.Geometry, xy: Floats) -> Floats:
    """Return the meters between places that see each other over the area, else infinity."""
    count = len(xy)
    lengths_m = np.full((count, count), np.inf)
    np.fill_diagonal(lengths_m, 0.0)
    a, b = np.triu_indices(count, 1)
    shapely.prepare(polygon)
    sees = shapely.covers(polygon, shapely.linestrings(np.stack([xy[a], xy[b]], axis=1)))
    a, b = a[sees], b[sees]
    lengths_m[a, b] = lengths_m[b, a] = np.hypot(*(xy[a] - xy[b]).T)
    return lengths_m


def _keep_on_shortest(lengths_m: Floats, doors: Bools) -> Bools:
    """Return the lines that lie on a shortest way between two doors."""
    shortest_m = lengths_m.copy()
    for via in range(len(lengths_m)):  # Floyd and Warshall, a whole matrix at a time
        np.minimum(shortest_m, shortest_m[:, via, None] + shortest_m[None, via], out=shortest_m)
    between_m = shortest_m[np.ix_(doors, doors)]
    kept = np.zeros(lengths_m.shape, np.bool_)
    for a, b in np.argwhere(np.triu(np.isfinite(lengths_m) & (lengths_m > 0))).tolist():
        over_m = shortest_m[doors, a, None] + lengths_m[a, b] + shortest_m[None, b, doors]
        kept[a, b] = (over_m <= between_m + _LEAST_GAIN_M).any()
    return kept | kept.T
