"""Match GPS traces to roads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.geo.sphere import haversine_m
from mapyard.routing.config import COSTINGS
from mapyard.routing.edges import EDGE_ATTRIBUTES, EdgePath, read_path
from mapyard.routing.engine import Engine, NoRoad, NoRoute
from mapyard.routing.matching.doubt import (
    measure_nearness,
    measure_rivals,
    measure_straightness,
    measure_wholeness,
)
from mapyard.routing.matching.refine import refine_path
from mapyard.routing.matching.traces import Stay, find_jumps, find_stays
from mapyard.routing.modes import Mode, make_costing
from mapyard.routing.snapping import check_positions

MAX_POINTS: Final = 10_000
MAX_RADIUS_M: Final = 100.0
DEFAULT_RADIUS_M: Final = 50.0

#: A point is within so many times its accuracy, nearly always.
_ACCURACIES: Final = 3.0
#: Points farther apart are matched for themselves: nothing is known of the way between them.
GAP_M: Final = 2_000.0
#: Points nearer to the last one are placed on the way that the others find, metres: the finer the
#: more ways are found, until noise leads backward on a one-way and breaks the trace.
_INTERPOLATIONS_M: Final = (5.0, 10.0, 20.0)
#: What a turn costs the matcher, so that noise does not lead into side roads and back.
_TURN_PENALTIES: Final = {"pedestrian": 20.0, "bicycle": 8.0}
_TURN_PENALTY: Final = 16.0
#: Way over which dense points are averaged, and the numbers of points that are tried for it:
#: walkers turn within a few metres, and no one-way breaks a way that noise leads back and forth.
_SMOOTH_M: Final = {"pedestrian": 15.0}
_SMOOTH_OTHER_M: Final = 25.0
#: Modes whose path is compared with the engine's own ways.
_REFINED: Final = frozenset(("pedestrian", "bicycle"))
#: The same where these are three points only.
_SMOOTH_THREE_M: Final = 30.0
#: Noise in each direction up to which that is enough, metres; over it, the way is longer.
_USUAL_NOISE_M: Final = 8.0
#: Medians of distances that noise of 1 m in each direction makes: between two points, and of a
#: point from the middle of its neighbors.
_NOISE_OF_STEPS: Final = 1.665
_NOISE_OF_MIDDLES: Final = 1.442
#: Steps of noise are shorter than so many times the noise; those of a way with bends are longer.
_DENSE: Final = 2.5
_LAGS: Final = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_ATTRIBUTES: Final = (
    *EDGE_ATTRIBUTES,
    "matched.point", "matched.type", "matched.edge_index", "matched.distance_along_edge",
    "matched.distance_from_trace_point",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MatchedLeg:
    """The way between two consecutive trace points; unmatched where an end is off the roads."""

    matched: bool
    distance_m: float | None
    duration_s: float | None
    way_ids: list[int]
    names: list[str]


_NO_LEG: Final = MatchedLeg(False, None, None, [], [])


@dataclass(frozen=True, slots=True)
class Matching:
    """One unbroken piece of the matched way."""

    positions: NDArray[np.float64]  #: (n, 2), lon and lat
    distance_m: float
    duration_s: float
    way_ids: list[int]  #: in order of travel, repeated ones merged
    confidence: float


@dataclass(frozen=True, slots=True)
class Match:
    """A matched trace; arrays have one value per trace point.

    `matching_of` is -1 for unmatched points, whose other values are NaN, -1 or None.
    `is_jump` tells points that were left out because they lie far off the others.
    """

    matchings: list[Matching]
    legs: list[MatchedLeg]
    confidence: float
    matching_of: NDArray[np.int64]
    positions: NDArray[np.float64]
    away_m: NDArray[np.float64]
    edge_ids: NDArray[np.int64]
    names: list[str | None]
    is_jump: NDArray[np.bool_]
    stays: list[Stay]

    @property
    def distance_m(self) -> float:
        """Return the metres of all matchings."""
        return round(sum(matching.distance_m for matching in self.matchings), 1)

    @property
    def duration_s(self) -> float:
        """Return the seconds that the matched way takes without stops."""
        return round(sum(matching.duration_s for matching in self.matchings), 1)


@dataclass(slots=True)
class _Stretch:
    """A part of the trace without gaps, as the engine matched it: it may have gaps of its own."""

    first: int
    path: EdgePath
    edge_of: NDArray[np.int64]  # per point, -1 where unmatched
    along_m: NDArray[np.float64]
    elapsed_s: NDArray[np.float64]
    subpath_of: NDArray[np.int64]  # per point, -1 where unmatched
    away_m: NDArray[np.float64]
    positions: NDArray[np.float64]

    @property
    def is_whole(self) -> bool:
        """Return whether all points are matched, in one piece."""
        return self.quality == 1.0

    @property
    def quality(self) -> float:
        """Return 1 for one whole piece, less for more pieces and unmatched points."""
        pieces = int(self.path.starts_piece.sum())
        return float((self.subpath_of >= 0).mean()) / max(pieces, 1)


def match_trace(
    engine: Engine,
    trace: NDArray[np.float64],
    mode: Mode = "auto",
    *,
    radiuses_m: NDArray[np.float64] | None = None,
    timestamps_s: NDArray[np.float64] | None = None,
    accuracies_m: NDArray[np.float64] | None = None,
    deadline: Deadline | None = None,
) -> Match:
    """Match a trace (n, 2), lon and lat, 2 ≤ n ≤ 10,000.

    Args:
        engine: the open graph.
        trace: points in order of travel.
        mode: how the trace was travelled.
        radiuses_m: per point, how far its road may be; default 50, at most 100.
        timestamps_s: per point, seconds, ascending; they tell slow loops from fast errors, and
            where the trace stayed.
        accuracies_m: per point, what the receiver says of its error: points count less where it is
            larger, and their roads may be farther.
        deadline: looked at between parts of long traces.

    Raises `Unsupported` when no part of the trace is near roads.
    """
    radiuses = _check(trace, radiuses_m, timestamps_s, accuracies_m)
    deadline = deadline or no_deadline()
    is_jump = find_jumps(trace, radiuses, timestamps_s, mode)
    kept = np.flatnonzero(~is_jump)
    times = None if timestamps_s is None else timestamps_s[kept]
    weights = None if accuracies_m is None else 1.0 / np.maximum(accuracies_m[kept], 1.0) ** 2
    points = _Points(trace[kept], radiuses[kept], times, weights)
    stretches: list[_Stretch] = []
    for start, stop in _split(points.lonlat):
        deadline.check()
        part = points.cut(start, stop)
        stretch = _match_stretch(engine, part, mode, start)
        if stretch is not None:
            stretches.append(_refine(engine, stretch, part, mode, deadline))
    if not any((stretch.subpath_of >= 0).any() for stretch in stretches):
        raise Unsupported(
            "the trace cannot be matched: none of its points lies on a way with another one within "
            "the radiuses; check its order (longitude first) and mode, or give larger radiuses",
            details={"trace": ["cannot be matched to roads"]},
        )
    found = _assemble(engine, points, stretches, mode, len(trace))
    stays = [] if timestamps_s is None else find_stays(trace, timestamps_s)
    return _spread(found, kept, is_jump, stays)


@dataclass(frozen=True, slots=True)
class _Points:
    """What is known of the points of a trace, or of a part of it."""

    lonlat: NDArray[np.float64]
    radiuses_m: NDArray[np.float64]
    timestamps_s: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None

    def cut(self, start: int, stop: int) -> _Points:
        """Return the points from one to before another."""
        return _Points(
            self.lonlat[start:stop],
            self.radiuses_m[start:stop],
            None if self.timestamps_s is None else self.timestamps_s[start:stop],
            None if self.weights is None else self.weights[start:stop],
        )


def _check(
    trace: NDArray[np.float64],
    radiuses_m: NDArray[np.float64] | None,
    timestamps_s: NDArray[np.float64] | None,
    accuracies_m: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    count = len(trace)
    if count < 2:
        raise InvalidRequest.of("trace", "needs two points or more")
    if count > MAX_POINTS:
        raise TooLarge(
            f"trace: {count} points, at most {MAX_POINTS}",
            details={"parameter": "trace", "limit": MAX_POINTS, "count": count},
        )
    check_positions(trace, "trace")
    for name, values in (
        ("radiuses", radiuses_m),
        ("timestamps", timestamps_s),
        ("accuracies", accuracies_m),
    ):
        if values is not None and len(values) != count:
            raise InvalidRequest.of(
                name, f"has {len(values)} values for {count} trace points; one per point is needed"
            )
    if timestamps_s is not None:
        backward = np.flatnonzero(np.diff(timestamps_s) < 0)
        if backward.size:
            raise InvalidRequest.of(
                "timestamps", f"value {backward[0] + 1} is earlier than the one before it"
            )
    if accuracies_m is not None:
        bad = np.flatnonzero(~(accuracies_m >= 0))
        if bad.size:
            raise InvalidRequest.of("accuracies", f"value {bad[0]} is below 0")
    if radiuses_m is None:
        if accuracies_m is None:
            return np.full(count, DEFAULT_RADIUS_M)
        return np.clip(_ACCURACIES * accuracies_m, DEFAULT_RADIUS_M, MAX_RADIUS_M)
    bad = np.flatnonzero(~((radiuses_m > 0) & (radiuses_m <= MAX_RADIUS_M)))
    if bad.size:
        raise InvalidRequest.of(
            "radiuses", f"value {bad[0]} is {radiuses_m[bad[0]]:g}; 0 < radius <= {MAX_RADIUS_M:g}"
        )
    return radiuses_m


def _split(trace: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return (start, stop) of the stretches between gaps."""
    steps_m = haversine_m(trace[:-1, 0], trace[:-1, 1], trace[1:, 0], trace[1:, 1])
    cuts = [0, *(np.flatnonzero(steps_m > GAP_M) + 1).tolist(), len(trace)]
    return list(pairwise(cuts))


