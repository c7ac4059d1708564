"""Ways over HTTP: this server against OSRM's binding behind a bare Starlette, and against itself.

    uv sync --group bench
    python -m bench.routing_http EXTRACT.osm.pbf [--pairs 60] [--data DATA] [--nodes NODES.npy]

All in one run, one worker process per server; routes in all modes. CPU is that of a server's
processes, by the scheduler; requests that are compared take turns. The bare Starlette (uvicorn,
MLD) answers as the HTTP server of OSRM: the whole line as a polyline, no steps; it does not
compress, so nobody is asked to. "The engine alone" is this server on the same roads without the C
of routing. `--data` is a built dataset to use instead.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import psutil
from numpy.typing import NDArray

from bench.routing import build_osrm, read_cpu_ms, routable_pairs
from bench.routing_checks import SEED, pick_places, read_road_nodes
from mapyard import native
from mapyard.accounts import registry
from mapyard.accounts.open import open_accounts
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.routing import compute_matrix, find_routes, open_routing
from mapyard.routing.tours.order import optimize_order

type Floats = NDArray[np.float64]

IN_FLIGHT = 50
#: Requests under load, more than a server keeps the parameters of.
DIFFERENT = 6_000
MATRIX = 1_000
SETTINGS = {
    "MAPYARD_ACCESS_LOG": "", "MAPYARD_UPDATES": "off", "MAPYARD_CONNECTIONS_PER_ADDRESS": "1000",
}  # fmt: skip
STOPS = 50
PROFILES = {"auto": "car", "foot": "foot", "bicycle": "bicycle"}
JSON = {"Content-Type": "application/json"}
NUMBERS = count()


def leave_to_engine(folder: Path) -> Path:
    """Make a folder of the libraries in C without that of routing."""
    folder.mkdir()
    kernels = Path(native.__file__).parent / "store" / "kernels" / native.LIBRARY_NAME
    shutil.copy(kernels, folder / "store.so")
    return folder


def find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Peer:
    """A server of some kind, and how it is asked."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, key: str = "") -> None:
        self.process, self.port, self.key = process, port, key
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=300,
            headers={"X-API-Key": key, "Accept-Encoding": "identity"},
        )  # fmt: skip

    @property
    def pids(self) -> list[int]:
        own = psutil.Process(self.process.pid)
        return [own.pid, *(child.pid for child in own.children(recursive=True))]

    def read_cpu_ms(self) -> float:
        return sum(read_cpu_ms(pid) for pid in self.pids)

    def read_memory_mb(self) -> float:
        """Return the most memory that any of its processes has of its own."""
        found = []
        for pid in self.pids:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    found.append(int(line.split()[1]) / 1000)
        return max(found)

    def wait(self, path: str) -> None:
        for _ in range(600):
            try:
                if self.client.get(path).status_code < 500:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"the server of {path} did not start")


