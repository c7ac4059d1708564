"""Positions onto roads: one rule for every endpoint.

A position goes to the nearest road that its mode may use within the search radius; farther ones
are refused, not moved. A road that belongs to a small piece without connection (a parking lot cut
off at the extract's edge, a mapping error) is passed over for a connected road only when that one
is at most `DETOUR_M` farther away: so a point on a small island is not carried over the water.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest
from mapyard.geo.sphere import haversine_m
from mapyard.routing.config import COSTINGS
from mapyard.routing.engine import Engine, NoRoad
from mapyard.routing.modes import Mode

#: Search radius unless asked otherwise.
DEFAULT_RADIUS_M: Final = 1_000.0
#: How far the nearest road is looked for when a position is refused.
EXPLAIN_RADIUS_M: Final = 5_000.0
#: A connected road is preferred to a nearer one without connection up to this difference.
DETOUR_M: Final = 250.0
#: Edges that can be reached from a road of a connected network; the engine's default.
CONNECTED_REACH: Final = 50
#: Polar latitudes have no roads, and the engine's distances break down there.
_MAX_LAT: Final = 89.9


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
    lon, lat = positions[:, 0], positions[:, 1]
    bad = ~(np.isfinite(lon) & np.isfinite(lat) & (abs(lon) <= 180) & (abs(lat) <= 90))
    if bad.any():
        index = int(bad.argmax())
        raise InvalidRequest(
            f"{name}[{index}]: [{lon[index]:g}, {lat[index]:g}] is no longitude and latitude",
            details={name: [f"position {index} is out of range"]},
        )


def make_locations(
    positions: NDArray[np.float64],
    radius_m: float = DEFAULT_RADIUS_M,
    reach: NDArray[np.int64] | None = None,
) -> list[dict[str, Any]]:
    """Return the engine's locations of positions (n, 2), lon and lat."""
    locations: list[dict[str, Any]] = [
        {"lon": lon, "lat": lat, "search_cutoff": radius_m} for lon, lat in positions.tolist()
    ]
    if reach is not None:
        for location, value in zip(locations, reach.tolist(), strict=True):
            location["minimum_reachability"] = value
    return locations


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
    on_map = np.abs(positions[:, 1]) <= _MAX_LAT
    found: list[list[Snapped]] = [[] for _ in positions]
    if not on_map.any():
        return found
    locations = make_locations(positions[on_map], radius_m)
    for location in locations:
        location["minimum_reachability"] = reach
    answer = engine.call(
        "locate", {"locations": locations, "costing": COSTINGS[mode], "verbose": verbose}
    )
    for index, row in zip(np.flatnonzero(on_map).tolist(), answer, strict=True):
        edges = row.get("edges") or []
        found[index] = sorted(
            (read_edge(edge, *positions[index].tolist()) for edge in edges),
            key=lambda snapped: snapped.distance_m,
        )
    return found


def read_edge(edge: dict[str, Any], lon: float, lat: float) -> Snapped:
    """Return a candidate of a `locate` answer, seen from the asked position."""
    at_lon, at_lat = edge["correlated_lon"], edge["correlated_lat"]
    reach = min(edge.get("outbound_reach", 0), edge.get("inbound_reach", 0))
    return Snapped(at_lon, at_lat, float(haversine_m(lon, lat, at_lon, at_lat)), reach, edge)


def choose_reach(
    engine: Engine, positions: NDArray[np.float64], mode: Mode, radius_m: float
) -> NDArray[np.int64]:
    """Return per position the edges that a road must reach to be preferred, by the rule above.

    `make_locations` takes it. Raises `NoRoad` with the index of the first position that has no
    road within the radius.
    """
    candidates = find_roads(engine, positions, mode, radius_m)
    for roads in candidates:
        if not roads:
            raise explain(engine, positions, mode, radius_m)
    # Beside the nearest road, the engine offers one of a larger network where that has few.
    detour_m = np.array([roads[-1].distance_m - roads[0].distance_m for roads in candidates])
    return np.where(detour_m > DETOUR_M, 1, CONNECTED_REACH)


def explain(engine: Engine, positions: NDArray[np.float64], mode: Mode, radius_m: float) -> NoRoad:
    """Return the error that names the first position without a road, and the nearest one's way."""
    roads = find_roads(engine, positions, mode, EXPLAIN_RADIUS_M, reach=1)
    distances_m = [row[0].distance_m if row else None for row in roads]
    for index, distance_m in enumerate(distances_m):
        if distance_m is None or distance_m > radius_m:
            return no_road(index, distance_m, mode, radius_m)
    return NoRoad(f"there is no road for mode {mode} near one of the positions")


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
