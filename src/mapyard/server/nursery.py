"""The process that all others are forked from.

`python -m mapyard.server.nursery CONTROL_FD ASKED_FD` reads all modules once, which takes seconds,
and then forks in milliseconds: workers and the background jobs where the supervisor asks for them
over CONTROL_FD, processes for queries where a worker asks for one over ASKED_FD. It opens no
dataset and runs no thread, so that forking is safe; what it has in memory is shared with all.

Workers become children of the supervisor (which adopts orphans), so this process may die without
harm: the supervisor starts another, and what was asked for meanwhile waits in the sockets.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from mapyard.errors import MapyardError
from mapyard.server.memory import keep_freed
from mapyard.server.names import set_process_name
from mapyard.settings import get_settings

log = logging.getLogger(__name__)

#: Exit code of a process that cannot start: starting it again would not help.
CANNOT_START: Final = 3
_READY: Final = b"r"
_MOST_FDS: Final = 16
#: A fork that takes longer is not going to come, seconds.
_FORK_S: Final = 20.0
_PR_SET_CHILD_SUBREAPER: Final = 36


class Nursery:
    """The supervisor's side."""

    def __init__(self, asked: socket.socket, environment: Mapping[str, str]) -> None:
        self.control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(_FORK_S)
        fds = [other.fileno(), asked.fileno()]
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", __name__, *map(str, fds)],
            pass_fds=fds,
            env=environment,
            stdin=subprocess.DEVNULL,
            process_group=0,  # a Ctrl-C in the terminal reaches the supervisor only
        )
        other.close()
        self.started_s = time.monotonic()
        self.is_ready = False

    def look(self) -> None:
        """Notice that it is ready."""
        if not self.is_ready and select.select([self.control], [], [], 0)[0]:
            self.is_ready = self.control.recv(1) == _READY

    def fork(self, role: str, sockets: list[socket.socket]) -> Child | None:
        """Return a new process that runs as `role` with these sockets; None if there is none."""
        try:
            fds = [sock.fileno() for sock in sockets]
            socket.send_fds(self.control, [role.encode()], fds)
            pid = int(self.control.recv(32) or b"0")
        except OSError:
            pid = 0
        if not pid:
            self.process.kill()  # it may hang; its end is seen by the supervisor
            return None
        return Child(pid)

    def close(self) -> None:
        """Let it end."""
        self.control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
            return
        self.process.kill()
        self.process.wait()


class Child:
    """A process that was forked for us: what is needed of subprocess.Popen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


def adopt_orphans() -> None:
    """Become the parent of what forked processes leave behind."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def main(arguments: list[str]) -> int:
    """Fork what is asked for, until the control socket ends."""
    from mapyard.http.access_log import set_up_logging

    control, asked = (socket.socket(fileno=int(fd)) for fd in arguments)
    keep_freed()
    settings = get_settings()
    set_up_logging(settings.log_level, in_thread=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the supervisor decides
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave no zombies
    set_process_name("mapyard-nursery")
    try:
        from mapyard.server.queries.process import Forker
        from mapyard.server.worker import main as run_worker

        forker = Forker(settings, asked)
    except MapyardError as error:
        log.error("cannot start: %s", error.message)
        return CANNOT_START
    gc.collect()
    gc.freeze()
    control.send(_READY)
    while True:
        readable, _, _ = select.select([control, asked], [], [])
        if asked in readable:
            forker.fork()
        if control in readable:
            try:
                data, fds, _, _ = socket.recv_fds(control, 64, _MOST_FDS)
            except ConnectionResetError:  # killed before it read our last answer
                return 0
            if not data:
                return 0
            role = data.decode()
            pid = _fork_orphan()
            if not pid:
                control.close()
                asked.close()
                _become(role)
                _run(lambda: run_worker([role, *map(str, fds)]))  # noqa: B023 - it never returns
            for fd in fds:
                os.close(fd)
            with contextlib.suppress(BrokenPipeError):  # the end is seen by the next look
                control.send(str(pid).encode())


def _fork_orphan() -> int:
    """Fork a process whose parent has ended; return its id here, and 0 in it."""
    reader, writer = os.pipe()
    middle = os.fork()
    if not middle:
        child = os.fork()
        if child:
            os.write(writer, str(child).encode())
            os._exit(0)
        os.close(reader)
        os.close(writer)
        return 0
    os.close(writer)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(middle, 0)  # from here on the supervisor is the parent
    try:
        return int(os.read(reader, 32))
    finally:
        os.close(reader)


def _become(role: str) -> None:
    os.setpgid(0, 0)
    set_process_name(f"mapyard-{role}")
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def _run(job: Callable[[], int]) -> NoReturn:
    """Run a process to its end; what other parts of the family would do at exit is not done."""
    code = 1
    try:
        code = job()
    except BaseException:  # the process ends here, whatever it was
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
