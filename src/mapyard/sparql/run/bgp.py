"""Basic graph patterns: triples in the order of their counts, each asked for all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from mapyard.errors import TooLarge
from mapyard.sparql.plan.algebra import Bgp, Expression, Node, Path, Repeat, TriplePattern, Var
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
from mapyard.sparql.run.table import UNIT_TABLE, Column, Table, concat
from mapyard.sparql.sources.source import BOUND, Bound, Matches, Position
from mapyard.sparql.terms.ids import Ids, Mask
from mapyard.sparql.terms.terms import BlankNode, Iri, Literal

#: Pairs of unconnected patterns beyond which a query is refused at once, when all are asked for.
MAX_PRODUCT: Final = 10_000_000
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
    remaining = runtime.source.shorten(bgp.triples, unread)
    known = set(bound)
    steps: list[tuple[TriplePattern | Near | SpatialJoin, bool]] = []
    while remaining or near:
        if chosen := [n for n in near if n.var in known]:
            near = [n for n in near if n.var not in known]
            steps += [(n, True) for n in chosen]
            continue
        costs = [_cost(triple, known, runtime) for triple in remaining]
        connected = [
            i for i, t in enumerate(remaining) if not known or not _free(t) or _touches(t, known)
        ]
        candidates = connected or range(len(remaining))
        best = min(candidates, key=lambda i: costs[i], default=-1)
        if near and (not connected or not known):
            smallest = min(near, key=lambda n: n.count)
            if best < 0 or smallest.count <= costs[best]:
                near.remove(smallest)
                steps.append((smallest, not known))
                known.add(smallest.var)
                continue
        if not connected and known:
            link = find_spatial_join(bgp, remaining, known, filters)
            if link is not None:
                remaining = [t for t in remaining if t not in link.inner.triples]
                filters = [f for f in filters if f not in link.inner.filters]
                inside = visible(link.inner).keys()
                near = [n for n in near if n.var not in inside]
                link.estimate = min(_cost(t, set(), runtime) for t in link.inner.triples)
                steps.append((link, True))
                known |= inside
                continue
        link = find_relation_join(remaining[best], remaining, known, filters)
        if link is not None:
            remaining = [t for t in remaining if t not in link.inner.triples]
            filters = [f for f in filters if f not in link.inner.filters]
            near = [n for n in near if n.var not in visible(link.inner)]
            link.estimate = min(_cost(t, set(), runtime) for t in link.inner.triples)
            steps.append((link, True))
            known |= visible(link.inner).keys()
            continue
        triple = remaining.pop(best)
        steps.append((triple, bool(connected)))
        known |= set(triple_variables(triple))
    return _with_filters(bgp, steps, bound, filters)


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
    for number, (what, connected) in enumerate(steps):
        known |= _variables(what)
        ready = tuple(f for f, needs in pending if needs <= known)
        pending = [(f, needs) for f, needs in pending if not needs <= known]
        drop: set[str] = set()
        if keep is not None:
            later = {v for what, _ in steps[number + 1 :] for v in _variables(what)}
            for _, needs in pending:
                later |= needs
            drop = {v.name for v in known - keep - later - bound}
        plan.append(Step(what, ready, frozenset(drop), connected))
    return plan


def _variables(what: TriplePattern | Near | SpatialJoin) -> set[Var]:
    if isinstance(what, TriplePattern):
        return set(triple_variables(what))
    if isinstance(what, Near):
        return {what.var}
    return set(visible(what.inner)) | {what.outer}


def _free(triple: TriplePattern) -> bool:
    return any(True for _ in triple_variables(triple))


def _touches(triple: TriplePattern, known: set[Var]) -> bool:
    return any(var in known for var in triple_variables(triple))


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
        for table in self._step(step, seed):
            self._runtime.deadline.check()
            for expression in step.filters:
                if not table.length:
                    break
                table = table.take(self._evaluator.mask(expression, table))
            if not table.length:
                continue
            if step.drop:
                table = table.keep(n for n in table.columns if n not in step.drop)
            yield from self.run(plan, table, first + 1)

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
                tables = list(self._run(what.inner, UNIT_TABLE))
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
