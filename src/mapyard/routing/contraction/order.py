"""The order in which the edges of a graph are contracted: roads that part it come last."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.tiles import RoadGraph
from mapyard.routing.kernels import address, load_kernels

#: Parts of a degree of latitude.
_UNITS_PER_DEGREE: Final = 1e6


def rank_edges(graph: RoadGraph, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return per edge its place in the order, -1 where it is not usable.

    Both directions of a road stand side by side.
    """
    edges = np.flatnonzero(usable)
    back = graph.opposing[edges]
    road_of = np.where(back >= 0, np.minimum(edges, back), edges)
    roads, road = np.unique(road_of, return_inverse=True)
    # Any of its two edges may be the usable one; both have the same ends.
    ends = np.concatenate([graph.junction[graph.start[roads]], graph.junction[graph.end[roads]]])
    nodes, crossing = np.unique(ends, return_inverse=True)
    tail, head = np.split(crossing.astype(np.int32), 2)
    lon, lat = graph.lon[nodes], graph.lat[nodes]
    width = np.cos(np.radians(lat.mean())) if len(lat) else 1.0
    x = np.round(lon * width * _UNITS_PER_DEGREE).astype(np.int32)
    y = np.round(lat * _UNITS_PER_DEGREE).astype(np.int32)
    order = find_order(tail, head, x, y)
    place = np.empty(len(roads), np.int64)
    place[order] = np.arange(len(roads))
    rank = np.full(len(usable), -1, np.int64)
    rank[edges] = 2 * place[road] + (edges != road_of)
    return rank


def find_order(
    tail: NDArray[np.int32], head: NDArray[np.int32], x: NDArray[np.int32], y: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the numbers of roads between crossings at places x and y in order of contraction."""
    order = np.empty(len(tail), np.int32)
    for ends in (tail, head):
        if ends.size and not 0 <= ends.min() <= ends.max() < len(x):
            raise ValueError("a road leads out of the graph")
    if load_kernels().order_roads(
        len(x), len(tail), address(tail, np.int32), address(head, np.int32, len(tail)),
        address(x, np.int32), address(y, np.int32, len(x)), address(order, np.int32),
    ):  # fmt: skip
        raise MemoryError("no memory is left to order the road graph")
    return order
