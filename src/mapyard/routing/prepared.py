"""Routes of a prepared profile out of arrays, without a call of the engine.

They are those that the engine gives (docs/decisions/039): the same places, costs and rules. What
differs from the defaults, and what needs texts, is left to the engine, as are all errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from mapyard.geo.sphere import distance_m
from mapyard.routing.config import COSTINGS, MAX_DISTANCE_M
from mapyard.routing.contraction.roads import FERRY, MOTORWAY, TOLL
from mapyard.routing.contraction.table import ModeTable
from mapyard.routing.contraction.trips import Trip
from mapyard.routing.engine import NO_WAY, TOO_FAR, Engine, explain_error
from mapyard.routing.modes import Mode
from mapyard.routing.snapping import DETOUR_M, NEEDS, explain
from mapyard.routing.trip import Leg, Route, Waypoint

type LonLat = tuple[float, float]


def find_prepared_route(
    engine: Engine,
    asked: Sequence[LonLat],
    positions: Sequence[LonLat],
    mode: Mode,
    radius_m: float,
    profile: str | None,
    *,
    most_m: float = math.inf,
) -> Route | None:
    """Return a profile's route through positions, None where the engine has to say.

    `asked` are the positions where they are looked for on roads, over `most_m` in all as the crow
    flies at most. Raises `NoRoad`, and at own speeds, which the engine does not know, `NoRoute` and
    `TooFarApart`, too.
    """
    table = engine.tables.find(profile)
    if table is None:
        return None
    is_own = mode in engine.tables.own_modes
    # Positions are few: each by itself takes less than numpy does for arrays of two.
    air_m = [distance_m(*one, *other) for one, other in pairwise(asked)]
    if sum(air_m) > most_m:
        return None
    if max(air_m) > table.reach_m or sum(air_m) > MAX_DISTANCE_M[COSTINGS[mode]]:
        if is_own:
            raise explain_error(TOO_FAR, "")
        return None
    trips = _find_trips(table, asked, radius_m)
    if trips is None:
        lonlat = np.array(asked)
        nearest = table.find_places(lonlat, radius_m)
        if len(np.unique(nearest.position)) < len(asked):
            raise explain(engine, np.array(positions), mode, radius_m)
        needs = np.full(len(asked), NEEDS["via"], np.uint8)
        needs[0], needs[-1] = NEEDS["origin"], NEEDS["destination"]
        moved_to, moved = table.find_connected(lonlat, radius_m, needs, DETOUR_M, nearest)
        if moved.any():
            trips = _find_trips(table, moved_to.tolist(), radius_m)
    if trips is None and is_own:
        raise explain_error(NO_WAY, "")
    return None if trips is None else _make_route(table, trips, positions, profile or "")


def _find_trips(
    table: ModeTable, positions: Sequence[LonLat], radius_m: float
) -> list[Trip] | None:
    trips = []
    for origin, destination in pairwise(positions):
        trip = table.find_trip(origin, destination, radius_m)
        if trip is None:
            return None
        trips.append(trip)
    return trips


def _make_route(
    table: ModeTable, trips: list[Trip], positions: Sequence[LonLat], profile: str
) -> Route:
    ways = [trip.way for trip in trips]
    lines = [trip.line.positions for trip in trips]
    # Legs share their end points; each further one is joined without its first position.
    line = (
        np.concatenate([lines[0], *(part[1:] for part in lines[1:])])
        if len(lines) > 1
        else lines[0]
    )
    starts = list(accumulate((len(part) - 1 for part in lines), initial=0))
    snapped = [line[start].tolist() for start in starts]
    edges = [int(way.edges[0]) for way in ways] + [int(ways[-1].edges[-1])]
    kinds = 0
    for trip in trips:
        kinds |= trip.line.kinds
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
            for at, (lon, lat), edge in zip(positions, snapped, edges, strict=True)
        ],
        has_toll=bool(kinds & TOLL),
        has_ferry=bool(kinds & FERRY),
        has_motorway=bool(kinds & MOTORWAY),
        ways=tuple(ways),
        profile=profile,
    )
