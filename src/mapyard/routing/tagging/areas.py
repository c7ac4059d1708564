"""Areas to walk on: lines across them, along which the engine finds its way.

Between the places where ways meet an area, and around its corners and holes, the lines of sight
that lie on a shortest way are added, under the id and with the tags of the area's own way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

import numpy as np
import osmium
import shapely
from numpy.typing import NDArray

from mapyard.geo.azimuthal import project
from mapyard.osm.pbf import iter_positions
from mapyard.routing.tagging.access import read_access

type Tags = dict[str, str]
type Ring = Sequence[int]
type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]

#: One degree in stored units.
E7: Final = 10_000_000
#: Kinds of ways that people walk on, also where they are areas.
WALKED: Final = frozenset(("pedestrian", "footway", "platform", "corridor", "path"))
_PLATFORM_KEYS: Final = ("railway", "public_transport", "highway")
AREA_KEYS: Final = (*_PLATFORM_KEYS, "place")
#: Places of an area between which lines are drawn; corners give way to entrances.
_MOST_PLACES: Final = 100
#: A line may leave the area by so much: positions are rounded.
_TOLERANCE_M: Final = 0.05
#: A detour of so little is none.
_LEAST_GAIN_M: Final = 0.01


@dataclass(slots=True)
class Area:
    """An area to walk on, as rings of node ids: the outer ones, then the holes."""

    way_id: int
    tags: Tags
    outers: list[Ring]
    holes: list[Ring] = field(default_factory=list)
    #: The ways of a multipolygon, which are no ways to walk on by themselves.
    members: set[int] = field(default_factory=set)

    @property
    def is_way(self) -> bool:
        """Return whether its rim is a way to walk on already."""
        return not self.members and not self.tags.keys().isdisjoint(_PLATFORM_KEYS)


@dataclass(frozen=True, slots=True)
class Line:
    """A line across an area, between two of its nodes."""

    ends: tuple[int, int]
    tags: Tags


def is_walked_area(tags: Tags) -> bool:
    """Return whether a closed way, or a multipolygon, is an area that people walk on."""
    if tags.get("area") == "no" or read_access(tags, "foot")[0] == "closed":
        return False
    if any(tags.get(key) == "platform" for key in _PLATFORM_KEYS):
        return True
    if tags.get("place") == "square" and tags.get("highway", "pedestrian") in WALKED:
        return True
    is_area = tags.get("area") == "yes" or tags.get("type") == "multipolygon"
    return is_area and tags.get("highway") in WALKED


def find_square_lines(pbf: Path, areas: list[Area], positions: Positions) -> dict[int, list[Line]]:
    """Return the lines across areas that are walked on, by the id of the way they belong to."""
    if not areas:
        return {}
    rims = {node for area in areas for ring in (*area.outers, *area.holes) for node in ring}
    entrances, taken = _find_entrances(pbf, areas, rims)
    lines: dict[int, list[Line]] = {}
    for area in areas:
        # Where a street runs along the rim, or two areas touch, one edge between two nodes is
        # enough: the engine tells the edges back apart by their ends and lengths.
        found = [
            line
            for line in draw_lines(area, positions, entrances)
            if frozenset(line.ends) not in taken
        ]
        taken.update(frozenset(line.ends) for line in found)
        if found:
            lines.setdefault(area.way_id, []).extend(found)
    return lines


def read_areas(pbf: Path, keys: tuple[str, ...], is_wanted: Callable[[Tags], bool]) -> list[Area]:
    """Return the closed ways and multipolygons with one of the keys that are wanted."""
    areas: list[Area] = []
    relations: list[tuple[Tags, list[tuple[int, str]]]] = []
    found = osmium.FileProcessor(pbf, osmium.osm.WAY | osmium.osm.RELATION).with_filter(
        osmium.filter.KeyFilter(*keys)
    )
    for one in found:
        if isinstance(one, osmium.osm.Relation):
            tags = dict(one.tags)
            if tags.get("type") == "multipolygon" and is_wanted(tags):
                ways = [(member.ref, member.role) for member in one.members if member.type == "w"]
                relations.append((tags, ways))
        elif isinstance(one, osmium.osm.Way) and one.is_closed():
            tags = dict(one.tags)
            if is_wanted(tags):
                areas.append(Area(one.id, tags, [[node.ref for node in one.nodes]]))
    rings = _read_rings(pbf, {ref for _, ways in relations for ref, _ in ways})
    for tags, ways in relations:
        known = [(ref, role) for ref, role in ways if ref in rings]
        outers = join_rings([rings[ref] for ref, role in known if role != "inner"])
        holes = join_rings([rings[ref] for ref, role in known if role == "inner"])
        if outers:
            way_id = next(ref for ref, role in known if role != "inner")
            areas.append(Area(way_id, tags, outers, holes, {ref for ref, _ in ways}))
    return areas


def _read_rings(pbf: Path, ids: set[int]) -> dict[int, Ring]:
    # osmium's own filters take a bit for every id there may be: a gigabyte for a small country.
    ways = osmium.FileProcessor(pbf, osmium.osm.WAY) if ids else ()
    return {
        way.id: [node.ref for node in way.nodes]
        for way in cast("Iterable[osmium.osm.Way]", ways)
        if way.id in ids
    }


def join_rings(ways: list[Ring]) -> list[Ring]:
    """Return closed rings out of ways that share ends; what stays open is left out."""
    rings = [way for way in ways if way[0] == way[-1]]
    open_ = [way for way in ways if way[0] != way[-1]]
    while open_:
        ring = list(open_.pop())
        while ring[0] != ring[-1]:
            at = next((n for n, way in enumerate(open_) if ring[-1] in (way[0], way[-1])), None)
            if at is None:
                break
            way = open_.pop(at)
            ring += way[1:] if way[0] == ring[-1] else way[-2::-1]
        if ring[0] == ring[-1]:
            rings.append(ring)
    return rings


class Positions(Mapping[int, tuple[float, float]]):
    """The lon, lat of nodes by id, in a tenth of what a dictionary takes."""

    def __init__(self, ids: NDArray[np.int64], lon: Floats, lat: Floats) -> None:
        """Take nodes in the order of their ids."""
        self._columns = ids, lon, lat
        self._ids, self._lon, self._lat = memoryview(ids), memoryview(lon), memoryview(lat)

    def __getitem__(self, node: int) -> tuple[float, float]:
        at = bisect_left(self._ids, node)
        if at == len(self._ids) or self._ids[at] != node:
            raise KeyError(node)
        return self._lon[at], self._lat[at]

    def __contains__(self, node: object) -> bool:
        at = bisect_left(self._ids, cast("int", node))
        return at < len(self._ids) and self._ids[at] == node

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def join(self, others: Positions) -> Positions:
        """Return these and those of other nodes."""
        ids, lon, lat = (
            np.concatenate(pair) for pair in zip(self._columns, others._columns, strict=True)
        )
        order = np.argsort(ids)
        return Positions(ids[order], lon[order], lat[order])


def read_positions(pbf: Path, ids: set[int]) -> Positions:
    """Return the lon, lat of nodes; those that the file lacks are left out."""
    wanted = np.sort(np.fromiter(ids, np.int64, len(ids)))
    parts = [(wanted[:0], np.empty(0), np.empty(0))]
    for of_block, lon, lat in iter_positions(pbf):
        if not len(of_block):
            continue
        first, stop = np.searchsorted(wanted, (of_block[0], of_block[-1] + 1))
        some = wanted[first:stop]
        place = np.searchsorted(of_block, some)
        there = of_block[np.minimum(place, len(of_block) - 1)] == some
        at = place[there]
        parts.append((some[there], lon[at] / E7, lat[at] / E7))
    return Positions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _find_entrances(
    pbf: Path, areas: list[Area], rims: set[int]
) -> tuple[set[int], set[frozenset[int]]]:
    """Return the nodes of rims that another way leads to, or another area shares.

    With them come the pairs of nodes of rims between which a way leads already.
    """
    met: set[int] = set()
    entrances: set[int] = set()
    taken: set[frozenset[int]] = set()
    for area in areas:
        if not area.is_way:
            nodes = {node for ring in (*area.outers, *area.holes) for node in ring}
            entrances |= nodes & met
            met |= nodes
    members = {way_id for area in areas for way_id in area.members}
    ways = osmium.FileProcessor(pbf, osmium.osm.WAY).with_filter(
        osmium.filter.KeyFilter(*_PLATFORM_KEYS)
    )
    for way in cast("Iterable[osmium.osm.Way]", ways):
        refs = [node.ref for node in way.nodes]
        if rims.isdisjoint(refs):
            continue
        taken |= {frozenset(pair) for pair in pairwise(refs) if rims.issuperset(pair)}
        if way.id not in members:
            nodes = rims.intersection(refs)
            entrances |= nodes & met
            met |= nodes
    return entrances, taken


def draw_lines(area: Area, positions: Positions, entrances: set[int]) -> list[Line]:
    """Return the lines that shortest ways between the entrances of an area go along."""
    rings = [*area.outers, *area.holes]
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
    tags = {key: value for key, value in area.tags.items() if key not in ("area", "type", "place")}
    beside = _find_neighbors(area.outers) if area.is_way else set()
    if tags.keys().isdisjoint(_PLATFORM_KEYS):
        tags["highway"] = "pedestrian"
    return [
        Line((places[a], places[b]), tags)
        for a, b in np.argwhere(np.triu(kept)).tolist()
        if frozenset((places[a], places[b])) not in beside
    ]


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
