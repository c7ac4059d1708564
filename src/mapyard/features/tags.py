"""Tag filters: read in all their spellings, answered from the store's postings.

Values: `cafe` (equal), `cafe|bar` (one of), `~^Caf` (regular expression, found anywhere in the
value), `*` (any value), `!` (no such tag). A backslash takes the special meaning from | * ! ~ and
from itself. Texts without brackets: `amenity=cafe` (cut at the first =), `amenity:cafe` (cut so
that the key is the longest one that the dataset has, else at the first colon), `amenity` (any
value). Several filters are ANDed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import numpy as np
import re2
from numpy.typing import NDArray

from mapyard.deadline import Deadline, no_deadline
from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.geo.bbox import Bbox
from mapyard.store.distinct import distinct_rows
from mapyard.store.reader import Rows, Store

MAX_FILTERS: Final = 50
MAX_VALUES: Final = 200
MAX_TEXT: Final = 2_000
#: Values that a regular expression is run on between two looks at the deadline.
_CHUNK_VALUES: Final = 20_000

_PREFIX: Final = re.compile(r"\^([\w ]+)")

type Op = Literal["in", "regex", "exists", "absent", "text", "number"]

#: A value that is a number, and no more.
_NUMBER: Final = re.compile(rb"[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})")
_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class TagFilter(NamedTuple):
    """One condition on one key.

    `values` are the allowed values, the one pattern of a regex, or a comparison and what is
    compared with: of text letter by letter, of numbers by their size.
    """

    key: str
    op: Op
    values: tuple[str, ...] = ()


def parse_tag_filters(
    pairs: Iterable[tuple[str, str]],
    texts: Iterable[str],
    has_key: Callable[[str], bool],
    parameter: str = "tags",
) -> tuple[TagFilter, ...]:
    """Return the filters of `tags[key]=value` pairs and `tags=text` texts, without doubles.

    `has_key` tells whether the dataset has a key. Raises InvalidRequest naming the filter,
    Unsupported for a pattern that RE2 cannot run, TooLarge for too many.
    """
    filters = [_parse_value(key, value, f"{parameter}[{key}]") for key, value in pairs]
    for text in texts:
        key, value = _split_text(text, has_key)
        filters.append(_parse_value(key, value, parameter))
    if len(filters) > MAX_FILTERS:
        raise TooLarge(
            f"{parameter}: {len(filters)} tag filters, at most {MAX_FILTERS}",
            details={"limit": MAX_FILTERS, "count": len(filters)},
        )
    return tuple(sorted(set(filters)))


def escape_value(value: str) -> str:
    """Return a value without the special meanings of its characters."""
    return re.sub(r"([\\|*!~])", r"\\\1", value)


def _split_text(text: str, has_key: Callable[[str], bool]) -> tuple[str, str]:
    if "=" in text:
        key, _, value = text.partition("=")
        return key, value or "*"
    if has_key(text) or ":" not in text:
        return text, "*"
    cut = len(text)
    while (cut := text.rfind(":", 0, cut)) > 0:
        if has_key(text[:cut]) and cut + 1 < len(text):
            return text[:cut], text[cut + 1 :]
    key, _, value = text.partition(":")
    return key, value or "*"


def _parse_value(key: str, value: str, parameter: str) -> TagFilter:
    if not key:
        raise InvalidRequest.of(parameter, f"the filter '{value[:40]}' has no key before its value")
    if len(key) + len(value) > MAX_TEXT:
        raise InvalidRequest.of(parameter, f"has more than {MAX_TEXT} characters")
    if value == "*":
        return TagFilter(key, "exists")
    if value == "!":
        return TagFilter(key, "absent")
    if value.startswith("~"):
        return TagFilter(key, "regex", (_check_pattern(value[1:], parameter),))
    values = _split_values(value, parameter)
    if len(values) > MAX_VALUES:
        raise TooLarge(
            f"{parameter}: {len(values)} values, at most {MAX_VALUES}",
            details={"limit": MAX_VALUES, "count": len(values)},
        )
    return TagFilter(key, "in", tuple(sorted(set(values))))


def _split_values(text: str, parameter: str) -> list[str]:
    """Return the alternatives of `a|b`, escapes resolved."""
    values = []
    current: list[str] = []
    characters = iter(text)
    at_start = True
    for character in characters:
        if character == "\\":
            following = next(characters, None)
            if following is None:
                raise InvalidRequest.of(
                    parameter, "ends with a lone backslash; write \\\\ for a backslash"
                )
            # Only the special characters need an escape; before any other one it is literal.
            current.append(following if following in "|*!~\\" else f"\\{following}")
        elif character == "|":
            values.append("".join(current))
            current, at_start = [], True
            continue
        elif at_start and character in "!~":
            raise InvalidRequest.of(
                parameter,
                f"a value that begins with {character} must be written \\{character}; "
                "! alone asks for elements without the key, ~ begins one regular expression for "
                "the whole filter",
            )
        else:
            current.append(character)
        at_start = False
    values.append("".join(current))
    if not all(values):
        raise InvalidRequest.of(parameter, "has an empty value beside |; write \\| for a bar")
    return values


def _check_pattern(pattern: str, parameter: str) -> str:
    if not pattern:
        raise InvalidRequest.of(parameter, "has an empty regular expression after ~")
    compile_pattern(pattern, parameter)
    return pattern


def compile_pattern(pattern: str, parameter: str) -> re2._Regexp:
    """Return the compiled RE2 pattern; raise Unsupported with RE2's reason."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = 8 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not valid"
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise Unsupported(
            f"{parameter}: RE2 cannot run this regular expression: {reason}; look-around and "
            "back-references are not offered (https://github.com/google/re2/wiki/Syntax)",
            details={parameter: [f"regular expression: {reason}"]},
        ) from None


