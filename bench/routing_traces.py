"""How many ways does matching find again in traces made of routes?

    python -m bench.routing_traces EXTRACT.osm.pbf … [--routes 25] [--seed 1]

Each extract is built into a temporary folder. Traces are points on routes of 0.5 to 15 km at the
route's own pace, 6 m of normal noise in each direction, some with a gap. Printed per mode and
sampling: recall (share of the route's way ids that are found), precision (share of the found ones
that are the route's), and what became of the ways that were lost:

- "no point on it": the way lies between two points of the trace, or in its gap;
- "nearer to the match": the sum of the squared distances of the points around is smaller from the
  way that the matcher chose than from the way that was travelled;
- "odds below 20": they are more likely by less than 20 to 1 from the way that was travelled;
- "clear": by more than that.

"Oracle" is the recall of someone who knows both the travelled way and the matcher's, and the noise,
and takes the likelier one: all but the first two kinds.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from bench.routing_checks import SEED, pick_places, read_road_nodes
from mapyard.errors import MapyardError
from mapyard.geo.sphere import DEGREE_M
from mapyard.routing import Engine, find_routes, match_trace, open_routing
from mapyard.routing.building.graph import build_graph
from mapyard.routing.edges import EdgePath, find_edges
from mapyard.routing.matching.match import Match
from mapyard.routing.modes import TABLE_MODES, Mode

type Floats = NDArray[np.float64]

NOISE_M = 6.0
SAMPLINGS = ((1.0, False), (2.0, True), (5.0, True), (10.0, False), (30.0, False))
#: A way is judged by the points so near to it.
AROUND_M = 15.0
LOST = ("no point on it", "nearer to the match", "odds below 20", "clear")


@dataclass(slots=True)
class Score:
    """Ways of one sampling."""

    known: int = 0
    found: int = 0
    wrong: int = 0
    lost: Counter[str] = field(default_factory=Counter)


def sample_path(path: EdgePath, step_s: float, *, gap: bool) -> Floats:
    """Return points along a path, one per `step_s`, some left out in the middle with `gap`."""
    reached_s = np.zeros(len(path.positions))
    elapsed_s = 0.0
    for begin, end, duration_s in zip(path.begins, path.ends, path.durations_s, strict=True):
        along_m = path.along_m[begin : end + 1] - path.along_m[begin]
        share = along_m / along_m[-1] if along_m[-1] else np.linspace(0, 1, len(along_m))
        reached_s[begin : end + 1] = elapsed_s + share * duration_s
        elapsed_s += duration_s
    times = np.append(np.arange(0.0, elapsed_s, step_s), elapsed_s)
    clock = np.maximum.accumulate(reached_s) + np.arange(len(reached_s)) * 1e-9
    points = np.column_stack([np.interp(times, clock, path.positions[:, axis]) for axis in (0, 1)])
    if gap and len(points) > 8:
        middle, width = len(points) // 2, max(1, int(min(60.0, elapsed_s / 5) / step_s))
        points = np.delete(points, slice(middle, middle + width), axis=0)
    return points


def add_noise(points: Floats, rng: np.random.Generator) -> Floats:
    """Return the points as a receiver would see them."""
    noise = rng.normal(0.0, NOISE_M / DEGREE_M, points.shape)
    noise[:, 0] /= np.cos(np.radians(points[:, 1]))
    return points + noise


def pick_paths(engine: Engine, places: Floats, mode: Mode, count: int) -> list[EdgePath]:
    """Return the edges of routes between places."""
    paths: list[EdgePath] = []
    for origin, destination in zip(places[::2], places[1::2], strict=False):
        try:
            route = find_routes(engine, np.array([origin, destination]), mode)[0]
            # One point per second, at most 10,000 in all.
            short = route.duration_s < 9_000 and route.distance_m < 15_000
            if short and route.distance_m > 500 and not route.has_ferry:
                paths.append(find_edges(engine, route.positions, mode))
        except MapyardError:
            continue
        if len(paths) == count:
            break
    return paths


def judge_lost(
    path: EdgePath, match: Match, points: Floats, trace: Floats, lost: set[int]
) -> Counter[str]:
    """Return of which kind the lost ways are; `points` are the trace without its noise."""
    scale = np.array([np.cos(np.radians(trace[0, 1])), 1.0]) * DEGREE_M
    matched = shapely.MultiLineString([one.positions * scale for one in match.matchings])
    travelled = shapely.LineString(path.positions * scale)
    seen, real = shapely.points(trace * scale), shapely.points(points * scale)
    squares = shapely.distance(seen, matched) ** 2 - shapely.distance(seen, travelled) ** 2
    log_odds = squares / (2 * NOISE_M**2)
    kinds: Counter[str] = Counter()
    for way in lost:
        parts = [
            shapely.LineString(path.positions[begin : end + 1] * scale)
            for edge, begin, end in zip(path.edges, path.begins, path.ends, strict=True)
            if edge.way_id == way
        ]
        away_m = shapely.distance(real, shapely.MultiLineString(parts))
        odds = float(log_odds[away_m < AROUND_M].sum())
        if away_m.min() > 1.0:
            kinds[LOST[0]] += 1
        elif odds <= 0:
            kinds[LOST[1]] += 1
        else:
            kinds[LOST[2 if odds < np.log(20) else 3]] += 1
    return kinds


def score_traces(
    engine: Engine, paths: list[EdgePath], mode: Mode, step_s: float, seed: int, *, gap: bool
) -> Score:
    rng = np.random.default_rng(seed)
    score = Score()
    for path in paths:
        points = sample_path(path, step_s, gap=gap)
        trace = add_noise(points, rng)
        ways = {edge.way_id for edge in path.edges}
        score.known += len(ways)
        try:
            match = match_trace(engine, trace, mode)
        except MapyardError as error:  # too many points
            score.lost[error.code] += len(ways)
            continue
        found = {way for matching in match.matchings for way in matching.way_ids}
        score.found += len(ways & found)
        score.wrong += len(found - ways)
        score.lost["pieces"] += len(match.matchings) - 1
        score.lost += judge_lost(path, match, points, trace, ways - found)
    return score


def check(pbf: Path, routes: int, seed: int) -> None:
    nodes, bbox = read_road_nodes(pbf)
    print(f"\n## {pbf.name}\n")
    with tempfile.TemporaryDirectory() as folder:
        build_graph(pbf, Path(folder), bbox)
        engine = open_routing(Path(folder))
        for mode in TABLE_MODES:
            places = pick_places(engine, nodes, mode, 16 * routes, np.random.default_rng(seed))
            paths = pick_paths(engine, places, mode, routes)
            print(f"{mode}, {len(paths)} routes:")
            for step_s, gap in SAMPLINGS if paths else ():
                score = score_traces(engine, paths, mode, step_s, seed, gap=gap)
                oracle = 1 - (score.lost[LOST[0]] + score.lost[LOST[1]]) / score.known
                lost = ", ".join(f"{count} {kind}" for kind, count in score.lost.items() if count)
                print(
                    f"  {step_s:g} s{' with a gap' if gap else ''}: "
                    f"recall {score.found / score.known:.1%}, "
                    f"precision {score.found / (score.found + score.wrong):.1%}, "
                    f"oracle {oracle:.1%}; of {score.known} ways: {lost}",
                    flush=True,
                )
        engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("extracts", type=Path, nargs="+")
    parser.add_argument("--routes", type=int, default=25)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, seed {options.seed}")
    for pbf in options.extracts:
        check(pbf, options.routes, options.seed)


if __name__ == "__main__":
    main()