@contextmanager
def serve_mapyard(data: Path, **settings: str) -> Iterator[Peer]:
    database = open_accounts(data)
    owner = registry.create_account(database, f"b{time.time_ns()}@example.org", "enterprise")
    _, key = registry.create_key(database, owner.id)
    registry.change_account(database, owner.id, action="bench", per_minute_override=9_000_000)
    database.close()
    command = Path(sys.executable).with_name("mapyard")
    port = find_port()
    process = subprocess.Popen(
        [command, "serve", "--port", str(port), "--workers", "1", "--data", str(data)],
        env=os.environ | SETTINGS | settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        peer = Peer(process, port, key)
        peer.wait("/readyz")
        yield peer
    finally:
        process.terminate()
        process.wait()


@contextmanager
def serve_osrm(base: Path) -> Iterator[Peer]:
    port = find_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.osrm_server", str(base), str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        peer = Peer(process, port)
        peer.wait("/route/0,0;0,0")
        yield peer
    finally:
        process.terminate()
        process.wait()


def write_ours(mode: str, pair: Floats) -> tuple[str, bytes]:
    """Write a request that comes whole, as OSRM's does, and that was not asked before."""
    (lon, lat), (to_lon, to_lat) = pair.tolist()
    fresh = f"{next(NUMBERS) % 1_000:03d}"  # less than a centimeter
    origin, destination = f"{lat:.6f}{fresh},{lon:.6f}{fresh}", f"{to_lat:.6f},{to_lon:.6f}"
    query = f"origin={origin}&destination={destination}&geometries=polyline&mode={mode}"
    return f"/api/v1/route?{query}", b""


def write_osrm(pair: Floats) -> tuple[str, bytes]:
    return "/route/" + ";".join(f"{lon},{lat}" for lon, lat in pair.tolist()), b""


def ask(peer: Peer, path: str, body: bytes) -> None:
    answer = peer.client.post(path, content=body, headers=JSON) if body else peer.client.get(path)
    answer.raise_for_status()


def compare_routes(
    peers: dict[str, tuple[Peer, Any]], pairs: list[Floats], rounds: int = 4
) -> None:
    best: dict[str, float] = {}
    for _ in range(rounds):
        spent = dict.fromkeys(peers, 0.0)
        for pair in pairs:
            for name, (peer, write) in peers.items():
                before = peer.read_cpu_ms()
                ask(peer, *write(pair))
                spent[name] += peer.read_cpu_ms() - before
        for name, taken in spent.items():
            best[name] = min(best.get(name, 1e9), taken / len(pairs))
    ours, *_ = best.values()
    for name, taken in best.items():
        print(f"route over HTTP, {name}: {taken:.2f} ms CPU; ours is {ours / taken:.2f} ×")


async def flood(peer: Peer, requests: list[tuple[str, bytes]], seconds: float) -> int:
    """Return how many requests were answered in so many seconds, with IN_FLIGHT open at a time."""
    until, answered = time.monotonic() + seconds, 0
    texts = [
        b"%s %s HTTP/1.1\r\nHost: a\r\nX-API-Key: %s\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s"
        % (b"POST" if body else b"GET", path.encode(), peer.key.encode(), len(body), body)
        for path, body in requests
    ]

    async def work(number: int) -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection("127.0.0.1", peer.port)
        while time.monotonic() < until:
            writer.write(texts[number % len(texts)])
            number += 7
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if not head.startswith(b"http/1.1 200"):
                raise SystemExit(f"an answer under load: {head[:200]!r}")
            size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(size)
            answered += 1
        writer.close()

    await asyncio.gather(*(work(number) for number in range(IN_FLIGHT)))
    return answered


def compare_floods(
    peers: dict[str, tuple[Peer, Any]], pairs: list[Floats], seconds: float = 5.0
) -> None:
    rates: dict[str, float] = {}
    for _ in range(2):
        for name, (peer, write) in peers.items():
            before = peer.read_cpu_ms()
            requests = [write(pair) for _ in range(DIFFERENT // len(pairs)) for pair in pairs]
            answered = asyncio.run(flood(peer, requests, seconds))
            cpu = (peer.read_cpu_ms() - before) / answered
            rates[name] = max(rates.get(name, 0.0), answered / seconds)
            print(f"{IN_FLIGHT} in flight, {name}: {answered / seconds:.0f}/s, {cpu:.2f} ms CPU")
    ours, *_ = rates.values()
    for name, rate in list(rates.items())[1:]:
        print(f"{IN_FLIGHT} in flight: ours is {ours / rate:.1f} × {name}")


def bench_routes(ours: Peer, osrm: Peer, alone: Peer, mode: str, pairs: list[Floats]) -> None:
    write = partial(write_ours, mode)
    able = [
        pair
        for pair in pairs
        if osrm.client.get(write_osrm(pair)[0]).is_success and has_route(ours, *write(pair))
    ]
    print(f"{mode}: {len(able)} pairs that both have a route for")
    peers = {
        "prepared": (ours, write),
        "OSRM behind Starlette": (osrm, write_osrm),
        "the engine alone": (alone, write),
    }
    compare_routes(peers, able)
    compare_floods(peers, able)


def has_route(peer: Peer, path: str, body: bytes) -> bool:
    return peer.client.get(path).is_success


def bench_matrix(peer: Peer, places: Floats) -> None:
    body = orjson.dumps({"origins": places.tolist(), "destinations": places.tolist()})
    before_mb = peer.read_memory_mb()
    for _ in range(2):
        started, cpu = time.monotonic(), peer.read_cpu_ms()
        most_mb, size, first_s = before_mb, 0, None
        with peer.client.stream("POST", "/api/v1/matrix", content=body, headers=JSON) as answer:
            answer.raise_for_status()
            for chunk in answer.iter_raw():
                first_s = first_s or time.monotonic() - started
                size += len(chunk)
                most_mb = max(most_mb, peer.read_memory_mb())
        print(
            f"matrix {len(places)} x {len(places)} over HTTP: {size / 1e6:.1f} MB, "
            f"{peer.read_cpu_ms() - cpu:.0f} ms CPU, first byte after {first_s:.2f} s, memory of "
            f"its own {before_mb:.0f} MB before, {most_mb:.0f} MB while it is sent"
        )


def bench_tour(engine: Any, stops: Floats) -> None:
    import vroom

    costs = compute_matrix(engine, stops, stops).durations_s.astype(np.uint32)

    def solve_given() -> None:
        problem = vroom.Input()
        problem.set_durations_matrix(profile="car", matrix_input=costs)
        problem.add_vehicle([vroom.Vehicle(1, start=0, end=0, profile="car")])
        problem.add_job([vroom.Job(index + 1, location=index) for index in range(1, len(stops))])
        problem.solve(exploration_level=3, nb_threads=1)

    optimize_order(engine, stops)
    ours, given = [], []
    for _ in range(7):
        ours.append(cpu_ms_all(lambda: optimize_order(engine, stops)))
        given.append(cpu_ms_all(solve_given))
    one, other = float(np.median(ours)), float(np.median(given))
    print(f"tour of {len(stops)}: {one:.0f} ms, VROOM with a given matrix {other:.0f} ms, "
          f"ratio {one / other:.2f}")  # fmt: skip


def cpu_ms_all(call: Any) -> float:
    """Return the CPU time of a call in all threads of this process."""
    started = time.process_time()
    call()
    return (time.process_time() - started) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extract", type=Path)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--data", type=Path, help="a built dataset")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{options.extract.name}, {options.pairs} pairs, seed {SEED}")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        data = Path(name) / "data"
        if options.data:
            shutil.copytree(options.data, data, symlinks=True)
        else:
            build_dataset([options.extract], data, select_steps(["routing"]), Reporter(quiet=True))
        plain = Path(name) / "plain"
        shutil.copytree(data, plain, symlinks=True)
        kernels = leave_to_engine(Path(name) / "kernels")
        engine = open_routing(data / "current" / "routing")
        nodes, _ = read_road_nodes(options.extract)
        rng = np.random.default_rng(SEED)
        places = pick_places(engine, nodes, "auto", max(4 * options.pairs, MATRIX), rng)
        pairs = routable_pairs(engine, places, options.pairs)
        lines = [len(find_routes(engine, pair)[0].positions) for pair in pairs]
        print(f"routes of {np.median(lines):.0f} points")
        print(
            "the engine looks at", "all roads" if engine.tables.all_roads else "large roads far off"
        )
        pairs_setting = str(MATRIX * MATRIX)
        ours = stack.enter_context(serve_mapyard(data, MAPYARD_MATRIX_PAIRS=pairs_setting))
        alone = stack.enter_context(serve_mapyard(plain, MAPYARD_KERNELS=str(kernels)))
        for mode, profile in PROFILES.items():
            build_osrm(options.extract, Path(name), profile)
            with serve_osrm(Path(name) / f"{profile}.osrm") as osrm:
                bench_routes(ours, osrm, alone, mode, pairs)
        bench_matrix(ours, places[:MATRIX])
        bench_tour(engine, places[:STOPS])


if __name__ == "__main__":
    main()
