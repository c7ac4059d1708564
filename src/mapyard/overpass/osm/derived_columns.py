"""Columns that Overpass QL derives from a store once and keeps as long as the store is open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mapyard.overpass.space.lines import relation_parts
from mapyard.store.reader import Store
from mapyard.store.rtree import Rtree

_MAX_ENTRIES = 128
_columns: WeakKeyDictionary[Store, OrderedDict[Hashable, Any]] = WeakKeyDictionary()
_lock = threading.Lock()


def remember[T](store: Store, key: Hashable, make: Callable[[], T]) -> T:
    """Return what `make` gave for this store and key, made at first use; the oldest are dropped."""
    with _lock:
        entries = _columns.setdefault(store, OrderedDict())
        if key in entries:
            entries.move_to_end(key)
            value: T = entries[key]
            return value
    value = make()
    with _lock:
        entries[key] = value
        if len(entries) > _MAX_ENTRIES:
            entries.popitem(last=False)
    return value


def forget_queries(store: Store) -> None:
    """Drop what was remembered of queries, as if none had been asked; for benchmarks."""
    with _lock:
        entries = _columns.get(store, OrderedDict())
        for key in [key for key in entries if isinstance(key, tuple)]:
            del entries[key]


def relation_boxes(store: Store) -> NDArray[np.int32]:
    """Return for every relation the box of its own nodes and ways, (n, 4) in 1e-7 degree.

    The store's own boxes are those of geometries, which leave out labels, stops and the like.
    """
    return remember(store, "relation boxes", lambda: _make_relation_boxes(store, nested=False))


def relation_tree(store: Store) -> Rtree:
    """Return a tree over these boxes: to look at all would take longer than the rest."""

    def make() -> Rtree:
        boxes = relation_boxes(store)
        there = np.flatnonzero(boxes[:, 0] <= boxes[:, 2])
        return Rtree.of((there + store.relation_start).astype(np.uint32), boxes[there])

    return remember(store, "relation tree", make)


def shown_boxes(store: Store, rows: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the boxes of ways or of relations with all that these consist of, for answers."""
    if len(rows) and rows[0] >= store.relation_start:
        boxes = remember(store, "shown boxes", lambda: _make_relation_boxes(store, nested=True))
        return boxes[rows - store.relation_start]
    return store.boxes(rows)


def _make_relation_boxes(store: Store, *, nested: bool) -> NDArray[np.int32]:
    relations = np.arange(store.relation_start, store.row_count, dtype=np.uint32)
    parts = relation_parts(store, relations, nested=nested)
    own = store.boxes(parts.row)
    usable = own[:, 0] <= own[:, 2]
    order = np.argsort(parts.owner[usable], kind="stable")
    owner, own = parts.owner[usable][order], own[usable][order]
    boxes = np.empty((len(relations), 4), np.int32)
    boxes[:] = (2**31 - 1, 2**31 - 1, -(2**31), -(2**31))
    if len(owner):
        first = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
        having = owner[first]
        for column, reduce in enumerate((np.minimum, np.minimum, np.maximum, np.maximum)):
            boxes[having, column] = reduce.reduceat(own[:, column], first)
    return boxes


def own_boxes(store: Store, rows: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return the boxes of ways or of relations, x0 > x1 where there is no position."""
    if len(rows) and rows[0] >= store.relation_start:
        return relation_boxes(store)[rows - store.relation_start]
    return store.boxes(rows)


def area_relations(store: Store) -> NDArray[np.uint32]:
    """Return the relations that are areas."""

    def make() -> NDArray[np.uint32]:
        rows = np.arange(store.relation_start, store.row_count, dtype=np.uint32)
        return rows[store.is_area(rows)]

    return remember(store, "area relations", make)
