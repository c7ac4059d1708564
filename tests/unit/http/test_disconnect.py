"""A client that goes away stops the work for it; a stopping server says so."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvicorn

from mapyard.http.access_log import AccessLog
from mapyard.http.answer import Answer
from mapyard.http.app import Application
from mapyard.http.context import Context
from mapyard.http.endpoints import collect, endpoint
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.params.parser import Params
from mapyard.server.connections import Connections
from mapyard.server.worker import make_config
from mapyard.settings import Settings

STOPPED = threading.Event()


class Nothing(Params):
    pass


@endpoint("/api/v1/slow", summary="", tag="T", needs_dataset=False)
def slow(ctx: Context, params: Nothing) -> Answer:
    try:
        while True:
            ctx.deadline.check()
            time.sleep(0.002)
    finally:
        STOPPED.set()


@endpoint("/api/v1/endless", summary="", tag="T", needs_dataset=False)
def endless(ctx: Context, params: Nothing) -> Answer:
    def chunks() -> Iterator[bytes]:
        try:
            while True:
                yield b"x" * 100_000
        finally:
            STOPPED.set()

    return Answer(chunks(), "text/plain")


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    STOPPED.clear()
    module = ModuleType("slow_routes")
    for handler in (slow, endless):
        handler.__module__ = "slow_routes"
        setattr(module, handler.__name__, handler)
    settings = Settings(data=tmp_path, timeout_s=10)
    services = Services(settings, Snapshots(settings), endpoints=collect([module]))
    made = Application(
        services, services.endpoints, access_log=AccessLog.open(str(tmp_path / "access.log"))
    )
    yield made
    made.close()


def ask(application: Application, path: str, leaves_after_s: float) -> list[dict[str, Any]]:
    """Ask as a client that leaves; return what was sent to it."""
    sent: list[dict[str, Any]] = []

    async def main() -> None:
        left = asyncio.Event()
        asyncio.get_running_loop().call_later(leaves_after_s, left.set)
        first = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if first:
                return first.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)
            await asyncio.sleep(0)

        scope = {
            "type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [],
            "client": ("127.0.0.1", 1), "scheme": "http",
        }  # fmt: skip
        await application(scope, receive, send)

    asyncio.run(main())
    return sent


def logged(application: Application, tmp_path: Path) -> dict[str, Any]:
    application.access_log.close()
    line: dict[str, Any] = json.loads((tmp_path / "access.log").read_text())
    return line


def test_work_stops(application: Application, tmp_path: Path) -> None:
    assert ask(application, "/api/v1/slow", 0.05) == []
    assert STOPPED.wait(2)
    assert logged(application, tmp_path)["status"] == 499
    assert application.light.busy == 0


def test_stream_stops(application: Application, tmp_path: Path) -> None:
    sent = ask(application, "/api/v1/endless", 0.1)
    assert sent[0]["status"] == 200
    assert sent[-1]["more_body"] is True
    assert STOPPED.wait(2)
    line = logged(application, tmp_path)
    assert (line["status"], line["bytes"] > 0) == (499, True)


def test_time_limit_of_a_request(application: Application) -> None:
    application.services.settings.timeout_s = 0.05
    sent = ask(application, "/api/v1/slow", 60)
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["error"]["code"] == "timeout"
    assert (b"x-should-retry", b"false") in sent[0]["headers"]
    assert STOPPED.is_set()


def test_full_queue_answers_503_at_once(application: Application) -> None:
    application.light.threads, application.light.queue = 1, 0
    busy = threading.Event()
    application.light.submit(busy.wait)
    started_s = time.monotonic()
    sent = ask(application, "/api/v1/slow", 60)
    assert time.monotonic() - started_s < 1
    assert sent[0]["status"] == 503
    assert (b"retry-after", b"1") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["error"]["code"] == "overloaded"
    assert not STOPPED.is_set()
    busy.set()


def test_draining_closes_connections(application: Application) -> None:
    application.services.draining = True
    sent = ask(application, "/api/v1/nowhere", 60)
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.parametrize("path", ["/api/v1/slow", "/api/v1/endless"])
def test_a_real_connection_that_closes(application: Application, tmp_path: Path, path: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = listener.getsockname()
        settings = application.services.settings
        server = uvicorn.Server(make_config(application, settings, Connections.of(settings)))
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
        thread.start()
        try:
            with socket.create_connection(address, 10) as client:
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                if path.endswith("endless"):
                    assert client.recv(12) == b"HTTP/1.1 200"
                else:
                    time.sleep(0.2)
                assert not STOPPED.is_set()
            assert STOPPED.wait(5)
        finally:
            server.should_exit = True
            thread.join(20)
    assert logged(application, tmp_path)["status"] == 499
