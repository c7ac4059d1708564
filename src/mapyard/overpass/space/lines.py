"""Elements as points and lines: what boxes, `around`, polygons and areas are tested against.

As in the original a way is its line, also where it is closed, and a relation is its member nodes
and member ways, those of member relations included.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.overpass.osm.rowsets import Mask, Rows, as_rows, split_types
from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7, Store

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Parts(NamedTuple):
    """Nodes and ways that relations consist of: pairs of (index of the relation, row)."""

    owner: Ints
    row: Ints


class Segments(NamedTuple):
    """Straight pieces in 1e-7 degree, (n, 4) lon lat lon lat; a point is a piece of length 0.

    `owner` is the index of the element that a piece is of.
    """

    coordinates: NDArray[np.int32]
    owner: Ints


def relation_parts(store: Store, relations: Rows, *, nested: bool = False) -> Parts:
    """Return the node and way members of relations, each pair once.

    Members of member relations are not the relation's own, as in the original: they count with
    `nested` only, for what is shown of a relation.
    """
    owner = np.arange(len(relations), dtype=np.int64)
    row = relations.astype(np.int64)
    found = np.empty(0, np.int64)
    seen = owner * store.row_count + row
    while len(row):
        members = store.members(row)
        present = members.row >= 0
        pairs = distinct(owner[members.relation[present]] * store.row_count + members.row[present])
        is_relation = pairs % store.row_count >= store.relation_start
        found = distinct(found, pairs[~is_relation])
        if not nested:
            break
        fresh = np.setdiff1d(pairs[is_relation], seen, assume_unique=True)
        seen = distinct(seen, fresh)
        owner, row = np.divmod(fresh, store.row_count)
    return Parts(*np.divmod(found, store.row_count))


def way_segments(store: Store, ways: Rows) -> Segments:
    """Return the pieces of ways, in order; a way with one node is a point."""
    coordinates, offsets = store.way_coordinates(ways)
    counts = np.diff(offsets)
    pieces = np.maximum(counts - 1, 0)
    start = ranges(offsets[:-1], pieces)
    owner = np.repeat(np.arange(len(ways), dtype=np.int64), pieces)
    single = np.flatnonzero(counts == 1)
    pieces_array = np.hstack([coordinates[start], coordinates[start + 1]])
    if len(single):
        point = coordinates[offsets[single]]
        pieces_array = np.vstack([pieces_array, np.hstack([point, point])])
        owner = np.concatenate([owner, single])
    return Segments(pieces_array, owner)


def segments_of(store: Store, rows: Rows) -> Segments:
    """Return the pieces of any elements."""
    nodes, ways, relations = split_types(store, rows)
    found: list[NDArray[np.int32]] = []
    owners: list[Ints] = []
    if len(nodes):
        found.append(np.tile(np.column_stack([store.lon[nodes], store.lat[nodes]]), 2))
        owners.append(np.arange(len(nodes), dtype=np.int64))
    if len(ways):
        pieces = way_segments(store, ways)
        found.append(pieces.coordinates)
        owners.append(pieces.owner + len(nodes))
    if len(relations):
        parts = relation_parts(store, relations)
        distinct = as_rows(parts.row)
        pieces = segments_of(store, distinct)
        # Each distinct part's pieces, once for every relation that it belongs to.
        order = np.argsort(pieces.owner, kind="stable")
        counts = np.bincount(pieces.owner, minlength=len(distinct))
        starts = np.cumsum(counts) - counts
        part = np.searchsorted(distinct, parts.row)
        found.append(pieces.coordinates[order][ranges(starts[part], counts[part])])
        owners.append(np.repeat(parts.owner, counts[part]) + len(nodes) + len(ways))
    if not found:
        return Segments(np.empty((0, 4), np.int32), np.empty(0, np.int64))
    if len(found) == 1:
        return Segments(found[0], owners[0])
    return Segments(np.vstack(found), np.concatenate(owners))


def any_part(store: Store, relations: Rows, parts: Parts, rows: Rows, hit: Mask) -> Mask:
    """Return which relations have a part among `rows` (sorted) for which `hit` holds."""
    result = np.zeros(len(relations), np.bool_)
    if len(rows):
        result[parts.owner[hit[np.searchsorted(rows, parts.row)]]] = True
    return result


def line_shapes(store: Store, ways: Rows) -> NDArray[np.object_]:
    """Return ways as shapely lines in degrees, closed ones too; None below two nodes.

    A line over the antimeridian is given twice, once on each side of the map.
    """
    coordinates, offsets = store.way_coordinates(ways)
    counts = np.diff(offsets)
    shapes = np.full(len(ways), None, np.object_)
    usable = counts >= 2
    if not usable.any():
        return shapes
    owner = np.repeat(np.cumsum(usable) - 1, counts * usable)
    points = coordinates[np.repeat(usable, counts)] / E7
    shapes[usable] = lines = shapely.linestrings(points, indices=owner)
    bounds = shapely.bounds(lines)
    for place in np.flatnonzero(bounds[:, 2] - bounds[:, 0] > 180).tolist():
        line = points[owner == place]
        if (np.abs(np.diff(line[:, 0])) > 180).any():
            turn = np.array([360.0, 0.0])
            east = np.where(line[:, :1] < 0, line + turn, line)
            pair = shapely.multilinestrings([shapely.linestrings(e) for e in (east, east - turn)])
            shapes[np.flatnonzero(usable)[place]] = pair
    return shapes


def ring_shapes(store: Store, ways: Rows) -> NDArray[np.object_]:
    """Return closed ways as valid shapely areas in degrees; None below four nodes."""
    coordinates, offsets = store.way_coordinates(ways)
    counts = np.diff(offsets)
    shapes = np.full(len(ways), None, np.object_)
    usable = (counts >= 4) & store.is_closed(ways)
    if usable.any():
        owner = np.repeat(np.cumsum(usable) - 1, np.where(usable, counts, 0))
        keep = np.repeat(usable, counts)
        rings = shapely.linearrings(coordinates[keep] / E7, indices=owner)
        shapes[usable] = shapely.make_valid(shapely.polygons(rings))
    return shapes
