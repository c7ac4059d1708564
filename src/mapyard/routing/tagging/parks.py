"""Parks: lines over their lawns, where the ways around are much longer.

People step off the paths of a park, and cross it in sight of each other's ends, but not over what
stands, flows or grows there: buildings, water, woods, pitches, walls, fences, main roads. So these
are cut out, and between the nodes of the ways in a park, lines of sight around them are added where
no way between the same nodes is less than a third longer. Heights are not looked at.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final, cast

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.azimuthal import project
from mapyard.routing.tagging.access import read_access
from mapyard.routing.tagging.areas import Ends, find_reflex, find_sight, make_polygon
from mapyard.routing.tagging.around import Around
from mapyard.routing.tagging.blocks import Ints, Tags
from mapyard.routing.tagging.rings import Area, Positions, Ring, join_rings
from mapyard.store.columns import ranges

type Floats = NDArray[np.float64]
#: Neighbors of a node, and the meters to them.
type Network = dict[int, dict[int, float]]

_MOST_DOORS, _MOST_CORNERS = 60, 40
#: Between two junctions one leaves a path at steps of this.
_STEP_M: Final = 20.0
#: Lines that are kept apart from the sorted ones.
_MOST_LATEST: Final = 5_000
#: A line may leave the lawn by so much: positions are rounded.
_TOLERANCE_M: Final = 0.05
#: What is drawn as a line is half as thick at least, meters.
_THICK_M: Final = 0.5
#: A line is added where all ways are longer by so much.
_MOST_STRETCH: Final = 4 / 3
_LEAST_GAIN_M: Final = 20.0


def is_park(tags: Tags) -> bool:
    """Return whether a closed way, or a multipolygon, is a park that anyone may walk in."""
    state = read_access(tags, "foot")[0]
    return (
        tags.get("leisure") in ("park", "common")
        and state in (None, "open")
        and tags.get("fee", "no") == "no"
        and "highway" not in tags
        and "place" not in tags
    )


def draw_park(park: Area, around: Around, drawn: Drawn) -> list[Ends]:
    """Return the lines over a park; `drawn` are there already, and these go to them.

    `around` is what lies around its box, and has the positions of its rims.
    """
    steps_off = {node for way, leads in around.walked.items() if leads for node in around.refs[way]}
    walked = [around.refs[way] for way in around.walked]
    meets = Counter(node for refs in walked for node in dict.fromkeys(refs))
    meets.update(node for refs in walked for node in (refs[0], refs[-1]))
    positions = around.positions
    near = [refs for refs in walked if len(refs) > 1 and all(node in positions for node in refs)]
    if not near:
        return []
    plane = _Plane(positions, *positions[park.outers[0][0]])
    obstacles, rims = _make_obstacles(around, positions)
    free = _cut_out(park, plane, obstacles)
    if free is None:
        return []
    doors = _choose_doors(near, steps_off, meets, plane, free)
    if len(doors) < 2:
        return []
    corners = _choose_corners(park, rims, plane, free)
    lines = _draw(doors, corners, near, drawn, plane, free)
    drawn.add(lines)
    return lines


class Drawn:
    """Lines that are drawn already, by their nodes: a sorted array, and the latest apart."""

    def __init__(self, ends: Ints) -> None:
        """Take pairs of nodes, shape (n, 2)."""
        self._ends = ends[np.argsort(ends[:, 0], kind="stable")]
        self._latest: list[Ends] = []

    def add(self, lines: list[Ends]) -> None:
        """Add lines."""
        self._latest += lines
        if len(self._latest) >= _MOST_LATEST:
            ends = np.concatenate([self._ends, np.array(self._latest)])
            self._ends = ends[np.argsort(ends[:, 0], kind="stable")]
            self._latest = []

    def among(self, nodes: Collection[int]) -> Iterator[Ends]:
        """Return the lines between two of the nodes."""
        wanted = np.fromiter(nodes, np.int64, len(nodes))
        first = np.searchsorted(self._ends[:, 0], wanted)
        stop = np.searchsorted(self._ends[:, 0], wanted, side="right")
        found = self._ends[ranges(first, stop - first)].tolist()
        for one, other in (*found, *self._latest):
            if one in nodes and other in nodes:
                yield one, other


def tag_park_line(park: Tags) -> Tags:
    """Return the tags of a line over a park: walked along at the hours of the park, on grass."""
    kept = {
        key: value
        for key, value in park.items()
        if key in ("name", "opening_hours", "foot:conditional", "access:conditional")
    }
    return kept | {"highway": "path", "surface": "grass", "bicycle": "no", "wheelchair": "no"}


class _Plane:
    """Positions in meters around a place."""

    def __init__(self, positions: Positions, lon0: float, lat0: float) -> None:
        self.positions, self.lon0, self.lat0 = positions, lon0, lat0

    def at(self, nodes: Iterable[int]) -> Floats:
        """Return x, y in meters, shape (n, 2)."""
        lonlat = np.array([self.positions[node] for node in nodes]).reshape(-1, 2)
        return np.asarray(project(lonlat[:, 0], lonlat[:, 1], self.lon0, self.lat0))

    def bring(self, shapes: NDArray[np.object_]) -> NDArray[np.object_]:
        """Return shapes of degrees in meters."""
        return cast(
            "NDArray[np.object_]",
            shapely.transform(shapes, lambda at: project(at[:, 0], at[:, 1], self.lon0, self.lat0)),
        )


def _make_obstacles(
    around: Around, positions: Positions
) -> tuple[NDArray[np.object_], list[list[Ring]]]:
    """Return all obstacles in degrees: areas and lines; and the rims of areas."""
    shapes: list[shapely.Geometry] = []
    rims: list[list[Ring]] = []

    def add_area(outers: list[Ring], holes: list[Ring]) -> None:
        polygon = make_polygon(
            [np.array([positions[node] for node in ring]) for ring in (*outers, *holes)],
            len(outers),
        )
        if polygon is not None:
            shapes.append(polygon)
            rims.append(outers)

    def add_line(refs: Ring) -> None:
        known = [positions[node] for node in refs if node in positions]
        if len(known) > 1:
            shapes.append(shapely.LineString(known))
            rims.append([])

    for way in around.obstacles:
        refs = around.refs[way]
        if way in around.areas and refs[0] == refs[-1] and positions.keys() >= set(refs):
            add_area([refs], [])
        else:
            add_line(refs)
    for outers, holes in around.composed:
        closed = join_rings(outers)
        parts = {node for ring in closed for node in ring}
        if closed and positions.keys() >= parts and parts >= {n for way in outers for n in way}:
            inner = [ring for ring in join_rings(holes) if positions.keys() >= set(ring)]
            add_area(closed, inner)
        else:  # the rest of it is not known here: nobody gets over its rim
            for refs in outers:
                add_line(refs)
    return np.array(shapes, np.object_), rims


def _cut_out(park: Area, plane: _Plane, obstacles: NDArray[np.object_]) -> shapely.Geometry | None:
    """Return where people walk in a park, in meters; None where it is nowhere."""
    polygon = make_polygon(
        [plane.at(ring) for ring in (*park.outers, *park.holes)], len(park.outers)
    )
    if polygon is None:
        return None
    taken = plane.bring(obstacles)
    is_line = shapely.get_dimensions(taken) < 2
    taken[is_line] = shapely.buffer(taken[is_line], _THICK_M, quad_segs=2)
    if "barrier" in park.tags:
        taken = np.append(taken, shapely.buffer(shapely.boundary(polygon), _THICK_M))
    free = shapely.difference(polygon, shapely.union_all(taken))
    return None if free.is_empty else shapely.buffer(free, _TOLERANCE_M, join_style="mitre")


def _choose_doors(
    ways: list[Ring],
    steps_off: set[int],
    meets: Counter[int],
    plane: _Plane,
    free: shapely.Geometry,
) -> list[int]:
    """Return the nodes of ways at which one steps onto the lawn: junctions, ends, then others."""
    nodes = list(dict.fromkeys(node for refs in ways for node in refs if node in steps_off))
    if not nodes:
        return []
    xy = plane.at(nodes)
    shapely.prepare(free)
    inside = shapely.covers(free, shapely.points(xy))
    knots = [node for node, is_in in zip(nodes, inside, strict=True) if is_in and meets[node] > 1]
    others = [node for node, is_in in zip(nodes, inside, strict=True) if is_in and meets[node] == 1]
    every = max(1, -(-len(knots) // _MOST_DOORS))
    chosen = knots[::every]
    room = _MOST_DOORS - len(chosen)
    if room and others:
        chosen += _thin(others, chosen, plane)[:room]
    return chosen


def _thin(nodes: list[int], chosen: list[int], plane: _Plane) -> list[int]:
    """Return nodes that are not near to another one, or to a chosen one."""
    kept: list[int] = []
    at = plane.at(chosen)
    for node, xy in zip(nodes, plane.at(nodes), strict=True):
        if not len(at) or np.hypot(*(at - xy).T).min() >= _STEP_M:
            kept.append(node)
            at = np.concatenate([at, xy[None]])
            if len(kept) >= _MOST_DOORS:
                break
    return kept


def _choose_corners(
    park: Area, rims: list[list[Ring]], plane: _Plane, free: shapely.Geometry
) -> list[int]:
    """Return the corners that a line may have to go around: of the park, and of what is in it."""
    corners: dict[int, None] = {}
    for ring, is_hole in (
        *((ring, False) for ring in park.outers),
        *((ring, True) for ring in park.holes),
        *((ring, True) for rings in rims for ring in rings),
    ):
        turns = find_reflex(plane.at(ring[:-1]), is_hole=is_hole)
        corners |= dict.fromkeys(node for node, turn in zip(ring, turns, strict=False) if turn)
    if not corners:
        return []
    nodes = list(corners)
    inside = shapely.covers(free, shapely.points(plane.at(nodes)))
    nodes = [node for node, is_in in zip(nodes, inside, strict=True) if is_in]
    return nodes[:: max(1, -(-len(nodes) // _MOST_CORNERS))]


def _draw(
    doors: list[int],
    corners: list[int],
    ways: list[Ring],
    drawn: Drawn,
    plane: _Plane,
    free: shapely.Geometry,
) -> list[Ends]:
    """Return the lines without which a way between two doors would be too long, shortest first."""
    places = [*doors, *(node for node in corners if node not in set(doors))]
    sight_m = find_sight(free, plane.at(places))
    over_m, nexts = _find_shortest(sight_m)
    network = _make_network(ways, drawn, set(doors), plane)
    count = len(doors)
    pairs = [
        (float(over_m[a, b]), a, b)
        for a, b in np.argwhere(np.triu(np.isfinite(over_m[:count, :count]), 1)).tolist()
    ]
    added: list[Ends] = []
    for meters, a, b in sorted(pairs):
        limit_m = max(meters * _MOST_STRETCH, meters + _LEAST_GAIN_M)
        if _reaches(network, doors[a], doors[b], limit_m):
            continue
        at = a
        while at != b:
            onward = int(nexts[at, b])
            one, other = places[at], places[onward]
            if network.get(one, {}).get(other) is None:
                _connect(network, one, other, float(sight_m[at, onward]))
                added.append((one, other))
            at = onward
    return added


def _find_shortest(sight_m: Floats) -> tuple[Floats, Ints]:
    """Return the meters between all places along lines of sight, and the place after the first."""
    meters = sight_m.copy()
    count = len(meters)
    nexts = np.broadcast_to(np.arange(count), (count, count)).copy()
    for via in range(count):  # Floyd and Warshall, a whole matrix at a time
        over = meters[:, via, None] + meters[None, via]
        nearer = over < meters - 1e-6
        meters = np.where(nearer, over, meters)
        nexts = np.where(nearer, nexts[:, via, None], nexts)
    return meters, nexts


def _make_network(ways: list[Ring], drawn: Drawn, doors: set[int], plane: _Plane) -> Network:
    """Return the ways between junctions, ends and doors, and the lines that are drawn already."""
    meets = Counter(node for refs in ways for node in refs)
    network: Network = {}
    for refs in ways:
        lengths_m = np.hypot(*np.diff(plane.at(refs), axis=0).T).tolist()
        start, meters = refs[0], 0.0
        for node, length_m in zip(refs[1:], lengths_m, strict=True):
            meters += length_m
            if meets[node] > 1 or node in doors or node == refs[-1]:
                _connect(network, start, node, meters)
                start, meters = node, 0.0
    for one, other in drawn.among(network.keys()):
        _connect(network, one, other, float(np.hypot(*np.diff(plane.at([one, other]), axis=0)[0])))
    return network


def _connect(network: Network, one: int, other: int, meters: float) -> None:
    for start, end in ((one, other), (other, one)):
        ends = network.setdefault(start, {})
        ends[end] = min(meters, ends.get(end, meters))


def _reaches(network: Network, start: int, end: int, limit_m: float) -> bool:
    """Return whether a way leads from one node to another within so many meters (Dijkstra)."""
    best = {start: 0.0}
    heap = [(0.0, start)]
    while heap:
        meters, node = heapq.heappop(heap)
        if node == end:
            return True
        if meters > best[node]:
            continue
        for other, length_m in network.get(node, {}).items():
            to_m = meters + length_m
            if to_m <= limit_m and to_m < best.get(other, np.inf):
                best[other] = to_m
                heapq.heappush(heap, (to_m, other))
    return False
