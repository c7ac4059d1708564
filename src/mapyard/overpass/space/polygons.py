"""Polygons and areas: which elements lie in one.

A node is inside or on the border. A way has some part of its line inside: one that only touches
the border, or runs along it, is outside. A relation has a member node or way that is inside.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import TooLarge
from mapyard.geo.crossings import count_crossings
from mapyard.overpass.osm.derived_columns import own_boxes
from mapyard.overpass.osm.rowsets import Mask, Rows, as_rows, split_types
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.space.boxes import Box
from mapyard.overpass.space.lines import any_part, line_shapes, relation_parts, ring_shapes
from mapyard.store.reader import E7, Store

Shapes = NDArray[np.object_]


#: How often the outline of a polygon may cross itself; GEOS needs seconds for a thousand.
MAX_CROSSINGS = 500


def make_polygon(points: tuple[tuple[float, float], ...], budget: Budget) -> Shapes:
    """Return the area of a `poly` filter, points as (lat, lon), as one valid shape in degrees."""
    ring = np.array(points, np.float64)[:, ::-1]
    refuse_crossings(shapely.polygons(ring), MAX_CROSSINGS, budget)
    jumps = np.abs(np.diff(ring[:, 0], append=ring[:1, 0])) > 180
    if jumps.any():
        # Over the antimeridian: drawn on the eastern side, and once more a turn to the west.
        east = np.where(ring[:, :1] < 0, ring + np.array([360.0, 0.0]), ring)
        both = [shapely.polygons(east), shapely.polygons(east - np.array([360.0, 0.0]))]
        return np.asarray(shapely.make_valid(np.array(both, np.object_)))
    return np.asarray(shapely.make_valid(np.array([shapely.polygons(ring)], np.object_)))


def refuse_crossings(shape: shapely.Geometry, limit: int, budget: Budget) -> None:
    """Raise TooLarge for lines that cross themselves more often than GEOS copes with."""
    if count_crossings(shape, None, limit, budget.check) > limit:
        raise TooLarge(
            f"a shape of this query crosses itself more than {limit:,} times; "
            "are its points in the order of the outline?",
            details={"limit": limit, "unit": "crossings"},
        )


def area_shapes(store: Store, relations: Rows, ways: Rows) -> Shapes:
    """Return the areas of area relations and of closed ways; those without one are left out."""
    shapes = np.concatenate([store.geometries(relations), ring_shapes(store, ways)])
    return shapes[~shapely.is_missing(shapes)]


def shape_boxes(shapes: Shapes) -> list[Box]:
    """Return the boxes of shapes, one for all where there are many."""
    if not len(shapes):
        return []
    bounds = shapely.bounds(shapes) * E7
    if len(bounds) > 16:
        bounds = np.concatenate([bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)])[None, :]
    low = np.clip(np.floor(bounds[:, :2]), -1_800_000_000, 1_800_000_000).astype(int)
    high = np.clip(np.ceil(bounds[:, 2:]), -1_800_000_000, 1_800_000_000).astype(int)
    return [Box(*a, *b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def are_inside(
    store: Store, rows: Rows, shapes: Iterable[shapely.Geometry], budget: Budget
) -> Mask:
    """Return which elements lie in any of the shapes."""
    nodes, ways, relations = split_types(store, rows)
    if len(relations):
        parts = relation_parts(store, relations)
        distinct = as_rows(parts.row)
    else:
        parts, distinct = None, rows[:0]
    inside = np.zeros(len(rows), np.bool_)
    inside_part = np.zeros(len(distinct), np.bool_)
    for shape in shapes:
        budget.check(len(rows) * 40)
        shapely.prepare(shape)
        _mark_all(store, rows[: len(nodes) + len(ways)], shape, inside, budget)
        _mark_all(store, distinct, shape, inside_part, budget)
    if parts is not None:
        inside[len(nodes) + len(ways) :] = any_part(store, relations, parts, distinct, inside_part)
    return inside


#: Elements that are tested in one step.
_CHUNK = 50_000


def _mark_all(
    store: Store, rows: Rows, shape: shapely.Geometry, inside: Mask, budget: Budget
) -> None:
    """Set which nodes and ways lie in one shape."""
    for start in range(0, len(rows), _CHUNK):
        budget.check()
        nodes, ways, _ = split_types(store, rows[start : start + _CHUNK])
        _mark(store, nodes, ways, shape, inside[start : start + _CHUNK])


def _mark(store: Store, nodes: Rows, ways: Rows, shape: shapely.Geometry, inside: Mask) -> None:
    """Set which nodes and ways (in this order in `inside`) lie in one shape."""
    west, south, east, north = shapely.bounds(shape) * E7
    open_ = np.flatnonzero(~inside[: len(nodes)])
    if len(open_):
        lon, lat = store.lon[nodes[open_]], store.lat[nodes[open_]]
        near = (lon >= west - 1) & (lon <= east + 1) & (lat >= south - 1) & (lat <= north + 1)
        open_, lon, lat = open_[near], lon[near], lat[near]
        inside[open_] = shapely.intersects_xy(shape, lon / E7, lat / E7)
    if not len(ways):
        return
    offset = len(nodes)
    boxes = own_boxes(store, ways)
    near = (boxes[:, 0] <= east + 1) & (boxes[:, 2] >= west - 1)
    near &= (boxes[:, 1] <= north + 1) & (boxes[:, 3] >= south - 1)
    near &= (boxes[:, 0] <= boxes[:, 2]) & ~inside[offset : offset + len(ways)]
    open_ = np.flatnonzero(near)
    if len(open_):
        inside[offset + open_] = _ways_in(store, ways[open_], shape)


def _ways_in(store: Store, ways: Rows, shape: shapely.Geometry) -> Mask:
    """Return which ways have a part inside: first by one node, then by all nodes, then by line."""
    coordinates, offsets = store.way_coordinates(ways)
    counts = np.diff(offsets)
    first = coordinates[np.minimum(offsets[:-1], max(len(coordinates) - 1, 0))] / E7
    hit = np.zeros(len(ways), np.bool_)
    if not len(coordinates):
        return hit
    hit[:] = (counts > 0) & shapely.contains_xy(shape, first[:, 0], first[:, 1])
    rest = np.flatnonzero(~hit)
    if not len(rest):
        return hit
    owner = np.repeat(np.arange(len(ways)), counts)
    points = ~hit[owner]
    owner, degrees = owner[points], coordinates[points] / E7
    hit[owner[shapely.contains_xy(shape, degrees[:, 0], degrees[:, 1])]] = True
    rest = np.flatnonzero(~hit & (counts > 1))
    if len(rest):
        lines = line_shapes(store, ways[rest])
        touching = shapely.intersects(shape, lines)
        lines, rest = lines[touching], rest[touching]
        hit[rest] = shapely.contains(shape, lines) | shapely.crosses(shape, lines)
    return hit
