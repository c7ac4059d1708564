"""The door of the engine: query texts in, solutions, a boolean or triples out.

    engine = Engine(OsmSource(store))
    for table in engine.query("SELECT ?s WHERE { ?s osmkey:amenity 'cafe' }").tables: …

Parsed and planned queries are kept, the most recent first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import TooLarge
from mapyard.results.plan import QueryPlan, Recorder
from mapyard.sparql.parse.parser import parse_query
from mapyard.sparql.plan.algebra import Node, Pattern, Query, Remote, TriplePattern, Var
from mapyard.sparql.plan.optimize import optimize
from mapyard.sparql.plan.variables import predicates_of, triple_variables
from mapyard.sparql.remote.joins import Federation, join_remote
from mapyard.sparql.run import (  # noqa: F401 - they register functions
    geosparql,
    shape_functions,
    text_kernels,
)
from mapyard.sparql.run.bgp import Step
from mapyard.sparql.run.evaluate import Executor
from mapyard.sparql.run.runtime import Limits, Runtime
from mapyard.sparql.run.table import Table, unit_table
from mapyard.sparql.sources.source import Source
from mapyard.sparql.terms.terms import BlankNode, Iri, Literal, Term
from mapyard.store.distinct import distinct

#: Query texts whose plans are kept.
_PREPARED: Final = 256
#: Longer texts are parsed each time: they hardly come twice and would crowd the others out.
_PREPARED_LENGTH: Final = 20_000
#: Warnings of one query.
_WARNINGS: Final = 10
#: Rows of solutions written at once.
_WRITTEN_ROWS: Final = 32_768

Triple = tuple[Term, Term, Term]


@dataclass(slots=True)
class Prepared:
    """A parsed query with its plans."""

    query: Query
    pattern: Pattern
    plans: dict[tuple[int, frozenset[str]], list[Step]] = field(default_factory=dict)
    seedable: dict[tuple[object, ...], bool] = field(default_factory=dict)
    warnings: list[str] | None = None


@dataclass(slots=True)
class Solutions:
    """Answer of SELECT; `tables` is read once."""

    variables: tuple[str, ...]
    tables: Iterator[Table]
    runtime: Runtime

    def pieces(self) -> Iterator[Table]:
        """Yield the tables cut to what is written at once; an ORDER BY gives all rows in one."""
        return cut_tables(self.tables, self.runtime)


def cut_tables(tables: Iterator[Table], runtime: Runtime) -> Iterator[Table]:
    """Yield tables of at most some thousand rows, none empty; looks at the deadline."""
    for table in tables:
        for start in range(0, table.length, _WRITTEN_ROWS):
            runtime.deadline.check()
            yield table.slice(start, start + _WRITTEN_ROWS)


@dataclass(slots=True)
class Truth:
    """Answer of ASK."""

    value: bool


@dataclass(slots=True)
class Triples:
    """Answer of CONSTRUCT and DESCRIBE; each triple once, `triples` is read once."""

    triples: Iterator[Triple]
    prefixes: dict[str, str]


Result = Solutions | Truth | Triples


class Engine:
    """Answers queries over one source; may be used by several threads."""

    def __init__(
        self,
        source: Source,
        limits: Limits | None = None,
        federation: Federation | None = None,
    ) -> None:
        """Make an engine; `federation` has the other services that SERVICE may ask."""
        self._source = source
        self._federation = federation or Federation({})
        self._limits = limits or Limits()
        self._prepared: OrderedDict[str, Prepared] = OrderedDict()
        self._lock = threading.Lock()

    def prepare(self, text: str) -> Prepared:
        """Return the parsed query; raises InvalidQuery or Unsupported."""
        with self._lock:
            found = self._prepared.get(text)
            if found is not None:
                self._prepared.move_to_end(text)
                return found
        try:
            prepared = prepare_query(parse_query(text), self._federation.endpoints)
        except RecursionError:
            raise _too_deep() from None
        if len(text) <= _PREPARED_LENGTH:
            with self._lock:
                self._prepared[text] = prepared
                if len(self._prepared) > _PREPARED:
                    self._prepared.popitem(last=False)
        return prepared

    def warnings(self, prepared: Prepared) -> list[str]:
        """Return what a query's author should know: predicates that no triple has."""
        find = getattr(self._source, "find_strange", None)
        if find is None:
            return []
        if prepared.warnings is None:
            found = (find(iri) for iri in sorted(predicates_of(prepared.query.pattern)))
            prepared.warnings = [text for text in found if text is not None][:_WARNINGS]
        return prepared.warnings

    def query(self, text: str, deadline: Deadline | None = None) -> Result:
        """Return the answer; solutions and triples are found while they are read.

        Raises InvalidQuery (with line and column), Unsupported, TooLarge, Timeout; the last two
        also while the answer is read.
        """
        return self.run(self.prepare(text), deadline or no_deadline())

    def explain(self, text: str, deadline: Deadline | None = None) -> QueryPlan:
        """Run a query and return its steps with their figures; what it gives is counted.

        Raises as `query` does.
        """
        recorder = Recorder()
        with recorder.step("plan", "parse and plan"):
            prepared = self.prepare(text)
        result = self.run(prepared, deadline or no_deadline(), recorder)
        if isinstance(result, Truth):
            rows = int(result.value)
        elif isinstance(result, Solutions):
            rows = sum(table.length for table in result.tables)
        else:
            rows = sum(1 for _ in result.triples)
        return recorder.finish("sparql", rows, self.warnings(prepared))

    def _ask_remote(self, pattern: Remote, seed: Table, runtime: Runtime) -> Iterator[Table]:
        return join_remote(pattern, seed, runtime, self._federation.endpoints[pattern.endpoint])

    def run(
        self, prepared: Prepared, deadline: Deadline, recorder: Recorder | None = None
    ) -> Result:
        """Return the answer of a prepared query; its steps are noted where there is a recorder."""
        query = prepared.query
        source = self._source
        if query.from_graphs or query.from_named:
            source = source.select(query.from_graphs, query.from_named)
        runtime = Runtime(source, deadline, self._limits)
        runtime.recorder = recorder
        runtime.ask_remote = self._ask_remote
        tables = _refuse_depth(
            Executor(runtime, prepared.plans, prepared.seedable).run(prepared.pattern, unit_table())
        )
        if query.form == "select":
            return Solutions(tuple(v.name for v in query.variables), tables, runtime)
        if query.form == "ask":
            return Truth(any(table.length for table in tables))
        if query.form == "construct":
            return Triples(_construct(query.template, tables, runtime), query.prefixes)
        return Triples(_describe(query.described, tables, runtime), query.prefixes)


