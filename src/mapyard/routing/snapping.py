"""Positions onto roads: one rule for every endpoint.

A position goes to the nearest place of the nearest road that its mode may use, and to this one
alone: so that every endpoint, whatever algorithm of the engine it asks, means the same place.
Farther than the search radius it is refused, not moved. Only where no way leads from there, as the
road belongs to a small piece without connection (a parking lot cut off at the extract's edge, a
mapping error), it is moved on to a connected road at most `DETOUR_M` farther away: so a point on a
small island is not carried over the water.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.geo.sphere import DEGREE_M, distance_m, haversine_m
from mapyard.routing.config import COSTINGS
from mapyard.routing.contraction.roads import CONNECTED_CROSSINGS
from mapyard.routing.engine import Engine, NoRoad
from mapyard.routing.modes import Mode
from mapyard.routing.polyline import decode_polyline

#: Search radius unless asked otherwise.
DEFAULT_RADIUS_M: Final = 1_000.0
#: How far the nearest road is looked for when a position is refused.
EXPLAIN_RADIUS_M: Final = 5_000.0
#: A connected road is preferred to a nearer one without connection up to this difference.
DETOUR_M: Final = 250.0
#: How many crossings the engine counts before it takes a road for connected.
CONNECTED_REACH: Final = CONNECTED_CROSSINGS
#: Candidates so close together are one place of several edges, such as a road's two directions.
_SAME_PLACE_M: Final = 0.1
#: How far into its road a position is moved from a crossing.
_STEP_M: Final = 2.0
#: Polar latitudes have no roads, and the engine's distances break down there.
_MAX_LAT: Final = 89.9

_ON_EARTH: Final = np.array([180.0, 90.0])
#: The least width of a degree of longitude that is counted with, as part of one of latitude.
_LEAST_WIDTH: Final = 0.01

#: What a position is for the ways that are asked for.
Role = Literal["origin", "via", "destination"]
#: The directions in which its road needs to lead on.
_DIRECTIONS: Final[dict[Role, tuple[str, ...]]] = {
    "origin": ("outbound",),
    "via": ("inbound", "outbound"),
    "destination": ("inbound",),
}
#: The same in bits, as prepared tables have them.
NEEDS: Final[dict[Role, int]] = {"origin": 1, "via": 3, "destination": 2}


@dataclass(frozen=True, slots=True)
class Snapped:
    """A position on a road."""

    lon: float
    lat: float
    distance_m: float
    #: Roads reached from here, both ways, counted up to `CONNECTED_REACH`.
    reach: int
    #: The engine's answer for the edge, for who wants more of it.
    edge: dict[str, Any]


def check_positions(positions: NDArray[np.float64], name: str = "positions") -> None:
    """Raise `InvalidRequest` with the index of the first position that is none on Earth."""
    if (np.abs(positions) <= _ON_EARTH).all():
        return
    lon, lat = positions[:, 0], positions[:, 1]
    bad = ~(np.isfinite(lon) & np.isfinite(lat) & (abs(lon) <= 180) & (abs(lat) <= 90))
    if bad.any():
        index = int(bad.argmax())
        raise InvalidRequest(
            f"{name}[{index}]: [{lon[index]:g}, {lat[index]:g}] is not longitude and latitude",
            details={name: [f"position {index} is out of range"]},
        )


def make_location(
    lon: float, lat: float, radius_m: float = DEFAULT_RADIUS_M, reach: int = 1
) -> dict[str, Any]:
    """Return the engine's location of a position.

    With a `reach` over 1, the nearest road that reaches so many others is offered beside the
    nearest one.
    """
    return {"lon": lon, "lat": lat, "search_cutoff": radius_m, "minimum_reachability": reach}


def make_locations(
    positions: NDArray[np.float64], radius_m: float = DEFAULT_RADIUS_M, reach: int = 1
) -> list[dict[str, Any]]:
    """Return the engine's locations of positions (n, 2), lon and lat."""
    return [make_location(lon, lat, radius_m, reach) for lon, lat in positions.tolist()]


