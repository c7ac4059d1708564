"""Distances and durations from every origin to every destination."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import TooLarge
from mapyard.geo.sphere import haversine_m
from mapyard.routing.choice import USUAL, Choice
from mapyard.routing.config import COSTINGS
from mapyard.routing.contraction.table import ModeTable
from mapyard.routing.engine import Engine
from mapyard.routing.modes import Mode
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

MAX_PAIRS: Final = 10_000
#: Cells worked out at once. They take some 60 bytes each meanwhile; ways from the destinations are
#: searched anew for each such block.
CELLS_AT_ONCE: Final = 250_000
#: Pairs of one call of the engine, by one search per origin or not: the deadline is looked at in
#: between. The other algorithm searches from the destinations again in each call.
_PAIRS_PER_CALL: Final = {True: 2_500, False: 10_000}
#: Farthest pair up to which one search per origin is used on foot and by bicycle, metres.
#:
#: It looks at the whole surroundings of each origin, so that its time grows with the area; near by
#: it is 2 to 3 times faster and agrees with routes in every cell. Cars need the other algorithm,
#: from both ends: it alone prunes dead ends and private roads as routes do. Measured in
#: docs/decisions/032. Both are asked only where no prepared table is (docs/decisions/038).
_ONE_SEARCH_SPREAD_M: Final = 60_000.0


#: On foot, a route's search over ferries is coarser beyond this distance as the crow flies, metres
#: (kPedestrianMultipassThreshold of the engine's thor/route_action.cc). So many cells that go
#: faster than walking are asked again as routes: a matrix must not disagree with its routes.
_COARSE_FERRIES_M: Final = 50_000.0
_FASTER_THAN_WALKING_M_S: Final = 1.5
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
    choice: Choice = USUAL,
    are_on_roads: bool = False,
) -> Matrix:
    """Return the matrix of (n, 2) origins and (m, 2) destinations, lon and lat.

    A `choice` of roads or of a time that is no prepared profile is worked out by the engine.
    Where positions `are_on_roads`, as was looked up before, the engine does not look again.

    Raises `TooLarge` over `max_pairs`, `NoRoad` with the index of a position (destinations are
    counted on after the origins), `Timeout` at the deadline.
    """
    blocks = list(
        iter_matrix(
            engine, origins, destinations, mode, radius_m=radius_m, max_pairs=max_pairs,
            deadline=deadline, choice=choice, are_on_roads=are_on_roads,
        )
    )  # fmt: skip
    if len(blocks) == 1:
        return blocks[0]
    return Matrix(
        np.concatenate([block.distances_m for block in blocks]),
        np.concatenate([block.durations_s for block in blocks]),
    )


def iter_matrix(
    engine: Engine,
    origins: NDArray[np.float64],
    destinations: NDArray[np.float64],
    mode: Mode = "auto",
    *,
    radius_m: float = DEFAULT_RADIUS_M,
    max_pairs: int = MAX_PAIRS,
    deadline: Deadline | None = None,
    choice: Choice = USUAL,
    are_on_roads: bool = False,
) -> Iterator[Matrix]:
    """Return the matrix in blocks of rows, each worked out when it is asked for.

    Arguments and errors are those of `compute_matrix`; those about positions come before the first
    block.
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
    origins = look_over_meridian(engine, origins, mode, radius_m)
    destinations = look_over_meridian(engine, destinations, mode, radius_m)
    limit = deadline or no_deadline()
    rows = max(1, CELLS_AT_ONCE // max(1, len(destinations)))
    if not are_on_roads:
        everything = np.concatenate([origins, destinations])
        table = engine.tables.find(choice.find_profile(mode))
        if table is None:  # the engine leaves cells without a road empty, or 0
            check_on_roads(engine, everything, mode, radius_m)
        elif rows < len(origins):  # a single block finds out by itself
            places = table.find_places(everything, radius_m)
            if len(np.unique(places.position)) < len(everything):
                raise explain(engine, everything, mode, radius_m)

    def work() -> Iterator[Matrix]:
        for start in range(0, max(1, len(origins)), rows):
            some = origins[start : start + rows]
            cells = _Cells(engine, mode, some, destinations, radius_m, limit, choice)
            cells.compute()
            cells.connect()
            if mode == "foot":
                cells.ask_far_ferries()
            yield Matrix(np.round(cells.distances_m, 1), cells.durations_s)

    return work()


class _Cells:
    """The cells of a matrix while they are computed."""

    def __init__(
        self,
        engine: Engine,
        mode: Mode,
        origins: NDArray[np.float64],
        destinations: NDArray[np.float64],
        radius_m: float,
        deadline: Deadline,
        choice: Choice,
    ) -> None:
        self._engine = engine
        self._mode = mode
        self._costing = choice.write(mode)
        self._origins = origins
        self._destinations = destinations
        self._radius_m = radius_m
        #: Where they are looked for on the roads.
        self._from, self._to = origins, destinations
        self._table = engine.tables.find(choice.find_profile(mode))
        self._deadline = deadline
        self._one_search = (
            COSTINGS[mode] in ("bicycle", "pedestrian")
            and _find_spread_m(np.concatenate([origins, destinations])) <= _ONE_SEARCH_SPREAD_M
        )
        self.distances_m = np.full((len(origins), len(destinations)), np.nan)
        self.durations_s = np.full_like(self.distances_m, np.nan)

    def compute(self) -> None:
        """Compute all cells between the nearest roads."""
        self._fill(np.ones(self.durations_s.shape, np.bool_))

    def connect(self) -> None:
        """Fill empty cells with an end at a road without connection, as routes do."""
        empty = np.isnan(self.durations_s)
        if not empty.any():
            return
        self._from, from_moved = self._connect(self._origins, "origin", empty.any(axis=1))
        self._to, to_moved = self._connect(self._destinations, "destination", empty.any(axis=0))
        self._fill(empty & from_moved[:, None])
        self._fill(empty & ~from_moved[:, None] & to_moved)

    def _connect(
        self, positions: NDArray[np.float64], role: Role, wanted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        places, moved = positions.copy(), np.zeros(len(positions), np.bool_)
        places[wanted], moved[wanted] = find_connected(
            self._engine, positions[wanted], self._mode, self._radius_m, role
        )
        return places, moved

    def _fill(self, wanted: NDArray[np.bool_]) -> None:
        """Compute the wanted cells, within their rows and columns."""
        rows = np.flatnonzero(wanted.any(axis=1))
        columns = np.flatnonzero(wanted.any(axis=0))
        if not rows.size:
            return
        if self._table is None:
            self._ask_engine(wanted, rows, columns)
            return
        far = self._find_air_m() > self._table.reach_m
        found = self._look_up(self._table, rows, columns)
        self._keep(wanted & ~far, np.ix_(rows, columns), *found)
        rest = wanted & far
        if rest.any():
            rows, columns = np.flatnonzero(rest.any(axis=1)), np.flatnonzero(rest.any(axis=0))
            self._ask_engine(rest, rows, columns)

    def _find_air_m(self) -> NDArray[np.float64]:
        """Return metres as the crow flies per cell."""
        one, other = self._origins[:, None, :], self._destinations[None, :, :]
        return haversine_m(one[..., 0], one[..., 1], other[..., 0], other[..., 1])

    def _look_up(
        self, table: ModeTable, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return metres and whole seconds out of the prepared table."""
        asked = np.concatenate([self._from[rows], self._to[columns]])
        places = table.find_places(asked, self._radius_m)
        ends = np.arange(len(asked))
        if len(np.unique(places.position)) < len(asked):
            everything = np.concatenate([self._origins, self._destinations])
            raise explain(self._engine, everything, self._mode, self._radius_m)
        distances_m, durations_s = table.compute(
            places.of(ends[: len(rows)]), places.of(ends[len(rows) :]), self._deadline
        )
        return distances_m, np.round(durations_s)

    def _ask_engine(
        self, wanted: NDArray[np.bool_], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> None:
        targets = make_locations(self._to[columns], self._radius_m)
        rows_per_call = max(1, _PAIRS_PER_CALL[self._one_search] // len(targets))
        if self._one_search:
            # With fewer targets than sources it searches backward, and misses turns at an end.
            rows_per_call = min(rows_per_call, len(targets))
        for start in range(0, len(rows), rows_per_call):
            self._deadline.check()
            some = rows[start : start + rows_per_call]
            request = self._costing | {
                "sources": make_locations(self._from[some], self._radius_m),
                "targets": targets,
                "verbose": False,
            }
            answer = self._engine.call("matrix", request, one_search_per_origin=self._one_search)
            found = answer["sources_to_targets"]
            durations_s = np.array(found["durations"], np.float64)
            distances_m = np.array(found["distances"], np.float64) * 1000.0
            self._keep(wanted, np.ix_(some, columns), distances_m, durations_s)

    def _keep(
        self,
        wanted: NDArray[np.bool_],
        block: tuple[Any, ...],
        distances_m: NDArray[np.float64],
        durations_s: NDArray[np.float64],
    ) -> None:
        # Where no way leads, distances are left over from the engine's search.
        answered = wanted[block] & ~np.isnan(durations_s)
        self.durations_s[block] = np.where(answered, durations_s, self.durations_s[block])
        self.distances_m[block] = np.where(answered, distances_m, self.distances_m[block])

    def ask_far_ferries(self) -> None:
        """Ask for cells over ferries beyond `_COARSE_FERRIES_M` again as routes."""
        fast = self.distances_m > _FASTER_THAN_WALKING_M_S * self.durations_s
        # Where the cells are prepared, so are the routes.
        prepared_m = 0.0 if self._table is None else self._table.reach_m
        cells = np.argwhere((self._find_air_m() > max(_COARSE_FERRIES_M, prepared_m)) & fast)
        for row, column in cells[:_MOST_ASKED_AGAIN].tolist():
            self._deadline.check()
            ends = np.stack([self._from[row], self._to[column]])
            locations = make_locations(ends, self._radius_m)
            request = self._costing | {"locations": locations, "directions_type": "none"}
            summary = self._engine.call("route", request)["trip"]["summary"]
            self.distances_m[row, column] = summary["length"] * 1000.0
            self.durations_s[row, column] = summary["time"]


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
