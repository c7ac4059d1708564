"""Progress of long work: what runs, how much of all is done, and how long the rest will take.

On a terminal two lines stay at the bottom, the running stage and the whole; of each part that is
finished one line is left. Elsewhere there is a line at the begin of each stage.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
#: Between two looks at how far a stage is, and between two lines of one stage in a log, seconds.
_LOOK_S: Final = 0.1
_LINE_S: Final = 60.0
_BAR_WIDTH: Final = 24
_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
#: Of a part that takes longer than expected, so much of what it took is still to come, at least.
_LEAST_REST: Final = 0.1


def memory_bytes() -> int:
    """Return the resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


def format_time(seconds: float) -> str:
    """Return a duration as people write it."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


class Plan:
    """How much is done of parts one after the other, and how long the rest will take.

    What the rest takes is what was expected of it, times how much longer the finished parts took
    than was expected of them.
    """

    def __init__(self, parts: Iterable[tuple[str, float]]) -> None:
        #: Part → seconds that are expected of it, or that it took.
        self._rest = dict(parts)
        self._expected = self._taken = 0.0
        self._name = ""
        self._begun_s = 0.0
        self._share = 0.0

    def begin(self, name: str, now_s: float) -> None:
        """Begin a part, and so end the one before; a name that is none of the plan ends it only."""
        if name == self._name:
            return
        if self._name in self._rest:
            self._expected += self._rest.pop(self._name)
            self._taken += now_s - self._begun_s
        self._name, self._begun_s = name, now_s

    def left_s(self, now_s: float) -> float:
        """Return how long the rest will take."""
        slower = self._taken / self._expected if self._taken > 1 and self._expected else 1.0
        left_s = 0.0
        for name, expected_s in self._rest.items():
            rest_s = expected_s * slower
            if name == self._name:
                spent_s = now_s - self._begun_s
                rest_s = max(rest_s - spent_s, _LEAST_REST * spent_s)
            left_s += rest_s
        return left_s

    def share(self, now_s: float) -> float:
        """Return how much of all is done by time, 0…1; it never goes back."""
        spent_s = self._taken + (now_s - self._begun_s if self._name in self._rest else 0.0)
        left_s = self.left_s(now_s)
        if spent_s + left_s > 0:
            self._share = max(self._share, spent_s / (spent_s + left_s))
        return self._share


class Reporter:
    """Tells what happens: `stage()` begins a piece of work, `advance()` says how far it is.

    Stages are named "part: what is done"; those of one part in a row belong together.
    """

    def __init__(self, console: Console | None = None, quiet: bool = False) -> None:
        self._console = console or Console(stderr=True)
        self._quiet = quiet
        self._plan: Plan | None = None
        self._name = self._unit = ""
        self._total: int | None = None
        self._done = 0
        self._begun_s = self._part_begun_s = time.monotonic()
        self._looked_s = self._told_s = 0.0
        #: (stage, seconds) of finished stages.
        self.stages: list[tuple[str, float]] = []
        self.peak_memory_bytes = 0
        is_live = not quiet and self._console.is_terminal and not self._console.is_dumb_terminal
        self._live = self._make_live() if is_live else None

    def _make_live(self) -> Live:
        return Live(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=8,
            transient=True,
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
        part = self._part
        self._finish()
        if part and kind is None:
            self._fold(part)
        if self._live:
            self._live.stop()

    @property
    def _part(self) -> str:
        return self._name.partition(":")[0]

    def plan(self, parts: Iterable[tuple[str, float]]) -> None:
        """Say which parts will come and how many seconds are expected of each."""
        self._plan = Plan(parts)

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage; `total` in `unit`s if known."""
        before = self._part
        self._finish()
        self._name, self._unit, self._total, self._done = name, unit, total, 0
        self._begun_s = self._told_s = time.monotonic()
        if self._part != before:
            if before:
                self._fold(before)
            self._part_begun_s = self._begun_s
        if self._plan:
            self._plan.begin(self._part, self._begun_s)
        self._tell(f"{name} …{self._describe_whole()}")

    def advance(self, done: int) -> None:
        """Say how many units are done; cheap enough to call for every block."""
        now_s = time.monotonic()
        self._done = done
        if now_s - self._looked_s < _LOOK_S:
            return
        self._looked_s = now_s
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory_bytes())
        if now_s - self._told_s >= _LINE_S:
            self._told_s = now_s
            taken = format_time(now_s - self._begun_s)
            self._tell(f"{self._name} … {self._amount()} after {taken}{self._describe_whole()}")

    def _finish(self) -> None:
        if not self._name:
            return
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory_bytes())
        self.stages.append((self._name, time.monotonic() - self._begun_s))
        self._name = ""

    def _fold(self, part: str) -> None:
        """Leave one line of a part that is finished."""
        taken = format_time(time.monotonic() - self._part_begun_s)
        if self._live:
            line = Text.assemble(("✓ ", "green"), (part, "bold"), f"  {taken}")
            self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        else:
            self._tell(f"{part}: done in {taken}")

    def _tell(self, line: str) -> None:
        if not self._live and not self._quiet:
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    def _amount(self) -> str:
        if not self._done:
            return ""
        if self._total and self._unit == "%":
            return f"{self._done} %"
        of_all = f" of {self._total:,}" if self._total else ""
        return f"{self._done:,}{of_all} {self._unit}".rstrip()

    def _describe_whole(self) -> str:
        if self._plan is None:
            return ""
        now_s = time.monotonic()
        share, left_s = self._plan.share(now_s), self._plan.left_s(now_s)
        return f" ({100 * share:.0f} % of all, about {format_time(left_s)} left)"

    def _render(self) -> Group:
        if not self._name:
            return Group()
        now_s, width = time.monotonic(), self._console.width
        spent_s = now_s - self._begun_s
        rate = f"{self._done / spent_s:,.0f}/s" if self._done > 1_000 and spent_s > 1 else ""
        # What there is no room for is left out, the last first.
        more = [format_time(spent_s), self._amount(), rate]
        turn = _SPINNER[int(now_s * 8) % len(_SPINNER)]
        head = Text.assemble(f"{turn} ", (self._name, "bold"), _fit(more, width, self._name))
        lines = [_one_line(head)]
        if self._plan is not None:
            share = self._plan.share(now_s)
            filled = round(share * _BAR_WIDTH)
            whole = f"{100 * share:.0f} %"
            rest = [
                f"about {format_time(self._plan.left_s(now_s))} left",
                f"{memory_bytes() / 1e6:,.0f} MB",
            ]
            bar = Text.assemble(
                ("━" * filled, "green"), ("━" * (_BAR_WIDTH - filled), "dim"), f" {whole}",
                (_fit(rest, width, "x" * _BAR_WIDTH + whole), "dim"),
            )  # fmt: skip
            lines.append(_one_line(bar))
        return Group(*lines)


def _fit(pieces: list[str], width: int, before: str) -> str:
    """Return those pieces, two spaces before each, that fit into a line beside what it has."""
    room, line = width - len(before) - 3, ""
    for piece in filter(None, pieces):
        if len(line) + len(piece) + 2 > room:
            break
        line += f"  {piece}"
    return line


def _one_line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


class LineReporter(Reporter):
    """Hands a line per stage to a function, such as `print`."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(quiet=True)
        self._hand = tell

    def _tell(self, line: str) -> None:
        self._hand(line)
