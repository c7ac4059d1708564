"""Start `mapyard serve` for a test, on a free port of loopback, and stop it after."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import psutil

METRICS_TOKEN = "token of the tests"
COMMAND = Path(sys.executable).with_name("mapyard")


class Server:
    """A running server: its process, address, key and log."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, key: str, log: Path) -> None:
        self.process = process
        self.port = port
        self.key = key
        self.log = log
        self.address = f"http://127.0.0.1:{port}"

    def get(self, path: str, **options: object) -> httpx.Response:
        """Ask on a connection of its own, so that any worker may answer."""
        return httpx.get(
            self.address + path,
            headers={"X-API-Key": self.key},
            timeout=20,
            **options,  # type: ignore[arg-type]
        )

    def post(self, path: str, **options: object) -> httpx.Response:
        """Ask with a body, likewise."""
        headers = {"X-API-Key": self.key, **options.pop("headers", {})}  # type: ignore[dict-item]
        return httpx.post(self.address + path, headers=headers, timeout=20, **options)  # type: ignore[arg-type]

    def metrics(self) -> str:
        """Return the metrics, asked for with the operator's token."""
        headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
        return httpx.get(f"{self.address}/metrics", headers=headers, timeout=20).text

    def workers(self) -> list[psutil.Process]:
        """Return the processes that answer."""
        found = []
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):  # zombies too
                if child.name() == "mapyard-web":
                    found.append(child)
        return found

    def wait_until_ready(self, workers: int) -> None:
        """Return when all workers are up."""
        ends_s = time.monotonic() + 300
        while time.monotonic() < ends_s:
            if self.process.poll() is not None:
                raise AssertionError(self.log.read_text())
            if f"with {workers} workers" in self.log.read_text():
                return
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.log.read_text()}")


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def copy_data(data: Path, target: Path) -> Path:
    """Copy a data folder, its files as links, but not its lock: a copy has builds of its own."""
    leave = shutil.ignore_patterns("build.lock")
    shutil.copytree(data, target, symlinks=True, copy_function=os.link, ignore=leave)
    return target


@contextlib.contextmanager
def running(
    data: Path, log: Path, workers: int = 1, before: Sequence[str] = (), **environment: str
) -> Iterator[Server]:
    """Serve a data folder, with one account on the Enterprise plan; `before` starts the command."""
    from mapyard.accounts import registry
    from mapyard.accounts.open import ensure_owner, open_accounts

    database = open_accounts(data)
    key = ensure_owner(database)
    if key is None:
        owner = registry.list_accounts(database)[0]
        _, key = registry.create_key(database, owner.id)
    database.close()
    port = free_port()
    variables = {
        "MAPYARD_ACCESS_LOG": str(log.with_suffix(".access")),
        "MAPYARD_DRAIN_S": "0",
        "MAPYARD_METRICS_TOKEN": METRICS_TOKEN,
        "MAPYARD_PAGES_PER_MINUTE": "0",  # all tests come from one address
        "MAPYARD_UPDATES": "off",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*before, COMMAND, "serve", "--port", str(port), "--workers", str(workers)],
            env={**os.environ, "MAPYARD_DATA": str(data), **variables, **environment},
            stdout=output,
            stderr=output,
        )
    server = Server(process, port, key, log)
    try:
        server.wait_until_ready(workers)
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)  # the supervisor kills what does not end by itself sooner
        except subprocess.TimeoutExpired:
            for child in psutil.Process(process.pid).children(recursive=True):
                print(child.status(), child.cmdline())  # noqa: T201 - why it did not end
                child.kill()
            process.kill()
            raise
