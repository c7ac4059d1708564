"""Routes of a prepared profile out of arrays, without a call of the engine.

They are those that the engine gives (docs/decisions/039): the same places, costs and rules. What
differs from the defaults, and what needs texts, is left to the engine, as are all errors.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import distance_m
from mapyard.routing.config import COSTINGS, MAX_DISTANCE_M
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.roads import FERRY, MOTORWAY, TOLL
from mapyard.routing.contraction.table import ModeTable
from mapyard.routing.contraction.way import Way
from mapyard.routing.engine import NO_WAY, TOO_FAR, Engine, explain_error
from mapyard.routing.modes import Mode
from mapyard.routing.snapping import DETOUR_M, NEEDS, explain
from mapyard.routing.trip import Leg, Route, Waypoint


def find_prepared_route(
    engine: Engine,
    asked: NDArray[np.float64],
    positions: NDArray[np.float64],
    mode: Mode,
    radius_m: float,
    profile: str | None,
) -> Route | None:
    """Return a profile's route through positions (n, 2), None where the engine has to say.

    `asked` are the positions where they are looked for on roads. Raises `NoRoad`, and at own
    speeds, which the engine does not know, `NoRoute` and `TooFarApart`, too.
    """
    table = engine.tables.find(profile)
    if table is None:
        return None
    is_own = mode in engine.tables.own_modes
    # Positions are few: each by itself takes less than numpy does for arrays of two.
    air_m = [distance_m(*one, *other) for one, other in pairwise(asked.tolist())]
    if max(air_m) > table.reach_m or sum(air_m) > MAX_DISTANCE_M[COSTINGS[mode]]:
        if is_own:
            raise explain_error(TOO_FAR, "")
        return None
    places = table.find_places(asked, radius_m).split()
    if any(not len(place.edge) for place in places):
        raise explain(engine, positions, mode, radius_m)
    ways = _find_ways(table, places)
    if ways is None:
        needs = np.full(len(asked), NEEDS["via"], np.uint8)
        needs[0], needs[-1] = NEEDS["origin"], NEEDS["destination"]
        moved_to, moved = table.find_connected(asked, radius_m, needs, DETOUR_M)
        if moved.any():
            ways = _find_ways(table, table.find_places(moved_to, radius_m).split())
    if ways is None and is_own:
        raise explain_error(NO_WAY, "")
    return None if ways is None else _make_route(table, ways, positions, profile or "")


def _find_ways(table: ModeTable, places: list[Places]) -> list[Way] | None:
    ways = []
    for origin, destination in pairwise(places):
        way = table.find_way(origin, destination)
        if way is None:
            return None
        ways.append(way)
    return ways


def _make_route(
    table: ModeTable, ways: list[Way], positions: NDArray[np.float64], profile: str
) -> Route:
    roads = table.roads
    found = [roads.find_line(way.edges, way.ends) for way in ways]
    lines = [line.positions for line in found]
    # Legs share their end points; each further one is joined without its first position.
    line = (
        np.concatenate([lines[0], *(part[1:] for part in lines[1:])])
        if len(lines) > 1
        else lines[0]
    )
    starts = list(accumulate((len(part) - 1 for part in lines), initial=0))
    snapped = [line[start].tolist() for start in starts]
    asked: list[tuple[float, float]] = positions.tolist()
    edges = [int(way.edges[0]) for way in ways] + [int(ways[-1].edges[-1])]
    kinds = 0
    for part in found:
        kinds |= part.kinds
    return Route(
        positions=line,
        distance_m=round(sum(way.length_m for way in ways), 1),
        duration_s=round(sum(way.time_s for way in ways), 3),
        legs=[
            Leg(round(way.length_m, 1), round(way.time_s, 3), begin, end, [])
            for way, (begin, end) in zip(ways, pairwise(starts), strict=True)
        ],
        waypoints=[
            Waypoint(lon, lat, round(distance_m(*at, lon, lat), 1), table.facts.read_name(edge))
            for at, (lon, lat), edge in zip(asked, snapped, edges, strict=True)
        ],
        has_toll=bool(kinds & TOLL),
        has_ferry=bool(kinds & FERRY),
        has_motorway=bool(kinds & MOTORWAY),
        ways=tuple(ways),
        profile=profile,
    )