class TagMatcher:
    """One tag filter on one store: the rows that pass it, and a test of given rows."""

    def __init__(
        self, store: Store, tag_filter: TagFilter, deadline: Deadline | None = None
    ) -> None:
        self._store = store
        self._key = tag_filter.key
        self.is_absence = tag_filter.op == "absent"
        #: Matching kv ids, sorted; None stands for every value of the key.
        self._kvs: NDArray[np.int64] | None = None
        if tag_filter.op == "in":
            found = [store.find_kv(self._key, value) for value in tag_filter.values]
            self._kvs = np.array(sorted(kv for kv in found if kv >= 0), np.int64)
        elif tag_filter.op == "regex":
            limit = deadline or no_deadline()
            self._kvs = _match_values(store, self._key, tag_filter.values[0], limit)
        elif tag_filter.op in ("text", "number"):
            compare = _compare_texts if tag_filter.op == "text" else _compare_numbers
            sign, value = tag_filter.values
            self._kvs = compare(store, self._key, sign, value, deadline or no_deadline())
        #: Number of rows that have the key with a matching value.
        self.count: int = _count(store, self._key, self._kvs)

    #: All rows that are listed pass.
    is_exact = True

    @property
    def is_impossible(self) -> bool:
        """Return whether no element at all can pass."""
        return not self.is_absence and self.count == 0

    def rows(self) -> Rows:
        """Return the sorted rows that pass; not for an absence."""
        if self._kvs is None:
            return self._store.rows_with_key(self._key)
        if len(self._kvs) == 1:
            return self._store.rows_with_kv(int(self._kvs[0]))
        return self._store.rows_with_kvs(self._kvs)

    def rows_near(self, boxes: list[Bbox], most: int) -> Rows | None:
        """Return the sorted rows that pass and whose boxes meet one of some boxes.

        None where they are not quickly found: the filter is not one frequent tag, or they are many.
        """
        if self._kvs is None or len(self._kvs) != 1:
            return None
        found = [self._store.search_tag(int(self._kvs[0]), box, most) for box in boxes]
        known = [rows for rows in found if rows is not None]
        if len(known) < len(found):
            return None
        return known[0] if len(known) == 1 else distinct_rows(known)

    def test(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which of the rows (any order) pass."""
        if self._kvs is not None and len(self._kvs) == 1:
            return _is_in(rows, self._store.rows_with_kv(int(self._kvs[0])))
        kvs = self._store.tag_values(rows, self._key)
        if self._kvs is not None:
            return _is_in(kvs, self._kvs)
        return kvs < 0 if self.is_absence else kvs >= 0


def _count(store: Store, key: str, kvs: NDArray[np.int64] | None) -> int:
    if kvs is None:
        return store.key_count(key)
    if not len(kvs):
        return 0
    first = int(kvs[0])
    return int(store.kv_counts(first, int(kvs[-1]) + 1)[kvs - first].sum())


def _match_values(store: Store, key: str, pattern: str, deadline: Deadline) -> NDArray[np.int64]:
    """Return the kv ids whose value holds a match; values are read as bytes, chunk by chunk."""
    search = compile_pattern(pattern, f"tags[{key}]").search
    first, _ = store.kv_range(key)
    prefix = _find_prefix(pattern)
    start, stop = store.find_kv_prefix(key, prefix) if prefix else store.kv_range(key)
    if pattern == f"^{prefix}":  # there is nothing else to match
        return np.arange(start, stop)
    hits = [
        place
        for place, value in _iter_values(store, key, start - first, stop - first, deadline)
        if search(value) is not None
    ]
    return np.array(hits, np.int64) + first


def _iter_values(
    store: Store, key: str, start: int, stop: int, deadline: Deadline
) -> Iterator[tuple[int, bytes]]:
    """Yield the place among the values of a key, and the value, of those from start to stop."""
    texts, offsets = store.raw_values_of_key(key)
    for low in range(start, stop, _CHUNK_VALUES):
        deadline.check()
        edges = offsets[low : min(low + _CHUNK_VALUES, stop) + 1]
        chunk = bytes(texts[int(edges[0]) : int(edges[-1])])
        cuts = (edges - edges[0]).tolist()
        for place, (begin, end) in enumerate(pairwise(cuts), low):
            yield place, chunk[begin:end]


def _compare_texts(
    store: Store, key: str, sign: str, value: str, _deadline: Deadline
) -> NDArray[np.int64]:
    """Return the kv ids whose value comes before or behind a text; they are in that order."""
    start, stop = store.kv_range(key)
    first, _ = store.find_kv_prefix(key, value)
    behind = first + (store.find_kv(key, value) >= 0)
    edges = {
        "=": (first, behind), "<": (start, first), "<=": (start, behind), ">": (behind, stop),
        ">=": (first, stop),
    }  # fmt: skip
    return np.arange(*edges[sign])


def _compare_numbers(
    store: Store, key: str, sign: str, value: str, deadline: Deadline
) -> NDArray[np.int64]:
    """Return the kv ids whose value is a number that stands in a relation to another."""
    start, stop = store.kv_range(key)
    compare, limit = _COMPARE[sign], float(value)
    hits = [
        place
        for place, text in _iter_values(store, key, 0, stop - start, deadline)
        if _NUMBER.fullmatch(text) and compare(float(text), limit)
    ]
    return np.array(hits, np.int64) + start


def _find_prefix(pattern: str) -> str:
    """Return letters that every match begins with, for `^Caf…`; "" when there is no telling."""
    if "|" in pattern or (found := _PREFIX.match(pattern)) is None:
        return ""
    letters = found[1]
    # A repetition behind the letters may make the last one optional.
    return letters[:-1] if pattern[found.end() : found.end() + 1] in tuple("*+?{") else letters


def _is_in(values: NDArray[np.integer], among: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which values are in a sorted array."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    place = np.searchsorted(among, values.astype(among.dtype, copy=False))
    place[place == len(among)] = 0
    return np.asarray(among[place] == values)
