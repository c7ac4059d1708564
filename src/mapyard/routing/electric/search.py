"""The quickest stops to charge at, between places whose times and energies are known.

A state is a place, a charge in whole steps, and whether the car is plugged in. Driving takes the
energy rounded up to whole steps, charging goes a step at a time; so the quickest way over the
states is the quickest plan up to the size of a step, and no plan runs below the least charge.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.routing.electric.charging import PLUG_IN_S, charging_times_s

type Floats = NDArray[np.float64]

#: Steps of charge between empty and full.
STEPS: Final = 100
#: States between two looks at the deadline.
_CHECK_EVERY: Final = 1_024


@dataclass(frozen=True, slots=True)
class Places:
    """The graph that is searched: `stops` have to be visited in order, others are stations.

    `times_s` and `energies_wh` are (n, n); infinite where no way leads.
    """

    times_s: Floats
    energies_wh: Floats
    stops: list[int]
    #: Per place, kW; 0 where nothing is charged.
    powers_kw: Floats


@dataclass(frozen=True, slots=True)
class Visit:
    """A place of a plan, with the charge, 0 to 1, on arrival and on departure."""

    place: int
    arrival: float
    departure: float
    charging_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Places in order of travel."""

    visits: list[Visit]
    duration_s: float  #: with charging


def find_plan(
    places: Places,
    capacity_wh: float,
    initial: float,
    least: float,
    *,
    steps: int = STEPS,
    deadline: Deadline | None = None,
) -> Plan | None:
    """Return the quickest plan through all stops, or None where there is none.

    Args:
        places: what is known between them.
        capacity_wh: of the battery.
        initial: charge at the first stop, 0 to 1.
        least: charge that no arrival goes below.
        steps: into which the battery is divided.
        deadline: looked at while searching.
    """
    deadline = deadline or no_deadline()
    count = len(places.powers_kw)
    floor, start = int(np.ceil(least * steps - 1e-9)), int(initial * steps + 1e-9)
    need = np.full((count, count), steps + 1, np.int64)
    reachable = np.isfinite(places.energies_wh) & np.isfinite(places.times_s)
    # Regained energy is not counted on: it is noise beside a step, and the battery may be full.
    used = np.maximum(places.energies_wh[reachable], 0.0) / capacity_wh * steps
    need[reachable] = np.ceil(used - 1e-9).astype(np.int64)
    chargers = np.flatnonzero(places.powers_kw > 0)
    charges = np.arange(steps + 1) / steps
    curves = {
        place: charging_times_s(capacity_wh, places.powers_kw[place], charges)
        for place in chargers.tolist()
    }
    last = len(places.stops) - 1
    # (time, stops visited, place, charge, plugged in)
    first = (0, places.stops[0], start, False)
    best: dict[tuple[int, int, int, bool], float] = {first: 0.0}
    came_from: dict[tuple[int, int, int, bool], tuple[int, int, int, bool]] = {}
    done: set[tuple[int, int, int, bool]] = set()
    queue = [(0.0, first)]

    def reach(
        state: tuple[int, int, int, bool], time_s: float, by: tuple[int, int, int, bool]
    ) -> None:
        if time_s < best.get(state, np.inf):
            best[state] = time_s
            came_from[state] = by
            heapq.heappush(queue, (time_s, state))

    while queue:
        time_s, state = heapq.heappop(queue)
        if state in done:
            continue
        done.add(state)
        if len(done) % _CHECK_EVERY == 0:
            deadline.check()
        visited, place, charge, plugged = state
        if visited == last:
            return _trace(state, came_from, best, steps)
        is_stop = place == places.stops[visited]
        if place in curves:
            curve = curves[place]
            if not plugged:
                reach((visited, place, charge, True), time_s + PLUG_IN_S, state)
            elif charge < steps:
                more_s = float(curve[charge + 1] - curve[charge])
                reach((visited, place, charge + 1, True), time_s + more_s, state)
        if not plugged and not is_stop:
            continue  # to drive past a station is a way of its own
        following = places.stops[visited + 1]
        targets = np.append(chargers, following)
        left = charge - need[place, targets]
        for target, after in zip(targets[left >= floor].tolist(), left[left >= floor].tolist(),
                                 strict=True):  # fmt: skip
            if target == place:
                continue
            arrives = visited + 1 if target == following else visited
            arrival_s = time_s + float(places.times_s[place, target])
            reach((arrives, target, after, False), arrival_s, state)
    return None


def _trace(
    state: tuple[int, int, int, bool],
    came_from: dict[tuple[int, int, int, bool], tuple[int, int, int, bool]],
    best: dict[tuple[int, int, int, bool], float],
    steps: int,
) -> Plan:
    states = [state]
    while states[-1] in came_from:
        states.append(came_from[states[-1]])
    states.reverse()
    visits: list[Visit] = []
    arrived = 0
    for index, one in enumerate(states):
        is_last = index == len(states) - 1
        if not is_last and states[index + 1][1] == one[1]:
            continue  # still here, charging
        begin, end = states[arrived], one
        visits.append(Visit(one[1], begin[2] / steps, end[2] / steps, best[end] - best[begin]))
        arrived = index + 1
    return Plan(visits, best[state])
