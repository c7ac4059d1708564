"""Costs of profiles: those of their modes, changed as the engine changes them for its options."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from mapyard.routing.contraction.bicycle import BICYCLE
from mapyard.routing.contraction.car import CAR
from mapyard.routing.contraction.costs import ELEVATOR, FERRY, STEPS, Bools, Floats, ModeCosts
from mapyard.routing.contraction.foot import FOOT
from mapyard.routing.contraction.tiles import ELEVATOR_NODE, RoadGraph
from mapyard.routing.contraction.truck import TRUCK
from mapyard.routing.contraction.turns import Turns
from mapyard.routing.modes import Mode
from mapyard.routing.profiles import Profile

MODE_COSTS: Final[dict[Mode, ModeCosts]] = {
    "auto": CAR, "foot": FOOT, "bicycle": BICYCLE, "truck": TRUCK,
}  # fmt: skip
_MOTORWAY_CLASS: Final = 0
#: A length is counted in centimeters: in milliseconds, 1,073 km would be the longest.
_LENGTH_SCALE: Final = 100


def find_costs(profile: Profile) -> ModeCosts:
    """Return the costs of a profile."""
    costs = MODE_COSTS[profile.mode]
    if profile.options is not None and profile.options.shortest:
        costs = _make_shortest(costs)
    if profile.exclude:
        costs = replace(
            costs, find_forbidden=lambda graph, turns: _enters(graph, turns, profile.exclude)
        )
    return costs


def _make_shortest(costs: ModeCosts) -> ModeCosts:
    """Return costs that are meters, and nothing for turns; times stay.

    On foot, the costs of ferries and of getting onto steps and into elevators stay, too.
    """
    is_foot = costs is FOOT

    def cost_edges(graph: RoadGraph) -> tuple[Floats, Floats]:
        cost_s, time_s = costs.cost_edges(graph)
        stays = (graph.edges.use == FERRY) & is_foot
        return np.where(stays, cost_s, graph.edges.length_m), time_s

    def cost_turns(graph: RoadGraph, turns: Turns) -> tuple[Floats, Floats]:
        cost_s, time_s = costs.cost_turns(graph, turns)
        return np.where(_climbs(graph, turns) & is_foot, cost_s, 0.0), time_s

    return replace(
        costs, cost_edges=cost_edges, cost_turns=cost_turns, cost_scale=_LENGTH_SCALE,
        find_avoided=lambda graph, turns: [],
    )  # fmt: skip


def _climbs(graph: RoadGraph, turns: Turns) -> Bools:
    """Return the turns onto steps and at elevators."""
    use = graph.edges.use[turns.destination]
    at_elevator = graph.nodes.kind[turns.node] == ELEVATOR_NODE
    return np.isin(use, (STEPS, ELEVATOR)) | at_elevator


def _enters(graph: RoadGraph, turns: Turns, exclude: frozenset[str]) -> Bools:
    """Return the turns onto roads of a kind from others.

    Who is on such a road may go on, and leave it: the engine forbids no more.
    """
    edges = graph.edges
    kinds = {"toll": edges.toll == 1, "motorway": edges.road_class == _MOTORWAY_CLASS}
    entered = np.zeros(len(turns), np.bool_)
    for name in exclude:
        entered |= kinds[name][turns.destination] & ~kinds[name][turns.origin]
    return entered