def find_roads(
    engine: Engine,
    positions: NDArray[np.float64],
    mode: Mode,
    radius_m: float,
    *,
    reach: int = CONNECTED_REACH,
    verbose: bool = False,
) -> list[list[Snapped]]:
    """Return per position its candidates, nearest first; an empty list where there is none."""
    found: list[list[Snapped]] = [[] for _ in positions]
    places = positions.tolist()
    on_map = [index for index, (_, lat) in enumerate(places) if abs(lat) <= _MAX_LAT]
    if not on_map:
        return found
    locations = make_locations(positions[on_map], radius_m, reach)
    answer = engine.call(
        "locate", {"locations": locations, "costing": COSTINGS[mode], "verbose": verbose}
    )
    for index, row in zip(on_map, answer, strict=True):
        roads = [read_edge(edge, *places[index]) for edge in row.get("edges") or ()]
        found[index] = sorted(roads, key=lambda snapped: snapped.distance_m)
    return found


def look_over_meridian(
    engine: Engine, positions: NDArray[np.float64], mode: Mode, radius_m: float
) -> NDArray[np.float64]:
    """Return the positions, those moved over the 180th meridian whose nearest road lies there.

    The engine looks for roads on a position's own side only.
    """
    if not may_reach_meridian(float(np.abs(positions[:, 0]).max(initial=0.0)), radius_m):
        return positions
    width_m = np.maximum(np.cos(np.radians(positions[:, 1])), _LEAST_WIDTH) * DEGREE_M
    near = np.flatnonzero((180.0 - np.abs(positions[:, 0])) * width_m <= radius_m)
    if not near.size:
        return positions
    here = positions[near]
    there = np.column_stack([np.where(here[:, 0] > 0, -180.0, 180.0), here[:, 1]])
    own, other = (find_roads(engine, places, mode, radius_m, reach=1) for places in (here, there))
    moved = positions.copy()
    for index, (lon, lat), mine, theirs in zip(near, here.tolist(), own, other, strict=True):
        if not theirs:
            continue
        away_m = distance_m(lon, lat, theirs[0].lon, theirs[0].lat)
        if away_m <= min(radius_m, mine[0].distance_m if mine else radius_m):
            moved[index] = theirs[0].lon, theirs[0].lat
    return moved


def may_reach_meridian(lon: float, radius_m: float) -> bool:
    """Return whether the 180th meridian is within the radius of a longitude, at some latitude."""
    return 180.0 - abs(lon) <= radius_m / DEGREE_M / _LEAST_WIDTH


def read_edge(edge: dict[str, Any], lon: float, lat: float) -> Snapped:
    """Return a candidate of a `locate` answer, seen from the asked position."""
    at_lon, at_lat = edge["correlated_lon"], edge["correlated_lat"]
    reach = min(edge.get("outbound_reach", 0), edge.get("inbound_reach", 0))
    return Snapped(at_lon, at_lat, distance_m(lon, lat, at_lon, at_lat), reach, edge)


