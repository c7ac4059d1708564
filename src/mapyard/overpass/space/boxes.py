"""Boxes: which elements meet one, exactly.

A node is in the box, edges included; a way when its line meets it; a relation when a member does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.overpass.osm.derived_columns import own_boxes, relation_tree
from mapyard.overpass.osm.rowsets import Mask, Rows, as_rows, split_types, unite
from mapyard.overpass.parse.syntax import BoxFilter
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.space.lines import any_part, line_shapes, relation_parts
from mapyard.store.reader import E7, EMPTY_ROWS, Store


class Box(NamedTuple):
    """A box in 1e-7 degree, edges included, that does not cross the antimeridian."""

    x0: int
    y0: int
    x1: int
    y1: int


def to_boxes(box: BoxFilter) -> list[Box]:
    """Return a box of a query as one box, or as two at the antimeridian."""
    return [
        Box(_ceil(part.west), _ceil(part.south), _floor(part.east), _floor(part.north))
        for part in Bbox(box.west, box.south, box.east, box.north).split()
    ]


def _ceil(degrees: float) -> int:
    return int(np.ceil(round(degrees * E7, 3)))


def _floor(degrees: float) -> int:
    return int(np.floor(round(degrees * E7, 3)))


def meets(store: Store, rows: Rows, boxes: list[Box], budget: Budget) -> Mask:
    """Return which elements meet any of the boxes."""
    result = np.zeros(len(rows), np.bool_)
    for box in boxes:
        budget.check(len(rows) * 17)
        result |= _meets(store, rows, box)
    return result


def _meets(store: Store, rows: Rows, box: Box) -> Mask:
    nodes, ways, relations = split_types(store, rows)
    return np.concatenate(
        [
            _nodes_in(store, nodes, box),
            _ways_meet(store, ways, box),
            _relations_meet(store, relations, box),
        ]
    )


def _nodes_in(store: Store, nodes: Rows, box: Box) -> Mask:
    lon, lat = store.lon[nodes], store.lat[nodes]
    return np.asarray((lon >= box.x0) & (lon <= box.x1) & (lat >= box.y0) & (lat <= box.y1))


def _compare(store: Store, rows: Rows, box: Box) -> tuple[Mask, Mask]:
    """Return whose own box meets the box, and whose lies in it."""
    own = own_boxes(store, rows)
    west, south, east, north = own[:, 0], own[:, 1], own[:, 2], own[:, 3]
    touching = (west <= box.x1) & (east >= box.x0) & (south <= box.y1) & (north >= box.y0)
    touching &= west <= east
    within = touching & (west >= box.x0) & (east <= box.x1)
    within &= (south >= box.y0) & (north <= box.y1)
    return touching, within


def _ways_meet(store: Store, ways: Rows, box: Box) -> Mask:
    if not len(ways):
        return np.zeros(0, np.bool_)
    touching, result = _compare(store, ways, box)
    open_ = np.flatnonzero(touching & ~result)
    if not len(open_):
        return result
    coordinates, offsets = store.way_coordinates(ways[open_])
    counts = np.diff(offsets)
    inside = (
        (coordinates[:, 0] >= box.x0)
        & (coordinates[:, 0] <= box.x1)
        & (coordinates[:, 1] >= box.y0)
        & (coordinates[:, 1] <= box.y1)
    )
    hit = np.zeros(len(open_), np.bool_)
    hit[np.repeat(np.arange(len(open_)), counts)[inside]] = True
    rest = np.flatnonzero(~hit)
    if len(rest):
        # No node in the box: the line may still cross it.
        area = shapely.box(box.x0 / E7, box.y0 / E7, box.x1 / E7, box.y1 / E7)
        shapely.prepare(area)
        hit[rest] = shapely.intersects(area, line_shapes(store, ways[open_[rest]]))
    result[open_] = hit
    return result


def _relations_meet(store: Store, relations: Rows, box: Box) -> Mask:
    if not len(relations):
        return np.zeros(0, np.bool_)
    touching, result = _compare(store, relations, box)
    open_ = np.flatnonzero(touching & ~result)
    if len(open_):
        asked = relations[open_]
        parts = relation_parts(store, asked)
        rows = as_rows(parts.row)
        result[open_] = any_part(store, asked, parts, rows, _meets(store, rows, box))
    return result


def find_candidates(
    store: Store, boxes: list[Box], types: tuple[int, ...], *, all_nodes: bool
) -> Rows:
    """Return the rows whose own box meets one of the boxes; untagged nodes only if asked."""
    found: list[Rows] = []
    for box in boxes:
        if box.x0 > box.x1 or box.y0 > box.y1:
            continue
        if WAY in types or (NODE in types and not all_nodes):
            listed = as_rows(store.feature_rtree.search(*box))
            nodes, ways, _ = split_types(store, listed)
            found.append(ways if WAY in types else EMPTY_ROWS)
            found.append(nodes if NODE in types else EMPTY_ROWS)
        if NODE in types and all_nodes:
            found.append(store.find_nodes(*box))
        if RELATION in types:
            found.append(np.sort(relation_tree(store).search(*box)))
    return unite(sorted(found, key=lambda rows: int(rows[0]) if len(rows) else 0))


def count_share(store: Store, boxes: list[Box]) -> float:
    """Return the share of the dataset's extent that the boxes cover, 0…1: for planning only."""
    extent = store.info.get("bbox")
    if not extent:
        return 1.0
    west, south, east, north = (value * E7 for value in extent)
    share = 0.0
    for box in boxes:
        width = min(box.x1, east) - max(box.x0, west)
        height = min(box.y1, north) - max(box.y0, south)
        if width >= 0 and height >= 0:
            share += (width + 1) * (height + 1) / ((east - west + 1) * (north - south + 1))
    return min(share, 1.0)


def grow(coordinates: NDArray[np.int32], degrees_lon: float, degrees_lat: float) -> list[Box]:
    """Return the box around pieces (n, 4), widened; two boxes where it leaves ±180°."""
    x0 = int(coordinates[:, ::2].min()) - int(np.ceil(degrees_lon * E7))
    x1 = int(coordinates[:, ::2].max()) + int(np.ceil(degrees_lon * E7))
    half = 180 * E7
    y0 = max(int(coordinates[:, 1::2].min()) - int(np.ceil(degrees_lat * E7)), -90 * E7)
    y1 = min(int(coordinates[:, 1::2].max()) + int(np.ceil(degrees_lat * E7)), 90 * E7)
    if x1 - x0 >= 2 * half:
        return [Box(-half, y0, half, y1)]
    boxes = [Box(max(x0, -half), y0, min(x1, half), y1)]
    if x0 < -half:
        boxes.append(Box(x0 + 2 * half, y0, half, y1))
    if x1 > half:
        boxes.append(Box(-half, y0, x1 - 2 * half, y1))
    return boxes
