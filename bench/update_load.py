"""Latency of mixed requests while updates run, against that of quiet minutes.

    python -m bench.update_load EXTRACT DIFFS [--seconds 20]

EXTRACT is built with all parts and served by two workers; DIFFS is a replication folder (state.txt
and 000/…), applied in steps as the server's own schedule starts them. First the capacity is
found, with 50 requests always in flight; then requests come at a fixed 30 % of it, over 50
connections, without updates and during three. A latency counts from when the request was due. Three
more updates, with the priority of any process, run with 50 requests always in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast
from urllib.parse import quote

import numpy as np
import uvloop

from mapyard.accounts import registry
from mapyard.accounts.open import ensure_owner, open_accounts
from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.dataset.catalog import Catalog
from mapyard.geocoding.geocoder import open_geocoder
from mapyard.settings import Settings
from mapyard.store.reader import open_store
from mapyard.updates.history import read_runs
from mapyard.updates.schedule import start_update
from mapyard.updates.source import sequence_path

IN_FLIGHT = 50
SHARE = 0.3
WORKERS = 2
UPDATES = 3
_FLOOD_S = 8.0


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is of no such class
        self._waiting = b""
        self._done: asyncio.Future[int] | None = None

    def ask(self, request: bytes) -> asyncio.Future[int]:
        """Send a request; the future gives the status, 0 when the connection is lost."""
        self._done = asyncio.get_running_loop().create_future()
        if self.transport.is_closing():
            self._done.set_result(0)
        else:
            self.transport.write(request)
        return self._done

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        head, found, body = self._waiting.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        whole = len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")
        if found and whole and self._done is not None:
            self._waiting = b""
            self._done.set_result(int(head[9:12]))

    def connection_lost(self, error: Exception | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(0)


class Load:
    """Asks a server; statuses and latencies of what was answered."""

    def __init__(self, port: int, requests: list[bytes]) -> None:
        self._port = port
        self._requests = requests
        self.statuses: Counter[int] = Counter()
        #: Seconds since the beginning when each request was due, and how long it took.
        self.due_s: list[float] = []
        self.took_s: list[float] = []

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, "127.0.0.1", self._port)
        return connection

    async def flood(self, is_over: threading.Event) -> None:
        """Keep all connections busy until told to stop."""

        async def ask(number: int) -> None:
            connection = await self._connect()
            while not is_over.is_set():
                number += 1
                self.statuses[
                    await connection.ask(self._requests[number % len(self._requests)])
                ] += 1
            connection.transport.close()

        await asyncio.gather(*(ask(7 * i) for i in range(IN_FLIGHT)))

    async def run(self, per_second: float, is_over: threading.Event) -> None:
        """Ask at a fixed rate until told to stop."""
        free: asyncio.Queue[Connection] = asyncio.Queue()
        for _ in range(IN_FLIGHT):
            free.put_nowait(await self._connect())
        started_s, number = time.monotonic(), 0
        tasks: set[asyncio.Task[None]] = set()

        async def ask(request: bytes, due_s: float) -> None:
            connection = await free.get()
            self.statuses[await connection.ask(request)] += 1
            self.due_s.append(due_s)
            self.took_s.append(time.monotonic() - started_s - due_s)
            if connection.transport.is_closing():  # the server may close one that was idle
                connection = await self._connect()
            free.put_nowait(connection)

        while not is_over.is_set():
            due_s = number / per_second
            await asyncio.sleep(max(0.0, started_s + due_s - time.monotonic()))
            task = asyncio.create_task(ask(self._requests[number % len(self._requests)], due_s))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number += 1
        await asyncio.gather(*tasks)
        while not free.empty():
            free.get_nowait().transport.close()


def list_paths(data: Path) -> list[str]:
    """Return mixed requests: features, searches, geocoding, routes, tiles, Overpass.

    With a space and a body behind the path it is a POST.
    """
    dataset = data / "current"
    store = open_store(dataset / "elements")
    geocoder = open_geocoder(dataset / "text", store)
    g = geocoder.gazetteer
    random = np.random.default_rng(2)
    paths = []
    for document in random.integers(0, len(g.kind), 60).tolist():
        lon, lat = g.position(document)
        name = quote(g.tags(document).get("name") or "Hauptstrasse")
        other = g.position(int(random.integers(0, len(g.kind))))
        box = f"{lon - 0.01:.5f},{lat - 0.01:.5f},{lon + 0.01:.5f},{lat + 0.01:.5f}"
        x = int((lon + 180) / 360 * 2**14)
        y = int((1 - np.arcsinh(np.tan(np.radians(lat))) / np.pi) / 2 * 2**14)
        route = json.dumps({"origin": {"lat": lat, "lng": lon},
                            "destination": {"lat": other[1], "lng": other[0]}})  # fmt: skip
        overpass = quote(f"[out:json];node(around:300,{lat},{lon})[amenity];out;")
        paths += [
            f"/api/v1/features?tags=amenity&bbox={box}&limit=20",
            f"/api/v1/nearby?lat={lat}&lng={lon}&radius=300&limit=10",
            f"/api/v1/search?q={name}&limit=10",
            f"/api/v1/geocode?q={name}&limit=3",
            f"/api/v1/geocode/autocomplete?q={name[:3]}&limit=5",
            f"/api/v1/geocode/reverse?lat={lat}&lng={lon}",
            f"/api/v1/route {route}",
            f"/api/v1/tiles/14/{x}/{y}.mvt",
            f"/api/v1/overpass?data={overpass}",
        ]
    return paths


def keep_working(server: str, key: str, paths: list[str]) -> list[str]:
    """Leave out what the server does not answer with 200."""
    kept = []
    for path in paths:
        status, _ = ask(server + path, key)
        if status == 200:
            kept.append(path)
    kinds = Counter(re.sub(r"(/14/|\?| ).*", "", path) for path in kept)
    print("requests:", ", ".join(f"{kind} {count}" for kind, count in kinds.items()))
    return kept


def ask(url: str, key: str) -> tuple[int, bytes]:
    """Return status and body."""
    url, _, body = url.partition(" ")
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    request = urllib.request.Request(url, body.encode() or None, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def write_request(path: str, key: str) -> bytes:
    """Return the bytes of a request."""
    path, _, body = path.partition(" ")
    return (
        f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def write_states(diffs: Path, folder: Path, first: int) -> list[str]:
    """Copy a replication folder; return the texts that state.txt is to have, one per update."""
    shutil.copytree(diffs, folder)
    last = int(re.search(r"sequenceNumber=(\d+)", (diffs / "state.txt").read_text())[1])  # type: ignore[index]
    steps = np.linspace(first, last, 2 * UPDATES + 1).astype(int)[1:]
    return [(diffs / f"{sequence_path(int(step))}.state.txt").read_text() for step in steps]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def prepare(data: Path, extract: Path) -> str:
    """Build all parts; return a key that no limit holds back."""
    build_dataset([extract], data, select_steps(None), Reporter(quiet=True))
    database = open_accounts(data)
    key = ensure_owner(database)
    assert key is not None
    account = registry.list_accounts(database)[0]
    registry.change_account(database, account.id, action="bench", per_minute_override=2_000_000)
    return key


@contextlib.contextmanager
def running(load: Load, per_second: float) -> Iterator[None]:
    """Run a load in a thread of its own: at a rate, or with 0 as much as there are connections."""
    is_over = threading.Event()

    def run() -> None:
        work = load.run(per_second, is_over) if per_second else load.flood(is_over)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    is_over.set()
    thread.join()


def show(name: str, load: Load, spans: list[tuple[float, float]] | None = None) -> float:
    """Print the latencies, in some spans of time only; return the p95 in seconds."""
    due_s, took_s = np.array(load.due_s), np.array(load.took_s)
    if spans is not None:
        chosen = np.zeros(len(due_s), np.bool_)
        for start, stop in spans:
            chosen |= (due_s >= start) & (due_s <= stop)
        took_s = took_s[chosen]
    p50, p95, p99 = np.percentile(took_s * 1e3, (50, 95, 99))
    print(
        f"{name}: {len(took_s):,} requests, p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms, "
        f"longest {took_s.max() * 1e3:.0f} ms; statuses {dict(load.statuses)}",
        flush=True,
    )
    return float(p95)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extract", type=Path)
    parser.add_argument("diffs", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="of quiet before")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    print("command: python -m bench.update_load", *(Path(a).name for a in sys.argv[1:3]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, source = folder / "data", folder / "source"
        key = prepare(data, arguments.extract)
        first = Catalog(data).manifest("current").replication.sequence
        assert first is not None
        states = write_states(arguments.diffs, source, first)
        handler = functools.partial(QuietHandler, directory=str(source))
        replication = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=replication.serve_forever, daemon=True).start()
        os.environ["MAPYARD_UPDATE_SOURCE"] = f"http://127.0.0.1:{replication.server_port}"
        port = free_port()
        process = subprocess.Popen(
            [sys.executable, "-m", "mapyard", "serve", "--port", str(port),
             "--workers", str(WORKERS)],
            env={**os.environ, "MAPYARD_DATA": str(data), "MAPYARD_UPDATES": "off",
                 "MAPYARD_ACCESS_LOG": str(folder / "access.log")},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            measure(arguments.seconds, data, source, states, port, key)
        finally:
            process.terminate()
            process.wait(30)
            replication.shutdown()


def measure(
    quiet_s: float, data: Path, source: Path, states: list[str], port: int, key: str
) -> None:
    """Find the capacity; then compare latencies without and with updates."""
    server = f"http://127.0.0.1:{port}"
    while True:
        try:
            if ask(f"{server}/readyz", key)[0] == 200:
                break
        except OSError:
            pass
        time.sleep(0.2)
    time.sleep(2)
    paths = keep_working(server, key, list_paths(data))
    requests = [
        write_request(path, key) for path in np.random.default_rng(3).permutation(paths).tolist()
    ]
    loads = [Load(port, requests) for _ in range(5)]
    for load in loads[:2]:  # the first to warm up
        with running(load, 0):
            time.sleep(_FLOOD_S)
    capacity = loads[1].statuses.total() / _FLOOD_S
    rate = SHARE * capacity
    print(f"capacity {capacity:,.0f} requests/s; load {rate:,.0f} requests/s")
    with running(loads[2], rate):
        time.sleep(quiet_s)
    quiet_p95_s = show("quiet", loads[2])
    started_s = time.monotonic()
    spans = []
    with running(loads[3], rate):
        for state in states[:UPDATES]:
            (source / "state.txt").write_text(state)
            began_s = time.monotonic() - started_s
            update(data, server, key, lambda: start_update(Settings(data=data)))
            spans.append((began_s, time.monotonic() - started_s))
    p95_s = show("during updates", loads[3], spans)
    print(f"p95 during updates / quiet: {p95_s / quiet_p95_s:.2f} (wanted: ≤ 2)")
    with running(loads[4], 0):
        for state in states[UPDATES:]:
            (source / "state.txt").write_text(state)
            command = [sys.executable, "-m", "mapyard", "update", "--data", str(data), "--quiet"]
            update(data, server, key, lambda command=command: subprocess.Popen(command))  # type: ignore[misc]
    print(f"{IN_FLIGHT} always in flight: statuses {dict(loads[4].statuses)}")


def update(data: Path, server: str, key: str, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    """Run an update; print what it did, and what a cursor of before is answered."""
    url = f"{server}/api/v1/features?tags=building&limit=2"
    cursor = find_cursor(url, key)
    time.sleep(2)
    if start().wait():
        raise SystemExit(read_runs(data)[-1].message)
    time.sleep(1)
    run = read_runs(data)[-1]
    answers = [ask(f"{url}&cursor={quote(cursor)}", key) for _ in range(8)]
    codes = {(status, json.loads(body)["error"]["code"]) for status, body in answers}
    print(
        f"update to {run.to_sequence}: {run.changed:,} changed, {run.seconds:.1f} s; "
        f"the cursor of before: {codes}",
        flush=True,
    )


def find_cursor(url: str, key: str) -> str:
    """Return the cursor behind the first page of a list."""
    request = urllib.request.Request(url, headers={"X-API-Key": key})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.headers["x-next-cursor"])


if __name__ == "__main__":
    main()
