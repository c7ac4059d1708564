"""What happens at three times the capacity: latency of what is admitted and of what is refused.

    python -m bench.overload --data DATA [--seconds 20]

One worker on one core, the load from another. First the capacity is found, with eight requests
always in flight; then requests come at half of it ("quiet"), and at three times of it. DATA holds
Monaco.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import psutil
import uvloop

from bench.update_load import Connection, free_port, write_request
from mapyard.accounts import registry
from mapyard.accounts.open import ensure_owner, open_accounts

API = "/api/v1"
PATHS = (
    f"{API}/features?bbox=43.73,7.41,43.74,7.43&limit=100",
    f"{API}/features/nearby?lat=43.7384&lng=7.4246&tags[amenity]=cafe",
    f"{API}/geocode?q=Rue%20Grimaldi%205,%20Monaco",
    f"{API}/geocode/reverse?lat=43.7384&lng=7.4246",
    f"{API}/search?q=monte%20carlo",
    f"{API}/features/way/94399684",
)
#: Enough that no request waits for a connection where the server answers.
CONNECTIONS = 200
_FLOOD = 8

Took = dict[int, list[float]]


async def connect(port: int) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, "127.0.0.1", port)
    return connection


async def flood(port: int, requests: list[bytes], seconds: float) -> float:
    """Keep some connections busy; return the answers per second."""
    ends_s = time.monotonic() + seconds
    answered = 0

    async def ask(number: int) -> None:
        nonlocal answered
        connection = await connect(port)
        while time.monotonic() < ends_s:
            number += 1
            status = await connection.ask(requests[number % len(requests)])
            answered += status == 200
        connection.transport.close()

    await asyncio.gather(*(ask(i) for i in range(_FLOOD)))
    return answered / seconds


async def pace(port: int, requests: list[bytes], per_second: float, seconds: float) -> Took:
    """Ask at a fixed rate; return how long answers took by status, seconds."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await connect(port))
    took: Took = defaultdict(list)
    started_s = time.monotonic()
    tasks: set[asyncio.Task[None]] = set()

    async def ask(request: bytes, due_s: float) -> None:
        connection = await free.get()
        status = await connection.ask(request)
        took[status].append(time.monotonic() - started_s - due_s)
        if connection.transport.is_closing():
            connection = await connect(port)
        free.put_nowait(connection)

    number = 0
    while (due_s := number / per_second) < seconds:
        await asyncio.sleep(max(0.0, started_s + due_s - time.monotonic()))
        task = asyncio.create_task(ask(requests[number % len(requests)], due_s))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        number += 1
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait().transport.close()
    return took


def show(name: str, took: Took) -> dict[int, float]:
    """Print the latencies by status; return the p95 of each, milliseconds."""
    found = {}
    for status, times in sorted(took.items()):
        p50, p95, p99 = np.percentile(np.array(times) * 1e3, (50, 95, 99))
        figures = f"p50 {p50:7.1f}  p95 {p95:7.1f}  p99 {p99:7.1f} ms"
        print(f"{name:10} {status} {len(times):7,}  {figures}", flush=True)
        found[status] = float(p95)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    database = open_accounts(options.data)
    key = ensure_owner(database)
    owner = registry.list_accounts(database)[0]
    if key is None:
        owner = registry.create_account(database, f"b{time.time_ns()}@example.org", "enterprise")
        _, key = registry.create_key(database, owner.id)
    registry.change_account(database, owner.id, action="bench", per_minute_override=9_000_000)
    database.close()
    port = free_port()
    cores = sorted(os.sched_getaffinity(0))
    process = subprocess.Popen(
        [Path(sys.executable).with_name("mapyard"), "serve", "--port", str(port), "--workers", "1",
         "--data", str(options.data)],
        env={**os.environ, "MAPYARD_ACCESS_LOG": "", "MAPYARD_UPDATES": "off",
             "MAPYARD_CONNECTIONS_PER_ADDRESS": "1000"},
        stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {cores[0]}),
    )  # fmt: skip
    os.sched_setaffinity(0, {cores[-1]})
    requests = [write_request(path, key) for path in PATHS]
    run = asyncio.Runner(loop_factory=uvloop.new_event_loop).run
    try:
        while subprocess.run(
            ["curl", "-fs", f"http://127.0.0.1:{port}/readyz"], capture_output=True, check=False
        ).returncode:
            time.sleep(0.2)
        run(flood(port, requests, 3))
        capacity = run(flood(port, requests, options.seconds / 3))
        print(f"{platform.processor() or platform.machine()}, {psutil.cpu_count()} cores: "
              f"{capacity:,.0f} requests/s")  # fmt: skip
        quiet = show("half", run(pace(port, requests, capacity / 2, options.seconds)))
        over = show("3 times", run(pace(port, requests, 3 * capacity, options.seconds)))
        print(f"admitted {over[200] / quiet[200]:.2f} x quiet (2.0 wanted), refused p95 "
              f"{over.get(503, 0):.1f} ms (50 wanted)")  # fmt: skip
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    main()
