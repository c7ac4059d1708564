"""Private servers of PostgreSQL and Redis, and a proxy before them that can fall silent."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mapyard.accounts.database import open_database


def find_server() -> Path | None:
    """Return the folder of PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


POSTGRESQL = find_server()
REDIS = shutil.which("redis-server") or shutil.which("valkey-server")


@contextlib.contextmanager
def running_postgresql() -> Iterator[str]:
    """Run a private cluster; yields its URL."""
    folder = Path(tempfile.mkdtemp(prefix="mapyard-postgresql-"))  # where its user may look
    user: dict[str, object] = {}
    if os.geteuid() == 0:  # the server does not run as root
        try:
            shutil.chown(folder, "postgres", "postgres")
        except LookupError:
            pytest.skip("needs the user postgres when run as root")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    assert POSTGRESQL is not None
    data = folder / "data"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    initdb = [POSTGRESQL / "initdb", "-D", data, "-U", "mapyard", "-A", "trust", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, cwd="/", **user)  # type: ignore[call-overload]
    server = subprocess.Popen(  # type: ignore[call-overload]
        [POSTGRESQL / "postgres", "-D", data, "-p", str(port), "-k", folder,
         "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
        stderr=subprocess.DEVNULL, cwd="/", **user,
    )  # fmt: skip
    try:
        url = f"postgresql://mapyard@127.0.0.1:{port}/postgres"
        database = open_database(folder / "none", url)
        for _ in range(200):
            try:
                database.engine.connect().close()
                break
            except Exception:  # not up yet
                time.sleep(0.05)
        database.close()
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # does not wait for clients, as SIGTERM would
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running_redis(folder: Path) -> Iterator[int]:
    """Run a private Redis; yields its port."""
    assert REDIS is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [REDIS, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait(20)


class Proxy:
    """Passes bytes on to a port of loopback; `is_silent` stops that and keeps connections open."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.is_silent = False
        self.delay_s = 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End all connections, and take no more."""
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """End all connections."""
        held, self._open = self._open, []
        for connection in held:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                front, _ = self._listener.accept()
                try:
                    back = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    front.close()
                    continue
                self._open += [front, back]
                for source, sink in ((front, back), (back, front)):
                    threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while part := source.recv(65_536):
                while self.is_silent:
                    time.sleep(0.02)
                time.sleep(self.delay_s)
                sink.sendall(part)
            sink.shutdown(socket.SHUT_WR)
        except OSError:  # one side is gone, as after a kill: the other must learn of it
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
