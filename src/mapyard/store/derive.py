"""Columns that follow from others: reverses, member rows, the listed order, R-trees, store.json."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, find_place, narrow_type, open_column
from mapyard.store.frames import Frames, FrameWriter, write_frames
from mapyard.store.kernels import describe_runs, load_kernels, place
from mapyard.store.rtree import Items, write_large_rtree
from mapyard.store.sorting import Sorter

Ints = NDArray[np.int64]
#: Memory of a sort where there is no limit, as in updates.
UNLIMITED: Final = 1 << 60
_SHIFT: Final = np.uint64(32)
_LOW: Final = np.uint64(2**32 - 1)
_AT_ONCE: Final = 1 << 18
_WAYS_AT_ONCE: Final = 50_000
#: Longitude and latitude of a node without a position.
NO_POSITION = np.int32(2**31 - 1)


def write_node_ways(folder: Path, counts: list[int], memory_bytes: int = UNLIMITED) -> None:
    """Write per node its ways, out of way_refs and way_offsets."""
    refs = open_column(folder, "way_refs")
    with (
        FrameWriter(folder, "node_way_offsets") as starts,
        FrameWriter(folder, "node_ways") as all_ways,
    ):
        if 12 * counts[0] + 4 * len(refs) <= memory_bytes:
            _count_node_ways(folder, counts, starts, all_ways)
        else:
            _sort_node_ways(folder, counts, starts, all_ways, memory_bytes)


def _count_node_ways(
    folder: Path, counts: list[int], starts: FrameWriter, all_ways: FrameWriter
) -> None:
    """Put the ways of each node where they belong: fast, but all of it is held."""
    nodes, ways, _ = counts
    refs, offsets = open_column(folder, "way_refs"), open_column(folder, "way_offsets")
    runs, kernels = describe_runs(refs, offsets, ways), load_kernels()
    places, last = np.empty(nodes, np.int64), np.empty(nodes, np.uint32)
    asked = ctypes.addressof(runs), nodes
    total = kernels.count_owners(*asked, place(places), place(last))
    if total < 0:
        raise IndexError("the nodes of a way are damaged")
    owners = np.empty(total, np.uint32)
    kernels.list_owners(*asked, nodes, place(places), place(last), place(owners))
    starts.append(places)
    starts.append(np.array([total]))
    all_ways.append(owners)


def _sort_node_ways(
    folder: Path,
    counts: list[int],
    starts: FrameWriter,
    all_ways: FrameWriter,
    memory_bytes: int,
) -> None:
    """Sort pairs of node and way, in as much memory as there is."""
    nodes, ways, _ = counts
    refs, offsets = open_column(folder, "way_refs"), open_column(folder, "way_offsets")
    with Sorter(folder, memory_bytes) as sorter:
        for start in range(0, ways, _WAYS_AT_ONCE):
            stop = min(ways, start + _WAYS_AT_ONCE)
            edges = offsets[start : stop + 1].astype(np.int64)
            lengths = edges[1:] - edges[:-1]
            owner = np.repeat(np.arange(nodes + start, nodes + stop, dtype=np.uint64), lengths)
            part = refs[edges[0] : edges[-1]]
            packed = part.astype(np.uint64) << _SHIFT | owner
            sorter.add(packed[part < nodes])
        for block in sorter.blocks():
            keep = np.ones(len(block), np.bool_)
            keep[1:] = block[1:] != block[:-1]
            packed = block[keep]
            held = packed >> _SHIFT
            # Where each node begins, up to the last one, which may go on in the next block.
            _write_starts(starts, held, int(held[-1]) + 1, all_ways.length)
            all_ways.append(packed & _LOW)
        _write_starts(starts, np.empty(0, np.uint64), nodes + 1, all_ways.length)


def _write_starts(writer: FrameWriter, held: NDArray[np.uint64], stop: int, written: int) -> None:
    """Write, up to node `stop`, where the ways of each begin; `held` are sorted nodes."""
    for start in range(writer.length, stop, _AT_ONCE):
        nodes = np.arange(start, min(stop, start + _AT_ONCE), dtype=np.uint64)
        writer.append(held.searchsorted(nodes) + written)


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


def write_member_of(folder: Path, counts: list[int], memory_bytes: int = UNLIMITED) -> None:
    """Write per element the relations that hold it, out of member_rows and member_offsets."""
    rows = open_column(folder, "member_rows")
    offsets = open_column(folder, "member_offsets")
    first = counts[0] + counts[1]
    with Sorter(folder, memory_bytes) as sorter:
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            places = np.arange(start, start + len(part), dtype=np.uint64)
            sorter.add((part.astype(np.uint64) << _SHIFT | places)[part < sum(counts)])
        with (
            ColumnWriter(folder, "member_of_rows", np.uint32) as held,
            ColumnWriter(folder, "member_of_relations", np.uint32) as holders,
            ColumnWriter(folder, "member_of_places", narrow_type(len(rows))) as all_places,
        ):
            for block in sorter.blocks():
                places = block & _LOW
                held.append(block >> _SHIFT)
                holder = offsets.searchsorted(places.astype(offsets.dtype), side="right") - 1
                holders.append(holder + first)
                all_places.append(places)


def iter_listed(folder: Path, counts: list[int]) -> Iterator[NDArray[np.uint32]]:
    """Yield the listed rows (tagged nodes, ways and relations) in their order, in portions."""
    tagged = open_column(folder, "tag_rows")
    end = int(np.searchsorted(tagged, np.uint32(counts[0])))
    for start in range(0, end, _AT_ONCE):
        yield tagged[start : min(end, start + _AT_ONCE)]
    for start in range(counts[0], sum(counts), _AT_ONCE):
        yield np.arange(start, min(sum(counts), start + _AT_ONCE), dtype=np.uint32)


def write_listed(folder: Path, counts: list[int]) -> None:
    """Write the listed rows in eid order: those of each type are in it, so they are merged."""
    tagged = open_column(folder, "tag_rows")
    ids = open_column(folder, "ids")
    ways, relations = counts[0], counts[0] + counts[1]
    ends = [int(np.searchsorted(tagged, np.uint32(counts[0]))), counts[1], counts[2]]

    def read(kind: int, start: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        stop = min(ends[kind], start + _AT_ONCE)
        if kind == 0:
            rows = tagged[start:stop]
            return ids[rows] * 4, rows
        first = (0, ways, relations)[kind]
        rows = np.arange(first + start, first + stop, dtype=np.uint32)
        return ids[first + start : first + stop] * 4 + kind, rows

    places = [0, 0, 0]
    with ColumnWriter(folder, "listed", np.uint32) as writer:
        while any(place < end for place, end in zip(places, ends, strict=True)):
            parts = {kind: read(kind, places[kind]) for kind in range(3)}
            parts = {kind: part for kind, part in parts.items() if len(part[0])}
            bound = min(int(eids[-1]) for eids, _ in parts.values())
            taken = []
            for kind, (eids, rows) in parts.items():
                stop = int(np.searchsorted(eids, bound, side="right"))
                places[kind] += stop
                taken.append((eids[:stop], rows[:stop]))
            order = np.argsort(np.concatenate([eids for eids, _ in taken]), kind="stable")
            writer.append(np.concatenate([rows for _, rows in taken])[order])


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


def write_feature_rtree(folder: Path, counts: list[int], memory_bytes: int = UNLIMITED) -> None:
    """Pack the R-tree over listed elements."""
    write_large_rtree(
        folder,
        "feature_rtree",
        Items(
            lambda: (find_placed(folder, counts, rows)[0] for rows in iter_listed(folder, counts)),
            lambda rows: find_placed(folder, counts, rows)[1],
            4,
        ),
        memory_bytes,
    )


def write_stray_rtree(folder: Path, counts: list[int], memory_bytes: int = UNLIMITED) -> None:
    """Pack the R-tree over nodes that are neither tagged nor part of a way.

    All others are found by the feature R-tree: as elements of it, or by their ways.
    """
    starts = Frames(folder, "node_way_offsets")
    tagged = open_column(folder, "tag_rows")

    def portions() -> Iterator[NDArray[np.uint32]]:
        for start in range(0, counts[0], _AT_ONCE):
            stop = min(counts[0], start + _AT_ONCE)
            is_stray = np.diff(starts.span(start, stop + 1)) == 0
            low, high = find_place(tagged, start, stop)
            is_stray[tagged[low:high] - np.uint32(start)] = False
            rows = (np.flatnonzero(is_stray) + start).astype(np.uint32)
            yield find_placed_nodes(folder, rows)[0]

    write_large_rtree(
        folder,
        "stray_rtree",
        Items(portions, lambda rows: find_placed_nodes(folder, rows)[1], 2),
        memory_bytes,
    )


def write_members(
    folder: Path,
    counts: list[int],
    eids: Ints,
    roles: NDArray[Any],
    role_count: int,
    memory_bytes: int = UNLIMITED,
) -> None:
    """Write the members of relations, of which the rows are found, and the reverse.

    `member_offsets` are there already.
    """
    ids = open_column(folder, "ids")
    with (
        ColumnWriter(folder, "member_rows", np.uint32) as all_rows,
        ColumnWriter(folder, "missing_member_eids", np.int64) as missing_eids,
        ColumnWriter(folder, "member_roles", narrow_type(role_count)) as all_roles,
    ):
        for start in range(0, len(eids), _AT_ONCE):
            part = eids[start : start + _AT_ONCE]
            rows = find_rows_of(ids, counts, part)
            missing = np.flatnonzero(rows < 0)
            rows[missing] = sum(counts) + missing_eids.length + np.arange(len(missing))
            missing_eids.append(part[missing])
            all_rows.append(rows)
            all_roles.append(roles[start : start + _AT_ONCE])
    write_member_of(folder, counts, memory_bytes)


#: Columns that are written plainly, as other columns are made from them, and packed at the end.
_PACKED: Final = ("ids", "version", "timestamp", "changeset", "user")


def pack_columns(folder: Path, names: tuple[str, ...] = _PACKED) -> None:
    """Put columns into frames."""
    for name in names:
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
    """Write store.json and return it, after `pack_columns`; `loose` are R-tree items appended.

    Nodes whose coordinates are not on Earth become `problems` too.
    """
    lon, lat = open_column(folder, "lon"), open_column(folder, "lat")
    unplaced = 0
    problems.pop(UNPLACED, None)
    west = south = int(NO_POSITION)
    east = north = -int(NO_POSITION)
    for start in range(0, len(lat), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        x, y = lon[part], lat[part]
        placed = y != NO_POSITION
        if not placed.all():
            unplaced += int((~placed).sum())
            places = np.flatnonzero(~placed) + start
            names = Frames(folder, "ids").take(places).tolist()
            problems.setdefault(UNPLACED, []).extend((f"node/{name}", "") for name in names)
            x, y = x[placed], y[placed]
        if len(x):
            west, south = min(west, int(x.min())), min(south, int(y.min()))
            east, north = max(east, int(x.max())), max(north, int(y.max()))
    bbox = [e7 / 1e7 for e7 in (west, south, east, north)] if west <= east else None
    newest = max((int(part.max()) for part in Frames(folder, "timestamp").chunks()), default=0)
    info = {
        "nodes": counts[0],
        "ways": counts[1],
        "relations": counts[2],
        "listed": len(open_column(folder, "listed")),
        "has_metadata": has_metadata,
        "has_users": has_users,
        "newest_timestamp": newest,
        "bbox": bbox,
        "missing_nodes": len(open_column(folder, "missing_node_ids")),
        "nodes_without_position": unplaced,
        "loose_items": loose,
        "problems": {kind: len(items) for kind, items in problems.items()},
    }
    (folder / "store.json").write_text(json.dumps(info, indent=1))
    return info
