"""`around`: which elements come within a distance of points, of a line or of the elements of a set.

Distances are those between lines (see lines.py) along great circles of the original's sphere.
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.overpass.osm.rowsets import Mask, Rows
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.space.boxes import Box, grow
from mapyard.overpass.space.lines import Floats, Segments, segments_of
from mapyard.overpass.space.sphere import (
    RADIUS_M,
    distance_m,
    point_segment_m,
    segment_segment_m,
    unit_vectors,
)
from mapyard.store.reader import E7, Store

#: Up to this many pairs of pieces all distances are computed at once.
_DIRECT_PAIRS = 200_000
#: Stored positions are exact to 1e-7 degree: a radius of 0 finds what touches.
_TOUCH_M = 1e-3


def line_pieces(points: tuple[tuple[float, float], ...]) -> NDArray[np.int32]:
    """Return the pieces (n, 4) of a line of (lat, lon) degrees; of a point, one of length 0."""
    lat, lon = np.array(points, np.float64).T
    positions = np.rint(np.column_stack([lon, lat]) * E7).astype(np.int32)
    if len(positions) == 1:
        return np.hstack([positions, positions])
    return np.hstack([positions[:-1], positions[1:]])


def reach_boxes(pieces: NDArray[np.int32], radius_m: float) -> list[Box]:
    """Return boxes that hold everything within a distance of the pieces."""
    if not len(pieces):
        return []
    reach_deg = np.degrees((radius_m + _TOUCH_M) / RADIUS_M)
    highest = float(np.abs(pieces[:, 1::2]).max()) / E7 + reach_deg
    if highest >= 89.9:
        return grow(pieces, 360.0, reach_deg)
    # Great circles bulge towards the pole between their ends.
    bulge = float((np.abs(pieces[:, 2].astype(np.int64) - pieces[:, 0])).max()) / E7
    bulge_deg = min(bulge * bulge / 400.0, 10.0)
    wide_deg = float(reach_deg / np.cos(np.radians(highest)))
    return grow(pieces, min(wide_deg * 1.01, 360.0), reach_deg + bulge_deg)


def is_within(
    store: Store, rows: Rows, pieces: NDArray[np.int32], radius_m: float, budget: Budget
) -> Mask:
    """Return which elements come within a distance of any piece."""
    result = np.zeros(len(rows), np.bool_)
    if not len(rows) or not len(pieces):
        return result
    near = segments_of(store, rows)
    budget.check(near.coordinates.nbytes * 4)
    near = _drop_far(near, pieces, radius_m)
    if not len(near.owner):
        return result
    limit_m = max(radius_m, _TOUCH_M)
    if len(near.owner) * len(pieces) <= _DIRECT_PAIRS:
        hit = _direct(near.coordinates, pieces, limit_m, budget)
    else:
        hit = np.zeros(len(near.owner), np.bool_)
        jumps, piece_jumps = _jump(near.coordinates), _jump(pieces)
        hit[~jumps] = _by_tree(near.coordinates[~jumps], pieces[~piece_jumps], limit_m, budget)
        hit[jumps] = _direct(near.coordinates[jumps], pieces, limit_m, budget)
        rest = np.flatnonzero(~hit)
        hit[rest] = _direct(near.coordinates[rest], pieces[piece_jumps], limit_m, budget)
    result[near.owner[hit]] = True
    return result


def _jump(pieces: NDArray[np.int32]) -> Mask:
    """Return which pieces cross the antimeridian."""
    return np.asarray(np.abs(pieces[:, 0].astype(np.int64) - pieces[:, 2]) > 180 * E7)


def _drop_far(near: Segments, pieces: NDArray[np.int32], radius_m: float) -> Segments:
    """Return the segments that meet the reach of all pieces together."""
    keep = np.zeros(len(near.owner), np.bool_)
    for box in reach_boxes(pieces, radius_m):
        x, y = near.coordinates[:, ::2], near.coordinates[:, 1::2]
        inside = (x.min(axis=1) <= box.x1) & (x.max(axis=1) >= box.x0)
        keep |= inside & (y.min(axis=1) <= box.y1) & (y.max(axis=1) >= box.y0)
    return Segments(near.coordinates[keep], near.owner[keep])


def _direct(
    near: NDArray[np.int32], pieces: NDArray[np.int32], limit_m: float, budget: Budget
) -> Mask:
    """Compare each with each."""
    hit = np.zeros(len(near), np.bool_)
    for piece in pieces:
        budget.check()
        rest = np.flatnonzero(~hit)
        if not len(rest):
            break
        hit[rest] = _pair_distances(near[rest], piece[None, :]) <= limit_m
    return hit


def _pair_distances(a: NDArray[np.int32], b: NDArray[np.int32]) -> Floats:
    """Return the distances of pieces, pair by pair, meters; b broadcasts."""
    a_point = bool((a[:, 0] == a[:, 2]).all() and (a[:, 1] == a[:, 3]).all())
    b_point = bool((b[:, 0] == b[:, 2]).all() and (b[:, 1] == b[:, 3]).all())
    a_deg, b_deg = a / E7, b / E7
    if a_point and b_point:
        return distance_m(a_deg[:, 0], a_deg[:, 1], b_deg[:, 0], b_deg[:, 1])
    a0, a1 = unit_vectors(a_deg[:, 0], a_deg[:, 1]), unit_vectors(a_deg[:, 2], a_deg[:, 3])
    b0, b1 = unit_vectors(b_deg[:, 0], b_deg[:, 1]), unit_vectors(b_deg[:, 2], b_deg[:, 3])
    if b_point:
        return point_segment_m(b0, a0, a1)
    if a_point:
        return point_segment_m(a0, b0, b1)
    return segment_segment_m(a0, a1, b0, b1)


def _by_tree(
    near: NDArray[np.int32], pieces: NDArray[np.int32], limit_m: float, budget: Budget
) -> Mask:
    """Find each segment's nearest piece on a conformal map, where scale depends on latitude only.

    The distance there, times the least and the greatest scale on the way, bounds the real one. What
    stays between the bounds is compared exactly.
    """
    if not len(near) or not len(pieces):
        return np.zeros(len(near), np.bool_)
    drawn = _map_shapes(pieces)
    if np.abs(pieces[:, ::2]).max() > 170 * E7:
        # Near the antimeridian the map is drawn on both sides of itself too.
        turn = np.array([2 * np.pi, 0.0])
        drawn = np.concatenate(
            [drawn, *(shapely.transform(drawn, lambda xy, s=s: xy + s * turn) for s in (1, -1))]
        )
    tree = shapely.STRtree(drawn)
    shapes = _map_shapes(near)
    budget.check((len(near) + len(pieces)) * 400)
    low = np.abs(near[:, 1::2]).min(axis=1) / E7
    high = np.abs(near[:, 1::2]).max(axis=1) / E7
    reach_deg = np.degrees(limit_m / RADIUS_M) + 1e-6
    least = RADIUS_M * np.cos(np.radians(np.minimum(high + reach_deg, 89.99)))
    crosses = np.sign(near[:, 1]) != np.sign(near[:, 3])
    low = np.where(crosses, 0.0, np.maximum(low - reach_deg, 0.0))
    greatest = RADIUS_M * np.cos(np.radians(low))
    farthest = float((limit_m / least).max()) * 1.001
    hit = np.zeros(len(near), np.bool_)
    maybe = np.zeros(len(near), np.bool_)
    for part in budget.portions(len(near)):
        found, distance = tree.query_nearest(
            shapes[part],
            max_distance=farthest,
            return_distance=True,
            all_matches=False,
        )
        owner = found[0] + part.start
        hit[owner[distance * greatest[owner] <= limit_m]] = True
        maybe[owner[distance * least[owner] <= limit_m]] = True
    doubtful = np.flatnonzero(maybe & ~hit)
    for portion in budget.portions(len(doubtful)):
        asked = doubtful[portion]
        index, piece = tree.query(
            shapes[asked], predicate="dwithin", distance=limit_m / least[asked] * 1.001
        )
        budget.check(len(index) * 500)
        exact = _pair_distances(near[asked[index]], pieces[piece % len(pieces)]) <= limit_m
        hit[asked[index[exact]]] = True
    return hit


def _map_shapes(pieces: NDArray[np.int32]) -> NDArray[np.object_]:
    """Return pieces as points and lines on the Mercator map, unit: the sphere's radius."""
    degrees = np.clip(pieces / E7, -180.0, 180.0)
    x = np.radians(degrees[:, ::2])
    y = np.arctanh(np.sin(np.radians(np.clip(degrees[:, 1::2], -89.99, 89.99))))
    shapes = np.empty(len(pieces), np.object_)
    is_point = (pieces[:, 0] == pieces[:, 2]) & (pieces[:, 1] == pieces[:, 3])
    shapes[is_point] = shapely.points(x[is_point, 0], y[is_point, 0])
    lines = np.stack([x[~is_point], y[~is_point]], axis=-1)
    shapes[~is_point] = shapely.linestrings(lines)
    return shapes


def pieces_of(store: Store, rows: Rows) -> NDArray[np.int32]:
    """Return the distinct pieces of all elements of a set."""
    pieces = segments_of(store, rows).coordinates
    return np.unique(pieces, axis=0) if len(pieces) > 1 else pieces
