"""The engine's own answers, in its words or in OSRM's, under our rules of ends and with our errors.

For who wants its whole answer: intersections, bearings, lanes. Questions of this library read what
they need of it instead (route.py, match.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.engine import Engine, NoRoad, NoRoute, TooFarApart
from mapyard.routing.modes import ASSUMED_TIME, Mode
from mapyard.routing.snapping import (
    DEFAULT_RADIUS_M,
    Role,
    check_on_roads,
    check_positions,
    explain,
    find_connected,
    look_over_meridian,
    make_locations,
)


def ask_route(
    engine: Engine,
    positions: NDArray[np.float64],
    mode: Mode,
    request: Mapping[str, Any],
    ends: Sequence[Mapping[str, Any]] = (),
    radius_m: float = DEFAULT_RADIUS_M,
) -> dict[str, Any]:
    """Return the engine's answer for the way through the positions (n, 2), lon and lat.

    Args:
        engine: the open graph.
        positions: in order of travel.
        mode: decides which roads the positions go to.
        request: the engine's members but `locations`; without `date_time`, rules of hours are
            those of noon of a working day.
        ends: members of each location beside its position.
        radius_m: a position farther from every road is refused, where its `ends` do not say.

    Raises `NoRoad` with the position's index, `NoRoute`, `TooFarApart`.
    """
    check_positions(positions)
    members = list(ends) or [{}] * len(positions)
    radiuses_m = [end.get("search_cutoff", radius_m) for end in members]
    asked = look_over_meridian(engine, positions, mode, radius_m)

    def ask(places: NDArray[np.float64]) -> dict[str, Any]:
        locations = make_locations(places, radius_m)
        written = [{**location, **end} for location, end in zip(locations, members, strict=True)]
        answer: dict[str, Any] = engine.call(
            "route", {**ASSUMED_TIME, **request, "locations": written}
        )
        return answer

    try:
        try:
            return ask(asked)
        except NoRoute:
            roles: list[Role] = ["via"] * len(positions)
            roles[0], roles[-1] = "origin", "destination"
            places, moved = find_connected(engine, asked, mode, radius_m, roles)
            if not moved.any():
                raise
            return ask(places)
    except NoRoad:
        raise explain(engine, positions, mode, radiuses_m) from None
    except TooFarApart:
        check_on_roads(engine, positions, mode, radius_m)
        raise
