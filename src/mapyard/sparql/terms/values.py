"""Values of literals: numbers with their promotion, dates, comparison, order, effective booleans.

Everything here works on single terms; the vectorised evaluator calls it once per distinct value.
"""

from __future__ import annotations

import math
import re
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

from mapyard.sparql.terms.terms import (
    INTEGER_TYPES,
    NUMERIC_TYPES,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_DURATION,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_MONTHS,
    XSD_STRING,
    XSD_YEAR,
    XSD_YEAR_MONTH,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
)

_TEXTS: Final = (XSD_STRING, RDF_LANG_STRING, RDF_DIR_LANG_STRING)


class ExpressionError(Exception):
    """An error value of SPARQL: the expression has no result for this solution."""


Number = int | Decimal | float

#: Numeric types in the order of promotion.
INTEGER, DECIMAL, FLOAT, DOUBLE = range(4)
_DATATYPES: Final = (XSD_INTEGER, XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE)
_INTEGER_FORM = re.compile(r"[+-]?[0-9]+")
_DECIMAL_FORM = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE_FORM = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL: Final = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
#: Digits beyond which an integer is refused: Python's own guard against quadratic parsing.
_MAX_DIGITS: Final = 4000


def parse_integer(text: str) -> int:
    """Return the xsd:integer of a lexical form; raises ExpressionError."""
    text = text.strip()
    if not _INTEGER_FORM.fullmatch(text) or len(text) > _MAX_DIGITS:
        raise ExpressionError
    return int(text)


def parse_decimal(text: str) -> Decimal:
    """Return the xsd:decimal of a lexical form; raises ExpressionError."""
    text = text.strip()
    if not _DECIMAL_FORM.fullmatch(text):
        raise ExpressionError
    return Decimal(text)


def parse_double(text: str) -> float:
    """Return the xsd:double of a lexical form; raises ExpressionError."""
    text = text.strip()
    if text in _SPECIAL:
        return _SPECIAL[text]
    if not _DOUBLE_FORM.fullmatch(text):
        raise ExpressionError
    return float(text)


def find_number(term: Term) -> tuple[Number, int] | None:
    """Return the value and numeric type of a numeric literal; None for other or ill-typed terms."""
    if not isinstance(term, Literal) or term.datatype not in NUMERIC_TYPES:
        return None
    try:
        if term.datatype in INTEGER_TYPES:
            return parse_integer(term.lexical), INTEGER
        if term.datatype == XSD_DECIMAL:
            return parse_decimal(term.lexical), DECIMAL
        return parse_double(term.lexical), FLOAT if term.datatype == XSD_FLOAT else DOUBLE
    except ExpressionError:
        return None


def get_number(term: Term) -> tuple[Number, int]:
    """Return the value and numeric type of a numeric literal; raises ExpressionError."""
    found = find_number(term)
    if found is None:
        raise ExpressionError
    return found


def number_literal(value: Number, kind: int) -> Literal:
    """Return the literal of a number."""
    if kind == INTEGER:
        return Literal(str(int(value)), XSD_INTEGER)
    if kind == DECIMAL:
        text = format(Decimal(value), "f")
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return Literal("0" if text in ("-0", "") else text, XSD_DECIMAL)
    return Literal(format_double(float(value)), _DATATYPES[kind])


def format_double(value: float) -> str:
    """Return the lexical form of an xsd:double."""
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else ("INF" if value > 0 else "-INF")


def promote(a: tuple[Number, int], b: tuple[Number, int]) -> tuple[Any, Any, int]:
    """Return both values in the wider of their types, and that type."""
    kind = max(a[1], b[1])
    if kind == INTEGER:
        return a[0], b[0], kind
    if kind == DECIMAL:
        return Decimal(a[0]), Decimal(b[0]), kind
    return float(a[0]), float(b[0]), kind


def calculate(operator: str, left: Term, right: Term) -> Literal:
    """Return left + - * / right; raises ExpressionError for what has none, and for x / 0."""
    if operator in ("+", "-") and is_time(left):
        return _calculate_time(operator, left, right)
    x, y, kind = promote(get_number(left), get_number(right))
    try:
        match operator:
            case "+":
                result = x + y
            case "-":
                result = x - y
            case "*":
                result = x * y
            case _:
                if kind == INTEGER:
                    x, y, kind = Decimal(x), Decimal(y), DECIMAL
                if kind >= FLOAT and y == 0:
                    result = (
                        math.nan
                        if x == 0 or x != x
                        else math.copysign(math.inf, x) * (math.copysign(1.0, y))
                    )
                else:
                    result = x / y
    except (InvalidOperation, ZeroDivisionError, OverflowError):
        raise ExpressionError from None
    if kind == INTEGER and result.bit_length() > 4 * _MAX_DIGITS:
        raise ExpressionError
    return number_literal(result, kind)


