"""A step of a build in a process of its own, so that parts are built side by side.

`StepProcess` starts and follows one; run as a module, this is the process. It ends, with all that
it started, when the build does, whatever ends that: its standard input is closed then.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from mapyard.builder.pipeline import StepContext
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.errors import MapyardError
from mapyard.osm.pbf import Header
from mapyard.settings import Settings

_SAY_S: Final = 0.1


class Task(NamedTuple):
    """What the process is told: the part, and what its context holds."""

    part: str
    folder: Path
    source: Path
    data: Path
    settings: Settings
    header: Header
    #: Whether it does only what can be done before there is a store.
    prepares: bool = False
    #: On how many cores it may work where others do not.
    jobs: int = 1
    #: In how many threads other programs may work, None for one per core.
    threads: int | None = None


class StepProcess:
    """A running step. `fd` can be read when it says something."""

    def __init__(self, task: Task) -> None:
        self.part, self.prepares = task.part, task.prepares
        self.fd, writing = os.pipe()
        os.set_blocking(self.fd, False)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", __name__, str(writing)],
                stdin=subprocess.PIPE,
                pass_fds=[writing],
                process_group=0,  # a Ctrl-C reaches the build only, which ends this
            )
        finally:
            os.close(writing)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it is told by its end
            self._process.stdin.write(pickle.dumps(task))
            self._process.stdin.flush()
        self._rest = b""
        self._said: dict[str, Any] = {}

    def read(self) -> list[dict[str, Any]] | None:
        """Return what it said since, None when it has ended."""
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return []
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        said = [msgspec.json.decode(line) for line in lines]
        for one in said:
            self._said |= one
        return said

    def result(self) -> dict[str, Any]:
        """Return its figures once it has ended; raise what made it fail."""
        self.close()
        if "figures" in self._said:
            figures: dict[str, Any] = self._said["figures"]
            return figures
        if "errno" in self._said:
            raise OSError(self._said["errno"], self._said["failed"])
        if "code" in self._said:
            raise MapyardError(
                self._said["failed"], code=self._said["code"], status=self._said["status"]
            )
        if "failed" in self._said:
            raise RuntimeError(self._said["failed"])
        code = self._process.returncode
        raise MapyardError(
            f"the part {self.part} was killed, most likely for lack of memory"
            if code == -signal.SIGKILL
            else f"the part {self.part} ended with code {code}, without a word"
        )

    def close(self) -> None:
        """End it, with all that it started."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class _PipeReporter(Reporter):
    """Says its stages to the build."""

    def __init__(self, fd: int) -> None:
        super().__init__(quiet=True)
        self._fd = fd
        self._said_s = 0.0

    def say(self, **words: Any) -> None:
        """Write one line."""
        with contextlib.suppress(BrokenPipeError):
            data = msgspec.json.encode(words) + b"\n"
            while data:
                data = data[os.write(self._fd, data) :]

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage, and say it."""
        self.say(stage=name, total=total, unit=unit)

    def advance(self, done: int) -> None:
        """Say how far it is, some times a second."""
        now_s = time.monotonic()
        if now_s - self._said_s >= _SAY_S:
            self._said_s = now_s
            self.say(done=int(done))


def _end_with_the_build() -> None:
    """Kill this process, and the programs that it started, when the build is gone."""
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


def main(fd: int) -> int:
    """Run the step that standard input names."""
    reporter = _PipeReporter(fd)
    try:
        task: Task = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the build itself
        threading.Thread(target=_end_with_the_build, daemon=True).start()
        step = select_steps([task.part])[-1]
        ctx = StepContext(
            task.folder, task.source, task.data, task.settings, reporter, header=task.header,
            jobs=task.jobs, threads=task.threads,
        )  # fmt: skip
        if task.prepares:
            assert step.prepare is not None
            step.prepare(ctx)
            reporter.say(figures={})
        else:
            reporter.say(figures=dict(step.run(ctx) or {}))
    except MapyardError as error:
        reporter.say(failed=error.message, code=error.code, status=error.status)
    except OSError as error:
        reporter.say(failed=str(error), errno=error.errno)
    except BaseException:
        reporter.say(failed=traceback.format_exc())
    return 0


if __name__ == "__main__":
    code = main(int(sys.argv[1]))
    os._exit(code)  # the thread still reads
