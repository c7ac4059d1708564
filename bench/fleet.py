"""What a fleet adds to a request: CPU where its region is on this node, time where it is not.

Run: `python -m bench.fleet --data DATA [--rounds 7]`. One dataset stands for a region that covers
the Earth; the same requests go to the ordinary application, to one that finds the region on its
own disk, and to one that asks an actor of Ray on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from typing import Any

from mapyard.dataset.catalog import Catalog
from mapyard.fleet.front import Front, Table
from mapyard.fleet.generation import Generation, Region
from mapyard.fleet.host import Host
from mapyard.fleet.node import RayReplica
from mapyard.fleet.ray import load_ray
from mapyard.fleet.wire import decode_question, encode
from mapyard.http.app import Application
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshot, Snapshots
from mapyard.server.assembly import load_endpoints
from mapyard.settings import get_settings

REQUESTS = 200
WORLD = {"type": "Polygon", "coordinates": [[[-180, -90], [180, -90], [180, 90], [-180, 90],
                                             [-180, -90]]]}  # fmt: skip


class BenchActor:
    """A region of a data folder."""

    def __init__(self, data: Path) -> None:
        settings = get_settings().replace(data=data)
        self.host = Host(
            Snapshot(Catalog(data).get_current(), settings), settings, load_endpoints()
        )

    async def ask(self, question: bytes) -> bytes:
        return encode(await self.host.ask(decode_question(question)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    asyncio.run(measure(chosen.data.resolve(), chosen.rounds))


def make_paths(snapshot: Snapshot) -> dict[str, tuple[str, bytes]]:
    west, south, east, north = snapshot.manifest.bbox or (0.0, 0.0, 0.0, 0.0)
    lat, lon = (south + north) / 2, (west + east) / 2
    box = f"{lat:.5f},{lon:.5f},{lat + 0.002:.5f},{lon + 0.002:.5f}"
    return {
        "features in a box": ("/api/v1/features", f"bbox={box}".encode()),
        "nearby": ("/api/v1/features/nearby", f"near={lat:.5f},{lon:.5f}&radius=200".encode()),
        "reverse": ("/api/v1/geocode/reverse", f"near={lat:.5f},{lon:.5f}".encode()),
        "by id": ("/api/v1/features/lookup", b"type=way&id=1"),
    }


async def measure(data: Path, rounds: int) -> None:
    settings = get_settings().replace(data=data)
    endpoints = load_endpoints()
    snapshot = Snapshot(Catalog(data).get_current(), settings)
    region = Region("all", WORLD, (-180.0, -90.0, 180.0, 90.0), snapshot.id, 0)
    generation = Generation(1, "bench", "", "", 0.0, [region])

    def make(replicas: dict[str, Any], local: dict[str, Snapshot]) -> Application:
        front = Front(settings, endpoints)
        front.table, front.is_current = Table(generation, replicas, local), True
        made = Application(Services(settings, front, endpoints), endpoints)
        made.elsewhere = front
        return made

    ray = load_ray()
    handle = ray.remote(BenchActor).options(max_concurrency=64).remote(data)
    replica = RayReplica("all/0", handle, (ray.exceptions.RayActorError,), ready=True)
    applications = {
        "one machine": Application(Services(settings, Snapshots(settings), endpoints), endpoints),
        "own region": make({}, {"all": snapshot}),
        "another node": make({"all": [replica]}, {}),
    }
    for name, (path, query) in make_paths(snapshot).items():
        cpu = {which: float("inf") for which in applications}
        median = dict(cpu)
        for _ in range(rounds):
            for which, application in applications.items():
                spent, middle = await run(application, path, query)
                cpu[which] = min(cpu[which], spent)
                median[which] = min(median[which], middle)
        alone = cpu["one machine"]
        print(
            f"{name:18} CPU {alone * 1e6:6.0f} µs, own region × {cpu['own region'] / alone:.3f}; "
            f"median {median['one machine'] * 1e3:.2f} ms, another node "
            f"+ {(median['another node'] - median['one machine']) * 1e3:.2f} ms",
            flush=True,
        )


async def run(application: Application, path: str, query: bytes) -> tuple[float, float]:
    """Return CPU seconds of a request, and the median of its time."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [],
        "scheme": "http",
        "client": ("127.0.0.1", 0),
    }

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: Any) -> None:
        pass

    times = []
    begun_s = time.process_time()
    for _ in range(REQUESTS):
        started_s = time.perf_counter()
        await application(dict(scope), receive, send)
        times.append(time.perf_counter() - started_s)
    return (time.process_time() - begun_s) / REQUESTS, sorted(times)[REQUESTS // 2]


if __name__ == "__main__":
    main()
