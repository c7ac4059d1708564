"""Cheapest ways from many vertices to many, in microseconds each: a contraction of the graph.

RoutingKit's customizable contraction hierarchy gives the least sum of whole-number weights, and
nothing else of the way, unless it is walked along. Where there are many, time and length come from
further searches over the same hierarchy, in which each arc weighs a little more by its time, or by
its length: the sums then differ by exactly these, or by less where another way is as good as equal.
A search in which each arc weighs less by both tells one from the other, and only such ways are
walked along. The little is a 500th of a second per second and 0.1 ms per metre.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.routing.contraction.tiles import Ints
from mapyard.routing.contraction.vertices import VertexGraph
from mapyard.store.columns import ranges

routingkit: Any
try:
    routingkit = importlib.import_module("routingkit_cch")
except ImportError:  # an optional dependency
    routingkit = None

type Floats = NDArray[np.float64]

#: One unit of weight, in seconds of cost; weights stay below 2³¹, which is 59 hours.
_COST_UNIT_S: Final = 1e-4
_NO_WAY: Final = 2**31 - 1
#: One unit more, or less, for so much time; and for a metre.
_TIME_UNIT_S: Final = 0.05
#: Units of time and length together up to which a way is not walked along.
_AGREED_UNITS: Final = 10
#: Walking along a way takes about as long as this part of the searches from one vertex.
_WALKS_PER_SEARCH: Final = 8
_ROUNDS_PER_CHECK: Final = 32


@dataclass(frozen=True, slots=True)
class Sums:
    """Cost, time and length of ways.

    Without a way the cost is infinite, and the others are no numbers.
    """

    costs_s: Floats
    times_s: Floats
    lengths_m: Floats


def is_available() -> bool:
    """Return whether the library for contractions is installed."""
    return routingkit is not None


def find_order(tail: Ints, head: Ints, lon: Floats, lat: Floats) -> NDArray[np.uint32]:
    """Return an order of contraction of a graph's vertices, by their places: what takes long."""
    order = routingkit.compute_order_inertial(
        len(lon), tail.tolist(), head.tolist(), lat.tolist(), lon.tolist()
    )
    return np.array(order, np.uint32)


