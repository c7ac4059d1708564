"""Running a query text over a store: from text to sets and outputs.

store = open_store(Path("DATA/current/elements"))
result = run_text(store, 'area["name"="Monaco"];node(area)[amenity=cafe];out;')
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import TooLarge
from mapyard.overpass.osm.rowsets import ElementSet
from mapyard.overpass.parse.macros import MAX_QUERY_BYTES, Surroundings, expand_macros
from mapyard.overpass.parse.parser import parse
from mapyard.overpass.parse.syntax import Out, Program, Settings
from mapyard.overpass.parse.text import Source
from mapyard.overpass.parse.usage import find_far_boxes, find_traps, list_nodes
from mapyard.overpass.parse.xmlform import is_xml, write_ql
from mapyard.overpass.run.budget import DEFAULT_MAXSIZE_BYTES, Budget
from mapyard.overpass.run.execute import execute
from mapyard.overpass.run.state import Run
from mapyard.results.plan import QueryPlan, Recorder
from mapyard.store.reader import Store

#: Frames of Python's stack that the deepest query needs, twice over. Calls from Python to Python
#: take no space on the stack of the process.
_STACK_FRAMES = 20_000
sys.setrecursionlimit(max(_STACK_FRAMES, sys.getrecursionlimit()))


@dataclass(frozen=True, slots=True)
class Result:
    """What a query gave: its settings, the sets that its outs named, and warnings."""

    settings: Settings
    outs: list[tuple[Out, ElementSet]]
    warnings: list[str]

    @property
    def nbytes(self) -> int:
        """Return the memory held."""
        return sum(elements.nbytes for _, elements in self.outs)


def read_program(text: str, surroundings: Surroundings) -> tuple[Program, Source]:
    """Return the tree of a query of either form, macros expanded, and the text it was read from."""
    if is_xml(text):
        expanded = expand_macros(text, surroundings, as_xml=True)
        source = Source(write_ql(expanded.text))
    else:
        source = expand_macros(text, surroundings)
    return parse(source), source


def run_text(
    store: Store,
    text: str,
    *,
    deadline: Deadline | None = None,
    surroundings: Surroundings | None = None,
    max_bytes: int = DEFAULT_MAXSIZE_BYTES,
    recorder: Recorder | None = None,
) -> Result:
    """Run a query.

    Args:
        store: the elements.
        text: Overpass QL, macros allowed.
        deadline: of the request; `[timeout:…]` lowers it.
        surroundings: what macros may refer to.
        max_bytes: memory limit; `[maxsize:…]` lowers it.
        recorder: notes the steps with their rows and times.

    Raises:
        InvalidQuery: the text does not parse, with line, column and hint.
        Unsupported: it asks for something that is not served.
        Timeout, TooLarge: a limit was reached; there is never a partial result.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_QUERY_BYTES:
        raise TooLarge(
            f"the query has {size:,} bytes, at most {MAX_QUERY_BYTES:,}; split it",
            details={"limit": MAX_QUERY_BYTES, "count": size},
        )
    program, source = read_program(text, surroundings or Surroundings())
    if program.refused:
        first = min(program.refused, key=lambda refused: refused.at)
        raise source.unsupported(first.at, first.what, first.instead)
    settings = program.settings
    deadline = deadline or no_deadline()
    if settings.timeout_s is not None:
        deadline.lower(settings.timeout_s)
    limit = min(max_bytes, settings.maxsize_bytes or DEFAULT_MAXSIZE_BYTES)
    run = Run(store, source, Budget(deadline, limit), settings.box, recorder=recorder)
    nodes = list_nodes(program)
    far = find_far_boxes(nodes, settings.box, store.info.get("bbox"))
    for at, message in [*find_traps(nodes), *far]:
        run.warn(at, message)
    execute(run, program.statements)
    run.account()
    return Result(settings, run.outs, run.warnings)


def explain_text(
    store: Store,
    text: str,
    *,
    deadline: Deadline | None = None,
    surroundings: Surroundings | None = None,
    max_bytes: int = DEFAULT_MAXSIZE_BYTES,
) -> QueryPlan:
    """Run a query and return its steps with their figures; raises as `run_text` does."""
    recorder = Recorder()
    result = run_text(
        store, text, deadline=deadline, surroundings=surroundings, max_bytes=max_bytes,
        recorder=recorder,
    )  # fmt: skip
    shown = sum(elements.size for out, elements in result.outs if out.mode != "count")
    return recorder.finish("overpass", shown, result.warnings)
