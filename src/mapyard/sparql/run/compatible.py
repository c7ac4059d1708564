"""Joins of whole tables where variables may be unbound on either side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.run.table import Column, Table, expand, join_indexes
from mapyard.sparql.run.term_pool import TermPool
from mapyard.sparql.terms.ids import Ids, Mask

Rows = NDArray[np.int64]
#: Pairs listed at once.
_PAIRS = 262_144


def compatible_pairs(left: Table, right: Table, pool: TermPool) -> Iterator[tuple[Rows, Rows]]:
    """Yield (left rows, right rows) of all compatible pairs, in portions."""
    if not left.length or not right.length:
        return
    shared = [name for name in left.columns if name in right.columns]
    a = [left.ids(name, pool) for name in shared]
    b = [right.ids(name, pool) for name in shared]
    for left_rows, left_bound in _by_bound(a, left.length):
        for right_rows, right_bound in _by_bound(b, right.length):
            both = [i for i in range(len(shared)) if left_bound[i] and right_bound[i]]
            yield from _equal_pairs(
                [a[i][left_rows] for i in both],
                [b[i][right_rows] for i in both],
                left_rows,
                right_rows,
            )


def _by_bound(columns: list[Ids], length: int) -> Iterator[tuple[Rows, NDArray[np.bool_]]]:
    """Yield the rows that have the same variables bound, and which those are."""
    every = np.arange(length)
    if all(bool(column.all()) for column in columns):
        yield every, np.ones(len(columns), np.bool_)
        return
    bound = np.array([column != 0 for column in columns]).T
    for kind in np.unique(bound, axis=0):
        yield every[(bound == kind).all(axis=1)], kind


def _equal_pairs(
    a: list[Ids], b: list[Ids], left_rows: Rows, right_rows: Rows
) -> Iterator[tuple[Rows, Rows]]:
    if not a:  # nothing in common: every pair
        size = max(1, _PAIRS // len(right_rows))
        for start in range(0, len(left_rows), size):
            part = left_rows[start : start + size]
            yield np.repeat(part, len(right_rows)), np.tile(right_rows, len(part))
        return
    counts, start_of, order = join_indexes(a, b, len(left_rows), len(right_rows))
    ends = np.cumsum(counts)
    total = int(ends[-1])
    first = 0
    while first < len(left_rows):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
        index, place = expand(counts[first:last], start_of[first:last])
        if len(index):
            yield left_rows[first:last][index], right_rows[order[place]]
        first = last
        if last >= len(left_rows) or int(ends[last - 1]) == total:
            return


def merge_rows(left: Table, right: Table, a: Rows, b: Rows, pool: TermPool) -> Table:
    """Return the joined rows; what is unbound on the left comes from the right."""
    columns: dict[str, Column] = dict(left.take(a).columns)
    for name, column in right.take(b).columns.items():
        if name in columns:
            mine = left.ids(name, pool)[a]
            if not mine.all():
                columns[name] = np.where(mine == 0, right.ids(name, pool)[b], mine)
        else:
            columns[name] = column
    return Table(columns, len(a))


def incompatible_rows(left: Table, right: Table, pool: TermPool) -> Mask:
    """Return which left rows MINUS keeps: those without a compatible right row."""
    keep = np.ones(left.length, np.bool_)
    if not right.length:
        return keep
    shared = [name for name in left.columns if name in right.columns]
    a = [left.ids(name, pool) for name in shared]
    b = [right.ids(name, pool) for name in shared]
    for left_rows, left_bound in _by_bound(a, left.length):
        for right_rows, right_bound in _by_bound(b, right.length):
            both = [i for i in range(len(shared)) if left_bound[i] and right_bound[i]]
            if both:
                counts, _, _ = join_indexes(
                    [a[i][left_rows] for i in both],
                    [b[i][right_rows] for i in both],
                    len(left_rows),
                    len(right_rows),
                )
                keep[left_rows[counts > 0]] = False
    return keep
