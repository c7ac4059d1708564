"""Binding tables: a column per variable, and the joins on them.

A column is an array of term ids, or a typed vector (numbers, booleans, shapes) that becomes ids
only when something needs them. Ids of 0 are unbound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.sparql.run.term_pool import TermPool
from mapyard.sparql.terms.ids import Ids, Mask
from mapyard.sparql.terms.terms import FALSE, TRUE, WKT_LITERAL, XSD_DOUBLE, Literal, Term
from mapyard.sparql.terms.values import format_double

Index = NDArray[Any]
#: Shapes written as texts before the memory of those is counted.
_WRITTEN_SHAPES = 1024
#: About what GEOS and Python keep of a shape besides its positions.
_SHAPE_BYTES = 300


class Encoder(Protocol):
    """What gives terms their ids: a TermPool, or the running query."""

    def encode(self, term: Term) -> int:
        """Return the id of a term."""
        ...


class Numbers:
    """Values of xsd:double; NaN where invalid means an error only if `valid` says so."""

    __slots__ = ("valid", "values")

    def __init__(self, values: NDArray[np.float64], valid: Mask) -> None:
        self.values = values
        self.valid = valid

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Index) -> Numbers:
        """Return the values at an index or under a mask."""
        return Numbers(self.values[index], self.valid[index])

    def to_ids(self, pool: Encoder) -> Ids:
        """Return the ids of the literals."""
        unique, inverse = np.unique(self.values, return_inverse=True)
        encode = pool.encode
        ids = [encode(Literal(format_double(v), XSD_DOUBLE)) for v in unique.tolist()]
        return np.where(self.valid, np.array(ids, np.int64)[inverse], 0)


class Booleans:
    """Values of xsd:boolean, errors where not `valid`."""

    __slots__ = ("valid", "values")

    def __init__(self, values: Mask, valid: Mask) -> None:
        self.values = values
        self.valid = valid

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Index) -> Booleans:
        """Return the values at an index or under a mask."""
        return Booleans(self.values[index], self.valid[index])

    def to_ids(self, pool: Encoder) -> Ids:
        """Return the ids of the literals."""
        ids = np.where(self.values, pool.encode(TRUE), pool.encode(FALSE))
        return np.where(self.valid, ids, 0)


class Shapes:
    """Geometries in degrees, None is an error; `ids` are the terms that they came from, if any."""

    __slots__ = ("ids", "values")

    def __init__(self, values: NDArray[np.object_], ids: Ids | None = None) -> None:
        self.values = values
        self.ids = ids

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Index) -> Shapes:
        """Return the values at an index or under a mask."""
        return Shapes(self.values[index], None if self.ids is None else self.ids[index])

    def nbytes(self) -> int:
        """Return about how much memory the shapes take, which GEOS holds."""
        return 16 * int(shapely.get_num_coordinates(self.values).sum()) + _SHAPE_BYTES * len(self)

    def to_ids(self, pool: Encoder) -> Ids:
        """Return the ids of the WKT literals."""
        if self.ids is not None:
            return self.ids
        encode = pool.encode  # counts their memory and looks at the deadline
        ids: list[int] = []
        for start in range(0, len(self.values), _WRITTEN_SHAPES):
            ids += [
                0 if text is None else encode(Literal(text, WKT_LITERAL))
                for text in format_wkt(self.values[start : start + _WRITTEN_SHAPES])
            ]
        return np.array(ids, np.int64)


class Constant:
    """A column of one term, as long as it needs to be."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term


Column = Ids | Numbers | Booleans | Shapes
#: What an expression gives.
Value = Column | Constant


def format_wkt(shapes: NDArray[np.object_]) -> list[str | None]:
    """Return the WKT of each shape as the public endpoints write it, 7 decimals, no space."""
    texts = shapely.to_wkt(shapes, rounding_precision=7)
    return [
        None if text is None else text.replace(" (", "(").replace(", ", ",")
        for text in np.asarray(texts, np.object_).tolist()
    ]


def take(column: Column, index: Index) -> Column:
    """Return a column's entries at an index or under a mask."""
    return column[index] if isinstance(column, np.ndarray) else column.take(index)


