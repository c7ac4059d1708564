"""The matrix of one mode, from places on roads to places on roads."""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.routing.contraction.costs import Bools, Floats, ModeCosts
from mapyard.routing.contraction.facts import EdgeFacts
from mapyard.routing.contraction.hierarchy import (
    LEAST_START_MS,
    NO_WAY,
    Hierarchy,
    Int32s,
    Starts,
    Ways,
    contract,
    open_arrays,
)
from mapyard.routing.contraction.mapping import Scratch, make_file
from mapyard.routing.contraction.order import rank_edges
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.profiles import MODE_COSTS, find_costs
from mapyard.routing.contraction.roads import CONNECTED_CROSSINGS, Roads, write_roads
from mapyard.routing.contraction.speeds import EdgeSpeeds
from mapyard.routing.contraction.spread import Spreading, TurnArrays, sort_turns
from mapyard.routing.contraction.tiles import EdgeIds, Ints, RoadGraph
from mapyard.routing.contraction.trips import Trip, find_trip
from mapyard.routing.contraction.turns import Turns, find_turns
from mapyard.routing.contraction.vertices import VertexGraph, make_relaxed, make_strict
from mapyard.routing.contraction.way import Contracted, Edges, Network, Way
from mapyard.routing.kernels import address, load_kernels, map_array
from mapyard.routing.modes import Mode
from mapyard.routing.profiles import Profile
from mapyard.store.columns import ranges

#: What is to be within a bound.
Metric = Literal["time", "distance"]

_MS: Final = 1000
_CM: Final = 100
#: At a crossing nobody sets out on a road that ends there, or arrives on one that begins there,
#: not even where it costs nothing to turn from one to the other.
_LAST_CHOICE: Final = 1
#: Turns that are priced together.
_TURNS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class EdgeArrays:
    """What all modes know of the edges."""

    tile_ids: NDArray[np.int64]
    tile_starts: NDArray[np.int64]
    tile_places: NDArray[np.int64]  #: (tiles, 3), in the tar: edges, records, texts
    length_cm: Int32s
    start: Int32s  #: junction
    end: Int32s  #: junction, -1 off the extract


@dataclass(frozen=True, slots=True)
class CostArrays:
    """What an edge as a whole takes in a mode."""

    cost_ms: Int32s
    time_ms: Int32s
    connected: NDArray[np.uint8]  #: whether it leads on to many crossings (1), is led to (2)


@dataclass(frozen=True, slots=True)
class VertexArrays:
    """Where ways over edges begin and end in a contracted graph."""

    begin: Int32s  #: per edge, -1 where it is not used
    first_end: NDArray[np.uint32]  #: per edge, and one more: a place in `end`
    end: Int32s  #: vertices
    edge: Int32s  #: per vertex
    is_end: NDArray[np.uint8]  #: per vertex


def write_shared(
    graph: RoadGraph, tiles_tar: Path, folder: Path, connected: Mapping[Mode, NDArray[np.uint8]]
) -> None:
    """Write what all modes share; `connected` is what `write_mode` found of each."""
    open_to = {mode: MODE_COSTS[mode].find_open(graph) for mode in connected}
    usable = np.zeros(len(graph.start), np.bool_)
    for mode in connected:
        usable |= MODE_COSTS[mode].find_usable(graph)
    write_roads(graph, open_to, usable, connected, tiles_tar, folder)
    junction = graph.junction
    _write(
        EdgeArrays(
            graph.edge_ids.tile_ids.astype(np.int64),
            graph.edge_ids.tile_starts.astype(np.int64),
            graph.tile_places,
            (_CM * graph.edges.length_m).astype(np.int32),
            junction[graph.start].astype(np.int32),
            np.where(graph.end >= 0, junction[graph.end], -1).astype(np.int32),
        ),
        folder,
        "edges",
    )


