"""Geometry and R-trees while a store is patched: only touched elements are shaped again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.area_rule import area_bits
from mapyard.store.columns import Heap, join_heap, offsets_of, open_column, ranges, write_column
from mapyard.store.derive import (
    find_placed,
    write_feature_rtree,
    write_stray_rtree,
)
from mapyard.store.merge import Splice
from mapyard.store.relation_lines import LinesBefore, RelationLines, write_relation_lines
from mapyard.store.rtree import append_rtree
from mapyard.store.shapes import Problems, ShapeSource, shape_relations, shape_ways

Ints = NDArray[np.int64]
#: When more than this share of a tree's items was appended by updates, it is packed anew.
MAX_LOOSE_SHARE = 0.05


class Touched(NamedTuple):
    """New rows that changed or depend on what changed, sorted, by type."""

    nodes: Ints
    ways: Ints
    relations: Ints

    def rows(self) -> Ints:
        """Return all of them, sorted."""
        return np.concatenate(self).astype(np.int64)


def patch_shapes(
    old_folder: Path,
    folder: Path,
    counts: list[int],
    keep: NDArray[np.bool_],
    row_map: Ints,
    touched: Touched,
    problems: Problems,
    removed_names: set[str],
) -> Problems:
    """Write box, flags and geometry columns; return the problems of the new store."""
    nodes, ways, _ = counts
    source = ShapeSource(folder, counts)
    fresh: Problems = {}
    way_shapes = shape_ways(source, touched.ways - nodes, _bits_of(folder, touched.ways), fresh)
    relation_shapes = shape_relations(source, touched.relations - nodes - ways, fresh)

    again = np.concatenate([touched.ways, touched.relations])
    is_again = np.zeros(sum(counts), np.bool_)
    is_again[again] = True
    # What stays: kept, and not to be shaped again. Old rows from here on are ways and relations.
    stays = keep & (row_map >= 0)
    stays[stays] = ~is_again[row_map[stays]]
    old_nodes = len(keep) - len(open_column(old_folder, "box"))
    old_ways = len(open_column(old_folder, "way_flags"))
    upper = slice(old_nodes, None)
    splice = Splice(stays[upper], row_map[upper][stays[upper]], again)
    boxes = np.concatenate([way_shapes.boxes, relation_shapes.boxes])
    splice.write(folder, "box", open_column(old_folder, "box"), boxes)
    flags = splice.values(
        np.concatenate([open_column(old_folder, n) for n in ("way_flags", "relation_flags")]),
        np.concatenate([way_shapes.flags, relation_shapes.flags]),
    )
    write_column(folder, "way_flags", flags[:ways])
    write_column(folder, "relation_flags", flags[ways:])

    rows = open_column(old_folder, "geometry_rows")
    stored = [*way_shapes.stored, *relation_shapes.stored]
    mapped = row_map[rows]
    stored_splice = Splice(
        stays[rows], mapped[stays[rows]], np.array([row for row, _ in stored], np.int64)
    )
    stored_splice.write_ragged(
        folder,
        ("geometry_bytes", "geometry_offsets"),
        open_column(old_folder, "geometry_bytes"),
        open_column(old_folder, "geometry_offsets"),
        *join_heap([item for _, item in stored]),
    )
    new_rows = np.array([row for row, _ in stored], np.int64)
    write_column(folder, "geometry_rows", stored_splice.values(mapped, new_rows).astype(np.uint32))

    lower = slice(old_nodes + old_ways, None)
    text_splice = Splice(stays[lower], row_map[lower][stays[lower]], touched.relations)
    text_splice.write_ragged(
        folder,
        ("relation_json_bytes", "relation_json_offsets"),
        open_column(old_folder, "relation_json_bytes"),
        open_column(old_folder, "relation_json_offsets"),
        *join_heap(relation_shapes.texts),
    )
    old_lines = RelationLines(old_folder).ways(np.arange(len(keep) - old_nodes - old_ways))
    lines, offsets = text_splice.ragged(
        row_map[old_lines.values].astype(np.uint32),
        old_lines.offsets,
        np.concatenate([np.empty(0, np.uint32), *relation_shapes.lines]),
        offsets_of(np.fromiter(map(len, relation_shapes.lines), np.int64)),
    )
    # The lines of ways that stay as they are.
    line_ways = open_column(old_folder, "line_ways")
    numbers = np.flatnonzero(stays[line_ways])
    numbers = numbers[np.argsort(line_ways[numbers])]
    before = LinesBefore(old_folder, row_map[line_ways[numbers]].astype(np.uint32), numbers)
    write_relation_lines(folder, counts, np.diff(offsets), lines, before)

    gone = removed_names | {source.name_of(row) for row in again.tolist()}
    merged = {
        kind: [item for item in items if item[0] not in gone] + fresh.pop(kind, [])
        for kind, items in problems.items()
    } | fresh
    return {kind: items for kind, items in merged.items() if items}


def _bits_of(folder: Path, rows: Ints) -> NDArray[np.uint8]:
    """Return what the tags of some rows say of areas."""
    tagged = open_column(folder, "tag_rows")
    bits = np.zeros(len(rows), np.uint8)
    if not len(tagged):
        return bits
    place = np.minimum(np.searchsorted(tagged, rows.astype(np.uint32)), len(tagged) - 1)
    is_tagged = np.flatnonzero(tagged[place] == rows)
    offsets = open_column(folder, "tag_offsets").astype(np.int64)
    starts = offsets[place[is_tagged]]
    lengths = offsets[place[is_tagged] + 1] - starts
    kvs = open_column(folder, "tag_kvs")[ranges(starts, lengths)]
    keys, values = Heap(folder, "key_text"), Heap(folder, "value_text")
    of_key = np.searchsorted(open_column(folder, "key_kv"), kvs, side="right") - 1
    owners = np.repeat(is_tagged, lengths)
    for owner, key, kv in zip(owners.tolist(), of_key.tolist(), kvs.tolist(), strict=True):
        bits[owner] |= area_bits(keys[key].decode(), values[kv].decode())
    return bits


def patch_trees(
    old_folder: Path,
    folder: Path,
    counts: list[int],
    keep: NDArray[np.bool_],
    row_map: Ints,
    touched: Touched,
    old_info: dict[str, Any],
) -> int:
    """Write both R-trees; return the number of items that updates appended to the first."""
    write_stray_rtree(folder, counts)
    is_touched = np.zeros(sum(counts), np.bool_)
    everything = touched.rows()
    is_touched[everything] = True
    loose = int(old_info.get("loose_items", 0)) + len(everything)
    listed = open_column(folder, "listed")
    if loose > MAX_LOOSE_SHARE * len(listed):
        write_feature_rtree(folder, counts)
        return 0
    tagged = open_column(folder, "tag_rows")
    is_listed = everything >= counts[0]
    if len(tagged):
        place = np.minimum(np.searchsorted(tagged, everything.astype(np.uint32)), len(tagged) - 1)
        is_listed |= tagged[place] == everything
    append_rtree(
        old_folder,
        folder,
        "feature_rtree",
        keep,
        row_map,
        is_touched,
        *find_placed(folder, counts, everything[is_listed]),
    )
    return loose
