"""Routing: our cost over the engine's, and the engine against OSRM on the same extract.

    uv sync --group bench
    python -m bench.routing EXTRACT.osm.pbf [--elevation FOLDER] [--repetitions 200]

Everything runs in one run; calls that are compared take turns. Numbers are CPU time of the calling
thread, or of the server's worker, medians unless said otherwise. Positions are random nodes of the
extract's roads with a fixed seed. OSRM (MLD and CH, its own profiles) is left out where
osrm-bindings is missing; its answers are turned into Python's lists, ours into JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import psutil
from numpy.typing import NDArray

from bench.routing_checks import SEED, pick_places, read_road_nodes
from bench.routing_traces import add_noise, sample_path
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.elevation import find_heights, open_elevation
from mapyard.errors import MapyardError
from mapyard.routing import (
    Engine,
    compute_matrix,
    find_isochrones,
    find_nearest,
    find_routes,
    match_trace,
    open_routing,
)
from mapyard.routing.config import COSTINGS
from mapyard.routing.edges import find_edges
from mapyard.routing.engine import make_actor
from mapyard.routing.nearest import find_ends
from mapyard.routing.polyline import encode_polyline

try:
    import osrm
except ImportError:
    osrm = None

type Floats = NDArray[np.float64]
type Call = Callable[[], Any]


def cpu_ms(call: Call) -> float:
    """Return the CPU time of one call, of this thread."""
    started_s = time.thread_time()
    call()
    return (time.thread_time() - started_s) * 1000


def compare(calls: dict[str, list[Call]]) -> dict[str, float]:
    """Return medians of calls that take turns: one of each kind after the other."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for kind in calls.values():
        kind[0]()  # warm
    for turn in zip(*calls.values(), strict=True):
        for name, call in zip(calls, turn, strict=True):
            taken[name].append(cpu_ms(call))
    return {name: float(np.median(times)) for name, times in taken.items()}


def show(what: str, medians: dict[str, float]) -> None:
    """Print medians, and the ratio of the first two."""
    ours, peer, *_ = medians.values()
    figures = ", ".join(f"{name} {value:.2f} ms" for name, value in medians.items())
    print(f"{what}: {figures}; ratio {ours / peer:.2f}", flush=True)


def routable_pairs(engine: Engine, places: Floats, count: int) -> list[Floats]:
    """Return pairs of positions that have a route by car."""
    pairs = []
    for pair in zip(places[::2], places[1::2], strict=False):
        with contextlib.suppress(MapyardError):
            find_routes(engine, np.array(pair), "auto")
            pairs.append(np.array(pair))
        if len(pairs) == count:
            break
    return pairs


def bench_calls(engine: Engine, pairs: list[Floats]) -> None:
    """Compare the library with bare calls of the engine on the same pairs."""
    actor = make_actor(engine._configs[True])
    for mode, costing in COSTINGS.items():
        able = [pair for pair in pairs if has_route(engine, pair, mode)]
        calls = {
            "library": [partial(find_routes, engine, pair, mode) for pair in able],
            "bare": [partial(actor.route, make_text(pair, costing)) for pair in able],
        }
        show(f"route {mode}, library", compare(calls))
    near = [pair[0].tolist() for pair in pairs]
    calls = {
        "library": [partial(find_nearest, engine, lon, lat) for lon, lat in near],
        "bare": [partial(actor.locate, make_locate(lon, lat)) for lon, lat in near],
    }
    show("nearest, library", compare(calls))


def has_route(engine: Engine, pair: Floats, mode: Any) -> bool:
    try:
        find_routes(engine, pair, mode)
    except MapyardError:
        return False
    return True


def make_text(pair: Floats, costing: str) -> str:
    locations = [{"lon": lon, "lat": lat} for lon, lat in pair.tolist()]
    return orjson.dumps({"locations": locations, "costing": costing}).decode()


def make_locate(lon: float, lat: float) -> str:
    location = {"lon": lon, "lat": lat, "search_cutoff": 500}
    request = {"locations": [location], "costing": "auto", "verbose": True}
    return orjson.dumps(request).decode()


