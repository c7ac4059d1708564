"""The clip box of `out geom(south,west,north,east)`: what of ways and relations is shown."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.overpass.osm.rowsets import Mask, Rows
from mapyard.overpass.parse.syntax import BoxFilter
from mapyard.overpass.space.boxes import to_boxes
from mapyard.overpass.space.lines import Ints
from mapyard.store.reader import E7, Store


def visible_nodes(
    store: Store, refs: NDArray[np.integer], offsets: Ints, box: BoxFilter | None
) -> Mask:
    """Return which of the nodes of ways are shown.

    Without a box all that are in the dataset; with one those in it, and both ends of every piece
    that meets it.
    """
    present = refs < store.node_count
    if box is None or not len(refs):
        return np.asarray(present)
    safe = np.where(present, refs, 0)
    lon, lat = store.lon[safe], store.lat[safe]
    shown = np.zeros(len(refs), np.bool_)
    same_way = np.ones(len(refs) - 1, np.bool_)
    inner = offsets[1:-1]
    same_way[inner[(inner > 0) & (inner < len(refs))] - 1] = False
    pieces = np.flatnonzero(same_way & present[:-1] & present[1:])
    for part in to_boxes(box):
        inside = (lon >= part.x0) & (lon <= part.x1) & (lat >= part.y0) & (lat <= part.y1)
        shown |= inside & present
        near = np.maximum(lon[pieces], lon[pieces + 1]) >= part.x0
        near &= np.minimum(lon[pieces], lon[pieces + 1]) <= part.x1
        near &= np.maximum(lat[pieces], lat[pieces + 1]) >= part.y0
        near &= np.minimum(lat[pieces], lat[pieces + 1]) <= part.y1
        chosen = pieces[near]
        ends = np.stack([chosen, chosen + 1], axis=1)
        lines = shapely.linestrings(np.stack([lon[ends], lat[ends]], axis=2) / E7)
        area = shapely.box(part.x0 / E7, part.y0 / E7, part.x1 / E7, part.y1 / E7)
        shapely.prepare(area)
        meeting = chosen[shapely.intersects(area, lines)]
        shown[meeting] = shown[meeting + 1] = True
    return shown


def boxes_of_nodes(
    store: Store, owner: Ints, nodes: NDArray[np.integer], count: int
) -> NDArray[np.int32]:
    """Return the boxes of `count` groups of nodes, x0 > x1 for empty ones; `owner` ascends."""
    boxes = np.empty((count, 4), np.int32)
    boxes[:] = (1, 1, 0, 0)
    if len(owner):
        first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
        having = owner[first]
        lon, lat = store.lon[nodes], store.lat[nodes]
        boxes[having, 0] = np.minimum.reduceat(lon, first)
        boxes[having, 1] = np.minimum.reduceat(lat, first)
        boxes[having, 2] = np.maximum.reduceat(lon, first)
        boxes[having, 3] = np.maximum.reduceat(lat, first)
    return boxes


def clipped_relation_boxes(store: Store, relations: Rows, box: BoxFilter) -> NDArray[np.int32]:
    """Return the boxes of what is shown of relations: member nodes and nodes of member ways."""
    members = store.members(relations)
    is_node = (members.row >= 0) & (members.row < store.way_start)
    is_way = (members.row >= store.way_start) & (members.row < store.relation_start)
    nodes = members.row[is_node]
    refs, offsets = store.way_nodes(members.row[is_way])
    shown_nodes = visible_nodes(store, nodes, np.arange(len(nodes) + 1), box)
    shown_refs = visible_nodes(store, refs, offsets, box)
    of_ways = np.repeat(members.relation[is_way], np.diff(offsets))
    owner = np.concatenate([members.relation[is_node][shown_nodes], of_ways[shown_refs]])
    found = np.concatenate([nodes[shown_nodes], refs[shown_refs].astype(np.int64)])
    order = np.argsort(owner, kind="stable")
    return boxes_of_nodes(store, owner[order], found[order], len(relations))
