"""Costs of cycling on a hybrid bicycle (the engine's `bicycle`)."""

from __future__ import annotations

from typing import Final

import numpy as np

from mapyard.routing.contraction.costs import (
    CYCLEWAY,
    FERRY,
    FIRST_OF_TRANSIT,
    FOOTWAY,
    LIVING_STREET,
    PATH,
    STEPS,
    TRACK,
    Bools,
    CrossingCosts,
    Floats,
    ModeCosts,
    cost_crossings,
    find_roads_between,
    find_stop_impacts,
    find_turn_types,
    seconds_per_meter,
)
from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.contraction.times import close_at_hours
from mapyard.routing.contraction.turns import Turns

_ACCESS: Final = 4
_SPEED_KMH: Final = 18.0
_DISMOUNTED_SPEED_KMH: Final = 5
_WORST_SURFACE: Final = 6
#: Preference of roads over cycleways, 0–1; the engine's default.
_USE_ROADS: Final = 0.25
_AVOID_ROADS: Final = 1 - _USE_ROADS

_STEPS_TIME_S_PER_M: Final = 3.6
_STEPS_FACTOR: Final = 8.0
_SURFACE_SPEEDS: Final = np.array([1, 1, 1, 0.8, 0.6, 0.4, 0.25, 0])
_SURFACE_COSTS: Final = 0.25 * np.array([0, 0, 0, 0, 1, 2.5, 4.5, 7])
_GRADE_SPEEDS: Final = np.array(
    [2.2, 2, 1.9, 1.7, 1.4, 1.2, 1, 0.95, 0.85, 0.75, 0.65, 0.55, 0.5, 0.45, 0.4, 0.3]
)
_GRADE_COSTS: Final = 0.75 * np.array(
    [2, 1, 0.5, 0.2, 0.1, 0, 0.05, 0.1, 0.3, 0.8, 2, 3, 4.5, 6.5, 10, 12]
)
_CLASS_STRESS: Final = np.array([1, 0.4, 0.2, 0.1, 0.05, 0.05, 0, 0.5])
_ROAD_FACTOR: Final = 2 - 2 * _USE_ROADS
_LANE_STRESS: Final = 0.05 * _ROAD_FACTOR
_TRUCK_ROUTE_STRESS: Final = 0.5
_LIVING_STREET_STRESS: Final = 0.2 + 0.8 * _USE_ROADS
_TRACK_STRESS: Final = 0.5 + _USE_ROADS
#: By cycle lane (none, shared, dedicated, separated), then the same with a shoulder.
_LANE_COMFORT: Final = np.array(
    [
        1, 0.9 + 0.05 * _USE_ROADS, 0.4 + 0.45 * _USE_ROADS, 0.15 + 0.6 * _USE_ROADS,
        0.7 + 0.2 * _USE_ROADS, 0.9 + 0.05 * _USE_ROADS, 0.4 + 0.45 * _USE_ROADS,
        0.15 + 0.6 * _USE_ROADS,
    ]
)  # fmt: skip
#: By how well walkers are kept off.
_PATH_COMFORT: Final = np.array(
    [0.2 + _USE_ROADS, 0.2 + _USE_ROADS, 0.1 + 0.9 * _USE_ROADS, 0.8 * _USE_ROADS]
)
_SIDEPATH_STRESS: Final = 3 * _AVOID_ROADS
_CYCLE_NETWORK_FACTOR: Final = 0.95

_CROSSINGS: Final = CrossingCosts(
    gate_s=20, private_gate_s=0, bollards_are_gates=True, ends_only_s=0, alley_s=600,
    living_street_s=0, track_s=0, service_road_s=15, rail_ferry_s=21_600, waits=False,
)  # fmt: skip
#: By type of turn, driving on the right, and on the left.
_TURN_TIMES_S: Final = np.array(
    [[0.15, 0.2, 0.3, 0.5, 5, 1.5, 1, 0.4], [0.15, 0.4, 1, 1.5, 5, 0.5, 0.3, 0.2]]
)
_TURN_STRESS: Final = np.array(
    [[0, 0.25, 0.75, 1, 4, 2.25, 1.75, 0.75], [0, 0.75, 1.75, 2.25, 4, 1, 0.75, 0.25]]
)
_CROSSING_TIME_S: Final = 0.75
_PATH_CLASS_STRESS: Final = 0.1
_PATH_ENTRY, _LIVING_STREET_ENTRY = 0.05, 0.15
_LANE_ENTRY: Final = np.array([1, 0.5, 0.25, 0.1, 0.4, 0.5, 0.25, 0.1])
_HIGHER_CLASS_COST_S: Final = 10.0


def _find_open(graph: RoadGraph) -> Bools:
    edges = graph.edges
    return (
        (edges.access & _ACCESS > 0) & (edges.surface <= _WORST_SURFACE) & (edges.shortcut == 0)
        & (edges.use < FIRST_OF_TRANSIT) & (graph.end >= 0)
    )  # fmt: skip