# Dates ------------------------------------------------------------------------------------------

_DATETIME = re.compile(
    r"(-?\d{4,9})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d(?:\.\d+)?))?(Z|[+-]\d\d:\d\d)?"
)
_PERIODS: Final = {
    XSD_YEAR: re.compile(r"(?P<year>-?\d{4,9})(?P<month>)(?P<zone>Z|[+-]\d\d:\d\d)?"),
    XSD_YEAR_MONTH: re.compile(r"(?P<year>-?\d{4,9})-(?P<month>\d\d)(?P<zone>Z|[+-]\d\d:\d\d)?"),
}
_TIMES: Final = frozenset((XSD_DATETIME, XSD_DATE, *_PERIODS))
_DURATION = re.compile(
    r"(?P<sign>-?)P(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_DAYS_BEFORE: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class DateTime(NamedTuple):
    """Parts of an xsd:dateTime or xsd:date; `zone` is its text, "" when absent."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: Decimal
    zone: str

    def zone_minutes(self) -> int:
        """Return the offset from UTC in minutes; 0 without a time zone."""
        if self.zone in ("", "Z"):
            return 0
        minutes = int(self.zone[1:3]) * 60 + int(self.zone[4:6])
        return -minutes if self.zone[0] == "-" else minutes

    def timeline_s(self) -> Decimal:
        """Return seconds on the timeline of UTC."""
        year = self.year
        leap = _is_leap(year)
        before = year - 1
        days = before * 365 + before // 4 - before // 100 + before // 400
        days += _DAYS_BEFORE[self.month - 1] + (leap and self.month > 2) + self.day
        minutes = days * 1440 + self.hour * 60 + self.minute - self.zone_minutes()
        return minutes * 60 + self.second


def get_datetime(term: Term) -> DateTime:
    """Return the parts of a point in time or of a day; raises ExpressionError.

    Of a year or a month (xsd:gYear, xsd:gYearMonth) those of its beginning.
    """
    if isinstance(term, Literal) and term.datatype in _PERIODS:
        part = _PERIODS[term.datatype].fullmatch(term.lexical.strip())
        if part and 1 <= int(part["month"] or 1) <= 12:
            zone = part["zone"] or ""
            month = int(part["month"] or 1)
            return DateTime(int(part["year"]), month, 1, 0, 0, Decimal(0), zone)
        raise ExpressionError
    if isinstance(term, Literal) and term.datatype in (XSD_DATETIME, XSD_DATE):
        found = _DATETIME.fullmatch(term.lexical.strip())
        if found and (found[4] is None) == (term.datatype == XSD_DATE):
            month, day = int(found[2]), int(found[3])
            hour, minute = int(found[4] or 0), int(found[5] or 0)
            second = Decimal(found[6] or 0)
            if 1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute < 60 and second < 60:
                year = int(found[1])
                return DateTime(year, month, day, hour, minute, second, found[7] or "")
    raise ExpressionError


def is_time(term: Term) -> bool:
    """Return whether a term is a point in time, a day, a month or a year."""
    return isinstance(term, Literal) and term.datatype in _TIMES


def get_duration_s(term: Term) -> Decimal:
    """Return the seconds of an xsd:dayTimeDuration; raises ExpressionError."""
    if not (isinstance(term, Literal) and term.datatype == XSD_DURATION):
        raise ExpressionError
    found = _DURATION.fullmatch(term.lexical.strip())
    if not found or found["years"] or found["months"] or not any(found.groups()[1:]):
        raise ExpressionError
    days, hours, minutes = (int(found[name] or 0) for name in ("days", "hours", "minutes"))
    total = Decimal((days * 24 + hours) * 60 + minutes) * 60 + Decimal(found["seconds"] or 0)
    return -total if found["sign"] else total


def get_duration_months(term: Term) -> int:
    """Return the months of an xsd:yearMonthDuration; raises ExpressionError."""
    if not (isinstance(term, Literal) and term.datatype == XSD_MONTHS):
        raise ExpressionError
    found = _DURATION.fullmatch(term.lexical.strip())
    if not found or not (found["years"] or found["months"]) or any(found.groups()[3:]):
        raise ExpressionError
    total = int(found["years"] or 0) * 12 + int(found["months"] or 0)
    return -total if found["sign"] else total


def duration_literal(seconds: Decimal) -> Literal:
    """Return an xsd:dayTimeDuration."""
    sign, rest = ("-" if seconds < 0 else ""), abs(seconds)
    days, rest = divmod(rest, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = "".join(f"{int(n)}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    if rest:
        parts += f"{number_literal(rest, DECIMAL).lexical}S"
    day = f"{int(days)}D" if days else ""
    text = day + (f"T{parts}" if parts else "")
    return Literal(f"{sign}P{text or 'T0S'}", XSD_DURATION)


def _calculate_time(operator: str, left: Term, right: Term) -> Literal:
    """Return the time between two points in time, or one moved by a duration."""
    when = get_datetime(left)
    if is_time(right):
        if operator == "+":
            raise ExpressionError
        return duration_literal(when.timeline_s() - get_datetime(right).timeline_s())
    assert isinstance(left, Literal)
    if left.datatype in _PERIODS or not isinstance(right, Literal):
        raise ExpressionError
    sign = 1 if operator == "+" else -1
    if right.datatype == XSD_MONTHS:
        months = when.year * 12 + when.month - 1 + sign * get_duration_months(right)
        year, month = months // 12, months % 12 + 1
        last = (*_DAYS_BEFORE[1:], 365)[month - 1] - _DAYS_BEFORE[month - 1]
        last += month == _FEBRUARY and _is_leap(year)
        moved = when._replace(year=year, month=month, day=min(when.day, last))
        return _time_literal(moved, left.datatype)
    seconds = when.timeline_s() + sign * get_duration_s(right) + when.zone_minutes() * 60
    days, rest = divmod(seconds, 86_400)
    year, month, day = _date_of(int(days))
    hour, rest = divmod(rest, 3600)
    minute, second = divmod(rest, 60)
    moved = DateTime(year, month, day, int(hour), int(minute), second, when.zone)
    return _time_literal(moved, left.datatype)


_FEBRUARY: Final = 2


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _date_of(days: int) -> tuple[int, int, int]:
    """Return year, month, day of a day counted as in `timeline_s`; years 1 to 9999."""
    try:
        found = date.fromordinal(days)
    except (ValueError, OverflowError):
        raise ExpressionError from None
    return found.year, found.month, found.day


def _time_literal(when: DateTime, datatype: str) -> Literal:
    day = f"{when.year:04}-{when.month:02}-{when.day:02}"
    if datatype == XSD_DATE:
        return Literal(day + when.zone, XSD_DATE)
    whole, _, rest = f"{when.second:f}".partition(".")
    rest = rest.rstrip("0")
    second = f"{int(whole):02}" + (f".{rest}" if rest else "")
    return Literal(f"{day}T{when.hour:02}:{when.minute:02}:{second}{when.zone}", XSD_DATETIME)


def _compare_datetimes(left: DateTime, right: DateTime) -> int:
    a, b = left.timeline_s(), right.timeline_s()
    if bool(left.zone) != bool(right.zone) and abs(a - b) <= 14 * 3600:
        raise ExpressionError  # indeterminate without the time zone
    return (a > b) - (a < b)


# Comparison -------------------------------------------------------------------------------------


def boolean_of(term: Literal) -> bool:
    """Return the value of an xsd:boolean; raises ExpressionError."""
    if term.lexical in ("true", "1"):
        return True
    if term.lexical in ("false", "0"):
        return False
    raise ExpressionError


def equals(left: Term, right: Term) -> bool:
    """Return `left = right` by value; raises ExpressionError for literals that do not compare."""
    if left == right:
        if isinstance(left, Literal) and left.datatype in (XSD_FLOAT, XSD_DOUBLE):
            return left.lexical != "NaN"
        return True
    if isinstance(left, TripleTerm) and isinstance(right, TripleTerm):
        return all(equals(a, b) for a, b in zip(left, right, strict=True))
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        return False
    x, y = find_number(left), find_number(right)
    if x is not None and y is not None:
        a, b, _ = promote(x, y)
        return bool(a == b)
    kinds = {left.datatype, right.datatype}
    if left.language or right.language:
        if left.language.lower() == right.language.lower():
            return left.lexical == right.lexical
        return False
    if kinds == {XSD_BOOLEAN}:
        return boolean_of(left) == boolean_of(right)
    if kinds in _TIME_KINDS:
        return _compare_datetimes(get_datetime(left), get_datetime(right)) == 0
    if kinds == {XSD_STRING}:
        return False
    if kinds <= _COMPARABLE and len(kinds) == 2 and x is None and y is None:
        for literal in (left, right):
            _check_lexical(literal)
        return False
    if (x is None) != (y is None) and kinds <= _COMPARABLE:
        for literal in (left, right):
            _check_lexical(literal)
        return False
    raise ExpressionError


_TIME_KINDS: Final = ({XSD_DATETIME}, {XSD_DATE}, {XSD_YEAR}, {XSD_YEAR_MONTH})
_COMPARABLE: Final = NUMERIC_TYPES | {
    XSD_STRING, XSD_BOOLEAN, XSD_DATETIME, XSD_DATE, RDF_LANG_STRING, RDF_DIR_LANG_STRING,
}  # fmt: skip


def _check_lexical(literal: Literal) -> None:
    """Raise for an ill-typed literal, whose value nobody knows."""
    if literal.datatype in NUMERIC_TYPES:
        get_number(literal)
    elif literal.datatype == XSD_BOOLEAN:
        boolean_of(literal)
    elif literal.datatype in (XSD_DATETIME, XSD_DATE):
        get_datetime(literal)


def compare(left: Term, right: Term) -> int:
    """Return −1, 0 or 1 for `<`, equal, `>`; raises ExpressionError where SPARQL defines none."""
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        raise ExpressionError
    x, y = find_number(left), find_number(right)
    if x is not None and y is not None:
        a, b, _ = promote(x, y)
        if a != a or b != b:
            return 2  # NaN: neither
        return (a > b) - (a < b)
    if left.datatype in _PERIODS or right.datatype in _PERIODS:
        # A year or month is compared by its beginning, also with a day: start_date has all three.
        return _compare_datetimes(get_datetime(left), get_datetime(right))
    if left.language or right.language or left.datatype != right.datatype:
        raise ExpressionError
    if left.datatype == XSD_DURATION:
        a, b = get_duration_s(left), get_duration_s(right)
        return (a > b) - (a < b)
    if left.datatype == XSD_MONTHS:
        return get_duration_months(left) - get_duration_months(right)
    if left.datatype == XSD_STRING:
        return (left.lexical > right.lexical) - (left.lexical < right.lexical)
    if left.datatype == XSD_BOOLEAN:
        return boolean_of(left) - boolean_of(right)
    if left.datatype in (XSD_DATETIME, XSD_DATE):
        return _compare_datetimes(get_datetime(left), get_datetime(right))
    raise ExpressionError


def effective_boolean(term: Term) -> bool:
    """Return the effective boolean value (section 17.2.2); raises ExpressionError."""
    if isinstance(term, Literal):
        if term.datatype == XSD_BOOLEAN:
            return term.lexical in ("true", "1")
        if term.datatype in _TEXTS:
            return bool(term.lexical)
        if term.datatype in NUMERIC_TYPES:
            found = find_number(term)
            return found is not None and bool(found[0] != 0 and found[0] == found[0])
    raise ExpressionError


def sort_key(term: Term | None) -> tuple[Any, ...]:
    """Return a key for ORDER BY: unbound, blank nodes, IRIs, literals by value."""
    if term is None:
        return (0, 0, 0)
    if isinstance(term, BlankNode):
        return (1, 0, term.label)
    if isinstance(term, Iri):
        return (2, 0, term.value)
    if isinstance(term, TripleTerm):
        return (4, *map(sort_key, term))
    found = find_number(term)
    if found is not None:
        value = found[0]
        if value != value:
            return (3, 0, -math.inf, "")
        return (3, 0, value, "")  # int, Decimal and float compare exactly
    if term.datatype in _TEXTS:
        return (3, 1, term.lexical, term.language)
    if term.datatype in _TIMES:
        try:
            return (3, 2, get_datetime(term).timeline_s(), "")
        except ExpressionError:
            pass
    if term.datatype == XSD_BOOLEAN:
        return (3, 3, term.lexical in ("true", "1"), "")
    return (3, 4, term.datatype, term.lexical)
