"""The state of one running query."""

from __future__ import annotations

from dataclasses import dataclass, field

from mapyard.overpass.convert.ql import write_filter
from mapyard.overpass.osm.rowsets import EMPTY_SET, ElementSet, Rows
from mapyard.overpass.parse.syntax import DEFAULT_SET, BoxFilter, Filter, Out, Query
from mapyard.overpass.parse.text import Source
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.run.evaluate import Scope
from mapyard.overpass.space.polygons import Shapes
from mapyard.results.plan import Recorder
from mapyard.store.reader import Store

#: What keeping one more out costs besides its elements.
_OUT_BYTES = 200


@dataclass(slots=True)
class Run:
    """Sets, outputs and warnings of a query while it runs."""

    store: Store
    source: Source
    budget: Budget
    global_box: BoxFilter | None = None
    sets: dict[str, ElementSet] = field(default_factory=dict)
    set_bytes: dict[str, int] = field(default_factory=dict)
    loop_values: dict[str, str] = field(default_factory=dict)
    outs: list[tuple[Out, ElementSet]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: Areas by the rows they are made of, so that the members of a union share them.
    shapes: dict[bytes, Shapes] = field(default_factory=dict)
    #: Notes the steps, where somebody wants to see them.
    recorder: Recorder | None = None
    last_derived_id: int = 0
    out_bytes: int = 0

    def get(self, name: str = DEFAULT_SET) -> ElementSet:
        """Return the value of a set."""
        return self.sets.get(name, EMPTY_SET)

    def put(self, name: str, value: ElementSet) -> None:
        """Set a set."""
        self.sets[name] = value
        self.set_bytes[name] = value.nbytes

    def scope(self) -> Scope:
        """Return the scope of values outside of elements."""
        return Scope(self.store, self.sets, self.loop_values, self.budget)

    def account(self) -> None:
        """Count the memory held, and raise when it or the time is used up."""
        self.budget.held_bytes = sum(self.set_bytes.values()) + self.out_bytes
        self.budget.check()

    def show(self, out: Out) -> None:
        """Keep what an `out` shows."""
        elements = self.get(out.source)
        self.outs.append((out, elements))
        self.out_bytes += self.set_bytes.get(out.source, 0) + _OUT_BYTES

    def note(
        self, item: Filter | Query, name: str, rows: Rows, estimated: float | None = None
    ) -> None:
        """Note what a filter left of a query's rows, where somebody wants to see it."""
        if self.recorder is not None:
            detail = "" if isinstance(item, Query) else write_filter(item)
            self.recorder.note(item, name, detail, len(rows), estimated)

    def warn(self, at: int, message: str) -> None:
        """Note something that the user should know, once."""
        line, column = self.source.position(at)
        text = f"line {line}, column {column}: {message}"
        if text not in self.warnings and len(self.warnings) < 20:
            self.warnings.append(text)
