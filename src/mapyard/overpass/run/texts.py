"""Functions of texts: numbers in texts, dates in texts, and lists in texts (`a;b;c`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mapyard.overpass.run.columns import NOT_A_NUMBER, read_number, write_number

_LEADING_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_DIGITS = re.compile(r"\d+", re.ASCII)


def _leading(text: str) -> float | None:
    match = _LEADING_NUMBER.match(text)
    return float(match.group(1)) if match else None


def _number(text: str) -> str:
    number = _leading(text)
    return NOT_A_NUMBER if number is None else write_number(number)


def _is_number(text: str) -> str:
    return "0" if _leading(text) is None else "1"


def _suffix(text: str) -> str:
    match = _LEADING_NUMBER.match(text)
    return text[match.end() :].strip() if match else ""


def _abs(text: str) -> str:
    number = _leading(text)
    return NOT_A_NUMBER if number is None else write_number(abs(number))


def _read_date(text: str) -> float | None:
    """Return a date as a number that sorts like it: the first six groups of digits are read."""
    groups = [int(group) for group in _DIGITS.findall(text)[:6]]
    year, month, day, hour, minute, second = (*groups, *[0] * (6 - len(groups)))
    if year < 1000 or month > 12 or day > 31 or hour > 23 or minute > 59 or second > 60:
        return None
    return (
        year
        + month / 16
        + day / (16 * 32)
        + hour / (16 * 32 * 32)
        + minute / (16 * 32 * 32 * 64)
        + second / (16 * 32 * 32 * 64 * 64)
    )


def _date(text: str) -> str:
    number = _read_date(text)
    return "NaD" if number is None else write_number(number)


def _is_date(text: str) -> str:
    return "0" if _read_date(text) is None else "1"


def split_list(text: str) -> list[str]:
    """Return the distinct entries of a list in a text, sorted."""
    return sorted({part.strip() for part in text.split(";")}) if text else []


def extreme(values: list[str], pick: Callable[..., object]) -> str:
    """Return the least or greatest: by number if all are, else by text, empty ones left out."""
    if not values:
        return ""
    numbers = [read_number(value) for value in values]
    if all(number == number for number in numbers):
        return write_number(float(str(pick(numbers))))
    filled = [value for value in values if value]
    return str(pick(filled)) if filled else ""


def _list_min(text: str) -> str:
    return extreme(split_list(text), min)


def _list_max(text: str) -> str:
    return extreme(split_list(text), max)


def _list_in(text: str, items: str) -> str:
    return "1" if items and text.strip() in {part.strip() for part in items.split(";")} else "0"


def _list_intersection(a: str, b: str) -> str:
    return ";".join(sorted(set(split_list(a)) & set(split_list(b))))


def _list_union(a: str, b: str) -> str:
    return ";".join(sorted(set(split_list(a)) | set(split_list(b))))


#: Functions of one text by name.
UNARY: Final[dict[str, Callable[[str], str]]] = {
    "number": _number, "is_number": _is_number, "suffix": _suffix, "abs": _abs,
    "date": _date, "is_date": _is_date, "lrs_min": _list_min, "lrs_max": _list_max,
}  # fmt: skip
#: Functions of two texts by name.
BINARY: Final[dict[str, Callable[[str, str], str]]] = {
    "lrs_in": _list_in, "lrs_isect": _list_intersection, "lrs_union": _list_union,
}  # fmt: skip
