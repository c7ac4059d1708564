"""Progress of long work: a live bar on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def memory_bytes() -> int:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


class Reporter:
    """Tells what happens: `stage()` begins a piece of work, `advance()` says how far it is."""

    def __init__(self, console: Console | None = None, quiet: bool = False) -> None:
        self._console = console or Console(stderr=True)
        self._quiet = quiet
        self._live = None if quiet or not self._console.is_terminal else self._make_live()
        self._task: TaskID | None = None
        self._name = ""
        self._unit = ""
        self._started_s = time.monotonic()
        self._shown_s = 0.0
        #: (stage, seconds) of finished stages.
        self.stages: list[tuple[str, float]] = []
        self.peak_memory_bytes = 0

    def _make_live(self) -> Progress:
        return Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[amount]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("[dim]{task.fields[memory]}"),
            console=self._console,
        )

    def __enter__(self) -> Reporter:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._finish()
        if self._live:
            self._live.stop()

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage; `total` in `unit`s if known."""
        self._finish()
        self._name, self._unit, self._started_s = name, unit, time.monotonic()
        if self._live:
            self._task = self._live.add_task(name, total=total, amount="", memory="")
        elif not self._quiet:
            print(f"{name} …", file=sys.stderr, flush=True)  # noqa: T201

    def advance(self, done: int) -> None:
        """Say how many units are done; cheap enough to call for every block."""
        now = time.monotonic()
        if now - self._shown_s < 0.1:
            return
        self._shown_s = now
        memory = memory_bytes()
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory)
        if self._live and self._task is not None:
            rate = done / max(1e-6, now - self._started_s)
            self._live.update(
                self._task,
                completed=done,
                amount=f"{done:,} {self._unit} ({rate:,.0f}/s)",
                memory=f"{memory / 1e6:,.0f} MB",
            )

    def _finish(self) -> None:
        if not self._name:
            return
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory_bytes())
        self.stages.append((self._name, time.monotonic() - self._started_s))
        if self._live and self._task is not None:
            task = self._live.tasks[self._live.task_ids.index(self._task)]
            total = task.total or task.completed or 1
            self._live.update(self._task, total=total, completed=total)
        self._name, self._task = "", None


class LineReporter(Reporter):
    """Hands a line per stage to a function, such as `print`."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(quiet=True)
        self._tell = tell

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage, and tell it."""
        super().stage(name, total, unit)
        self._tell(f"{name} …")
