"""Workers that live but do not answer are replaced; clients that leave leave no trace."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from attack.doors import Door, Texts, open_door
from mapyard.deadline import Deadline
from mapyard.errors import Timeout
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import endpoint
from mapyard.http.pool import WorkPool
from mapyard.server import supervisor as supervisors
from mapyard.server.supervisor import ALIVE, READY, STUCK, Process, Supervisor
from mapyard.settings import Settings
from servers import copy_data, running


def test_a_stopped_worker_is_replaced(build_once: Callable[..., Path], tmp_path: Path) -> None:
    from osm_files import EXAMPLES

    store = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    data = copy_data(store, tmp_path / "data")
    with running(data, tmp_path / "log", 2, MAPYARD_METRICS_TOKEN="t" * 32) as server:
        stopped = server.workers()[0]
        stopped.send_signal(signal.SIGSTOP)
        ends_s = time.monotonic() + 40
        while time.monotonic() < ends_s:
            workers = server.workers()
            if stopped not in workers and len(workers) == 2:
                break
            time.sleep(0.2)
        assert stopped not in server.workers()
        assert "nothing was heard of it for 10 s" in server.log.read_text()
        for _ in range(20):
            while time.monotonic() < ends_s:
                try:
                    assert server.get("/api/v1/features/way/94399684").status_code == 200
                    break
                except OSError:
                    time.sleep(0.2)
        token = {"Authorization": "Bearer " + "t" * 32}
        text = httpx.get(f"{server.address}/metrics", headers=token).text
        assert 'mapyard_worker_replaced_total{reason="silent"} 1.0' in text


CHILD = "import sys, time; time.sleep(60)"


def watched(said: bytes) -> tuple[Supervisor, Process, socket.socket]:
    """A supervisor that watches one child, which says nothing more than this."""
    supervisor = Supervisor(Settings())
    process = Process.__new__(Process)
    process.role = "web"
    process.lifeline, child_end = socket.socketpair()
    process.lifeline.setblocking(False)
    process.child = subprocess.Popen([sys.executable, "-c", CHILD])
    process.started_s = process.heard_s = time.monotonic()
    process.is_ready = False
    process.killed_at_s = None
    supervisor._processes.append(process)
    child_end.sendall(said)
    return supervisor, process, child_end


def test_a_stuck_worker_may_finish_and_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, process, child_end = watched(READY + ALIVE)
    supervisor._look()
    assert not supervisor._due
    child_end.sendall(STUCK)
    supervisor._look()
    assert [role for _, role in supervisor._due] == ["web"]
    assert process.child.wait(10) == -signal.SIGUSR1  # a worker would have handled it
    supervisor._look()
    assert [role for _, role in supervisor._due] == ["web"]  # replaced once
    assert not supervisor._processes
    child_end.close()


def test_a_silent_worker_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, process, child_end = watched(READY)
    supervisor._look()
    monkeypatch.setitem(supervisors.SILENT_S, "web", 0.2)
    time.sleep(0.3)
    supervisor._look()
    assert process.child.wait(10) == -signal.SIGKILL
    supervisor._look()
    assert [role for _, role in supervisor._due] == ["web"]
    child_end.close()


def test_a_worker_that_stops_while_it_starts_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, process, child_end = watched(ALIVE)
    supervisor._look()
    assert not process.is_ready
    monkeypatch.setitem(supervisors.SILENT_S, "web", 0.2)
    time.sleep(0.3)
    supervisor._look()
    assert process.child.wait(10) == -signal.SIGKILL
    assert [role for _, role in supervisor._due] == ["web"]
    process.lifeline.close()
    child_end.close()


def test_a_supervisor_that_was_stopped_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, process, child_end = watched(READY)
    supervisor._look()
    process.heard_s -= 60
    supervisor._looked_s -= 60
    supervisor._look()
    assert process.child.poll() is None
    process.child.kill()
    process.child.wait(10)
    process.lifeline.close()
    child_end.close()


def test_a_pool_whose_threads_ignore_their_deadlines_is_stuck(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mapyard.http.pool.STUCK_S", 0.2)
    monkeypatch.setattr("mapyard.http.pool.GRACE_S", 0.0)
    pool, free = WorkPool("p", 2, 5), threading.Event()

    async def never() -> object:
        await asyncio.sleep(60)
        return None

    async def ask() -> None:
        with pytest.raises(Timeout):
            await pool.run(free.wait, Deadline(0.1), never)

    async def both() -> None:
        await asyncio.gather(ask(), ask())

    assert not pool.is_stuck
    asyncio.run(both())
    time.sleep(0.3)
    assert pool.is_stuck
    free.set()
    time.sleep(0.1)
    assert not pool.is_stuck
    pool.close()


async def form(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


@endpoint("/api/v1/slow", summary="", tag="T", needs_dataset=False)
def slow(ctx: Context, params: Texts) -> Answer:
    ends_s = time.monotonic() + 3
    while time.monotonic() < ends_s:
        ctx.deadline.check()
        time.sleep(0.01)
    return Answer.json({})


@endpoint("/api/v1/deaf", summary="", tag="T", needs_dataset=False)
def deaf(ctx: Context, params: Texts) -> Answer:
    time.sleep(0.5)
    raise RuntimeError("after all have left")


@endpoint("/api/v1/stream", summary="", tag="T", needs_dataset=False)
def stream(ctx: Context, params: Texts) -> Answer:
    return Answer(iter(lambda: b"a" * 65_536, None), "text/plain")


PARTS = (
    b"GET /hea",
    b"POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
    b"POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
    b"GET /api/v1/slow HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /api/v1/deaf HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /api/v1/stream HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 10,
)


@pytest.mark.parametrize("reset", [False, True])
def test_clients_that_leave_leave_no_trace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, reset: bool
) -> None:
    module = SimpleNamespace(__name__=__name__, slow=slow, deaf=deaf, stream=stream)
    web = Starlette(routes=[Route("/form", form, methods=["POST"])])
    caplog.set_level(logging.DEBUG)
    with open_door(tmp_path, modules=[module], web=web) as door:  # type: ignore[list-item]
        for part in PARTS * 2:
            leave(door, part, reset)
        time.sleep(1.5)  # the deaf ones end
        assert door.is_well()
    found = [record for record in caplog.records if record.exc_info or "Trace" in record.message]
    assert not found, [record.getMessage() for record in found]


def leave(door: Door, part: bytes, reset: bool) -> None:
    with door.connect(part) as connection:
        time.sleep(0.1)
        if reset:
            linger = b"\x01\0\0\0\0\0\0\0"
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
