"""What a route is: a line through positions, its legs, the positions on their roads."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.way import Way
from mapyard.routing.steps import Step


@dataclass(frozen=True, slots=True)
class Waypoint:
    """One of the asked positions, on its road."""

    lon: float
    lat: float
    distance_m: float
    name: str | None


@dataclass(frozen=True, slots=True)
class Leg:
    """The way between two consecutive positions."""

    distance_m: float
    duration_s: float
    begin: int
    end: int
    steps: list[Step] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Route:
    """A way through all positions."""

    positions: NDArray[np.float64]  #: (n, 2), lon and lat
    distance_m: float
    duration_s: float
    legs: list[Leg]
    waypoints: list[Waypoint]
    has_toll: bool
    has_ferry: bool
    has_motorway: bool
    #: The edges of each leg, where the route came out of the prepared graph.
    ways: tuple[Way, ...] = field(default=(), repr=False, compare=False)
    #: The prepared profile that it came out of.
    profile: str = ""
