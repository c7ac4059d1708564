"""Geometry while a store is written: boxes, flags, and what cannot be shaped from nodes alone.

Nodes and plain ways need nothing but their coordinates. Stored as WKB are relations, area ways that
had to be made valid, ways across the antimeridian and ways of which one node is left. Relations are
kept as GeoJSON text too: they are large, and lists ask for them again and again.

`shape_ways` and `shape_relations` take any set of elements: a build shapes all, in chunks, an
update those that changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.geojson import write_geometries
from mapyard.osm.area_rule import AREA, NOT_AREA
from mapyard.osm.elements import RELATION, WAY
from mapyard.osm.multipolygon import assemble
from mapyard.processes import map_in_processes
from mapyard.store import flags as bit
from mapyard.store.columns import ColumnWriter, Heap, open_column, ranges
from mapyard.store.distinct import distinct
from mapyard.store.frames import Frames
from mapyard.store.heaps import HeapWriter, OffsetsWriter
from mapyard.store.packed_heap import pack
from mapyard.store.packed_shapes import pack_shape
from mapyard.store.relation_lines import write_relation_lines

Ints = NDArray[np.int64]
#: Kind of problem → (element, reason) of each.
Problems = dict[str, list[tuple[str, str]]]
_CHUNK_WAYS = 50_000
_CHUNK_RELATIONS = 2_000
#: From so many chunks on further processes are worth their start.
_LEAST_CHUNKS = 8
NO_BOX = np.array([2**31 - 1, 2**31 - 1, -(2**31) + 1, -(2**31) + 1], np.int32)
HALF_TURN = 1_800_000_000


class Shapes(NamedTuple):
    """Shapes of some ways or relations, one entry per element but for `stored`.

    `stored` are (row, packed shape) sorted by row. A relation has either a text, the packed GeoJSON
    of its geometry, or lines, which are rows of ways.
    """

    boxes: NDArray[np.int32]
    flags: NDArray[np.uint8]
    stored: list[tuple[int, bytes]]
    texts: list[bytes]
    lines: list[NDArray[np.uint32]]


class ShapeSource:
    """The columns that shapes are made from."""

    def __init__(self, folder: Path, counts: list[int]) -> None:
        self.counts = counts
        self.nodes, self.ways, self.relations = counts
        # Plain while a store is built, in frames while one is patched.
        is_plain = (folder / "ids.npy").exists()
        self.ids = open_column(folder, "ids") if is_plain else Frames(folder, "ids")
        self.lon = open_column(folder, "lon")
        self.lat = open_column(folder, "lat")
        self.way_offsets = open_column(folder, "way_offsets")
        self.way_refs = open_column(folder, "way_refs")
        self.member_offsets = open_column(folder, "member_offsets")
        self.member_rows = open_column(folder, "member_rows")
        self.missing_member_eids = open_column(folder, "missing_member_eids")
        self.member_roles = open_column(folder, "member_roles")
        roles = Heap(folder, "role_text")
        self.inner_roles = [i for i in range(len(roles)) if roles[i] == b"inner"]
        self.area_relations = _area_relations(folder, counts)

    def refs(self, way: int) -> NDArray[np.uint32]:
        """Return the node rows of one way by its index."""
        part: NDArray[np.uint32] = self.way_refs[self.way_offsets[way] : self.way_offsets[way + 1]]
        return part

    def refs_of(self, ways: Ints) -> NDArray[np.uint32]:
        """Return the node rows of ways by their indexes, run together."""
        starts = self.way_offsets[ways].astype(np.int64)
        part: NDArray[np.uint32] = self.way_refs[
            ranges(starts, self.way_offsets[ways + 1] - starts)
        ]
        return part

    def members(self, relation: int) -> slice:
        """Return where the members of one relation lie, by its index."""
        return slice(self.member_offsets[relation], self.member_offsets[relation + 1])

    def rows(self, members: slice) -> Ints:
        """Return the rows of members, −1 where absent."""
        rows = self.member_rows[members].astype(np.int64)
        return np.where(rows < sum(self.counts), rows, -1)

    def name_of(self, row: int) -> str:
        """Return the public id of a way or relation."""
        return f"{'way' if row < self.nodes + self.ways else 'relation'}/{self.ids[row]}"


class _Chunk(NamedTuple):
    """Some ways or relations, by their indexes."""

    kind: int
    start: int
    stop: int


def _chunks(counts: list[int]) -> Iterator[_Chunk]:
    for kind, size in ((WAY, _CHUNK_WAYS), (RELATION, _CHUNK_RELATIONS)):
        for start in range(0, counts[kind], size):
            yield _Chunk(kind, start, min(start + size, counts[kind]))


class _Shaper:
    """Shapes chunks, in this process or in another."""

    def __init__(self, folder: Path, counts: list[int]) -> None:
        self._source = ShapeSource(folder, counts)
        self._way_bits = open_column(folder, "way_bits")

    def shape(self, chunk: _Chunk) -> tuple[Shapes, Problems]:
        """Return the shapes of a chunk, and what could not be assembled."""
        problems: Problems = {}
        indexes = np.arange(chunk.start, chunk.stop)
        if chunk.kind == WAY:
            return shape_ways(self._source, indexes, self._way_bits[indexes], problems), problems
        return shape_relations(self._source, indexes, problems), problems


_shaper: _Shaper | None = None


def _open(folder: Path, counts: list[int]) -> None:
    global _shaper
    _shaper = _Shaper(folder, counts)


def _shape(chunk: _Chunk) -> tuple[Shapes, Problems]:
    assert _shaper is not None
    return _shaper.shape(chunk)


def _shape_all(
    folder: Path, counts: list[int], jobs: int
) -> Iterator[tuple[_Chunk, Shapes, Problems]]:
    """Yield the shapes of all chunks in order, made in so many processes where that pays."""
    chunks = list(_chunks(counts))
    if jobs == 1 or len(chunks) < _LEAST_CHUNKS:
        results: Iterator[tuple[Shapes, Problems]] = map(_Shaper(folder, counts).shape, chunks)
    else:
        results = map_in_processes(_shape, chunks, jobs, _open, (folder, counts))
    for chunk, (shapes, problems) in zip(chunks, results, strict=True):
        yield chunk, shapes, problems


def write_shapes(folder: Path, counts: list[int], jobs: int = 1) -> Problems:
    """Write box, flags and geometry columns; return what could not be assembled, with reasons.

    `way_bits`, what the tags of ways say of areas (osm/area_rule), are read and removed. What is
    written is the same for any number of jobs.
    """
    problems: Problems = {}
    stored, texts = (HeapWriter(folder, n) for n in ("geometry", "relation_json"))
    line_counts = OffsetsWriter(folder, "line_offsets")
    with (
        ColumnWriter(folder, "box", np.int32, 4) as boxes,
        ColumnWriter(folder, "way_flags", np.uint8) as way_flags,
        ColumnWriter(folder, "relation_flags", np.uint8) as relation_flags,
        ColumnWriter(folder, "geometry_rows", np.uint32) as stored_rows,
        ColumnWriter(folder, "line_members", np.uint32) as lines,
    ):

        def store(shapes: Shapes) -> None:
            boxes.append(shapes.boxes)
            stored_rows.append(np.array([row for row, _ in shapes.stored], np.uint32))
            stored.append([packed for _, packed in shapes.stored])

        for chunk, shapes, found in _shape_all(folder, counts, jobs):
            for kind, elements in found.items():
                problems.setdefault(kind, []).extend(elements)
            store(shapes)
            if chunk.kind == WAY:
                way_flags.append(shapes.flags)
                continue
            relation_flags.append(shapes.flags)
            texts.append(shapes.texts)
            line_counts.append(np.fromiter(map(len, shapes.lines), np.int64))
            lines.append(np.concatenate([np.empty(0, np.uint32), *shapes.lines]))
    (folder / "way_bits.npy").unlink()
    stored.close()
    texts.close()
    line_counts.close()
    members, offsets = (open_column(folder, name) for name in ("line_members", "line_offsets"))
    write_relation_lines(folder, counts, np.diff(offsets.astype(np.int64)), members)
    for name in ("line_members", "line_offsets"):
        (folder / f"{name}.npy").unlink()
    return problems


def shape_ways(
    source: ShapeSource, ways: Ints, bits: NDArray[np.uint8], problems: Problems
) -> Shapes:
    """Shape ways by their indexes; `bits` is what their tags say of areas (osm/area_rule)."""
    count = len(ways)
    starts = source.way_offsets[ways].astype(np.int64)
    lengths = source.way_offsets[ways + 1] - starts
    all_refs = source.way_refs[ranges(starts, lengths)]
    owners = np.repeat(np.arange(count), lengths)
    present = all_refs < source.nodes
    refs, of = all_refs[present], owners[present]
    counts = np.bincount(of, minlength=count)
    x, y = source.lon[refs], source.lat[refs]
    boxes = _boxes(x, y, counts)

    whole = counts == lengths
    closed = np.zeros(count, np.bool_)
    if len(all_refs):
        ends = np.cumsum(lengths)
        long_enough = lengths >= 4
        firsts = all_refs[(ends - lengths)[long_enough]]
        closed[long_enough] = firsts == all_refs[ends[long_enough] - 1]
    wanted = closed & ((bits & AREA) > 0) & ((bits & NOT_AREA) == 0)
    area = wanted & whole
    tainted = ~whole
    rows = source.nodes + ways
    for row in rows[counts == 0].tolist():
        _note(problems, "way without any node", source, row)
    for row in rows[wanted & ~whole].tolist():
        _note(problems, "area way with missing nodes", source, row)

    jump = (np.abs(np.diff(x.astype(np.int64))) > HALF_TURN) & (of[1:] == of[:-1])
    special = counts == 1
    special[of[1:][jump]] = True
    coordinates = np.column_stack([x, y]) / 1e7
    stored: list[tuple[int, bytes]] = []
    plain = area & ~special
    if plain.any():
        number = np.cumsum(plain) - 1
        chosen = plain[of]
        polygons = shapely.polygons(
            shapely.linearrings(coordinates[chosen], indices=number[of[chosen]])
        )
        broken = ~shapely.is_valid(polygons)
        places = np.flatnonzero(plain)[broken].tolist()
        for polygon, place in zip(polygons[broken], places, strict=True):
            row = int(rows[place])
            # On the grid of stored coordinates, so that a sliver cannot become invalid when the
            # answer is rounded to it.
            repaired = _polygonal(shapely.set_precision(shapely.make_valid(polygon), 1e-7))
            if repaired is None:
                area[place] = False
                tainted[place] = True
                _note(problems, "area way that encloses nothing", source, row)
            else:
                stored.append((row, pack_shape(shapely.orient_polygons(repaired))))
                _note(problems, "area way repaired", source, row, shapely.is_valid_reason(polygon))
    for place in np.flatnonzero(special).tolist():
        line = coordinates[of == place]
        shape = shapely.Point(line[0]) if len(line) == 1 else _unroll(line, bool(area[place]))
        if len(line) > 1:
            boxes[place, 0], boxes[place, 2] = -HALF_TURN, HALF_TURN
        stored.append((int(rows[place]), pack_shape(shape)))
    stored.sort(key=lambda item: item[0])  # repaired and special ones were found apart
    flags = closed * bit.CLOSED + area * bit.AREA + tainted * bit.TAINTED
    return Shapes(boxes, flags.astype(np.uint8), stored, [], [])


def _boxes(x: NDArray[np.int32], y: NDArray[np.int32], counts: Ints) -> NDArray[np.int32]:
    boxes = np.tile(NO_BOX, (len(counts), 1))
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = (np.cumsum(counts) - counts)[filled]
        boxes[filled, 0] = np.minimum.reduceat(x, starts)
        boxes[filled, 1] = np.minimum.reduceat(y, starts)
        boxes[filled, 2] = np.maximum.reduceat(x, starts)
        boxes[filled, 3] = np.maximum.reduceat(y, starts)
    return boxes


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
    shape = shapely.LineString(unrolled)
    if is_area:
        shape = shapely.make_valid(shapely.Polygon(unrolled))
    west = shapely.intersection(shape, shapely.box(-180, -90, 180, 90))
    east = shapely.intersection(shape, shapely.box(180, -90, 540, 90))
    east = shapely.transform(east, lambda c: c - [360.0, 0.0])
    kind = "Polygon" if is_area else "LineString"
    parts = [p for half in (west, east) for p in shapely.get_parts(half) if p.geom_type == kind]
    return shapely.multipolygons(parts) if is_area else shapely.multilinestrings(parts)


def _note(problems: Problems, kind: str, source: ShapeSource, row: int, reason: str = "") -> None:
    problems.setdefault(kind, []).append((source.name_of(row), reason))


def shape_relations(source: ShapeSource, relations: Ints, problems: Problems) -> Shapes:
    """Shape relations by their indexes."""
    flags = np.zeros(len(relations), np.uint8)
    shapes = np.full(len(relations), None, np.object_)
    boxes = np.tile(NO_BOX, (len(relations), 1))
    lines = [np.empty(0, np.uint32)] * len(relations)
    first_row = source.nodes + source.ways
    for place, relation in enumerate(relations.tolist()):
        members = source.members(relation)
        rows = source.rows(members)
        ways = rows[(rows >= source.nodes) & (rows < first_row)] - source.nodes
        is_cut = bool((source.refs_of(ways) >= source.nodes).any())
        if is_cut or (rows < 0).any():
            flags[place] |= bit.TAINTED
        shape = None
        if source.area_relations[relation]:
            refs = [r for r in map(source.refs, ways.tolist()) if len(r) > 1]
            if is_cut or _lacks_outer_way(source, members):
                reason = "member ways or nodes lie outside the extract"
            elif not refs:
                reason = "no member ways"
            else:
                shape, reason = assemble(refs, source.lon, source.lat)
            if shape is None:
                flags[place] |= bit.TAINTED
                row = first_row + relation
                _note(problems, "area relation not assembled", source, row, reason)
            else:
                flags[place] |= bit.AREA
        if shape is None:
            shape = _members_shape(source, relation)
            if isinstance(shape, _Lines):
                lines[place], boxes[place] = shape
                continue
        shapes[place] = shape
    having = shapes != np.array(None)
    stored: list[tuple[int, bytes]] = []
    if having.any():
        boxes[having] = np.rint(shapely.bounds(shapes[having]) * 1e7).astype(np.int32)
        rows = (first_row + relations[having]).tolist()
        stored = list(zip(rows, map(pack_shape, shapes[having]), strict=True))
    texts = [b""] * len(relations)
    for place, text in zip(
        np.flatnonzero(having).tolist(), write_geometries(shapes[having]), strict=True
    ):
        texts[place] = pack(text)
    return Shapes(boxes, flags, stored, texts, lines)


def _lacks_outer_way(source: ShapeSource, members: slice) -> bool:
    """Return whether a member way other than a hole is not in the extract."""
    number = source.member_rows[members].astype(np.int64) - sum(source.counts)
    absent = number >= 0
    if not absent.any():
        return False
    is_way = (source.missing_member_eids[number[absent]] & 3) == WAY
    hole = np.isin(source.member_roles[members][absent], source.inner_roles)
    return bool((is_way & ~hole).any())


def _area_relations(folder: Path, counts: list[int]) -> NDArray[np.bool_]:
    """Return which relations are type=multipolygon or type=boundary."""
    is_area = np.zeros(counts[2], np.bool_)
    keys, values = Heap(folder, "key_text"), Heap(folder, "value_text")
    key = keys.find(b"type", 0, len(keys))
    if key == len(keys) or keys[key] != b"type":
        return is_area
    start, stop = open_column(folder, "key_kv")[key : key + 2].tolist()
    kv_offsets, kv_rows = open_column(folder, "kv_offsets"), open_column(folder, "kv_rows")
    first_row = counts[0] + counts[1]
    for value in (b"boundary", b"multipolygon"):
        kv = values.find(value, start, stop)
        if kv < stop and values[kv] == value:
            rows = kv_rows[kv_offsets[kv] : kv_offsets[kv + 1]]
            is_area[rows[rows >= first_row] - first_row] = True
    return is_area


class _Lines(NamedTuple):
    """A geometry that is the lines of ways, and its box."""

    ways: NDArray[np.uint32]
    box: NDArray[np.int32]


def _members_shape(source: ShapeSource, relation: int) -> Any | None:
    """Return the lines of all member ways, else the MultiPoint, else None.

    Members of members are included. Lines over the antimeridian are a MultiLineString.
    """
    rows = distinct(_expand(source, relation))
    ways = rows[rows >= source.nodes] - source.nodes
    if len(ways):
        starts = source.way_offsets[ways].astype(np.int64)
        lengths = source.way_offsets[ways + 1] - starts
        refs = source.way_refs[ranges(starts, lengths)]
        owner = np.repeat(np.arange(len(ways)), lengths)
        present = refs < source.nodes
        refs, owner = refs[present], owner[present]
        long_enough = np.bincount(owner, minlength=len(ways))[owner] > 1
        if long_enough.any():
            refs, owner = refs[long_enough], owner[long_enough]
            lon, lat = source.lon[refs], source.lat[refs]
            jump = np.abs(np.diff(lon.astype(np.int64))) > HALF_TURN
            if (jump & (owner[1:] == owner[:-1])).any():
                return _lines(source, refs, owner)
            box = np.array([lon.min(), lat.min(), lon.max(), lat.max()], np.int32)
            return _Lines((ways[distinct(owner)] + source.nodes).astype(np.uint32), box)
    nodes = rows[rows < source.nodes]
    nodes = nodes[source.lat[nodes] != 2**31 - 1]
    if not len(nodes):
        return None
    return shapely.multipoints(np.column_stack([source.lon[nodes], source.lat[nodes]]) / 1e7)


def _expand(source: ShapeSource, relation: int) -> Ints:
    """Return the rows of all nodes and ways below a relation, at any depth."""
    first_row = source.nodes + source.ways
    seen, todo, found = {relation}, [relation], []
    while todo:
        rows = source.rows(source.members(todo.pop()))
        found.append(rows[(rows >= 0) & (rows < first_row)])
        for child in (rows[rows >= first_row] - first_row).tolist():
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return np.concatenate(found)


def _lines(source: ShapeSource, refs: NDArray[Any], owner: Ints) -> Any:
    x, y = source.lon[refs].astype(np.int64), source.lat[refs]
    new = np.ones(len(owner), np.bool_)
    new[1:] = owner[1:] != owner[:-1]
    jump = np.zeros(len(owner), np.bool_)
    jump[1:] = (np.abs(np.diff(x)) > HALF_TURN) & ~new[1:]
    coordinates = np.column_stack([x, y]) / 1e7
    parts: list[Any] = []
    for number in distinct(owner).tolist():
        line = coordinates[owner == number]
        crosses = bool(jump[owner == number].any())
        shape = _unroll(line, False) if crosses else shapely.LineString(line)
        parts.extend(shapely.get_parts(shape))
    return shapely.multilinestrings(parts)
