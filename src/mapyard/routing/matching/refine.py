"""Choose the likelier of two ways: the matcher's, or the cheapest between two of its points.

The matcher looks at one point and its turn at a time. Between parallel ways closer together than
the noise it hops over and back, or stays on the wrong one. The sum over all points of a window,
and the cost of travelling, tell more: the cheapest way between both ends of the window is taken
instead where it is likelier, with normal noise, and e^-cost as the odds of a way. It comes out of
the prepared graph where there is one, else from the engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import MapyardError
from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.routing.contraction.places import Places
from mapyard.routing.contraction.table import ModeTable
from mapyard.routing.edges import EdgePath, find_edges
from mapyard.routing.engine import Engine
from mapyard.routing.modes import Mode, make_costing
from mapyard.routing.polyline import decode_polyline
from mapyard.routing.snapping import DEFAULT_RADIUS_M

type Floats = NDArray[np.float64]

#: Lengths of the windows, metres: each is tried from the start and from its half on.
_WINDOWS_M: Final = (80.0, 160.0, 320.0)
#: The noise of points, metres.
_NOISE_M: Final = 6.0
#: Points nearer together than this share their errors, so that they count less.
_INDEPENDENT_M: Final = 5.0
#: What a second of the engine's cost weighs against the noise.
_COST_WEIGHT: Final = 0.2
#: Points that go farther back than noise would lead them were travelled there: the matcher's way,
#: which goes there and back, stays.
_BACKWARD_M: Final = 15.0
#: Gains below this, in the logarithm of the odds, are rounding.
_LEAST_GAIN: Final = 1e-3
#: Windows asked for at once: one of them without a way leaves all of them as they are.
_WINDOWS_AT_ONCE: Final = 50
#: How much the length of a way may change when it is read back from its shape: the engine leaves
#: out the few metres into a side way and back where two windows meet beside the road.
_SAME_LENGTH_M: Final = 15.0
#: Points are then placed anew, to half of this.
_SETTLE_STEP_M: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Line:
    """A travelled line: positions (n, 2), metres and cost in seconds from its start (n,)."""

    positions: Floats
    along_m: Floats
    costs: Floats

    def locate(self, along_m: Floats) -> Floats:
        """Return positions (k, 2) at distances (k,)."""
        return np.column_stack(
            [np.interp(along_m, self.along_m, self.positions[:, axis]) for axis in (0, 1)]
        )

    def cut(self, start_m: float, stop_m: float) -> _Line:
        """Return the part between two distances, with the costs of its own."""
        inner = (self.along_m > start_m) & (self.along_m < stop_m)
        ends_m = np.array([start_m, stop_m])
        ends, costs = self.locate(ends_m), np.interp(ends_m, self.along_m, self.costs)
        return _Line(
            np.vstack([ends[:1], self.positions[inner], ends[1:]]),
            np.concatenate([[start_m], self.along_m[inner], [stop_m]]) - start_m,
            np.concatenate([costs[:1], self.costs[inner], costs[1:]]) - costs[0],
        )


@dataclass(frozen=True, slots=True)
class _Trace:
    """What a window is judged by, one row or value per point."""

    seen: Floats  # (n, 2), where the receiver saw itself
    points: Floats  # (n, 2), averaged as they were matched
    radiuses_m: Floats
    weights: Floats


def refine_path(
    engine: Engine,
    path: EdgePath,
    seen: Floats,
    points: Floats,
    along_m: Floats,
    radiuses_m: Floats,
    mode: Mode,
    deadline: Deadline,
) -> tuple[EdgePath, Floats] | None:
    """Return a likelier path and the points' distances on it, or `None` where there is none.

    Args:
        engine: the open graph.
        path: the matcher's, in one piece.
        seen: the trace (n, 2), lon and lat.
        points: the same, averaged against noise.
        along_m: per point, its distance on `path`, ascending.
        radiuses_m: per point, how far its road may be.
        mode: how the trace was travelled.
        deadline: looked at between windows.
    """
    steps_m = haversine_m(seen[:-1, 0], seen[:-1, 1], seen[1:, 0], seen[1:, 1])
    apart_m = np.concatenate([steps_m[:1], np.minimum(steps_m[:-1], steps_m[1:]), steps_m[-1:]])
    trace = _Trace(seen, points, radiuses_m, np.minimum(1.0, apart_m / _INDEPENDENT_M))
    line, along_m = _read_line(path), np.maximum.accumulate(along_m)
    is_new = False
    for window_m, share in product(_WINDOWS_M, (0.0, 0.5)):
        marks_m = np.arange(share * window_m, line.along_m[-1] + window_m, window_m)
        anchors = np.searchsorted(along_m, marks_m).clip(0, len(seen) - 1)
        anchors = np.unique(np.concatenate([[0], anchors, [len(seen) - 1]]))
        ways: list[_Line | None] = []
        for start in range(0, len(anchors) - 1, _WINDOWS_AT_ONCE):
            deadline.check()
            ends = anchors[start : start + _WINDOWS_AT_ONCE + 1]
            ways += _find_ways(engine, line.locate(along_m[ends]), mode)
        better = _choose(line, along_m, anchors, ways, trace)
        if better is not None:
            line, along_m = better
            is_new = True
    return _read_back(engine, line, along_m, points, mode) if is_new else None


def _read_line(path: EdgePath) -> _Line:
    costs = np.zeros(len(path.positions))
    # Each edge's cost grows evenly over its length; edges follow each other without gaps.
    ends = np.concatenate([path.begins[:1], path.ends])
    total = np.maximum.accumulate(np.concatenate([[0.0], path.elapsed_cost]))
    costs = np.interp(path.along_m, path.along_m[ends], total)
    return _Line(path.positions, path.along_m, costs)


def _find_ways(engine: Engine, places: Floats, mode: Mode) -> list[_Line | None]:
    """Return the way from each place to the next one, at the speeds of the map."""
    table = engine.tables.find(mode) if mode not in engine.tables.own_modes else None
    if table is not None and math.isinf(table.reach_m):
        origins = table.find_places(places, DEFAULT_RADIUS_M).split()
        return [_look_up(table, *ends) for ends in pairwise(origins)]
    locations = [
        {"lon": lon, "lat": lat, "radius": 0, "minimum_reachability": 1}
        for lon, lat in places.tolist()
    ]
    request = {"locations": locations, "directions_type": "none"} | make_costing(mode)
    request["mode"] = None  # own speeds say nothing of where one went
    try:
        legs = engine.call("route", request)["trip"]["legs"]
    except MapyardError:  # no way, or too far: what the matcher found stays
        return [None] * (len(places) - 1)
    return [_read_leg(leg) for leg in legs]


def _look_up(table: ModeTable, origin: Places, destination: Places) -> _Line | None:
    known = len(origin.edge) and len(destination.edge)
    way = table.find_way(origin, destination) if known else None
    if way is None:  # what the matcher found stays
        return None
    positions = table.roads.find_line(way.edges, way.ends).positions
    return _make_line(positions, way.cost_s - origin.away_m.max() - destination.away_m.max())


def _read_leg(leg: dict[str, Any]) -> _Line | None:
    return _make_line(decode_polyline(leg["shape"]), leg["summary"]["cost"])


def _make_line(positions: Floats, cost_s: float) -> _Line | None:
    along_m = _measure(positions)
    if along_m[-1] == 0.0:
        return None
    return _Line(positions, along_m, cost_s * along_m / along_m[-1])


def _measure(positions: Floats) -> Floats:
    ends, starts = positions[1:], positions[:-1]
    steps_m = haversine_m(starts[:, 0], starts[:, 1], ends[:, 0], ends[:, 1])
    return np.concatenate([[0.0], np.cumsum(steps_m)])


def _choose(
    line: _Line,
    along_m: Floats,
    anchors: NDArray[np.int64],
    ways: list[_Line | None],
    trace: _Trace,
) -> tuple[_Line, Floats] | None:
    """Return the line with the likelier ways in place of its own, and the points' distances."""
    parts = [line.cut(0.0, along_m[anchors[0]])]
    placed_m = along_m.copy()
    reached_m, is_new = float(parts[0].along_m[-1]), False
    for (first, last), way in zip(pairwise(anchors.tolist()), ways, strict=True):
        window = slice(first, last + 1)
        part = line.cut(along_m[first], along_m[last])
        within_m = along_m[window] - along_m[first]
        if way is not None and _is_likelier(way, part, trace, window):
            placed_on_way_m = _project(way, trace.points[window])
            if placed_on_way_m is not None:
                part, within_m, is_new = way, placed_on_way_m, True
        placed_m[window] = reached_m + within_m
        reached_m += float(part.along_m[-1])
        parts.append(part)
    parts.append(line.cut(along_m[anchors[-1]], line.along_m[-1]))
    return (_join(parts), placed_m) if is_new else None


