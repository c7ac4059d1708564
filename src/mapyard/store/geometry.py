"""Where elements lie: positions, boxes, flags and shapes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.store.arrays import E7, Ints, Rows
from mapyard.store.cache import ByteCache
from mapyard.store.columns import Heap, find_place
from mapyard.store.derive import NO_POSITION
from mapyard.store.flags import AREA, CLOSED, TAINTED
from mapyard.store.packed_heap import PackedHeap
from mapyard.store.packed_shapes import read_shapes
from mapyard.store.relation_lines import LINES_HEAD, LINES_TAIL, RelationLines
from mapyard.store.topology import TopologyColumns

#: Shapes that are kept decoded: bytes of positions, and what each takes besides.
_SHAPE_CACHE_BYTES = 64 << 20
_SHAPE_BYTES = 500
#: Of people's own shapes those from this size on are kept.
_LARGE_WKB_BYTES = 2_048
#: GeoJSON of areas that is kept unpacked.
_JSON_CACHE_BYTES = 16 << 20


class GeometryColumns(TopologyColumns):
    """Nodes and plain ways are their positions; relations are lines of ways or stored as WKB.

    Repaired ways are stored as WKB as well, and so is all that is no point of people's own.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        #: Position of every node row, 1e-7 degree.
        self.lon: NDArray[np.int32] = self._column("lon")
        self.lat: NDArray[np.int32] = self._column("lat")
        #: The same for one node after the other.
        self.lon_view, self.lat_view = memoryview(self.lon), memoryview(self.lat)
        #: Whether there are nodes whose position is off the globe: they have no geometry.
        self.has_unplaced_nodes = bool(self.info.get("nodes_without_position"))
        self._box: NDArray[np.int32] = self._column("box")  # ways and relations
        self._way_flags: NDArray[np.uint8] = self._column("way_flags")
        self._relation_flags: NDArray[np.uint8] = self._column("relation_flags")
        self._way_flag_view = memoryview(self._way_flags)
        self._relation_flag_view = memoryview(self._relation_flags)
        self._geometry_rows: NDArray[np.uint32] = self._column("geometry_rows")
        self._geometry_row_view = memoryview(self._geometry_rows)
        self._stored_way_count = find_place(self._geometry_rows, self.relation_start)
        #: By row.
        self._shape_cache: ByteCache[int, Any] = ByteCache(_SHAPE_CACHE_BYTES)
        #: By relation.
        self._json_cache: ByteCache[int, bytes] = ByteCache(_JSON_CACHE_BYTES)

    def keep_no_shapes(self) -> None:
        """Keep no decoded shapes from here on: a build asks for most of them once."""
        self._shape_cache = ByteCache(0)

    def boxes(self, rows: Rows) -> NDArray[np.int32]:
        """Return (n, 4) boxes x0 y0 x1 y1 in 1e-7 degree; x0 > x1 where there is no geometry."""
        rows = np.asarray(rows, np.int64)
        boxes = np.empty((len(rows), 4), np.int32)
        is_node = rows < self.way_start
        if is_node.any():
            nodes = rows[is_node]
            boxes[is_node, 0] = boxes[is_node, 2] = self.lon[nodes]
            boxes[is_node, 1] = boxes[is_node, 3] = self.lat[nodes]
            if self.has_unplaced_nodes:
                boxes[is_node & (boxes[:, 1] == NO_POSITION), 2:] = -NO_POSITION
        if not is_node.all():
            boxes[~is_node] = self._box.take(rows[~is_node] - self.way_start, axis=0)
        return boxes

    def find_meeting(
        self, rows: Rows, x0: int, y0: int, x1: int, y1: int
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the places in `rows` (any order) whose box meets a box, and which lie inside.

        Edges count. Cheaper than `boxes`: what one column rules out is not looked up in the next.
        """
        is_node = rows < self.way_start
        nodes = np.flatnonzero(is_node)
        if len(nodes):
            x = self.lon.take(rows.take(nodes))
            nodes = nodes[(x >= x0) & (x <= x1)]
            y = self.lat.take(rows.take(nodes))
            nodes = nodes[(y >= y0) & (y <= y1)]
        others = np.flatnonzero(~is_node)
        if not len(others):
            return nodes, np.ones(len(nodes), np.bool_)
        box = self._box.take(rows.take(others) - self.way_start, axis=0)
        meets = np.flatnonzero(
            (box[:, 0] <= x1) & (box[:, 2] >= x0) & (box[:, 1] <= y1) & (box[:, 3] >= y0)
        )
        box, others = box.take(meets, axis=0), others.take(meets)
        inside = (box[:, 0] >= x0) & (box[:, 2] <= x1) & (box[:, 1] >= y0) & (box[:, 3] <= y1)
        if not len(nodes):
            return others, inside
        return np.concatenate([nodes, others]), np.concatenate(
            [np.ones(len(nodes), np.bool_), inside]
        )

    def is_area(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows have a Polygon or MultiPolygon by the area rule."""
        return self._flag(rows, AREA)

    def is_tainted(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows lack members or could not be assembled as they should."""
        return self._flag(rows, TAINTED)

    def is_closed(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows are closed ways."""
        return self._flag(rows, CLOSED)

    def _flag(self, rows: Rows, bit: int) -> NDArray[np.bool_]:
        return (self.flags(rows) & bit) > 0

    def flags(self, rows: Rows) -> NDArray[np.uint8]:
        """Return the flag bits (store/flags.py) of each row; nodes have none."""
        rows = np.asarray(rows, np.int64)
        is_relation = rows >= self.relation_start
        is_way = rows >= self.way_start
        if not is_relation.any():
            if is_way.all():
                return self._way_flags.take(rows - self.way_start)
        else:
            is_way &= ~is_relation
        flags = np.zeros(len(rows), np.uint8)
        flags[is_way] = self._way_flags.take(rows[is_way] - self.way_start)
        flags[is_relation] = self._relation_flags.take(rows[is_relation] - self.relation_start)
        return flags

    def row_flags(self, row: int) -> int:
        """Return the flag bits (store/flags.py) of one row; nodes have none."""
        if row >= self.relation_start:
            flags: int = self._relation_flag_view[row - self.relation_start]
            return flags
        return self._way_flag_view[row - self.way_start] if row >= self.way_start else 0

    def find_way_refs(self, row: int) -> memoryview | None:
        """Return the node rows of a way that is one line or ring of its nodes, else None.

        Rows from node_count on are missing nodes.
        """
        if ways := self._stored_way_count:
            place = bisect_left(self._geometry_row_view, row, 0, ways)
            if place < ways and self._geometry_row_view[place] == row:
                return None
        at, offsets = row - self.way_start, self._way_offset_view
        return self._way_ref_view[offsets[at] : offsets[at + 1]]

    @cached_property
    def _geometry(self) -> Heap:
        if self.is_own:
            return Heap(self._folder, "geometry_wkb")
        return PackedHeap(self._folder, "geometry")

    def _stored_shapes(self, places: Ints) -> NDArray[np.object_]:
        """Decode stored geometries; of people's own, which are all stored, large ones are kept."""
        rows = self._geometry_rows[places]
        if not self.is_own:
            return self._keep_shapes(
                rows, lambda chosen: read_shapes(self._geometry.take(places[chosen]))
            )
        offsets = self._geometry.offsets
        large = offsets[places + 1] - offsets[places] >= _LARGE_WKB_BYTES
        shapes = np.full(len(places), None, np.object_)
        if not large.all():
            shapes[~large] = shapely.from_wkb(self._geometry.take(places[~large]))
        if large.any():
            wanted = places[large]
            shapes[large] = self._keep_shapes(
                rows[large], lambda chosen: shapely.from_wkb(self._geometry.take(wanted[chosen]))
            )
        return shapes

    def _line_shapes(self, rows: Ints) -> NDArray[np.object_]:
        """Shape relations that are lines."""

        def make(chosen: Ints) -> NDArray[np.object_]:
            ways, offsets = self._lines.ways(rows[chosen] - self.relation_start)
            return self._join_lines(ways, np.repeat(np.arange(len(chosen)), np.diff(offsets)))

        return self._keep_shapes(rows, make)

    def _keep_shapes(
        self, rows: Rows, make: Callable[[Ints], NDArray[np.object_]]
    ) -> NDArray[np.object_]:
        """Return kept shapes of rows, and keep those that `make` makes of the others.

        An area's few relations are among the candidates of every query there.
        """
        cache = self._shape_cache
        numbers = rows.tolist()
        shapes = np.empty(len(numbers), np.object_)
        shapes[:] = cache.find_many(numbers)
        missing = np.flatnonzero(shapes == np.array(None))
        if len(missing):
            made = make(missing)
            # GEOS computes envelopes when first asked for: now, before threads share it.
            shapely.bounds(made)
            sizes = shapely.get_num_coordinates(made) * 16 + _SHAPE_BYTES
            for index, shape, size in zip(missing.tolist(), made, sizes.tolist(), strict=True):
                shapes[index] = shape
                cache.keep(numbers[index], shape, size)
        return shapes

    def _join_lines(self, ways: NDArray[np.uint32], owners: Ints) -> NDArray[np.object_]:
        """Return the MultiLineString of each owner's ways."""
        x, y, offsets = self.way_positions(ways)
        lines = shapely.linestrings(
            np.column_stack([x, y]) / E7, indices=np.repeat(np.arange(len(ways)), np.diff(offsets))
        )
        joined: NDArray[np.object_] = shapely.multilinestrings(lines, indices=owners)
        return joined

    def geometries(self, rows: Rows) -> NDArray[np.object_]:
        """Return the shapely geometry of each row in degrees, order kept, None where there is none.

        By the rules of docs/features.md: Point, LineString or Polygon; MultiPolygon,
        MultiLineString or MultiPoint for relations.
        """
        rows = np.asarray(rows, np.int64)
        result = np.full(len(rows), None, np.object_)
        if not len(rows):
            return result
        is_node = rows < self.way_start
        if is_node.any():
            nodes = rows[is_node]
            result[is_node] = shapely.points(self.lon[nodes] / E7, self.lat[nodes] / E7)
            if self.has_unplaced_nodes:
                result[np.flatnonzero(is_node)[self.lat[nodes] == NO_POSITION]] = None
            if is_node.all():
                return result
        stored_rows = self._geometry_rows
        place = np.searchsorted(stored_rows, rows.astype(np.uint32))
        place[place == len(stored_rows)] = 0
        stored = ~is_node
        if len(stored_rows):
            stored &= stored_rows[place] == rows
            if stored.any():
                result[stored] = self._stored_shapes(place[stored])
        else:
            stored[:] = False
        rest = ~is_node & ~stored
        is_relation = rows >= self.relation_start
        plain = np.flatnonzero(rest & ~is_relation)
        if len(plain):
            result[plain] = self._way_shapes(rows[plain])
        if not self.is_own and is_relation.any():
            lines = np.flatnonzero(rest & is_relation)
            lines = lines[self._lines.has_lines(rows[lines] - self.relation_start)]
            if len(lines):
                result[lines] = self._line_shapes(rows[lines])
        return result

    def shape_bytes(self, rows: Rows) -> Ints:
        """Return the bytes of each row's stored shape, 0 where it is made of its nodes."""
        sizes = np.zeros(len(rows), np.int64)
        stored = np.flatnonzero(self.has_stored_shape(rows))
        if len(stored):
            places = self._geometry_rows.searchsorted(np.asarray(rows)[stored].astype(np.uint32))
            offsets = self._geometry.offsets
            sizes[stored] = offsets[places + 1].astype(np.int64) - offsets[places]
        return sizes

    @cached_property
    def _relation_json(self) -> Heap:
        return (Heap if self.is_own else PackedHeap)(self._folder, "relation_json")

    @cached_property
    def _lines(self) -> RelationLines:
        return RelationLines(self._folder)

    def relation_geometries_json(self, rows: Rows) -> list[bytes]:
        """Return the GeoJSON geometry of relations as text: 7 decimals, wound, `null` for none."""
        texts, lines = self.relation_bodies(rows)
        for place, text in lines.items():
            texts[place] = b"".join([LINES_HEAD, text, LINES_TAIL])
        return texts

    def relation_geometry_json(self, row: int) -> bytes:
        """Return the same of one relation."""
        return self.relation_geometries_json(np.array([row]))[0]

    def relation_bodies(self, rows: Rows) -> tuple[list[bytes], dict[int, memoryview]]:
        """Return the same texts, but of those that are lines only the lines, by their place.

        They belong between LINES_HEAD and LINES_TAIL. That saves a copy of what is large.
        """
        relations = np.asarray(rows, np.int64) - self.relation_start
        if self.is_own:
            return self._relation_json.take(relations), {}
        has_lines = self._lines.has_lines(relations)
        places = np.flatnonzero(has_lines).tolist()
        texts = [b"null"] * len(relations)
        stored = np.flatnonzero(~has_lines).tolist()
        numbers = relations[stored].tolist()
        for place, number, text in zip(
            stored, numbers, self._json_cache.find_many(numbers), strict=True
        ):
            texts[place] = self._unpack_json(number) if text is None else text
        return texts, dict(zip(places, self._lines.texts(relations[places]), strict=True))

    def _unpack_json(self, relation: int) -> bytes:
        text = self._relation_json[relation] or b"null"
        self._json_cache.keep(relation, text, len(text))
        return text

    def _way_shapes(self, rows: Ints) -> NDArray[np.object_]:
        """Shape ways from their nodes; those that needed more than this are stored as WKB."""
        refs, offsets = self.way_nodes(rows)
        present = refs < self.node_count
        owners = np.repeat(np.arange(len(rows)), np.diff(offsets))
        if not present.all():
            refs, owners = refs[present], owners[present]
        counts = np.bincount(owners, minlength=len(rows))
        coordinates = np.column_stack([self.lon[refs], self.lat[refs]]) / E7
        shapes = np.full(len(rows), None, np.object_)
        flags = self._way_flags[rows - self.way_start]
        area = (flags & AREA) > 0
        lines = ~area & (counts >= 2)
        for mask, make in ((lines, shapely.linestrings), (area, shapely.linearrings)):
            if mask.any():
                chosen = mask[owners]
                number = np.cumsum(mask) - 1
                made = make(coordinates[chosen], indices=number[owners[chosen]])
                shapes[mask] = shapely.polygons(made) if make is shapely.linearrings else made
        return shapes

    def has_stored_shape(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows have a shape that is more than their nodes' positions."""
        stored = self._geometry_rows
        if not len(stored) or not len(rows) or rows.max() < stored[0]:
            return np.zeros(len(rows), np.bool_)
        rows = np.asarray(rows).astype(np.uint32)
        place = stored.searchsorted(rows)
        place[place == len(stored)] = 0
        found: NDArray[np.bool_] = stored[place] == rows
        return found

    def way_coordinates(self, rows: Rows) -> tuple[NDArray[np.int32], Ints]:
        """Return the present nodes of ways: (n, 2) lon, lat in 1e-7 degree, and offsets."""
        x, y, offsets = self.way_positions(rows)
        return np.column_stack([x, y]), offsets

    def way_positions(self, rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints]:
        """Return the same with lon and lat apart."""
        refs, offsets = self.way_nodes(rows)
        if len(refs) and refs.max() >= self.node_count:
            present = refs < self.node_count
            kept = np.concatenate([[0], np.cumsum(present)])
            offsets = kept[offsets]
            refs = refs[present]
        return self.lon.take(refs), self.lat.take(refs), offsets
