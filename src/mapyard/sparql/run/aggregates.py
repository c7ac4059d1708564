"""GROUP BY and the aggregates: counts and sums on arrays, the rest once per group on terms."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.sparql.plan.algebra import Aggregate
from mapyard.sparql.run.expressions import Evaluator
from mapyard.sparql.run.functions import check_length, get_text
from mapyard.sparql.run.geosparql import full, refuse_effort, shapes_of
from mapyard.sparql.run.runtime import Runtime
from mapyard.sparql.run.shape_functions import AGGREGATES as SHAPE_AGGREGATES
from mapyard.sparql.run.shape_functions import Gather
from mapyard.sparql.run.table import Column, Numbers, Shapes, Table
from mapyard.sparql.run.term_pool import TERM_BYTES
from mapyard.sparql.terms.ids import INTEGER, Ids, in_space, integer_ids, integer_values
from mapyard.sparql.terms.terms import Literal, Term, TripleTerm, format_term
from mapyard.sparql.terms.values import (
    DECIMAL,
    ExpressionError,
    calculate,
    get_number,
    number_literal,
    sort_key,
)
from mapyard.sparql.terms.values import (
    INTEGER as INTEGER_KIND,
)

#: About what a term, its key and its place in lists take while they are sorted.
_KEY_BYTES: Final = 250
#: Keys sorted in one step.
_RUN: Final = 32_768
#: Terms decoded before their memory is counted.
_DECODED_AT_ONCE: Final = 4_096

Groups = NDArray[np.int64]


def aggregate(
    call: Aggregate, table: Table, groups: Groups, count: int, evaluator: Evaluator
) -> Column:
    """Return one value per group; `groups` numbers the group of each row of the table."""
    if call.arg is None:
        if call.distinct:
            return _count_distinct_rows(table, groups, count, evaluator)
        return integer_ids(np.bincount(groups, minlength=count))
    gather = SHAPE_AGGREGATES.get(call.name)
    if gather is not None:
        return _gather_shapes(gather, call, table, groups, count, evaluator)
    values = evaluator.column(call.arg, table)
    if isinstance(values, Numbers) and not call.distinct and call.name in _ON_NUMBERS:
        return _ON_NUMBERS[call.name](values, groups, count)
    ids = evaluator.ids(values, table.length)
    if call.distinct:
        order = np.lexsort((ids, groups))
        g, v = groups[order], ids[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (g[1:] != g[:-1]) | (v[1:] != v[:-1])
        kept = np.sort(order[first])
        ids, groups = ids[kept], groups[kept]
    if call.name == "COUNT":
        return integer_ids(np.bincount(groups[ids != 0], minlength=count))
    if call.name == "SAMPLE":
        return _sample(ids, groups, count)
    if call.name in ("SUM", "AVG") and in_space(ids, INTEGER):
        summed = _sum_integers(call.name, integer_values(ids), groups, count)
        if summed is not None:
            return evaluator.pool.encode_many(summed)
    if call.name in ("MIN", "MAX"):
        return _extreme(call.name, ids, groups, count, evaluator)
    return _on_terms(call, ids, groups, count, evaluator)


def _gather_shapes(
    gather: Gather, call: Aggregate, table: Table, groups: Groups, count: int, evaluator: Evaluator
) -> Column:
    """Return one shape per group; what is not a geometry is left out."""
    assert call.arg is not None
    shapes = full(shapes_of(evaluator.value(call.arg, table), evaluator), table.length)
    known = shapely.is_geometry(shapes)
    refuse_effort(shapes[known], None, [], evaluator)
    order = np.argsort(groups[known], kind="stable")
    shapes, groups = shapes[known][order], groups[known][order]
    edges = np.searchsorted(groups, np.arange(count + 1)).tolist()
    result = np.full(count, None, np.object_)
    for place, (start, stop) in enumerate(pairwise(edges)):
        evaluator.runtime.deadline.check()
        if stop > start:
            result[place] = gather(shapes[start:stop])
    return Shapes(result)


def _count_distinct_rows(table: Table, groups: Groups, count: int, evaluator: Evaluator) -> Ids:
    columns = [table.ids(name, evaluator.pool) for name in table.columns]
    stacked = np.column_stack([groups, *columns])
    unique = np.unique(stacked, axis=0) if len(stacked) else stacked
    return integer_ids(np.bincount(unique[:, 0], minlength=count))


def _sample(ids: Ids, groups: Groups, count: int) -> Ids:
    """Return a bound value of each group if it has one."""
    result = np.zeros(count, np.int64)
    bound = np.flatnonzero(ids != 0)[::-1]
    result[groups[bound]] = ids[bound]
    return result


def _sum_integers(
    name: str, values: NDArray[np.int64], groups: Groups, count: int
) -> list[Term | None] | None:
    if float(np.abs(values).max()) * len(values) > 2**52:
        return None
    sums = np.bincount(groups, weights=values, minlength=count).astype(np.int64).tolist()
    if name == "SUM":
        return [number_literal(total, INTEGER_KIND) for total in sums]
    sizes = np.bincount(groups, minlength=count).tolist()
    return [_average(number_literal(t, INTEGER_KIND), n) for t, n in zip(sums, sizes, strict=True)]


def _average(total: Literal, size: int) -> Term | None:
    if not size:
        return number_literal(0, INTEGER_KIND)
    return calculate("/", total, number_literal(size, INTEGER_KIND))


def _sum_numbers(values: Numbers, groups: Groups, count: int) -> Column:
    total = np.bincount(groups, weights=np.where(values.valid, values.values, 0), minlength=count)
    failed = np.bincount(groups, weights=~values.valid, minlength=count) > 0
    return Numbers(total, ~failed)


def _average_numbers(values: Numbers, groups: Groups, count: int) -> Column:
    total = _sum_numbers(values, groups, count)
    assert isinstance(total, Numbers)
    sizes = np.bincount(groups, minlength=count)
    return Numbers(total.values / np.maximum(1, sizes), total.valid)


def _count_numbers(values: Numbers, groups: Groups, count: int) -> Column:
    return integer_ids(np.bincount(groups[values.valid], minlength=count))


def _extreme_numbers(sign: float) -> Any:
    def apply(values: Numbers, groups: Groups, count: int) -> Column:
        result = np.full(count, np.inf)
        np.minimum.at(result, groups[values.valid], sign * values.values[values.valid])
        return Numbers(sign * result, np.isfinite(result))

    return apply


_ON_NUMBERS: dict[str, Any] = {
    "SUM": _sum_numbers,
    "AVG": _average_numbers,
    "COUNT": _count_numbers,
    "MIN": _extreme_numbers(1.0),
    "MAX": _extreme_numbers(-1.0),
}


def _extreme(name: str, ids: Ids, groups: Groups, count: int, evaluator: Evaluator) -> Ids:
    """Return the least or greatest value of each group in the order of ORDER BY."""
    keep = ids != 0
    ids, groups = ids[keep], groups[keep]
    unique, inverse = np.unique(ids, return_inverse=True)
    rank = rank_ids(unique, evaluator.runtime)[inverse]
    order = np.lexsort((rank if name == "MAX" else -rank, groups))
    result = np.zeros(count, np.int64)
    result[groups[order]] = ids[order]  # the last assignment of a group stays
    return result


def rank_ids(ids: Ids, runtime: Runtime) -> NDArray[np.int64]:
    """Return the rank of each term in the order of ORDER BY; equal keys share a rank."""
    runtime.room(len(ids) * _KEY_BYTES, "the order")
    kinds: dict[tuple[Any, ...], tuple[list[Any], list[int]]] = {}
    for index, term in enumerate(runtime.decode(ids)):
        if not index & 4095:
            runtime.deadline.check()
        key = sort_key(term)
        # Terms of one kind are sorted by what follows: mostly plain texts, which is fast.
        keys, indexes = kinds.setdefault(key[:2], ([], []))
        keys.append(key[2] if len(key) < 4 or not key[3] else key[2:])
        indexes.append(index)
    ranks = np.zeros(len(ids), np.int64)
    rank = 0
    for kind in sorted(kinds):
        keys, indexes = kinds[kind]
        runtime.deadline.check()
        mixed = any(isinstance(key, tuple) for key in keys)
        if mixed:
            keys = [key if isinstance(key, tuple) else (key, "") for key in keys]
        order = _sort_in_steps(keys, runtime)
        last = None
        for place in order:
            if keys[place] != last:
                rank += 1
                last = keys[place]
            ranks[indexes[place]] = rank
    return ranks


def _sort_in_steps(keys: list[Any], runtime: Runtime) -> list[int]:
    """Return the indexes of the sorted keys; no step holds up other threads for long."""
    runs = [
        sorted(range(start, min(start + _RUN, len(keys))), key=keys.__getitem__)
        for start in range(0, len(keys), _RUN)
    ]
    while len(runs) > 1:
        merged = [_merge(runs[i], runs[i + 1], keys, runtime) for i in range(0, len(runs) - 1, 2)]
        runs = merged + runs[len(runs) & ~1 :]
    return runs[0] if runs else []


def _merge(a: list[int], b: list[int], keys: list[Any], runtime: Runtime) -> list[int]:
    """Return two sorted runs as one: piece by piece, cut where both have equal keys."""
    key = keys.__getitem__
    merged: list[int] = []
    start = other = 0
    while start < len(a) and other < len(b):
        runtime.deadline.check()
        stop = min(start + _RUN, len(a))
        until = bisect_left(b, keys[a[stop - 1]], other, min(other + _RUN, len(b)), key=key)
        if until == other + _RUN:  # cut by b: what of a comes before, or is equal, goes along
            stop = bisect_right(a, keys[b[until - 1]], start, stop, key=key)
        # Two sorted runs one after the other: Python's sort just merges them.
        merged += sorted(a[start:stop] + b[other:until], key=key)
        start, other = stop, until
    return merged + a[start:] + b[other:]


def _on_terms(call: Aggregate, ids: Ids, groups: Groups, count: int, evaluator: Evaluator) -> Ids:
    """Aggregate term by term: sums of any numeric type, texts run together."""
    unique, inverse = np.unique(ids, return_inverse=True)
    terms = _decode_counted(unique, evaluator.runtime)
    order = np.argsort(groups, kind="stable")
    edges = np.searchsorted(groups[order], np.arange(count + 1))
    members = inverse[order].tolist()
    results: list[Term | None] = []
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        evaluator.runtime.deadline.check()
        group = [terms[i] for i in members[start:stop]]
        try:
            results.append(_aggregate_terms(call, group, evaluator.runtime))
        except ExpressionError:
            results.append(None)
    return evaluator.pool.encode_many(results)


def _decode_counted(ids: Ids, runtime: Runtime) -> list[Term | None]:
    """Return terms as runtime.decode does; their texts, which may be long, count as memory."""
    terms: list[Term | None] = []
    size = 0
    for start in range(0, len(ids), _DECODED_AT_ONCE):
        part = runtime.decode(ids[start : start + _DECODED_AT_ONCE])
        size += sum(TERM_BYTES + len(term[0]) for term in part if term is not None)
        runtime.room(size, "the aggregate")
        terms += part
    return terms


def _aggregate_terms(call: Aggregate, terms: list[Term | None], runtime: Runtime) -> Term | None:
    if call.name == "GROUP_CONCAT":
        texts = [_as_text(term) for term in terms if term is not None]
        length = sum(map(len, texts)) + len(call.separator) * len(texts)
        check_length(length)
        runtime.room(length, "GROUP_CONCAT")
        return Literal(call.separator.join(texts))
    total = number_literal(0, INTEGER_KIND)
    for number, term in enumerate(terms):
        if not number & 1023:
            runtime.deadline.check()
        if term is None:
            raise ExpressionError
        total = calculate("+", total, term)
    if call.name == "SUM":
        return total
    if not terms:
        return number_literal(0, INTEGER_KIND)
    value, kind = get_number(total)
    if kind == INTEGER_KIND:
        total = number_literal(value, DECIMAL)
    return calculate("/", total, number_literal(len(terms), INTEGER_KIND))


def _as_text(term: Term) -> str:
    if isinstance(term, Literal):
        return term.lexical if term.language == "" else get_text(term).lexical
    return format_term(term) if isinstance(term, TripleTerm) else term[0]
