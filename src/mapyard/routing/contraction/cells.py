"""The cells of a matrix, from places on roads to places on roads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.routing.contraction.arrays import CostArrays, EdgeArrays, Graph
from mapyard.routing.contraction.costs import Floats
from mapyard.routing.contraction.hierarchy import LEAST_START_MS, NO_WAY, Int32s, Starts, Ways
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.tiles import Ints
from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct

_MS: Final = 1000
_CM: Final = 100
#: At a crossing nobody sets out on a road that ends there, or arrives on one that begins there,
#: not even where it costs nothing to turn from one to the other.
_LAST_CHOICE: Final = 1


class Cells:
    """What cells are worked out in: a mode's graph with rules for private roads, and without.

    Threads may share it.
    """

    def __init__(
        self,
        graphs: tuple[Graph, Graph],
        costs: CostArrays,
        edges: EdgeArrays,
        *,
        asks_again: bool,
        cost_scale: int,
    ) -> None:
        """`asks_again` says whether the rules are left out where there is no way by them.

        `cost_scale` is in what parts costs are counted.
        """
        self._strict, self._relaxed = graphs
        self._costs, self._edges = costs, edges
        self._ends = (edges.start, edges.end)
        self._asks_again, self._scale = asks_again, cost_scale

    def compute(
        self, origins: Places, destinations: Places, deadline: Deadline
    ) -> tuple[Floats, Floats]:
        """Return metres and seconds, (origins, destinations), NaN where there is no way.

        Raises `Timeout` at the deadline.
        """
        ways = self._search(self._strict, origins, destinations, deadline)
        # The engine is less strict where both ends are next to each other, and in some modes where
        # it finds no way else.
        none = ways.cost_ms >= NO_WAY
        again = self._touch(origins, destinations) & (none | (ways.length_cm > 0))
        if self._asks_again:
            again |= none
        # Most of them are whole columns and whole rows, of positions without connection.
        whole = again.mean(axis=0) > 0.5
        for part in (again & whole, again & ~whole):
            rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
            if not len(rows):
                continue
            block = np.ix_(rows, columns)
            relaxed = self._search(
                self._relaxed, origins.of(rows), destinations.of(columns), deadline
            )
            for name in ("cost_ms", "time_ms", "length_cm"):
                values = getattr(ways, name)
                values[block] = np.where(part[block], getattr(relaxed, name), values[block])
        none = ways.cost_ms >= NO_WAY
        lengths_m, times_s = ways.length_cm / _CM, ways.time_ms / _MS
        for values in (lengths_m, times_s):
            np.maximum(values, 0.0, out=values)  # parts of edges are rounded
            values[none] = np.nan
        return lengths_m, times_s

    def _touch(self, origins: Places, destinations: Places) -> NDArray[np.bool_]:
        """Return per cell whether a road of the origin shares a node with the destination's."""
        ends = self._ends
        mine, yours = (
            (
                np.concatenate([end[places.edge[known]] for end in ends]),
                np.tile(places.position[known], 2),
            )
            for places, known in (
                (places, np.flatnonzero(places.edge >= 0)) for places in (origins, destinations)
            )
        )
        touch = np.zeros((origins.count, destinations.count), np.bool_)
        at, other = _join(mine[0], yours[0])
        touch[mine[1][at], yours[1][other]] = True
        return touch

    def _search(
        self, graph: Graph, origins: Places, destinations: Places, deadline: Deadline
    ) -> Ways:
        """Return per cell the cheapest way over all places."""
        ends = self._prepare(graph, origins, destinations)
        table = graph.hierarchy.find_table(ends.starts, ends.targets, deadline)
        # Between places on the same edge one goes straight, or backward around a block: the search
        # takes both for no way at all.
        one, other = _join(ends.origins.edge, ends.destinations.edge)
        if len(one):
            self._measure_again(graph, ends, table, one, other, deadline)
        return table

    def _prepare(self, graph: Graph, origins: Places, destinations: Places) -> _Ends:
        origins = origins.take(self.find_known(graph, origins))
        destinations = destinations.take(self.find_known(graph, destinations))
        place, ends = graph.find_ends(destinations.edge)
        destinations = destinations.take(place)
        return _Ends(
            origins,
            destinations,
            self.start(origins, graph.vertices.begin[origins.edge], is_origin=True),
            self.start(destinations, ends, is_origin=False),
        )

    def find_known(self, graph: Graph, places: Places) -> Ints:
        """Return the places on edges that a way takes: not those without a speed."""
        edges = np.maximum(places.edge, 0)
        known = (places.edge >= 0) & (graph.vertices.begin[edges] >= 0)
        return np.flatnonzero(known & (self._costs.cost_ms[edges] < -LEAST_START_MS))

    def start(self, places: Places, vertices: Int32s, *, is_origin: bool) -> Starts:
        """Return where searches begin.

        A way over whole edges counts its first edge as a whole and its last one not at all.
        """
        share = -places.share if is_origin else places.share
        at_crossing = places.share == (1 if is_origin else 0)
        away = self._scale * places.away_m  # a cost of 1 per meter
        away += _LAST_CHOICE * at_crossing
        counts = np.bincount(places.position, minlength=places.count)

        def cut(per_edge: Int32s) -> Floats:
            return share * per_edge[places.edge]

        return Starts(
            np.append(0, np.cumsum(counts)),
            np.ascontiguousarray(vertices, np.int32),
            np.round(cut(self._costs.cost_ms) + away).astype(np.int32),
            np.round(cut(self._costs.time_ms)).astype(np.int32),
            np.round(cut(self._edges.length_cm)).astype(np.int32),
        )

    def _measure_again(
        self,
        graph: Graph,
        ends: _Ends,
        table: Ways,
        one: Ints,
        other: Ints,
        deadline: Deadline,
    ) -> None:
        """Work out cells with places on the same edge, by all pairs of their places.

        `one` and `other` are such pairs of places.
        """
        origins, destinations, width = ends.origins, ends.destinations, ends.destinations.count
        cells = distinct(origins.position[one] * width + destinations.position[other])
        rows, columns = np.divmod(cells, width)
        first, last = ends.starts.first[rows], ends.targets.first[columns]
        counts = ends.starts.first[rows + 1] - first, ends.targets.first[columns + 1] - last
        pairs = counts[0] * counts[1]
        within = ranges(np.zeros_like(pairs), pairs)
        cell = np.repeat(np.arange(len(cells)), pairs)
        i = first[cell] + within // counts[1][cell]
        j = last[cell] + within % counts[1][cell]
        # Where one is at the same place already, no other way is asked for.
        stays = np.zeros(len(cells), np.bool_)
        same = origins.edge[i] == destinations.edge[j]
        same &= origins.share[i] == destinations.share[j]
        stays[cell[same]] = True
        asked = np.flatnonzero(same | ~stays[cell])
        cell = cell[asked]
        cost, time, length = ends.measure(graph, i[asked], j[asked], deadline)
        best = np.lexsort((cost, cell))
        best = best[np.unique(cell[best], return_index=True)[1]]
        table.cost_ms[rows, columns] = cost[best]
        table.time_ms[rows, columns] = time[best]
        table.length_cm[rows, columns] = length[best]