def _is_likelier(way: _Line, part: _Line, trace: _Trace, window: slice) -> bool:
    cheaper = float(part.costs[-1] - way.costs[-1]) * _COST_WEIGHT
    scale = _get_scale(part)
    seen = shapely.points(trace.seen[window] * scale)
    from_way_m, from_part_m = (
        shapely.distance(seen, shapely.LineString(one.positions * scale)) for one in (way, part)
    )
    if (from_way_m > np.maximum(trace.radiuses_m[window], from_part_m)).any():
        return False
    nearer = trace.weights[window] * (from_part_m**2 - from_way_m**2) / (2 * _NOISE_M**2)
    return cheaper + float(nearer.sum()) > _LEAST_GAIN


def _get_scale(line: _Line) -> Floats:
    """Return metres per degree of lon and lat around a line."""
    return np.array([np.cos(np.radians(line.positions[0, 1])), 1.0]) * DEGREE_M


def _project(way: _Line, points: Floats) -> Floats | None:
    """Return the points' distances on a way from the first to the last; `None` if they go back."""
    scale = _get_scale(way)
    share = shapely.line_locate_point(
        shapely.LineString(way.positions * scale), shapely.points(points * scale), normalized=True
    )
    share[0], share[-1] = 0.0, 1.0
    forward = np.maximum.accumulate(share)
    if ((forward - share) * way.along_m[-1] > _BACKWARD_M).any():
        return None
    return np.asarray(forward * way.along_m[-1])


