"""HTTP by id against a bare Starlette JSON endpoint, and CPU per request with more workers.

Run: `python -m bench.http`. Both servers run on uvicorn with uvloop and httptools; the same load
generator asks both in turns, in the same minute. CPU is that of the answering processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import uvloop

ROOT = Path(__file__).parent.parent
#: Connections for each worker: all of them have always something to do.
CONNECTIONS = 16
SECONDS = 3.0
ROUNDS = 5
#: Above what the generator reaches, so that the limiter works but refuses nothing.
PER_MINUTE = 2_000_000

BARE = """
import sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

FEATURE = {feature!r}

async def endpoint(request):
    return JSONResponse(FEATURE)

app = Starlette(routes=[Route("/api/v1/features/{{type}}/{{id:int}}", endpoint)])
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", access_log=False,
            loop="uvloop", http="httptools")
"""


class Load(NamedTuple):
    """What one round gave."""

    rps: float
    cpu_us: float


class Client(asyncio.Protocol):
    """Asks again as soon as the answer is there."""

    def __init__(self, requests: list[bytes], count: list[int]) -> None:
        self.requests = requests
        self.count = count
        self.sent = 0
        self.waiting = b""
        self.need = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.transport.write(self.requests[self.sent % len(self.requests)])
        self.sent += 1

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        while True:
            end = self.waiting.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.waiting[:end]
            if not head.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"unexpected answer: {self.waiting[:400]!r}")
            length = int(re.search(rb"content-length: (\d+)", head)[1])
            if len(self.waiting) < end + 4 + length:
                return
            self.waiting = self.waiting[end + 4 + length :]
            self.count[0] += 1
            self.ask()


async def load(port: int, requests: list[bytes], seconds: float, connections: int) -> float:
    """Return answers a second."""
    loop = asyncio.get_running_loop()
    count = [0]
    opened = [
        await loop.create_connection(lambda: Client(requests, count), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.sleep(0.3)
    before, started = count[0], time.perf_counter()
    await asyncio.sleep(seconds)
    rate = (count[0] - before) / (time.perf_counter() - started)
    for transport, _ in opened:
        transport.abort()
    return rate


def cpu_s(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def measure(port: int, requests: list[bytes], processes: list[psutil.Process]) -> Load:
    before, started = cpu_s(processes), time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rps = runner.run(load(port, requests, SECONDS, CONNECTIONS * len(processes)))
    took = time.perf_counter() - started
    return Load(rps, (cpu_s(processes) - before) / (rps * took) * 1e6)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.1)
    raise SystemExit("a server did not start")


def wait_until_ready(port: int) -> None:
    """Return when the workers have been idle for a while: all of them are up."""
    while True:
        with contextlib.suppress(OSError):
            if urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).status == 200:
                break
        time.sleep(0.2)
    time.sleep(5)


@contextlib.contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[psutil.Process]:
    child = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield psutil.Process(child.pid)
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(30)


def prepare(data: Path) -> tuple[str, list[str], dict[str, object]]:
    """Build Monaco's store; return a key, paths of elements, and one answer."""
    from mapyard.accounts import registry
    from mapyard.accounts.open import ensure_owner, open_accounts
    from mapyard.build.pipeline import build_dataset
    from mapyard.build.progress import Reporter
    from mapyard.build.steps import select_steps
    from mapyard.http.local import LocalClient
    from mapyard.settings import Settings

    build_dataset(
        [ROOT / "examples" / "monaco.osm.pbf"], data, select_steps(["store"]), Reporter(quiet=True)
    )
    database = open_accounts(data)
    key = ensure_owner(database)
    assert key is not None
    account = registry.list_accounts(database)[0]
    registry.change_account(database, account.id, action="bench", per_minute_override=PER_MINUTE)
    with LocalClient(Settings(data=data)) as client:
        found = client.get("/api/v1/features?limit=200&tags=amenity").json()["features"]
        paths = [f"/api/v1/features/{feature['id']}" for feature in found]
        feature = client.get(paths[0]).json()
    return key, paths, feature


def show(name: str, rounds: list[Load]) -> Load:
    best = Load(
        statistics.median(item.rps for item in rounds),
        statistics.median(item.cpu_us for item in rounds),
    )
    print(f"{name:<34}{best.rps:>10,.0f} requests/s{best.cpu_us:>10.1f} µs CPU per request")
    return best


def main() -> None:
    print(
        f"machine: {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    )
    print("data: Monaco, elements with an amenity by id; command: python -m bench.http")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        key, paths, feature = prepare(data)
        asks = [
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
            "Accept: application/json\r\nUser-Agent: bench\r\n\r\n".encode()
            for path in paths
        ]
        environment = {"MAPYARD_DATA": str(data), "MAPYARD_ACCESS_LOG": str(data / "access.log")}
        ports = [free_port() for _ in range(3)]
        script = BARE.format(feature=feature)

        def serve(port: int, workers: int) -> contextlib.AbstractContextManager[psutil.Process]:
            command = [sys.executable, "-m", "mapyard", "serve"]
            return running(
                [*command, "--port", str(port), "--workers", str(workers)], port, **environment
            )

        bare: list[Load] = []
        one: list[Load] = []
        four: list[Load] = []
        with (
            running([sys.executable, "-c", script, str(ports[0])], ports[0]) as starlette,
            serve(ports[1], 1) as single,
            serve(ports[2], 4) as quad,
        ):
            for port in ports[1:]:
                wait_until_ready(port)
            workers = {
                process.pid: [child for child in process.children() if "web" in child.cmdline()]
                for process in (single, quad)
            }
            for _ in range(ROUNDS):
                bare.append(measure(ports[0], asks, [starlette]))
                one.append(measure(ports[1], asks, workers[single.pid]))
                four.append(measure(ports[2], asks, workers[quad.pid]))
        by_bare = show("bare Starlette JSON", bare)
        by_one = show("Mapyard by id, 1 worker", one)
        by_four = show("Mapyard by id, 4 workers", four)
        print(f"requests/s, Mapyard / bare: {by_one.rps / by_bare.rps:.2f} (wanted ≥ 0.33)")
        print(f"CPU per request, Mapyard / bare: {by_one.cpu_us / by_bare.cpu_us:.2f} (wanted ≤ 3)")
        print(
            f"CPU per request, 4 / 1 workers: {by_four.cpu_us / by_one.cpu_us:.2f} (wanted ≤ 1.10)"
        )


if __name__ == "__main__":
    main()