def find_connected(
    engine: Engine,
    positions: NDArray[np.float64],
    mode: Mode,
    radius_m: float,
    role: Role | Sequence[Role],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return where the positions (n, 2) are moved on to, and which ones are.

    `role` is one for all, or one each. A position is moved if its nearest road has no connection in
    the direction that its role needs,
    and there is a connected road at most `DETOUR_M` farther away, within the radius.
    """
    roles = [role] * len(positions) if isinstance(role, str) else role
    table = engine.tables.find(mode)
    if table is not None:
        needs = np.array([NEEDS[role] for role in roles], np.uint8)
        return table.find_connected(positions, radius_m, needs, DETOUR_M)
    places = positions.copy()
    moved = np.zeros(len(positions), np.bool_)
    candidates = find_roads(engine, positions, mode, radius_m, verbose=True)
    for index, (roads, its_role) in enumerate(zip(candidates, roles, strict=True)):
        road = _find_connected(roads, its_role)
        if road is not None:
            places[index] = _step_in(road)
            moved[index] = True
    return places, moved


def _find_connected(roads: list[Snapped], role: Role) -> Snapped | None:
    if not roads:
        return None
    nearest_m = roads[0].distance_m
    nearest = [road.edge for road in roads if road.distance_m <= nearest_m + _SAME_PLACE_M]
    if all(
        max(edge[f"{direction}_reach"] for edge in nearest) >= CONNECTED_REACH
        for direction in _DIRECTIONS[role]
    ):
        return None
    for road in roads:
        if road.reach >= CONNECTED_REACH and road.distance_m <= nearest_m + DETOUR_M:
            return road
    return None


def _step_in(road: Snapped) -> tuple[float, float]:
    """Return the road's place, a step away from a crossing, where other roads are as near."""
    shape = decode_polyline(road.edge["edge_info"]["shape"])
    lon, lat = shape[:, 0], shape[:, 1]
    to_start_m, to_end_m = haversine_m(road.lon, road.lat, lon[[0, -1]], lat[[0, -1]]).tolist()
    if min(to_start_m, to_end_m) > _STEP_M:
        return road.lon, road.lat
    along_m = np.append(0.0, np.cumsum(haversine_m(lon[:-1], lat[:-1], lon[1:], lat[1:])))
    step_m = min(_STEP_M, along_m[-1] / 2)
    at_m = step_m if to_start_m <= to_end_m else along_m[-1] - step_m
    return float(np.interp(at_m, along_m, lon)), float(np.interp(at_m, along_m, lat))


def check_on_roads(
    engine: Engine, positions: NDArray[np.float64], mode: Mode, radius_m: float
) -> None:
    """Raise the error of the first position without a road: a better answer than "too far"."""
    if any(not roads for roads in find_roads(engine, positions, mode, radius_m, reach=1)):
        raise explain(engine, positions, mode, radius_m)


def explain(
    engine: Engine,
    positions: NDArray[np.float64],
    mode: Mode,
    radius_m: float | Sequence[float],
) -> NoRoad:
    """Return the error that names the first position without a road, and the nearest one's way.

    `radius_m` is one for all, or one each.
    """
    radiuses_m = np.broadcast_to(radius_m, len(positions)).tolist()
    distances_m = _find_distances(engine, positions, mode)
    for index, (nearest_m, most_m) in enumerate(zip(distances_m, radiuses_m, strict=True)):
        if nearest_m is None or nearest_m > most_m:
            return no_road(index, nearest_m, mode, most_m)
    return NoRoad(
        f"there is no road for mode {mode} near one of the positions, of the kinds and in the "
        "direction that are asked for"
    )


def _find_distances(
    engine: Engine, positions: NDArray[np.float64], mode: Mode
) -> list[float | None]:
    """Return how far the nearest road of each position is, where there is one."""
    table = engine.tables.find(mode)
    if table is None:
        roads = find_roads(engine, positions, mode, EXPLAIN_RADIUS_M, reach=1)
        return [row[0].distance_m if row else None for row in roads]
    places = table.find_places(positions, EXPLAIN_RADIUS_M)
    known = dict(zip(places.position.tolist(), places.away_m.tolist(), strict=True))
    return [known.get(index) for index in range(len(positions))]


def no_road(index: int, nearest_m: float | None, mode: Mode, radius_m: float) -> NoRoad:
    """Return the error of one position."""
    where = ""
    if nearest_m is not None:
        where = f", the nearest one is {nearest_m:.0f} m away"
    elif radius_m < EXPLAIN_RADIUS_M:
        where = f", and none within {EXPLAIN_RADIUS_M:.0f} m"
    details: dict[str, Any] = {"index": index, "radius_m": radius_m}
    if nearest_m is not None:
        details["nearest_road_m"] = round(nearest_m, 1)
    return NoRoad(
        f"position {index}: no road for mode {mode} within {radius_m:g} m{where}",
        details=details,
    )
