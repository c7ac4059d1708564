"""The matrix of one mode, from places on roads to places on roads."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.routing.contraction.bicycle import BICYCLE
from mapyard.routing.contraction.car import CAR
from mapyard.routing.contraction.costs import ModeCosts
from mapyard.routing.contraction.foot import FOOT
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.search import Contraction, Floats, find_order
from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.contraction.turns import find_turns
from mapyard.routing.contraction.vertices import VertexGraph, make_relaxed, make_strict
from mapyard.routing.modes import Mode
from mapyard.store.columns import ranges

MODE_COSTS: Final[dict[Mode, ModeCosts]] = {"auto": CAR, "foot": FOOT, "bicycle": BICYCLE}
#: At a crossing nobody sets out on a road that ends there, or arrives on one that begins there,
#: not even where it costs nothing to turn from one to the other.
_LAST_CHOICE_S: Final = 1e-3


def find_edge_order(graph: RoadGraph) -> NDArray[np.uint32]:
    """Return all edges that any mode uses in an order of contraction, which serves every mode."""
    usable = np.logical_or.reduce([costs.find_usable(graph) for costs in MODE_COSTS.values()])
    turns = find_turns(graph, usable, access=-1, restricted=False)
    turns = turns.select(~turns.is_reverse)
    edges = np.flatnonzero(usable)
    number = np.zeros(len(usable), np.int64)
    number[edges] = np.arange(len(edges))
    start, end = graph.start[edges], graph.end[edges]
    order = find_order(
        number[turns.origin],
        number[turns.destination],
        (graph.lon[start] + graph.lon[end]) / 2,
        (graph.lat[start] + graph.lat[end]) / 2,
    )
    return edges[order].astype(np.uint32)


class ModeTable:
    """All that the matrices of one mode need. Threads may share one."""

    def __init__(
        self, graph: RoadGraph, mode: Mode, edge_order: Ints, reach_m: float | None = None
    ) -> None:
        """Prepare the searches; cells over more than `reach_m` are not to be asked for."""
        self.reach_m = np.inf if reach_m is None else reach_m
        costs = MODE_COSTS[mode]
        usable = costs.find_usable(graph)
        self.edge_ids = graph.edge_ids
        self._asks_again = costs.asks_again
        self.usable = np.flatnonzero(usable)
        turns = find_turns(graph, usable, costs.access, restricted=costs.obeys_turn_restrictions)
        strict = make_strict(
            graph, turns, usable, costs.access,
            destination_only=costs.avoids_destination_only,
            avoided=costs.find_avoided(graph, turns),
        )  # fmt: skip
        relaxed = make_relaxed(graph, turns, usable, costs.access)
        rank = np.empty(len(usable), np.int64)
        rank[edge_order] = np.arange(len(edge_order))
        self._costs_s, self._times_s = costs.cost_edges(graph)
        self._lengths_m = graph.edges.length_m.astype(np.float64)
        self._nodes = (
            graph.junction[graph.start],
            np.where(graph.end >= 0, graph.junction[graph.end], -1),
        )
        turn_costs_s, turn_times_s = costs.cost_turns(graph, turns)

        def contract(vertices: VertexGraph, *, for_many: bool) -> Contraction:
            before = turns.origin[vertices.turn]
            return Contraction(
                vertices,
                np.argsort(rank[vertices.edge], kind="stable"),
                self._costs_s[before] + turn_costs_s[vertices.turn],
                self._times_s[before] + turn_times_s[vertices.turn],
                self._lengths_m[before],
                for_many=for_many,
            )

        self._strict = contract(strict, for_many=True)
        self._relaxed = contract(relaxed, for_many=False)

    def compute(
        self, origins: Places, destinations: Places, deadline: Deadline
    ) -> tuple[Floats, Floats]:
        """Return metres and seconds, (origins, destinations), NaN where there is no way.

        Raises `Timeout` at the deadline.
        """
        lengths_m, times_s = self._search(self._strict, origins, destinations, deadline)
        # The engine is less strict where both ends are next to each other, and in some modes where
        # it finds no way else.
        none = np.isnan(times_s)
        again = self._touch(origins, destinations) & (none | (lengths_m > 0))
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
                self._relaxed, origins.of(rows), destinations.of(columns), deadline, part[block]
            )
            for values, others in zip((lengths_m, times_s), relaxed, strict=True):
                values[block] = np.where(part[block], others, values[block])
        return lengths_m, times_s

    def _touch(self, origins: Places, destinations: Places) -> NDArray[np.bool_]:
        """Return per cell whether a road of the origin shares a node with the destination's."""
        near = np.zeros((len(origins.edge), len(destinations.edge)), np.bool_)
        for mine in self._nodes:
            for yours in self._nodes:
                near |= mine[origins.edge][:, None] == yours[destinations.edge][None, :]
        near &= (origins.edge >= 0)[:, None] & (destinations.edge >= 0)[None, :]
        touch = np.zeros((origins.count, destinations.count), np.bool_)
        row, column = np.nonzero(near)
        touch[origins.position[row], destinations.position[column]] = True
        return touch

    def _search(
        self,
        contraction: Contraction,
        origins: Places,
        destinations: Places,
        deadline: Deadline,
        wanted: NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return metres and seconds per cell of the cheapest way over all places."""
        known = (origins.edge >= 0) & (contraction.begin[origins.edge] >= 0)
        origins = origins.take(np.flatnonzero(known))
        sources = contraction.begin[origins.edge]
        row, targets = contraction.find_ends(destinations.edge)
        destinations = destinations.take(row)
        costs_s = contraction.find_costs(sources, targets, deadline)

        same_edge = origins.edge[:, None] == destinations.edge[None, :]
        straight = same_edge & (destinations.share[None, :] >= origins.share[:, None])
        costs_s[straight] = 0.0
        # Backward on the own edge one has to go around; the search takes it for no way at all.
        around = same_edge & ~straight & (sources[:, None] == targets[None, :])
        vertices, which = np.unique(sources[np.nonzero(around)[0]], return_inverse=True)
        rounds = contraction.find_rounds(vertices)
        costs_s[around] = rounds.costs_s[which]
        costs_s += _cut(self._costs_s, origins, destinations)
        # The engine counts a second of cost per metre to the road.
        begins_s = origins.away_m + _LAST_CHOICE_S * (origins.share == 1)
        ends_s = destinations.away_m + _LAST_CHOICE_S * (destinations.share == 0)
        costs_s += begins_s[:, None] + ends_s[None, :]

        shape = (origins.count, destinations.count)
        lengths_m, times_s = np.full(shape, np.nan), np.full(shape, np.nan)
        pairs = _choose(costs_s, origins, destinations)
        cells = np.isfinite(np.append(costs_s.ravel(), np.inf)[pairs])
        if wanted is not None:
            cells &= wanted
        source, target = np.divmod(pairs[cells], max(1, len(targets)))
        on_edge = straight | around
        far = ~on_edge[source, target]
        cell_times_s, cell_lengths_m = np.zeros(len(source)), np.zeros(len(source))
        cell_times_s[far], cell_lengths_m[far] = contraction.measure(
            sources[source[far]], targets[target[far]], deadline
        )
        place = np.full(on_edge.shape, -1)
        place[around] = which
        goes_around = place[source, target] >= 0
        cell_times_s[goes_around] = rounds.times_s[place[source, target][goes_around]]
        cell_lengths_m[goes_around] = rounds.lengths_m[place[source, target][goes_around]]
        times_s[cells] = cell_times_s + _cut(self._times_s, origins, destinations)[source, target]
        lengths_m[cells] = (
            cell_lengths_m + _cut(self._lengths_m, origins, destinations)[source, target]
        )
        return lengths_m, times_s


def _cut(per_edge: Floats, origins: Places, destinations: Places) -> Floats:
    """Return per pair of places what ways over whole edges have too much or too little.

    A way counts its first edge as a whole and its last one not at all.
    """
    begun = origins.share * per_edge[origins.edge]
    rest = destinations.share * per_edge[destinations.edge]
    return rest[None, :] - begun[:, None]


def _choose(costs_s: Floats, origins: Places, destinations: Places) -> Ints:
    """Return per cell the cheapest pair of its places: an index into all pairs, or their number."""
    rows, columns = _group(origins), _group(destinations)
    row, column = rows[:, None, :, None], columns[None, :, None, :]
    pairs = np.where((row < 0) | (column < 0), costs_s.size, row * costs_s.shape[1] + column)
    pairs = pairs.reshape(len(rows), len(columns), -1)
    best = np.append(costs_s.ravel(), np.inf)[pairs].argmin(axis=2)
    return np.take_along_axis(pairs, best[:, :, None], axis=2)[:, :, 0]


def _group(places: Places) -> Ints:
    """Return the places of each position, (positions, most of one), filled up with -1."""
    size = np.bincount(places.position, minlength=places.count)
    within = ranges(np.zeros_like(size), size)
    groups = np.full((places.count, max(1, int(size.max(initial=0)))), -1)
    groups[places.position, within] = np.arange(len(places.position))
    return groups
