"""Does the memory of a worker grow with the number of requests?

    python -m bench.routing_memory EXTRACT.osm.pbf [--requests 10000] [--most-mb 16]

Builds the routing part into a temporary folder and sends mixed requests (half of them routes, then
nearest roads, isochrones, matrices, traces) in this process, one after the other, over 100 pairs of
positions. Prints the memory that is not of files (RssAnon) on the way, and what the C library holds
of it. The exit code is 1 when it grows by more than `--most-mb` after the first tenth.
"""

from __future__ import annotations

import argparse
import ctypes
import platform
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.routing_checks import SEED, pick_places, read_road_nodes
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.errors import MapyardError
from mapyard.routing import find_routes, open_routing
from mapyard.server.local import LocalClient
from mapyard.settings import Settings

type Floats = NDArray[np.float64]

PAIRS = 100


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


def read_anon_mb() -> float:
    """Return the resident memory of this process that no file backs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1000
    raise SystemExit("needs Linux: /proc/self/status has no RssAnon")


def describe_heap() -> str:
    """Return what the C library has in use and free, where it is glibc."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return ""
    ask.restype = _MallInfo
    info = ask()
    used_mb, free_mb = (info.uordblks + info.hblkhd) / 1e6, info.fordblks / 1e6
    return f" (heap: {used_mb:.0f} MB used, {free_mb:.0f} MB free)"


def pick_pairs(data: Path, extract: Path) -> list[Floats]:
    """Return pairs of positions with a route by car."""
    engine = open_routing(data / "current" / "routing")
    nodes, _ = read_road_nodes(extract)
    places = pick_places(engine, nodes, "auto", 4 * PAIRS, np.random.default_rng(SEED))
    pairs = []
    for pair in zip(places[::2], places[1::2], strict=False):
        try:
            find_routes(engine, np.array(pair), "auto")
        except MapyardError:
            continue
        pairs.append(np.array(pair))
    engine.close()
    return pairs[:PAIRS]


def send(client: LocalClient, number: int, pair: list[list[float]]) -> None:
    """Send the next request of the mix."""
    match number % 10:
        case 0 | 1 | 2 | 3 | 4:
            client.post("/api/v1/route", json={"origin": pair[0], "destination": pair[1]})
        case 5 | 6:
            client.post("/api/v1/nearest", json={"geometry": pair[0]})
        case 7:
            client.post("/api/v1/isochrone", json={"geometry": pair[0], "time": 300})
        case 8:
            client.post("/api/v1/matrix", json={"origins": pair, "destinations": pair})
        case _:
            client.post("/api/v1/map-match", json={"trace": pair})


def measure_growth_mb(data: Path, pairs: list[Floats], requests: int) -> float:
    """Send the requests, print the memory on the way, return its growth after the first tenth."""
    warm_mb = 0.0
    with LocalClient(Settings(data=data)) as client:
        for number in range(requests + 1):
            send(client, number, pairs[number % len(pairs)].tolist())
            if number and number % max(1, requests // 10) == 0:
                size_mb = read_anon_mb()
                warm_mb = warm_mb or size_mb
                print(f"{number:7,} requests: {size_mb:.0f} MB{describe_heap()}", flush=True)
    return size_mb - warm_mb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extract", type=Path)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--most-mb", type=float, default=16.0)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, {options.extract.name}")
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        build_dataset([options.extract], data, select_steps(["routing"]), Reporter(quiet=True))
        pairs = pick_pairs(data, options.extract)
        growth_mb = measure_growth_mb(data, pairs, options.requests)
    print(f"growth after the first tenth: {growth_mb:.1f} MB, at most {options.most_mb:g} MB")
    sys.exit(growth_mb > options.most_mb)


if __name__ == "__main__":
    main()
