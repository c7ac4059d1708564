"""Columns that follow from others: reverses, member rows, the listed order, R-trees, store.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import (
    offsets_of,
    open_column,
    write_column,
    write_narrow,
    write_offsets,
)
from mapyard.store.frames import Frames, write_frames
from mapyard.store.rtree import write_rtree

Ints = NDArray[np.int64]
#: Longitude and latitude of a node without a position.
NO_POSITION = np.int32(2**31 - 1)


def write_node_ways(folder: Path, counts: list[int]) -> None:
    """Write per node its ways, out of way_refs and way_offsets."""
    nodes, ways, _ = counts
    refs = open_column(folder, "way_refs")
    offsets = open_column(folder, "way_offsets")
    owner = np.repeat(np.arange(nodes, nodes + ways, dtype=np.uint64), np.diff(offsets))
    packed = (refs.astype(np.uint64) << np.uint64(32)) | owner
    del owner
    packed = packed[refs < nodes]
    packed.sort()
    if len(packed):
        keep = np.ones(len(packed), np.bool_)
        keep[1:] = packed[1:] != packed[:-1]
        packed = packed[keep]
    counted = np.bincount((packed >> np.uint64(32)).astype(np.int64), minlength=nodes)
    write_frames(folder, "node_way_offsets", offsets_of(counted))
    write_frames(folder, "node_ways", packed & np.uint64(2**32 - 1))


def find_rows_of(ids: Ints, counts: list[int], eids: Ints) -> Ints:
    """Return the row of each eid, −1 where absent; `ids` are those of all rows."""
    rows = np.full(len(eids), -1, np.int64)
    start = 0
    for element_type, count in enumerate(counts):
        block = ids[start : start + count]
        chosen = np.flatnonzero((eids & 3) == element_type)
        if count and len(chosen):
            wanted = eids[chosen] >> 2
            place = np.searchsorted(block, wanted)
            place[place == count] = 0
            found = block[place] == wanted
            rows[chosen[found]] = place[found] + start
        start += count
    return rows


def write_member_of(folder: Path, counts: list[int]) -> None:
    """Write per element the relations that hold it, out of member_rows and member_offsets."""
    rows = open_column(folder, "member_rows")
    offsets = open_column(folder, "member_offsets")
    first = counts[0] + counts[1]
    present = np.flatnonzero(rows < sum(counts))
    holder = np.repeat(np.arange(first, first + counts[2]), np.diff(offsets))[present]
    packed = (rows[present].astype(np.uint64) << np.uint64(32)) | holder.astype(np.uint64)
    order = np.argsort(packed, kind="stable")
    write_column(folder, "member_of_rows", rows[present][order].astype(np.uint32))
    write_column(folder, "member_of_relations", holder[order].astype(np.uint32))
    write_narrow(folder, "member_of_places", present[order])


def write_listed(folder: Path, counts: list[int]) -> NDArray[np.uint32]:
    """Write the listed rows in eid order; return them in row order."""
    nodes, ways, relations = counts
    tagged = open_column(folder, "tag_rows")
    tagged_nodes = tagged[: np.searchsorted(tagged, np.uint32(nodes))]
    others = np.arange(nodes, nodes + ways + relations, dtype=np.uint32)
    listed = np.concatenate([tagged_nodes, others])
    types = (listed >= nodes).astype(np.int64) + (listed >= nodes + ways)
    eids = open_column(folder, "ids")[listed] * 4 + types
    write_column(folder, "listed", listed[np.argsort(eids, kind="stable")])
    return listed


def find_placed(
    folder: Path, counts: list[int], rows: NDArray[Any]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Return those rows that have a geometry, and their boxes."""
    lon, lat, box = (open_column(folder, name) for name in ("lon", "lat", "box"))
    is_node = rows < counts[0]
    boxes = np.empty((len(rows), 4), np.int32)
    nodes = rows[is_node]
    boxes[is_node, 0] = boxes[is_node, 2] = lon[nodes]
    boxes[is_node, 1] = boxes[is_node, 3] = lat[nodes]
    boxes[~is_node] = box[rows[~is_node].astype(np.int64) - counts[0]]
    placed = (boxes[:, 0] <= boxes[:, 2]) & (boxes[:, 1] != NO_POSITION)
    return rows[placed].astype(np.uint32), boxes[placed]


