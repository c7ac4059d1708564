"""Fast ways for functions of plain texts: tests with a constant, and casts to double.

Each works on the distinct texts of a column without making terms of them, and gives None where the
common way (expressions.Evaluator.apply) has to be taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import orjson
import re2
from numpy.typing import NDArray

from mapyard.sparql.run.expressions import FAST, Evaluator
from mapyard.sparql.run.functions import compile_regex
from mapyard.sparql.run.table import Booleans, Constant, Numbers, Value
from mapyard.sparql.terms.terms import XSD_DOUBLE, XSD_INTEGER, XSD_STRING, Literal

#: Columns up to this length are read entry by entry instead of each distinct text once.
_FEW: Final = 256
_DOUBLE_FORM = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
#: Patterns without repetition but for `{n}` after one character or class: Python's own engine takes
#: no longer for these than RE2, and calling it costs a tenth.
_ATOM: Final = r"(?:[^\\\[\](){}*+?.^$|]|\\[^\w\s]|\.|\[\^?[^\[\]\\]+\])(?:\{[0-9]{1,2}\})?"
_SIMPLE: Final = re.compile(rf"\^?(?:{_ATOM})*\$?(?:\|\^?(?:{_ATOM})*\$?)*")


@lru_cache(maxsize=512)
def compile_test(pattern: str, flags: str) -> Callable[[str], Any]:
    """Return a function that is truthy for texts that hold a match; errors as compile_regex."""
    program = compile_regex(pattern, flags)
    if flags in ("", "i") and _SIMPLE.fullmatch(pattern):
        # RE2's $ is the end of the text, not also before a last newline.
        source = re.sub(r"(\\.|\[[^\]]*\])|\$", lambda m: m[1] or r"\Z", pattern)
        return re.compile(source, re.IGNORECASE if flags else 0).search
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    options.dot_nl = "s" in flags
    options.literal = "q" in flags
    matcher = re2.Set.SearchSet(options)
    matcher.Add(program.pattern)
    matcher.Compile()
    return lambda text: matcher.Match(text.encode())


def _text_test(make: Callable[[list[Value]], Callable[[str], Any] | None]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value | None:
        column = args[0]
        if not isinstance(column, np.ndarray) or not length:
            return None
        unique, inverse = np.unique(column, return_inverse=True)
        texts = evaluator.pool.texts(unique)
        if texts is None or texts.kind != "literal" or texts.datatype != XSD_STRING:
            return None
        test = make(args)
        if test is None:
            return None
        values = texts.values
        found = np.zeros(len(values), np.bool_)
        for start in range(0, len(values), 20_000):
            evaluator.runtime.deadline.check()
            part = [bool(test(text)) for text in values[start : start + 20_000]]
            found[start : start + 20_000] = part
        return Booleans(found[inverse], np.ones(length, np.bool_))

    return kernel


def _constant_text(value: Value) -> str | None:
    if isinstance(value, Constant) and isinstance(value.term, Literal):
        return value.term.lexical if value.term.datatype == XSD_STRING else None
    return None


def _regex(args: list[Value]) -> Callable[[str], Any] | None:
    texts = [_constant_text(arg) for arg in args[1:]]
    if None in texts or set(texts[1] or "" if len(texts) > 1 else "") - set("ismxq"):
        return None
    return compile_test(texts[0] or "", (texts[1] or "") if len(texts) > 1 else "")


def _with_part(test: Callable[[str, str], bool]) -> Any:
    def make(args: list[Value]) -> Callable[[str], Any] | None:
        part = _constant_text(args[1])
        return None if part is None else lambda text: test(text, part)

    return _text_test(make)


def _double(evaluator: Evaluator, args: list[Value], length: int) -> Value | None:
    column = args[0]
    if not isinstance(column, np.ndarray) or not length:
        return None
    inverse: Any = slice(None)
    unique = column
    if length > _FEW:
        unique, inverse = np.unique(column, return_inverse=True)
    texts = evaluator.pool.texts(unique)
    if texts is None or texts.datatype not in (XSD_STRING, XSD_INTEGER):
        return None
    plain = _read_plain(texts.values)
    if plain is not None:
        return Numbers(plain[inverse], np.ones(length, np.bool_))
    fits = _DOUBLE_FORM.fullmatch
    numbers = [float(text) if fits(text) else None for text in texts.values]
    if None not in numbers:
        return Numbers(np.array(numbers, np.float64)[inverse], np.ones(length, np.bool_))
    if any(text.strip().lstrip("+-") in ("INF", "NaN") for text in texts.values):
        return None
    values = np.array(numbers, np.float64)  # None becomes NaN
    return Numbers(values[inverse], ~np.isnan(values)[inverse])


def _read_plain(texts: list[str]) -> NDArray[np.float64] | None:
    """Return the numbers of texts that are all JSON numbers; None else, and for what JSON rounds.

    As many numbers as texts means that no text has a comma, so each is one number.
    """
    joined = ",".join(texts)
    if "-0" in joined:
        return None
    try:
        numbers = orjson.loads(f"[{joined}]")
    except orjson.JSONDecodeError:
        return None
    if len(numbers) != len(texts) or not set(map(type, numbers)) <= {int, float}:
        return None
    return np.array(numbers, np.float64)


FAST.update(
    {
        "REGEX": _text_test(_regex),
        "CONTAINS": _with_part(str.__contains__),
        "STRSTARTS": _with_part(str.startswith),
        "STRENDS": _with_part(str.endswith),
        XSD_DOUBLE: _double,
    }
)