def _join(parts: list[_Line]) -> _Line:
    positions = np.vstack([part.positions for part in parts])
    costs = np.concatenate([np.diff(part.costs, prepend=0.0) for part in parts]).cumsum()
    steps_m = np.concatenate([np.diff(part.along_m, prepend=0.0) for part in parts])
    kept = steps_m > 0.0
    kept[0] = True
    return _Line(positions[kept], steps_m[kept].cumsum(), costs[kept])


def _read_back(
    engine: Engine, line: _Line, along_m: Floats, points: Floats, mode: Mode
) -> tuple[EdgePath, Floats] | None:
    """Return the edges under a line; `None` where the engine does not find them all."""
    try:
        path = find_edges(engine, line.positions, mode)
    except MapyardError:
        return None
    missing_m = abs(float(path.along_m[-1] - line.along_m[-1]))
    if path.starts_piece.sum() != 1 or missing_m > _SAME_LENGTH_M:
        return None
    along_m = along_m * (path.along_m[-1] / line.along_m[-1])
    if missing_m > _SETTLE_STEP_M:
        along_m = _settle(_read_line(path), along_m, points, missing_m)
    return path, along_m


def _settle(line: _Line, along_m: Floats, points: Floats, reach_m: float) -> Floats:
    """Return the distances on a line, at most `reach_m` away, where it is nearest to the points."""
    shifts_m = np.arange(-reach_m, reach_m + _SETTLE_STEP_M, _SETTLE_STEP_M)
    tried_m = (along_m[:, None] + shifts_m).clip(0.0, line.along_m[-1])
    places = line.locate(tried_m.ravel()).reshape(*tried_m.shape, 2)
    lon, lat = points[:, :1], points[:, 1:]
    nearest = haversine_m(places[..., 0], places[..., 1], lon, lat).argmin(axis=1)
    return np.maximum.accumulate(tried_m[np.arange(len(points)), nearest])
