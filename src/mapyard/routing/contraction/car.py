"""Costs of a car (the engine's `auto`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from mapyard.routing.contraction.costs import (
    CONSTRUCTION,
    FERRY,
    LEFT,
    LIVING_STREET,
    RAIL_FERRY,
    RAMP,
    REVERSE,
    RIGHT,
    SHARP_LEFT,
    SHARP_RIGHT,
    TRACK,
    Bools,
    CrossingCosts,
    Floats,
    ModeCosts,
    cost_crossings,
    find_private,
    find_roads_between,
    find_stop_impacts,
    find_turn_types,
    keeps_name,
    seconds_per_meter,
)
from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.contraction.times import close_at_hours
from mapyard.routing.contraction.turns import Turns
from mapyard.store.columns import ranges

_ACCESS: Final = 1
_NODE_ACCESS: Final = 1 | 128  # high-occupancy lanes let cars over their nodes
_TOP_SPEED_KMH: Final = 140
_IMPASSABLE: Final = 7
#: Largest height, width and length in centimetres and weight in 10 kg, by kind of limit.
_VEHICLE: Final = {1: 160, 2: 190, 3: 270, 4: 80}

DENSITY_FACTORS: Final = 0.85 + 0.025 * np.arange(16)
_SURFACE_FACTORS: Final = np.array([0, 0, 0, 0.05, 0.1, 0.25, 0.5, 0.5])
TRACK_FACTOR: Final = 4.0
_LIVING_STREET_FACTOR: Final = 2.6
RAIL_FERRY_FACTOR: Final = 2.8

_CROSSINGS: Final = CrossingCosts(
    gate_s=20, private_gate_s=450, bollards_are_gates=True, ends_only_s=600, alley_s=0,
    living_street_s=400, track_s=300, service_road_s=75, rail_ferry_s=4_320, waits=True,
)  # fmt: skip
#: By type of turn, driving on the right, and on the left.
_TURN_COSTS_S: Final = np.array(
    [[0.5, 0.75, 1, 1.5, 9.5, 3.5, 2.5, 0.75], [0.5, 0.75, 2.5, 3.5, 9.5, 1.5, 1, 0.75]]
)
_CROSSING_COST_S: Final = 2.0
_RAMP_COST_S: Final = 1.5
_ROUNDABOUT_RAMP_COST_S: Final = 0.5
_REVERSE_COST_S: Final = 600.0
_REVERSE_OTHER_NAME_COST_S: Final = 10.0
_SHORT_PIECE_M: Final = 8
_PENCIL_POINT_FACTOR: Final = 15.0
_WAIT_FACTORS: Final = np.array(
    [1, 1, 1, 1, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.9, 2.2, 2.5, 2.8, 3.1, 3.5]
)
_TRAFFIC_LIGHT_TIME_S: Final = 2.0
_REVERSE_TIME_S: Final = 20.0
_REVERSE_DEGREES: Final = (160, 200)


def find_open(graph: RoadGraph, access: int = _ACCESS) -> Bools:
    """Return the edges that are open to a motor vehicle, at whatever hour and of whatever size."""
    edges = graph.edges
    return (
        (edges.access & access > 0) & (edges.surface != _IMPASSABLE) & (edges.shortcut == 0)
        & (edges.use != CONSTRUCTION) & (graph.end >= 0)
    )  # fmt: skip


def _find_usable(graph: RoadGraph) -> Bools:
    usable = find_open(graph)
    usable[find_over_limit(graph, _ACCESS, _VEHICLE)] = False
    close_at_hours(graph.limits, usable, _ACCESS)
    return usable


def find_over_limit(
    graph: RoadGraph, access: int, vehicle: Mapping[int, int], *, exempt: bool | None = None
) -> Ints:
    """Return the edges whose limits a vehicle is over.

    Only limits that spare destinations where these are `exempt`, only others where not.
    """
    edge, kind, modes, value = graph.limits.T
    found = np.zeros(len(edge), np.bool_)
    for limit, own in vehicle.items():
        found |= (kind == limit) & (value < own)
    found &= modes & access > 0
    if exempt is not None:
        found &= graph.spares_ends == exempt
    return edge[found]


def _cost_edges(graph: RoadGraph) -> tuple[Floats, Floats]:
    edges = graph.edges
    time_s = edges.length_m * seconds_per_meter(np.minimum(edges.speed_kmh, _TOP_SPEED_KMH))
    factor = DENSITY_FACTORS[edges.density]
    factor = np.where(edges.use == FERRY, 1.0, factor)
    factor = np.where(edges.use == RAIL_FERRY, RAIL_FERRY_FACTOR, factor)
    factor += _SURFACE_FACTORS[edges.surface]
    factor *= np.where(edges.use == TRACK, TRACK_FACTOR, 1.0)
    factor *= np.where(edges.use == LIVING_STREET, _LIVING_STREET_FACTOR, 1.0)
    return time_s * factor, time_s


def _cost_turns(graph: RoadGraph, turns: Turns) -> tuple[Floats, Floats]:
    cost_s, time_s = cost_crossings(graph, turns, _CROSSINGS)
    return cost_s + cost_waits(graph, turns), time_s + time_turns(graph, turns)


def cost_waits(graph: RoadGraph, turns: Turns) -> Floats:
    """Return per turn the cost of waiting for others and of turning."""
    edges, nodes = graph.edges, graph.nodes
    a, b = turns.origin, turns.destination
    kind, impact = find_turn_types(graph, turns), find_stop_impacts(graph, turns)
    left, right = find_roads_between(graph, turns)
    drives_left = 1 - nodes.drive_on_right[turns.node]
    cost_s = np.where(left & right, _CROSSING_COST_S, _TURN_COSTS_S[drives_left, kind])
    ramp = (edges.use[a] == RAMP) != (edges.use[b] == RAMP)
    cost_s += ramp * (_RAMP_COST_S + _ROUNDABOUT_RAMP_COST_S * edges.roundabout[b])

    is_turn = (kind >= 2) & (kind <= 6)
    cost_s *= np.where(is_turn, impact, 1)
    same_name = keeps_name(graph, turns)
    # A turn far back into a road that runs beside the own one.
    pencil_point = same_name & (edges.named[b] == 1)
    pencil_point &= np.where(
        drives_left == 1,
        (kind == SHARP_RIGHT) & left & ~right,
        (kind == SHARP_LEFT) & right & ~left,
    )
    reverse = kind == REVERSE
    cost_s *= np.where(pencil_point, _PENCIL_POINT_FACTOR, 1.0)
    cost_s += np.where(
        reverse, np.where(same_name, _REVERSE_COST_S, _REVERSE_OTHER_NAME_COST_S), 0.0
    )
    cost_s *= np.where(is_turn, 1, impact) * _WAIT_FACTORS[nodes.density[turns.node]]
    return np.where(impact > 0, cost_s, 0.0)


def time_turns(graph: RoadGraph, turns: Turns) -> Floats:
    """Return per turn the time of slowing down, by its angle, and of traffic lights."""
    nodes, node = graph.nodes, turns.node
    arrives = (_find_headings_deg(graph, node, turns.local_index) + 180) % 360
    leaves = _find_headings_deg(graph, node, graph.edges.local_index[turns.destination])
    angle = (leaves - arrives) % 360
    reverse = (angle >= _REVERSE_DEGREES[0]) & (angle <= _REVERSE_DEGREES[1])
    turn_s = _make_turn_times()[1 - nodes.drive_on_right[node], angle] + _REVERSE_TIME_S * reverse
    # The node keeps one less than its roads: where a road just goes on, nothing is lost.
    turn_s *= (nodes.road_count[node] > 1) | reverse
    return turn_s + _TRAFFIC_LIGHT_TIME_S * nodes.signal[node]


def _find_headings_deg(graph: RoadGraph, node: Ints, local_index: Ints) -> Ints:
    shift = (np.minimum(local_index, 7) * 8).astype(np.uint64)
    packed = (graph.headings[node] >> shift) & np.uint64(255)
    heading = np.round(packed.astype(np.float32) * np.float32(359 / 255)).astype(np.int64)
    return np.where(local_index < 8, heading, 0)


def _make_turn_times() -> Floats:
    """Return seconds by driving side (right, left) and angle, a curve that OSRM found."""
    angle = np.arange(360)
    angle = np.where(angle > 180, angle - 360, angle)
    bias = 1.075
    sides = []
    for slope in (1 / bias, bias):
        to_right = 7.5 / (1 + np.exp(-(13 * slope * angle / 180 - 6.5 / slope)))
        to_left = 7.5 / (1 + np.exp(-(-13 / slope * angle / 180 - 6.5 * slope)))
        sides.append(np.where(angle >= 0, to_right, to_left))
    return np.array(sides)


def _find_avoided(graph: RoadGraph, turns: Turns) -> list[list[int]]:
    """Return pairs of turns to the inner side over a short piece inside a crossing: a U-turn."""
    edges = graph.edges
    kind = find_turn_types(graph, turns)
    inner = np.where(
        graph.nodes.drive_on_right[turns.node] == 1,
        np.isin(kind, (SHARP_LEFT, LEFT)),
        np.isin(kind, (RIGHT, SHARP_RIGHT)),
    )
    short = (edges.internal == 1) & (edges.length_m <= _SHORT_PIECE_M)
    waits = find_stop_impacts(graph, turns) > 0
    onto = np.flatnonzero(inner & short[turns.destination] & waits)
    off = np.flatnonzero(inner & short[turns.origin] & waits)
    off = off[np.argsort(turns.origin[off], kind="stable")]
    begins = turns.origin[off]
    first = np.searchsorted(begins, turns.destination[onto])
    count = np.searchsorted(begins, turns.destination[onto], side="right") - first
    at = ranges(first, count)
    before = np.repeat(onto, count)
    return np.column_stack(
        [turns.origin[before], turns.destination[before], turns.destination[off[at]]]
    ).tolist()


CAR: Final = ModeCosts(
    access=_NODE_ACCESS,
    find_usable=_find_usable,
    find_open=find_open,
    cost_edges=_cost_edges,
    cost_turns=_cost_turns,
    find_private=find_private,
    find_avoided=_find_avoided,
)
