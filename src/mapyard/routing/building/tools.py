"""Run the engine's build programs, which come inside the pyvalhalla wheel."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import valhalla

from mapyard.errors import MapyardError

#: A disk with less room is taken for full, and how often it is looked at: SQLite gives back at once
#: what did not suffice.
_FULL_BYTES: Final = 16 << 20
_LOOK_S: Final = 0.05


class RoutingBuildFailed(MapyardError):  # noqa: N818 - named after its code
    """A build program of the routing engine gave up; the message holds its last lines."""

    status, code = 422, "routing_build_failed"


def run_tool(
    name: str,
    arguments: Sequence[str | Path],
    folder: Path,
    on_line: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a program of the wheel, giving each line that it logs to `on_line`.

    Raises `RoutingBuildFailed` with the last lines when it fails or dies of a signal, and OSError
    where the disk of `folder`, in which it writes, was full meanwhile: it says so in no way.
    """
    program = Path(valhalla.__file__).parent / "bin" / name
    _run(name, [program, *arguments], folder, on_line)


def run_module(name: str, arguments: Sequence[str | Path], folder: Path) -> None:
    """Run a Python module of the wheel in a process of its own, as `run_tool` does a program."""
    _run(name, [sys.executable, "-m", name, *arguments], folder, lambda _: None)


class _Room:
    """Looks at how little room a disk has while a program runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.was_full = False

    def look(self) -> None:
        """Look once."""
        self.was_full |= shutil.disk_usage(self._folder).free < _FULL_BYTES

    def _watch(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            self.look()

    def __enter__(self) -> _Room:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


def _run(
    name: str, command: Sequence[str | Path], folder: Path, on_line: Callable[[str], None]
) -> None:
    last_lines: deque[str] = deque(maxlen=8)
    with (
        _Room(folder) as room,
        # It dies of its next line when this process is killed: nobody reads its output any more.
        subprocess.Popen(  # noqa: S603 - fixed programs, arguments are our own paths
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            # "2026-04-06 20:21:15.123 [INFO] Parsing ways..." -> "Parsing ways..."
            text = line.rstrip().split("] ", 1)[-1]
            last_lines.append(text)
            room.look()
            on_line(text)
    if process.returncode:
        room.look()
        if room.was_full:
            raise OSError(
                errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {name} was writing in {folder}"
            )
        ending = " | ".join(last_lines)
        reason = (
            "was killed, most likely for lack of memory"
            if process.returncode == -signal.SIGKILL
            else f"was ended by signal {-process.returncode}"
            if process.returncode < 0
            else f"failed with exit code {process.returncode}"
        )
        raise RoutingBuildFailed(f"{name} {reason}: {ending}")