def _smooth(
    trace: NDArray[np.float64], mode: Mode, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the points of a dense trace averaged over about `_SMOOTH_M` of way each.

    Noise makes dense points go back and forth; the engine would take that for turning, or break
    the way on a road that has one direction only. With `weights` points count more or less.
    """
    noise_m = _estimate_noise_m(trace)
    wider = max(1.0, noise_m / _USUAL_NOISE_M)
    usual_m = _SMOOTH_M.get(COSTINGS[mode], _SMOOTH_OTHER_M)
    half = 0
    for lag in _LAGS:
        if len(trace) <= 2 * lag:
            break
        over_m = _SMOOTH_THREE_M if lag == _LAGS[0] else usual_m
        most_m = wider * over_m
        if _find_step_m(trace, lag, noise_m if wider > 1.0 else 0.0) > most_m:
            break
        half = lag // 2
    if half == 0:
        return trace
    index = np.arange(len(trace))
    # Windows shrink towards the ends, so that the first and the last point stay where they are.
    reach = np.minimum(half, np.minimum(index, index[::-1]))
    shares = np.ones(len(trace)) if weights is None else weights
    rows = np.column_stack([trace * shares[:, None], shares])
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(rows, axis=0)])
    windows = sums[index + reach + 1] - sums[index - reach]
    averaged: NDArray[np.float64] = windows[:, :2] / windows[:, 2:]
    return averaged


def _find_step_m(trace: NDArray[np.float64], lag: int, noise_m: float) -> float:
    """Return how far a trace gets in `lag` points, the median, without what noise adds."""
    ahead, behind = trace[lag:], trace[:-lag]
    step_m = float(np.median(haversine_m(behind[:, 0], behind[:, 1], ahead[:, 0], ahead[:, 1])))
    return float(np.sqrt(max(0.0, step_m**2 - (_NOISE_OF_STEPS * noise_m) ** 2)))


def _estimate_noise_m(trace: NDArray[np.float64]) -> float:
    """Return the noise of the points of a dense trace in each direction, 0 for other traces.

    On a way without noise a point lies in the middle of its neighbors but for bends, which are few
    where points are close together.
    """
    if len(trace) <= 2 * _LAGS[-1] // 4:
        return 0.0
    middle = (trace[:-2] + trace[2:]) / 2
    off_m = haversine_m(middle[:, 0], middle[:, 1], trace[1:-1, 0], trace[1:-1, 1])
    noise_m = float(np.median(off_m)) / _NOISE_OF_MIDDLES
    # Where bends and not noise keep points off the middle, their steps are long beside it.
    return noise_m if _find_step_m(trace, 1, 0.0) < _DENSE * noise_m else 0.0


def _match_stretch(engine: Engine, part: _Points, mode: Mode, start: int) -> _Stretch | None:
    if len(part.lonlat) < 2:
        return None
    smooth = _smooth(part.lonlat, mode, part.weights)
    points: list[dict[str, float]] = [
        {"lon": lon, "lat": lat, "radius": radius_m}
        for (lon, lat), radius_m in zip(smooth.tolist(), part.radiuses_m.tolist(), strict=True)
    ]
    variants = [points]
    if part.timestamps_s is not None:
        # Clocks that stand still or jump break the way: then it is found without them.
        times_s = part.timestamps_s.tolist()
        timed = [point | {"time": time_s} for point, time_s in zip(points, times_s, strict=True)]
        variants.insert(0, timed)
    best: _Stretch | None = None
    for variant, interpolation_m in product(variants, _INTERPOLATIONS_M):
        found = _ask(engine, variant, mode, start, interpolation_m)
        if found is not None and (best is None or found.quality > best.quality):
            best = found
        if best is not None and best.is_whole:
            break
    return best


def _ask(
    engine: Engine,
    points: list[dict[str, float]],
    mode: Mode,
    start: int,
    interpolation_m: float,
) -> _Stretch | None:
    try:
        answer = engine.call(
            "trace_attributes",
            {
                "shape": points,
                **make_costing(mode),
                "shape_match": "map_snap",
                "trace_options": {
                    "interpolation_distance": interpolation_m,
                    "turn_penalty_factor": _TURN_PENALTIES.get(COSTINGS[mode], _TURN_PENALTY),
                },
                "filters": {"action": "include", "attributes": _ATTRIBUTES},
            },
        )
    except (Unsupported, NoRoad, NoRoute):
        return None
    return _read_stretch(answer, start)


def _read_stretch(answer: dict[str, Any], start: int) -> _Stretch:
    path = read_path(answer)
    rows = answer["matched_points"]
    edge_of = np.array([_edge_index(row, len(path.edges)) for row in rows], np.int64)
    share = np.array([row.get("distance_along_edge", 0.0) for row in rows])
    # The engine counts shares of the whole edge, of which the path may use a part.
    source, target = path.source[edge_of], path.target[edge_of]
    share = np.clip((share - source) / np.maximum(target - source, 1e-9), 0.0, 1.0)
    along_m = path.along_m[path.begins[edge_of]] + share * path.lengths_m[edge_of]
    elapsed_s = path.elapsed_s[edge_of] - (1.0 - share) * path.durations_s[edge_of]
    subpaths = np.cumsum(path.starts_piece) - 1
    return _Stretch(
        first=start,
        path=path,
        edge_of=edge_of,
        along_m=along_m,
        elapsed_s=elapsed_s,
        subpath_of=np.where(edge_of >= 0, subpaths[edge_of], -1),
        away_m=np.array([row.get("distance_from_trace_point", np.nan) for row in rows]),
        positions=np.array([(row["lon"], row["lat"]) for row in rows], np.float64),
    )


def _refine(
    engine: Engine,
    stretch: _Stretch,
    part: _Points,
    mode: Mode,
    deadline: Deadline,
) -> _Stretch:
    """Return the stretch on a likelier path where there is one; a broken one stays as it is."""
    members = np.flatnonzero(stretch.edge_of >= 0)
    if COSTINGS[mode] not in _REFINED or stretch.path.starts_piece.sum() != 1 or len(members) < 2:
        return stretch
    seen = part.lonlat
    refined = refine_path(
        engine,
        stretch.path,
        seen[members],
        _smooth(seen, mode, part.weights)[members],
        stretch.along_m[members],
        part.radiuses_m[members],
        mode,
        deadline,
    )
    if refined is None:
        return stretch
    path, along_m = refined
    last_edge = len(path.edges) - 1
    edges = np.searchsorted(path.along_m[path.ends], along_m).clip(0, last_edge)
    begins_m, ends_m = path.along_m[path.begins[edges]], path.along_m[path.ends[edges]]
    share = np.clip((along_m - begins_m) / np.maximum(ends_m - begins_m, 1e-9), 0.0, 1.0)
    places = np.column_stack(
        [np.interp(along_m, path.along_m, path.positions[:, axis]) for axis in (0, 1)]
    )
    new = replace(stretch, path=path)
    for name, values in (
        ("edge_of", edges),
        ("along_m", along_m),
        ("elapsed_s", path.elapsed_s[edges] - (1.0 - share) * path.durations_s[edges]),
        ("positions", places),
        ("away_m", haversine_m(places[:, 0], places[:, 1], seen[members, 0], seen[members, 1])),
    ):
        all_values = getattr(stretch, name).copy()
        all_values[members] = values
        setattr(new, name, all_values)
    return new


def _edge_index(row: dict[str, Any], edge_count: int) -> int:
    index: int = row.get("edge_index", edge_count)
    return index if row.get("type") != "unmatched" and index < edge_count else -1


def _assemble(
    engine: Engine, trace: _Points, stretches: list[_Stretch], mode: Mode, asked: int
) -> Match:
    """Return the match of the points that were kept, out of `asked` ones."""
    count = len(trace.lonlat)
    matching_of = np.full(count, -1)
    positions = np.full((count, 2), np.nan)
    away_m = np.full(count, np.nan)
    edge_ids = np.full(count, -1)
    names: list[str | None] = [None] * count
    matchings: list[Matching] = []
    legs = [_NO_LEG] * (count - 1)
    for stretch in stretches:
        path, first = stretch.path, stretch.first
        bounds = [*np.flatnonzero(path.starts_piece).tolist(), len(path.edges)]
        for subpath, (begin, end) in enumerate(pairwise(bounds)):
            members = np.flatnonzero(stretch.subpath_of == subpath)
            line = path.positions[path.begins[begin] : path.ends[end - 1] + 1]
            if not members.size or len(line) < 2:
                continue
            points = members + first
            matching_of[points] = len(matchings)
            positions[points] = stretch.positions[members]
            away_m[points] = stretch.away_m[members]
            edges = stretch.edge_of[members].tolist()
            edge_ids[points] = [path.edges[edge].edge_id for edge in edges]
            for point, edge in zip(points.tolist(), edges, strict=True):
                names[point] = path.edges[edge].name
            matchings.append(
                Matching(
                    positions=line,
                    distance_m=round(float(path.lengths_m[begin:end].sum()), 1),
                    duration_s=round(float(path.elapsed_s[end - 1]), 1),
                    way_ids=_merge(edge.way_id for edge in path.edges[begin:end]),
                    confidence=_measure_confidence(engine, trace, stretch, points, line, mode),
                )
            )
            for one, other in pairwise(members.tolist()):
                if other == one + 1:
                    legs[first + one] = _read_leg(stretch, one, other)
    members_of = [int((matching_of == number).sum()) for number in range(len(matchings))]
    sure = sum(
        matching.confidence * members
        for matching, members in zip(matchings, members_of, strict=True)
    )
    return Match(
        matchings=matchings,
        legs=legs,
        confidence=round(sure / asked * measure_wholeness(len(matchings)), 3),
        matching_of=matching_of,
        positions=positions,
        away_m=away_m,
        edge_ids=edge_ids,
        names=names,
        is_jump=np.zeros(count, np.bool_),
        stays=[],
    )


def _measure_confidence(
    engine: Engine,
    trace: _Points,
    stretch: _Stretch,
    points: NDArray[np.int64],
    line: NDArray[np.float64],
    mode: Mode,
) -> float:
    """Return 0 to 1 for one piece: how near its points are, less what makes it doubtful."""
    members = points - stretch.first
    away_m, seen = stretch.away_m[members], trace.lonlat[points]
    nearness = measure_nearness(away_m, trace.radiuses_m[points], len(points))
    legs_m = np.maximum(np.diff(stretch.along_m[members]), 0.0)
    crow_m = haversine_m(seen[:-1, 0], seen[:-1, 1], seen[1:, 0], seen[1:, 1])
    ways = {edge.way_id for edge in stretch.path.edges}
    rivals = measure_rivals(engine, seen, away_m, line, ways, mode)
    return round(nearness * measure_straightness(legs_m, crow_m) * rivals, 3)


def _spread(
    found: Match, kept: NDArray[np.int64], is_jump: NDArray[np.bool_], stays: list[Stay]
) -> Match:
    """Return a match of the kept points as one of all points."""
    if not is_jump.any():
        return replace(found, stays=stays)
    count = len(is_jump)

    def spread(values: NDArray[Any], empty: float) -> NDArray[Any]:
        all_values = np.full((count, *values.shape[1:]), empty, values.dtype)
        all_values[kept] = values
        return all_values

    legs = [_NO_LEG] * (count - 1)
    names: list[str | None] = [None] * count
    for index, point in enumerate(kept.tolist()):
        names[point] = found.names[index]
        if index and kept[index - 1] == point - 1:
            legs[point - 1] = found.legs[index - 1]
    return replace(
        found,
        legs=legs,
        matching_of=spread(found.matching_of, -1),
        positions=spread(found.positions, np.nan),
        away_m=spread(found.away_m, np.nan),
        edge_ids=spread(found.edge_ids, -1),
        names=names,
        is_jump=is_jump,
        stays=stays,
    )


def _read_leg(stretch: _Stretch, one: int, other: int) -> MatchedLeg:
    edges = stretch.path.edges[stretch.edge_of[one] : stretch.edge_of[other] + 1]
    return MatchedLeg(
        matched=True,
        distance_m=round(max(0.0, float(stretch.along_m[other] - stretch.along_m[one])), 1),
        duration_s=round(max(0.0, float(stretch.elapsed_s[other] - stretch.elapsed_s[one])), 1),
        way_ids=_merge(edge.way_id for edge in edges),
        names=_merge(edge.name for edge in edges if edge.name),
    )


def _merge[T](values: Iterable[T]) -> list[T]:
    """Return values without direct repetitions."""
    return [value for value, _ in groupby(values)]
