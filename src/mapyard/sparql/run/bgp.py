"""Basic graph patterns: triples in the order of their counts, each asked for all rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from mapyard.errors import TooLarge
from mapyard.sparql.plan.algebra import Bgp, Expression, Node, Path, Repeat, TriplePattern, Var
from mapyard.sparql.plan.show import show_expression, show_triple
from mapyard.sparql.plan.variables import mentioned, triple_variables, visible
from mapyard.sparql.run.expressions import Evaluator
from mapyard.sparql.run.paths import match_path
from mapyard.sparql.run.runtime import CHUNK_ROWS, Runtime
from mapyard.sparql.run.spatial import (
    Near,
    SpatialJoin,
    find_near,
    find_relation_join,
    find_spatial_join,
)
from mapyard.sparql.run.table import Column, Table, concat, unit_table
from mapyard.sparql.sources.source import BOUND, Bound, Matches, Position
from mapyard.sparql.terms.ids import Ids, Mask
from mapyard.sparql.terms.terms import BlankNode, Iri, Literal

#: Pairs of unconnected patterns beyond which a query is refused at once, when all are asked for.
MAX_PRODUCT: Final = 10_000_000
#: Bytes of an id in a table.
_ENTRY_BYTES: Final = 8
#: What a triple with a path is taken to match, per bound end.
_PATH_ESTIMATE: Final = 1000.0


@dataclass(slots=True)
class Step:
    """One step of a plan: what to match, then which filters hold and which columns go."""

    what: TriplePattern | Near | SpatialJoin
    filters: tuple[Expression, ...]
    drop: frozenset[str]
    connected: bool


def make_plan(bgp: Bgp, bound: set[Var], runtime: Runtime, evaluator: Evaluator) -> list[Step]:
    """Return the steps for a pattern whose `bound` variables the seed has."""
    near = find_near(bgp, runtime, evaluator)
    filters = list(bgp.filters)
    read = bound | {var for f in filters for var in mentioned(f)}
    read |= visible(bgp).keys() if bgp.keep is None else bgp.keep
    unread = {v for v in visible(bgp) if v not in read or v.name.startswith(" ")} - bound
    waiting = _Waiting(runtime.source.shorten(bgp.triples, unread), set(bound), runtime)
    steps: list[tuple[TriplePattern | Near | SpatialJoin, bool]] = []
    while waiting or near:
        runtime.deadline.check()
        known = waiting.known
        if chosen := [n for n in near if n.var in known]:
            near = [n for n in near if n.var not in known]
            steps += [(n, True) for n in chosen]
            continue
        best, connected = waiting.find_best()
        if near and (not connected or not known):
            smallest = min(near, key=lambda n: n.count)
            if best < 0 or smallest.count <= waiting.costs[best]:
                near.remove(smallest)
                steps.append((smallest, not known))
                waiting.learn({smallest.var})
                continue
        remaining = waiting.triples()
        link: SpatialJoin | None = None
        if not connected and known:
            link = find_spatial_join(bgp, remaining, known, filters)
        if link is None:
            link = find_relation_join(waiting.all[best], remaining, known, filters)
        if link is not None:
            waiting.remove(link.inner.triples)
            filters = [f for f in filters if f not in link.inner.filters]
            inside = visible(link.inner).keys()
            near = [n for n in near if n.var not in inside]
            link.estimate = min(_cost(t, set(), runtime) for t in link.inner.triples)
            steps.append((link, True))
            waiting.learn(set(inside))
            continue
        triple = waiting.take(best)
        steps.append((triple, connected))
        waiting.learn(set(triple_variables(triple)))
    return _with_filters(bgp, steps, bound, filters)


class _Waiting:
    """The triples that have no place in the plan yet, with their costs as of what is known.

    Only what mentions a variable is weighed anew when that gets known, so that planning stays
    cheap for patterns of many triples.
    """

    def __init__(self, triples: list[TriplePattern], known: set[Var], runtime: Runtime) -> None:
        self.all = triples
        self.known = known
        self._runtime = runtime
        self._by_variable: dict[Var, list[int]] = {}
        self._connected: set[int] = set()
        self.costs: dict[int, float] = {}
        for index, triple in enumerate(triples):
            if not index & 63:
                runtime.deadline.check()
            for var in triple_variables(triple):
                self._by_variable.setdefault(var, []).append(index)
            self.costs[index] = _cost(triple, known, runtime)
            if not _free(triple) or any(var in known for var in triple_variables(triple)):
                self._connected.add(index)

    def __bool__(self) -> bool:
        return bool(self.costs)

    def triples(self) -> list[TriplePattern]:
        """Return the triples in the order of the query."""
        return [self.all[index] for index in self.costs]

    def find_best(self) -> tuple[int, bool]:
        """Return the cheapest triple (−1: none), and whether it hangs together with the known."""
        connected = self._connected if self.known else self.costs
        if connected:
            return min(sorted(connected), key=self.costs.__getitem__), True
        return min(self.costs, key=self.costs.__getitem__, default=-1), False

    def take(self, index: int) -> TriplePattern:
        """Return a triple that gets its place now."""
        del self.costs[index]
        self._connected.discard(index)
        return self.all[index]

    def remove(self, triples: tuple[TriplePattern, ...]) -> None:
        """Take all these out."""
        gone = set(triples)
        for index in [i for i in self.costs if self.all[i] in gone]:
            self.take(index)

    def learn(self, variables: set[Var]) -> None:
        """Note that variables are known from here on."""
        fresh = variables - self.known
        self.known |= fresh
        for index in {i for var in fresh for i in self._by_variable.get(var, ())}:
            if index in self.costs:
                self.costs[index] = _cost(self.all[index], self.known, self._runtime)
                self._connected.add(index)


def _with_filters(
    bgp: Bgp,
    steps: list[tuple[TriplePattern | Near | SpatialJoin, bool]],
    bound: set[Var],
    filters: list[Expression],
) -> list[Step]:
    """Return the steps, each with the filters that it completes and the columns that are done."""
    keep = bgp.keep
    plan = []
    known = set(bound)
    pending = [(f, mentioned(f)) for f in filters]
    uses: Counter[Var] = Counter()  # by later steps and pending filters
    for what, _ in steps:
        uses.update(_variables(what))
    for _, needs in pending:
        uses.update(needs)
    for what, connected in steps:
        mine = _variables(what)
        known |= mine
        uses.subtract(mine)
        ready = [(f, needs) for f, needs in pending if needs <= known]
        pending = [(f, needs) for f, needs in pending if not needs <= known]
        done = set(mine)
        for _, needs in ready:
            uses.subtract(needs)
            done |= needs
        drop: set[str] = set()
        if keep is not None:
            drop = {v.name for v in done - keep - bound if not uses[v]}
        plan.append(Step(what, tuple(f for f, _ in ready), frozenset(drop), connected))
    return plan


def _variables(what: TriplePattern | Near | SpatialJoin) -> set[Var]:
    if isinstance(what, TriplePattern):
        return set(triple_variables(what))
    if isinstance(what, Near):
        return {what.var}
    return set(visible(what.inner)) | {what.outer}


def _free(triple: TriplePattern) -> bool:
    return any(True for _ in triple_variables(triple))


def _cost(triple: TriplePattern, known: set[Var], runtime: Runtime) -> float:
    def position(node: Node | Path) -> Bound:
        if isinstance(node, Var):
            return BOUND if node in known else None
        assert isinstance(node, Iri | Literal | BlankNode)
        return runtime.encode(node)

    s, o = position(triple.subject), position(triple.object)
    if isinstance(triple.predicate, Var | Iri):
        return runtime.source.estimate(s, position(triple.predicate), o, runtime)
    cost = _PATH_ESTIMATE if s is not None or o is not None else _PATH_ESTIMATE**3
    return cost * 10 if isinstance(triple.predicate, Repeat) and s is None and o is None else cost


def estimate_rows(plan: list[Step], index: int, seed: Table, runtime: Runtime) -> float | None:
    """Return how many rows a step should give for its seed, filters aside; None: unknown."""
    what = plan[index].what
    known = {Var(name) for name in seed.columns}
    known |= {var for step in plan[:index] for var in _variables(step.what)}
    if isinstance(what, TriplePattern):
        return seed.length * _cost(what, known, runtime)
    if isinstance(what, Near):
        return float(what.count if what.var not in known else min(what.count, seed.length))
    return None


def _describe(step: Step) -> tuple[str, Callable[[], str]]:
    """Return what a step is called, and what it is done with."""
    what = step.what

    def detail() -> str:
        if isinstance(what, TriplePattern):
            text = show_triple(what)
        elif isinstance(what, Near):
            text = f"?{what.var.name} near a shape, by the spatial index"
        else:
            text = f"with ?{what.outer.name}, by nearness"
        return " ".join([text, *(f"FILTER({show_expression(f)})" for f in step.filters)])

    if isinstance(what, TriplePattern):
        return ("triple" if isinstance(what.predicate, Var | Iri) else "path"), detail
    return ("index" if isinstance(what, Near) else "spatial join"), detail


class BgpRunner:
    """Runs one pattern over one seed table."""

    def __init__(
        self,
        runtime: Runtime,
        evaluator: Evaluator,
        graph: int | None,
        run: Callable[[Bgp, Table], Iterator[Table]],
        may_stop_early: bool,
    ) -> None:
        self._runtime = runtime
        self._evaluator = evaluator
        self._graph = graph
        self._run = run
        self._may_stop_early = may_stop_early

    def run(self, plan: list[Step], seed: Table, first: int = 0) -> Iterator[Table]:
        """Yield the solutions that extend the seed's rows."""
        if first == len(plan):
            yield seed
            return
        step = plan[first]
        recorder = self._runtime.recorder
        if recorder is None:
            tables = self._step(step, seed)
        else:
            tables = recorder.watch(
                step, *_describe(step), lambda: self._narrowed(step, seed),
                estimate_rows(plan, first, seed, self._runtime),
            )  # fmt: skip
        for table in tables:
            if recorder is None:
                table = self._narrow(step, table)
                if not table.length:
                    continue
            # All steps hold a table each while the last one goes on.
            size = _ENTRY_BYTES * len(table.columns) * table.length
            self._runtime.hold(size, 0, "the pattern")
            try:
                yield from self.run(plan, table, first + 1)
            finally:
                self._runtime.release(size)

    def _narrow(self, step: Step, table: Table) -> Table:
        """Return what the filters of a step leave, without the columns that are done."""
        self._runtime.deadline.check()
        for expression in step.filters:
            if not table.length:
                return table
            table = table.take(self._evaluator.mask(expression, table))
        if step.drop and table.length:
            return table.keep(n for n in table.columns if n not in step.drop)
        return table

    def _narrowed(self, step: Step, seed: Table) -> Iterator[Table]:
        for table in self._step(step, seed):
            narrow = self._narrow(step, table)
            if narrow.length:
                yield narrow

    def _step(self, step: Step, table: Table) -> Iterator[Table]:
        what = step.what
        if isinstance(what, Near):
            return self._restrict(what, table)
        if isinstance(what, SpatialJoin):
            candidates = what.find_candidates(table, self._evaluator)
            if candidates is not None:
                return self._run(what.inner, candidates)
            inner = self._runtime.made.get(("inner", id(what)))
            if inner is None:
                tables = list(self._run(what.inner, unit_table()))
                inner = concat(tables, self._runtime.pool)
                self._runtime.hold(inner.nbytes(), inner.length, "one side of the spatial join")
                self._runtime.made["inner", id(what)] = inner
            if not inner.length:
                return iter(())
            return what.join(table, inner, self._evaluator)
        return self._match(what, table, step.connected)

    def _restrict(self, near: Near, table: Table) -> Iterator[Table]:
        found = near.find(self._runtime)
        if near.var.name in table.columns:
            ids = table.ids(near.var.name, self._runtime.pool)
            yield table.take(_is_in_sorted(ids, found))
            return
        matches = Matches(len(found), None, subject=found)
        yield from self._extend(table, matches, [(near.var.name, found)], [])

    def _match(self, triple: TriplePattern, table: Table, connected: bool) -> Iterator[Table]:
        runtime = self._runtime
        if not connected and not self._may_stop_early:
            self._refuse_product(triple, table)
        nodes = (triple.subject, triple.predicate, triple.object)
        positions: list[Position] = []
        fresh: list[tuple[str, int]] = []  # variable, position that binds it
        again: list[tuple[int, int]] = []  # positions that must be equal
        for number, node in enumerate(nodes):
            if isinstance(node, Var):
                if node.name in table.columns:
                    positions.append(table.ids(node.name, runtime.pool))
                    continue
                positions.append(None)
                earlier = [n for name, n in fresh if name == node.name]
                if earlier:
                    again.append((earlier[0], number))
                else:
                    fresh.append((node.name, number))
            elif isinstance(node, Iri | Literal | BlankNode):
                positions.append(runtime.encode(node))
            else:
                positions.append(None)
        s, p, o = positions
        if isinstance(triple.predicate, Var | Iri):
            found = runtime.source.match(s, p, o, self._graph, runtime)
        else:
            path = triple.predicate
            assert not isinstance(path, BlankNode | Literal)
            found = match_path(runtime, s, path, o, self._graph)
        for matches in found:
            columns = (matches.subject, matches.predicate, matches.object)
            bindings = []
            for name, number in fresh:
                column = columns[number]
                assert column is not None
                bindings.append((name, column))
            equal = [(columns[a], columns[b]) for a, b in again]
            yield from self._extend(table, matches, bindings, equal)

    def _refuse_product(self, triple: TriplePattern, table: Table) -> None:
        pairs = table.length * _cost(triple, set(), self._runtime)
        if table.length > 1 and pairs > MAX_PRODUCT:
            names = " ".join(
                f"?{var.name}" for var in triple_variables(triple) if not var.name.startswith(" ")
            )
            raise TooLarge(
                f"the pattern with {names or 'no variables'} shares no variable with what stands "
                f"before it: that gives about {pairs:.1e} pairs; connect them with a triple or a "
                "spatial filter, or add LIMIT",
                details={"limit": MAX_PRODUCT, "count": int(min(pairs, 1e18))},
            )

    def _extend(
        self,
        table: Table,
        matches: Matches,
        bindings: list[tuple[str, Ids]],
        equal: list[tuple[Ids | None, Ids | None]],
    ) -> Iterator[Table]:
        """Yield the table's rows with the bindings of their matches beside."""
        columns: dict[str, Column]
        if matches.rows is None and table.length != 1:  # no position was bound: every pair
            size = max(1, CHUNK_ROWS // max(1, table.length))
            for start in range(0, matches.length, size):
                part = slice(start, start + size)
                count = len(range(matches.length)[part])
                index = np.repeat(np.arange(table.length), count)
                pairs = Matches(len(index), index)
                yield from self._extend(
                    table,
                    pairs,
                    [(name, np.tile(column[part], table.length)) for name, column in bindings],
                    [(np.tile(a[part], table.length), np.tile(b[part], table.length))
                     for a, b in equal if a is not None and b is not None],
                )  # fmt: skip
            return
        if matches.rows is None:
            columns = {
                name: _repeat(column, matches.length) for name, column in table.columns.items()
            }
        else:
            columns = table.take(matches.rows).columns
        for name, ids in bindings:
            columns[name] = ids
        result = Table(columns, matches.length)
        if equal:
            result = result.take(np.logical_and.reduce([a == b for a, b in equal]))
        yield result


def _repeat(column: Column, count: int) -> Column:
    index = np.zeros(count, np.int64)
    return column[index] if isinstance(column, np.ndarray) else column.take(index)


def _is_in_sorted(ids: Ids, ordered: Ids) -> Mask:
    if not len(ordered):
        return np.zeros(len(ids), np.bool_)
    place = np.searchsorted(ordered, ids)
    place[place == len(ordered)] = 0
    return ordered[place] == ids
