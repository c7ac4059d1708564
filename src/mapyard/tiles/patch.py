"""Write a feature table out of an earlier one: what no change touches is copied as it lies.

A feature is made of its element alone, and where it lies in its layer is told by the element and
its row. So the features of touched and removed elements go, those of touched ones are made as in a
build, into a small table, and are put in between. Layers that more than one element decides (the
ocean, boundaries) are made whole, unless nothing that they are made of was touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE
from mapyard.store.columns import ColumnWriter, join_heap
from mapyard.store.digests import Digests
from mapyard.store.distinct import distinct
from mapyard.store.merge import Splice
from mapyard.store.reader import Store
from mapyard.store.row_map import GONE, RowMap
from mapyard.store.rtree import merge_rtree
from mapyard.tiles.boundaries import find_label_inputs, find_line_inputs
from mapyard.tiles.build import (
    Bounds,
    Only,
    build_table,
    feature_ids,
    find_keys,
    list_attributes,
    list_codes,
)
from mapyard.tiles.classify import Chosen
from mapyard.tiles.ocean import find_coastline
from mapyard.tiles.reuse import Differences, find_differences
from mapyard.tiles.schema import LAYER_INDEX, LAYERS
from mapyard.tiles.table import Table, write_info

Ints = NDArray[np.int64]
Parts = Iterator[tuple[Table, int, int]]

#: Features, and values of them, that are looked at together.
_AT_ONCE: Final = 1 << 18
#: What the layers are made of that are no matter of one element each.
_INPUTS: Final[dict[str, Callable[[Store], Ints]]] = {
    "ocean": find_coastline,
    "boundaries": find_line_inputs,
    "boundary_labels": find_label_inputs,
}


class Before(NamedTuple):
    """The table of an earlier store, and what became of that: as `store.patch.Patched` says."""

    folder: Path
    store: Store
    row_map: RowMap
    touched: Ints
    removed: Ints


def patch_table(
    store: Store,
    before: Before,
    folder: Path,
    bounds_deg: Bounds,
    languages: list[str] | None,
    memory_bytes: int,
) -> Differences | None:
    """Write the table that `build_table` would; return what differs from the one before.

    None, and nothing is written, where the table before does not tell what its features are.
    """
    old = Table(before.folder)
    if old.info.attributes != list_attributes(list_codes(languages)) or _has_unnamed(store, before):
        return None
    same = frozenset(
        name
        for name, find in _INPUTS.items()
        if _is_untouched(find(store), find(before.store), before)
        and (name != "ocean" or old.info.bounds == tuple(bounds_deg))
    )
    rows = before.touched[store.is_listed(before.touched)]
    part = folder / "part"
    build_table(
        store, part, bounds_deg, languages, memory_bytes=memory_bytes, only=Only(rows, same)
    )
    new = Table(part)
    gone = _find_gone(old, store, before, [name for name in _INPUTS if name not in same])
    at = _find_places(store, old, new, gone)
    _Merge(old, new, gone, at).write(before.folder, folder, bounds_deg, memory_bytes)
    differences = _compare(old, new, gone, at)
    for file in part.iterdir():
        file.unlink()
    part.rmdir()
    return differences


def _has_unnamed(store: Store, before: Before) -> bool:
    """Return whether there are negative ids, which features do not tell."""
    return any(
        start < stop and one.ids[start] <= 0
        for one in (store, before.store)
        for start, stop in map(one.type_range, range(NODE, NODE + 3))
    )


def _is_untouched(rows: Ints, old_rows: Ints, before: Before) -> bool:
    return np.array_equal(rows, before.row_map[old_rows]) and not len(
        np.intersect1d(rows, before.touched, assume_unique=True)
    )


def _find_gone(old: Table, store: Store, before: Before, layers: list[str]) -> Ints:
    """Return the features of touched and removed elements, and all of some layers."""
    ids = distinct(
        feature_ids(store, before.touched), feature_ids(before.store, before.removed)
    ).astype(np.uint64)
    # Most are told apart by a part of their number alone.
    might = np.zeros(1 << 16, np.bool_)
    might[_mix(ids)] = True
    is_gone = [np.empty(0, np.int64)]
    for start in range(0, len(old), _AT_ONCE):
        part = old.ids[start : start + _AT_ONCE]
        places = np.flatnonzero(might[_mix(part)])
        is_gone.append(places[np.isin(part[places], ids)] + start)
    for name in _INPUTS:
        first, stop = old.layer_offsets[LAYER_INDEX[name] :][:2].tolist()
        is_gone = [part[(part < first) | (part >= stop)] for part in is_gone]
        if name in layers:
            is_gone.append(np.arange(first, stop))
    return distinct(*is_gone)


def _mix(ids: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return ids * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(48)


# ---- order ------------------------------------------------------------------------------------


def _find_places(store: Store, old: Table, new: Table, gone: Ints) -> Ints:
    """Return before how many of the kept features each new one lies, in the order of the table."""
    gaps = gone - np.arange(len(gone))
    edges = old.layer_offsets - np.searchsorted(gone, old.layer_offsets)
    at = np.repeat(edges[:-1], np.diff(new.layer_offsets))
    for index, layer in enumerate(LAYERS):
        first, stop = new.layer_offsets[index : index + 2].tolist()
        if layer.name in _INPUTS or first == stop:
            continue
        low, high = at[first:stop], np.full(stop - first, edges[index + 1])
        wanted = find_keys(Chosen(store, _find_rows(store, new.ids[first:stop])), layer)
        while len(left := np.flatnonzero(low < high)):
            middle = (low + high)[left] >> 1
            ranks, which = np.unique(middle, return_inverse=True)
            places = ranks + np.searchsorted(gaps, ranks, side="right")
            keys = find_keys(Chosen(store, _find_rows(store, old.ids[places])), layer)
            is_before = _is_before([key[which] for key in keys], [key[left] for key in wanted])
            low[left] = np.where(is_before, middle + 1, low[left])
            high[left] = np.where(is_before, high[left], middle)
    return at


def _find_rows(store: Store, ids: NDArray[np.uint64]) -> Ints:
    """Return the rows of features by their ids."""
    number, kind = np.divmod(ids.astype(np.int64), 10)
    return store.find_eid_rows(number << 2 | kind - 1 + NODE)


def _is_before(ones: list[NDArray[Any]], others: list[NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which keys come before the others, the first of each counting most."""
    is_before = np.zeros(len(ones[0]), np.bool_)
    for one, other in zip(reversed(ones), reversed(others), strict=True):
        is_before = (one < other) | ((one == other) & is_before)
    return is_before


