"""Costs of a truck (the engine's `truck`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from mapyard.routing.contraction.car import (
    CAR,
    DENSITY_FACTORS,
    RAIL_FERRY_FACTOR,
    TRACK_FACTOR,
    cost_waits,
    find_open,
    find_over_limit,
    time_turns,
)
from mapyard.routing.contraction.costs import (
    FERRY,
    LIVING_STREET,
    RAIL_FERRY,
    TRACK,
    Bools,
    CrossingCosts,
    Floats,
    cost_crossings,
    seconds_per_meter,
)
from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.routing.contraction.times import close_at_hours
from mapyard.routing.contraction.turns import Turns

_ACCESS: Final = 8
_TOP_SPEED_KMH: Final = 120
#: Largest height, width and length in centimetres, weight and load of an axle in 10 kg, and number
#: of axles, by kind of limit.
_VEHICLE: Final = {1: 411, 2: 260, 3: 2164, 4: 2177, 5: 907, 9: 5}

_SURFACE_FACTORS: Final = np.array([0, 0, 0, 0.1, 0.2, 0.5, 1, 0])
_TOO_FAST_FACTOR: Final = 0.05
_LOW_CLASS_FACTOR: Final = 0.5
_LOW_CLASS_COST_S: Final = 15.0
_FIRST_LOW_CLASS: Final = 6
_TRUCK_ROUTE_FACTOR: Final = 0.85
_LIVING_STREET_FACTOR: Final = 3.0

_CROSSINGS: Final = CrossingCosts(
    gate_s=20, private_gate_s=450, bollards_are_gates=True, ends_only_s=0, alley_s=0,
    living_street_s=500, track_s=300, service_road_s=0, rail_ferry_s=4_320, waits=True,
)  # fmt: skip
_ENDS_ONLY_COST_S: Final = 600.0


def _find_open(graph: RoadGraph) -> Bools:
    return find_open(graph, _ACCESS)


def _find_usable(graph: RoadGraph) -> Bools:
    usable = _find_open(graph)
    usable[_find_too_small(graph, exempt=False)] = False
    close_at_hours(graph.limits, usable, _ACCESS)
    return usable


def _find_too_small(graph: RoadGraph, *, exempt: bool) -> Ints:
    """Return the edges whose limits a truck is over: those that spare destinations, or others."""
    return find_over_limit(graph, _ACCESS, _VEHICLE, exempt=exempt)


def _find_private(graph: RoadGraph) -> tuple[Bools, Bools]:
    edges = graph.edges
    private = edges.destination_only_hgv == 1
    private[_find_too_small(graph, exempt=True)] = True
    return private, private | (edges.destination_only == 1)


def _cost_edges(graph: RoadGraph) -> tuple[Floats, Floats]:
    edges = graph.edges
    limited = edges.truck_speed_kmh > 0
    speed_kmh = np.where(
        limited, np.minimum(edges.truck_speed_kmh, edges.speed_kmh), edges.speed_kmh
    )
    time_s = edges.length_m * seconds_per_meter(np.minimum(speed_kmh, _TOP_SPEED_KMH))
    factor = DENSITY_FACTORS[edges.density] + _SURFACE_FACTORS[edges.surface]
    factor += _TOO_FAST_FACTOR * np.maximum(speed_kmh - _TOP_SPEED_KMH, 0)
    factor += _LOW_CLASS_FACTOR * (edges.road_class >= _FIRST_LOW_CLASS)
    factor = np.where(edges.use == FERRY, 1.0, factor)
    factor = np.where(edges.use == RAIL_FERRY, RAIL_FERRY_FACTOR, factor)
    factor *= np.where(edges.truck_route == 1, _TRUCK_ROUTE_FACTOR, 1.0)
    factor *= np.where(edges.use == TRACK, TRACK_FACTOR, 1.0)
    factor *= np.where(edges.use == LIVING_STREET, _LIVING_STREET_FACTOR, 1.0)
    return time_s * factor, time_s


def _cost_turns(graph: RoadGraph, turns: Turns) -> tuple[Floats, Floats]:
    edges = graph.edges
    a, b = turns.origin, turns.destination
    cost_s, time_s = cost_crossings(graph, turns, _CROSSINGS)
    private_before = (edges.destination_only_hgv[a] == 1) | (edges.destination_only[a] == 1)
    cost_s += _ENDS_ONLY_COST_S * ((edges.destination_only_hgv[b] == 1) & ~private_before)
    is_low = edges.road_class >= _FIRST_LOW_CLASS
    cost_s += _LOW_CLASS_COST_S * (is_low[b] & ~is_low[a])
    return cost_s + cost_waits(graph, turns), time_s + time_turns(graph, turns)


TRUCK: Final = replace(
    CAR, access=_ACCESS, find_usable=_find_usable, find_open=_find_open, cost_edges=_cost_edges,
    cost_turns=_cost_turns, find_private=_find_private,
)  # fmt: skip
