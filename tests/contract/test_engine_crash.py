"""A fault in native code while routes are computed costs one worker, and what ran in it."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from servers import Server, copy_data, running

pytestmark = pytest.mark.xdist_group("serving")

#: In the test's servers only: a signal makes a process read memory that is not its own.
FAULT = """
import faulthandler, signal
signal.signal(signal.SIGUSR2, lambda *_: faulthandler._sigsegv())
"""
PLACES = [[7.4246, 43.7384], [7.4197, 43.7314], [7.4156, 43.7277], [7.4281, 43.7392]]
ROUTE = ("/api/v1/route", {"origin": PLACES[0], "destination": PLACES[1], "mode": "foot"})
#: Some tenths of a second of work for the engine.
MATRIX = ("/api/v1/matrix", {"origins": PLACES * 10, "destinations": PLACES * 10, "mode": "foot"})


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    from osm_files import EXAMPLES

    data = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    folder = tmp_path_factory.mktemp("crash")
    (folder / "sitecustomize.py").write_text(FAULT)
    data = copy_data(data, folder / "data")
    log = folder / "serve.log"
    with running(data, log, workers=2, PYTHONPATH=str(folder)) as started:
        yield started


def post(server: Server, path: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"X-API-Key": server.key}
    return httpx.post(server.address + path, json=body, headers=headers, timeout=30)


def find_busy_worker(server: Server) -> psutil.Process:
    """Return the worker that computes, once there is one."""
    before = {worker.pid: sum(worker.cpu_times()[:2]) for worker in server.workers()}
    ends_s = time.monotonic() + 30
    while time.monotonic() < ends_s:
        for worker in server.workers():
            if sum(worker.cpu_times()[:2]) > before.get(worker.pid, 0.0) + 0.05:
                return worker
        time.sleep(0.005)
    raise AssertionError("no worker computes")


def test_a_native_crash_costs_one_worker(server: Server) -> None:
    assert post(server, *ROUTE).status_code == 200
    pids = {worker.pid for worker in server.workers()}
    stop = threading.Event()
    statuses: list[int] = []
    dropped: list[str] = []

    def ask(path: str, body: dict[str, Any]) -> None:
        try:
            statuses.append(post(server, path, body).status_code)
        except httpx.TransportError as error:
            dropped.append(type(error).__name__)

    def keep_asking() -> None:
        while not stop.is_set():
            ask(*ROUTE)

    matrices = threading.Thread(target=lambda: [ask(*MATRIX) for _ in range(4)])
    matrices.start()
    victim = find_busy_worker(server)
    routes = threading.Thread(target=keep_asking)
    routes.start()
    victim.send_signal(signal.SIGUSR2)
    ends_s = time.monotonic() + 60
    while time.monotonic() < ends_s:
        now = {worker.pid for worker in server.workers()}
        if len(now) == 2 and victim.pid not in now:
            break
        time.sleep(0.05)
    stop.set()
    matrices.join()
    routes.join()

    assert len({worker.pid for worker in server.workers()} - pids) == 1
    # What ran in the worker is lost; all others are answered, by the one that is left.
    assert len(dropped) <= 2
    assert set(statuses) == {200}
    assert len(statuses) >= 4
    for _ in range(10):  # either worker
        assert post(server, *ROUTE).json()["properties"]["distance_m"] > 500
    (line,) = [
        line
        for line in map(json.loads, server.log.read_text().splitlines())
        if line["level"] == "error"
    ]
    assert f"web process {victim.pid} died (signal SIGSEGV)" in line["message"]
    assert 'mapyard_worker_restarts_total{process="web"} 1.0' in server.metrics()