def find_placed_nodes(
    folder: Path, rows: NDArray[Any]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """Return those node rows that have a position, and their positions (n, 2)."""
    points = np.column_stack([open_column(folder, n)[rows] for n in ("lon", "lat")])
    placed = points[:, 1] != NO_POSITION
    return rows[placed].astype(np.uint32), points[placed]


def write_feature_rtree(folder: Path, counts: list[int], listed: NDArray[np.uint32]) -> None:
    """Pack the R-tree over listed elements."""
    write_rtree(folder, "feature_rtree", *find_placed(folder, counts, listed))


def write_stray_rtree(folder: Path, counts: list[int]) -> None:
    """Pack the R-tree over nodes that are neither tagged nor part of a way.

    All others are found by the feature R-tree: as elements of it, or by their ways.
    """
    is_stray = np.diff(Frames(folder, "node_way_offsets")[:]) == 0
    tagged = open_column(folder, "tag_rows")
    is_stray[tagged[: tagged.searchsorted(np.uint32(counts[0]))]] = False
    rows = np.flatnonzero(is_stray).astype(np.uint32)
    write_rtree(folder, "stray_rtree", *find_placed_nodes(folder, rows))


def write_members(
    folder: Path, counts: list[int], lengths: NDArray[Any], eids: Ints, roles: NDArray[Any]
) -> None:
    """Write the members of relations, of which the rows are found, and the reverse."""
    write_offsets(folder, "member_offsets", lengths)
    rows = find_rows_of(open_column(folder, "ids"), counts, eids)
    missing = np.flatnonzero(rows < 0)
    rows[missing] = sum(counts) + np.arange(len(missing))
    write_column(folder, "missing_member_eids", eids[missing])
    write_column(folder, "member_rows", rows.astype(np.uint32))
    write_narrow(folder, "member_roles", roles)
    write_member_of(folder, counts)


#: Columns that are written plainly, as other columns are made from them, and packed at the end.
_PACKED: Final = ("ids", "version", "timestamp", "changeset", "user")


def pack_columns(folder: Path) -> None:
    """Put columns into frames."""
    for name in _PACKED:
        write_frames(folder, name, open_column(folder, name))
        (folder / f"{name}.npy").unlink()


#: What the report calls nodes whose coordinates are missing or beyond ±90 and ±180 degrees.
UNPLACED: Final = "node without a position on Earth"


def write_info(
    folder: Path,
    counts: list[int],
    *,
    has_metadata: bool,
    has_users: bool,
    problems: dict[str, Any],
    loose: int = 0,
) -> dict[str, Any]:
    """Write store.json and return it; `loose` are R-tree items appended by updates.

    Nodes whose coordinates are not on Earth become `problems` too.
    """
    lon, lat = open_column(folder, "lon"), open_column(folder, "lat")
    unplaced = 0
    problems.pop(UNPLACED, None)
    if len(lat) and lat.max() == NO_POSITION:
        placed = lat != NO_POSITION
        unplaced = len(lat) - int(placed.sum())
        lon, lat = lon[placed], lat[placed]
        names = open_column(folder, "ids")[: counts[0]][~placed].tolist()
        problems[UNPLACED] = [(f"node/{name}", "") for name in names]
    bbox = None
    if len(lat):
        bbox = [int(e7) / 1e7 for e7 in (lon.min(), lat.min(), lon.max(), lat.max())]
    timestamps = open_column(folder, "timestamp")
    info = {
        "nodes": counts[0],
        "ways": counts[1],
        "relations": counts[2],
        "listed": len(open_column(folder, "listed")),
        "has_metadata": has_metadata,
        "has_users": has_users,
        "newest_timestamp": int(timestamps.max()) if len(timestamps) else 0,
        "bbox": bbox,
        "missing_nodes": len(open_column(folder, "missing_node_ids")),
        "nodes_without_position": unplaced,
        "loose_items": loose,
        "problems": {kind: len(items) for kind, items in problems.items()},
    }
    (folder / "store.json").write_text(json.dumps(info, indent=1))
    return info