class Contraction:
    """A graph prepared for searches. Threads may share one."""

    def __init__(
        self,
        vertices: VertexGraph,
        order: Ints,
        costs_s: Floats,
        times_s: Floats,
        lengths_m: Floats,
        *,
        for_many: bool,
    ) -> None:
        """Take the cost, time and length of each arc; `for_many` measures many ways at once."""
        self.begin = vertices.begin.astype(np.int32)
        ends = np.flatnonzero(vertices.is_end)
        self._ends = ends[np.argsort(vertices.edge[ends], kind="stable")].astype(np.int32)
        self._end_edges = vertices.edge[self._ends].astype(np.int32)
        self._head = vertices.head.astype(np.uint32)
        self._by_tail = np.argsort(vertices.tail, kind="stable").astype(np.uint32)
        self._tails = vertices.tail[self._by_tail].astype(np.uint32)
        self._times_s = times_s.astype(np.float32)
        self._lengths_m = lengths_m.astype(np.float32)
        cost = np.round(costs_s / _COST_UNIT_S).astype(np.int64)
        time = np.round(times_s / _TIME_UNIT_S).astype(np.int64)
        length = np.round(lengths_m).astype(np.int64)
        # Too slow for any way, such as roads without a speed.
        closed = cost >= _NO_WAY
        self._weights = np.where(closed, _NO_WAY, cost).astype(np.uint32)
        hierarchy = routingkit.CCH(
            order.tolist(), vertices.tail.tolist(), vertices.head.tolist(), False
        )
        self._plain = routingkit.CCHMetric(hierarchy, self._weights.tolist())
        # One that adds the time, one that adds the length, one that takes both off.
        self._shifted = [
            routingkit.CCHMetric(hierarchy, np.where(closed, _NO_WAY, weights).tolist())
            for weights in (cost + time, cost + length, cost - time - length)
            if for_many
        ]

    def find_ends(self, edges: Ints) -> tuple[Ints, Ints]:
        """Return the vertices at which a way onto an edge ends: places in `edges`, vertices."""
        first = np.searchsorted(self._end_edges, edges)
        count = np.searchsorted(self._end_edges, edges, side="right") - first
        return np.repeat(np.arange(len(edges)), count), self._ends[ranges(first, count)]

    def find_costs(self, sources: Ints, targets: Ints, deadline: Deadline) -> Floats:
        """Return the costs of the cheapest ways, (sources, targets), infinite without a way."""
        # Vertices that are asked for more than once are searched once.
        starts, from_start = np.unique(sources, return_inverse=True)
        ends, to_end = np.unique(targets, return_inverse=True)
        units = _search(self._plain, starts, ends, deadline)
        return (units * _COST_UNIT_S)[from_start[:, None], to_end[None, :]]

    def measure(self, sources: Ints, targets: Ints, deadline: Deadline) -> tuple[Floats, Floats]:
        """Return seconds and metres of the cheapest ways between pairs of vertices.

        There must be a way from each source to its target.
        """
        starts, row = np.unique(sources, return_inverse=True)
        ends, column = np.unique(targets, return_inverse=True)
        few = len(sources) <= _WALKS_PER_SEARCH * min(len(starts), len(ends))
        if few or not self._shifted:
            return self._walk(sources, targets, deadline)
        plain, slower, longer, less = (
            _search(metric, starts, ends, deadline)[row, column]
            for metric in (self._plain, *self._shifted)
        )
        time, length = slower - plain, longer - plain
        times_s, lengths_m = time * _TIME_UNIT_S, length
        unsure = plain - less - time - length > _AGREED_UNITS
        times_s[unsure], lengths_m[unsure] = self._walk(sources[unsure], targets[unsure], deadline)
        return times_s, lengths_m

    def _walk(self, sources: Ints, targets: Ints, deadline: Deadline) -> tuple[Floats, Floats]:
        """Return seconds and metres along the cheapest ways."""
        sums = np.empty((2, len(sources)))
        query = routingkit.CCHQuery(self._plain)
        pairs = zip(sources.tolist(), targets.tolist(), strict=True)
        for number, (source, target) in enumerate(pairs):
            if number % _ROUNDS_PER_CHECK == 0:
                deadline.check()
            sums[:, number] = self._add_up(query.run(source, target).arc_path)
        return sums[0], sums[1]

    def find_rounds(self, vertices: Ints) -> Sums:
        """Return the sums of the cheapest ways from vertices back to themselves, (vertices)."""
        sums = Sums(np.full(len(vertices), np.inf), *np.full((2, len(vertices)), np.nan))
        query = routingkit.CCHQuery(self._plain)
        for place, vertex in enumerate(vertices.tolist()):
            arcs = self._by_tail[slice(*np.searchsorted(self._tails, [vertex, vertex + 1]))]
            if not len(arcs):
                continue  # a query without a source would be an error
            starts = zip(self._head[arcs].tolist(), self._weights[arcs].tolist(), strict=True)
            found = query.run_multi(list(starts), [(vertex, 0)])
            if found.distance is not None:
                first = arcs[self._head[arcs] == found.node_path[0]][0]
                sums.costs_s[place] = found.distance * _COST_UNIT_S
                sums.times_s[place], sums.lengths_m[place] = self._add_up(
                    [int(first), *found.arc_path]
                )
            del found  # a query runs again only when its last answer is gone
        return sums

    def _add_up(self, arcs: list[int]) -> tuple[float, float]:
        return (
            float(self._times_s[arcs].sum(dtype=np.float64)),
            float(self._lengths_m[arcs].sum(dtype=np.float64)),
        )


def _search(metric: Any, starts: Ints, ends: Ints, deadline: Deadline) -> Floats:
    """Return the least sums of weights, (starts, ends), infinite where there is no way."""
    if len(ends) < len(starts):
        query = routingkit.CCHManyToOne(metric, starts.tolist())
        return _collect(query.distances_to, ends, len(starts), deadline).T
    if not len(starts):
        return np.empty((0, len(ends)))
    query = routingkit.CCHOneToMany(metric, ends.tolist())
    return _collect(query.distances_from, starts, len(ends), deadline)


def _collect(ask: Any, vertices: Ints, width: int, deadline: Deadline) -> Floats:
    found = np.empty((len(vertices), width))
    for row, vertex in enumerate(vertices.tolist()):
        if row % _ROUNDS_PER_CHECK == 0:
            deadline.check()
        found[row] = ask(vertex)  # None, without a way, becomes no number
    found[np.isnan(found)] = np.inf
    return found
