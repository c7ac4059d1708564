"""Does routing agree with itself and with the engine? Routes, matrices, isochrones, snapping.

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
    compute_matrix,
    find_isochrones,
    find_nearest,
    find_routes,
    match_trace,
    open_routing,
)
from mapyard.routing.building.graph import build_graph
from mapyard.routing.config import COSTINGS
from mapyard.routing.modes import TABLE_MODES, Mode
from mapyard.routing.snapping import find_connected, find_roads

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


def ask_engine(
    engine: Engine, pair: Floats, mode: Mode, options: dict[str, float]
) -> tuple[float, float] | str:
    """Return meters and seconds of the engine's own route, or the code of its error."""
    locations = [{"lon": lon, "lat": lat, **options} for lon, lat in pair.tolist()]
    try:
        request = {"locations": locations, "costing": COSTINGS[mode]}
        summary = engine.call("route", request)["trip"]["summary"]
    except MapyardError as error:
        return error.code
    return summary["length"] * 1000, summary["time"]


def is_same(one: tuple[float, float] | str, other: tuple[float, float] | str) -> bool:
    """Return whether two answers agree: the places of moved positions have six decimals."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(one[0] - other[0]) <= 2 and abs(one[1] - other[1]) <= max(1.0, 0.001 * one[1])


def check_routes(engine: Engine, places: Floats, mode: Mode) -> str:
    """Compare routes of pairs with the engine's own, from the nearest roads and as it chooses."""
    outcome: Counter[str] = Counter()
    half = len(places) // 2
    for pair in np.stack([places[:half], places[half : 2 * half]], axis=1):
        nearest = ask_engine(engine, pair, mode, {"minimum_reachability": 1, "search_cutoff": 1000})
        default = ask_engine(engine, pair, mode, {})
        try:
            route = find_routes(engine, pair, mode)[0]
            found = (route.distance_m, route.duration_s)
        except MapyardError as error:
            found = error.code
        if is_same(found, nearest):
            answer = found if isinstance(found, str) else "the engine's from the nearest roads"
            outcome[answer] += 1
        elif nearest == "no_route_found":
            outcome["from a connected road"] += 1
        else:
            outcome["different"] += 1
        outcome["(as the engine chooses roads)"] += is_same(found, default)
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
    compared = routes = matches = moved = 0
    for index, (lon, lat) in enumerate(places):
        roads = find_nearest(engine, lon, lat, mode, radius_m=1000, number=2)
        if len(roads) < 2 or roads[1].distance_m < roads[0].distance_m + CLEAR_M:
            continue
        at = np.array([[lon, lat]])
        other = places[index - 1 : index] if index else places[1:2]
        try:
            route = find_routes(engine, np.concatenate([at, other]), mode)[0]
        except MapyardError:
            continue
        start = route.waypoints[0]
        away_m = haversine_m(roads[0].lon, roads[0].lat, start.lon, start.lat)
        if away_m > 2.0 and find_connected(engine, at, mode, 1000.0, "origin")[1][0]:
            moved += 1  # no way leads from the nearest road
            continue
        compared += 1
        routes += bool(away_m < 2.0)
        along = route.positions[min(3, len(route.positions) - 1)]
        try:
            trace = np.array([[lon, lat], along])
            # Places are picked within 100 m of a road; matching looks 50 m far by default.
            match = match_trace(engine, trace, mode, radiuses_m=np.full(2, 100.0))
            place = match.positions[0]
            matches += bool(haversine_m(roads[0].lon, roads[0].lat, place[0], place[1]) < 2.0)
        except MapyardError:
            pass
    return (
        f"of {compared} clear positions, {routes} the same in routes, {matches} in matches; "
        f"{moved} more at roads without a way"
    )


def check(pbf: Path, pairs: int) -> None:
    nodes, bbox = read_road_nodes(pbf)
    with tempfile.TemporaryDirectory() as folder:
        started_s = time.process_time()
        build_graph(pbf, Path(folder), bbox)
        engine = open_routing(Path(folder))
        print(f"\n## {pbf.name}\n")
        for mode in TABLE_MODES:
            rng = np.random.default_rng(SEED)
            places = pick_places(engine, nodes, mode, 2 * pairs, rng)
            print(f"{mode}:")
            print(f"  routes: {check_routes(engine, places, mode)}")
            print(f"  matrix: {check_matrix(engine, places, mode)}")
            print(f"  isochrones: {check_isochrones(engine, nodes, places, mode)}")
            print(f"  snapping: {check_snapping(engine, places[:pairs], mode)}", flush=True)
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
