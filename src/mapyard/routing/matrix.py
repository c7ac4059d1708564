"""Distances and durations from every origin to every destination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import TooLarge
from mapyard.geo.sphere import haversine_m
from mapyard.routing.engine import Engine, NoRoad, NoRoute
from mapyard.routing.modes import Mode, make_costing
from mapyard.routing.snapping import (
    DEFAULT_RADIUS_M,
    check_positions,
    choose_reach,
    make_locations,
)

MAX_PAIRS: Final = 10_000
#: Pairs of one call of the engine: the deadline is looked at in between.
_PAIRS_PER_CALL: Final = 2_500
#: Farthest pair up to which one search per origin is used on foot and by bicycle, metres.
#:
#: It looks at the whole surroundings of each origin, so that its time grows with the area; near by
#: it is 2 to 3 times faster and agrees with routes in every cell. Cars need the other algorithm,
#: from both ends: it alone prunes dead ends and private roads as routes do. Measured in
#: docs/decisions/032.
_ONE_SEARCH_SPREAD_M: Final = 60_000.0


#: Empty cells that are asked again as routes.
_MOST_ASKED_AGAIN: Final = 200


@dataclass(frozen=True, slots=True)
class Matrix:
    """Metres and seconds, (origins, destinations); NaN where no way leads."""

    distances_m: NDArray[np.float64]
    durations_s: NDArray[np.float64]


def compute_matrix(
    engine: Engine,
    origins: NDArray[np.float64],
    destinations: NDArray[np.float64],
    mode: Mode = "auto",
    *,
    radius_m: float = DEFAULT_RADIUS_M,
    max_pairs: int = MAX_PAIRS,
    deadline: Deadline | None = None,
) -> Matrix:
    """Return the matrix of (n, 2) origins and (m, 2) destinations, lon and lat.

    Raises `TooLarge` over `max_pairs`, `NoRoad` with the index of a position (destinations are
    counted on after the origins), `Timeout` at the deadline.
    """
    pairs = len(origins) * len(destinations)
    if pairs > max_pairs:
        raise TooLarge(
            f"{len(origins)} origins by {len(destinations)} destinations are {pairs} pairs, "
            f"at most {max_pairs}; ask for parts of the matrix",
            details={"limit": max_pairs, "count": pairs},
        )
    check_positions(origins, "origins")
    check_positions(destinations, "destinations")
    deadline = deadline or no_deadline()
    everything = np.concatenate([origins, destinations])
    # A position given as origin and as destination is looked up once.
    distinct, inverse = np.unique(everything, axis=0, return_inverse=True)
    reach = _choose_reach(engine, everything, distinct, mode, radius_m)[inverse.ravel()]
    sources = make_locations(origins, radius_m, reach[: len(origins)])
    targets = make_locations(destinations, radius_m, reach[len(origins) :])
    one_search = mode != "auto" and _find_spread_m(distinct) <= _ONE_SEARCH_SPREAD_M

    distances_m = np.full((len(origins), len(destinations)), np.nan)
    durations_s = np.full_like(distances_m, np.nan)
    rows_per_call = max(1, _PAIRS_PER_CALL // max(1, len(destinations)))
    for start in range(0, len(origins), rows_per_call):
        deadline.check()
        rows = slice(start, start + rows_per_call)
        request: dict[str, Any] = make_costing(mode) | {
            "sources": sources[rows],
            "targets": targets,
            "verbose": False,
        }
        answer = engine.call("matrix", request, one_search_per_origin=one_search)
        cells = answer["sources_to_targets"]
        distances_m[rows] = np.array(cells["distances"], np.float64) * 1000.0
        durations_s[rows] = np.array(cells["durations"], np.float64)
    _ask_again(engine, distances_m, durations_s, sources, targets, mode, deadline)
    return Matrix(np.round(distances_m, 1), durations_s)


def _ask_again(
    engine: Engine,
    distances_m: NDArray[np.float64],
    durations_s: NDArray[np.float64],
    sources: list[dict[str, Any]],
    targets: list[dict[str, Any]],
    mode: Mode,
    deadline: Deadline,
) -> None:
    """Fill empty cells for which a route exists.

    The matrix algorithms miss some ways that begin or end on a piece of road with one way in; many
    empty cells are islands, and not asked again.
    """
    missing = np.argwhere(np.isnan(durations_s))
    if len(missing) > _MOST_ASKED_AGAIN:
        return
    for row, column in missing.tolist():
        deadline.check()
        request = make_costing(mode) | {
            "locations": [sources[row], targets[column]],
            "directions_type": "none",
        }
        try:
            summary = engine.call("route", request)["trip"]["summary"]
        except (NoRoute, NoRoad):
            continue
        distances_m[row, column] = summary["length"] * 1000.0
        durations_s[row, column] = summary["time"]


def _choose_reach(
    engine: Engine,
    everything: NDArray[np.float64],
    distinct: NDArray[np.float64],
    mode: Mode,
    radius_m: float,
) -> NDArray[np.int64]:
    try:
        return choose_reach(engine, distinct, mode, radius_m)
    except NoRoad:
        choose_reach(engine, everything, mode, radius_m)  # again, for the index in the input
        raise


def _find_spread_m(positions: NDArray[np.float64]) -> float:
    """Return the length of the diagonal of the positions' box."""
    west, south = positions.min(axis=0)
    east, north = positions.max(axis=0)
    return float(haversine_m(west, south, east, north))


def fill_unreachable(
    matrix: Matrix,
    origins: NDArray[np.float64],
    destinations: NDArray[np.float64],
    speed_kmh: float,
) -> Matrix:
    """Return the matrix with missing cells as the crow flies, at a given speed."""
    missing = np.isnan(matrix.durations_s)
    air_m = haversine_m(
        origins[:, None, 0], origins[:, None, 1], destinations[None, :, 0], destinations[None, :, 1]
    )
    return Matrix(
        np.where(missing, np.round(air_m, 1), matrix.distances_m),
        np.where(missing, np.round(air_m / (speed_kmh / 3.6), 1), matrix.durations_s),
    )
