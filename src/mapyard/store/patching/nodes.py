"""Nodes of ways, and the reverse, while a store is patched."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, WAY
from mapyard.store.columns import offsets_of, open_column, ranges, write_column
from mapyard.store.derive import NO_POSITION
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames, FrameWriter, take_runs
from mapyard.store.merge import Gatherer, Splice
from mapyard.store.patching.rows import RowPlan
from mapyard.store.patching.upserts import Upserts
from mapyard.store.reader import Store
from mapyard.store.row_map import GONE

Ints = NDArray[np.int64]
Rows = NDArray[np.uint32]
_AT_ONCE: Final = 1 << 18
_SHIFT: Final = 32
_LOW: Final = 2**32 - 1


class Links(NamedTuple):
    """What changed between nodes and ways.

    `pairs`, sorted, are new ones: node << 32 | way, as new rows. `lost` are the sorted old rows of
    nodes that are gone or have no position any more.
    """

    pairs: Ints
    lost: Ints


def patch_refs(
    old: Store, old_folder: Path, folder: Path, ids: Frames, upserts: Upserts, plan: RowPlan
) -> Links:
    """Write way_refs, way_offsets and missing_node_ids; `ids` are those of the new store."""
    count = plan.counts[NODE]
    refs, offsets = (open_column(old_folder, name) for name in ("way_refs", "way_offsets"))
    is_placed = open_column(folder, "lat")
    lost = _find_lost(old, upserts, plan)
    kept_nodes = plan.row_map.head(old.node_count).without(lost)

    def locate(node_ids: Ints) -> Ints:
        """Return node rows, −1 for what is missing or without a position."""
        rows = ids.locate(node_ids, 0, count)
        found = np.flatnonzero(rows >= 0)
        rows[found[is_placed[rows[found]] == NO_POSITION]] = -1
        return rows

    # What was no node, or is none any more: numbers from 0, lost nodes first.
    ids_of = np.concatenate([old.ids.take(lost), old.missing_node_ids])
    rows_of = locate(ids_of)
    fresh = locate(upserts.refs)
    absent, numbers = np.unique(upserts.refs[fresh < 0], return_inverse=True)
    # A node that both old and new ways miss is one.
    order = np.argsort(ids_of, kind="stable")
    place = np.minimum(np.searchsorted(ids_of[order], absent), max(0, len(order) - 1))
    known = ids_of[order[place]] == absent if len(order) else np.zeros(len(absent), np.bool_)
    number_of = np.empty(len(absent), np.int64)
    number_of[known] = order[place[known]]
    number_of[~known] = len(ids_of) + np.arange(int((~known).sum()))
    all_ids = np.concatenate([ids_of, absent[~known]])
    is_used = np.zeros(len(all_ids), np.bool_)
    is_used[number_of[numbers]] = True

    splice = plan.by_type[WAY]

    def number(part: Rows) -> Ints:
        """Return the numbers of what `kept_nodes` has no row for."""
        is_missing = part >= old.node_count
        found = np.where(is_missing, part.astype(np.int64) - old.node_count + len(lost), 0)
        found[~is_missing] = np.searchsorted(lost, part[~is_missing])
        return found

    # First what old ways, which stay, refer to: that says which numbers remain, and who finds one.
    links = [np.empty(0, np.int64)]
    if len(ids_of):
        for fresh_run, a, b in splice.runs:
            if fresh_run:
                continue
            first, last = int(offsets[a]), int(offsets[b])
            for start in range(first, last, _AT_ONCE):
                part = refs[start : min(last, start + _AT_ONCE)]
                at = np.flatnonzero(kept_nodes.take(part)[0] == GONE)
                if not len(at):
                    continue
                numbered = number(part[at])
                rows = rows_of[numbered]
                is_used[numbered[rows < 0]] = True
                found = np.flatnonzero(rows >= 0)
                way = (
                    np.searchsorted(offsets, (at[found] + start).astype(offsets.dtype), "right") - 1
                )
                ways = plan.row_map[way + old.way_start]
                links.append(rows[found] << _SHIFT | ways)
    final = np.cumsum(is_used) - 1 + count
    write_column(folder, "missing_node_ids", all_ids[is_used])
    lookup = np.where(rows_of >= 0, rows_of, final[: len(ids_of)]).astype(np.uint32)

    def change(part: Rows) -> Rows:
        mapped, gone = kept_nodes.take(part)
        if gone:
            at = np.flatnonzero(mapped == GONE)
            mapped[at] = lookup[number(part[at])]
        return mapped

    own = fresh.copy()
    own[fresh < 0] = final[number_of[numbers]]
    own_offsets = offsets_of(upserts.ref_lengths)
    splice.write_ragged(
        folder,
        ("way_refs", "way_offsets"),
        refs,
        offsets,
        own.astype(np.uint32),
        own_offsets,
        change,
    )
    first_way = len(upserts.ids[NODE])
    ways = plan.new_rows[first_way : first_way + len(upserts.ids[WAY])]
    owners = np.repeat(ways, upserts.ref_lengths)
    is_there = fresh >= 0
    links.append(fresh[is_there] << _SHIFT | owners[is_there])
    return Links(distinct(*links), lost)


def _find_lost(old: Store, upserts: Upserts, plan: RowPlan) -> Ints:
    """Return the sorted old rows of nodes that are gone or have no position any more.

    Nodes that never had one are no matter: whoever refers to them has them for missing.
    """
    gone = plan.row_map.gone
    nodes = plan.new_rows[: len(upserts.ids[NODE])]
    hidden = plan.row_map.invert(nodes[upserts.lat == NO_POSITION])
    lost: Ints = distinct(gone[gone < old.node_count], hidden[hidden >= 0])
    return lost[old.lat[lost] != NO_POSITION]


def patch_node_ways(
    old: Store, old_folder: Path, folder: Path, plan: RowPlan, links: Links
) -> None:
    """Write per node its ways."""
    starts, ways = Frames(old_folder, "node_way_offsets"), Frames(old_folder, "node_ways")
    gone, gone_nodes = _find_gone(old, starts, ways, plan, links.lost)
    nodes, way_rows = links.pairs >> _SHIFT, links.pairs & _LOW
    at = _find_places(starts, ways, plan, nodes, way_rows)
    Splice(len(ways), gone, at).write_frames(
        folder,
        "node_ways",
        ways,
        way_rows,
        lambda part: plan.row_map.take(part.astype(np.uint32))[0].astype(np.int64),
    )
    _write_starts(folder, starts, plan, gone_nodes, nodes)


def _find_gone(
    old: Store, starts: Frames, ways: Frames, plan: RowPlan, lost: Ints
) -> tuple[Ints, Ints]:
    """Return the sorted places in `ways` of pairs that are no more, and the old node of each.

    These are all of lost nodes, and those of ways that are gone or changed.
    """
    rows = plan.replaced
    rows = rows[(rows >= old.way_start) & (rows < old.relation_start)]
    refs, offsets = old.way_nodes(rows)
    owners = np.repeat(rows, np.diff(offsets))
    is_node = refs < old.node_count
    pairs = distinct(refs[is_node].astype(np.int64) << _SHIFT | owners[is_node])
    nodes, wanted = pairs >> _SHIFT, pairs & _LOW
    values, ends = take_runs(starts, ways, nodes)
    run = np.repeat(np.arange(len(nodes)), np.diff(ends))
    found = np.flatnonzero(values == wanted[run])
    run = run[found]
    begins = starts.take(lost)
    lengths = starts.take(lost + 1) - begins
    places = np.concatenate([starts.take(nodes[run]) + found - ends[run], ranges(begins, lengths)])
    places, first = np.unique(places, return_index=True)
    return places, np.concatenate([nodes[run], np.repeat(lost, lengths)])[first]


def _find_places(starts: Frames, ways: Frames, plan: RowPlan, nodes: Ints, new_ways: Ints) -> Ints:
    """Return before which old pair each new one comes."""
    old = plan.find_old(nodes)
    at = starts.take(old)
    known = np.flatnonzero(plan.row_map.invert(nodes) >= 0)
    values, ends = take_runs(starts, ways, old[known])
    run = np.repeat(np.arange(len(known)), np.diff(ends))
    is_before = values < plan.find_old(new_ways[known])[run]
    at[known] += np.bincount(run[is_before], minlength=len(known))
    return at


def _write_starts(folder: Path, starts: Frames, plan: RowPlan, gone: Ints, added: Ints) -> None:
    """Write where the ways of each node begin.

    `gone` are the old nodes of pairs that are no more, `added` the new ones of those that are new.
    """
    nodes = len(starts) - 1
    fresh = plan.new_rows[: np.searchsorted(plan.new_rows, plan.counts[NODE])]
    fresh = fresh[plan.row_map.invert(fresh) < 0]
    at = plan.find_old(fresh)
    lost = plan.row_map.gone
    splice = Splice(nodes, lost[lost < nodes], at)
    own = starts.take(at) - np.searchsorted(gone, at) + np.searchsorted(added, fresh)
    count = 0
    with FrameWriter(folder, "node_way_offsets") as writer, Gatherer(writer) as gatherer:
        for is_fresh, a, b in splice.runs:
            if is_fresh:
                gatherer.append(own[a:b])
                count += b - a
                continue
            for old in range(a, b, _AT_ONCE):
                values = starts.span(old, min(b, old + _AT_ONCE))
                values += _count_changes(gone, added, old, count, len(values))
                gatherer.append(values)
                count += len(values)
        gatherer.append(np.array([starts.item(nodes) - len(gone) + len(added)]))


def _count_changes(gone: Ints, added: Ints, old: int, new: int, count: int) -> Ints | int:
    """Return by how much the ways of nodes begin later, for `count` of them from one on."""
    lost, lost_stop = np.searchsorted(gone, (old, old + count))
    won, won_stop = np.searchsorted(added, (new, new + count))
    if lost == lost_stop and won == won_stop:
        return int(won - lost)
    steps = np.zeros(count + 1, np.int64)
    steps[0] = won - lost
    np.subtract.at(steps, gone[lost:lost_stop] - old + 1, 1)
    np.add.at(steps, added[won:won_stop] - new + 1, 1)
    return np.cumsum(steps)[:count]
