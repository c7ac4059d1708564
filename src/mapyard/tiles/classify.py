"""From the rules of the schema to rows of the store, by the postings of tags."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import find_place
from mapyard.store.reader import EMPTY_ROWS, Store
from mapyard.tiles.schema import Layer, Rule
from mapyard.tiles.shapes import LINE, POINT, POLYGON

Ints = NDArray[np.int64]
Span = tuple[int, int]


def rows_with(store: Store, key: str, values: tuple[str, ...]) -> NDArray[np.uint32]:
    """Return the sorted rows that have one of the values of a key; no values: any value."""
    if not values:
        return store.rows_with_key(key)
    kvs = sorted(kv for value in values if (kv := store.find_kv(key, value)) >= 0)
    return store.rows_with_kvs(np.array(kvs, np.int64))


def find_rule_rows(store: Store, rule: Rule, span: Span) -> NDArray[np.uint32]:
    """Return the sorted rows of a span that meet a rule, whatever their geometry."""

    def having(key: str, values: tuple[str, ...]) -> NDArray[np.uint32]:
        found = rows_with(store, key, values)
        first, last = find_place(found, *span)
        return found[first:last]

    rows: NDArray[np.uint32] | None = None
    for key, values in rule.tags.items():
        found = having(key, values)
        rows = found if rows is None else np.intersect1d(rows, found, assume_unique=True)
    if rows is None:
        return EMPTY_ROWS
    for key, values in rule.without.items():
        rows = np.setdiff1d(rows, having(key, values), assume_unique=True)
    if not rule.areas:
        rows = rows[rows < store.way_start]
    return rows


class Chosen:
    """Some rows, of which it is asked again and again which tags they have."""

    def __init__(self, store: Store, rows: Ints) -> None:
        self.store, self.rows = store, rows
        self._kvs: dict[str, Ints] = {}

    def has(self, key: str, values: tuple[str, ...]) -> NDArray[np.bool_]:
        """Return which of the rows have one of the values of a key; no values: any value."""
        kvs = self._kvs.get(key)
        if kvs is None:
            kvs = self._kvs[key] = self.store.tag_values(self.rows, key)
        return holds(self.store, kvs, key, values)

    def meets(self, rule: Rule) -> NDArray[np.bool_]:
        """Return which of the rows meet a rule, whatever their geometry."""
        parts = [self.has(key, values) for key, values in rule.tags.items()]
        if not parts:
            return np.zeros(len(self.rows), np.bool_)
        parts += [~self.has(key, values) for key, values in rule.without.items()]
        if not rule.areas:
            parts.append(self.rows < self.store.way_start)
        return np.logical_and.reduce(parts)


def holds(store: Store, kvs: Ints, key: str, values: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which kv ids of a key, −1 for none, are of one of the values; no values: any value."""
    if not values or not (kvs >= 0).any():
        return kvs >= 0
    wanted = np.array(sorted(store.find_kv(key, value) for value in values), np.int64)
    place = np.searchsorted(wanted, kvs)
    place[place == len(wanted)] = 0
    return (wanted[place] == kvs) & (kvs >= 0)


def choose_layer_rows(chosen: Chosen, layer: Layer) -> tuple[Ints, Ints]:
    """Return what find_layer_rows does, of some rows, at a cost that depends on them alone."""
    rule = find_rules(chosen, layer)
    found = rule >= 0
    return _keep_layer(chosen.store, layer, chosen.rows[found], rule[found])


def find_rules(chosen: Chosen, layer: Layer) -> Ints:
    """Return the index of the first rule of a layer that each row meets, −1 for none."""
    found = np.full(len(chosen.rows), -1, np.int64)
    for index, rule in reversed(list(enumerate(layer.rules))):
        found[chosen.meets(rule)] = index
    return found


def find_layer_rows(store: Store, layer: Layer, span: Span | None = None) -> tuple[Ints, Ints]:
    """Return the sorted rows of a layer and the index of the first rule that each one meets.

    `span` is the first row that is looked at and the one behind the last, all by default.
    """
    found = [find_rule_rows(store, rule, span or (0, store.row_count)) for rule in layer.rules]
    every = np.concatenate(found).astype(np.int64)
    which = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    rows, first = np.unique(every, return_index=True)
    return _keep_layer(store, layer, rows, which[first])


def _keep_layer(store: Store, layer: Layer, rows: Ints, rule: Ints) -> tuple[Ints, Ints]:
    keep = _has_kind(store, rows, layer)
    if layer.needs:
        keep &= np.any([store.tag_values(rows, key) >= 0 for key in layer.needs], axis=0)
    return rows[keep], rule[keep]


def _has_kind(store: Store, rows: Ints, layer: Layer) -> NDArray[np.bool_]:
    """Return which rows have the geometry of the layer.

    Lines are ways: a relation of a river or a ferry route repeats its members.
    """
    is_area = store.is_area(rows)
    is_node = rows < store.way_start
    if layer.kind == POLYGON:
        return is_area
    if layer.kind == LINE:
        return ~is_node & ~is_area & (rows < store.relation_start)
    assert layer.kind == POINT
    return is_area | (is_node & layer.nodes)
