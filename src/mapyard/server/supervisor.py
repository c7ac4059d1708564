"""The family of processes behind `mapyard serve`: N workers and one for background jobs.

All are forked from one process that has read the modules (nursery.py), so that another starts in
a fraction of a second. All workers accept from the same listening sockets, which the supervisor
opens and keeps: a worker that ends takes no waiting connection with it. A process that died is
started again, and so is one that lives but does not work: its loop says nothing for ten seconds,
or its threads are stuck. On SIGTERM the workers first say 503 at /readyz, then take nothing new,
finish what runs, and end; on SIGINT they do so at once.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Final

from mapyard.errors import MapyardError
from mapyard.server.files import FEWEST_FILES, OWN_FILES, raise_file_limit
from mapyard.server.nursery import CANNOT_START, Child, Nursery, adopt_orphans
from mapyard.settings import Settings, split_form_ports

log = logging.getLogger(__name__)

BACKLOG: Final = 2_048
#: A process that lived shorter than this is started again only after a pause that doubles.
SHORT_LIFE_S: Final = 10.0
LONGEST_PAUSE_S: Final = 15.0

# What a worker says on its lifeline.
READY, ALIVE, STUCK = b"r", b"a", b"s"
#: How often it says that it starts or that its loop turns, and when it is given up, seconds.
HEARTBEAT_S: Final = 1.0
SILENT_S: Final = {"web": 10.0, "jobs": 60.0}
#: How long reading all modules may take, perhaps from a slow disk, seconds.
NURSERY_S: Final = 120.0


class CannotServe(MapyardError):  # noqa: N818 - reported on the command line
    """The server cannot start."""


class Process:
    """One child: its role, and the socket that is its lifeline."""

    def __init__(self, role: str, child: Child, lifeline: socket.socket) -> None:
        self.role = role
        self.child = child
        self.lifeline = lifeline
        self.lifeline.setblocking(False)
        self.started_s = time.monotonic()
        self.is_ready = False
        #: When it was last heard.
        self.heard_s = self.started_s
        #: Another took its place: it answers what it has, until it is killed then.
        self.killed_at_s: float | None = None

    def look(self) -> bytes:
        """Take what the child says; return it."""
        said = b""
        with contextlib.suppress(BlockingIOError, OSError):
            said = self.lifeline.recv(4_096)
        if said:
            self.heard_s = time.monotonic()
            self.is_ready = self.is_ready or READY in said
        return said

    def signal(self, number: int) -> None:
        """Send a signal, if the child still lives."""
        with contextlib.suppress(ProcessLookupError):
            self.child.send_signal(number)


class Supervisor:
    """Starts, watches and stops the processes."""

    def __init__(
        self,
        settings: Settings,
        *,
        environment: Mapping[str, str] | None = None,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings = settings
        self._on_ready = on_ready
        self._environment = {**os.environ, **(environment or {})}
        self._sockets: list[socket.socket] = []
        #: Over the first, workers ask for query processes; the nursery reads them from the second.
        #: Both are kept here, so that a request outlives the nursery.
        self._asked: tuple[socket.socket, socket.socket] | None = None
        self._nursery: Nursery | None = None
        self._processes: list[Process] = []
        self._due: list[tuple[float, str]] = []  # (when, role) of processes to start again
        self._pause_s = 0.0
        self._stop_signal = 0
        self._was_ready = False
        self._looked_s = time.monotonic()

    def run(self) -> int:
        """Serve until a signal says to stop; return the exit code."""
        self._check_file_limit()
        ports = (self.settings.port, *split_form_ports(self.settings.form_ports))
        try:
            for port in ports:
                self._sockets += open_sockets(self.settings.host, port)
        except CannotServe:
            for sock in self._sockets:
                sock.close()
            raise
        self._asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        adopt_orphans()
        folder = tempfile.mkdtemp(prefix="mapyard-metrics-")
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        self._environment["PROMETHEUS_MULTIPROC_DIR"] = folder
        try:
            with _Wakeup() as wakeup:
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, self._note_signal)
                return self._watch(wakeup)
        finally:
            if self._nursery is not None:
                self._nursery.close()
            for sock in (*self._sockets, *self._asked):
                sock.close()
            shutil.rmtree(folder, ignore_errors=True)

    def _check_file_limit(self) -> None:
        files = raise_file_limit()
        if files < FEWEST_FILES:
            raise CannotServe(
                f"the system lets this process open {files} files, a worker needs {FEWEST_FILES} "
                "or more; raise the limit: ulimit -n 65536, or LimitNOFILE=65536 in the unit"
            )
        if files < OWN_FILES + self.settings.connections:
            log.warning(
                "the system lets a worker open %d files: it takes %d connections instead of %d",
                files, files - OWN_FILES, self.settings.connections,
            )  # fmt: skip

    def _note_signal(self, number: int, _frame: object) -> None:
        if self._stop_signal:
            for process in self._processes:
                process.signal(signal.SIGKILL)  # asked twice: at once
        self._stop_signal = number

    def _watch(self, wakeup: _Wakeup) -> int:
        now_s = time.monotonic()
        self._due = [(now_s, "web")] * self.settings.workers + [(now_s, "jobs")]
        while not self._stop_signal:
            fits = self._look_after_nursery()
            self._start_due()
            starting = [process.lifeline for process in self._processes if not process.is_ready]
            if self._nursery is not None and not self._nursery.is_ready:
                starting.append(self._nursery.control)
            wakeup.wait(starting)
            if not (fits and self._look()):
                self._stop(signal.SIGUSR1, wakeup)
                return 1
        self._stop(
            signal.SIGTERM if self._stop_signal == signal.SIGTERM else signal.SIGUSR1, wakeup
        )
        return 0

    def _look_after_nursery(self) -> bool:
        """Have a nursery; return False when there cannot be one."""
        assert self._asked is not None
        nursery = self._nursery
        if nursery is not None:
            nursery.look()
            if time.monotonic() - nursery.started_s > NURSERY_S and not nursery.is_ready:
                nursery.process.kill()
            code = nursery.process.poll()
            if code is None:
                return True
            nursery.control.close()
            if not self._was_ready and not nursery.is_ready:
                return False  # it has said why
            log.error(
                "the process that forks the others died (%s); starting another",
                _describe_exit(code),
            )
        self._nursery = Nursery(self._asked[1], self._environment)
        return True

    def _start_due(self) -> None:
        nursery = self._nursery
        now_s = time.monotonic()
        for entry in [entry for entry in self._due if entry[0] <= now_s]:
            if nursery is None or not nursery.is_ready:
                return  # it is asked for again
            process = self._start(nursery, entry[1])
            if process is None:
                return
            self._due.remove(entry)
            self._processes.append(process)

    def _start(self, nursery: Nursery, role: str) -> Process | None:
        assert self._asked is not None
        lifeline, child_end = socket.socketpair()
        with child_end:
            sockets = [self._asked[0], *self._sockets] if role == "web" else []
            child = nursery.fork(role, [child_end, *sockets])
        if child is None:
            lifeline.close()
            return None
        return Process(role, child, lifeline)

    def _look(self) -> bool:
        """Look after the children; return False when going on is of no use."""
        now_s = time.monotonic()
        was_away = now_s - self._looked_s > HEARTBEAT_S * 4  # stopped, as a whole machine may be
        self._looked_s = now_s
        for process in list(self._processes):
            said = process.look()
            code = process.child.poll()
            if code is None:
                if was_away:
                    process.heard_s = now_s
                self._replace_if_hung(process, said, now_s)
                continue
            self._forget(process)
            if process.killed_at_s is not None:
                continue  # replaced already
            if code == CANNOT_START and not self._was_ready:
                return False
            self._plan_restart(process, code)
        self._bury_orphans()
        web = [
            process
            for process in self._processes
            if process.role == "web" and process.killed_at_s is None
        ]
        if not self._was_ready and len(web) == self.settings.workers:
            self._was_ready = all(process.is_ready for process in web)
            if self._was_ready:
                self._on_ready()
        return True

    def _bury_orphans(self) -> None:
        """Take note of the end of processes that fell to us, or they stay as zombies."""
        ours = {process.child.pid for process in self._processes}
        if self._nursery is not None:
            ours.add(self._nursery.process.pid)
        with contextlib.suppress(ChildProcessError):
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            while (found := os.waitid(os.P_ALL, 0, options)) and found.si_pid not in ours:
                os.waitpid(found.si_pid, 0)

    def _replace_if_hung(self, process: Process, said: bytes, now_s: float) -> None:
        """Start another in the place of a process that does not work."""
        limit_s = SILENT_S[process.role]
        is_silent = now_s - process.heard_s > limit_s
        if process.killed_at_s is not None:
            if is_silent or now_s > process.killed_at_s:
                process.signal(signal.SIGKILL)
            return
        if is_silent:
            process.killed_at_s = now_s
            process.signal(signal.SIGKILL)
            self._note_replaced(process, "silent", f"nothing was heard of it for {limit_s:g} s")
        elif STUCK in said:
            process.killed_at_s = now_s + self.settings.timeout_s + 10
            process.signal(signal.SIGUSR1)  # what its loop answers it may still answer
            self._note_replaced(process, "stuck", "all threads of a pool are past their deadlines")

    def _note_replaced(self, process: Process, reason: str, why: str) -> None:
        from mapyard.http import metrics

        log.error("%s process %d is replaced: %s", process.role, process.child.pid, why)
        metrics.REPLACED.labels(reason).inc()
        self._due.append((time.monotonic(), process.role))

    def _plan_restart(self, process: Process, code: int) -> None:
        from mapyard.http import metrics

        lived_s = time.monotonic() - process.started_s
        if lived_s >= SHORT_LIFE_S:
            self._pause_s = 0.0
        log.error(
            "%s process %d died (%s) after %.0f s; starting another in %.1f s",
            process.role, process.child.pid, _describe_exit(code), lived_s, self._pause_s,
        )  # fmt: skip
        self._due.append((time.monotonic() + self._pause_s, process.role))
        self._pause_s = min(LONGEST_PAUSE_S, max(0.5, self._pause_s * 2))
        metrics.RESTARTS.labels(process.role).inc()

    def _forget(self, process: Process) -> None:
        from mapyard.http import metrics

        self._processes.remove(process)
        process.lifeline.close()
        metrics.forget_process(process.child.pid)

    def _stop(self, number: int, wakeup: _Wakeup) -> None:
        """Let the workers end, then the jobs: the last usage is entered when all have answered."""
        for sock in self._sockets:
            sock.close()
        wait_s = self.settings.timeout_s + self.settings.drain_s + 10
        for role in ("web", "jobs"):
            ends_s = time.monotonic() + wait_s
            processes = [process for process in self._processes if process.role == role]
            for process in processes:
                process.signal(number)
            while any(process.child.poll() is None for process in processes):
                if time.monotonic() > ends_s:
                    log.error("processes did not end within %.0f s and were killed", wait_s)
                    for process in processes:
                        process.signal(signal.SIGKILL)
                    ends_s = float("inf")
                wakeup.wait([])
            for process in processes:
                process.lifeline.close()


class _Wakeup:
    """Sleeps until a signal comes, a child says something, or half a second has passed."""

    def __enter__(self) -> _Wakeup:
        self._reader, writer = socket.socketpair()
        self._writer = writer
        self._reader.setblocking(False)
        writer.setblocking(False)
        self._old_fd = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._old_handlers = {
            number: signal.signal(number, lambda *_: None)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT)
        }
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def wait(self, others: list[socket.socket]) -> None:
        """Return after a signal, when one of `others` can be read, or after half a second."""
        readable, _, _ = select.select([self._reader, *others], [], [], 0.5)
        if self._reader in readable:
            with contextlib.suppress(BlockingIOError):
                self._reader.recv(4_096)


def check_port(settings: Settings) -> None:
    """Raise CannotServe now, before long work, when the address cannot be served."""
    for sock in open_sockets(settings.host, settings.port):
        sock.close()


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets; 127.0.0.1 and localhost bring ::1 along where there is IPv6."""
    hosts = ["127.0.0.1", "::1"] if host in ("127.0.0.1", "localhost") else [host]
    sockets: list[socket.socket] = []
    try:
        for name in hosts:
            try:
                found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            except socket.gaierror:
                raise CannotServe(
                    f"the host '{name}' is not known; set another one with --host or MAPYARD_HOST"
                ) from None
            family, kind, protocol, _, address = found[0]
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError:
                continue  # a machine without IPv6
            sockets.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                sock.bind(address)
            except OSError as error:
                if name == "::1" and error.errno == errno.EADDRNOTAVAIL:
                    sockets.pop().close()
                    continue
                raise CannotServe(_describe_bind(name, port, error)) from None
            sock.listen(BACKLOG)
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _describe_bind(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use by another program; "
            "choose another one with --port or MAPYARD_PORT"
        )
    if error.errno == errno.EACCES:
        return (
            f"port {port} may not be opened by this user; choose one above 1023 with --port or "
            "MAPYARD_PORT"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return (
            f"{host} is not an address of this machine; set another one with --host or MAPYARD_HOST"
        )
    return f"cannot listen on port {port} of {host}: {error.strerror}"


def _describe_exit(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"
