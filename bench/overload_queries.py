"""Queries of three times what a server answers: how long admitted ones take, and refused ones.

Run: `python bench/overload_queries.py`. One worker serves Monaco's store on one core (where there
are two), the load comes from the other. Quiet is one client that asks again and again; at capacity
ask as many clients as there are query processes; overload is three times as many as those and the
queue together, each of an account of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil

ROOT = Path(__file__).parent.parent
QUERY = "/api/v1/overpass?data=way[building];out;&format=ndjson"
PROCESSES, QUEUE = 3, 3
SECONDS = 15.0


class Answers(NamedTuple):
    """Seconds of the answers of one kind."""

    admitted: list[float]
    refused: list[float]
    other: list[int]


async def ask(address: str, keys: list[str], clients: int, pause_s: float) -> Answers:
    """Let so many clients ask again as soon as they are answered; refused ones wait a little."""
    found = Answers([], [], [])
    ends_s = time.monotonic() + SECONDS

    async def run(key: str) -> None:
        async with httpx.AsyncClient(headers={"X-API-Key": key}, timeout=60) as client:
            while time.monotonic() < ends_s:
                started_s = time.perf_counter()
                answer = await client.get(address + QUERY)
                took_s = time.perf_counter() - started_s
                if answer.status_code == 200:
                    found.admitted.append(took_s)
                elif answer.status_code == 503:
                    found.refused.append(took_s)
                    await asyncio.sleep(pause_s)
                else:
                    found.other.append(answer.status_code)

    await asyncio.gather(*(run(keys[i % len(keys)]) for i in range(clients)))
    return found


def p95_ms(seconds: list[float]) -> float:
    """Return the 95th percentile in milliseconds."""
    return statistics.quantiles(seconds, n=20)[-1] * 1_000 if len(seconds) > 1 else float("nan")


def make_keys(data: Path, count: int) -> list[str]:
    """Return keys of as many accounts."""
    from mapyard.accounts import registry
    from mapyard.accounts.open import open_accounts

    database = open_accounts(data)
    keys = []
    for i in range(count):
        account = registry.create_account(
            database, f"load{i}@example.org", "enterprise", per_minute_override=1_000_000
        )
        keys.append(registry.create_key(database, account.id)[1])
    database.close()
    return keys


def pin(process: psutil.Process, cores: list[int]) -> None:
    """Let a process and all of its children use these cores only."""
    for item in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            item.cpu_affinity(cores)


def main() -> None:
    from bench.serving import free_port, prepare, wait_until_ready

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir(mode=0o700)
        prepare(data)
        clients = 3 * (PROCESSES + QUEUE)
        keys = make_keys(data, clients)
        port = free_port()
        server = subprocess.Popen(
            [sys.executable, "-m", "mapyard", "serve", "--port", str(port), "--workers", "1"],
            env={
                **os.environ, "MAPYARD_DATA": str(data), "MAPYARD_ACCESS_LOG": "",
                "MAPYARD_QUERY_PROCESSES": str(PROCESSES), "MAPYARD_QUEUE": str(QUEUE),
                "MAPYARD_UPDATES": "off",
            },
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_until_ready(port)
            cores = os.cpu_count() or 1
            if cores > 1:
                pin(psutil.Process(server.pid), [0])
                pin(psutil.Process(), list(range(1, cores)))
            address = f"http://127.0.0.1:{port}"
            asyncio.run(ask(address, keys[:1], 1, 0.0))  # caches are warm
            quiet = asyncio.run(ask(address, keys[:1], 1, 0.0))
            full = asyncio.run(ask(address, keys, PROCESSES, 0.0))
            over = asyncio.run(ask(address, keys, clients, 0.1))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    print(f"machine: {os.cpu_count()} cores; Monaco, {QUERY}")
    for name, found in (("quiet", quiet), ("at capacity", full), ("overload", over)):
        print(
            f"{name:<12}{len(found.admitted) / SECONDS:>8.1f} answers/s, p95 "
            f"{p95_ms(found.admitted):,.0f} ms; {len(found.refused) / SECONDS:>7.1f} refused/s, "
            f"p95 {p95_ms(found.refused):,.0f} ms; others: {sorted(set(found.other))}"
        )
    print(
        f"p95 of admitted, overload / capacity: {p95_ms(over.admitted) / p95_ms(full.admitted):.2f}"
        f"; overload / quiet: {p95_ms(over.admitted) / p95_ms(quiet.admitted):.2f}"
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
