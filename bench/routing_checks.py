"""Does routing agree with itself? Random pairs, matrices, isochrones, snapping, synthetic traces.

    python -m bench.routing_checks EXTRACT.osm.pbf … [--pairs 200]

Each extract is built into a temporary folder. Positions are random nodes of the extract's roads,
moved by up to 20 m, with a fixed seed.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import osmium
import shapely
from numpy.typing import NDArray

from mapyard.errors import MapyardError
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.routing import (
    Engine,
    build_graph,
    compute_matrix,
    find_isochrones,
    find_nearest,
    find_routes,
    match_trace,
    open_routing,
)
from mapyard.routing.config import COSTINGS
from mapyard.routing.edges import EdgePath, find_edges
from mapyard.routing.modes import MODES, Mode
from mapyard.routing.snapping import find_roads

type Floats = NDArray[np.float64]

SEED = 1
#: Samples of isochrones keep away from the outline by a cell of the engine's grid.
CELL_M = 150.0
#: A nearest road is clear when the next one is so much farther.
CLEAR_M = 30.0


def read_road_nodes(pbf: Path) -> tuple[Floats, Bbox]:
    """Return positions (n, 2) of nodes of ways with `highway`, and the box of all of them."""
    places: list[tuple[float, float]] = []
    ways = osmium.FileProcessor(str(pbf), osmium.osm.NODE | osmium.osm.WAY).with_locations()
    for way in ways.with_filter(osmium.filter.EntityFilter(osmium.osm.WAY)).with_filter(
        osmium.filter.KeyFilter("highway")
    ):
        places += [(n.location.lon, n.location.lat) for n in way.nodes if n.location.valid()]
    nodes = np.array(places)
    (west, south), (east, north) = nodes.min(axis=0), nodes.max(axis=0)
    return nodes, Bbox(west, south, east, north)


def pick_places(
    engine: Engine, nodes: Floats, mode: Mode, count: int, rng: np.random.Generator
) -> Floats:
    """Return random places at most 20 m from a road node, within 100 m of a road of the mode."""
    chosen = nodes[rng.integers(len(nodes), size=4 * count)]
    chosen = chosen + rng.uniform(-20, 20, chosen.shape) / DEGREE_M
    roads = find_roads(engine, chosen, mode, 100.0)
    return chosen[[bool(row) for row in roads]][:count]


def check_routes(engine: Engine, places: Floats, mode: Mode) -> str:
    """Compare routes of pairs with the engine's own answers."""
    outcome: Counter[str] = Counter()
    half = len(places) // 2
    for origin, destination in zip(places[:half], places[half : 2 * half], strict=True):
        locations = [{"lon": lon, "lat": lat} for lon, lat in (origin, destination)]
        try:
            request = {"locations": locations, "costing": COSTINGS[mode]}
            summary = engine.call("route", request)["trip"]["summary"]
            expected = (round(summary["length"] * 1000, 1), summary["time"])
        except MapyardError as error:
            expected = error.code
        try:
            route = find_routes(engine, np.array([origin, destination]), mode)[0]
            found = (route.distance_m, route.duration_s)
        except MapyardError as error:
            found = error.code
        if found == expected:
            outcome["equal" if isinstance(found, tuple) else f"both {found}"] += 1
        elif isinstance(expected, tuple) and found == "no_route_found":
            # The engine carries a position up to 35 km to a larger network, over water as well.
            outcome["kept on their island"] += 1
        else:
            outcome["different"] += 1
    return ", ".join(f"{count} {what}" for what, count in sorted(outcome.items()))


def check_matrix(engine: Engine, places: Floats, mode: Mode, size: int = 20) -> str:
    """Compare the cells of a matrix with routes, whole seconds aside."""
    origins, destinations = places[:size], places[size : 2 * size]
    matrix = compute_matrix(engine, origins, destinations, mode)
    good = compared = 0
    reachability = 0
    for i, origin in enumerate(origins):
        for j, destination in enumerate(destinations):
            cell = matrix.durations_s[i, j]
            try:
                route = find_routes(engine, np.array([origin, destination]), mode)[0]
            except MapyardError:
                reachability += not np.isnan(cell)
                continue
            if np.isnan(cell):
                reachability += 1
                continue
            compared += 1
            good += abs(cell - route.duration_s) <= max(1.0, 0.01 * route.duration_s)
    share = f"{good / compared:.2%}" if compared else "none"
    return f"{share} of {compared} cells within 1 %, {reachability} differ in reachability"


def check_isochrones(engine: Engine, nodes: Floats, places: Floats, mode: Mode) -> str:
    """Ask for the ways to 100 nodes around each area, and compare with being inside."""
    rng = np.random.default_rng(SEED)
    good = total = 0
    for lon, lat in places[:4]:
        for time_s in (300.0, 900.0):
            area = find_isochrones(engine, lon, lat, [time_s], mode)[0].geometry
            west, south, east, north = area.bounds
            margin = 0.02
            near = nodes[
                (nodes[:, 0] > west - margin) & (nodes[:, 0] < east + margin)
                & (nodes[:, 1] > south - margin) & (nodes[:, 1] < north + margin)
            ]  # fmt: skip
            near = near[rng.integers(len(near), size=600)]
            roads = find_roads(engine, near, mode, 5.0)
            near = near[[bool(row) for row in roads]]
            if not len(near):
                continue
            away_m = shapely.distance(area.boundary, shapely.points(near)) * DEGREE_M * 0.7
            near = near[away_m > CELL_M][:100]
            if not len(near):
                continue
            durations_s = compute_matrix(engine, np.array([[lon, lat]]), near, mode).durations_s[0]
            inside = shapely.contains_xy(area, near[:, 0], near[:, 1])
            good += int((inside == (durations_s <= time_s)).sum())
            total += len(near)
    return f"{good / total:.2%} of {total} samples agree" if total else "no samples"