# ---- differences ------------------------------------------------------------------------------


def _compare(old: Table, new: Table, gone: Ints, at: Ints) -> Differences:
    """Return what is drawn otherwise: a feature that is made again is mostly the same one."""
    every = np.arange(len(new))
    # The same is what is equal and lies between the same kept ones.
    ones = _place_digests(old.digest(gone), gone - np.arange(len(gone)))
    others = _place_digests(new.digest(every), at)
    here, there = find_differences(ones, others)
    here, there = gone[here], every[there]
    return Differences(
        np.concatenate([old.boxes(here), new.boxes(there)]),
        np.concatenate([old.minzoom[here], new.minzoom[there]]),
        np.concatenate([old.layers_of(here), new.layers_of(there)]),
    )


def _place_digests(digests: Digests, at: Ints) -> Digests:
    return digests ^ (at.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9))


# ---- writing ----------------------------------------------------------------------------------


class _Merge:
    """Two tables that become one: the old one without some features, new ones in between."""

    def __init__(self, old: Table, new: Table, gone: Ints, at: Ints) -> None:
        self._old, self._new, self._gone = old, new, gone
        self._splice = Splice.of_places(len(old), gone, at)

    def write(self, old_folder: Path, folder: Path, bounds: Bounds, memory_bytes: int) -> None:
        """Write the table."""
        old, new = self._old, self._new
        self._splice.write(folder, "ids", old.ids, new.ids)
        self._splice.write(folder, "minzoom", old.minzoom, new.minzoom)
        self._write_shapes(folder)
        self._write_tags(folder)
        self._write_tree(old_folder, folder, memory_bytes)
        lost = np.bincount(old.layers_of(self._gone), minlength=len(LAYERS))
        counts = np.diff(old.layer_offsets) - lost + np.diff(new.layer_offsets)
        write_info(folder, bounds, counts, old.info.attributes)

    def _parts(self) -> Parts:
        for is_new, first, stop in self._splice.runs:
            yield self._new if is_new else self._old, first, stop

    def _write_shapes(self, folder: Path) -> None:
        rings = [(t.shapes.features, a, b) for t, a, b in self._parts()]
        _write_offsets(folder, "ring_offsets", rings)
        vertices = [
            (t.shapes.rings, int(t.shapes.features[a]), int(t.shapes.features[b]))
            for t, a, b in self._parts()
        ]
        _write_offsets(folder, "vertex_offsets", vertices)
        with ColumnWriter(folder, "xy", np.int32, 2) as writer:
            for (table, _, _), (offsets, a, b) in zip(self._parts(), vertices, strict=True):
                writer.append(table.shapes.xy[int(offsets[a]) : int(offsets[b])])

    def _write_tags(self, folder: Path) -> None:
        tags = [(t.tag_offsets, a, b) for t, a, b in self._parts()]
        _write_offsets(folder, "tag_offsets", tags)
        spans = [(t, int(t.tag_offsets[a]), int(t.tag_offsets[b])) for t, a, b in self._parts()]
        with ColumnWriter(folder, "tag_attribute", np.uint16) as writer:
            for table, a, b in spans:
                writer.append(table.tag_attribute[a:b])
        numbers = self._write_values(folder, spans)
        with ColumnWriter(folder, "tag_value", np.uint32) as writer:
            for table, a, b in spans:
                number = numbers[table is self._new]
                for start in range(a, b, _AT_ONCE):
                    part = table.tag_value[start : min(b, start + _AT_ONCE)]
                    writer.append(part if number is None else number[part])

    def _write_values(
        self, folder: Path, spans: list[tuple[Table, int, int]]
    ) -> list[NDArray[np.uint32] | None]:
        """Write the values in use; return the numbers of those of both, None for the same ones."""
        old, new = self._old, self._new
        count = len(old.values)
        texts = new.values.span(0, len(new.values))
        place = np.array([old.values.find(text, 0, count) for text in texts], np.int64)
        is_known = np.array(
            [p < count and old.values[p] == t for p, t in zip(place.tolist(), texts, strict=True)],
            np.bool_,
        )
        known = place[is_known]
        lost = self._find_lost(known, [span for span in spans if span[0] is old])
        fresh = np.flatnonzero(~is_known)
        splice = Splice.of_places(count, lost, place[fresh] - np.searchsorted(lost, place[fresh]))
        splice.write_ragged(
            folder,
            ("value_bytes", "value_offsets"),
            np.frombuffer(old.values.raw(0, count), np.uint8),
            old.values.offsets,
            *join_heap([texts[i] for i in fresh.tolist()]),
        )
        numbers = np.zeros(count, np.int64)
        splice.write_places(numbers, 0)
        new_numbers = np.zeros(len(texts), np.uint32)
        new_numbers[is_known] = numbers[known]
        new_numbers[fresh] = splice.new_place
        is_same = not len(lost) and not len(fresh)
        return [None if is_same else numbers.astype(np.uint32), new_numbers]

    def _find_lost(self, known: Ints, spans: list[tuple[Table, int, int]]) -> Ints:
        """Return the values of the old table that no feature has now."""
        left = np.zeros(len(self._old.values), np.bool_)
        left[self._old.tags(self._gone)[2]] = True
        left[known] = False
        for _, a, b in spans:
            for start in range(a, b, _AT_ONCE):
                if not left.any():
                    break
                part = self._old.tag_value[start : min(b, start + _AT_ONCE)]
                left[part[left[part]]] = False
        return np.flatnonzero(left)

    def _write_tree(self, old_folder: Path, folder: Path, memory_bytes: int) -> None:
        places = np.full(len(self._old), GONE, np.uint32)
        self._splice.write_places(places, 0)
        merge_rtree(
            old_folder,
            folder,
            "rtree",
            places,
            self._splice.new_place.astype(np.uint32),
            self._new.boxes(np.arange(len(self._new))).astype(np.int32),
            memory_bytes,
        )


def _write_offsets(folder: Path, name: str, runs: list[tuple[NDArray[Any], int, int]]) -> None:
    """Write the offsets of runs that lie one after the other, out of offsets of others."""
    total = sum(int(offsets[b]) - int(offsets[a]) for offsets, a, b in runs)
    kind = np.uint32 if total < 1 << 32 else np.int64
    done = 0
    with ColumnWriter(folder, name, kind) as writer:
        writer.append(np.zeros(1, kind))
        for offsets, a, b in runs:
            shift = done - int(offsets[a])
            for start in range(a, b, _AT_ONCE):
                part = offsets[start + 1 : min(b, start + _AT_ONCE) + 1]
                writer.append(part.astype(np.int64) + shift if shift else part)
            done += int(offsets[b]) - int(offsets[a])
