"""How sure a match is: points near their roads, no other road as near, no detours, no gaps."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import MapyardError
from mapyard.geo.sphere import haversine_m
from mapyard.routing.config import COSTINGS
from mapyard.routing.engine import Engine
from mapyard.routing.modes import Mode
from mapyard.routing.snapping import make_location

type Floats = NDArray[np.float64]

#: Distance from the road at which a point counts 60 %, as share of its radius.
_NEAR_SHARE: Final = 0.5
#: Points that are asked for other roads, and how many neighbors are judged together.
_SAMPLES: Final = 6
_WINDOW: Final = 2
#: Points nearer together share their errors.
_INDEPENDENT_M: Final = 5.0
#: Another road runs along if it turns no more than this from the way.
_SAME_WAY_DEG: Final = 30.0
#: Errors of points are never taken for smaller, meters; other roads are looked for up to so many of
#: them beyond the one that was chosen.
_LEAST_ERROR_M: Final = 1.0
_ERRORS: Final = 3.0
#: A way so many times as long as the air line, and so much longer, is no detour: roads bend, and
#: points are noisy.
_WINDING: Final = 1.5
_WINDING_M: Final = 40.0
#: What each break of the way takes.
_BREAK_TAKES: Final = 0.05


def measure_nearness(away_m: Floats, radiuses_m: Floats, count: int) -> float:
    """Return 0 to 1: the share of points matched, each weighed by its distance from the road.

    A point on the road counts 1, one at half its radius 0.6, one at its radius 0.14.
    """
    weights = np.exp(-0.5 * (away_m / (_NEAR_SHARE * radiuses_m)) ** 2)
    return float(weights.sum()) / count


def measure_straightness(legs_m: Floats, crow_m: Floats) -> float:
    """Return 1 where legs lead on as their points do, less by the share of way that is detour."""
    too_long_m = np.maximum(legs_m - _WINDING * crow_m - _WINDING_M, 0.0)
    total_m = float(legs_m.sum())
    return 1.0 if total_m <= 0 else 1.0 - float(too_long_m.sum()) / total_m


def measure_wholeness(pieces: int) -> float:
    """Return 1 for a way in one piece, less for each break."""
    return float((1.0 - _BREAK_TAKES) ** max(0, pieces - 1))


def measure_rivals(
    engine: Engine, trace: Floats, away_m: Floats, line: Floats, way_ids: set[int], mode: Mode
) -> float:
    """Return 1 where no other road could have been travelled, 0.5 where one could all along.

    Some points are asked, spread over the trace. How likely another road is follows from how much
    farther the points are from it, beside how far they are from the one that was chosen: a steady
    5 m tell a lot on a trace that lies on its road, and nothing on one that is 50 m off.
    """
    chosen = np.unique(np.linspace(0, len(trace) - 1, min(_SAMPLES, len(trace))).astype(np.int64))
    error_m = max(_LEAST_ERROR_M, float(np.sqrt((away_m**2).mean())))
    reach_m = np.sqrt(away_m[chosen] ** 2 + (_ERRORS * error_m) ** 2)
    rival_m = _find_rivals(engine, trace[chosen], reach_m, line, way_ids, mode)
    evidence = (rival_m**2 - away_m[chosen] ** 2) / (2 * error_m**2)
    # Each point that was asked stands for its neighbors.
    steps_m = haversine_m(trace[:-1, 0], trace[:-1, 1], trace[1:, 0], trace[1:, 1])
    independent = min(len(trace), 1 + float(steps_m.sum()) / _INDEPENDENT_M)
    evidence *= max(1.0, independent / len(chosen))
    window = np.ones(min(_WINDOW, len(chosen)))
    sums = np.convolve(evidence, window, "same")
    doubts = 1.0 / (1.0 + np.exp(np.clip(sums, 0.0, 50.0)))
    return 1.0 - float(doubts.mean())


def _find_rivals(
    engine: Engine, places: Floats, reach_m: Floats, line: Floats, way_ids: set[int], mode: Mode
) -> Floats:
    """Return how far the nearest other road that runs along is, at most `reach_m`."""
    locations = [
        make_location(lon, lat, within_m, reach=0) | {"radius": within_m}
        for (lon, lat), within_m in zip(places.tolist(), reach_m.tolist(), strict=True)
    ]
    request = {"locations": locations, "costing": COSTINGS[mode], "verbose": True}
    try:
        answer = engine.call("locate", request)
    except MapyardError:  # the engine finds none of the points on roads: then there are no rivals
        return reach_m
    others = [
        (index, edge["distance"], edge["heading"])
        for index, row in enumerate(answer)
        for edge in row.get("edges") or ()
        if edge["edge_info"]["way_id"] not in way_ids
    ]
    found_m = reach_m.copy()
    asked = sorted({index for index, _, _ in others})
    headings = dict(zip(asked, find_headings(line, places[asked]).tolist(), strict=True))
    for index, distance_m, heading in others:
        if _turn_deg(heading, headings[index]) <= _SAME_WAY_DEG:
            found_m[index] = min(found_m[index], distance_m)
    return found_m


def find_headings(line: Floats, places: Floats) -> Floats:
    """Return the direction of a line at what is nearest to each place, degrees from north."""
    if not len(places):
        return np.zeros(0)
    narrowing = np.array([np.cos(np.radians(places[0, 1])), 1.0])
    at, begins = places[:, None] * narrowing, line[:-1] * narrowing
    steps = line[1:] * narrowing - begins
    squares = np.maximum((steps**2).sum(axis=1), 1e-30)
    shares = np.clip(((at - begins) * steps).sum(axis=2) / squares, 0.0, 1.0)
    away = ((begins + shares[..., None] * steps - at) ** 2).sum(axis=2)
    away[:, (steps == 0).all(axis=1)] = np.inf  # such a piece has no direction
    east, north = steps[away.argmin(axis=1)].T
    return np.degrees(np.arctan2(east, north)) % 360.0


def _turn_deg(one: float, other: float) -> float:
    """Return the angle between two roads, whichever way they are travelled."""
    turn = abs(one - other) % 180.0
    return min(turn, 180.0 - turn)
