"""Geometry while a store is patched: only touched elements are shaped again."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.area_rule import area_bits
from mapyard.store.columns import Heap, join_heap, offsets_of, open_column, ranges, write_column
from mapyard.store.distinct import distinct
from mapyard.store.merge import Splice, places_of
from mapyard.store.patching.rows import RowPlan
from mapyard.store.reader import Store
from mapyard.store.relation_lines import LinesBefore, RelationLines, write_relation_lines
from mapyard.store.row_map import GONE
from mapyard.store.shapes import Problems, ShapeSource, shape_relations, shape_ways

Ints = NDArray[np.int64]


class Touched(NamedTuple):
    """New rows that changed or depend on what changed, sorted, by type."""

    nodes: Ints
    ways: Ints
    relations: Ints

    def rows(self) -> Ints:
        """Return all of them, sorted."""
        return np.concatenate(self).astype(np.int64)


def patch_shapes(
    old: Store,
    old_folder: Path,
    folder: Path,
    plan: RowPlan,
    touched: Touched,
    problems: Problems,
    removed_names: set[str],
) -> Problems:
    """Write box, flags and geometry columns; return the problems of the new store."""
    nodes, ways, _ = counts = plan.counts
    source = ShapeSource(folder, counts)
    fresh: Problems = {}
    way_shapes = shape_ways(source, touched.ways - nodes, _bits_of(folder, touched.ways), fresh)
    relation_shapes = shape_relations(source, touched.relations - nodes - ways, fresh)

    again = np.concatenate([touched.ways, touched.relations])
    at = plan.find_old(again)
    # What stays is kept, and not to be shaped again.
    shaped = plan.row_map.invert(again)
    lost = distinct(plan.replaced, shaped[shaped >= 0])
    stays = plan.kept.without(lost)
    lost = lost[lost >= old.way_start]
    splice = Splice(old.row_count - old.way_start, lost - old.way_start, at - old.way_start)
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
    new_rows = np.array([row for row, _ in stored], np.int64)
    stored_splice = Splice(
        len(rows), places_of(rows, lost), rows.searchsorted(plan.find_old(new_rows))
    )
    stored_splice.write_ragged(
        folder,
        ("geometry_bytes", "geometry_offsets"),
        open_column(old_folder, "geometry_bytes"),
        open_column(old_folder, "geometry_offsets"),
        *join_heap([item for _, item in stored]),
    )
    stored_splice.write(folder, "geometry_rows", rows, new_rows, lambda part: stays.take(part)[0])

    first = old.relation_start
    text_splice = Splice(
        old.relation_count, lost[lost >= first] - first, at[len(touched.ways) :] - first
    )
    text_splice.write_ragged(
        folder,
        ("relation_json_bytes", "relation_json_offsets"),
        open_column(old_folder, "relation_json_bytes"),
        open_column(old_folder, "relation_json_offsets"),
        *join_heap(relation_shapes.texts),
    )
    old_lines = RelationLines(old_folder).ways(np.arange(old.relation_count))
    lines, offsets = text_splice.ragged(
        plan.row_map.take(old_lines.values)[0],
        old_lines.offsets,
        np.concatenate([np.empty(0, np.uint32), *relation_shapes.lines]),
        offsets_of(np.fromiter(map(len, relation_shapes.lines), np.int64)),
    )
    # The lines of ways that stay as they are.
    line_ways = stays.take(open_column(old_folder, "line_ways"))[0]
    numbers = np.flatnonzero(line_ways != GONE)
    numbers = numbers[np.argsort(line_ways[numbers])]
    before = LinesBefore(old_folder, line_ways[numbers], numbers)
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