def bench_server(data: Path, engine: Engine, pairs: list[Floats]) -> None:
    """Compare the CPU time of a server's worker per request with bare calls, on the same pairs."""
    command = Path(sys.executable).with_name("mapyard")
    folder = ["--data", str(data)]
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    run([command, "accounts", "create", "bench@example.org", "--plan", "enterprise", *folder])
    key = run([command, "keys", "create", "bench@example.org", *folder]).stdout.strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [command, "serve", "--port", str(port), "--workers", "1", *folder],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"X-API-Key": key}, timeout=60
        ) as client:
            wait_until_ready(client)
            actor = make_actor(engine._configs[True])
            for mode, costing in COSTINGS.items():
                able = [pair for pair in pairs if has_route(engine, pair, mode)]
                bodies = [
                    {"origin": one.tolist(), "destination": other.tolist(), "mode": mode}
                    for one, other in able
                ]
                calls = [partial(actor.route, make_text(pair, costing)) for pair in able]
                figures = take_turns(server.pid, client, "/api/v1/route", bodies, calls, rounds=4)
                show(f"route {mode}, server", figures)
            near = [pair[0].tolist() for pair in pairs]
            bodies = [{"geometry": place} for place in near]
            calls = [partial(actor.locate, make_locate(lon, lat)) for lon, lat in near]
            figures = take_turns(server.pid, client, "/api/v1/nearest", bodies, calls, rounds=20)
            show("nearest, server", figures)
    finally:
        server.terminate()
        server.wait()


def wait_until_ready(client: httpx.Client) -> None:
    for _ in range(300):
        with contextlib.suppress(httpx.TransportError):
            if client.get("/readyz").status_code == 200:
                return
        time.sleep(0.1)
    raise SystemExit("the server did not start")


def read_cpu_ms(process: int) -> float:
    """Return the CPU time of all threads of a process, by the scheduler's nanoseconds."""
    return sum(
        int(Path(task, "schedstat").read_text().split()[0]) / 1e6
        for task in Path(f"/proc/{process}/task").iterdir()
    )


def take_turns(
    pid: int,
    client: httpx.Client,
    path: str,
    bodies: list[dict[str, Any]],
    calls: list[Call],
    *,
    rounds: int,
) -> dict[str, float]:
    """Return the mean CPU time of a request in the server's worker, and of a bare call.

    Each request is followed by its bare call, so that both find the caches alike; of some rounds
    the best one counts, as other processes disturb.
    """
    for body in bodies[:30]:
        client.post(path, json=body).raise_for_status()
    children = [child.pid for child in psutil.Process(pid).children(recursive=True)]
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        before_ms = [read_cpu_ms(child) for child in children]
        bare_ms = 0.0
        for body, call in zip(bodies, calls, strict=True):
            client.post(path, json=body)
            bare_ms += cpu_ms(call)
        after_ms = [read_cpu_ms(child) for child in children]
        # The worker is the one that worked; what the others do goes by the clock, not by requests.
        worked_ms = max(after - before for before, after in zip(before_ms, after_ms, strict=True))
        taken.append((worked_ms / len(bodies), bare_ms / len(bodies)))
    best = np.min(taken, axis=0)
    return {"http": float(best[0]), "bare": float(best[1])}


def bench_elevation(folder: Path, places: Floats) -> None:
    rasters = open_elevation(folder)
    points = np.resize(places, (1000, 2))
    find_heights(rasters, points)
    times = [cpu_ms(partial(find_heights, rasters, points)) for _ in range(50)]
    print(f"elevation of 1,000 positions: {np.median(times):.2f} ms (goal 2 ms)")


