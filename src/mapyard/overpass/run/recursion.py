"""Recursion: from elements to their members and back."""

from __future__ import annotations

import numpy as np

from mapyard.overpass.osm.rowsets import (
    Rows,
    as_rows,
    is_member,
    split_types,
    subtract,
    unite,
)
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.space.lines import Ints
from mapyard.store.columns import find_place
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store


def nodes_of_ways(store: Store, ways: Rows, positions: tuple[int, ...] = ()) -> Rows:
    """Return the nodes of ways; with positions only the 1st, 2nd, … or, negative, from the end."""
    refs, offsets = store.way_nodes(ways)
    if positions:
        starts, ends = offsets[:-1], offsets[1:]
        picked = []
        for position in positions:
            place = starts + position - 1 if position > 0 else ends + position
            picked.append(place[(place >= starts) & (place < ends)])
        refs = refs[np.concatenate(picked)]
    return as_rows(refs[refs < store.node_count])


def members_of(
    store: Store,
    relations: Rows,
    kind_ranges: list[tuple[int, int]],
    role: str | None = None,
    positions: tuple[int, ...] = (),
) -> Rows:
    """Return the members of relations that lie in row ranges and have the role."""
    members = store.members(relations)
    keep = np.zeros(len(members.row), np.bool_)
    for start, stop in kind_ranges:
        keep |= (members.row >= start) & (members.row < stop)
    if role is not None:
        keep &= members.role == _find_role(store, role)
    if positions:
        counts = np.bincount(members.relation, minlength=len(relations))[members.relation]
        at = np.zeros(len(keep), np.bool_)
        for position in positions:
            at |= members.position == (position - 1 if position > 0 else counts + position)
        keep &= at
    return as_rows(members.row[keep])


def _find_role(store: Store, role: str) -> int:
    """Return the index of a role, or one that no member has."""
    try:
        return store.roles.index(role)
    except ValueError:
        return len(store.roles)


def ways_of(store: Store, nodes: Rows, positions: tuple[int, ...] = ()) -> Rows:
    """Return the ways that have any of the nodes, at one of the positions if given."""
    ways = as_rows(store.ways_of_nodes(nodes).values)
    if not positions or not len(ways):
        return ways
    refs, offsets = store.way_nodes(ways)
    starts, ends = offsets[:-1], offsets[1:]
    keep = np.zeros(len(ways), np.bool_)
    for position in positions:
        place = starts + position - 1 if position > 0 else ends + position
        valid = np.flatnonzero((place >= starts) & (place < ends))
        keep[valid[is_member(refs[place[valid]], nodes)]] = True
    return ways[keep]


def relations_of(
    store: Store, rows: Rows, role: str | None = None, positions: tuple[int, ...] = ()
) -> Rows:
    """Return the relations that have any of the rows as member, in the role if given."""
    _, relations, roles = store.relations_of(rows)
    if role is not None:
        relations = relations[roles == _find_role(store, role)]
    found = as_rows(relations)
    if not positions or not len(found):
        return found
    members = store.members(found)
    counts = np.bincount(members.relation, minlength=len(found))[members.relation]
    at = np.zeros(len(members.row), np.bool_)
    for position in positions:
        at |= members.position == (position - 1 if position > 0 else counts + position)
    at &= is_member(np.maximum(members.row, 0), rows) & (members.row >= 0)
    if role is not None:
        at &= members.role == _find_role(store, role)
    keep = np.zeros(len(found), np.bool_)
    keep[members.relation[at]] = True
    return found[keep]


def down(store: Store, rows: Rows, budget: Budget) -> Rows:
    """Return the nodes of ways, the nodes and ways of relations, and those ways' nodes (`>`)."""
    _, ways, relations = split_types(store, rows)
    members = members_of(store, relations, [(0, store.relation_start)])
    budget.check(members.nbytes)
    member_ways = members[find_place(members, store.way_start) :]
    nodes = nodes_of_ways(store, unite([ways, member_ways]))
    budget.check(nodes.nbytes * 4)
    return unite([nodes, members])