def _too_deep() -> TooLarge:
    return TooLarge(
        "the query has too many parts in a row or within each other (OPTIONAL, BIND, MINUS, "
        "groups); put values into VALUES, or ask in parts"
    )


def _refuse_depth(tables: Iterator[Table]) -> Iterator[Table]:
    """Yield the tables; a plan deeper than the stack is the query's fault, not the server's."""
    try:
        yield from tables
    except RecursionError:
        raise _too_deep() from None


def prepare_query(query: Query, endpoints: Container[str] = ()) -> Prepared:
    """Return a query with the pattern to run."""
    needed: set[Var] | None
    if query.form == "ask":
        needed = set()
    elif query.form == "construct":
        needed = {var for triple in query.template for var in triple_variables(triple)}
    else:
        needed = set(query.variables)
    return Prepared(query, optimize(query.pattern, needed, endpoints))


def _construct(
    template: tuple[TriplePattern, ...], tables: Iterator[Table], runtime: Runtime
) -> Iterator[Triple]:
    """Yield the template's triples for each solution, but for incomplete ones."""
    seen: set[Triple] = set()
    made = 0
    variables = {var.name for triple in template for var in triple_variables(triple)}
    for table in cut_tables(tables, runtime):
        columns = {n: runtime.decode(table.ids(n, runtime.pool)) for n in variables}
        for row in range(table.length):
            made += 1
            for triple in template:
                subject = _fill(triple.subject, columns, row, made)
                predicate = _fill(triple.predicate, columns, row, made)
                target = _fill(triple.object, columns, row, made)
                if (
                    isinstance(subject, Iri | BlankNode)
                    and isinstance(predicate, Iri)
                    and target is not None
                ):
                    result = (subject, predicate, target)
                    if result not in seen:
                        seen.add(result)
                        yield result
        runtime.hold(0, len(seen), "the graph")


def _fill(
    node: object, columns: dict[str, Sequence[Term | None]], row: int, number: int
) -> Term | None:
    if isinstance(node, Var):
        return columns[node.name][row]
    if isinstance(node, BlankNode):
        return BlankNode(f"{node.label}r{number}")
    assert isinstance(node, Iri | Literal)
    return node


def _describe(
    described: tuple[Node, ...], tables: Iterator[Table], runtime: Runtime
) -> Iterator[Triple]:
    """Yield the triples whose subject is one of the described terms, and of their blank nodes."""
    parts = [
        np.array([runtime.encode(node)], np.int64)
        for node in described
        if isinstance(node, Iri | Literal)
    ]
    names = [node.name for node in described if isinstance(node, Var)]
    for table in tables:
        parts += [table.ids(name, runtime.pool) for name in names]
    waiting = distinct(*parts) if parts else np.empty(0, np.int64)
    waiting = waiting[waiting != 0]
    done = np.empty(0, np.int64)
    while len(waiting):
        done = distinct(done, waiting)
        blank: list[int] = []
        for match in runtime.source.match(waiting, None, None, None, runtime):
            runtime.deadline.check()
            assert match.rows is not None
            assert match.predicate is not None
            assert match.object is not None
            subjects = runtime.decode(waiting[match.rows])
            objects = runtime.decode(match.object)
            for s, p, o, o_id in zip(
                subjects,
                runtime.decode(match.predicate),
                objects,
                match.object.tolist(),
                strict=True,
            ):
                assert s is not None
                assert p is not None
                assert o is not None
                yield s, p, o
                if isinstance(o, BlankNode):
                    blank.append(o_id)
        waiting = np.setdiff1d(np.array(blank, np.int64), done)
