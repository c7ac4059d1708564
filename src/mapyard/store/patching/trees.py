"""What finds elements by place or in the order of feature lists, while a store is patched."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, open_column, write_column
from mapyard.store.derive import (
    UNLIMITED,
    find_placed,
    find_placed_nodes,
    write_feature_rtree,
)
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames, FrameWriter
from mapyard.store.merge import Splice, places_of
from mapyard.store.patching.nodes import Links
from mapyard.store.patching.rows import RowPlan
from mapyard.store.patching.shapes import Touched
from mapyard.store.reader import Store
from mapyard.store.row_map import GONE, RowMap
from mapyard.store.rtree import FANOUT, NOWHERE, Boxes, order_boxes, write_rtree
from mapyard.store.tag_places import count_nodes, find_frequent, list_pairs, write_tag_places

Ints = NDArray[np.int64]
#: When more than this share of a tree's items was appended by updates, it is packed anew.
MAX_LOOSE_SHARE = 0.05
_SHIFT: Final = 32
_LOW: Final = np.uint64(2**32 - 1)
_AT_ONCE: Final = 1 << 18
_FANOUT_BITS: Final = FANOUT.bit_length() - 1


def patch_listed(old: Store, folder: Path, ids: Frames, plan: RowPlan) -> None:
    """Write the listed rows in eid order; `ids` are those of the new store."""
    replaced = plan.replaced[old.is_listed(plan.replaced)]
    gone = np.sort(_seek_listed(old, old.eids(replaced)))
    nodes, ways, _ = plan.counts
    tagged = open_column(folder, "tag_rows")
    rows = plan.new_rows
    is_listed = rows >= nodes
    is_listed[places_of(rows, tagged)] = True
    rows = rows[is_listed]
    eids = ids.take(rows) * 4 + (rows >= nodes) + (rows >= nodes + ways)
    order = np.argsort(eids)
    splice = Splice(len(old.listed), gone, _seek_listed(old, eids[order]))
    splice.write(folder, "listed", old.listed, rows[order], lambda part: plan.kept.take(part)[0])


def _seek_listed(old: Store, eids: Ints) -> Ints:
    """Return the first place in the listed rows whose eid is not below each."""
    low, high = np.zeros(len(eids), np.int64), np.full(len(eids), len(old.listed))
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) >> 1
        is_below = old.eids(old.listed[middle]) < eids[open_]
        low[open_[is_below]] = middle[is_below] + 1
        high[open_[~is_below]] = middle[~is_below]
    return low


def patch_trees(
    old: Store,
    old_folder: Path,
    folder: Path,
    plan: RowPlan,
    touched: Touched,
    links: Links,
    kv_map: RowMap,
) -> int:
    """Write both R-trees and the places of tags; return how many items updates appended so far."""
    _patch_strays(old, old_folder, folder, plan, links)
    everything = touched.rows()
    loose = int(old.info.get("loose_items", 0)) + len(everything)
    if loose > MAX_LOOSE_SHARE * len(open_column(folder, "listed")):
        write_feature_rtree(folder, plan.counts)
        write_tag_places(folder, UNLIMITED)
        return 0
    is_listed = everything >= plan.counts[0]
    is_listed[places_of(everything, open_column(folder, "tag_rows"))] = True
    before = plan.row_map.invert(everything)
    lost = distinct(before[before >= 0])
    rows, boxes = find_placed(folder, plan.counts, everything[is_listed])
    appended = _patch_rtree(
        old_folder, folder, "feature_rtree", plan.row_map.without(lost), rows, boxes
    )
    _patch_tag_places(old_folder, folder, kv_map, appended)
    return loose


def _patch_strays(old: Store, old_folder: Path, folder: Path, plan: RowPlan, links: Links) -> None:
    """Write the R-tree over nodes that are neither tagged nor part of a way."""
    nodes = plan.counts[0]
    # Who may have become one, or be none any more: changed nodes, and those of changed ways.
    ways = plan.replaced[(plan.replaced >= old.way_start) & (plan.replaced < old.relation_start)]
    refs = old.way_nodes(ways).values
    left = plan.row_map[distinct(refs[refs < old.node_count])]
    own = plan.new_rows[plan.new_rows < nodes]
    asked = distinct(own, left[left >= 0], links.pairs >> _SHIFT)
    starts = Frames(folder, "node_way_offsets")
    is_stray = starts.take(asked + 1) == starts.take(asked)
    is_stray[places_of(asked, open_column(folder, "tag_rows"))] = False
    before = plan.row_map.take(open_column(old_folder, "stray_rtree_rows"))[0]
    before = np.sort(before[before != GONE])
    kept = np.delete(before, places_of(before, asked))
    rows = distinct(kept, asked[is_stray].astype(np.uint32))
    write_rtree(folder, "stray_rtree", *find_placed_nodes(folder, rows))


def _patch_rtree(
    old_folder: Path,
    folder: Path,
    name: str,
    row_map: RowMap,
    rows: NDArray[np.uint32],
    boxes: Boxes,
) -> NDArray[np.int64]:
    """Write an old tree with other rows and with new items at its end; return their places.

    Items that `row_map` has no row for stay, with a box that meets nothing: so the places of all
    others are the same. The new items are packed among themselves: a few cost a search next to
    nothing.
    """
    old_rows = open_column(old_folder, f"{name}_rows")
    old_boxes = open_column(old_folder, f"{name}_boxes")
    order = order_boxes(boxes)
    dead = [np.empty(0, np.int64)]
    with ColumnWriter(folder, f"{name}_rows", np.uint32) as writer:
        for start in range(0, len(old_rows), _AT_ONCE):
            mapped, gone = row_map.take(old_rows[start : start + _AT_ONCE])
            if gone:
                dead.append(np.flatnonzero(mapped == GONE) + start)
            writer.append(mapped)
        writer.append(rows[order])
    empty = np.concatenate(dead)
    at = np.concatenate([empty, np.full(len(rows), len(old_rows))])
    new_boxes = np.concatenate([np.tile(NOWHERE, (len(empty), 1)), boxes[order]])
    Splice(len(old_rows), empty, at).write(folder, f"{name}_boxes", old_boxes, new_boxes)
    appended = np.arange(len(old_rows), len(old_rows) + len(rows))
    _patch_levels(old_folder, folder, name, np.concatenate([empty, appended]))
    return appended


def _patch_levels(old_folder: Path, folder: Path, name: str, changed: NDArray[np.int64]) -> None:
    """Write the upper levels over items of which some changed or are new."""
    old = open_column(old_folder, f"{name}_levels")
    below = open_column(folder, f"{name}_boxes")
    before = len(open_column(old_folder, f"{name}_rows"))
    levels = []
    start = 0
    while len(below) > FANOUT:
        count, before = -(-len(below) // FANOUT), -(-before // FANOUT)
        level = np.empty((count, 4), np.int32)
        known = min(before, len(old) - start)
        level[:known] = old[start : start + known]
        changed = np.unique(np.concatenate([changed >> _FANOUT_BITS, np.arange(known, count)]))
        children = below[
            np.minimum((changed[:, None] << _FANOUT_BITS) + np.arange(FANOUT), len(below) - 1)
        ]
        level[changed] = np.hstack([children[:, :, :2].min(1), children[:, :, 2:].max(1)])
        levels.append(level)
        start += known
        below = level
    joined = np.concatenate(levels) if levels else np.empty((0, 4), np.int32)
    write_column(folder, f"{name}_levels", joined)


def _patch_tag_places(
    old_folder: Path, folder: Path, kv_map: RowMap, appended: NDArray[np.int64]
) -> None:
    """Write the columns of a tree whose items stayed in their places, but for those `appended`.

    `kv_map` is where the old kv ids went. A node that has lost its last element of a tag stays: the
    elements are looked at anyway.
    """
    frequent = find_frequent(open_column(folder, "kv_offsets"))
    known = (old_folder / "tag_place_kvs.npy").is_file()
    lasting = kv_map[open_column(old_folder, "tag_place_kvs")] if known else np.empty(0, np.int64)
    numbers = np.flatnonzero(lasting >= 0)
    kvs = lasting[numbers].astype(np.uint32)
    if not known or len(np.setdiff1d(frequent, kvs)):
        write_tag_places(folder, UNLIMITED)
        return
    write_column(folder, "tag_place_kvs", kvs)
    rows = open_column(folder, "feature_rtree_rows")
    pairs = distinct(list_pairs(folder, kvs, rows[appended], len(rows) - len(appended)))
    ends = np.searchsorted(pairs >> np.uint64(32), np.arange(len(kvs) + 1, dtype=np.uint64))
    before, nodes = count_nodes(rows[: len(rows) - len(appended)]), count_nodes(rows)
    old = Frames(old_folder, "tag_places")
    with FrameWriter(folder, "tag_places") as codes:
        for number, tag in enumerate(numbers.tolist()):
            start, stop = old.seek(np.array([tag, tag + 1]) * before, 0, len(old)).tolist()
            own = old.span(start, stop) - tag * before
            own = distinct(own, (pairs[ends[number] : ends[number + 1]] & _LOW).astype(np.int64))
            codes.append(own + number * nodes)
