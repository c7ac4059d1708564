"""Run the engine's build programs, which come inside the pyvalhalla wheel."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import valhalla

from mapyard.errors import MapyardError


class RoutingBuildFailed(MapyardError):  # noqa: N818 - named after its code
    """A build program of the routing engine gave up; the message holds its last lines."""

    status, code = 422, "routing_build_failed"


def run_tool(
    name: str, arguments: Sequence[str | Path], on_line: Callable[[str], None] = lambda _: None
) -> None:
    """Run a program of the wheel, giving each line that it logs to `on_line`.

    Raises `RoutingBuildFailed` with the last lines when it fails or dies of a signal.
    """
    program = Path(valhalla.__file__).parent / "bin" / name
    _run(name, [program, *arguments], on_line)


def run_module(name: str, arguments: Sequence[str | Path]) -> None:
    """Run a Python module of the wheel in a process of its own."""
    _run(name, [sys.executable, "-m", name, *arguments], lambda _: None)


def _run(name: str, command: Sequence[str | Path], on_line: Callable[[str], None]) -> None:
    last_lines: deque[str] = deque(maxlen=8)
    with subprocess.Popen(  # noqa: S603 - fixed programs, arguments are our own paths
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            # "2026-04-06 20:21:15.123 [INFO] Parsing ways..." -> "Parsing ways..."
            text = line.rstrip().split("] ", 1)[-1]
            last_lines.append(text)
            on_line(text)
    if process.returncode:
        ending = " | ".join(last_lines)
        reason = (
            "was killed, most likely for lack of memory"
            if process.returncode == -signal.SIGKILL
            else f"was ended by signal {-process.returncode}"
            if process.returncode < 0
            else f"failed with exit code {process.returncode}"
        )
        raise RoutingBuildFailed(f"{name} {reason}: {ending}")