class Table:
    """Solutions: columns by variable name, all of `length`."""

    __slots__ = ("columns", "length")

    def __init__(self, columns: dict[str, Column], length: int) -> None:
        self.columns = columns
        self.length = length

    def ids(self, name: str, pool: TermPool) -> Ids:
        """Return a column as ids; all unbound where the table lacks it."""
        column = self.columns.get(name)
        if column is None:
            return np.zeros(self.length, np.int64)
        return column if isinstance(column, np.ndarray) else column.to_ids(pool)

    def take(self, index: Index) -> Table:
        """Return the rows at an index or under a mask."""
        columns = {name: take(column, index) for name, column in self.columns.items()}
        if index.dtype == np.bool_:
            return Table(columns, int(np.count_nonzero(index)))
        return Table(columns, len(index))

    def slice(self, start: int, stop: int) -> Table:
        """Return a range of rows, without a copy where possible."""
        stop = min(stop, self.length)
        part: Any = slice(start, stop)
        columns = {name: take(column, part) for name, column in self.columns.items()}
        return Table(columns, max(0, stop - start))

    def keep(self, names: Iterable[str]) -> Table:
        """Return the table with only these columns."""
        columns = {name: self.columns[name] for name in names if name in self.columns}
        return Table(columns, self.length)

    def nbytes(self) -> int:
        """Return about how much memory the columns take."""
        return sum(
            c.nbytes if isinstance(c, np.ndarray) else c.nbytes() if isinstance(c, Shapes)
            else 9 * len(c)
            for c in self.columns.values()
        )  # fmt: skip


#: Names of hidden columns that keep the value of a function begin so.
KEPT_VALUE = " value"


def unit_table() -> Table:
    """Return a table of one row without columns; a fresh one, for kept values are written in."""
    return Table({}, 1)


def empty_table() -> Table:
    """Return a table without rows, a fresh one."""
    return Table({}, 0)


def concat(tables: Sequence[Table], pool: TermPool) -> Table:
    """Return the tables one after the other; missing columns are unbound."""
    if len(tables) == 1:
        return tables[0]
    if not tables:
        return empty_table()
    length = sum(table.length for table in tables)
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        parts = [table.columns.get(name) for table in tables]
        if name.startswith(KEPT_VALUE) and any(part is None for part in parts):
            continue  # where it is missing it was not calculated, which is not unbound
        if all(isinstance(part, Numbers) for part in parts):
            columns[name] = Numbers(
                np.concatenate([part.values for part in parts]),  # type: ignore[union-attr] # checked
                np.concatenate([part.valid for part in parts]),  # type: ignore[union-attr] # checked
            )
        else:
            columns[name] = np.concatenate([table.ids(name, pool) for table in tables])
    return Table(columns, length)


def factorize(columns: Sequence[Ids], length: int) -> tuple[NDArray[np.int64], int]:
    """Return a group number per row, 0 … count − 1 in the order of the columns' ids, and count."""
    if not columns:
        return np.zeros(length, np.int64), min(1, length)
    codes: NDArray[np.int64] | None = None
    count = 0
    for column in columns:
        unique, inverse = np.unique(column, return_inverse=True)
        if codes is None:
            codes, count = inverse.astype(np.int64, copy=False), len(unique)
        else:
            combined = codes * max(1, len(unique)) + inverse
            values, codes = np.unique(combined, return_inverse=True)
            count = len(values)
    assert codes is not None
    return codes, count


def join_indexes(
    left: Sequence[Ids], right: Sequence[Ids], left_length: int, right_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each left row the number of equal right rows, and the means to list the pairs.

    Returns counts per left row, the start of its run, and the order of right rows that runs lie in.
    """
    if len(left) == 1:
        a, b = left[0], right[0]
    else:
        codes, _ = factorize(
            [np.concatenate([x, y]) for x, y in zip(left, right, strict=True)],
            left_length + right_length,
        )
        a, b = codes[:left_length], codes[left_length:]
    order = np.argsort(b, kind="stable")
    sorted_right = b[order]
    start = np.searchsorted(sorted_right, a, side="left")
    counts = np.searchsorted(sorted_right, a, side="right") - start
    return counts, start, order


def expand(counts: NDArray[Any], start: NDArray[Any]) -> tuple[Index, Index]:
    """Return (left row, place in the order) of each pair of `join_indexes`."""
    total = int(counts.sum())
    left = np.repeat(np.arange(len(counts)), counts)
    shift = np.repeat(start - (np.cumsum(counts) - counts), counts)
    return left, np.arange(total) + shift


def slice_tables(tables: Iterator[Table], offset: int, limit: int | None) -> Iterator[Table]:
    """Yield the rows from `offset` on, at most `limit`; reads no further than it must."""
    skip, left = offset, limit
    if left == 0:
        return
    for table in tables:
        if skip >= table.length:
            skip -= table.length
            continue
        part = table.slice(skip, table.length if left is None else skip + left)
        skip = 0
        yield part
        if left is not None:
            left -= part.length
            if left <= 0:
                return


def unique_pairs(first: NDArray[np.int64], second: Ids) -> tuple[NDArray[np.int64], Ids]:
    """Return the distinct pairs of two columns, sorted."""
    a, b = unique_rows([first, second])
    return a, b


def unique_rows(columns: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return the distinct rows of columns, sorted by the first, then the next …"""
    order = np.lexsort(columns[::-1])
    ordered = [column[order] for column in columns]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered])
    return [column[fresh] for column in ordered]
