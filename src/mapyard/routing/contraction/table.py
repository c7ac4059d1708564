"""All that is known of one mode: places on its roads, ways, matrices, what is within reach."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.routing.contraction.arrays import CostArrays, EdgeArrays, Graph, map_arrays
from mapyard.routing.contraction.cells import Cells
from mapyard.routing.contraction.costs import Floats
from mapyard.routing.contraction.facts import EdgeFacts
from mapyard.routing.contraction.hierarchy import NO_WAY, Int32s
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.profiles import find_costs
from mapyard.routing.contraction.roads import CONNECTED_CROSSINGS, Roads
from mapyard.routing.contraction.spread import Spreading, TurnArrays
from mapyard.routing.contraction.tiles import EdgeIds, Ints
from mapyard.routing.contraction.trips import Trip, find_trip
from mapyard.routing.contraction.way import Edges, Network, Way
from mapyard.routing.modes import Mode
from mapyard.routing.profiles import Profile
from mapyard.store.distinct import distinct

#: What is to be within a bound.
Metric = Literal["time", "distance"]

_MS: Final = 1000
_CM: Final = 100


class SharedTable:
    """What all modes share, mapped from files. Threads may share one."""

    def __init__(self, folder: Path, tiles_tar: Path) -> None:
        """Open what was written, and the tiles that it is of."""
        self._folder = folder
        self.edges = edges = map_arrays(EdgeArrays, folder, "edges")
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
        asks_again, scale = costs.asks_again, costs.cost_scale
        self._scale = scale
        self.roads = shared.open_roads(folder) if has_own_speeds else shared.roads
        self.facts, self._edges = shared.facts, shared.edges
        self._ends = (shared.edges.start, shared.edges.end)
        self._costs = map_arrays(CostArrays, folder, "edges")
        self._strict, self._relaxed = Graph(folder, "strict"), Graph(folder, "relaxed")
        self._network = Network(
            self._strict.contracted, self._relaxed.contracted,
            Edges(
                self._costs.cost_ms, self._costs.time_ms, shared.edges.length_cm, *self._ends
            ),
            asks_again=asks_again, cost_scale=scale,
        )  # fmt: skip
        self._cells = Cells(
            (self._strict, self._relaxed), self._costs, shared.edges,
            asks_again=asks_again, cost_scale=scale,
        )  # fmt: skip
        self._spreading = Spreading(
            map_arrays(TurnArrays, folder, "strict"),
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
        return self._cells.compute(origins, destinations, deadline)

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
        places = places.take(self._cells.find_known(self._strict, places))
        vertices = self._strict.vertices
        if toward:
            place, ends = self._strict.find_ends(places.edge)
            places = places.take(place)
        else:
            ends = vertices.begin[places.edge]
        found = self._spreading.find_reached(
            self._cells.start(places, ends, is_origin=not toward), backward=toward,
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
        crossings = distinct(self._ends[0 if toward else 1][reached])
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
