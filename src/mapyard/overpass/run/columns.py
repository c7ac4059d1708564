"""Columns of values: one value per element, all of one shape, with the operators on them.

A value is a text that operators read as a number where it looks like one. A column keeps numbers as
an array, and texts as codes into their distinct values, so that work on texts is done once per
distinct value. A column of length 1 stands for a constant and broadcasts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import TooLarge
from mapyard.overpass.osm.rowsets import Mask
from mapyard.overpass.space.lines import Floats, Ints

NOT_A_NUMBER = "NaN"
#: Longest text that a query may make: a loop could double one again and again.
MAX_TEXT_LENGTH = 4_000_000
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
#: What counts as a number in comparisons, though it is none: NaN is unequal to everything.
_NO_VALUE = frozenset({"nan", "+nan", "-nan"})


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts as codes into distinct values."""

    codes: Ints
    values: list[str]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers, NaN where there is none; `decimals` is how many are written (None: as needed)."""

    values: Floats
    decimals: int | None = None

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Shapes:
    """Geometries, None where there is none; also a list of them per element for `gcat`."""

    values: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.values)


type Column = Texts | Numbers | Shapes


def constant(text: str) -> Texts:
    """Return the column of one text."""
    return Texts(np.zeros(1, np.int64), [text])


def from_texts(texts: list[str]) -> Texts:
    """Return the column of one text per element."""
    index: dict[str, int] = {}
    codes = [index.setdefault(text, len(index)) for text in texts]
    return Texts(np.array(codes, np.int64), list(index))


def from_mask(mask: Mask) -> Numbers:
    """Return 1 for true and 0 for false."""
    return Numbers(mask.astype(np.float64))


def write_number(value: float, decimals: int | None = None) -> str:
    """Return the text of a number, as the original writes it."""
    if value != value:
        return NOT_A_NUMBER
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if value == int(value) if abs(value) < 1e15 else False:
        return str(int(value))
    return f"{value:.15g}"


def read_number(text: str) -> float:
    """Return the number that a whole text is, or NaN."""
    return float(text) if _NUMBER.fullmatch(text) else float("nan")


def to_texts(column: Column) -> Texts:
    """Return a column as texts; geometries have none."""
    if isinstance(column, Texts):
        return column
    if isinstance(column, Shapes):
        return Texts(np.zeros(len(column), np.int64), [""])
    distinct, codes = np.unique(column.values, return_inverse=True)
    return Texts(
        codes.reshape(-1), [write_number(value, column.decimals) for value in distinct.tolist()]
    )


def to_list(column: Column) -> list[str]:
    """Return the text of each element."""
    texts = to_texts(column)
    values = texts.values
    return [values[code] for code in texts.codes.tolist()]


def to_numbers(column: Column) -> Floats:
    """Return the number of each element, NaN where the text is none."""
    if isinstance(column, Numbers):
        return column.values
    texts = to_texts(column)
    numbers = np.array([read_number(text) for text in texts.values], np.float64)
    return numbers[texts.codes] if len(numbers) else np.empty(0, np.float64)


def to_mask(column: Column) -> Mask:
    """Return which values are true: numbers but 0, and texts but the empty one."""
    if isinstance(column, Numbers):
        return np.asarray(column.values != 0)
    texts = to_texts(column)
    true = [bool(text) and read_number(text) != 0 for text in texts.values]
    return np.array(true, np.bool_)[texts.codes] if true else np.empty(0, np.bool_)


def map_texts(column: Column, function: Callable[[str], str]) -> Texts:
    """Return the column of a function of each text."""
    texts = to_texts(column)
    return recode(texts.codes, [function(text) for text in texts.values])


def recode(codes: Ints, values: list[str]) -> Texts:
    """Return texts whose values may have doubles, without them."""
    index: dict[str, int] = {}
    mapping = np.array([index.setdefault(value, len(index)) for value in values], np.int64)
    return Texts(mapping[codes] if len(mapping) else codes, list(index))


def map_pairs(a: Column, b: Column, function: Callable[[str, str], str]) -> Texts:
    """Return the column of a function of both texts, called once per distinct pair."""
    left, right = to_texts(a), to_texts(b)
    width = max(len(right.values), 1)
    pairs, codes = np.unique(left.codes * width + right.codes, return_inverse=True)
    values = [
        function(left.values[pair // width], right.values[pair % width]) for pair in pairs.tolist()
    ]
    return recode(codes.reshape(-1), values)


_COMPARE: dict[str, Callable[[Floats, Floats], Mask]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
_COMPARE_TEXTS: dict[str, Callable[[str, str], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def is_numeric(column: Column) -> Mask:
    """Return which values are compared as numbers."""
    if isinstance(column, Numbers):
        return np.ones(len(column), np.bool_)
    texts = to_texts(column)
    numeric = [
        _NUMBER.fullmatch(text) is not None or text.lower() in _NO_VALUE for text in texts.values
    ]
    return np.array(numeric, np.bool_)[texts.codes] if numeric else np.empty(0, np.bool_)


def compare(operator: str, a: Column, b: Column) -> Column:
    """Return 1 where the comparison holds: of numbers where both are, else of texts."""
    left, right = to_numbers(a), to_numbers(b)
    numeric = is_numeric(a) & is_numeric(b)
    result = np.where(numeric, _COMPARE[operator](left, right), False)
    if not numeric.all():
        holds = _COMPARE_TEXTS[operator]
        texts = map_pairs(a, b, lambda x, y: "1" if holds(x, y) else "0")
        result = np.where(numeric, result, to_mask(texts))
    return from_mask(result)


def calculate(operator: str, a: Column, b: Column) -> Column:
    """Return sums, differences, products and quotients; + joins what are not both numbers."""
    left, right = to_numbers(a), to_numbers(b)
    with np.errstate(all="ignore"):
        if operator == "+":
            result = left + right
        elif operator == "-":
            result = left - right
        elif operator == "*":
            result = left * right
        elif operator == "/":
            result = left / right
        else:
            result = np.fmod(left, right)
    if operator == "+" and np.isnan(result).any():
        return map_pairs(a, b, _add_texts)
    return Numbers(np.where(np.isinf(result), np.nan, result))


def _add_texts(a: str, b: str) -> str:
    left, right = read_number(a), read_number(b)
    if left == left and right == right:
        return write_number(left + right)
    check_length(len(a) + len(b))
    return a + b


def check_length(length: int) -> None:
    """Raise TooLarge for a text that is longer than a query may make."""
    if length > MAX_TEXT_LENGTH:
        raise TooLarge(
            f"a text of this query would have more than {MAX_TEXT_LENGTH:,} characters; "
            "put less together",
            details={"limit": MAX_TEXT_LENGTH, "unit": "characters"},
        )


def logical(operator: str, a: Column, b: Column) -> Column:
    """Return 1 where both, or any, are true."""
    left, right = to_mask(a), to_mask(b)
    return from_mask(left & right if operator == "&&" else left | right)


def choose(condition: Column, then: Column, otherwise: Column, count: int) -> Column:
    """Return one of two columns by a condition; all broadcast to `count`."""
    mask = np.broadcast_to(to_mask(condition), (count,))
    if isinstance(then, Shapes) or isinstance(otherwise, Shapes):
        empty = np.full(1, None, np.object_)
        pair = [c.values if isinstance(c, Shapes) else empty for c in (then, otherwise)]
        return Shapes(np.where(mask, np.broadcast_to(pair[0], (count,)), pair[1]))
    first, second = to_texts(then), to_texts(otherwise)
    codes = np.where(mask, first.codes, second.codes + len(first.values))
    return recode(codes, first.values + second.values)


def broadcast(column: Column, count: int) -> Column:
    """Return a column of `count` values; one of length 1 is repeated."""
    if len(column) == count:
        return column
    if isinstance(column, Texts):
        return Texts(np.broadcast_to(column.codes, (count,)), column.values)
    if isinstance(column, Numbers):
        return Numbers(np.broadcast_to(column.values, (count,)), column.decimals)
    return Shapes(np.broadcast_to(column.values, (count,)))