def with_members(store: Store, relations: Rows, budget: Budget) -> Rows:
    """Return relations, their member relations, the members of those, and so on."""
    found = pending = relations
    while len(pending):
        budget.check(found.nbytes * 4)
        inner = members_of(store, pending, [(store.relation_start, store.row_count)])
        pending = subtract(inner, found)
        found = unite([found, pending])
    return found


def with_parents(store: Store, relations: Rows, budget: Budget) -> Rows:
    """Return relations, the relations that they are members of, and so on."""
    found = pending = relations
    while len(pending):
        budget.check(found.nbytes * 4)
        pending = subtract(relations_of(store, pending), found)
        found = unite([found, pending])
    return found


def down_relations(store: Store, rows: Rows, budget: Budget) -> Rows:
    """Return what `down` does for relations, their member relations and so on (`>>`).

    The relations it starts from are in the result.
    """
    _, ways, relations = split_types(store, rows)
    found = with_members(store, relations, budget)
    return unite([down(store, unite([ways, found]), budget), found])


def up(store: Store, rows: Rows, budget: Budget) -> Rows:
    """Return the ways of nodes, and the relations of nodes, ways and those ways (`<`).

    Relations that it is asked for are in the result.
    """
    return unite([up_filter(store, rows, budget), rows[find_place(rows, store.relation_start) :]])


def up_relations(store: Store, rows: Rows, budget: Budget) -> Rows:
    """Return what `up` does, and the relations of relations (`<<`)."""
    found = up(store, rows, budget)
    low = find_place(found, store.relation_start)
    return unite([found[:low], with_parents(store, found[low:], budget)])


# As filters the same signs mean a little less: ways are not asked for their nodes, and relations
# are only in what follows them to others.


def down_filter(store: Store, rows: Rows, budget: Budget) -> Rows:
    """Return nodes and ways of relations, and the nodes of those ways (`(>)`)."""
    return down(store, rows[find_place(rows, store.relation_start) :], budget)


def down_relations_filter(store: Store, rows: Rows, budget: Budget) -> Rows:
    """Return `down_relations` of the relations only (`(>>)`)."""
    return down_relations(store, rows[find_place(rows, store.relation_start) :], budget)


def up_filter(store: Store, rows: Rows, budget: Budget) -> Rows:
    """Return the ways of nodes, and the relations of nodes, ways and those ways (`(<)`)."""
    nodes, ways, _ = split_types(store, rows)
    found = ways_of(store, nodes)
    budget.check(found.nbytes * 4)
    held = unite([nodes, unite([ways, found])])
    return unite([found, relations_of(store, held)])


def count_links(store: Store, nodes: Rows, ways: Rows, kind: str) -> Ints:
    """Return for each node in how many of the ways it is (`way_cnt`), or how many pieces of them
    end at it (`way_link`)."""
    refs, offsets = store.way_nodes(ways)
    if kind == "way_cnt":
        owner = np.repeat(np.arange(len(ways), dtype=np.int64), np.diff(offsets))
        pairs = distinct(refs.astype(np.int64) * (len(ways) + 1) + owner)
        refs = pairs // (len(ways) + 1)
        weights = np.ones(len(refs), np.int64)
    else:
        weights = np.full(len(refs), 2, np.int64)
        long_enough = np.diff(offsets) > 0
        # The first and the last node of a way end one piece each.
        np.subtract.at(weights, offsets[:-1][long_enough], 1)
        np.subtract.at(weights, offsets[1:][long_enough] - 1, 1)
    place = np.searchsorted(nodes, refs)
    place[place == len(nodes)] = 0
    known = nodes[place] == refs if len(nodes) else np.zeros(len(refs), np.bool_)
    return np.bincount(place[known], weights[known], minlength=len(nodes)).astype(np.int64)
