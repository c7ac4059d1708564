"""Runs the algebra: every operator takes and yields tables in chunks.

`run(pattern, seed)` yields the solutions of a pattern joined with the seed's rows. Joins, OPTIONAL
and MINUS hand their left side as the seed to patterns that may be asked that way (`is_seedable`),
so that the source is only asked for what can join; EXISTS does so with any pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.plan.algebra import (
    UNIT,
    Bgp,
    Distinct,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Nearest,
    OrderBy,
    Pattern,
    Project,
    Remote,
    Service,
    Slice,
    Union,
    Values,
    Var,
)
from mapyard.sparql.plan.optimize import is_seedable
from mapyard.sparql.plan.show import NAMES, show_pattern
from mapyard.sparql.plan.variables import certain, pattern_mentions, visible
from mapyard.sparql.run.aggregates import aggregate, rank_ids
from mapyard.sparql.run.bgp import BgpRunner, Step, make_plan
from mapyard.sparql.run.compatible import compatible_pairs, incompatible_rows, merge_rows
from mapyard.sparql.run.counting import count_group
from mapyard.sparql.run.expressions import Evaluator
from mapyard.sparql.run.nearest import find_nearest
from mapyard.sparql.run.runtime import CHUNK_ROWS, Runtime
from mapyard.sparql.run.table import (
    Numbers,
    Table,
    concat,
    empty_table,
    factorize,
    slice_tables,
    unit_table,
)
from mapyard.sparql.terms.ids import DATETIME, INTEGER, Mask, in_space
from mapyard.sparql.terms.terms import Iri


class Executor:
    """Runs one query; lives in one thread."""

    def __init__(
        self,
        runtime: Runtime,
        plans: dict[tuple[int, frozenset[str]], list[Step]],
        seedable: dict[tuple[object, ...], bool],
    ) -> None:
        self.runtime = runtime
        self._plans = plans  # orders of triples, kept as long as the query's text is
        self._seedable = seedable  # which joins may hand bindings on, likewise
        self._row_names: dict[int, str] = {}
        self._early_stop = 0  # inside how many LIMITs that need not see everything

    def evaluator(self, graph: int | None) -> Evaluator:
        """Return what evaluates expressions where a graph is active."""
        return Evaluator(self.runtime, partial(self._exists, graph=graph))

    def run(self, pattern: Pattern, seed: Table, graph: int | None = None) -> Iterator[Table]:
        """Yield the solutions of a pattern that are compatible with the seed's rows."""
        operator = self._OPERATORS[type(pattern)]
        if self.runtime.recorder is None or pattern == UNIT:
            return operator(self, pattern, seed, graph)
        return self.runtime.recorder.watch(
            pattern,
            NAMES[type(pattern).__name__],
            lambda: show_pattern(pattern),
            lambda: operator(self, pattern, seed, graph),
        )

    def collect(self, pattern: Pattern, seed: Table, graph: int | None, what: str) -> Table:
        """Return all solutions as one table, counted against the memory limit."""
        tables = []
        rows = 0
        early_stop, self._early_stop = self._early_stop, 0  # this reads everything
        for table in self.run(pattern, seed, graph):
            rows += table.length
            self.runtime.hold(table.nbytes(), rows, what)
            tables.append(table)
        self._early_stop = early_stop
        return concat(tables, self.runtime.pool)

    def _row_name(self, pattern: Pattern) -> str:
        """Return the name of the hidden column that numbers rows for a pattern, always the same.

        Plans are kept by the columns of the seed, so the name must not change from chunk to chunk.
        """
        return self._row_names.setdefault(id(pattern), f" row{len(self._row_names)}")

    # Patterns ------------------------------------------------------------------------------------

    def _bgp(self, pattern: Bgp, seed: Table, graph: int | None) -> Iterator[Table]:
        if pattern == UNIT:
            return iter((seed,))
        evaluator = self.evaluator(graph)
        key = (id(pattern), frozenset(seed.columns))
        plan = self._plans.get(key)
        if plan is None:
            bound = {Var(name) for name in seed.columns}
            made = make_plan(pattern, bound, self.runtime, evaluator)
            # The plan that stays is the one that runs: its inner patterns are known by identity.
            plan = self._plans.setdefault(key, made)
        runner = BgpRunner(
            self.runtime,
            evaluator,
            graph,
            lambda inner, given: self.run(inner, given, graph),
            self._early_stop > 0,
        )
        return runner.run(plan, seed)

    def _join(self, pattern: Join, seed: Table, graph: int | None) -> Iterator[Table]:
        left, right = pattern.left, pattern.right
        if self._may_seed(left, right, seed):
            for table in self.run(left, seed, graph):
                yield from self.run(right, table, graph)
            return
        other = self.collect(right, seed, graph, "the join")
        for table in self.run(left, seed, graph):
            yield from self._hash_join(table, other)

    def _may_seed(self, left: Pattern, right: Pattern, seed: Table) -> bool:
        key = (id(left), id(right), *seed.columns)
        known = self._seedable.get(key)
        if known is None:
            shared = visible(left).keys() & visible(right).keys()
            bound = certain(left) | {Var(name) for name in seed.columns}
            known = self._seedable[key] = is_seedable(right) and shared <= bound
        return known

    def _hash_join(self, left: Table, right: Table) -> Iterator[Table]:
        pool = self.runtime.pool
        for a, b in compatible_pairs(left, right, pool):
            self.runtime.deadline.check()
            yield merge_rows(left, right, a, b, pool)

    def _left_join(self, pattern: LeftJoin, seed: Table, graph: int | None) -> Iterator[Table]:
        evaluator = self.evaluator(graph)
        row = self._row_name(pattern)
        other: Table | None = None
        seeded = self._may_seed(pattern.left, pattern.right, seed)
        for left in self.run(pattern.left, seed, graph):
            numbered = Table({**left.columns, row: np.arange(left.length)}, left.length)
            if seeded:
                joined = self.run(pattern.right, numbered, graph)
            else:
                if other is None:
                    other = self.collect(pattern.right, seed, graph, "the OPTIONAL")
                joined = self._hash_join(numbered, other)
            matched = np.zeros(left.length, np.bool_)
            for table in joined:
                for expression in pattern.filters:
                    table = table.take(evaluator.mask(expression, table))
                if table.length:
                    matched[table.ids(row, self.runtime.pool)] = True
                    yield table.keep(name for name in table.columns if name != row)
            if not matched.all():
                yield left.take(~matched)

    def _union(self, pattern: Union, seed: Table, graph: int | None) -> Iterator[Table]:
        yield from self.run(pattern.left, seed, graph)
        yield from self.run(pattern.right, seed, graph)

    def _minus(self, pattern: Minus, seed: Table, graph: int | None) -> Iterator[Table]:
        pool = self.runtime.pool
        shared = [v.name for v in visible(pattern.left) if v in visible(pattern.right)]
        if not shared:
            yield from self.run(pattern.left, seed, graph)
            return
        safe = certain(pattern.left) & certain(pattern.right)
        other: Table | None = None
        for left in self.run(pattern.left, seed, graph):
            if is_seedable(pattern.right) and all(Var(name) in safe for name in shared):
                columns = [left.ids(name, pool) for name in shared]
                groups, count = factorize(columns, left.length)
                first = _firsts(groups, count)
                distinct = {n: c[first] for n, c in zip(shared, columns, strict=True)}
                row = self._row_name(pattern)
                found = np.zeros(count, np.bool_)
                probe = Table({**distinct, row: np.arange(count)}, count)
                for table in self.run(pattern.right, probe, graph):
                    found[table.ids(row, pool)] = True
                yield left.take(~found[groups])
                continue
            if other is None:
                other = self.collect(pattern.right, unit_table(), graph, "the MINUS")
            yield left.take(incompatible_rows(left, other.keep(shared), pool))

    def _filter(self, pattern: Filter, seed: Table, graph: int | None) -> Iterator[Table]:
        evaluator = self.evaluator(graph)
        for table in self.run(pattern.pattern, seed, graph):
            for expression in pattern.filters:
                if table.length:
                    table = table.take(evaluator.mask(expression, table))
            if table.length:
                yield table

    def _extend(self, pattern: Extend, seed: Table, graph: int | None) -> Iterator[Table]:
        evaluator = self.evaluator(graph)
        name = pattern.var.name
        for table in self.run(pattern.pattern, seed, graph):
            column = evaluator.column(pattern.expression, table)
            if name in table.columns:  # bound by the pattern around an EXISTS
                same = table.ids(name, self.runtime.pool) == evaluator.ids(column, table.length)
                yield table.take(same)
            else:
                yield Table({**table.columns, name: column}, table.length)

    def _graph(self, pattern: Graph, seed: Table, graph: int | None) -> Iterator[Table]:
        source = self.runtime.source
        if isinstance(pattern.name, Iri):
            name = self.runtime.encode(pattern.name)
            if name in source.graphs(self.runtime).tolist():
                yield from self.run(pattern.pattern, seed, name)
            return
        assert isinstance(pattern.name, Var)
        column = pattern.name.name
        inside = pattern.name in pattern_mentions(pattern.pattern)
        for name in source.graphs(self.runtime).tolist():
            if inside:  # the pattern knows the name only after it has run
                for table in self.run(pattern.pattern, seed, name):
                    ids = table.ids(column, self.runtime.pool)
                    fits = table.take((ids == 0) | (ids == name))
                    named = np.full(fits.length, name, np.int64)
                    yield Table({**fits.columns, column: named}, fits.length)
                continue
            if column in seed.columns:
                part = seed.take(seed.ids(column, self.runtime.pool) == name)
            else:
                ids = np.full(seed.length, name, np.int64)
                part = Table({**seed.columns, column: ids}, seed.length)
            if part.length:
                yield from self.run(pattern.pattern, part, name)

    def _values(self, pattern: Values, seed: Table, graph: int | None) -> Iterator[Table]:
        encode = self.runtime.pool.encode_many
        columns = {
            var.name: encode(row[i] for row in pattern.rows)
            for i, var in enumerate(pattern.variables)
        }
        table = Table(dict(columns), len(pattern.rows))
        if not seed.columns and seed.length == 1:
            yield table
        else:
            yield from self._hash_join(seed, table)

    def _service(self, pattern: Service, seed: Table, graph: int | None) -> Iterator[Table]:
        raise AssertionError("services are resolved by optimize")

    def _remote(self, pattern: Remote, seed: Table, graph: int | None) -> Iterator[Table]:
        ask = self.runtime.ask_remote
        assert ask is not None, "there are no remote patterns without services"
        return ask(pattern, seed, self.runtime)

    def _nearest(self, pattern: Nearest, seed: Table, graph: int | None) -> Iterator[Table]:
        return self._alone(pattern, seed, graph, lambda: self._find_nearest(pattern, graph))

    def _find_nearest(self, pattern: Nearest, graph: int | None) -> Iterator[Table]:
        left = self.collect(
            pattern.left, unit_table(), graph, "the left side of the spatial search"
        )
        right = self.collect(pattern.right, unit_table(), graph, "the spatial search")
        if left.length and right.length:
            yield find_nearest(pattern, left, right, self.evaluator(graph))

    # Solution modifiers --------------------------------------------------------------------------

    def _alone(
        self, pattern: Pattern, seed: Table, graph: int | None, run: Callable[[], Iterator[Table]]
    ) -> Iterator[Table]:
        """Run what must see all solutions of its own pattern, then join with the seed."""
        if not seed.columns and seed.length == 1:
            yield from run()
            return
        tables = concat(list(run()), self.runtime.pool)
        yield from self._hash_join(seed, tables)

    def _group(self, pattern: Group, seed: Table, graph: int | None) -> Iterator[Table]:
        return self._alone(pattern, seed, graph, lambda: self._grouped(pattern, graph))

    def _grouped(self, pattern: Group, graph: int | None) -> Iterator[Table]:
        counted = None if graph else count_group(pattern, self.runtime)
        if counted is not None:
            yield counted
            return
        pool = self.runtime.pool
        evaluator = self.evaluator(graph)
        table = self.collect(pattern.pattern, unit_table(), graph, "the group")
        keys = [
            table.ids(var.name, pool)
            if key is None
            else evaluator.ids(evaluator.column(key, table), table.length)
            for var, key in pattern.keys
        ]
        groups, count = factorize(keys, table.length)
        if not keys:
            count = 1  # without GROUP BY there is one group, be it empty
        first = _firsts(groups, count) if table.length else np.empty(0, np.int64)
        columns = {var.name: k[first] for (var, _), k in zip(pattern.keys, keys, strict=True)}
        result = Table(dict(columns), count)
        for var, call in pattern.aggregates:
            self.runtime.deadline.check()
            result.columns[var.name] = aggregate(call, table, groups, count, evaluator)
        self.runtime.release(table.nbytes())
        yield result

    def _order(self, pattern: OrderBy, seed: Table, graph: int | None) -> Iterator[Table]:
        table = self.collect(pattern.pattern, seed, graph, "the ORDER BY")
        evaluator = self.evaluator(graph)
        ranks = [self._rank(e, descending, table, evaluator) for e, descending in pattern.keys]
        if table.length:
            yield table.take(np.lexsort(ranks[::-1]))

    def _rank(
        self, expression: Expression, descending: bool, table: Table, evaluator: Evaluator
    ) -> NDArray[np.float64] | NDArray[np.int64]:
        column = evaluator.column(expression, table)
        if isinstance(column, Numbers):
            ranks = np.where(column.valid & ~np.isnan(column.values), column.values, -np.inf)
            return -ranks if descending else ranks
        ids = evaluator.ids(column, table.length)
        if in_space(ids, INTEGER) or in_space(ids, DATETIME):
            return -ids if descending else ids
        unique, inverse = np.unique(ids, return_inverse=True)
        self.runtime.deadline.check()
        by_term = rank_ids(unique, self.runtime)[inverse]
        return -by_term if descending else by_term

    def _project(self, pattern: Project, seed: Table, graph: int | None) -> Iterator[Table]:
        names = [var.name for var in pattern.variables]
        if not seed.columns:
            for table in self.run(pattern.pattern, seed, graph):
                yield table.keep(names)
            return
        # A variable that the subquery does not give out is another one than the seed's.
        row = self._row_name(pattern)
        inner_seed = Table({**seed.keep(names).columns, row: np.arange(seed.length)}, seed.length)
        for table in self.run(pattern.pattern, inner_seed, graph):
            rows = table.ids(row, self.runtime.pool)
            rest = [n for n in seed.columns if n not in names]
            outer = seed.keep(rest).take(rows).columns
            yield Table({**outer, **table.keep(names).columns}, table.length)

    def _distinct(self, pattern: Distinct, seed: Table, graph: int | None) -> Iterator[Table]:
        """Yield each row once; rows seen before are merged in batches that grow with them."""
        pool = self.runtime.pool
        seen = empty_table()
        waiting: list[Table] = []
        rows = 0
        for table in self.run(pattern.pattern, seed, graph):
            waiting.append(table)
            rows += table.length
            if rows >= max(CHUNK_ROWS // 16, seen.length):
                fresh, seen = self._unseen(seen, concat(waiting, pool))
                waiting, rows = [], 0
                yield fresh
        if waiting:
            yield self._unseen(seen, concat(waiting, pool))[0]

    def _unseen(self, seen: Table, table: Table) -> tuple[Table, Table]:
        pool = self.runtime.pool
        names = list(table.columns | seen.columns)
        both = concat([seen, table], pool) if seen.length else table
        if not names:
            return (table.slice(0, 1 - seen.length) if not seen.length else empty_table()), (
                seen if seen.length else table.slice(0, 1)
            )
        groups, count = factorize([both.ids(name, pool) for name in names], both.length)
        first = np.sort(_firsts(groups, count))
        fresh = both.take(first[first >= seen.length])
        self.runtime.hold(fresh.nbytes(), len(first), "the DISTINCT")
        return fresh, both.take(first)

    def _slice(self, pattern: Slice, seed: Table, graph: int | None) -> Iterator[Table]:
        return self._alone(pattern, seed, graph, lambda: self._sliced(pattern, graph))

    def _sliced(self, pattern: Slice, graph: int | None) -> Iterator[Table]:
        if pattern.limit == 0:
            return
        self._early_stop += 1
        try:
            inner = self.run(pattern.pattern, unit_table(), graph)
            yield from slice_tables(inner, pattern.offset, pattern.limit)
        finally:
            self._early_stop -= 1

    # EXISTS --------------------------------------------------------------------------------------

    def _exists(self, pattern: Pattern, table: Table, graph: int | None) -> Mask:
        """Return for which rows the pattern has a solution with the row's bindings."""
        pool = self.runtime.pool
        names = [v.name for v in pattern_mentions(pattern) if v.name in table.columns]
        columns = [table.ids(name, pool) for name in names]
        groups, count = factorize(columns, table.length)
        first = _firsts(groups, count)
        found = np.zeros(count, np.bool_)
        # An unbound variable is free inside the pattern: rows are asked by which are bound.
        rows = np.arange(count)
        bound = (
            np.array([column[first] != 0 for column in columns]).T
            if columns
            else np.empty((count, 0), np.bool_)
        )
        row = self._row_name(pattern)
        for kind in np.unique(bound, axis=0):
            chosen = rows[(bound == kind).all(axis=1)]
            given = {
                name: column[first][chosen]
                for name, column, is_bound in zip(names, columns, kind, strict=True)
                if is_bound
            }
            probe = Table({**given, row: chosen}, len(chosen))
            for result in self.run(pattern, probe, graph):
                found[result.ids(row, pool)] = True
                if found[chosen].all():
                    break
        return found[groups]

    _OPERATORS: ClassVar[dict[type, Callable[..., Iterator[Table]]]] = {
        Bgp: _bgp, Join: _join, LeftJoin: _left_join, Union: _union, Minus: _minus,
        Filter: _filter, Extend: _extend, Graph: _graph, Values: _values, Service: _service,
        Remote: _remote,
        Nearest: _nearest,
        Group: _group, OrderBy: _order, Project: _project, Distinct: _distinct, Slice: _slice,
    }  # fmt: skip


def _firsts(groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the first row of each group."""
    first = np.zeros(count, np.int64)
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    return first
