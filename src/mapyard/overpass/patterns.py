"""Regular expressions of Overpass QL, run on RE2.

The original reads POSIX extended expressions; people also write \\d, \\w, \\b. RE2 takes both and
has no patterns that explode. What RE2 cannot do (look-around, back references) is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import re2
from numpy.typing import NDArray

from mapyard.overpass.source import Source

#: Longest pattern and memory of one compiled pattern.
MAX_PATTERN_CHARACTERS = 20_000
_MAX_MEMORY_BYTES = 16 << 20


@lru_cache(maxsize=256)
def compile_pattern(pattern: str, ignore_case: bool) -> Any:
    """Return the compiled pattern; raises re2.error."""
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.dot_nl = True
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    return re2.compile(pattern, options)


def check_pattern(source: Source, pattern: str, ignore_case: bool, at: int) -> None:
    """Raise the error of a pattern that does not compile, with what to write instead."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise source.error(
            at, f"a pattern of {len(pattern)} characters is too long", "split it into a union"
        )
    try:
        compile_pattern(pattern, ignore_case)
    except re2.error as error:
        message = f"invalid regular expression: {_reason(error)}"
        raise source.error(at, message, _hint(pattern)) from error


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "syntax error"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _hint(pattern: str) -> str:
    if "(?" in pattern:
        return "look-around is not served; combine several filters, also negated ones with !~"
    if pattern.startswith(("*", "+", "?")):
        return "a repetition needs something before it: .*"
    return ""


def matches_everything(pattern: str) -> bool:
    """Return whether a pattern is one of the ways to write: any value."""
    return pattern in ("", ".", ".*", "^.*$", "^.*", ".*$", "^", "$", ".+", "^.+$")


def match_texts(pattern: str, ignore_case: bool, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts hold a match."""
    search = compile_pattern(pattern, ignore_case).search
    found: Iterable[bool] = (search(text) is not None for text in texts)
    return np.fromiter(found, np.bool_, len(texts))
