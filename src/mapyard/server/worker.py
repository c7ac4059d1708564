"""A process under the supervisor, forked by the nursery.

Role "web" answers requests on the inherited sockets; role "jobs" runs the background jobs. The
lifeline is a socket to the supervisor: one byte says that this process is ready, further ones that
it works or that its threads are stuck, and its end says that the supervisor is gone, so that no
worker outlives it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import Generator
from importlib import import_module
from typing import Final

import uvicorn

from mapyard.errors import MapyardError
from mapyard.http.access_log import AccessLog, set_up_logging
from mapyard.http.app import Application
from mapyard.http.background import collect_jobs, run_jobs
from mapyard.http.routes import load_modules
from mapyard.server.assembly import build_application, build_services
from mapyard.server.connections import Connections, protocol_of
from mapyard.server.memory import keep_trimmed
from mapyard.server.nursery import CANNOT_START
from mapyard.server.queries.pool import QueryPool
from mapyard.server.supervisor import ALIVE, HEARTBEAT_S, READY, STUCK
from mapyard.settings import Settings, get_settings

log = logging.getLogger(__name__)

LOG_FLUSH_S: Final = 0.25
_FLEET: Final = "mapyard.fleet.node"
#: How long a thread may hold the interpreter while the loop wants it; Python's own 5 ms would be
#: added to each request that is answered while a thread works in Python.
SWITCH_S: Final = 0.001


class _Server(uvicorn.Server):
    """uvicorn, with the signals handled by us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def main(arguments: list[str]) -> int:
    """Run one process, ROLE LIFELINE_FD [ASKED_FD SOCKET_FD…]; return its exit code."""
    role, lifeline_fd, *socket_fds = arguments
    settings = get_settings()
    set_up_logging(settings.log_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor decides
    lifeline = socket.socket(fileno=int(lifeline_fd))
    has_started = threading.Event()
    _beat_until(has_started, lifeline)
    try:
        if role == "web":
            asked, *sockets = (socket.socket(fileno=int(fd)) for fd in socket_fds)
            serving = _serve(settings, asked, sockets, lifeline, has_started)
            asyncio.run(serving, loop_factory=_new_loop)
        else:
            _run_background(settings, lifeline)
    except MapyardError as error:
        log.error("cannot start: %s", error.message)
        return CANNOT_START
    return 0


def _new_loop() -> asyncio.AbstractEventLoop:
    import uvloop

    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _beat_until(end: threading.Event, lifeline: socket.socket) -> None:
    """Say from a thread that this process lives, until it has started or for its whole life."""

    def beat() -> None:
        while not end.wait(HEARTBEAT_S):
            _say(ALIVE, lifeline)

    threading.Thread(target=beat, daemon=True, name="heartbeat").start()


def _say(word: bytes, lifeline: socket.socket) -> None:
    with contextlib.suppress(OSError):  # never waits: a supervisor that is busy reads it later
        lifeline.send(word, socket.MSG_DONTWAIT)


async def _serve(
    settings: Settings,
    asked: socket.socket,
    sockets: list[socket.socket],
    lifeline: socket.socket,
    has_started: threading.Event,
) -> None:
    access_log = AccessLog.open(settings.access_log)
    services = build_services(settings)
    application = build_application(services, access_log)
    guard = Connections.of(settings)
    server = _Server(make_config(application, settings, guard))
    loop = asyncio.get_running_loop()

    def stop(delay_s: float) -> None:
        if not services.draining:
            services.draining = True
            loop.call_later(delay_s, setattr, server, "should_exit", True)

    loop.add_signal_handler(signal.SIGTERM, stop, settings.drain_s)
    loop.add_signal_handler(signal.SIGUSR1, stop, 0.0)
    loop.add_reader(lifeline, lambda: stop(0.0) if _at_end_of(lifeline) else None)
    flusher = asyncio.ensure_future(_flush_log(access_log, application))
    sweeper = asyncio.ensure_future(guard.keep_sweeping())
    application.warm_up()
    application.apart = queries = QueryPool(settings, asked)
    # By name, as commands are: nothing of it is imported unless it is asked for.
    fleet = import_module(_FLEET).attach(application, settings) if settings.fleet else None
    if services.accounts is not None:
        services.accounts.start()
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()  # what lives as long as the process is not looked at again
    gc.set_threshold(10_000, 20, 50)
    watch = asyncio.ensure_future(_tell_state(server, application, lifeline, has_started))
    trimmer = asyncio.ensure_future(keep_trimmed())
    try:
        await server.serve(sockets)
    finally:
        for task in (flusher, sweeper, watch, trimmer):
            task.cancel()
        if fleet is not None:
            await fleet.close()
        application.close()
        await queries.close()
        if services.accounts is not None:
            services.accounts.close()


def make_config(application: Application, settings: Settings, guard: Connections) -> uvicorn.Config:
    """Return the server's configuration."""
    return uvicorn.Config(
        application,
        http=protocol_of(guard),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies or None,
        timeout_graceful_shutdown=int(settings.timeout_s) + 5,
    )


def _at_end_of(lifeline: socket.socket) -> bool:
    try:
        return not lifeline.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


async def _tell_state(
    server: uvicorn.Server,
    application: Application,
    lifeline: socket.socket,
    has_started: threading.Event,
) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    has_started.set()  # from now on the loop itself says that it turns
    word = READY
    while True:
        _say(word, lifeline)
        await asyncio.sleep(HEARTBEAT_S)
        word = STUCK if application.is_stuck else ALIVE


async def _flush_log(access_log: AccessLog, application: Application) -> None:
    while True:
        await asyncio.sleep(LOG_FLUSH_S)
        access_log.flush()
        application.note_state()


def _run_background(settings: Settings, lifeline: socket.socket) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: stop.set())
    services = build_services(settings)

    def wait_for_end() -> None:
        # A supervisor that was killed before it read our last beats ends the socket with a reset.
        with contextlib.suppress(ConnectionResetError):
            while lifeline.recv(1):
                pass
        stop.set()

    threading.Thread(target=wait_for_end, daemon=True, name="lifeline").start()
    _say(READY, lifeline)
    run_jobs(collect_jobs(load_modules()), services, stop)
    services.snapshots.close()
    if services.accounts is not None:
        services.accounts.close()
