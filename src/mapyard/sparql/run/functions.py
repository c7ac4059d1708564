"""The built-in functions of SPARQL 1.1 and the XSD casts, on single terms.

Each takes terms and returns a term, or raises ExpressionError. `SCALAR` maps the names that the
parser gives, and the IRIs of casts, to them.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

import re2

from mapyard.errors import TooLarge, Unsupported
from mapyard.sparql.parse.stream import resolve_iri
from mapyard.sparql.run.term_functions import TERM_FUNCTIONS
from mapyard.sparql.terms.terms import (
    INTEGER_TYPES,
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_DURATION,
    XSD_FLOAT,
    XSD_MONTHS,
    XSD_STRING,
    XSD_YEAR,
    XSD_YEAR_MONTH,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
    boolean,
    split_language,
)
from mapyard.sparql.terms.values import (
    DECIMAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    ExpressionError,
    Number,
    boolean_of,
    calculate,
    effective_boolean,
    find_number,
    get_datetime,
    get_duration_months,
    get_duration_s,
    get_number,
    number_literal,
    parse_decimal,
    parse_double,
    parse_integer,
)

_STRINGS: Final = (XSD_STRING, RDF_LANG_STRING, RDF_DIR_LANG_STRING)
#: Longest text that a function may make: a query could double one again and again.
MAX_TEXT_LENGTH: Final = 4_000_000
#: Matches that REPLACE goes on for between two looks at the deadline.
_REPLACED_AT_ONCE: Final = 2_000


def get_text(term: Term) -> Literal:
    """Return the term if it is a text with or without language; raises ExpressionError."""
    if isinstance(term, Literal) and term.datatype in _STRINGS:
        return term
    raise ExpressionError


def _simple(term: Term) -> str:
    if isinstance(term, Literal) and term.datatype == XSD_STRING:
        return term.lexical
    raise ExpressionError


def _compatible(term: Term, other: Term) -> tuple[Literal, str]:
    """Return both texts if the second's language, if any, is the first's (section 17.4.3.1.2)."""
    text, argument = get_text(term), get_text(other)
    if argument.language and argument.language.lower() != text.language.lower():
        raise ExpressionError
    return text, argument.lexical


def _like(text: Literal, lexical: str) -> Literal:
    return Literal(lexical, text.datatype, text.language)


# Terms ------------------------------------------------------------------------------------------


def to_str(term: Term) -> Literal:
    """STR."""
    if isinstance(term, BlankNode | TripleTerm):
        raise ExpressionError
    return Literal(term.value if isinstance(term, Iri) else term.lexical)


def _lang(term: Term) -> Literal:
    if not isinstance(term, Literal):
        raise ExpressionError
    return Literal(split_language(term.language)[0])


def _langmatches(language: Term, pattern: Term) -> Literal:
    tag, wanted = _simple(language).lower(), _simple(pattern).lower()
    if wanted == "*":
        return boolean(bool(tag))
    return boolean(tag == wanted or tag.startswith(wanted + "-"))


def _datatype(term: Term) -> Iri:
    if not isinstance(term, Literal):
        raise ExpressionError
    return Iri(term.datatype)


def _iri(term: Term, base: Term) -> Iri:
    return term if isinstance(term, Iri) else Iri(resolve_iri(_simple(base), _simple(term)))


def _strlang(text: Term, language: Term) -> Literal:
    tag = _simple(language)
    if not tag or "--" in tag:
        raise ExpressionError
    return Literal(_simple(text), RDF_LANG_STRING, tag.lower())


def _strdt(text: Term, datatype: Term) -> Literal:
    if not isinstance(datatype, Iri):
        raise ExpressionError
    return Literal(_simple(text), datatype.value)


# Texts ------------------------------------------------------------------------------------------


def _substr(term: Term, start: Term, length: Term | None = None) -> Literal:
    text = get_text(term)
    first = float(get_number(start)[0])
    if first != first:
        return _like(text, "")
    begin = math.floor(first + 0.5)
    if length is None:
        return _like(text, text.lexical[max(0, begin - 1) :])
    count = float(get_number(length)[0])
    if count != count:
        return _like(text, "")
    end = len(text.lexical) if math.isinf(count) else begin - 1 + math.floor(count + 0.5)
    return _like(text, text.lexical[max(0, begin - 1) : max(0, end)])


def _strbefore(term: Term, other: Term) -> Literal:
    text, part = _compatible(term, other)
    head, found, _ = text.lexical.partition(part) if part else ("", "x", "")
    return _like(text, head) if found else Literal("")


def _strafter(term: Term, other: Term) -> Literal:
    text, part = _compatible(term, other)
    _, found, tail = text.lexical.partition(part) if part else ("", "x", text.lexical)
    return _like(text, tail) if found else Literal("")


def check_length(length: int) -> None:
    """Raise TooLarge for a text that is longer than a query may make."""
    if length > MAX_TEXT_LENGTH:
        raise TooLarge(
            f"a text of this query would have more than {MAX_TEXT_LENGTH:,} characters; "
            "shorten what is put together, or ask for less",
            details={"limit": MAX_TEXT_LENGTH, "unit": "characters"},
        )


def _concat(*terms: Term) -> Literal:
    texts = [get_text(term) for term in terms]
    check_length(sum(len(text.lexical) for text in texts))
    lexical = "".join(text.lexical for text in texts)
    languages = {text.language for text in texts}
    if len(languages) == 1 and (language := languages.pop()):
        return Literal(lexical, texts[0].datatype, language)
    return Literal(lexical)


def _encode_for_uri(term: Term) -> Literal:
    text = get_text(term).lexical
    check_length(3 * len(text))
    return Literal(quote(text, safe="-_.~"))


_ESCAPED: Final = re.compile(r"\\(.)|(\[\^?\]?)|(\])", re.DOTALL)
_CLASSES: Final = {"w": r"\p{L}\p{M}\p{N}\p{S}", "d": r"\p{Nd}"}


def _with_unicode_classes(pattern: str) -> str:
    r"""Return the pattern with \w and \d meaning letters and digits of any script, as in XPath."""
    if "\\" not in pattern:
        return pattern
    in_class = False

    def replace(found: re.Match[str]) -> str:
        nonlocal in_class
        if found[1] is None:
            in_class = found[3] is None
            return found[0]
        letters = _CLASSES.get(found[1].lower())
        if letters is None or (found[1].isupper() and in_class):
            return found[0]
        if in_class:
            return letters
        return f"[{'^' if found[1].isupper() else ''}{letters}]"

    return _ESCAPED.sub(replace, pattern)


@lru_cache(maxsize=512)
def compile_regex(pattern: str, flags: str) -> Any:
    """Return the RE2 program; raises Unsupported with the reason, ExpressionError for bad flags."""
    if set(flags) - set("ismxq"):
        raise ExpressionError
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    options.dot_nl = "s" in flags
    options.literal = "q" in flags
    if "x" in flags and "q" not in flags:
        pattern = "".join(pattern.split())
    if "m" in flags and "q" not in flags:
        pattern = "(?m)" + pattern
    try:
        return re2.compile(
            pattern if "q" in flags else _with_unicode_classes(pattern), options=options
        )
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise Unsupported(
            f"the regular expression {pattern!r} cannot be run: {reason}; "
            "expressions run on RE2, without look-around and back-references",
            details={"pattern": pattern, "reason": reason},
        ) from None


def _regex(text: Term, pattern: Term, flags: Term = Literal("")) -> Literal:  # noqa: B008 - immutable
    program = compile_regex(_simple(pattern), _simple(flags))
    return boolean(program.search(get_text(text).lexical) is not None)


def replace_matches(
    check: Callable[[], None],
    text: Term,
    pattern: Term,
    by: Term,
    flags: Term = Literal(""),  # noqa: B008 - immutable
) -> Literal:
    """REPLACE; `check` looks at the deadline and is called every some thousand matches."""
    source = get_text(text)
    program = compile_regex(_simple(pattern), _simple(flags))
    if program.search("") is not None:
        raise ExpressionError
    replacement = _simple(by)
    parts = []
    index = 0
    while index < len(replacement):
        char = replacement[index]
        following = replacement[index + 1 : index + 2]
        if char == "\\" and following in ("\\", "$"):
            parts.append(r"\\" if following == "\\" else "$")
            index += 2
        elif char == "$" and following.isdigit():
            parts.append("\\" + following if int(following) <= program.groups else "")
            index += 2
        elif char in "\\$":
            raise ExpressionError
        else:
            parts.append(char)
            index += 1
    return _like(source, _substitute(program, "".join(parts), source.lexical, check))


def _substitute(program: Any, template: str, text: str, check: Callable[[], None]) -> str:
    pieces: list[str] = []
    end = size = 0
    constant = template if "\\" not in template else None
    for number, match in enumerate(program.finditer(text)):
        if number % _REPLACED_AT_ONCE == _REPLACED_AT_ONCE - 1:
            check()
        piece = match.expand(template) if constant is None else constant
        size += match.start() - end + len(piece)
        check_length(size)
        pieces += (text[end : match.start()], piece)
        end = match.end()
    pieces.append(text[end:])
    return "".join(pieces)


# Numbers ----------------------------------------------------------------------------------------


def _rounding(decimal_mode: str, double: Callable[[float], float]) -> Callable[[Term], Literal]:
    def apply(term: Term) -> Literal:
        value, kind = get_number(term)
        if isinstance(value, float):
            return number_literal(double(value) if math.isfinite(value) else value, kind)
        if isinstance(value, Decimal):
            return number_literal(value.to_integral_value(decimal_mode), kind)
        return number_literal(value, kind)

    return apply


def _round_decimal(term: Term) -> Literal:
    value, kind = get_number(term)
    if isinstance(value, Decimal):  # half up, also below zero
        return number_literal((value + Decimal("0.5")).to_integral_value(ROUND_FLOOR), kind)
    return _rounding(ROUND_HALF_UP, lambda x: math.floor(x + 0.5))(term)


def _abs(term: Term) -> Literal:
    value, kind = get_number(term)
    return number_literal(value if value >= 0 else -value, kind)


def _negate(term: Term) -> Literal:
    value, kind = get_number(term)
    return number_literal(-value, kind)


def _plus(term: Term) -> Literal:
    return number_literal(*get_number(term))


# Dates ------------------------------------------------------------------------------------------


#: Parts that periods have.
_PERIOD_PARTS: Final = {XSD_YEAR: ("year",), XSD_YEAR_MONTH: ("year", "month")}


def _date_part(name: str) -> Callable[[Term], Literal]:
    def apply(term: Term) -> Literal:
        if name not in _PERIOD_PARTS.get(term[1] if isinstance(term, Literal) else "", (name,)):
            raise ExpressionError  # a year has no month, neither has a day
        value = getattr(get_datetime(term), name)
        return number_literal(value, DECIMAL if name == "second" else INTEGER)

    return apply


def _timezone(term: Term) -> Literal:
    when = get_datetime(term)
    if not when.zone:
        raise ExpressionError
    minutes = when.zone_minutes()
    sign = "-" if minutes < 0 else ""
    hours, rest = divmod(abs(minutes), 60)
    parts = (f"{hours}H" if hours else "") + (f"{rest}M" if rest else "")
    return Literal(f"{sign}PT{parts or '0S'}", XSD_DURATION)


def _tz(term: Term) -> Literal:
    return Literal(get_datetime(term).zone)


# Casts ------------------------------------------------------------------------------------------


def _cast_number(term: Term, kind: int) -> Literal:
    if not isinstance(term, Literal):
        raise ExpressionError
    found = find_number(term)
    value: Number
    if found is not None:
        value = found[0]
    elif term.datatype == XSD_BOOLEAN:
        value = int(boolean_of(term))
    elif term.datatype in _STRINGS:
        if kind == INTEGER:
            value = parse_integer(term.lexical)
        elif kind == DECIMAL:
            value = parse_decimal(term.lexical)
        else:
            value = parse_double(term.lexical)
    else:
        raise ExpressionError
    if kind in (INTEGER, DECIMAL):
        if isinstance(value, float) and not math.isfinite(value):
            raise ExpressionError
        value = int(value) if kind == INTEGER else Decimal(value)
    return number_literal(value, kind)


#: Least and greatest value of the types derived from xsd:integer, None: without end.
_RANGES: Final[dict[str, tuple[int | None, int | None]]] = {
    "integer": (None, None), "nonPositiveInteger": (None, 0), "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None), "positiveInteger": (1, None),
    **{name: (-(2**bits), 2**bits - 1)
       for name, bits in (("long", 63), ("int", 31), ("short", 15), ("byte", 7))},
    **{f"unsigned{name}": (0, 2**bits - 1)
       for name, bits in (("Long", 64), ("Int", 32), ("Short", 16), ("Byte", 8))},
}  # fmt: skip


def _cast_integer(datatype: str) -> Callable[[Term], Literal]:
    least, greatest = _RANGES[datatype.removeprefix(XSD)]

    def apply(term: Term) -> Literal:
        found = _cast_number(term, INTEGER)
        value = int(found.lexical)
        if (least is not None and value < least) or (greatest is not None and value > greatest):
            raise ExpressionError
        return Literal(found.lexical, datatype)

    return apply


def _cast_string(term: Term) -> Literal:
    """Return the canonical text of numbers and booleans, the lexical form of the rest."""
    found = find_number(term)
    if found is not None:
        value = found[0]
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e6:
            return Literal(str(int(value)))
        return Literal(number_literal(*found).lexical)
    if isinstance(term, Literal) and term.datatype == XSD_BOOLEAN:
        return Literal(boolean(boolean_of(term)).lexical)
    return to_str(term)


def _cast_boolean(term: Term) -> Literal:
    if isinstance(term, Literal):
        found = find_number(term)
        if found is not None:
            return boolean(effective_boolean(term))
        if term.datatype in (XSD_BOOLEAN, *_STRINGS):
            return boolean(boolean_of(Literal(term.lexical.strip(), XSD_BOOLEAN)))
    raise ExpressionError


def _cast_datetime(term: Term) -> Literal:
    if isinstance(term, Literal) and term.datatype in (XSD_DATETIME, *_STRINGS):
        result = Literal(term.lexical.strip(), XSD_DATETIME)
        get_datetime(result)
        return result
    if isinstance(term, Literal) and term.datatype == XSD_DATE:
        when = get_datetime(term)
        day = term.lexical.strip().removesuffix(when.zone)
        return Literal(f"{day}T00:00:00{when.zone}", XSD_DATETIME)
    raise ExpressionError


def _cast_date(term: Term) -> Literal:
    if isinstance(term, Literal) and term.datatype in (XSD_DATE, *_STRINGS):
        result = Literal(term.lexical.strip(), XSD_DATE)
        get_datetime(result)
        return result
    if isinstance(term, Literal) and term.datatype == XSD_DATETIME:
        when = get_datetime(term)
        return Literal(term.lexical.strip().partition("T")[0] + when.zone, XSD_DATE)
    raise ExpressionError


def _cast_period(datatype: str, length: int) -> Callable[[Term], Literal]:
    """Make the cast to xsd:gYear or xsd:gYearMonth, also of a day or a point in time."""

    def apply(term: Term) -> Literal:
        if not isinstance(term, Literal):
            raise ExpressionError
        if term.datatype in (datatype, *_STRINGS):
            result = Literal(term.lexical.strip(), datatype)
            get_datetime(result)
            return result
        when = get_datetime(term)
        return Literal(f"{when.year:04}-{when.month:02}"[:length] + when.zone, datatype)

    return apply


def _cast_duration(datatype: str, check: Callable[[Term], object]) -> Callable[[Term], Literal]:
    def apply(term: Term) -> Literal:
        if not isinstance(term, Literal) or term.datatype not in (datatype, *_STRINGS):
            raise ExpressionError
        result = Literal(term.lexical.strip(), datatype)
        check(result)
        return result

    return apply


def _hash(name: str) -> Callable[[Term], Literal]:
    def apply(term: Term) -> Literal:
        digest = hashlib.new(name, _simple(term).encode(), usedforsecurity=False)
        return Literal(digest.hexdigest())

    return apply


def _arithmetic(operator: str) -> Callable[[Term, Term], Literal]:
    return lambda left, right: calculate(operator, left, right)


def _test(test: Callable[[str, str], bool]) -> Callable[[Term, Term], Literal]:
    def apply(term: Term, other: Term) -> Literal:
        text, part = _compatible(term, other)
        return boolean(test(text.lexical, part))

    return apply


def _text(change: Callable[[str], str]) -> Callable[[Term], Literal]:
    return lambda term: _like(get_text(term), change(get_text(term).lexical))


_MATH: Final = "http://www.w3.org/2005/xpath-functions/math#"
_FN: Final = "http://www.w3.org/2005/xpath-functions#"


def _math(function: Callable[..., float], count: int = 1) -> Callable[..., Literal]:
    """Make a function of so many numbers that gives a double, NaN where it is not defined."""

    def calculate_all(*terms: Term) -> Literal:
        try:
            return number_literal(function(*(float(get_number(t)[0]) for t in terms)), DOUBLE)
        except (ValueError, OverflowError):
            return number_literal(math.nan, DOUBLE)

    forms: tuple[Callable[..., Literal], ...] = (
        lambda: calculate_all(),
        lambda a: calculate_all(a),
        lambda a, b: calculate_all(a, b),
    )
    return forms[count]


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else function(x)


_MATH_FUNCTIONS: Final[dict[str, Callable[..., Literal]]] = {
    "pi": _math(lambda: math.pi, 0), "exp": _math(math.exp), "exp10": _math(lambda x: 10.0**x),
    "log": _math(_log(math.log)), "log10": _math(_log(math.log10)), "pow": _math(math.pow, 2),
    "sqrt": _math(math.sqrt), "sin": _math(math.sin), "cos": _math(math.cos),
    "tan": _math(math.tan), "asin": _math(math.asin), "acos": _math(math.acos),
    "atan": _math(math.atan), "atan2": _math(math.atan2, 2),
}  # fmt: skip


def _round_to(term: Term, digits: Term) -> Literal:
    value, kind = get_number(term)
    places = int(get_number(digits)[0])
    if isinstance(value, float) and not math.isfinite(value):
        return number_literal(value, kind)
    step = Decimal(1).scaleb(-min(max(places, -30), 30))
    exact = (Decimal(value) / step + Decimal("0.5")).to_integral_value(ROUND_FLOOR) * step
    return number_literal(exact if kind != INTEGER else int(exact), kind)


def _normalize_space(term: Term) -> Literal:
    text = get_text(term)
    return _like(text, " ".join(text.lexical.split()))


def _string_join(*terms: Term) -> Literal:
    *texts, separator = (get_text(term).lexical for term in terms)
    check_length(sum(map(len, texts)) + len(separator) * len(texts))
    return Literal(separator.join(texts))


def _translate(term: Term, old: Term, new: Term) -> Literal:
    text, by = get_text(term), _simple(new)
    table = {ord(c): by[i] if i < len(by) else None for i, c in enumerate(_simple(old))}
    return _like(text, text.lexical.translate(table))


SCALAR: Final[dict[str, Callable[..., Term]]] = {
    "STR": to_str,
    "LANG": _lang,
    "LANGMATCHES": _langmatches,
    "DATATYPE": _datatype,
    "IRI": _iri,
    "STRLANG": _strlang,
    "STRDT": _strdt,
    "SAMETERM": lambda a, b: boolean(a == b),
    "ISIRI": lambda a: boolean(isinstance(a, Iri)),
    "ISBLANK": lambda a: boolean(isinstance(a, BlankNode)),
    "ISLITERAL": lambda a: boolean(isinstance(a, Literal)),
    "ISNUMERIC": lambda a: boolean(find_number(a) is not None),
    "STRLEN": lambda a: number_literal(len(get_text(a).lexical), INTEGER),
    "SUBSTR": _substr,
    "UCASE": _text(str.upper),
    "LCASE": _text(str.lower),
    "STRSTARTS": _test(str.startswith),
    "STRENDS": _test(str.endswith),
    "CONTAINS": _test(str.__contains__),
    "STRBEFORE": _strbefore,
    "STRAFTER": _strafter,
    "ENCODE_FOR_URI": _encode_for_uri,
    "CONCAT": _concat,
    "REGEX": _regex,
    "ABS": _abs,
    "CEIL": _rounding(ROUND_CEILING, math.ceil),
    "FLOOR": _rounding(ROUND_FLOOR, math.floor),
    "ROUND": _round_decimal,
    "negate": _negate,
    "plus": _plus,
    "+": _arithmetic("+"),
    "-": _arithmetic("-"),
    "*": _arithmetic("*"),
    "/": _arithmetic("/"),
    "YEAR": _date_part("year"),
    "MONTH": _date_part("month"),
    "DAY": _date_part("day"),
    "HOURS": _date_part("hour"),
    "MINUTES": _date_part("minute"),
    "SECONDS": _date_part("second"),
    "TIMEZONE": _timezone,
    "TZ": _tz,
    "MD5": _hash("md5"),
    "SHA1": _hash("sha1"),
    "SHA256": _hash("sha256"),
    "SHA384": _hash("sha384"),
    "SHA512": _hash("sha512"),
    **TERM_FUNCTIONS,
    XSD_STRING: _cast_string,
    XSD_BOOLEAN: _cast_boolean,
    XSD_DOUBLE: lambda a: _cast_number(a, DOUBLE),
    XSD_FLOAT: lambda a: _cast_number(a, FLOAT),
    XSD_DECIMAL: lambda a: _cast_number(a, DECIMAL),
    XSD_DATETIME: _cast_datetime,
    XSD_DATE: _cast_date,
    XSD_YEAR: _cast_period(XSD_YEAR, 4),
    XSD_YEAR_MONTH: _cast_period(XSD_YEAR_MONTH, 7),
    XSD_DURATION: _cast_duration(XSD_DURATION, get_duration_s),
    XSD_MONTHS: _cast_duration(XSD_MONTHS, get_duration_months),
    **{name: _cast_integer(name) for name in INTEGER_TYPES},
    **{_MATH + name: function for name, function in _MATH_FUNCTIONS.items()},
}
#: Functions of XPath that have another name here.
_ALIASES: Final = {
    "abs": "ABS", "ceiling": "CEIL", "floor": "FLOOR", "concat": "CONCAT", "substring": "SUBSTR",
    "string-length": "STRLEN", "upper-case": "UCASE", "lower-case": "LCASE",
    "contains": "CONTAINS", "starts-with": "STRSTARTS", "ends-with": "STRENDS",
    "substring-before": "STRBEFORE", "substring-after": "STRAFTER", "matches": "REGEX",
    "encode-for-uri": "ENCODE_FOR_URI", "string": "STR", "year-from-dateTime": "YEAR",
    "month-from-dateTime": "MONTH", "day-from-dateTime": "DAY", "hours-from-dateTime": "HOURS",
    "minutes-from-dateTime": "MINUTES", "seconds-from-dateTime": "SECONDS",
    "year-from-date": "YEAR", "month-from-date": "MONTH", "day-from-date": "DAY",
}  # fmt: skip
SCALAR.update({_FN + name: SCALAR[ours] for name, ours in _ALIASES.items()})
SCALAR.update(
    {
        _FN + "round": lambda a, b=None: _round_decimal(a) if b is None else _round_to(a, b),
        _FN + "normalize-space": _normalize_space,
        _FN + "string-join": _string_join,
        _FN + "translate": _translate,
        _FN + "number": lambda a: _cast_number(a, DOUBLE),
        _FN + "boolean": lambda a: boolean(effective_boolean(a)),
        _FN + "not": lambda a: boolean(not effective_boolean(a)),
        _FN + "true": lambda: boolean(True),
        _FN + "false": lambda: boolean(False),
    }
)
