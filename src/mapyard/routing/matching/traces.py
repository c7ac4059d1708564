"""What a trace tells before any road is looked at: jumps of the receiver, and where it stayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import distance_m, haversine_m
from mapyard.routing.config import COSTINGS
from mapyard.routing.modes import Mode

type Floats = NDArray[np.float64]

#: As many points in a row may have jumped away.
_LONGEST_JUMP: Final = 3
#: A jump leads farther than this, than so many radiuses, and than so many usual steps.
_LEAST_JUMP_M: Final = 100.0
_JUMP_RADIUSES: Final = 3.0
_JUMP_STEPS: Final = 5.0
#: The points before and after a jump are nearer to each other than this share of it.
_JUMP_CHORD: Final = 0.5
#: With times: nobody is faster, meters per second.
_FASTEST: Final = {"pedestrian": 12.0, "bicycle": 30.0}
_FASTEST_MOTOR: Final = 85.0
#: A way too fast for the mode, there and back, is a jump from this length on.
_LEAST_FAST_JUMP_M: Final = 50.0

#: Within this distance of its first point a trace stays, meters.
STAY_RADIUS_M: Final = 30.0
#: Shorter stays are traffic lights, seconds.
STAY_LEAST_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Stay:
    """A stop: where, the first and the last of its points, how long."""

    lon: float
    lat: float
    begin: int
    end: int
    duration_s: float


def find_jumps(
    trace: Floats, radiuses_m: Floats, timestamps_s: Floats | None, mode: Mode
) -> NDArray[np.bool_]:
    """Return which points lie far off the way between those before and after them.

    One to three points in a row that lead away and straight back are the receiver's errors; the
    matcher would lead the way there, or break it.
    """
    jumped = np.zeros(len(trace), np.bool_)
    if len(trace) < 3:
        return jumped
    step_m = float(np.median(haversine_m(*trace[:-1].T, *trace[1:].T)))
    fastest = _FASTEST.get(COSTINGS[mode], _FASTEST_MOTOR)
    for count in range(1, min(_LONGEST_JUMP, len(trace) - 2) + 1):
        before, first = trace[: -count - 1], trace[1:-count]
        last, after = trace[count:-1], trace[count + 1 :]
        away_m = haversine_m(*before.T, *first.T)
        back_m = haversine_m(*last.T, *after.T)
        chord_m = haversine_m(*before.T, *after.T)
        reach_m = np.minimum(away_m, back_m)
        most_m = np.maximum(_JUMP_RADIUSES * radiuses_m[1:-count], _JUMP_STEPS * step_m)
        is_jump = reach_m > np.maximum(most_m, _LEAST_JUMP_M)
        if timestamps_s is not None:
            steps_s = np.maximum(np.diff(timestamps_s), 1e-3)
            too_fast = (away_m > fastest * steps_s[:-count]) & (back_m > fastest * steps_s[count:])
            is_jump |= too_fast & (reach_m > _LEAST_FAST_JUMP_M)
        is_jump &= chord_m < _JUMP_CHORD * reach_m
        # Points that a shorter jump explains are not the ends of a longer one.
        is_jump &= ~(jumped[: -count - 1] | jumped[count + 1 :])
        for start in np.flatnonzero(is_jump).tolist():
            jumped[start + 1 : start + 1 + count] = True
    return jumped


def find_stays(
    trace: Floats,
    timestamps_s: Floats,
    radius_m: float = STAY_RADIUS_M,
    least_s: float = STAY_LEAST_S,
) -> list[Stay]:
    """Return where a trace stayed within `radius_m` of a place for `least_s` or longer."""
    stays: list[Stay] = []
    times, places = timestamps_s.tolist(), trace.tolist()
    begin, last = 0, len(places) - 1
    while begin < last:
        end = begin
        while end < last and distance_m(*places[begin], *places[end + 1]) <= radius_m:
            end += 1
        if times[end] - times[begin] >= least_s:
            lon, lat = trace[begin : end + 1].mean(axis=0).tolist()
            stays.append(Stay(lon, lat, begin, end, times[end] - times[begin]))
            begin = end + 1
        else:
            begin += 1
    return stays
