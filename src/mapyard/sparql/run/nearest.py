"""The nearest of one side for each row of the other, exact on the sphere."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.sphere import DEGREE_M
from mapyard.sparql.plan.algebra import Nearest
from mapyard.sparql.run.expressions import Evaluator
from mapyard.sparql.run.geosparql import distances_m
from mapyard.sparql.run.spatial import grow_boxes, shaped
from mapyard.sparql.run.table import Column, Numbers, Table

#: Left rows searched at once.
_BATCH = 4096


def find_nearest(pattern: Nearest, left: Table, right: Table, evaluator: Evaluator) -> Table:
    """Return the joined rows: per left row up to `count` right ones, nearest first.

    Boxes around the left shapes grow until they surely hold the nearest ones.
    """
    a = shaped(left, pattern.left_shape.name, evaluator).values
    b = shaped(right, pattern.right_shape.name, evaluator).values
    tree = shapely.STRtree(b)
    parts = [
        _search(pattern, a[start : start + _BATCH], b, tree, evaluator)
        for start in range(0, left.length, _BATCH)
    ]
    index = np.concatenate([p[0] + n * _BATCH for n, p in enumerate(parts)])
    found = np.concatenate([p[1] for p in parts])
    distance = np.concatenate([p[2] for p in parts])
    columns: dict[str, Column] = dict(right.take(found).columns)
    columns.update(left.take(index).columns)
    if pattern.distance is not None:
        km = distance / 1000.0
        columns[pattern.distance.name] = Numbers(km, np.ones(len(km), np.bool_))
    return Table(columns, len(index))


def _search(
    pattern: Nearest, a: NDArray[np.object_], b: NDArray[np.object_], tree: shapely.STRtree,
    evaluator: Evaluator,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:  # fmt: skip
    west, south, east, north = shapely.total_bounds(np.concatenate([a, b]))
    widest_m = (max(east - west, north - south) + 0.001) * DEGREE_M
    radius_m = min(
        pattern.max_distance_m, widest_m * float(np.sqrt(pattern.count / len(b))) / 2 + 1.0
    )
    waiting = np.flatnonzero(shapely.get_type_id(a) >= 0)
    done: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    while len(waiting):
        evaluator.runtime.deadline.check()
        which, found = tree.query(grow_boxes(a[waiting], radius_m))
        evaluator.runtime.hold(0, len(which), "the spatial search")
        index = waiting[which]
        distance = distances_m(a[index], b[found]) if len(index) else np.empty(0)
        keep = distance <= radius_m  # beyond the radius the box may have missed nearer ones
        index, found, distance = index[keep], found[keep], distance[keep]
        order = np.lexsort((distance, index))
        index, found, distance = index[order], found[order], distance[order]
        counts = np.bincount(index, minlength=len(a))
        rank = np.arange(len(index)) - np.searchsorted(index, index)
        last = radius_m >= min(pattern.max_distance_m, 2 * widest_m)
        complete = (counts >= pattern.count) | last
        chosen = complete[index] & (rank < pattern.count)
        done.append((index[chosen], found[chosen], distance[chosen]))
        waiting = waiting[~complete[waiting]] if not last else waiting[:0]
        radius_m = min(radius_m * 2, max(pattern.max_distance_m, 0.0))
    if not done:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    joined = tuple(np.concatenate([part[i] for part in done]) for i in range(3))
    order = np.lexsort((joined[2], joined[0]))
    return joined[0][order], joined[1][order], joined[2][order]
