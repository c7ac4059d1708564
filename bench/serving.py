"""HTTP by id against a bare Starlette JSON endpoint, and CPU per request with more workers.

Run: `python -m bench.serving`. Both servers run on uvicorn with uvloop and httptools; the same load
generator asks both in turns, in the same minute. CPU is that of the answering processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import shutil
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


def measure(targets: list[tuple[int, list[psutil.Process]]], requests: list[bytes]) -> Load:
    """Ask all servers at once; CPU of all their processes per answer."""
    processes = [process for _, group in targets for process in group]

    async def ask_all() -> list[float]:
        return await asyncio.gather(
            *(load(port, requests, SECONDS, CONNECTIONS * len(group)) for port, group in targets)
        )

    before, started = cpu_s(processes), time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rps = sum(runner.run(ask_all()))
    took = time.perf_counter() - started
    return Load(rps, (cpu_s(processes) - before) / (rps * took) * 1e6)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(900):
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
    from mapyard.builder.pipeline import build_dataset
    from mapyard.builder.progress import Reporter
    from mapyard.builder.steps import select_steps
    from mapyard.server.local import LocalClient
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
    print("data: Monaco, elements with an amenity by id; command: python -m bench.serving")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        data = root / "data"
        key, paths, feature = prepare(data)
        asks = [
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
            "Accept: application/json\r\nUser-Agent: bench\r\n\r\n".encode()
            for path in paths
        ]
        script = BARE.format(feature=feature)
        folders = [data] + [shutil.copytree(data, root / f"{i}", symlinks=True) for i in range(4)]

        with contextlib.ExitStack() as stack:

            def serve(folder: Path, workers: int) -> tuple[int, list[psutil.Process]]:
                port = free_port()
                command = [sys.executable, "-m", "mapyard", "serve", "--port", str(port)]
                server = stack.enter_context(
                    running(
                        [*command, "--workers", str(workers)],
                        port,
                        MAPYARD_DATA=str(folder),
                        MAPYARD_ACCESS_LOG=str(folder / "access.log"),
                    )
                )
                wait_until_ready(port)
                return port, [child for child in server.children() if child.name() == "mapyard-web"]

            port = free_port()
            command = [sys.executable, "-c", script, str(port)]
            starlette = (port, [stack.enter_context(running(command, port))])
            family = serve(folders[0], 4)
            singles = [serve(folder, 1) for folder in folders[1:]]
            runs: dict[str, list[Load]] = {}
            for _ in range(ROUNDS):
                for name, targets in (
                    ("bare Starlette JSON", [starlette]),
                    ("Mapyard, 1 worker", singles[:1]),
                    ("Mapyard, 4 workers", [family]),
                    ("Mapyard, 4 servers of 1 worker", singles),
                ):
                    runs.setdefault(name, []).append(measure(targets, asks))
        bare, one, four, apart = (show(name, rounds) for name, rounds in runs.items())
        for what, ratio, wanted in (
            ("requests/s, Mapyard / bare", one.rps / bare.rps, "wanted: ≥ 0.33"),
            ("CPU per request, Mapyard / bare", one.cpu_us / bare.cpu_us, "wanted: ≤ 3"),
            ("CPU per request, 4 workers / 1", four.cpu_us / one.cpu_us, "wanted: ≤ 1.10"),
            (
                "CPU per request, 4 workers / 4 servers that share nothing",
                four.cpu_us / apart.cpu_us,
                "what sharing costs; the rest of the line above is the machine's",
            ),
        ):
            print(f"{what}: {ratio:.2f} ({wanted})")


if __name__ == "__main__":
    main()
