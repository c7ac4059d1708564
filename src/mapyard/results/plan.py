"""What a query does, step by step: rows that were expected, rows that came, and time.

A `Recorder` is handed to an engine that is to be watched. Time is the step's own: what is done
inside of another step, or between two rows that one is asked for, counts there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec


class PlanStep(msgspec.Struct, kw_only=True):
    """One step and those inside of it."""

    #: What is done: `triple`, `filter`, `union`, …
    step: str
    #: What it is done with, as the query spells it.
    detail: str = ""
    #: Rows that the indexes promised, None where nobody can tell before.
    estimated_rows: float | None = None
    rows: int = 0
    #: How often the step ran: in loops, and once for each portion of the rows before it.
    runs: int = 0
    #: Time of the step alone, milliseconds.
    time_ms: float = 0.0
    steps: list[PlanStep] = []


class QueryPlan(msgspec.Struct, kw_only=True):
    """A query's steps with their figures; the query ran whole, its answer was not written."""

    language: str
    rows: int
    time_ms: float
    steps: list[PlanStep]
    warnings: list[str] = []

    def lines(self) -> Iterator[tuple[int, PlanStep]]:
        """Yield the steps from top to bottom with their depth."""
        waiting = [(0, step) for step in reversed(self.steps)]
        while waiting:
            depth, step = waiting.pop()
            yield depth, step
            waiting += [(depth + 1, inner) for inner in reversed(step.steps)]

    def __str__(self) -> str:
        head = f"{'expected':>12} {'rows':>12} {'ms':>10}  step"
        found = [head]
        for depth, step in self.lines():
            expected = "" if step.estimated_rows is None else f"{step.estimated_rows:,.0f}"
            runs = f" ({step.runs} times)" if step.runs > 1 else ""
            text = f"{'  ' * depth}{step.step} {step.detail}".rstrip()
            found.append(f"{expected:>12} {step.rows:>12,} {step.time_ms:>10.2f}  {text}{runs}")
        found.append(f"{'':>12} {self.rows:>12,} {self.time_ms:>10.2f}  in all")
        return "\n".join(found)


class HasLength(Protocol):
    """A portion of rows."""

    @property
    def length(self) -> int:
        """Return how many."""
        ...


class Recorder:
    """Keeps the steps of one running query; lives in one thread."""

    def __init__(self) -> None:
        self._root = PlanStep(step="")
        self._stack = [self._root]
        self._known: dict[tuple[int, str, Hashable], PlanStep] = {}
        #: Keys are identities: what has one must not go.
        self._kept: list[Any] = []
        self._spent_ms = 0.0
        self._began_s = self._last_s = time.perf_counter()

    @contextmanager
    def step(
        self, key: Any, name: str, detail: Callable[[], str] | str = "",
        estimated_rows: float | None = None,
    ) -> Iterator[PlanStep]:  # fmt: skip
        """Enter a step; the same key below the same step is the same step again."""
        found = self._enter(key, name, detail)
        found.runs += 1
        if estimated_rows is not None:
            found.estimated_rows = (found.estimated_rows or 0.0) + estimated_rows
        try:
            yield found
        finally:
            self._leave()

    def note(
        self, key: Any, name: str, detail: Callable[[], str] | str, rows: int,
        estimated_rows: float | None = None,
    ) -> None:  # fmt: skip
        """Note a step that has just ended: it took the time since the last look."""
        above = self._stack[-1]
        self._charge()
        took_ms = self._spent_ms
        above.time_ms -= took_ms
        with self.step(key, name, detail, estimated_rows) as step:
            step.time_ms += took_ms
            step.rows += rows

    def watch[T: HasLength](
        self, key: Any, name: str, detail: Callable[[], str], make: Callable[[], Iterator[T]],
        estimated_rows: float | None = None,
    ) -> Iterator[T]:  # fmt: skip
        """Yield what an iterator gives, with its rows and the time that it takes noted."""
        with self.step(key, name, detail, estimated_rows) as step:
            portions = make()
        while True:
            self._push(step)
            try:
                portion = next(portions, None)
            finally:
                self._leave()
            if portion is None:
                return
            step.rows += portion.length
            yield portion

    def finish(self, language: str, rows: int, warnings: list[str]) -> QueryPlan:
        """Return the plan."""
        self._charge()
        for step in self._known.values():
            step.time_ms = round(step.time_ms, 3)
        total_ms = (self._last_s - self._began_s) * 1000
        return QueryPlan(
            language=language, rows=rows, time_ms=round(total_ms, 3), steps=self._root.steps,
            warnings=warnings,
        )  # fmt: skip

    def _enter(self, key: Any, name: str, detail: Callable[[], str] | str) -> PlanStep:
        above = self._stack[-1]
        place = (id(above), name, key if isinstance(key, str) else id(key))
        found = self._known.get(place)
        if found is None:
            text = detail if isinstance(detail, str) else detail()
            found = self._known[place] = PlanStep(step=name, detail=text, steps=[])
            above.steps = [*above.steps, found]
            self._kept.append(key)
        self._push(found)
        return found

    def _push(self, step: PlanStep) -> None:
        self._charge()
        self._stack.append(step)

    def _leave(self) -> None:
        self._charge()
        self._stack.pop()

    def _charge(self) -> None:
        """Give the time since the last look to the step that is on."""
        now_s = time.perf_counter()
        self._spent_ms = (now_s - self._last_s) * 1000
        self._stack[-1].time_ms += self._spent_ms
        self._last_s = now_s
