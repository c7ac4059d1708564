"""Costs of walking (the engine's `pedestrian`)."""

from __future__ import annotations

from typing import Final

import numpy as np

from mapyard.routing.contraction.costs import (
    ALLEY,
    DRIVEWAY,
    ELEVATOR,
    FERRY,
    FIRST_OF_TRANSIT,
    LIVING_STREET,
    STEPS,
    TRACK,
    Bools,
    CrossingCosts,
    Floats,
    ModeCosts,
    cost_crossings,
    find_roads_between,
    find_stop_impacts,
    seconds_per_meter,
)
from mapyard.routing.contraction.tiles import ELEVATOR_NODE, RoadGraph
from mapyard.routing.contraction.times import close_at_hours
from mapyard.routing.contraction.turns import Turns

_ACCESS: Final = 2
_SPEED_KMH: Final = 5.1
_WORST_SURFACE: Final = 6
_HARDEST_HIKING: Final = 1

_GRADE_TIMES: Final = np.array(
    [1.33, 1.22, 1.08, 0.97, 0.88, 0.92, 1, 1.1, 1.2, 1.33, 1.43, 1.57, 1.83, 2.03, 2.23, 2.5]
)
#: Half of the engine's, as its default avoids hills half.
_GRADE_COSTS: Final = np.array(
    [1, 0.5, 0.25, 0.1, 0.05, 0, 0, 0, 0.05, 0.15, 0.2, 0.25, 0.35, 0.5, 1.5, 2.5]
)
_HIKING_TIMES: Final = np.array([1, 1.11])
_HIKING_COSTS: Final = np.array([0, 0.25])
#: Factor of a use; others are 1, or 2 in roundabouts without a sidewalk.
_USE_FACTORS: Final = {ALLEY: 1.0, DRIVEWAY: 5.0, TRACK: 1.0, LIVING_STREET: 0.96}
_PLAIN_USES: Final = (11, 24, 25, *_USE_FACTORS)  # service roads, sidewalks, footways
_ROUNDABOUT_FACTOR: Final = 2.0
_FERRY_FACTOR: Final = 0.5

_CROSSINGS: Final = CrossingCosts(
    gate_s=0, private_gate_s=600, bollards_are_gates=False, ends_only_s=0, alley_s=600,
    living_street_s=0, track_s=0, service_road_s=0, rail_ferry_s=21_600, waits=False,
)  # fmt: skip
_STEPS_COST_S: Final = 30.0
_ELEVATOR_COST_S: Final = 5.0
#: By how much one has to wait.
_ROAD_CROSSING_TIMES_S: Final = np.array([0, 0, 1, 1, 2, 3, 5, 15])


def _find_open(graph: RoadGraph) -> Bools:
    edges = graph.edges
    return (
        (edges.access & _ACCESS > 0) & (edges.surface <= _WORST_SURFACE) & (edges.shortcut == 0)
        & (edges.hiking <= _HARDEST_HIKING) & (edges.use < FIRST_OF_TRANSIT) & (graph.end >= 0)
    )  # fmt: skip


def _find_usable(graph: RoadGraph) -> Bools:
    usable = _find_open(graph)
    close_at_hours(graph.limits, usable, _ACCESS)
    return usable


def _cost_edges(graph: RoadGraph) -> tuple[Floats, Floats]:
    edges = graph.edges
    hiking = np.minimum(edges.hiking, _HARDEST_HIKING)
    time_s = edges.length_m * (3.6 / _SPEED_KMH) * _HIKING_TIMES[hiking] * _GRADE_TIMES[edges.grade]
    factor = 1 + _HIKING_COSTS[hiking] + _GRADE_COSTS[edges.grade]
    for use, own in _USE_FACTORS.items():
        factor *= np.where(edges.use == use, own, 1.0)
    no_sidewalk = (edges.sidewalk_left | edges.sidewalk_right) == 0
    round_about = (edges.roundabout == 1) & no_sidewalk & ~np.isin(edges.use, _PLAIN_USES)
    factor *= np.where(round_about, _ROUNDABOUT_FACTOR, 1.0)

    ferry = edges.use == FERRY
    ferry_s = edges.length_m * seconds_per_meter(edges.speed_kmh)
    return (
        np.where(ferry, ferry_s * _FERRY_FACTOR, time_s * factor),
        np.where(ferry, ferry_s, time_s),
    )


def _cost_turns(graph: RoadGraph, turns: Turns) -> tuple[Floats, Floats]:
    cost_s, time_s = cost_crossings(graph, turns, _CROSSINGS)
    left, right = find_roads_between(graph, turns)
    crossing_s = (left & right) * _ROAD_CROSSING_TIMES_S[find_stop_impacts(graph, turns)]
    cost_s, time_s = cost_s + crossing_s, time_s + crossing_s
    # Steps and elevators cost this and nothing else, and no time.
    use = graph.edges.use[turns.destination]
    steps, elevator = use == STEPS, use == ELEVATOR
    at_elevator = graph.nodes.kind[turns.node] == ELEVATOR_NODE
    floors = np.abs(graph.level[turns.destination] - graph.level[turns.origin])
    cost_s = np.where(at_elevator, _ELEVATOR_COST_S * _count_floors(floors), cost_s)
    cost_s[elevator] = _ELEVATOR_COST_S
    cost_s[steps] = _STEPS_COST_S
    return cost_s, np.where(steps | elevator | at_elevator, 0.0, time_s)


def _count_floors(floors: Floats) -> Floats:
    """Return whole floors, one where it is not known."""
    return np.where(np.isnan(floors), 1.0, np.floor(floors))


FOOT: Final = ModeCosts(
    access=_ACCESS,
    find_usable=_find_usable,
    find_open=_find_open,
    cost_edges=_cost_edges,
    cost_turns=_cost_turns,
    obeys_turn_restrictions=False,
)
