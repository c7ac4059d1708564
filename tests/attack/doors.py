"""A server in this process on a free port, and sockets that speak to it byte by byte."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import uvicorn

from mapyard.accounts.database import Database
from mapyard.accounts.gate import AccountsGate
from mapyard.http.access_log import AccessLog
from mapyard.http.answer import Answer
from mapyard.http.app import Application
from mapyard.http.context import Context
from mapyard.http.endpoints import collect, endpoint
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.params.parser import Params
from mapyard.server.connections import Connections
from mapyard.server.queries.pool import QueryPool
from mapyard.server.worker import make_config
from mapyard.settings import Settings


class Texts(Params):
    text: str = ""


@endpoint("/api/v1/echo", methods=("GET", "POST"), summary="", tag="T", needs_dataset=False)
def echo(ctx: Context, params: Texts) -> Answer:
    return Answer.json({"text": params.text})


@endpoint("/healthz", summary="", tag="T", needs_dataset=False, public=True, inline=True)
def healthz(ctx: Context, params: Texts) -> Answer:
    return Answer.json({"status": "ok"})


class Door:
    """The server's address and its guard."""

    def __init__(self, address: tuple[str, int], guard: Connections, app: Application) -> None:
        self.address = address
        self.guard = guard
        self.application = app

    def connect(self, sent: bytes = b"") -> socket.socket:
        """Return a connection, with these bytes sent."""
        connection = socket.create_connection(self.address, 10)
        if sent:
            connection.sendall(sent)
        return connection

    def ask(self, sent: bytes, wait_s: float = 10.0) -> bytes:
        """Return all that comes back until the server closes."""
        with self.connect(sent) as connection:
            return read_all(connection, wait_s)

    def echo(self, key: str, wait_s: float = 20.0) -> tuple[int, float]:
        """Ask with a key; return status and seconds."""
        started_s = time.monotonic()
        head = f"GET /api/v1/echo HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nConnection: close"
        answer = self.ask(f"{head}\r\n\r\n".encode(), wait_s)
        return int(answer.split()[1]), time.monotonic() - started_s

    def is_well(self) -> bool:
        """Return whether somebody else is answered."""
        answer = self.ask(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return answer.startswith(b"HTTP/1.1 200")


def read_all(connection: socket.socket, wait_s: float = 10.0) -> bytes:
    """Return what comes until the other side closes; fail when it does not in time."""
    ends_s = time.monotonic() + wait_s
    parts: list[bytes] = []
    while True:
        connection.settimeout(max(0.01, ends_s - time.monotonic()))
        part = connection.recv(65_536)  # TimeoutError: it was not closed
        if not part:
            return b"".join(parts)
        parts.append(part)


def error_of(answer: bytes) -> dict[str, Any]:
    """Return the error of an answer, its status beside."""
    head, _, body = answer.partition(b"\r\n\r\n")
    error: dict[str, Any] = json.loads(body)["error"]
    return error | {"status": int(head.split()[1])}


@contextlib.contextmanager
def open_door(
    data: Path, *, limit: int = 100, per_address: int = 50, read_s: float = 1.0,
    modules: Sequence[ModuleType] = (), web: Any = None, database: Database | None = None,
    access_log: AccessLog | None = None, queries: str = "", **settings: Any,
) -> Iterator[Door]:  # fmt: skip
    """Serve the endpoints of this module (and of `modules`) with these limits."""
    chosen = Settings(data=data, **settings)
    services = Services(chosen, Snapshots(chosen))
    if database is not None:
        services.database = database
        services.accounts = AccountsGate(database, data, redis_url=chosen.redis_url or None)
        services.accounts.start()
    endpoints = collect([sys.modules[__name__], *modules])
    application = Application(services, endpoints, web=web, access_log=access_log)
    guard = Connections(limit, per_address, read_s)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        server = uvicorn.Server(make_config(application, chosen, guard))

        async def serve() -> None:
            import asyncio

            sweeper = asyncio.ensure_future(guard.keep_sweeping())
            pool = QueryPool(chosen, asked) if queries else None
            application.apart = pool
            await server.serve(sockets=[listener])
            sweeper.cancel()
            if pool is not None:
                await pool.close()

        def run() -> None:
            import asyncio

            import uvloop

            asyncio.run(serve(), loop_factory=uvloop.new_event_loop)

        thread = threading.Thread(target=run)
        address = listener.getsockname()
        asked, asked_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        forker = None
        if queries:
            forker = subprocess.Popen(
                [sys.executable, "-m", queries, str(asked_end.fileno())],
                pass_fds=[asked_end.fileno()],
            )
        asked_end.close()
        thread.start()
        try:
            yield Door(address, guard, application)
        finally:
            server.should_exit = server.force_exit = True
            thread.join(20)
            asked.close()
            if forker is not None:
                forker.wait(20)
            application.close()
            if services.accounts is not None:
                services.accounts.close()