def write_mode(
    graph: RoadGraph,
    costs: ModeCosts,
    folder: Path,
    own: EdgeSpeeds | None = None,
    *,
    rank: Ints | None = None,
    scratch: Scratch,
) -> NDArray[np.uint8]:
    """Contract the graph for the costs of a mode and write it into a folder of its own.

    `own` speeds take the place of the graph's. `rank` is the order of the mode's edges, where it is
    known. Returns per edge whether it leads on (1), and whether it is led to (2).
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    usable, limited = select_edges(graph, costs)
    if own is not None:
        usable &= ~own.closed
    if rank is None:
        rank = rank_edges(graph, usable)  # before there are turns: all that is per turn is large
    turns = find_turns(graph, usable, costs.access, restricted=costs.obeys_turn_restrictions)
    connected = _find_connected(
        graph, make_relaxed(graph, turns, usable, costs.access), costs.access
    )
    stuck = limited[turns.origin] & limited[turns.destination]
    if stuck.any():
        turns = turns.select(~stuck)
    if costs.find_forbidden is not None:
        turns = turns.select(~costs.find_forbidden(graph, turns))
    turns = turns.move(scratch.move)
    edge_cost_s, edge_time_s = costs.cost_edges(graph)
    if own is not None:
        edge_cost_s, edge_time_s = own.replace(graph.edges.length_m, edge_cost_s, edge_time_s)
    cost_ms, time_ms = _price_turns(graph, costs, turns, edge_cost_s, edge_time_s, scratch)
    edge_cost, edge_time = _count(edge_cost_s, costs.cost_scale), _count(edge_time_s, _MS)
    del edge_cost_s, edge_time_s, stuck
    length_cm = (_CM * graph.edges.length_m).astype(np.int32)

    def write(vertices: VertexGraph, name: str) -> None:
        vertices = vertices.move(scratch.move)
        order = np.argsort(rank[vertices.edge], kind="stable")
        number = np.empty(len(order), np.int32)
        number[order] = np.arange(len(order))
        _write(_number_vertices(vertices, number), folder, name)
        turn = vertices.turn
        cost, time = scratch.move(cost_ms[turn]), scratch.move(time_ms[turn])
        arcs = cost, time, scratch.move(length_cm[turns.origin[turn]])
        tail, head = (scratch.move(number[ends]) for ends in (vertices.tail, vertices.head))
        contract(
            len(order), tail, head, *arcs,
            make=lambda column, shape, kind: make_file(
                folder / f"{name}-{column}.npy", shape, kind
            ),
            make_scratch=scratch.make,
        )  # fmt: skip
        if name == "strict":
            _write(sort_turns(len(order), tail, head, cost, time), folder, name)

    write(
        make_strict(
            graph, turns, usable, costs.access, limited=limited,
            private=None if costs.find_private is None else costs.find_private(graph),
            avoided=costs.find_avoided(graph, turns),
        ),
        "strict",
    )  # fmt: skip
    write(make_relaxed(graph, turns, usable, costs.access, limited), "relaxed")
    _write(CostArrays(edge_cost, edge_time, connected), folder, "edges")
    return connected


def _price_turns(
    graph: RoadGraph,
    costs: ModeCosts,
    turns: Turns,
    edge_cost_s: Floats,
    edge_time_s: Floats,
    scratch: Scratch,
) -> tuple[Int32s, Int32s]:
    """Return cost and time of each turn with the edge before it.

    Block by block: to price a turn takes many times the room of its price.
    """
    cost, time_ms = (scratch.make(name, (len(turns),), np.int32) for name in ("cost", "time"))
    for start in range(0, len(turns), _TURNS_AT_ONCE):
        some = slice(start, start + _TURNS_AT_ONCE)
        part = turns.select(some)
        turn_cost_s, turn_time_s = costs.cost_turns(graph, part)
        cost[some] = _count(edge_cost_s[part.origin] + turn_cost_s, costs.cost_scale)
        time_ms[some] = _count(edge_time_s[part.origin] + turn_time_s, _MS)
    return cost, time_ms


def select_edges(graph: RoadGraph, costs: ModeCosts) -> tuple[Bools, Bools]:
    """Return the edges that ways go over, and those of them on which they only begin and end.

    These are closed to the vehicle or at this hour: the engine puts positions there all the same.
    """
    usable = costs.find_usable(graph)
    limited = costs.find_open(graph) & ~usable
    return usable | limited, limited


def _find_connected(graph: RoadGraph, vertices: VertexGraph, access: int) -> NDArray[np.uint8]:
    """Return per edge whether it leads on (1), and is led to (2), as the engine counts it.

    It counts edges that are closed to a vehicle or at an hour, too. Where ways turn back at a
    crossing that is closed to the mode, it counts no further.
    """
    count = len(vertices.edge)
    edge = vertices.edge
    passed = (graph.nodes.access[graph.end[edge[vertices.tail]]] & access) > 0
    columns = [
        np.ascontiguousarray(column, np.int32)
        for column in (
            vertices.tail[passed], vertices.head[passed],
            graph.junction[graph.start[edge]], graph.junction[graph.end[edge]],
        )
    ]  # fmt: skip
    connected = np.empty(count, np.uint8)
    if load_kernels().find_connected(
        count, len(columns[0]), *(address(column, np.int32) for column in columns),
        len(graph.junction), CONNECTED_CROSSINGS, address(connected, np.uint8),
    ):  # fmt: skip
        raise MemoryError("no memory is left to walk over the road graph")
    per_edge = np.zeros(len(vertices.begin), np.uint8)
    used = np.flatnonzero(vertices.begin >= 0)
    per_edge[used] = connected[vertices.begin[used]]
    # Both edges of a road are as connected as they are together; beside a crossing that is closed
    # to the mode, as the first of them is.
    is_open = (graph.nodes.access & access) > 0
    back = graph.opposing[used]
    is_both = vertices.begin[back] >= 0
    used, back = used[is_both], back[is_both]
    between = is_open[graph.start[used]] & is_open[graph.end[used]]
    per_edge[used] = np.where(
        between, per_edge[used] | per_edge[back], per_edge[np.minimum(used, back)]
    )
    return per_edge


def _count(values: Floats, scale: int) -> Int32s:
    """Return whole parts; what takes too long, such as a road without a speed, is no way."""
    return np.minimum(np.round(scale * values), NO_WAY).astype(np.int32)


def _number_vertices(vertices: VertexGraph, number: Int32s) -> VertexArrays:
    begin = np.where(vertices.begin >= 0, number[vertices.begin], -1)
    ends = np.flatnonzero(vertices.is_end)
    ends = ends[np.argsort(vertices.edge[ends], kind="stable")]
    edge = np.empty(len(number), np.int32)
    edge[number] = vertices.edge
    is_end = np.empty(len(number), np.uint8)
    is_end[number] = vertices.is_end
    counts = np.bincount(vertices.edge[ends], minlength=len(begin))
    return VertexArrays(
        begin.astype(np.int32),
        np.append(0, np.cumsum(counts)).astype(np.uint32),
        number[ends],
        edge,
        is_end,
    )


def _write(
    arrays: EdgeArrays | CostArrays | VertexArrays | TurnArrays, folder: Path, name: str
) -> None:
    for field in fields(arrays):
        np.save(folder / f"{name}-{field.name}.npy", getattr(arrays, field.name))


def _open[Arrays: (EdgeArrays, CostArrays, VertexArrays, TurnArrays)](
    kind: type[Arrays], folder: Path, name: str
) -> Arrays:
    return kind(
        **{field.name: map_array(folder / f"{name}-{field.name}.npy") for field in fields(kind)}
    )


class _Graph:
    """A contracted graph and its edges."""

    def __init__(self, folder: Path, name: str) -> None:
        self.vertices = _open(VertexArrays, folder, name)
        self.hierarchy = Hierarchy(open_arrays(folder, name))

    @property
    def contracted(self) -> Contracted:
        """Return what single ways are found in."""
        vertices = self.vertices
        return Contracted(
            self.hierarchy, vertices.begin, vertices.first_end, vertices.end, vertices.edge
        )

    def find_ends(self, edges: Ints) -> tuple[Ints, Int32s]:
        """Return the vertices at which a way onto an edge ends: places in `edges`, vertices."""
        first = self.vertices.first_end[edges].astype(np.int64)
        count = self.vertices.first_end[edges + 1] - first
        return np.repeat(np.arange(len(edges)), count), self.vertices.end[ranges(first, count)]


class SharedTable:
    """What all modes share, mapped from files. Threads may share one."""

    def __init__(self, folder: Path, tiles_tar: Path) -> None:
        """Open what was written, and the tiles that it is of."""
        self._folder = folder
        self.edges = edges = _open(EdgeArrays, folder, "edges")
        self.edge_ids = EdgeIds(np.asarray(edges.tile_ids), np.asarray(edges.tile_starts))
        self.roads = self.open_roads()
        with tiles_tar.open("rb") as file:
            tiles = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.facts = EdgeFacts(tiles, self.edge_ids, np.asarray(edges.tile_places))

    def open_roads(self, open_folder: Path | None = None) -> Roads:
        """Return the roads; a folder of a set of own speeds has which of them are closed."""
        edges = self.edges
        return Roads(self._folder, edges.length_cm, (edges.start, edges.end), open_folder)


@dataclass(frozen=True, slots=True)
class Reach:
    """Edges within reach, with the seconds or meters at the begin and the end of each.

    Below nothing is what lies before the place that was started from.
    """

    edges: Ints
    begin: Floats
    end: Floats
    #: Whether the rules for dead ends and private roads leave no way on, where there is one without
    #: them; the engine then asks without them.
    is_stuck: bool


class ModeTable:
    """All that the matrices of one profile need, mapped from files. Threads may share one.

    Costs are counted in milliseconds here, or in the parts that its costs have (`cost_scale`).
    """

    def __init__(
        self,
        shared: SharedTable,
        folder: Path,
        profile: Profile,
        reach_m: float | None = None,
        *,
        has_own_speeds: bool = False,
    ) -> None:
        """Open what was written; cells over more than `reach_m` are not to be asked for."""
        self.reach_m = np.inf if reach_m is None else reach_m
        self.edge_ids = shared.edge_ids
        self._mode: Mode = profile.mode
        costs = find_costs(profile)
        self._asks_again, self._scale = costs.asks_again, costs.cost_scale
        self.roads = shared.open_roads(folder) if has_own_speeds else shared.roads
        self.facts, self._edges = shared.facts, shared.edges
        self._ends = (shared.edges.start, shared.edges.end)
        self._costs = _open(CostArrays, folder, "edges")
        self._strict, self._relaxed = _Graph(folder, "strict"), _Graph(folder, "relaxed")
        self._network = Network(
            self._strict.contracted, self._relaxed.contracted,
            Edges(
                self._costs.cost_ms, self._costs.time_ms, shared.edges.length_cm, *self._ends
            ),
            asks_again=self._asks_again, cost_scale=self._scale,
        )  # fmt: skip
        self._spreading = Spreading(
            _open(TurnArrays, folder, "strict"),
            self._strict.vertices.edge,
            shared.edges.length_cm,
        )

    @property
    def usable(self) -> Ints:
        """Return the edges that the mode uses."""
        return np.flatnonzero(self._strict.vertices.begin >= 0)

    def find_places(self, positions: Floats, radius_m: float) -> Places:
        """Return the places of positions (n, 2) on the roads of the mode, within the radius."""
        return self.roads.find(positions, self._mode, radius_m)

    def find_connected(
        self,
        positions: Floats,
        radius_m: float,
        needs: Ints | int,
        detour_m: float,
        nearest: Places | None = None,
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return where positions (n, 2) are moved on to, and which ones are.

        A position is moved if its roads do not lead on (a need of 1), or are not led to (2), and
        there is a road that does both at most `detour_m` farther away, within the radius. `nearest`
        are its places, where they are known.
        """
        if nearest is None:
            nearest = self.find_places(positions, radius_m)
        connected, away_m = np.zeros(len(positions), np.uint8), np.zeros(len(positions))
        known = np.flatnonzero(nearest.edge >= 0)
        at = nearest.position[known]
        np.bitwise_or.at(connected, at, self._costs.connected[nearest.edge[known]])
        away_m[at] = nearest.away_m[known]
        lost = np.zeros(len(positions), np.bool_)
        lost[at] = True
        lost &= (connected & needs) != needs
        places = positions.copy()
        for index in np.flatnonzero(lost).tolist():
            most_m = min(radius_m, away_m[index] + detour_m)
            place = self.roads.find_connected(positions[index], self._mode, most_m)
            if place is None:
                lost[index] = False
            else:
                places[index] = place
        return places, lost

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
        self, graph: _Graph, origins: Places, destinations: Places, deadline: Deadline
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

    def _prepare(self, graph: _Graph, origins: Places, destinations: Places) -> _Ends:
        origins = origins.take(self._find_known(graph, origins))
        destinations = destinations.take(self._find_known(graph, destinations))
        place, ends = graph.find_ends(destinations.edge)
        destinations = destinations.take(place)
        return _Ends(
            origins,
            destinations,
            self._start(origins, graph.vertices.begin[origins.edge], is_origin=True),
            self._start(destinations, ends, is_origin=False),
        )

    def _find_known(self, graph: _Graph, places: Places) -> Ints:
        """Return the places on edges that a way takes: not those without a speed."""
        edges = np.maximum(places.edge, 0)
        known = (places.edge >= 0) & (graph.vertices.begin[edges] >= 0)
        return np.flatnonzero(known & (self._costs.cost_ms[edges] < -LEAST_START_MS))

    def _start(self, places: Places, vertices: Int32s, *, is_origin: bool) -> Starts:
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
        graph: _Graph,
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
        cells = np.unique(origins.position[one] * width + destinations.position[other])
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

    def find_way(self, origin: Places, destination: Places) -> Way | None:
        """Return the way from one position to another, None where there is none."""
        return self._network.find_way(origin, destination)

    def find_trip(
        self, origin: tuple[float, float], destination: tuple[float, float], radius_m: float
    ) -> Trip | None:
        """Return the way between two positions with its line, None where there is none."""
        return find_trip(self.roads, self._network, self._mode, origin, destination, radius_m)

    def find_reached(self, places: Places, *, toward: bool, metric: Metric, most: float) -> Reach:
        """Return the edges that are reached from places within seconds or meters.

        Or, `toward`, from which the places are reached. Edges may come more than once.
        """
        places = places.take(self._find_known(self._strict, places))
        vertices = self._strict.vertices
        if toward:
            place, ends = self._strict.find_ends(places.edge)
            places = places.take(place)
        else:
            ends = vertices.begin[places.edge]
        found = self._spreading.find_reached(
            self._start(places, ends, is_origin=not toward), backward=toward,
            most_ms=round(_MS * most) if metric == "time" else NO_WAY,
            most_cm=round(_CM * most) if metric == "distance" else NO_WAY,
        )  # fmt: skip
        edges = vertices.edge.take(found.vertex)
        # Of the copies of an edge, those at which ways end, or begin.
        is_kept = (
            vertices.begin.take(edges) == found.vertex
            if toward
            else vertices.is_end.take(found.vertex)
        )
        kept = np.flatnonzero(is_kept)
        edges, sign = edges.take(kept), -1 if toward else 1
        begin, whole, unit = (
            (found.length_cm, self._edges.length_cm, _CM)
            if metric == "distance"
            else (found.time_ms, self._costs.time_ms, _MS)
        )
        begin = begin.take(kept)
        return Reach(
            edges,
            begin / unit,
            (begin + sign * whole.take(edges)) / unit,
            not found.is_cut and self._leads_on(places, toward, edges),
        )

    def _leads_on(self, places: Places, toward: bool, reached: Ints) -> bool:
        """Return whether places are connected with more than what was reached."""
        need = 2 if toward else 1
        crossings = np.unique(self._ends[0 if toward else 1][reached])
        is_connected = bool((self._costs.connected[places.edge] & need).any())
        return is_connected and len(crossings) < CONNECTED_CROSSINGS

    def measure_edges(self, way: Way) -> tuple[Floats, Floats]:
        """Return time and cost from the begin of a way to the end of each edge, in seconds.

        Turns count with the edge after them.
        """
        graph = self._relaxed if way.is_relaxed else self._strict
        costs_ms, times_ms = graph.hierarchy.measure_way(way.vertices)
        begin, end = (place.share for place in way.ends)

        def sum_up(steps: Int32s, whole: Int32s, scale: int) -> Floats:
            of_edge = whole[way.edges].astype(np.float64)
            ends = np.append(0, np.cumsum(steps, dtype=np.int64)) + of_edge - begin * of_edge[0]
            ends[-1] -= (1 - end) * of_edge[-1]
            return np.maximum(ends, 0.0) / scale

        return (
            sum_up(times_ms, self._costs.time_ms, _MS),
            sum_up(costs_ms, self._costs.cost_ms, self._scale),
        )

    def find_speeds(self, edges: Ints) -> Floats:
        """Return km/h on edges."""
        return 36.0 * self._edges.length_cm[edges] / np.maximum(self._costs.time_ms[edges], 1)


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

    def measure(self, graph: _Graph, i: Ints, j: Ints, deadline: Deadline) -> tuple[Ints, ...]:
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