def build_osrm(pbf: Path, folder: Path, profile: str) -> dict[str, Any]:
    """Return open OSRMs of the extract by algorithm, none where the package is missing."""
    if osrm is None:
        print("osrm-bindings is not installed: uv sync --group bench")
        return {}
    source = folder / f"{profile}.osm.pbf"
    shutil.copyfile(pbf, source)
    lua = Path(osrm.__file__).parent / "share" / "profiles" / f"{profile}.lua"
    base = folder / f"{profile}.osrm"
    for command in (
        ["extract", "-p", lua, source, "-t", "1"],
        ["partition", base],
        ["customize", base],
        ["contract", base],
    ):
        subprocess.run(
            [sys.executable, "-m", "osrm", *map(str, command)], check=True, capture_output=True
        )
    return {
        algorithm: osrm.OSRM(
            algorithm=algorithm, storage_config=str(base), use_shared_memory=False,
            max_locations_trip=500, max_locations_viaroute=500,
            max_locations_distance_table=2_000, max_locations_map_matching=20_000,
            max_results_nearest=10, max_alternatives=3, default_radius="unlimited",
        )
        for algorithm in ("MLD", "CH")
    }  # fmt: skip


def bench_osrm(engine: Engine, pbf: Path, pairs: list[Floats], nodes: Floats) -> None:
    """Compare routes, matrices, snapping and matching with OSRM; isochrones it does not have."""
    with tempfile.TemporaryDirectory() as name:
        for mode, profile in (("auto", "car"), ("foot", "foot"), ("bicycle", "bicycle")):
            peers = build_osrm(pbf, Path(name), profile)
            if peers:
                bench_peers(engine, peers, mode, pairs, nodes)


def ask_route(peer: Any, pair: Floats) -> Any:
    ask = osrm.RouteParameters(coordinates=pair.tolist(), overview="full", radiuses=[1000, 1000])
    try:
        return [
            [route["distance"], route["duration"], str(route["geometry"])]
            for route in peer.Route(ask)["routes"]
        ]
    except RuntimeError:
        return None


def ask_table(peer: Any, origins: Floats, destinations: Floats) -> Any:
    places = np.concatenate([origins, destinations])
    ask = osrm.TableParameters(
        coordinates=places.tolist(), annotations=["duration", "distance"], generate_hints=False,
        sources=list(range(len(origins))),
        destinations=list(range(len(origins), len(places))),
    )  # fmt: skip
    answer = peer.Table(ask)
    return [[list(row) for row in answer[kind]] for kind in ("durations", "distances")]


def ask_nearest(peer: Any, place: Floats) -> Any:
    ask = osrm.NearestParameters(coordinates=[place.tolist()])
    return list(peer.Nearest(ask)["waypoints"])


def ask_match(peer: Any, trace: Floats) -> Any:
    ask = osrm.MatchParameters(
        coordinates=trace.tolist(), radiuses=[25.0] * len(trace), overview="full"
    )
    try:
        return peer.Match(ask)
    except RuntimeError:
        return None


def write_route(engine: Engine, pair: Floats, mode: Any) -> bytes:
    """Return a route as JSON: what it is, and its whole line as a polyline."""
    route = find_routes(engine, pair, mode)[0]
    line = encode_polyline(route.positions, 5)
    return orjson.dumps([route.distance_m, route.duration_s, line])


def write_matrix(engine: Engine, origins: Floats, destinations: Floats, mode: Any) -> bytes:
    found = compute_matrix(engine, origins, destinations, mode, max_pairs=1_000_000)
    return orjson.dumps([found.durations_s, found.distances_m], option=orjson.OPT_SERIALIZE_NUMPY)