@dataclass(frozen=True, slots=True)
class _Ends:
    """Places in a contracted graph, and where searches from and to them begin."""

    origins: Places
    destinations: Places
    starts: Starts
    targets: Starts

    def is_ahead(self, i: Any, j: Any) -> Any:
        """Return whether one goes straight from places to places on the same edge."""
        same = self.origins.edge[i] == self.destinations.edge[j]
        return same & (self.destinations.share[j] >= self.origins.share[i])

    def measure(self, graph: Graph, i: Ints, j: Ints, deadline: Deadline) -> tuple[Ints, ...]:
        """Return cost, time and length from places to places, each by itself."""
        searched = np.flatnonzero(~self.is_ahead(i, j))
        found = graph.hierarchy.find_ways(
            self.starts.vertex[i[searched]], self.targets.vertex[j[searched]], deadline
        )
        sums = []
        for name in ("cost_ms", "time_ms", "length_cm"):
            between = np.zeros(len(i), np.int64)
            between[searched] = getattr(found, name)
            sums.append(between + getattr(self.starts, name)[i] + getattr(self.targets, name)[j])
        sums[0][searched[found.cost_ms >= NO_WAY]] = NO_WAY
        np.minimum(sums[0], NO_WAY, out=sums[0])
        return tuple(sums)


def _join(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of places in two arrays that hold the same value, but for -1."""
    order = np.argsort(other, kind="stable")
    values = other[order]
    first = np.searchsorted(values, one)
    count = np.searchsorted(values, one, side="right") - first
    count[one < 0] = 0
    return np.repeat(np.arange(len(one)), count), order[ranges(first, count)]
