"""Write a new store out of an old one and changes, faster than loading everything anew.

Columns are copied in runs between changed rows; rows in them moved by a number that is the same for
long runs (row_map.py), so all passes are streams and take little memory. Only what depends on a
changed element is shaped again. The result equals a fresh load of the changed data but for numbers
that mean nothing outside: the order of missing nodes, users, roles and R-tree items.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION
from mapyard.osm.pbf import Block
from mapyard.store.columns import (
    Heap,
    narrow_type,
    offsets_of,
    open_column,
    ranges,
    write_column,
    write_heap,
    write_offsets,
)
from mapyard.store.derive import write_info, write_member_of
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames
from mapyard.store.merge import holds
from mapyard.store.patching.nodes import patch_node_ways, patch_refs
from mapyard.store.patching.rows import RowPlan, plan_rows
from mapyard.store.patching.shapes import Touched, patch_shapes
from mapyard.store.patching.tags import patch_tags
from mapyard.store.patching.trees import patch_listed, patch_trees
from mapyard.store.patching.upserts import META, Upserts, Users, collect_upserts
from mapyard.store.reader import Store
from mapyard.store.row_map import RowMap
from mapyard.store.shapes import Problems

Ints = NDArray[np.int64]


class Patched(NamedTuple):
    """What a patch did.

    `row_map` gives the new row of each old one, −1 where deleted. `touched` are the new rows that
    were changed or depend on changed ones, sorted; `removed` are old rows.
    """

    row_map: RowMap
    touched: Ints
    removed: Ints
    problems: Problems
    info: dict[str, Any]


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
    plan = plan_rows(old, upserts, deleted)
    ids = _write_elements(folder, old, old_folder, upserts, plan, users)
    kv_map = patch_tags(old_folder, folder, upserts, plan)
    links = patch_refs(old, old_folder, folder, ids, upserts, plan)
    patch_node_ways(old, old_folder, folder, plan, links)
    _write_member_columns(folder, old, old_folder, ids, upserts, plan)
    removed = plan.row_map.gone
    touched = _find_touched(folder, old, plan, removed, links.lost)
    removed_names = {old.name_of(row) for row in removed.tolist()}
    kept_problems = patch_shapes(old, old_folder, folder, plan, touched, problems, removed_names)
    patch_listed(old, folder, ids, plan)
    loose = patch_trees(old, old_folder, folder, plan, touched, links, kv_map)
    info = write_info(
        folder,
        plan.counts,
        has_metadata=old.has_metadata or upserts.has_metadata,
        has_users=old.has_users or any(name for _, name in users),
        problems=kept_problems,
        loose=loose,
    )
    return Patched(plan.row_map, touched.rows(), removed, kept_problems, info)


def _write_elements(
    folder: Path, old: Store, old_folder: Path, upserts: Upserts, plan: RowPlan, users: Users
) -> Frames:
    """Write ids, metadata, positions and users; return the ids."""
    plan.every.write_frames(folder, "ids", old.ids, np.concatenate(upserts.ids))
    for name in META:
        plan.every.write_frames(folder, name, Frames(old_folder, name), upserts.meta[name])
    nodes = plan.by_type[NODE]
    nodes.write(folder, "lon", old.lon, upserts.lon)
    nodes.write(folder, "lat", old.lat, upserts.lat)
    write_column(folder, "user_ids", np.array([uid for uid, _ in users], np.int64))
    write_heap(folder, "user_text", [n.decode(errors="replace").encode() for _, n in users])
    return Frames(folder, "ids")


def _write_member_columns(
    folder: Path, old: Store, old_folder: Path, ids: Frames, upserts: Upserts, plan: RowPlan
) -> None:
    """Write the members of relations and the reverse."""
    relations = plan.by_type[RELATION]
    stored = open_column(old_folder, "member_rows")
    old_offsets = open_column(old_folder, "member_offsets")
    new_offsets = offsets_of(upserts.member_lengths)
    # Rows, and the eids of those that had none, or have none now: only new elements can be these.
    rows = plan.row_map[stored]
    lost = np.flatnonzero(rows < 0)
    eids = np.zeros(len(rows), np.int64)
    eids[lost] = _read_eids(old, old_folder, stored[lost])
    is_new = plan.row_map.invert(plan.new_rows) < 0
    created = np.sort(
        np.concatenate([one * 4 + kind for kind, one in enumerate(upserts.ids)])[is_new]
    )
    lost = lost[holds(created, eids[lost])]
    rows[lost] = _find_rows(ids, plan.counts, eids[lost])
    own_rows = _find_rows(ids, plan.counts, upserts.member_eids)
    rows, offsets = relations.ragged(rows, old_offsets, own_rows, new_offsets)
    eids, _ = relations.ragged(eids, old_offsets, upserts.member_eids, new_offsets)
    missing = np.flatnonzero(rows < 0)
    rows[missing] = sum(plan.counts) + np.arange(len(missing))
    write_column(folder, "missing_member_eids", eids[missing])
    write_column(folder, "member_rows", rows.astype(np.uint32))
    write_offsets(folder, "member_offsets", np.diff(offsets))
    write_member_of(folder, plan.counts)

    texts = Heap(old_folder, "role_text").span(0, len(old.roles))
    numbers = {text: number for number, text in enumerate(texts)}
    new_roles = [numbers.setdefault(role, len(numbers)) for role in upserts.member_roles]
    roles, _ = relations.ragged(
        open_column(old_folder, "member_roles").astype(np.uint32),
        old_offsets,
        np.array(new_roles, np.uint32),
        new_offsets,
    )
    write_column(folder, "member_roles", roles.astype(narrow_type(len(numbers))))
    write_heap(folder, "role_text", list(numbers))


def _read_eids(old: Store, old_folder: Path, stored: NDArray[np.uint32]) -> Ints:
    """Return the eids of stored members: rows, and behind these numbers of missing ones."""
    is_missing = stored >= old.row_count
    eids = np.empty(len(stored), np.int64)
    eids[~is_missing] = old.eids(stored[~is_missing])
    missing = open_column(old_folder, "missing_member_eids")
    eids[is_missing] = missing[stored[is_missing].astype(np.int64) - old.row_count]
    return eids


def _find_rows(ids: Frames, counts: list[int], eids: Ints) -> Ints:
    """Return the row of each eid, −1 where absent."""
    rows = np.full(len(eids), -1, np.int64)
    start = 0
    for kind, count in enumerate(counts):
        chosen = np.flatnonzero((eids & 3) == kind)
        rows[chosen] = ids.locate(eids[chosen] >> 2, start, start + count)
        start += count
    return rows


def _find_touched(
    folder: Path, old: Store, plan: RowPlan, removed: Ints, lost_nodes: Ints
) -> Touched:
    """Return what has to be shaped again: changed elements and all that depend on them."""
    nodes, ways, _ = plan.counts
    first_relation = nodes + ways
    new = plan.new_rows
    moved = new[new < nodes]
    touched_ways = [new[(new >= nodes) & (new < first_relation)]]
    offsets, node_ways = (Frames(folder, n) for n in ("node_way_offsets", "node_ways"))
    starts = offsets[moved]
    touched_ways.append(node_ways[ranges(starts, offsets[moved + 1] - starts)])
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
