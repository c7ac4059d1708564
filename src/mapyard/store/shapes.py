"""Geometry while a store is written: boxes, flags, and what cannot be shaped from nodes alone.

Nodes and plain ways need nothing but their coordinates. Stored as WKB are relations, area ways that
had to be made valid, ways across the antimeridian and ways of which one node is left. Relations are
stored as GeoJSON text besides: the large ones come first in most lists, and to write them anew took
nine tenths of a page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.geojson import write_geometries
from mapyard.osm.area_rule import AREA, NOT_AREA
from mapyard.osm.multipolygon import assemble
from mapyard.store import flags as bit
from mapyard.store.columns import (
    ColumnWriter,
    Heap,
    offsets_of,
    open_column,
    ranges,
    write_column,
    write_heap,
)

Ints = NDArray[np.int64]
Problems = dict[str, list[tuple[str, str]]]
_CHUNK_WAYS = 50_000
_CHUNK_RELATIONS = 2_000
NO_BOX = np.array([2**31 - 1, 2**31 - 1, -(2**31) + 1, -(2**31) + 1], np.int32)
HALF_TURN = 1_800_000_000


class _Source:
    """The columns that shapes are made from."""

    def __init__(self, folder: Path, counts: list[int]) -> None:
        self.nodes, self.ways, self.relations = counts
        self.ids = open_column(folder, "ids")
        self.lon = open_column(folder, "lon")
        self.lat = open_column(folder, "lat")
        self.way_offsets = open_column(folder, "way_offsets")
        self.way_refs = open_column(folder, "way_refs")
        self.member_offsets = open_column(folder, "member_offsets")
        self.member_rows = open_column(folder, "member_rows")
        self.member_eids = open_column(folder, "member_eids")
        self.member_roles = open_column(folder, "member_roles")

    def refs(self, way: int) -> NDArray[np.uint32]:
        """Return the node rows of one way by its index."""
        part: NDArray[np.uint32] = self.way_refs[self.way_offsets[way] : self.way_offsets[way + 1]]
        return part


def write_shapes(folder: Path, counts: list[int], way_bits: NDArray[np.uint8]) -> Problems:
    """Write box, flags and geometry columns; return what could not be assembled, with reasons."""
    source = _Source(folder, counts)
    problems: Problems = {}
    stored: list[tuple[int, bytes]] = []
    with ColumnWriter(folder, "box", np.int32, 4) as boxes:
        flags = np.zeros(source.ways, np.uint8)
        for start in range(0, source.ways, _CHUNK_WAYS):
            stop = min(start + _CHUNK_WAYS, source.ways)
            _shape_ways(source, start, stop, way_bits, flags, boxes, stored, problems)
        write_column(folder, "way_flags", flags)
        _shape_relations(folder, source, boxes, stored, problems)
    write_column(folder, "geometry_rows", np.array([row for row, _ in stored], np.uint32))
    write_heap(folder, "geometry_wkb", [wkb for _, wkb in stored])
    return problems


def _shape_ways(
    source: _Source,
    start: int,
    stop: int,
    way_bits: NDArray[np.uint8],
    flags: NDArray[np.uint8],
    boxes: ColumnWriter,
    stored: list[tuple[int, bytes]],
    problems: Problems,
) -> None:
    offsets = source.way_offsets[start : stop + 1]
    all_refs = source.way_refs[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets)
    count = stop - start
    owners = np.repeat(np.arange(count), lengths)
    present = all_refs < source.nodes
    refs, of = all_refs[present], owners[present]
    counts = np.bincount(of, minlength=count)
    x, y = source.lon[refs], source.lat[refs]
    box = np.tile(NO_BOX, (count, 1))
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = (np.cumsum(counts) - counts)[filled]
        box[filled, 0] = np.minimum.reduceat(x, starts)
        box[filled, 1] = np.minimum.reduceat(y, starts)
        box[filled, 2] = np.maximum.reduceat(x, starts)
        box[filled, 3] = np.maximum.reduceat(y, starts)

    whole = counts == lengths
    firsts = all_refs[np.minimum(offsets[:-1] - offsets[0], max(0, len(all_refs) - 1))]
    lasts = all_refs[offsets[1:] - offsets[0] - 1] if len(all_refs) else firsts
    closed = (lengths >= 4) & (firsts == lasts) if len(all_refs) else np.zeros(count, np.bool_)
    bits = way_bits[start:stop]
    wanted = closed & ((bits & AREA) > 0) & ((bits & NOT_AREA) == 0)
    area = wanted & whole
    tainted = ~whole
    for index in np.flatnonzero(tainted & (counts == 0)).tolist():
        _note(problems, "way without any node", source, source.nodes + start + index, "")
    for index in np.flatnonzero(wanted & ~whole).tolist():
        _note(problems, "area way with missing nodes", source, source.nodes + start + index, "")

    wide = x.astype(np.int64)
    jump = (np.abs(np.diff(wide)) > HALF_TURN) & (of[1:] == of[:-1])
    crossing = np.unique(of[1:][jump])
    special = np.zeros(count, np.bool_)
    special[crossing] = True
    special |= counts == 1

    coordinates = np.column_stack([x, y]) / 1e7
    plain = area & ~special
    if plain.any():
        number = np.cumsum(plain) - 1
        chosen = plain[of]
        rings = shapely.linearrings(coordinates[chosen], indices=number[of[chosen]])
        polygons = shapely.polygons(rings)
        broken = ~shapely.is_valid(polygons)
        for polygon, index in zip(
            polygons[broken], np.flatnonzero(plain)[broken].tolist(), strict=True
        ):
            row = source.nodes + start + index
            repaired = _polygonal(shapely.make_valid(polygon))
            if repaired is None:
                area[index] = False
                tainted[index] = True
                _note(problems, "area way that encloses nothing", source, row, "")
            else:
                stored.append((row, shapely.to_wkb(shapely.orient_polygons(repaired))))
                _note(problems, "area way repaired", source, row, shapely.is_valid_reason(polygon))
    for index in np.flatnonzero(special).tolist():
        line = coordinates[of == index]
        shape = shapely.Point(line[0]) if len(line) == 1 else _unroll(line, bool(area[index]))
        if len(line) > 1:
            box[index, 0], box[index, 2] = -HALF_TURN, HALF_TURN
        stored.append((source.nodes + start + index, shapely.to_wkb(shape)))
    # make_valid and special ways were found in two passes
    stored.sort(key=lambda item: item[0])
    flags[start:stop] = closed * bit.CLOSED + area * bit.AREA + tainted * bit.TAINTED
    boxes.append(box)


def _polygonal(shape: Any) -> Any | None:
    """Return the polygons of a shape as Polygon or MultiPolygon, None without any."""
    parts = [p for p in shapely.get_parts(shapely.get_parts(shape)) if p.geom_type == "Polygon"]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else shapely.multipolygons(parts)


def _unroll(line: NDArray[np.float64], is_area: bool) -> Any:
    """Shape a way across the antimeridian, cut there (RFC 7946 §3.1.9)."""
    unrolled = line.copy()
    unrolled[:, 0] = np.where(line[:, 0] < 0, line[:, 0] + 360, line[:, 0])
    shape = (
        shapely.make_valid(shapely.Polygon(unrolled)) if is_area else shapely.LineString(unrolled)
    )
    west = shapely.intersection(shape, shapely.box(-180, -90, 180, 90))
    east = shapely.intersection(shape, shapely.box(180, -90, 540, 90))
    east = shapely.transform(east, lambda c: c - [360.0, 0.0])
    kind = "Polygon" if is_area else "LineString"
    parts = [p for half in (west, east) for p in shapely.get_parts(half) if p.geom_type == kind]
    return shapely.multipolygons(parts) if is_area else shapely.multilinestrings(parts)


def _note(problems: Problems, kind: str, source: _Source, row: int, reason: str) -> None:
    name = "way" if row < source.nodes + source.ways else "relation"
    problems.setdefault(kind, []).append((f"{name}/{source.ids[row]}", reason))


def _shape_relations(
    folder: Path,
    source: _Source,
    boxes: ColumnWriter,
    stored: list[tuple[int, bytes]],
    problems: Problems,
) -> None:
    flags = np.zeros(source.relations, np.uint8)
    is_area = _area_relations(folder, source)
    roles = Heap(folder, "role_text")
    inner = {i for i in range(len(roles)) if roles[i] == b"inner"}
    children = _Children(source)
    way_stop = source.nodes + source.ways
    lengths: list[Ints] = []
    texts = ColumnWriter(folder, "relation_json_bytes", np.uint8)
    for start in range(0, source.relations, _CHUNK_RELATIONS):
        shapes: list[Any] = []
        for index in range(start, min(start + _CHUNK_RELATIONS, source.relations)):
            part = slice(source.member_offsets[index], source.member_offsets[index + 1])
            rows = source.member_rows[part]
            absent = rows < 0
            ways = rows[(rows >= source.nodes) & (rows < way_stop)] - source.nodes
            refs = [source.refs(way) for way in ways.tolist()]
            cut = [bool((r >= source.nodes).any()) for r in refs]
            if absent.any() or any(cut):
                flags[index] |= bit.TAINTED
            shape = None
            if is_area[index]:
                missing_ring = any(cut) or bool(
                    (
                        absent
                        & ((source.member_eids[part] & 3) == 1)
                        & ~np.isin(source.member_roles[part], list(inner))
                    ).any()
                )
                whole = [r for r, c in zip(refs, cut, strict=True) if not c and len(r) > 1]
                row = way_stop + index
                if missing_ring:
                    reason = "member ways or nodes lie outside the extract"
                elif not whole:
                    reason = "no member ways"
                else:
                    shape, reason = assemble(whole, source.lon, source.lat)
                if shape is None:
                    flags[index] |= bit.TAINTED
                    _note(problems, "area relation not assembled", source, row, reason)
                else:
                    flags[index] |= bit.AREA
            shapes.append(shape if shape is not None else children.shape(index))
        array = np.array(shapes, np.object_)
        box = np.tile(NO_BOX, (len(array), 1))
        having = np.array([s is not None for s in shapes], np.bool_)
        if having.any():
            bounds = shapely.bounds(array[having])
            box[having] = np.rint(bounds * 1e7).astype(np.int32)
            wkbs = shapely.to_wkb(array[having])
            rows_of = way_stop + start + np.flatnonzero(having)
            stored.extend(zip(rows_of.tolist(), wkbs, strict=True))
        boxes.append(box)
        written = write_geometries(array)
        lengths.append(np.fromiter(map(len, written), np.int64, len(written)))
        texts.append(np.frombuffer(b"".join(written), np.uint8))
    texts.close()
    write_column(folder, "relation_json_offsets", offsets_of(np.concatenate([*lengths, []])))
    write_column(folder, "relation_flags", flags)


def _area_relations(folder: Path, source: _Source) -> NDArray[np.bool_]:
    """Return which relations are type=multipolygon or type=boundary."""
    is_area = np.zeros(source.relations, np.bool_)
    keys, values = Heap(folder, "key_text"), Heap(folder, "value_text")
    key = keys.find(b"type", 0, len(keys))
    if key == len(keys) or keys[key] != b"type":
        return is_area
    start, stop = open_column(folder, "key_kv")[key : key + 2].tolist()
    kv_offsets, kv_rows = open_column(folder, "kv_offsets"), open_column(folder, "kv_rows")
    first = source.nodes + source.ways
    for value in (b"boundary", b"multipolygon"):
        kv = values.find(value, start, stop)
        if kv < stop and values[kv] == value:
            rows = kv_rows[kv_offsets[kv] : kv_offsets[kv + 1]]
            is_area[rows[rows >= first] - first] = True
    return is_area


class _Children:
    """Lines or points of relations that are no areas, members of members included."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def shape(self, index: int) -> Any | None:
        """Return the MultiLineString of all member ways, else the MultiPoint, else None."""
        source = self._source
        rows = np.unique(self._expand(index))
        ways = rows[rows >= source.nodes] - source.nodes
        if len(ways):
            lengths = source.way_offsets[ways + 1] - source.way_offsets[ways]
            refs = source.way_refs[ranges(source.way_offsets[ways], lengths)]
            owner = np.repeat(np.arange(len(ways)), lengths)
            present = refs < source.nodes
            refs, owner = refs[present], owner[present]
            counts = np.bincount(owner, minlength=len(ways))
            long_enough = counts[owner] > 1
            if long_enough.any():
                return _lines(source, refs[long_enough], owner[long_enough])
        nodes = rows[rows < source.nodes]
        nodes = nodes[source.lat[nodes] != 2**31 - 1]
        if not len(nodes):
            return None
        return shapely.multipoints(np.column_stack([source.lon[nodes], source.lat[nodes]]) / 1e7)

    def _expand(self, index: int) -> Ints:
        source = self._source
        first = source.nodes + source.ways
        seen, todo, found = {index}, [index], []
        while todo:
            relation = todo.pop()
            part = slice(source.member_offsets[relation], source.member_offsets[relation + 1])
            rows = source.member_rows[part]
            found.append(rows[(rows >= 0) & (rows < first)])
            for child in (rows[rows >= first] - first).tolist():
                if child not in seen:
                    seen.add(child)
                    todo.append(child)
        return np.concatenate(found)


def _lines(source: _Source, refs: NDArray[Any], owner: Ints) -> Any:
    x, y = source.lon[refs].astype(np.int64), source.lat[refs]
    new = np.ones(len(owner), np.bool_)
    new[1:] = owner[1:] != owner[:-1]
    jump = np.zeros(len(owner), np.bool_)
    jump[1:] = (np.abs(np.diff(x)) > HALF_TURN) & ~new[1:]
    coordinates = np.column_stack([x, y]) / 1e7
    if not jump.any():
        return shapely.multilinestrings(
            shapely.linestrings(coordinates, indices=np.cumsum(new) - 1)
        )
    parts: list[Any] = []
    for number in np.unique(owner).tolist():
        line = coordinates[owner == number]
        crosses = bool(jump[owner == number].any())
        parts.extend(
            shapely.get_parts(_unroll(line, False)) if crosses else [shapely.LineString(line)]
        )
    return shapely.multilinestrings(parts)