def bench_peers(
    engine: Engine, peers: dict[str, Any], mode: Any, pairs: list[Floats], nodes: Floats
) -> None:
    rng = np.random.default_rng(SEED)
    able = [pair for pair in pairs if has_route(engine, pair, mode)]
    calls: dict[str, list[Call]] = {
        "mapyard": [partial(write_route, engine, pair, mode) for pair in able],
        **{f"OSRM {kind}": [partial(ask_route, peer, pair) for pair in able]
           for kind, peer in peers.items()},
    }  # fmt: skip
    show(f"route {mode} against OSRM", compare(calls))
    places = pick_places(engine, nodes, mode, 1_000, rng)
    for rows, columns, turns in ((10, 10, 20), (50, 50, 8), (100, 100, 5), (1, 1_000, 8)):
        ends = places[:rows], places[-columns:]
        calls = {
            "mapyard": [partial(write_matrix, engine, *ends, mode)] * turns,
            **{f"OSRM {kind}": [partial(ask_table, peer, *ends)] * turns
               for kind, peer in peers.items()},
        }  # fmt: skip
        show(f"matrix {rows} x {columns} {mode} against OSRM", compare(calls))
    calls = {"mapyard": [partial(write_matrix, engine, places, places, mode)] * 2}
    print(f"matrix 1000 x 1000 {mode}: {compare(calls)['mapyard']:.0f} ms")
    table = engine.tables.find(mode)
    if table is not None:
        hundred = places[:100]
        calls = {
            "mapyard": [partial(find_ends, engine, hundred, mode, 1_000.0)] * 20,
            **{f"OSRM {kind}": [lambda peer=peer: [ask_nearest(peer, one) for one in hundred]] * 20
               for kind, peer in peers.items()},
        }  # fmt: skip
        show(f"100 places onto roads, with names, {mode} against OSRM", compare(calls))
        calls = {
            "mapyard": [partial(find_nearest, engine, *one, mode) for one in hundred.tolist()],
            **{f"OSRM {kind}": [partial(ask_nearest, peer, one) for one in hundred]
               for kind, peer in peers.items()},
        }  # fmt: skip
        show(f"nearest road {mode} against OSRM", compare(calls))
    traces = make_traces(engine, pairs, mode, rng)
    calls = {
        "mapyard": [partial(match_trace, engine, trace, mode) for trace in traces],
        "OSRM MLD": [partial(ask_match, peers["MLD"], trace) for trace in traces],
    }
    points = sum(len(trace) for trace in traces) // len(traces)
    show(f"matching of {points} points, {mode}, against OSRM", compare(calls))


def make_traces(
    engine: Engine, pairs: list[Floats], mode: Any, rng: np.random.Generator
) -> list[Floats]:
    traces = []
    for pair in pairs:
        with contextlib.suppress(MapyardError):
            route = find_routes(engine, pair, mode)[0]
            if route.duration_s > 100:
                path = find_edges(engine, route.positions, mode)
                points = sample_path(path, path.elapsed_s[-1] / 100, gap=False)
                traces.append(add_noise(points, rng))
        if len(traces) == 20:
            break
    return traces


def bench_isochrones(engine: Engine, data: Path, pairs: list[Floats], folder: Path) -> None:
    """Compare areas with those of the engine alone; OSRM has none."""
    folder.mkdir()
    for part in ("tiles.tar", "hours.npz", "routing.json"):
        (folder / part).symlink_to(data / part)
    plain = open_routing(folder)
    for mode in COSTINGS:
        places = [pair[0].tolist() for pair in pairs[:20] if has_route(engine, pair, mode)]
        for time_s in (300.0, 900.0, 1800.0):
            calls = {
                name: [partial(find_isochrones, one, *place, [time_s], mode) for place in places]
                for name, one in (("mapyard", engine), ("the engine", plain))
            }
            show(f"isochrone {mode} {time_s:g} s", compare(calls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extract", type=Path)
    parser.add_argument("--elevation", type=Path)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--only-osrm", action="store_true", help="nothing but the comparison")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{options.extract.name}, {options.repetitions} repetitions, seed {SEED}\n")
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        build_dataset([options.extract], data, select_steps(["routing"]), Reporter(quiet=True))
        engine = open_routing(data / "current" / "routing")
        nodes, _ = read_road_nodes(options.extract)
        rng = np.random.default_rng(SEED)
        places = pick_places(engine, nodes, "auto", 4 * options.repetitions, rng)
        pairs = routable_pairs(engine, places, options.repetitions)
        if not options.only_osrm:
            bench_calls(engine, pairs)
            bench_server(data, engine, pairs)
            bench_isochrones(engine, data / "current" / "routing", pairs, data / "plain")
        if options.elevation:
            bench_elevation(options.elevation, places)
        bench_osrm(engine, options.extract, pairs, nodes)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak_mb:.0f} MB")


if __name__ == "__main__":
    main()