def check_snapping(engine: Engine, places: Floats, mode: Mode) -> str:
    """Compare the places that nearest, route and match put a position on."""
    compared = routes = matches = cut_off = 0
    for index, (lon, lat) in enumerate(places):
        roads = find_nearest(engine, lon, lat, mode, radius_m=1000, number=2)
        if len(roads) < 2 or roads[1].distance_m < roads[0].distance_m + CLEAR_M:
            continue
        at = np.array([[lon, lat]])
        candidates = find_roads(engine, at, mode, 1000.0)[0]
        if candidates[-1].distance_m > candidates[0].distance_m + 1.0:
            cut_off += 1  # a route goes to the connected road behind
            continue
        other = places[index - 1 : index] if index else places[1:2]
        try:
            route = find_routes(engine, np.concatenate([at, other]), mode)[0]
        except MapyardError:
            continue
        compared += 1
        start = route.waypoints[0]
        away_m = haversine_m(roads[0].lon, roads[0].lat, start.lon, start.lat)
        routes += bool(away_m < 2.0)
        along = route.positions[min(3, len(route.positions) - 1)]
        try:
            match = match_trace(engine, np.array([[lon, lat], along]), mode)
            place = match.positions[0]
            matches += bool(haversine_m(roads[0].lon, roads[0].lat, place[0], place[1]) < 2.0)
        except MapyardError:
            pass
    return (
        f"of {compared} clear positions, {routes} the same in routes, {matches} in matches; "
        f"{cut_off} more at roads without connection"
    )


def sample_trace(path: EdgePath, step_s: float, rng: np.random.Generator, *, gap: bool) -> Floats:
    """Return noisy points along a path as a receiver would see them, 6 m off."""
    reached_s = np.zeros(len(path.positions))
    elapsed_s = 0.0
    for begin, end, duration_s in zip(path.begins, path.ends, path.durations_s, strict=True):
        along_m = path.along_m[begin : end + 1] - path.along_m[begin]
        share = along_m / along_m[-1] if along_m[-1] else np.linspace(0, 1, len(along_m))
        reached_s[begin : end + 1] = elapsed_s + share * duration_s
        elapsed_s += duration_s
    times = np.append(np.arange(0.0, elapsed_s, step_s), elapsed_s)
    clock = np.maximum.accumulate(reached_s) + np.arange(len(reached_s)) * 1e-9
    lon = np.interp(times, clock, path.positions[:, 0])
    lat = np.interp(times, clock, path.positions[:, 1])
    scale = np.cos(np.radians(lat))
    noise = rng.normal(0.0, 6.0 / DEGREE_M, (2, len(times)))
    trace = np.column_stack([lon + noise[0] / scale, lat + noise[1]])
    if gap and len(trace) > 8:
        middle, width = len(trace) // 2, max(1, int(min(60.0, elapsed_s / 5) / step_s))
        trace = np.delete(trace, slice(middle, middle + width), axis=0)
    return trace


def check_traces(engine: Engine, places: Floats, mode: Mode, count: int = 25) -> str:
    """Match traces made of routes, and count the ways found again."""
    rng = np.random.default_rng(SEED)
    paths: list[EdgePath] = []
    for origin, destination in zip(places[::2], places[1::2], strict=False):
        try:
            route = find_routes(engine, np.array([origin, destination]), mode)[0]
            if 500 < route.distance_m < 15_000 and not route.has_ferry:
                paths.append(find_edges(engine, route.positions, mode))
        except MapyardError:
            continue
        if len(paths) == count:
            break
    if not paths:
        return "no routes of a fitting length"
    results = []
    for step_s, gap in ((1.0, False), (2.0, True), (5.0, True), (10.0, False), (30.0, False)):
        found = known = wrong = 0
        for path in paths:
            ways = {edge.way_id for edge in path.edges}
            known += len(ways)
            try:
                match = match_trace(engine, sample_trace(path, step_s, rng, gap=gap), mode)
            except MapyardError:
                continue
            matched = {way for matching in match.matchings for way in matching.way_ids}
            found += len(ways & matched)
            wrong += len(matched - ways)
        label = f"{step_s:g} s{' with a gap' if gap else ''}"
        results.append(f"{label} {found / known:.1%} (+{wrong / known:.0%} others)")
    return f"{len(paths)} routes: " + ", ".join(results)


def check(pbf: Path, pairs: int) -> None:
    nodes, bbox = read_road_nodes(pbf)
    with tempfile.TemporaryDirectory() as folder:
        started_s = time.process_time()
        build_graph(pbf, Path(folder), bbox)
        engine = open_routing(Path(folder))
        print(f"\n## {pbf.name}\n")
        for mode in MODES:
            rng = np.random.default_rng(SEED)
            places = pick_places(engine, nodes, mode, 2 * pairs, rng)
            print(f"{mode}:")
            print(f"  routes: {check_routes(engine, places, mode)}")
            print(f"  matrix: {check_matrix(engine, places, mode)}")
            print(f"  isochrones: {check_isochrones(engine, nodes, places, mode)}")
            print(f"  snapping: {check_snapping(engine, places[:pairs], mode)}")
            print(f"  traces: {check_traces(engine, places, mode)}", flush=True)
        engine.close()
        print(f"CPU {time.process_time() - started_s:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extracts", type=Path, nargs="+")
    parser.add_argument("--pairs", type=int, default=200)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}")
    for pbf in options.extracts:
        check(pbf, options.pairs)


if __name__ == "__main__":
    main()
