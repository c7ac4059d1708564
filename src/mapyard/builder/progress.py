"""Progress of long work: what runs, how much of all is done, and how long the rest will take.

On a terminal some lines stay at the bottom, the running stages and the whole; of each part that is
finished one line is left. Elsewhere there is a line at the begin of each stage.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from io import RawIOBase
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
    """How much is done of some parts, and how long the rest will take.

    What the rest takes is what was expected of it, times how much longer the finished parts took
    than was expected of them. Up to `jobs` parts run at a time.
    """

    def __init__(self, parts: Iterable[tuple[str, float]], jobs: int = 1) -> None:
        #: Part → seconds that are expected of it.
        self._rest = dict(parts)
        self._jobs = jobs
        self._expected = self._taken = 0.0
        self._running: dict[str, float] = {}
        self._begun_s: float | None = None
        self._share = 0.0

    def begin(self, name: str, now_s: float) -> None:
        """Begin a part, if it is one of the plan."""
        if self._begun_s is None:
            self._begun_s = now_s
        if name in self._rest:
            self._running.setdefault(name, now_s)

    def end(self, name: str, now_s: float) -> None:
        """End a part."""
        begun_s = self._running.pop(name, None)
        if begun_s is not None:
            self._expected += self._rest.pop(name)
            self._taken += now_s - begun_s

    def left_s(self, now_s: float) -> float:
        """Return how long the rest will take."""
        slower = self._taken / self._expected if self._taken > 1 and self._expected else 1.0
        rests = [0.0]
        for name, expected_s in self._rest.items():
            rest_s = expected_s * slower
            if name in self._running:
                spent_s = now_s - self._running[name]
                rest_s = max(rest_s - spent_s, _LEAST_REST * spent_s)
            rests.append(rest_s)
        return max(max(rests), sum(rests) / self._jobs)

    def share(self, now_s: float) -> float:
        """Return how much of all is done by time, 0…1; it never goes back."""
        spent_s = 0.0 if self._begun_s is None else now_s - self._begun_s
        left_s = self.left_s(now_s)
        if spent_s + left_s > 0:
            self._share = max(self._share, spent_s / (spent_s + left_s))
        return self._share


class Lane:
    """Where stages run one after the other, named "part: what is done"."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.name = self.unit = ""
        self.total: int | None = None
        self.done = 0
        self.begun_s = self.part_begun_s = time.monotonic()
        self.looked_s = self.told_s = 0.0

    @property
    def part(self) -> str:
        """The part that the running stage belongs to."""
        return self.name.partition(":")[0]

    @property
    def amount(self) -> str:
        """How much is done, as people write it."""
        if not self.done:
            return ""
        if self.total and self.unit == "%":
            return f"{self.done} %"
        of_all = f" of {self.total:,}" if self.total else ""
        return f"{self.done:,}{of_all} {self.unit}".rstrip()

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage; `total` in `unit`s if known."""
        self._reporter.begin_stage(self, name, total, unit)

    def advance(self, done: int) -> None:
        """Say how many units are done; cheap enough to call for every block."""
        now_s = time.monotonic()
        self.done = done
        if now_s - self.looked_s >= _LOOK_S:
            self.looked_s = now_s
            self._reporter.look(self, now_s)

    def close(self) -> None:
        """End the last stage, and its part."""
        self._reporter.end_lane(self)


class Reporter:
    """Tells what happens: `stage()` begins a piece of work, `advance()` says how far it is.

    Stages are named "part: what is done"; those of one part in a row belong together. Parts side by
    side have a `lane()` each.
    """

    def __init__(self, console: Console | None = None, quiet: bool = False) -> None:
        self._console = console or Console(stderr=True)
        self._quiet = quiet
        self._plan: Plan | None = None
        #: Those that run, by name; the one without a name is that of `stage()`.
        self._lanes: dict[str, Lane] = {}
        #: (stage, seconds) of finished stages.
        self.stages: list[tuple[str, float]] = []
        self._log: RawIOBase | None = None
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
        for lane in list(self._lanes.values()):
            self.end_lane(lane, is_whole=kind is None)
        if self._live:
            self._live.stop()

    @contextlib.contextmanager
    def log_to(self, path: Path) -> Iterator[None]:
        """Write a line with its time for all that happens to the end of a file, too.

        A log that cannot be written, as on a full disk, keeps nothing from being done.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._log = stack.enter_context(path.open("ab", buffering=0))
            try:
                yield
            finally:
                self._log = None

    def note(self, text: str) -> None:
        """Write to the log only, where there is one."""
        if self._log is not None:
            with contextlib.suppress(OSError):
                self._log.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {text}\n".encode())

    def plan(self, parts: Iterable[tuple[str, float]], jobs: int = 1) -> None:
        """Say which parts will come, how many at a time, and the seconds expected of each."""
        self._plan = Plan(parts, jobs)

    def lane(self, name: str) -> Lane:
        """Return where the stages of a part run that is built beside others."""
        return self._lanes.setdefault(name, Lane(self))

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
        """Begin a stage; `total` in `unit`s if known."""
        self.lane("").stage(name, total, unit)

    def advance(self, done: int) -> None:
        """Say how many units are done; cheap enough to call for every block."""
        self.lane("").advance(done)

    def begin_stage(self, lane: Lane, name: str, total: int | None, unit: str) -> None:
        """Begin a stage of a lane."""
        part = lane.part
        self._end_stage(lane)
        now_s = time.monotonic()
        if part and part != name.partition(":")[0]:
            self._fold(lane, part)
            part = ""
        if not part:
            lane.part_begun_s = now_s
        lane.name, lane.total, lane.unit, lane.done = name, total, unit, 0
        lane.begun_s = lane.told_s = now_s
        if self._plan:
            self._plan.begin(lane.part, now_s)
        self._tell(f"{name} …{self._describe_whole()}")

    def look(self, lane: Lane, now_s: float) -> None:
        """Look at the memory, and tell how far a stage is that takes long."""
        self.peak_memory_bytes = max(self.peak_memory_bytes, memory_bytes())
        if now_s - lane.told_s >= _LINE_S:
            lane.told_s = now_s
            taken = format_time(now_s - lane.begun_s)
            self._tell(f"{lane.name} … {lane.amount} after {taken}{self._describe_whole()}")

    def end_lane(self, lane: Lane, *, is_whole: bool = True) -> None:
        """End the last stage of a lane."""
        part = lane.part
        self._end_stage(lane)
        self._lanes = {name: one for name, one in self._lanes.items() if one is not lane}
        if part and is_whole:
            self._fold(lane, part)

    def _end_stage(self, lane: Lane) -> None:
        if lane.name:
            self.peak_memory_bytes = max(self.peak_memory_bytes, memory_bytes())
            self.stages.append((lane.name, time.monotonic() - lane.begun_s))
            lane.name = ""

    def _fold(self, lane: Lane, part: str) -> None:
        """Leave one line of a part that is finished."""
        now_s = time.monotonic()
        if self._plan:
            self._plan.end(part, now_s)
        taken = format_time(now_s - lane.part_begun_s)
        if self._live:
            self.note(f"{part}: done in {taken}")
            line = Text.assemble(("✓ ", "green"), (part, "bold"), f"  {taken}")
            self._console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        else:
            self._tell(f"{part}: done in {taken}")

    def _tell(self, line: str) -> None:
        self.note(line)
        if not self._live:
            self._show(line)

    def _show(self, line: str) -> None:
        if not self._quiet:
            print(line, file=sys.stderr, flush=True)  # noqa: T201

    def _describe_whole(self) -> str:
        if self._plan is None:
            return ""
        now_s = time.monotonic()
        share, left_s = self._plan.share(now_s), self._plan.left_s(now_s)
        return f" ({100 * share:.0f} % of all, about {format_time(left_s)} left)"

    def _render(self) -> Group:
        now_s, width = time.monotonic(), self._console.width
        turn = _SPINNER[int(now_s * 8) % len(_SPINNER)]
        lines = []
        for lane in list(self._lanes.values()):
            if not lane.name:
                continue
            spent_s = now_s - lane.begun_s
            rate = f"{lane.done / spent_s:,.0f}/s" if lane.done > 1_000 and spent_s > 1 else ""
            # What there is no room for is left out, the last first.
            more = _fit([format_time(spent_s), lane.amount, rate], width, lane.name)
            lines.append(_one_line(Text.assemble(f"{turn} ", (lane.name, "bold"), more)))
        if lines and self._plan is not None:
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

    def _show(self, line: str) -> None:
        self._hand(line)
