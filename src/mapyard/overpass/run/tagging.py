"""Tag filters: which rows have a key, a value, or a value that matches a pattern."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapyard.overpass.osm.derived_columns import remember
from mapyard.overpass.osm.rowsets import Rows, intersect, is_member, part_of, subtract
from mapyard.overpass.parse.patterns import match_texts, match_values, matches_everything
from mapyard.overpass.parse.syntax import KeyFilter, KeyPatternFilter, PatternFilter, TagFilter
from mapyard.store.reader import Store

type TagLike = KeyFilter | TagFilter | PatternFilter | KeyPatternFilter

Ints = NDArray[np.int64]


def is_tag_filter(item: object) -> bool:
    """Return whether a filter looks at tags only."""
    return isinstance(item, KeyFilter | TagFilter | PatternFilter | KeyPatternFilter)


def estimate(store: Store, item: TagLike, start: int, stop: int) -> int:
    """Return a number of rows in [start, stop) that a tag filter lets through at most."""
    if item.negated:
        return stop - start
    if isinstance(item, KeyPatternFilter):
        return len(part_of(_pattern_rows(store, item), start, stop))
    if isinstance(item, TagFilter):
        return len(part_of(store.rows_with_tag(item.key, item.value), start, stop))
    rows = store.rows_with_key(item.key)
    if isinstance(item, PatternFilter) and not matches_everything(item.pattern):
        kvs = _matching_kvs(store, item.key, item.pattern, item.ignore_case)
        return min(len(part_of(rows, start, stop)), _kv_total(store, kvs))
    return len(part_of(rows, start, stop))


def positive_rows(store: Store, item: TagLike) -> Rows:
    """Return the sorted rows that have what the filter names, whether it is negated or not."""
    if isinstance(item, TagFilter):
        return store.rows_with_tag(item.key, item.value)
    if isinstance(item, KeyFilter):
        return store.rows_with_key(item.key)
    if isinstance(item, PatternFilter):
        if matches_everything(item.pattern):
            return store.rows_with_key(item.key)
        return store.rows_with_kvs(_matching_kvs(store, item.key, item.pattern, item.ignore_case))
    return _pattern_rows(store, item)


def apply(store: Store, item: TagLike, rows: Rows) -> Rows:
    """Return the rows of a row array that a tag filter lets through."""
    if not len(rows):
        return rows
    if isinstance(item, PatternFilter) and not matches_everything(item.pattern):
        kvs = _matching_kvs(store, item.key, item.pattern, item.ignore_case)
        if len(rows) < _kv_total(store, kvs):
            # Fewer rows than elements with such values: look their values up instead.
            hit = is_member(store.tag_values(rows, item.key), kvs.astype(np.uint32))
            return rows[~hit] if item.negated else rows[hit]
    having = positive_rows(store, item)
    low, high = int(rows[0]), int(rows[-1]) + 1
    having = part_of(having, low, high)
    return subtract(rows, having) if item.negated else intersect(rows, having)


def _kv_total(store: Store, kvs: Ints) -> int:
    if not len(kvs):
        return 0
    counts = store.kv_counts(int(kvs[0]), int(kvs[-1]) + 1)
    return int(counts[kvs - kvs[0]].sum())


def _matching_kvs(store: Store, key: str, pattern: str, ignore_case: bool) -> Ints:
    """Return the sorted kv ids of a key whose values match a pattern; remembered."""

    def make() -> Ints:
        start, _ = store.kv_range(key)
        raw, offsets = store.raw_values_of_key(key)
        return start + match_values(pattern, ignore_case, raw, offsets)

    return remember(store, ("kvs", key, pattern, ignore_case), make)


def _pattern_rows(store: Store, item: KeyPatternFilter) -> Rows:
    """Return the rows with a tag whose key and value match; remembered."""

    def make() -> Rows:
        hit = match_texts(item.key_pattern, item.ignore_case, store.keys)
        kvs = [np.empty(0, np.int64)]
        for index in np.flatnonzero(hit).tolist():
            key = store.keys[index]
            if matches_everything(item.pattern):
                kvs.append(np.arange(*store.kv_range(key), dtype=np.int64))
            else:
                kvs.append(_matching_kvs(store, key, item.pattern, item.ignore_case))
        return store.rows_with_kvs(np.concatenate(kvs))

    return remember(store, ("rows", item.key_pattern, item.pattern, item.ignore_case), make)
