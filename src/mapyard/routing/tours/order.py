"""The shortest order of visiting many positions, by VROOM on our own matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import InvalidRequest, TooLarge
from mapyard.routing.engine import Engine, NoRoute
from mapyard.routing.matrix import compute_matrix
from mapyard.routing.modes import Mode
from mapyard.routing.snapping import DEFAULT_RADIUS_M
from mapyard.routing.tours.problem import solve

MIN_STOPS: Final = 2
MAX_STOPS: Final = 100

#: Seconds of a pair without a way; a tour that uses one does not exist.
_NO_WAY_S: Final = 10**8
#: Effort of the search, 0 to 5, by number of stops: at 100 stops the full effort takes seconds.
_EFFORTS: Final = ((30, 5), (60, 3), (MAX_STOPS, 1))


@dataclass(frozen=True, slots=True)
class Tour:
    """Indexes of the stops in visiting order; a round trip does not repeat its first one."""

    order: NDArray[np.int64]
    durations_s: NDArray[np.float64]  #: per visited stop, from the one before; 0 for the first
    distances_m: NDArray[np.float64]
    return_duration_s: float  #: back to the first stop; 0 without a round trip
    return_distance_m: float

    @property
    def duration_s(self) -> float:
        """Return the seconds of the whole tour."""
        return float(self.durations_s.sum()) + self.return_duration_s

    @property
    def distance_m(self) -> float:
        """Return the metres of the whole tour."""
        return float(self.distances_m.sum()) + self.return_distance_m


def optimize_order(
    engine: Engine,
    stops: NDArray[np.float64],
    mode: Mode = "auto",
    *,
    roundtrip: bool = True,
    first: int | None = 0,
    last: int | None = None,
    radius_m: float = DEFAULT_RADIUS_M,
    deadline: Deadline | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> Tour:
    """Return the quickest tour over 2 to 100 stops (n, 2), lon and lat.

    Args:
        engine: the open graph.
        stops: positions in any order.
        mode: how to travel.
        roundtrip: whether the tour ends where it began (`last` is then ignored).
        first: index of the stop to begin at; None leaves it open (not for round trips).
        last: index of the stop to end at; None leaves it open.
        radius_m: a stop farther from every road is refused.
        deadline: looked at while the matrix is made.
        is_stopped: with it, the order is looked for in a child process, which is killed when it
            says so.

    Raises `NoRoad`, and `NoRoute` naming the stops that no tour can reach.
    """
    count = len(stops)
    if count < MIN_STOPS:
        raise InvalidRequest.of("waypoints", f"needs {MIN_STOPS} positions or more")
    if count > MAX_STOPS:
        raise TooLarge(
            f"waypoints: {count} positions, at most {MAX_STOPS}",
            details={"parameter": "waypoints", "limit": MAX_STOPS, "count": count},
        )
    for name, index in (("first", first), ("last", last)):
        if index is not None and not 0 <= index < count:
            raise InvalidRequest.of(name, f"{index} is not an index of {count} waypoints")
    if roundtrip:
        first, last = first or 0, first or 0
    elif first is not None and first == last:
        raise InvalidRequest.of("last", "is the same stop as first; ask for a round trip")
    deadline = deadline or no_deadline()
    matrix = compute_matrix(
        engine, stops, stops, mode, radius_m=radius_m, max_pairs=count * count, deadline=deadline
    )
    _check_reachable(matrix.durations_s)
    order = _solve(matrix.durations_s, roundtrip, first, last, deadline, is_stopped)
    before, after = order[:-1], order[1:]
    durations_s = np.concatenate([[0.0], matrix.durations_s[before, after]])
    distances_m = np.concatenate([[0.0], matrix.distances_m[before, after]])
    closing = (order[-1], order[0])
    if np.isnan(durations_s).any() or (roundtrip and np.isnan(matrix.durations_s[closing])):
        raise NoRoute("the stops can each be reached, but not all of them in one tour")
    return Tour(
        order=order,
        durations_s=durations_s,
        distances_m=distances_m,
        return_duration_s=float(matrix.durations_s[closing]) if roundtrip else 0.0,
        return_distance_m=float(matrix.distances_m[closing]) if roundtrip else 0.0,
    )


def _check_reachable(durations_s: NDArray[np.float64]) -> None:
    """Raise when a stop cannot be reached from most others, or cannot be left."""
    ways = ~np.isnan(durations_s)
    np.fill_diagonal(ways, val=False)
    to, out = ways.sum(axis=0), ways.sum(axis=1)
    # On an island of its own a stop has no way at all; smaller islands lack most of theirs.
    most = max(int(np.median(to)), 1)
    lost = np.flatnonzero((2 * to < most) | (2 * out < most))
    if not lost.size and not ways.any():
        lost = np.arange(len(ways))
    if lost.size:
        reasons = [
            {
                "index": int(index),
                "reason": "no way leads there" if 2 * to[index] < most else "no way leads away",
            }
            for index in lost
        ]
        named = ", ".join(str(reason["index"]) for reason in reasons)
        raise NoRoute(
            f"no tour visits all stops: unreachable in this mode are the waypoints {named}; "
            "leave them out, or move them to a connected road",
            details={"unreachable": reasons},
        )


def _solve(
    durations_s: NDArray[np.float64],
    roundtrip: bool,
    first: int | None,
    last: int | None,
    deadline: Deadline,
    is_stopped: Callable[[], bool] | None,
) -> NDArray[np.int64]:
    count = len(durations_s)
    costs = np.where(np.isnan(durations_s), _NO_WAY_S, durations_s).astype(np.uint32)
    rest = [index for index in range(count) if index not in (first, last)]
    if not rest:
        return np.array([first] if roundtrip else [first, last])
    if first is None and last is None:
        # Both ends open: from and to a place that is no way from everywhere.
        costs = np.pad(costs, (0, 1))
        first = last = count
    effort = next(effort for limit, effort in _EFFORTS if count <= limit)
    if is_stopped is not None:
        found = solve(
            {
                "vehicles": [{"id": 1, "start_index": first, "end_index": last}],
                "jobs": [{"id": index + 1, "location_index": index} for index in rest],
                "matrices": {"car": {"durations": costs}},
            },
            effort=effort,
            deadline=deadline,
            is_stopped=is_stopped,
        )
        order = np.array([step["location_index"] for step in found["routes"][0]["steps"]], np.int64)
        return _cut_ends(order, count, first, roundtrip)
    import vroom  # brings pandas along: seconds that workers who never optimize need not spend

    problem = vroom.Input()
    problem.set_durations_matrix(profile="car", matrix_input=costs)
    problem.add_vehicle([vroom.Vehicle(1, start=first, end=last, profile="car")])
    problem.add_job([vroom.Job(index + 1, location=index) for index in rest])
    solution = problem.solve(exploration_level=effort, nb_threads=1)
    order = solution.routes["location_index"].to_numpy(dtype=np.int64)
    return _cut_ends(order, count, first, roundtrip)


def _cut_ends(
    order: NDArray[np.int64], count: int, first: int | None, roundtrip: bool
) -> NDArray[np.int64]:
    """Return the order without the place that stands for open ends, or the way back."""
    if first == count:
        return order[1:-1]
    return order[:-1] if roundtrip else order
