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
#: Pairs of one call of the engine, by one search per origin or not: the deadline is looked at in
#: between. The other algorithm searches from the destinations again in each call.
_PAIRS_PER_CALL: Final = {True: 2_500, False: 10_000}
#: Farthest pair up to which one search per origin is used on foot and by bicycle, metres.
#:
#: It looks at the whole surroundings of each origin, so that its time grows with the area; near by
#: it is 2 to 3 times faster and agrees with routes in every cell. Cars need the other algorithm,
#: from both ends: it alone prunes dead ends and private roads as routes do. Measured in
#: docs/decisions/032.
_ONE_SEARCH_SPREAD_M: Final = 60_000.0


#: Empty cells that are asked again as routes, and how many in a row in vain.
_MOST_ASKED_AGAIN: Final = 200
_MOST_IN_VAIN: Final = 8


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
    everything = np.concatenate([origins, destinations])
    # A position given as origin and as destination is looked up once.
    distinct, inverse = np.unique(everything, axis=0, return_inverse=True)
    reach = _choose_reach(engine, everything, distinct, mode, radius_m)[inverse.ravel()]
    cells = _Cells(
        engine,
        mode,
        make_locations(origins, radius_m, reach[: len(origins)]),
        make_locations(destinations, radius_m, reach[len(origins) :]),
        deadline or no_deadline(),
    )
    cells.compute(one_search=mode != "auto" and _find_spread_m(distinct) <= _ONE_SEARCH_SPREAD_M)
    cells.ask_again()
    return Matrix(np.round(cells.distances_m, 1), cells.durations_s)


class _Cells:
    """The cells of a matrix while they are computed."""

    def __init__(
        self,
        engine: Engine,
        mode: Mode,
        sources: list[dict[str, Any]],
        targets: list[dict[str, Any]],
        deadline: Deadline,
    ) -> None:
        self._engine = engine
        self._costing = make_costing(mode)
        self._sources = sources
        self._targets = targets
        self._deadline = deadline
        self.distances_m = np.full((len(sources), len(targets)), np.nan)
        self.durations_s = np.full_like(self.distances_m, np.nan)

    def compute(self, *, one_search: bool) -> None:
        """Compute all cells by one of the two algorithms."""
        rows_per_call = max(1, _PAIRS_PER_CALL[one_search] // max(1, len(self._targets)))
        for start in range(0, len(self._sources), rows_per_call):
            self._deadline.check()
            rows = slice(start, start + rows_per_call)
            request = self._costing | {
                "sources": self._sources[rows],
                "targets": self._targets,
                "verbose": False,
            }
            answer = self._engine.call("matrix", request, one_search_per_origin=one_search)
            found = answer["sources_to_targets"]
            self.distances_m[rows] = np.array(found["distances"], np.float64) * 1000.0
            self.durations_s[rows] = np.array(found["durations"], np.float64)

    def ask_again(self) -> None:
        """Fill empty cells for which a route exists.

        The matrix algorithms miss some ways that begin or end on a piece of road with one way in.
        When some in a row have no route either, the rest are islands.
        """
        missing = np.argwhere(np.isnan(self.durations_s))
        failures = 0
        for row, column in missing[:_MOST_ASKED_AGAIN].tolist():
            if failures == _MOST_IN_VAIN:
                return
            self._deadline.check()
            request = self._costing | {
                "locations": [self._sources[row], self._targets[column]],
                "directions_type": "none",
            }
            try:
                summary = self._engine.call("route", request)["trip"]["summary"]
            except (NoRoute, NoRoad):
                failures += 1
                continue
            self.distances_m[row, column] = summary["length"] * 1000.0
            self.durations_s[row, column] = summary["time"]
            failures = 0


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
