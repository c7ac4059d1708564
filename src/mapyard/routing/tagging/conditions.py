"""Conditional tags: `no @ (Mo-Fr 07:00-19:00); destination @ (Sa 10:00-14:00)`.

Who asks for a way without a time gets what holds at noon of a working day in June: `ASSUMED`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

#: A Wednesday; in summer, when mountain passes are open.
ASSUMED: Final = datetime(2026, 6, 17, 12, 0)

ASSUMED_TEXT: Final = ASSUMED.strftime("%Y-%m-%dT%H:%M")

_DAYS: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAY, _MONTH = "|".join(_DAYS), "|".join(_MONTHS)
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_DAY_RANGE: Final = re.compile(rf"\b({_DAY})\b(?:\s*-\s*({_DAY})\b)?")
_MONTH_RANGE: Final = re.compile(
    rf"\b({_MONTH})\b\s*(\d{{1,2}})?(?:\s*-\s*(?:({_MONTH})\b)?\s*(\d{{1,2}})?(?![\d:]))?"
)
#: What a condition about time consists of; any other word makes it one about something else.
_ABOUT_TIME: Final = re.compile(
    rf"(?:\s|[-,;:()+]|\d|24/7|\b(?:{_DAY}|{_MONTH}|ph|sh|off|closed|open)\b)+"
)


def split_conditional(value: str) -> list[tuple[str, str]]:
    """Return the values and conditions of a conditional tag, in order; without any, nothing."""
    return [
        (what.strip(), condition.strip().removeprefix("(").removesuffix(")").strip())
        for what, separator, condition in (clause.partition("@") for clause in _split(value))
        if separator
    ]


def _split(value: str) -> Iterator[str]:
    """Yield what lies between semicolons outside of brackets."""
    depth, begin = 0, 0
    for at, letter in enumerate(value):
        depth += (letter == "(") - (letter == ")")
        if letter == ";" and depth <= 0 and "@" in value[at + 1 :]:
            yield value[begin:at]
            begin = at + 1
    yield value[begin:]


def is_about_time(condition: str) -> bool:
    """Return whether a condition is one of times only, not of weight, weather or purpose."""
    return bool(condition) and _ABOUT_TIME.fullmatch(condition.lower()) is not None


def split_hours(hours: str) -> list[str]:
    """Return opening hours as conditions of one range each, of which any may hold.

    Empty for hours that the engine would read otherwise: with holidays that are closed, or weeks.
    """
    conditions: list[str] = []
    for rule in hours.split(";"):
        text = rule.strip()
        if not text or re.match(r"(ph|sh)\b", text.lower()):
            continue
        times = _TIME.findall(text)
        if not is_about_time(text) or re.search(r"\b(off|closed)\b|\+", text.lower()):
            return []
        if text == "24/7":
            return []
        before = text[: match.start()] if (match := _TIME.search(text)) else text
        if not times:
            conditions.append(text)
        conditions += [f"{before}{a}:{b}-{c}:{d}".strip() for a, b, c, d in times]
    return conditions


def choose_value(conditional: str, at: datetime = ASSUMED) -> str | None:
    """Return the value that holds at a time: the last one whose condition does, or None."""
    chosen = None
    for value, condition in split_conditional(conditional):
        if is_about_time(condition) and is_open(condition, at):
            chosen = value
    return chosen


def is_open(hours: str, at: datetime = ASSUMED) -> bool:
    """Return whether opening hours hold at a time; later rules win, unknown parts are left out."""
    found = False
    for rule in hours.lower().split(";"):
        text = rule.strip()
        if not text or re.fullmatch(r"(ph|sh)\b.*", text):
            continue
        applies = _applies_on(text, at)
        if re.search(r"\b(off|closed)\b", text):
            found = found and not (applies and _holds_at(text, at))
        elif applies:
            found = _holds_at(text, at)
    return found


def _applies_on(rule: str, at: datetime) -> bool:
    months = [match.groups() for match in _MONTH_RANGE.finditer(rule)]
    if months and not any(_is_in_months(month, at) for month in months):
        return False
    days = [match.groups() for match in _DAY_RANGE.finditer(rule)]
    return not days or any(_is_in_days(day, at) for day in days)


def _is_in_months(found: tuple[str | None, ...], at: datetime) -> bool:
    first, first_day, last, last_day = found
    assert first is not None
    begin = (_MONTHS.index(first), int(first_day or 1))
    end_month = _MONTHS.index(last or first)
    end = (end_month, int(last_day or (first_day if last is None and first_day else 31)))
    now = (at.month - 1, at.day)
    return begin <= now <= end if begin <= end else now >= begin or now <= end


def _is_in_days(found: tuple[str | None, ...], at: datetime) -> bool:
    first, last = found
    assert first is not None
    begin, end, now = _DAYS.index(first), _DAYS.index(last or first), at.weekday()
    return begin <= now <= end if begin <= end else now >= begin or now <= end


def _holds_at(rule: str, at: datetime) -> bool:
    times = [tuple(int(part) for part in match.groups()) for match in _TIME.finditer(rule)]
    now = 60 * at.hour + at.minute
    return not times or any(
        begin <= now < end if begin < end else now >= begin or now < end
        for begin, end in ((60 * a + b, 60 * c + d) for a, b, c, d in times)
    )
