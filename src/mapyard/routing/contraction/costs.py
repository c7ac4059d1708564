"""What the three modes share: numbers of the engine's classes, and costs of crossing a node.

All costs are those of the engine's options (valhalla/sif) as `modes.COSTING_DEFAULTS` has them, in
seconds; a cost is what a search minimizes, a time is what the way takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.contraction.turns import Turns

type Bools = NDArray[np.bool_]
type Floats = NDArray[np.float64]

# Uses of an edge.
RAMP, TRACK, DRIVEWAY, ALLEY, LIVING_STREET, SERVICE_ROAD = 1, 3, 4, 5, 10, 11
CYCLEWAY, SIDEWALK, FOOTWAY, STEPS, PATH, ELEVATOR = 20, 24, 25, 26, 27, 33
FERRY, RAIL_FERRY, CONSTRUCTION, FIRST_OF_TRANSIT = 41, 42, 43, 50
# Kinds of a node.
GATE, BOLLARD, TOLL_BOOTH, BORDER_CONTROL = 1, 2, 3, 10
# Types of a turn; 1 to 3 go to the right, 5 to 7 to the left.
RIGHT, SHARP_RIGHT, REVERSE, SHARP_LEFT, LEFT = 2, 3, 4, 5, 6

_BORDER_TIME_S: Final = 600.0
_GATE_TIME_S: Final = 10.0
_TOLL_BOOTH_TIME_S: Final = 15.0
_FERRY_TIME_S: Final = 300.0
_NEW_NAME_COST_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class ModeCosts:
    """How a mode moves; each function works on whole arrays."""

    access: int  #: bit of the mode in access masks
    find_usable: Callable[[RoadGraph], Bools]
    #: Edges that positions go to: at any hour, and whatever a vehicle's height.
    find_open: Callable[[RoadGraph], Bools]
    cost_edges: Callable[[RoadGraph], tuple[Floats, Floats]]  #: cost and time per edge
    cost_turns: Callable[[RoadGraph, Turns], tuple[Floats, Floats]]  #: cost and time per turn
    obeys_turn_restrictions: bool = True
    #: Roads that are entered on the last stretch only, as they are for their destinations, and all
    #: roads from which one gets onto them at any time.
    find_private: Callable[[RoadGraph], tuple[Bools, Bools]] | None = None
    #: Turns that no way holds, however cheap.
    find_forbidden: Callable[[RoadGraph, Turns], Bools] | None = None
    #: In what parts costs are counted: milliseconds, or centimeters where a cost is a length.
    cost_scale: int = 1000
    #: Where no way is found, the engine asks once more, without rules for dead ends and such.
    asks_again: bool = True
    #: Sequences of edges that cost so much that a way never holds them.
    find_avoided: Callable[[RoadGraph, Turns], list[list[int]]] = lambda graph, turns: []


@dataclass(frozen=True, slots=True)
class CrossingCosts:
    """Costs without time of what lies on a node or begins there, in seconds."""

    gate_s: float
    private_gate_s: float
    bollards_are_gates: bool
    #: Roads for their destinations only.
    ends_only_s: float
    alley_s: float
    living_street_s: float
    track_s: float
    service_road_s: float
    rail_ferry_s: float
    #: Whether toll booths and rail ferries take their time; others than cars are spared it.
    waits: bool


def cost_crossings(graph: RoadGraph, turns: Turns, costs: CrossingCosts) -> tuple[Floats, Floats]:
    """Return cost and time per turn of gates, borders, tolls, ferries and kinds of roads."""
    edges, nodes = graph.edges, graph.nodes
    a, b, node = turns.origin, turns.destination, turns.node
    kind = nodes.kind[node]
    gate = kind == GATE
    private = (gate | (costs.bollards_are_gates & (kind == BOLLARD))) & (
        nodes.private_access[node] == 1
    )
    plain_gate = gate & (nodes.tagged_access[node] == 0)
    time_s = _BORDER_TIME_S * (kind == BORDER_CONTROL) + _GATE_TIME_S * (plain_gate + 1 * private)
    cost_s = 1.0 * costs.gate_s * plain_gate + costs.private_gate_s * private

    def enters(use: int) -> Bools:
        return (edges.use[b] == use) & (edges.use[a] != use)

    time_s += _FERRY_TIME_S * enters(FERRY)
    if costs.waits:
        time_s += _TOLL_BOOTH_TIME_S * ((kind == TOLL_BOOTH) | (edges.toll[b] > edges.toll[a]))
        time_s += _FERRY_TIME_S * enters(RAIL_FERRY)
    cost_s += costs.rail_ferry_s * enters(RAIL_FERRY)
    service_road = enters(SERVICE_ROAD) & (edges.internal[b] == 0)
    cost_s += costs.ends_only_s * (edges.destination_only[b] > edges.destination_only[a])
    cost_s += costs.alley_s * enters(ALLEY) + costs.living_street_s * enters(LIVING_STREET)
    cost_s += costs.track_s * enters(TRACK) + costs.service_road_s * service_road
    cost_s += _NEW_NAME_COST_S * ((edges.link[b] == 0) & ~keeps_name(graph, turns))
    return cost_s + time_s, time_s


def find_private(graph: RoadGraph) -> tuple[Bools, Bools]:
    """Return which roads are for their destinations only, twice, as `ModeCosts` wants it."""
    private = graph.edges.destination_only == 1
    return private, private


def keeps_name(graph: RoadGraph, turns: Turns) -> Bools:
    """Return per turn whether the road keeps its name."""
    return _look_up(graph.edges.same_name, turns, 1) == 1


def find_turn_types(graph: RoadGraph, turns: Turns) -> Ints:
    """Return per turn its type, 0–7: straight, three to the right, reverse, three to the left."""
    return _look_up(graph.edges.turn_types, turns, 3)


def find_stop_impacts(graph: RoadGraph, turns: Turns) -> Ints:
    """Return per turn how much one has to wait, 0–7."""
    return _look_up(graph.edges.stop_impacts, turns, 3)


def find_roads_between(graph: RoadGraph, turns: Turns) -> tuple[Bools, Bools]:
    """Return per turn whether a road lies to the left, and to the right, of the way."""
    edges = graph.edges
    return _look_up(edges.roads_left, turns, 1) == 1, _look_up(edges.roads_right, turns, 1) == 1


def _look_up(packed: Ints, turns: Turns, width: int) -> Ints:
    """Return what the edge after a turn keeps for the road before it; 0 beyond eight roads."""
    value = (packed[turns.destination] >> (np.minimum(turns.local_index, 7) * width)) & (
        (1 << width) - 1
    )
    return np.where(turns.local_index < 8, value, 0)


def seconds_per_meter(speed_kmh: Ints | Floats) -> Floats:
    """Return the engine's time per meter; a speed of 0 stands for an hour per meter."""
    return np.where(speed_kmh > 0, 3.6 / np.maximum(speed_kmh, 1), 3600.0)
