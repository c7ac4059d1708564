"""Ask a running demo for a tile, an address and a route, as scripts do that try an installation."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

#: What is asked, and what must be in the answer.
QUESTIONS = (
    ("/api/v1/tiles/14/8529/5974", b"streets"),
    ("/api/v1/geocode?q=Rue%20Grimaldi%205%20Monaco", b"Rue Grimaldi"),
    ("/api/v1/route?origin=43.7384,7.4246&destination=43.7314,7.4197", b"LineString"),
    ("/api/v1/elevation?lat=43.7384&lng=7.4246", b"elevation_m"),
)


class Failed(Exception):  # noqa: N818 - named for what it says
    """Something does not work as it should."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ask_demo(port: int, key_file: Path, process: subprocess.Popen[Any], wait_s: int = 300) -> None:
    """Wait for a demo and ask it; raise Failed with what went wrong."""
    base = f"http://127.0.0.1:{port}"
    limit_s = time.monotonic() + wait_s
    while True:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{base}/readyz", timeout=5).close()
            break
        if process.poll() is not None or time.monotonic() > limit_s:
            raise Failed(f"the demo does not answer (exit code {process.poll()})")
        time.sleep(0.5)
    headers = {"X-API-Key": key_file.read_text().strip()}
    for path, part in QUESTIONS:
        try:
            request = urllib.request.Request(base + path, headers=headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                body = answer.read()
        except urllib.error.HTTPError as error:
            raise Failed(f"{path} answered {error.code}: {error.read()[:300]!r}") from None
        if part not in body:
            raise Failed(f"{path} answered without {part!r}: {body[:300]!r}")
