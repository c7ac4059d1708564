"""Regular expressions of Overpass QL, run on RE2.

The original reads POSIX extended expressions; people also write \\d, \\w, \\b. RE2 takes both and
has no patterns that explode. What RE2 cannot do (look-around, back references) is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import re2
from numpy.typing import NDArray

from mapyard.overpass.parse.literals import find_anchored_text, find_required_texts
from mapyard.overpass.parse.text import Source
from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct

#: Longest pattern and memory of one compiled pattern.
MAX_PATTERN_CHARACTERS = 20_000
_MAX_MEMORY_BYTES = 8 << 20


@lru_cache(maxsize=64)
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


def match_values(
    pattern: str, ignore_case: bool, raw: memoryview, offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the indexes of the values that hold a match, ascending.

    `raw` holds the UTF-8 values run together, value i from offsets[i] to offsets[i + 1]. Anchored
    plain texts are compared in arrays; for all else, texts that a match must contain are looked for
    in all values at once before the pattern itself is tried.
    """
    if len(offsets) < 2:
        return np.empty(0, np.int64)
    plain = None if ignore_case else find_anchored_text(pattern)
    if plain is not None:
        return _match_anchored(plain, np.frombuffer(raw, np.uint8), offsets)
    data = bytes(raw)
    search = compile_pattern(pattern, ignore_case).search
    indexes = _find_candidates(pattern, ignore_case, data, offsets)
    starts, ends = offsets[indexes].tolist(), offsets[indexes + 1].tolist()
    found: Iterable[bool] = (
        search(data[start:end]) is not None for start, end in zip(starts, ends, strict=True)
    )
    return indexes[np.fromiter(found, np.bool_, len(indexes))]


def _match_anchored(
    plain: tuple[bool, str, bool], data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the values that begin with a text, end with it, or are it."""
    from_start, text, to_end = plain
    wanted = np.frombuffer(text.encode(), np.uint8)
    lengths = np.diff(offsets)
    fits = lengths == len(wanted) if from_start and to_end else lengths >= len(wanted)
    indexes = np.flatnonzero(fits)
    first = offsets[indexes] if from_start else offsets[indexes + 1] - len(wanted)
    for place, byte in enumerate(wanted.tolist()):
        # Most values differ at once: what is left shrinks fast.
        same = data[first + place] == byte
        indexes, first = indexes[same], first[same]
    return indexes


def _find_candidates(
    pattern: str, ignore_case: bool, data: bytes, offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    texts = find_required_texts(pattern)
    if texts is None:
        return np.arange(len(offsets) - 1, dtype=np.int64)
    spans = _find_spans(texts, ignore_case, data)
    if not spans:
        return np.empty(0, np.int64)
    ends = np.array(spans, np.int64)
    first = np.searchsorted(offsets, ends[:, 0], side="right") - 1
    # A find across values may hide one that begins in the value it ends in.
    last = np.searchsorted(offsets, ends[:, 1] - 1, side="right") - 1
    return distinct(ranges(first, last - first + 1))


def _find_spans(texts: list[str], ignore_case: bool, data: bytes) -> list[tuple[int, int]]:
    """Return where any of the texts stands in bytes."""
    if not ignore_case:
        wanted = re.compile("|".join(map(re.escape, texts)).encode())
        return [match.span() for match in wanted.finditer(data)]
    folding = compile_pattern("|".join(map(re2.escape, texts)), ignore_case)
    return [match.span() for match in folding.finditer(data)]
