"""Write a new store out of an old one and changes, faster than loading everything anew.

Columns are copied in runs between changed rows, row numbers in them are mapped, sorted postings are
merged, and only what depends on a changed element is shaped again. The result equals a fresh load
of the changed data but for numbers that mean nothing outside: the order of missing nodes, users,
roles and R-tree items.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.pbf import Block
from mapyard.store.columns import (
    Heap,
    offsets_of,
    open_column,
    ranges,
    write_column,
    write_heap,
    write_offsets,
)
from mapyard.store.derive import (
    NO_POSITION,
    UNLIMITED,
    pack_columns,
    write_info,
    write_listed,
    write_members,
    write_node_ways,
)
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames
from mapyard.store.merge import Splice
from mapyard.store.patch_shapes import Touched, patch_shapes, patch_trees
from mapyard.store.patch_tags import patch_tags
from mapyard.store.reader import Store
from mapyard.store.shapes import Problems
from mapyard.store.tag_places import write_tag_places
from mapyard.store.upserts import META, Upserts, Users, collect_upserts

Ints = NDArray[np.int64]


class Patched(NamedTuple):
    """What a patch did.

    `row_map` gives the new row of each old one, −1 where deleted. `touched` are the new rows that
    were changed or depend on changed ones, sorted; `removed` are old rows.
    """

    row_map: Ints
    touched: Ints
    removed: Ints
    problems: Problems
    info: dict[str, Any]


class RowPlan(NamedTuple):
    """How old rows and upserts become new rows: one splice over all, and one per type."""

    counts: list[int]
    keep: NDArray[np.bool_]  # over old rows: copied as they are
    row_map: Ints
    new_rows: Ints  # of the upserts
    every: Splice
    by_type: list[Splice]


def patch_store(
    old_folder: Path,
    folder: Path,
    blocks: Iterable[Block],
    deleted: list[Ints],
    problems: Problems,
) -> Patched:
    """Write into the new `folder` the store of `old_folder` with changes.

    `blocks` are changed elements sorted by type and id; `deleted` are sorted ids by type, of which
    those that are not there are passed over. `problems` are those of the old store.
    """
    folder.mkdir(parents=True)
    old = Store(old_folder)
    user_ids, user_names = old.users
    users: Users = {
        (int(uid), name.encode()): number
        for number, (uid, name) in enumerate(zip(user_ids.tolist(), user_names, strict=True))
    }
    upserts = collect_upserts(blocks, users)
    ids = old.ids[:]
    plan = _plan_rows(old, ids, upserts, deleted)
    _write_elements(folder, old, old_folder, ids, upserts, plan, users)
    patch_tags(old_folder, folder, upserts, plan.keep, plan.row_map, plan.new_rows)
    _write_refs(folder, old, old_folder, upserts, plan)
    _write_member_columns(folder, old, old_folder, upserts, plan)
    write_node_ways(folder, plan.counts)
    removed = np.flatnonzero(plan.row_map < 0)
    touched = _find_touched(folder, old, plan, removed)
    removed_names = {old.name_of(row) for row in removed.tolist()}
    kept_problems = patch_shapes(
        old_folder, folder, plan.counts, plan.keep, plan.row_map, touched, problems, removed_names
    )
    write_listed(folder, plan.counts)
    loose = patch_trees(old_folder, folder, plan.counts, plan.keep, plan.row_map, touched, old.info)
    write_tag_places(folder, UNLIMITED)
    pack_columns(folder, ("ids",))
    info = write_info(
        folder,
        plan.counts,
        has_metadata=old.has_metadata or upserts.has_metadata,
        has_users=old.has_users or any(name for _, name in users),
        problems=kept_problems,
        loose=loose,
    )
    return Patched(plan.row_map, touched.rows(), removed, kept_problems, info)


def _plan_rows(old: Store, all_ids: Ints, upserts: Upserts, deleted: list[Ints]) -> RowPlan:
    keep = np.ones(old.row_count, np.bool_)
    row_map = np.full(old.row_count, -1, np.int64)
    by_type, counts = [], []
    new_rows: list[Ints] = []
    start = 0
    for element_type in (NODE, WAY, RELATION):
        first, stop = old.type_range(element_type)
        ids, new_ids = all_ids[first:stop], upserts.ids[element_type]
        part = keep[first:stop]
        for gone in (new_ids, deleted[element_type]):
            part[_find(ids, gone)] = False
        splice = Splice(part, ids[part], new_ids)
        own = row_map[first:stop]
        splice.write_places(own, start)
        known = _find(ids, new_ids)
        own[known] = splice.new_place[np.searchsorted(new_ids, ids[known])] + start
        new_rows.append(splice.new_place + start)
        by_type.append(splice)
        counts.append(splice.count)
        start += splice.count
    all_new = np.concatenate(new_rows)
    every = Splice(keep, row_map[keep], all_new)
    return RowPlan(counts, keep, row_map, all_new, every, by_type)


def _find(ids: Ints, wanted: Ints) -> Ints:
    """Return the places of those wanted ids that are there."""
    if not len(ids):
        return np.empty(0, np.int64)
    place = np.searchsorted(ids, wanted)
    place[place == len(ids)] = 0
    return place[ids[place] == wanted]


def _write_elements(
    folder: Path,
    old: Store,
    old_folder: Path,
    ids: Ints,
    upserts: Upserts,
    plan: RowPlan,
    users: Users,
) -> None:
    plan.every.write(folder, "ids", ids, np.concatenate(upserts.ids))
    for name in META:
        plan.every.write_frames(folder, name, Frames(old_folder, name), upserts.meta[name])
    nodes = plan.by_type[NODE]
    nodes.write(folder, "lon", old.lon, upserts.lon)
    nodes.write(folder, "lat", old.lat, upserts.lat)
    write_column(folder, "user_ids", np.array([uid for uid, _ in users], np.int64))
    write_heap(folder, "user_text", [n.decode(errors="replace").encode() for _, n in users])


def _write_refs(
    folder: Path, old: Store, old_folder: Path, upserts: Upserts, plan: RowPlan
) -> None:
    """Write way_refs, way_offsets and missing_node_ids."""
    count = plan.counts[NODE]
    node_ids = open_column(folder, "ids")[:count]
    unplaced = open_column(folder, "lat") == NO_POSITION
    missing: dict[int, int] = {}

    def rows_of_nodes(ids: Ints) -> Ints:
        """Return node rows, or count + k for what is missing or without a position."""
        rows = np.full(len(ids), -1, np.int64)
        if count:
            place = np.minimum(np.searchsorted(node_ids, ids), count - 1)
            found = (node_ids[place] == ids) & ~unplaced[place]
            rows[found] = place[found]
        for index in np.flatnonzero(rows < 0).tolist():
            number = missing.setdefault(int(ids[index]), len(missing))
            rows[index] = count + number
        return rows

    # One table answers for every reference of the old store: rows, then missing ones.
    table = np.empty(old.node_count + len(old.missing_node_ids), np.uint32)
    table[: old.node_count] = plan.row_map[: old.node_count]
    lost = np.flatnonzero(plan.row_map[: old.node_count] < 0)
    table[lost] = rows_of_nodes(old.ids[lost])
    if unplaced.any():
        hidden = np.flatnonzero(unplaced[np.minimum(table[: old.node_count], count - 1)])
        hidden = hidden[table[hidden] < count]
        table[hidden] = rows_of_nodes(old.ids[hidden])
    table[old.node_count :] = rows_of_nodes(old.missing_node_ids)
    refs, offsets = plan.by_type[WAY].ragged(
        table[open_column(old_folder, "way_refs")],
        open_column(old_folder, "way_offsets"),
        rows_of_nodes(upserts.refs).astype(np.uint32),
        offsets_of(upserts.ref_lengths),
    )
    # Only what is still referred to stays in the list.
    is_missing = refs >= count
    used, numbers = np.unique(refs[is_missing], return_inverse=True)
    refs[is_missing] = count + numbers
    all_missing = np.fromiter(missing, np.int64, len(missing))
    write_column(folder, "missing_node_ids", all_missing[used.astype(np.int64) - count])
    write_column(folder, "way_refs", refs)
    write_offsets(folder, "way_offsets", np.diff(offsets))


def _write_member_columns(
    folder: Path, old: Store, old_folder: Path, upserts: Upserts, plan: RowPlan
) -> None:
    relations = plan.by_type[RELATION]
    old_offsets, new_offsets = (
        open_column(old_folder, "member_offsets"),
        offsets_of(upserts.member_lengths),
    )
    old_eids = old.members(np.arange(old.relation_start, old.row_count)).eid
    eids, offsets = relations.ragged(old_eids, old_offsets, upserts.member_eids, new_offsets)
    texts = Heap(old_folder, "role_text").span(0, len(old.roles))
    numbers = {text: number for number, text in enumerate(texts)}
    new_roles = [numbers.setdefault(role, len(numbers)) for role in upserts.member_roles]
    roles, _ = relations.ragged(
        open_column(old_folder, "member_roles").astype(np.uint32),
        old_offsets,
        np.array(new_roles, np.uint32),
        new_offsets,
    )
    write_offsets(folder, "member_offsets", np.diff(offsets))
    write_members(folder, plan.counts, eids, roles, len(numbers))
    write_heap(folder, "role_text", list(numbers))


def _find_touched(folder: Path, old: Store, plan: RowPlan, removed: Ints) -> Touched:
    """Return what has to be shaped again: changed elements and all that depend on them."""
    nodes, ways, _ = plan.counts
    first_relation = nodes + ways
    new = plan.new_rows
    moved = new[new < nodes]
    touched_ways = [new[(new >= nodes) & (new < first_relation)]]
    offsets, node_ways = (Frames(folder, n) for n in ("node_way_offsets", "node_ways"))
    starts = offsets[moved]
    touched_ways.append(node_ways[ranges(starts, offsets[moved + 1] - starts)])
    if len(removed):
        lost_nodes = removed[removed < old.way_start]
        mapped = plan.row_map[old.ways_of_nodes(lost_nodes).values]
        touched_ways.append(mapped[mapped >= 0])
    touched_way_rows = distinct(np.concatenate(touched_ways).astype(np.int64))

    members, holders = (
        open_column(folder, name) for name in ("member_of_rows", "member_of_relations")
    )

    def holding(rows: Ints) -> Ints:
        start = np.searchsorted(members, rows.astype(np.uint32), side="left")
        stop = np.searchsorted(members, rows.astype(np.uint32), side="right")
        parts = [holders[a:b] for a, b in zip(start.tolist(), stop.tolist(), strict=True) if b > a]
        return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)

    found = [new[new >= first_relation], holding(moved), holding(touched_way_rows)]
    if len(removed):
        mapped = plan.row_map[old.relations_of(removed)[1]]
        found.append(mapped[mapped >= 0])
    relations = distinct(*found)
    while True:
        more = distinct(relations, holding(relations))
        if len(more) == len(relations):
            break
        relations = more
    return Touched(moved, touched_way_rows, relations)
