"""Tag filters of a query: what the feature list knows, and tests of rows for what it does not.

As in SQL, "not equal" and "does not match" hold only where the key is there at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mapyard.deadline import Deadline
from mapyard.errors import InvalidQuery
from mapyard.features.tags import TagFilter, TagMatcher, compile_pattern
from mapyard.plazaql.parse.syntax import Argument, Expression, TagTest
from mapyard.plazaql.plan.check import fail
from mapyard.plazaql.run.values import Mask, RowTest
from mapyard.store.reader import Rows, Store

#: Keys that one pattern may stand for.
MAX_KEYS = 2_000


class TagConditions(NamedTuple):
    """Conditions on tags, and ids that were asked for (None: any)."""

    tags: tuple[TagFilter, ...]
    tests: tuple[RowTest, ...]
    ids: list[int] | None


def read_filters(
    store: Store,
    arguments: Sequence[Argument],
    evaluate: Callable[[Expression], Any],
    deadline: Deadline,
    *,
    with_ids: bool,
) -> TagConditions:
    """Return what tag filters ask for; `evaluate` gives variables."""
    tags: list[TagFilter] = []
    tests: list[RowTest] = []
    ids: list[int] | None = None
    for argument in arguments:
        if with_ids and argument.key == "id" and not argument.is_pattern:
            ids = _read_ids(argument, evaluate)
            continue
        found, negated = _read_value(argument, evaluate)
        if argument.is_pattern:
            keys = _find_keys(store, argument)
            one_of = [TagMatcher(store, found._replace(key=key), deadline) for key in keys]
            tests.append(_any_of(one_of))
        elif negated:
            tags.append(TagFilter(argument.key, "exists"))
            tests.append(_none_of(TagMatcher(store, found, deadline)))
        else:
            tags.append(found)
    return TagConditions(tuple(tags), tuple(tests), ids)


def _any_of(matchers: list[TagMatcher]) -> RowTest:
    def test(rows: Rows) -> Mask:
        passed = np.zeros(len(rows), np.bool_)
        for matcher in matchers:
            passed |= matcher.test(rows)
        return passed

    return test


def _none_of(matcher: TagMatcher) -> RowTest:
    return lambda rows: ~matcher.test(rows)


def _find_keys(store: Store, argument: Argument) -> list[str]:
    search = compile_pattern(argument.key, "a pattern for keys").search
    keys = [key for key in store.keys if search(key) is not None]
    if len(keys) > MAX_KEYS:
        raise fail(argument.at, f"this pattern stands for {len(keys):,} keys, at most {MAX_KEYS:,}",
                   "begin it with ^")  # fmt: skip
    return keys


def _read_ids(argument: Argument, evaluate: Callable[[Expression], Any]) -> list[int]:
    if isinstance(argument.value, TagTest):
        raise fail(argument.at, "id takes numbers", "write id: 123 or id: [1, 2]")
    value = evaluate(argument.value)
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(v, float) and v.is_integer() and v >= 0 for v in values):
        raise fail(argument.at, "id takes whole numbers", "write id: 123 or id: [1, 2]")
    return [int(v) for v in values]


def _read_value(
    argument: Argument, evaluate: Callable[[Expression], Any]
) -> tuple[TagFilter, bool]:
    """Return the filter of an argument, and whether it is the opposite that is asked for."""
    key, value = argument.key, argument.value
    if isinstance(value, TagTest):
        match value.test:
            case "exists":
                return TagFilter(key, "exists"), False
            case "absent":
                if argument.is_pattern:
                    raise fail(argument.at, "!* needs a key, not a pattern")
                return TagFilter(key, "absent"), False
            case "not_equal":
                return TagFilter(key, "in", (value.value,)), True
            case "equal":
                return TagFilter(key, "in", (value.value,)), False
        pattern = f"(?i){value.value}" if value.test == "regex_i" else value.value
        if not pattern:
            raise fail(argument.at, "this pattern is empty", "write * for any value")
        compile_pattern(pattern, f"the pattern of {key}")
        return TagFilter(key, "regex", (pattern,)), value.test == "not_regex"
    return TagFilter(key, "in", _read_texts(argument, evaluate(value))), False


def _read_texts(argument: Argument, value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    texts = []
    for single in values:
        if isinstance(single, bool):
            texts.append("yes" if single else "no")
        elif isinstance(single, float):
            texts.append(f"{single:.0f}" if single.is_integer() else f"{single}")
        elif isinstance(single, str):
            texts.append(single)
        else:
            raise fail(argument.at, f"{argument.key} takes a text", f'write {argument.key}: "…"')
    return tuple(sorted(set(texts)))


__all__ = ["InvalidQuery", "TagConditions", "read_filters"]
