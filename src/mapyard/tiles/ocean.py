"""The ocean of an extract from its coastline: land lies to the left of a coastline way.

Chains of ways that end inside the box (an extract cuts them) are led on: to the next open chain or
straight to the edge of the box, whichever is nearer. The lines divide the box into faces; each face
is water or land by the side of the coastline it lies on, weighed by length, so that a way drawn
in the wrong direction does not drown a country.
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.store.columns import ranges
from mapyard.store.reader import E7, Store
from mapyard.tiles.cut import repair
from mapyard.tiles.mercator import GRID_SIZE, project
from mapyard.tiles.shapes import POLYGON, Geometries, Shapes, drop_repeats, from_geometries

Floats = NDArray[np.float64]
#: A piece of ocean has at most this many vertices, where cutting helps.
MAX_VERTICES = 2_000
_MIN_PIECE = 4096 * 4  # grid units: the size of a tile of zoom 12
#: How far beside a line its sides are looked at, grid units.
_STEP = 0.02


def build_ocean(store: Store, box_deg: tuple[float, float, float, float]) -> Shapes:
    """Return pieces of ocean on the grid inside west, south, east, north; none without coastline.

    west > east crosses the antimeridian.
    """
    lines = _coastline(store, crosses := box_deg[0] > box_deg[2])
    if not len(lines):
        return _pieces([])
    west, south, east, north = box_deg
    corners = project(np.array([[west, north], [east + 360 * crosses, south]]))
    box = shapely.box(*corners[0], *corners[1])
    water = find_water(lines, box)
    if not crosses:
        return _pieces([water])
    # The part beyond the antimeridian goes to the western edge of the world.
    here = shapely.clip_by_rect(water, 0, 0, GRID_SIZE, GRID_SIZE)
    there = shapely.clip_by_rect(water, GRID_SIZE, 0, 2 * GRID_SIZE, GRID_SIZE)
    return _pieces([here, shapely.transform(there, lambda xy: xy - [GRID_SIZE, 0])])


def find_water(lines: Geometries, box: shapely.Geometry) -> shapely.Geometry:
    """Return the part of a box right of the directed lines (y points down: grid coordinates)."""
    chains = _chains(lines)
    extra = _lead_on(chains, box)
    network = shapely.unary_union(np.concatenate([chains, extra, [shapely.boundary(box)]]))
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(network)))
    inside = shapely.contains(box, shapely.point_on_surface(faces))
    faces = faces[inside]
    votes = _vote(faces, chains)
    return shapely.union_all(faces[votes > 0])


def find_coastline(store: Store) -> NDArray[np.int64]:
    """Return the rows of the ways that the ocean is made of."""
    rows = store.rows_with_tag("natural", "coastline").astype(np.int64)
    return rows[(rows >= store.way_start) & (rows < store.relation_start)]


def _coastline(store: Store, unwrap: bool) -> Geometries:
    coordinates, offsets = store.way_coordinates(find_coastline(store))
    degrees = coordinates / E7
    if unwrap:
        degrees[degrees[:, 0] < 0, 0] += 360
    counts = np.diff(offsets)
    good = counts >= 2
    chosen = ranges(offsets[:-1][good], counts[good])
    owner = np.repeat(np.arange(int(good.sum())), counts[good])
    return np.asarray(shapely.linestrings(project(degrees[chosen]), indices=owner))


def _chains(lines: Geometries) -> Geometries:
    """Join lines end to start."""
    merged = shapely.line_merge(shapely.multilinestrings(lines), directed=True)
    return np.asarray(shapely.get_parts(merged))


def _lead_on(chains: Geometries, box: shapely.Geometry) -> Geometries:
    """Return lines that close the gaps at open ends inside the box."""
    open_chains = chains[~shapely.is_closed(chains)]
    starts = shapely.get_coordinates(shapely.get_point(open_chains, 0))
    ends = shapely.get_coordinates(shapely.get_point(open_chains, -1))
    starts, ends = (xy[shapely.contains_xy(box, xy[:, 0], xy[:, 1])] for xy in (starts, ends))
    x0, y0, x1, y1 = shapely.bounds(box)
    links: list[Floats] = []
    used_start, used_end = np.zeros(len(starts), np.bool_), np.zeros(len(ends), np.bool_)
    if len(starts) and len(ends):
        gap = np.hypot(*(ends[:, None, :] - starts[None, :, :]).transpose(2, 0, 1))
        to_edge = np.minimum(_edge_distance(ends, box)[:, None], _edge_distance(starts, box))
        near = np.argwhere(gap <= to_edge)
        for i, j in near[np.argsort(gap[near[:, 0], near[:, 1]], kind="stable")]:
            if not used_end[i] and not used_start[j]:
                used_end[i] = used_start[j] = True
                links.append(np.array([ends[i], starts[j]]))
    for x, y in np.concatenate([ends[~used_end], starts[~used_start]]):
        sides = [(x - x0, (x0, y)), (x1 - x, (x1, y)), (y - y0, (x, y0)), (y1 - y, (x, y1))]
        links.append(np.array([(x, y), min(sides)[1]]))
    links = [link for link in links if (link[0] != link[1]).any()]
    return np.array([shapely.LineString(link) for link in links], np.object_)


def _edge_distance(xy: Floats, box: shapely.Geometry) -> Floats:
    x0, y0, x1, y1 = shapely.bounds(box)
    return np.min([xy[:, 0] - x0, x1 - xy[:, 0], xy[:, 1] - y0, y1 - xy[:, 1]], axis=0)


def _vote(faces: Geometries, chains: Geometries) -> Floats:
    """Return for each face the coastline length that calls it water, less that for land."""
    xy, owner = shapely.get_coordinates(chains, return_index=True)
    same = owner[1:] == owner[:-1]
    a, b = xy[:-1][same], xy[1:][same]
    length = np.hypot(*(b - a).T)
    a, b, length = a[length > 0], b[length > 0], length[length > 0]
    direction = (b - a) / length[:, None]
    middle = (a + b) / 2
    votes = np.zeros(len(faces))
    tree = shapely.STRtree(faces)
    # y points down: the right-hand side of (dx, dy) is (-dy, dx).
    right = np.column_stack([-direction[:, 1], direction[:, 0]])
    for side, sign in ((right, 1.0), (-right, -1.0)):
        beside = shapely.points(middle + side * _STEP)
        segment, face = tree.query(beside, predicate="within")
        np.add.at(votes, face, sign * length[segment])
    return votes


def _pieces(waters: list[shapely.Geometry]) -> Shapes:
    """Return water as features of bounded size, cut along tile edges."""
    pieces = [piece for water in waters for piece in _split(water, 0, 0, GRID_SIZE)]
    geometries = np.array(pieces, np.object_)
    shapes, _ = from_geometries(geometries, POLYGON)
    shapes, _ = drop_repeats(shapes, POLYGON)
    return repair(shapes, np.ones(len(shapes), np.bool_))[0]


def _split(water: shapely.Geometry, x: int, y: int, size: int) -> list[shapely.Geometry]:
    if shapely.is_empty(water):
        return []
    if size <= _MIN_PIECE or shapely.get_num_coordinates(water) <= MAX_VERTICES:
        return [water]
    half = size // 2
    quarters = [(x, y), (x + half, y), (x, y + half), (x + half, y + half)]
    return [
        piece
        for left, top in quarters
        for piece in _split(
            shapely.clip_by_rect(water, left, top, left + half, top + half), left, top, half
        )
    ]
