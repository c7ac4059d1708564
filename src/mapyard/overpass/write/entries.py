"""The answer of a query as one list: each element once, in the order of the outs.

What GeoJSON pages are cut from. Untagged nodes that are only there to draw a way that is shown too
(`>; out skel`) are left out, as in osmtogeojson.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.overpass.osm.rowsets import (
    Derived,
    ElementSet,
    Mask,
    Rows,
    as_rows,
    is_member,
    subtract,
)
from mapyard.overpass.parse.syntax import Out
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.run.recursion import members_of, nodes_of_ways
from mapyard.overpass.space.lines import Ints
from mapyard.overpass.write.ordering import take
from mapyard.overpass.write.osmjson import count_element
from mapyard.store.columns import find_place
from mapyard.store.reader import EMPTY_ROWS, Store

#: Tags that say nothing about what a node is. Source: osmtogeojson.
UNINTERESTING_KEYS = frozenset(
    {"source", "source_ref", "source:ref", "history", "attribution", "created_by"}
)


def is_dull(key: str) -> bool:
    """Return whether a tag says nothing about what a node is."""
    return key in UNINTERESTING_KEYS or key.startswith("tiger:")


_DERIVED_ROW = np.uint32(2**32 - 1)


@dataclass(frozen=True, slots=True)
class Entries:
    """The list: for each entry the out that shows it and its row, or a derived element.

    `rows` is 2³² − 1 for deriveds, which stand in `derived` in the same order.
    """

    outs: list[Out]
    out_index: NDArray[np.uint32]
    rows: Rows
    derived: list[Derived]
    counts: list[dict[str, Any]]
    warnings: list[str]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Return a fair guess of the memory held."""
        return self.out_index.nbytes + self.rows.nbytes + 1000 * len(self.derived) + 1000

    def is_derived(self) -> Mask:
        """Return which entries are derived elements."""
        return np.asarray(self.rows == _DERIVED_ROW)


def list_entries(
    store: Store, outs: list[tuple[Out, ElementSet]], warnings: list[str], budget: Budget
) -> Entries:
    """Return all entries of a result."""
    counts = []
    shown: list[tuple[int, ElementSet]] = []
    for index, (out, elements) in enumerate(outs):
        budget.check(elements.nbytes * 4)
        if out.mode == "count":
            counts.append(count_element(store, elements)["tags"])
        else:
            shown.append((index, take(store, out, elements)))
    parts = [(index, part) for index, elements in shown for part in _row_parts(elements)]
    rows = np.concatenate([EMPTY_ROWS, *(part for _, part in parts)])
    owners = np.repeat(
        np.array([index for index, _ in parts], np.uint32), [len(part) for _, part in parts]
    )
    budget.check(rows.nbytes * 8)
    keep = rows == _DERIVED_ROW
    # An area is the feature of its relation; each is shown at its first place.
    _, first = np.unique(rows, return_index=True)
    is_first = np.zeros(len(rows), np.bool_)
    is_first[first] = True
    keep |= is_first & ~is_member(rows, _vertices_only(store, as_rows(rows[~keep])))
    return Entries(
        [out for out, _ in outs],
        owners[keep],
        rows[keep],
        [item for _, elements in shown for item in elements.derived],
        counts,
        warnings,
    )


def _row_parts(elements: ElementSet) -> list[Rows]:
    """Return the rows of an out in its order; deriveds have none of their own."""
    derived = np.full(len(elements.derived), _DERIVED_ROW, np.uint32)
    return [part for part in (elements.rows, elements.areas, derived) if len(part)]


def _vertices_only(store: Store, rows: Rows) -> Rows:
    """Return the nodes among shown rows that do nothing but shape a shown way."""
    nodes = rows[: find_place(rows, store.way_start)]
    ways = rows[len(nodes) : find_place(rows, store.relation_start)]
    relations = rows[len(nodes) + len(ways) :]
    vertices = nodes[is_member(nodes, nodes_of_ways(store, ways))]
    vertices = subtract(vertices, members_of(store, relations, [(0, store.way_start)]))
    return vertices[~_is_interesting(store, vertices)]


def list_dull(store: Store, rows: Rows) -> tuple[Mask, Ints, Ints]:
    """Return, of elements in any order, what tells which nodes only shape others.

    Whether each is a node that says nothing by itself; the eids of nodes that ways and relations
    have, and how many each of the elements has.
    """
    is_node, is_relation = rows < store.way_start, rows >= store.relation_start
    dull = np.zeros(len(rows), np.bool_)
    nodes = np.sort(rows[is_node])
    dull[is_node] = (~_is_interesting(store, nodes))[np.searchsorted(nodes, rows[is_node])]
    counts = np.zeros(len(rows), np.int64)
    ways = store.way_nodes(rows[~is_node & ~is_relation])
    of_ways = np.asarray(ways.values) < store.node_count
    counts[~is_node & ~is_relation] = np.bincount(
        ways.owners()[of_ways], minlength=len(ways.offsets) - 1
    )
    members = store.members(rows[is_relation])
    of_relations = (members.row >= 0) & (members.row < store.way_start)
    counts[is_relation] = np.bincount(
        members.relation[of_relations], minlength=int(is_relation.sum())
    )
    owners = np.concatenate([
        np.flatnonzero(~is_node & ~is_relation)[ways.owners()[of_ways]],
        np.flatnonzero(is_relation)[members.relation[of_relations]],
    ])  # fmt: skip
    found = np.concatenate([np.asarray(ways.values)[of_ways], members.row[of_relations]])
    in_order = found[np.argsort(owners, kind="stable")]
    return dull, store.eids(in_order).astype(np.int64), counts


def _is_interesting(store: Store, nodes: Rows) -> Mask:
    """Return which nodes have a tag that says what they are."""
    result = store.has_tags(nodes)
    tagged = nodes[result]
    if not len(tagged):
        return result
    # Only nodes with nothing but such keys need a look at their tags.
    suspects = np.zeros(len(tagged), np.bool_)
    dull = [key for key in store.keys if is_dull(key)]
    for key in dull:
        suspects |= is_member(tagged, store.rows_with_key(key))
    interesting = np.ones(len(tagged), np.bool_)
    for place in np.flatnonzero(suspects).tolist():
        interesting[place] = not all(map(is_dull, store.tags(int(tagged[place]))))
    result[result] = interesting
    return result