def _find_usable(graph: RoadGraph) -> Bools:
    usable = _find_open(graph)
    close_at_hours(graph.limits, usable, _ACCESS)
    return usable


def _cost_edges(graph: RoadGraph) -> tuple[Floats, Floats]:
    edges = graph.edges
    path = _find_paths(graph)
    comfort = np.where(
        path,
        _PATH_COMFORT[edges.cycle_lane],
        _LANE_COMFORT[4 * edges.shoulder + edges.cycle_lane],
    )
    stress = 1 + _LANE_STRESS * np.maximum(edges.lane_count - 1, 0)
    stress += _TRUCK_ROUTE_STRESS * edges.truck_route
    stress += _ROAD_FACTOR * _CLASS_STRESS[edges.road_class]
    stress *= _stress_of_speed(edges.speed_kmh)
    living, track = edges.use == LIVING_STREET, edges.use == TRACK
    stress = np.select([path, living, track], [1.0, _LIVING_STREET_STRESS, _TRACK_STRESS], stress)
    comfort[living | track] = 1.0
    comfort += _SIDEPATH_STRESS * edges.use_sidepath
    comfort *= np.where(edges.cycle_network == 1, _CYCLE_NETWORK_FACTOR, 1.0)

    factor = 1 + _GRADE_COSTS[edges.grade] + comfort * stress + _SURFACE_COSTS[edges.surface]
    speed = np.floor(_SPEED_KMH * _SURFACE_SPEEDS[edges.surface] * _GRADE_SPEEDS[edges.grade] + 0.5)
    speed[edges.dismount == 1] = _DISMOUNTED_SPEED_KMH
    time_s = edges.length_m * seconds_per_meter(speed)
    ferry_s = edges.length_m * seconds_per_meter(edges.speed_kmh)
    steps_s = edges.length_m * _STEPS_TIME_S_PER_M
    special = [edges.use == STEPS, edges.use == FERRY]
    return (
        np.select(special, [steps_s * _STEPS_FACTOR, ferry_s], time_s * factor),
        np.select(special, [steps_s, ferry_s], time_s),
    )


def _stress_of_speed(speed_kmh: Ints) -> Floats:
    stress = np.select(
        [speed_kmh <= 40, speed_kmh <= 65], [speed_kmh / 40, speed_kmh / 25 - 0.6],
        speed_kmh / 50 + 0.7,
    )  # fmt: skip
    weight = 0.75 * _AVOID_ROADS + 0.25
    return np.where(speed_kmh > 0, (stress - 1) * weight + 1, 0.0)


def _find_paths(graph: RoadGraph) -> Bools:
    return np.isin(graph.edges.use, (CYCLEWAY, FOOTWAY, PATH))


def _cost_turns(graph: RoadGraph, turns: Turns) -> tuple[Floats, Floats]:
    cost_s, time_s = cost_crossings(graph, turns, _CROSSINGS)
    edges, nodes = graph.edges, graph.nodes
    a, b = turns.origin, turns.destination
    path, living = _find_paths(graph)[b], edges.use[b] == LIVING_STREET
    entry = np.select(
        [path, living], [_PATH_ENTRY, _LIVING_STREET_ENTRY],
        _LANE_ENTRY[4 * edges.shoulder[b] + edges.cycle_lane[b]],
    )  # fmt: skip

    kind, impact = find_turn_types(graph, turns), find_stop_impacts(graph, turns)
    left, right = find_roads_between(graph, turns)
    side = 1 - nodes.drive_on_right[turns.node]
    turn_s = _TURN_TIMES_S[side, kind]
    turn_s = impact * np.where(left & right, np.maximum(turn_s, _CROSSING_TIME_S), turn_s)
    stress = 1 + (impact > 0) * _TURN_STRESS[side, kind]
    class_stress = np.where(path, _PATH_CLASS_STRESS, _CLASS_STRESS[edges.road_class[b]])
    stress *= class_stress * _AVOID_ROADS + _USE_ROADS + 1

    steps_up = np.where(living, 0, np.maximum(edges.road_class[a] - edges.road_class[b], 0))
    stress += (steps_up > 0) * np.where(nodes.signal[turns.node] == 1, 0.4, 1.0)
    higher_s = _HIGHER_CLASS_COST_S * steps_up * (entry * _AVOID_ROADS + _USE_ROADS)
    return cost_s + turn_s * (stress + 1) + higher_s, time_s + turn_s


BICYCLE: Final = ModeCosts(
    access=_ACCESS,
    find_usable=_find_usable,
    find_open=lambda graph: _find_open(graph) & (graph.edges.use != STEPS),
    cost_edges=_cost_edges,
    cost_turns=_cost_turns,
    asks_again=False,
)
