"""Three Ray nodes on loopback addresses, each with a data folder and an HTTP server of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

PYTHON = sys.executable
TOKEN = "0123456789abcdef" * 4
BIN = Path(sys.executable).parent


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def wait_for(what: Callable[[], Any], seconds: float = 300.0) -> Any:
    """Return the first true answer; fail when it does not come."""
    ends = time.monotonic() + seconds
    while True:
        with contextlib.suppress(httpx.TransportError, OSError, subprocess.SubprocessError):
            if found := what():
                return found
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.2)


class RayNode:
    """A raylet with its workers in a session of their own, so that all of it can be killed."""

    def __init__(self, folder: Path, number: int, head: str, environment: dict[str, str]) -> None:
        self.ip = f"127.0.0.{number + 1}"  # Ray takes 127.0.0.1 for another address
        self.data = folder / f"node{number}"
        self.data.mkdir(exist_ok=True)
        (self.data / "secret").write_text("0" * 64)
        self.head = head
        self.environment = {
            **os.environ, **environment, "MAPYARD_DATA": str(self.data),
            "MAPYARD_FLEET_GRACE_S": "3", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN,
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_health_check_period_ms": "500", "RAY_health_check_failure_threshold": "4",
            "RAY_health_check_initial_delay_ms": "500", "RAY_raylet_start_wait_time_s": "120",
        }  # fmt: skip
        place = ["--address", head]
        if number == 1:
            place = ["--head", "--port", head.partition(":")[2], "--include-dashboard=false"]
        self.log = folder / f"node{number}.log"
        self.process = self._start(
            [str(BIN / "ray"), "start", *place, f"--node-ip-address={self.ip}", "--num-cpus=2",
             "--object-store-memory=100000000", "--block"],
            self.environment,
        )  # fmt: skip
        self.server: subprocess.Popen[bytes] | None = None
        self.port = 0
        # One after the other: nodes that start at once on a busy machine give up.
        wait_for(lambda: b"Ray runtime started" in self.log.read_bytes())

    def _start(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def serve(self, **settings: str) -> None:
        """Start `mapyard fleet serve` on this node."""
        self.port = free_port()
        self.server = self._start(
            [str(BIN / "mapyard"), "fleet", "serve", "--ray", f"{self.head}@{self.ip}",
             "--port", str(self.port), "--workers", "1", "--data", str(self.data)],
            {**self.environment, **settings},
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def is_ready(self) -> bool:
        return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200

    def pids(self) -> list[int]:
        """All processes of the raylet's session."""
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = path.read_text().rpartition(")")[2].split()
                if int(fields[3]) == self.process.pid:
                    found.append(int(path.parent.name))
        return found

    def datasets(self) -> list[Path]:
        """Return the datasets on the node's disk."""
        return [path.parent for path in (self.data / "datasets").glob("*/manifest.json")]

    def kill(self) -> None:
        """End all of it at once, as a power failure would."""
        pids = self.pids()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.stop_server()

    def stop_server(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)
            try:
                self.server.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.server.pid, signal.SIGKILL)
                self.server.wait()
            self.server = None
