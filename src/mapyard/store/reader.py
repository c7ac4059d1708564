"""The one seam to the feature store: keys, boxes and row arrays in, arrays out.

A row is the small integer of one element; rows are sorted by (type, id), so nodes, ways and
relations are three ranges of rows (see ARCHITECTURE.md). Row arrays are uint32 or int64 and, unless
said otherwise, sorted ascending without doubles. Coordinates are int32 in 1e-7 degree. Nothing here
changes the store; a `Store` may be used by several threads.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox
from mapyard.osm.elements import NODE, RELATION, TYPE_NAMES, WAY
from mapyard.store.cache import ByteCache
from mapyard.store.columns import Heap, open_column, ranges
from mapyard.store.flags import AREA, CLOSED, TAINTED
from mapyard.store.rtree import Rtree

Rows = NDArray[Any]
Ints = NDArray[np.int64]

#: One degree in stored units.
E7 = 10_000_000

#: Stored geometries from this size on are kept decoded, up to this many bytes of WKB in all.
_LARGE_WKB_BYTES = 2_048
_SHAPE_CACHE_BYTES = 64 << 20

EMPTY_ROWS: NDArray[np.uint32] = np.empty(0, np.uint32)


class Ragged(NamedTuple):
    """Runs of values: those of item i are values[offsets[i]:offsets[i + 1]]."""

    values: NDArray[Any]
    offsets: Ints

    def lengths(self) -> Ints:
        """Return the number of values of each item."""
        return np.diff(self.offsets)

    def owners(self) -> Ints:
        """Return, for each value, the index of its item."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths())


class Members(NamedTuple):
    """Members of relations, one entry per member in order.

    `relation` is the index into the asked rows; `row` is −1 where the member is not in the extract;
    `role` indexes Store.roles.
    """

    relation: Ints
    eid: Ints
    row: Ints
    role: NDArray[np.uint32]
    position: Ints


class Meta(NamedTuple):
    """Metadata of elements; timestamps in Unix seconds (0 unknown); user indexes Store.users."""

    version: NDArray[np.uint32]
    timestamp: NDArray[np.uint32]
    changeset: NDArray[np.uint32]
    user: NDArray[np.uint32]


class Store:
    """A dataset's elements, opened from its folder `elements/`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.info: dict[str, Any] = json.loads((folder / "store.json").read_text())
        self.node_count: int = self.info["nodes"]
        self.way_count: int = self.info["ways"]
        self.relation_count: int = self.info["relations"]
        self.way_start = self.node_count
        self.relation_start = self.node_count + self.way_count
        self.row_count = self.relation_start + self.relation_count
        column = self._column
        #: OSM id of every row, int64.
        self.ids: Ints = column("ids")
        #: Position of every node row, 1e-7 degree.
        self.lon: NDArray[np.int32] = column("lon")
        self.lat: NDArray[np.int32] = column("lat")
        self._box: NDArray[np.int32] = column("box")  # ways and relations
        self._way_flags: NDArray[np.uint8] = column("way_flags")
        self._relation_flags: NDArray[np.uint8] = column("relation_flags")
        self._way_offsets: Ints = column("way_offsets")
        self._way_refs: NDArray[np.uint32] = column("way_refs")
        self._tag_rows: NDArray[np.uint32] = column("tag_rows")
        self._tags = Heap(folder, "tag_json")
        self._keys = Heap(folder, "key_text")
        self._values = Heap(folder, "value_text")
        self._key_kv: Ints = column("key_kv")
        self._kv_offsets: Ints = column("kv_offsets")
        self._kv_rows: NDArray[np.uint32] = column("kv_rows")
        self._key_offsets: Ints = column("key_offsets")
        self._key_rows: NDArray[np.uint32] = column("key_rows")
        self._key_kvs: NDArray[np.uint32] = column("key_kvs")
        self._geometry_rows: NDArray[np.uint32] = column("geometry_rows")
        self._shape_cache: ByteCache[int, Any] = ByteCache(_SHAPE_CACHE_BYTES)
        #: Listed rows (ways, relations, tagged nodes) in the order of their eids.
        self.listed: NDArray[np.uint32] = column("listed")

    def _column(self, name: str) -> NDArray[Any]:
        return open_column(self._folder, name)

    # ---- rows, ids, types -------------------------------------------------------------------

    def type_range(self, element_type: int) -> tuple[int, int]:
        """Return the range [start, stop) of rows of a type (NODE, WAY, RELATION)."""
        if element_type == NODE:
            return 0, self.way_start
        if element_type == WAY:
            return self.way_start, self.relation_start
        return self.relation_start, self.row_count

    def types(self, rows: Rows) -> NDArray[np.int64]:
        """Return the element type of each row."""
        rows = np.asarray(rows)
        return (rows >= self.way_start).astype(np.int64) + (rows >= self.relation_start)

    def eids(self, rows: Rows) -> Ints:
        """Return the eid (osm_id * 4 + type) of each row."""
        return self.ids[rows] * 4 + self.types(rows)

    def find_rows(self, element_type: int, ids: NDArray[Any] | list[int]) -> Ints:
        """Return the row of each OSM id of one type, −1 where it is not in the extract."""
        start, stop = self.type_range(element_type)
        wanted = np.asarray(ids, np.int64)
        if start == stop:
            return np.full(len(wanted), -1, np.int64)
        block = self.ids[start:stop]
        place = np.searchsorted(block, wanted)
        place[place == len(block)] = 0
        return np.where(block[place] == wanted, place + start, -1)

    def find_row(self, element_type: int, osm_id: int) -> int:
        """Return the row of one element, or −1."""
        start, stop = self.type_range(element_type)
        if start == stop or not -(2**61) < osm_id < 2**61:
            return -1
        place = start + int(self.ids[start:stop].searchsorted(osm_id))
        return place if place < stop and self.ids[place] == osm_id else -1

    def find_eid_rows(self, eids: NDArray[Any] | list[int]) -> Ints:
        """Return the row of each eid, −1 where absent; order kept."""
        eids = np.asarray(eids, np.int64)
        types, ids = eids & 3, eids >> 2
        rows = np.full(len(eids), -1, np.int64)
        for element_type in (NODE, WAY, RELATION):
            mask = types == element_type
            if mask.any():
                rows[mask] = self.find_rows(element_type, ids[mask])
        return rows

    def sort_by_eid(self, rows: Rows) -> Rows:
        """Return the rows in the order of their eids, the order of feature lists."""
        return rows[np.argsort(self.eids(rows), kind="stable")]

    def name_of(self, row: int) -> str:
        """Return the public id of a row, such as "node/123"."""
        return (
            f"{TYPE_NAMES[(row >= self.way_start) + (row >= self.relation_start)]}/{self.ids[row]}"
        )

    def is_listed(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows a feature list holds: ways, relations and tagged nodes."""
        rows = np.asarray(rows)
        return (rows >= self.way_start) | self.has_tags(rows)

    # ---- tags -------------------------------------------------------------------------------

    @cached_property
    def keys(self) -> list[str]:
        """All tag keys, sorted by their UTF-8 bytes."""
        return [key.decode() for key in self._keys.span(0, len(self._keys))]

    @cached_property
    def _key_index(self) -> dict[str, int]:
        return {key: index for index, key in enumerate(self.keys)}

    def find_key(self, key: str) -> int:
        """Return the index of a key, or −1."""
        return self._key_index.get(key, -1)

    def kv_range(self, key: str) -> tuple[int, int]:
        """Return the range [start, stop) of kv ids of a key; (0, 0) when unknown."""
        index = self.find_key(key)
        return (0, 0) if index < 0 else (int(self._key_kv[index]), int(self._key_kv[index + 1]))

    def find_kv(self, key: str, value: str) -> int:
        """Return the kv id of one key=value, or −1."""
        start, stop = self.kv_range(key)
        text = value.encode()
        place = self._values.find(text, start, stop)
        return place if place < stop and self._values[place] == text else -1

    def kv_keys(self, kvs: NDArray[Any]) -> Ints:
        """Return the key index of each kv id."""
        return np.searchsorted(self._key_kv, kvs, side="right") - 1

    def values(self, kvs: NDArray[Any]) -> list[str]:
        """Return the value text of each kv id, order kept."""
        return [value.decode() for value in self._values.take(np.asarray(kvs, np.int64))]

    def values_of_key(self, key: str) -> list[bytes]:
        """Return the distinct values of a key as UTF-8, in the order of its kv ids; for regexes."""
        return self._values.span(*self.kv_range(key))

    def raw_values_of_key(self, key: str) -> tuple[memoryview, Ints]:
        """Return the same values run together, and their offsets in it."""
        start, stop = self.kv_range(key)
        offsets = self._values.offsets[start : stop + 1]
        return self._values.raw(start, stop), offsets - offsets[:1]

    def find_kv_prefix(self, key: str, prefix: str) -> tuple[int, int]:
        """Return the range of kv ids of a key whose value begins with a text."""
        start, stop = self.kv_range(key)
        text = prefix.encode()
        first = self._values.find(text, start, stop)
        return first, self._values.find(text + b"\xff", first, stop)

    def kv_counts(self, start: int, stop: int) -> Ints:
        """Return the number of elements of each kv id in [start, stop)."""
        return np.diff(self._kv_offsets[start : stop + 1])

    def key_count(self, key: str) -> int:
        """Return the number of elements with a key."""
        index = self.find_key(key)
        return 0 if index < 0 else int(self._key_offsets[index + 1] - self._key_offsets[index])

    def rows_with_kv(self, kv: int) -> NDArray[np.uint32]:
        """Return the sorted rows with one kv id, without a copy; empty for −1."""
        if kv < 0:
            return EMPTY_ROWS
        return self._kv_rows[self._kv_offsets[kv] : self._kv_offsets[kv + 1]]

    def rows_with_tag(self, key: str, value: str) -> NDArray[np.uint32]:
        """Return the sorted rows with key=value."""
        return self.rows_with_kv(self.find_kv(key, value))

    def rows_with_kvs(self, kvs: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the sorted rows with any of the kv ids (which are sorted, without doubles)."""
        kvs = np.asarray(kvs, np.int64)
        if not len(kvs):
            return EMPTY_ROWS
        starts = self._kv_offsets[kvs]
        lengths = self._kv_offsets[kvs + 1] - starts
        rows = self._kv_rows[ranges(starts, lengths)]
        if len(kvs) == 1:
            return rows
        rows.sort()
        # One element has one value per key, so doubles come only from kvs of several keys.
        return rows if self.kv_keys(kvs[:1])[0] == self.kv_keys(kvs[-1:])[0] else np.unique(rows)

    def rows_with_key(self, key: str) -> NDArray[np.uint32]:
        """Return the sorted rows that have a key, without a copy."""
        return self.key_postings(key)[0]

    def key_postings(self, key: str) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the sorted rows that have a key, and the kv id of each; without copies."""
        index = self.find_key(key)
        if index < 0:
            return EMPTY_ROWS, EMPTY_ROWS
        part = slice(self._key_offsets[index], self._key_offsets[index + 1])
        return self._key_rows[part], self._key_kvs[part]

    def tag_values(self, rows: Rows, key: str) -> Ints:
        """Return the kv id of a key for each row (any order), −1 where the row lacks it."""
        having, kvs = self.key_postings(key)
        rows = np.asarray(rows)
        if not len(having):
            return np.full(len(rows), -1, np.int64)
        place = np.searchsorted(having, rows.astype(np.uint32, copy=False))
        place[place == len(having)] = 0
        return np.where(having[place] == rows, kvs[place], np.int64(-1)).astype(np.int64)

    def has_tags(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows have any tag."""
        return self._tag_places(np.asarray(rows))[1]

    def _tag_places(self, rows: Rows) -> tuple[Ints, NDArray[np.bool_]]:
        tagged = self._tag_rows
        if not len(tagged):
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        place = np.searchsorted(tagged, rows.astype(np.uint32, copy=False))
        place[place == len(tagged)] = 0
        return place, tagged[place] == rows

    def tags_json(self, rows: Rows) -> list[bytes]:
        """Return each row's tags as one JSON object in UTF-8, keys sorted; b"{}" without tags."""
        place, has = self._tag_places(np.asarray(rows))
        texts = self._tags.take(place) if has.any() else [b"{}"] * len(place)
        if not has.all():
            texts = [t if h else b"{}" for t, h in zip(texts, has.tolist(), strict=True)]
        return texts

    def row_tags_json(self, row: int) -> bytes:
        """Return `tags_json` of one row, at a tenth of the cost."""
        tagged = self._tag_rows
        place = int(tagged.searchsorted(np.uint32(row)))  # of its type, else numpy copies all
        return self._tags[place] if place < len(tagged) and tagged[place] == row else b"{}"

    def tags(self, row: int) -> dict[str, str]:
        """Return the tags of one row."""
        tags: dict[str, str] = orjson.loads(self.row_tags_json(row))
        return tags

    # ---- metadata ---------------------------------------------------------------------------

    @cached_property
    def _meta(self) -> Meta | None:
        if not self.info["has_metadata"]:
            return None
        return Meta(*(self._column(name) for name in Meta._fields))

    @property
    def has_metadata(self) -> bool:
        """Whether the extract has versions and timestamps."""
        return bool(self.info["has_metadata"])

    @property
    def has_users(self) -> bool:
        """Whether the extract has user names."""
        return bool(self.info["has_users"])

    def meta(self, rows: Rows) -> Meta | None:
        """Return version, timestamp, changeset and user index of each row, or None."""
        meta = self._meta
        return None if meta is None else Meta(*(column[rows] for column in meta))

    @cached_property
    def users(self) -> tuple[Ints, list[str]]:
        """User ids and names by user index; index 0 is "unknown" (id 0, name "")."""
        heap = Heap(self._folder, "user_text")
        return self._column("user_ids"), [name.decode() for name in heap.span(0, len(heap))]

    # ---- topology ---------------------------------------------------------------------------

    def way_nodes(self, rows: Rows) -> Ragged:
        """Return the node rows of ways, in order; values ≥ node_count are missing nodes.

        `node_ids` gives the OSM ids of both kinds.
        """
        index = np.asarray(rows, np.int64) - self.way_start
        starts = self._way_offsets[index]
        lengths = self._way_offsets[index + 1] - starts
        offsets = np.zeros(len(index) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if len(index) == 1:
            return Ragged(self._way_refs[starts[0] : starts[0] + lengths[0]], offsets)
        return Ragged(self._way_refs[ranges(starts, lengths)], offsets)

    @cached_property
    def missing_node_ids(self) -> Ints:
        """OSM ids of nodes that ways refer to and the extract lacks."""
        return self._column("missing_node_ids")

    def node_ids(self, refs: NDArray[Any]) -> Ints:
        """Return the OSM ids of way_nodes values, missing nodes included."""
        missing = refs >= self.node_count
        if not missing.any():
            return self.ids[refs]
        ids = self.ids[np.where(missing, 0, refs)]
        ids[missing] = self.missing_node_ids[refs[missing] - self.node_count]
        return ids

    @cached_property
    def _node_ways(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        return self._column("node_way_offsets"), self._column("node_ways")

    def ways_of_nodes(self, rows: Rows) -> Ragged:
        """Return the way rows that each node is part of, sorted within a node."""
        offsets, ways = self._node_ways
        rows = np.asarray(rows, np.int64)
        starts = offsets[rows].astype(np.int64)
        lengths = offsets[rows + 1] - starts
        out = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=out[1:])
        return Ragged(ways[ranges(starts, lengths)], out)

    @cached_property
    def roles(self) -> list[str]:
        """Texts of member roles by role index."""
        heap = Heap(self._folder, "role_text")
        return [role.decode() for role in heap.span(0, len(heap))]

    @cached_property
    def _members(self) -> tuple[Ints, Ints, NDArray[np.int64], NDArray[np.uint32]]:
        column = self._column
        return (
            column("member_offsets"),
            column("member_eids"),
            column("member_rows"),
            column("member_roles"),
        )

    def members(self, rows: Rows) -> Members:
        """Return the members of relations, in order."""
        offsets, eids, member_rows, roles = self._members
        index = np.asarray(rows, np.int64) - self.relation_start
        starts = offsets[index]
        lengths = offsets[index + 1] - starts
        place = ranges(starts, lengths)
        relation = np.repeat(np.arange(len(index)), lengths)
        position = place - np.repeat(starts, lengths)
        return Members(relation, eids[place], member_rows[place], roles[place], position)

    @cached_property
    def _member_of(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], Ints]:
        return (
            self._column("member_of_rows"),
            self._column("member_of_relations"),
            self._column("member_of_places"),
        )

    def relations_of(self, rows: Rows) -> tuple[Ints, Rows, NDArray[np.uint32]]:
        """Return for sorted rows of any type the relations that hold them.

        Three arrays, one entry per membership: index into `rows`, relation row, role index.
        """
        members, relations, places = self._member_of
        rows = np.asarray(rows).astype(np.uint32, copy=False)
        start = np.searchsorted(members, rows, side="left")
        length = np.searchsorted(members, rows, side="right") - start
        place = ranges(start, length)
        owner = np.repeat(np.arange(len(rows)), length)
        return owner, relations[place], self._members[3][places[place]]

    # ---- geometry ---------------------------------------------------------------------------

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
        rows = np.asarray(rows, np.int64)
        result = np.zeros(len(rows), np.bool_)
        is_relation = rows >= self.relation_start
        is_way = (rows >= self.way_start) & ~is_relation
        if is_way.any():
            result[is_way] = (self._way_flags[rows[is_way] - self.way_start] & bit) > 0
        if is_relation.any():
            flags = self._relation_flags[rows[is_relation] - self.relation_start]
            result[is_relation] = (flags & bit) > 0
        return result

    def row_flags(self, row: int) -> int:
        """Return the flag bits (store/flags.py) of one row; nodes have none."""
        if row >= self.relation_start:
            return int(self._relation_flags[row - self.relation_start])
        return int(self._way_flags[row - self.way_start]) if row >= self.way_start else 0

    def find_way_line(self, row: int) -> NDArray[np.float64] | None:
        """Return the (n, 2) degrees of a way that is one line or ring of its nodes, else None."""
        stored = self._geometry_rows
        place = int(stored.searchsorted(np.uint32(row)))
        if place < len(stored) and stored[place] == row:
            return None
        at = row - self.way_start
        refs = self._way_refs[self._way_offsets[at] : self._way_offsets[at + 1]]
        if len(refs) < 2 or int(refs.max()) >= self.node_count:
            return None
        line = np.empty((len(refs), 2))
        np.divide(self.lon[refs], E7, out=line[:, 0])
        np.divide(self.lat[refs], E7, out=line[:, 1])
        return line

    def boxes(self, rows: Rows) -> NDArray[np.int32]:
        """Return (n, 4) boxes x0 y0 x1 y1 in 1e-7 degree; x0 > x1 where there is no geometry."""
        rows = np.asarray(rows, np.int64)
        boxes = np.empty((len(rows), 4), np.int32)
        is_node = rows < self.way_start
        if is_node.any():
            nodes = rows[is_node]
            boxes[is_node, 0] = boxes[is_node, 2] = self.lon[nodes]
            boxes[is_node, 1] = boxes[is_node, 3] = self.lat[nodes]
        if not is_node.all():
            boxes[~is_node] = self._box[rows[~is_node] - self.way_start]
        return boxes

    @cached_property
    def feature_rtree(self) -> Rtree:
        """R-tree over listed rows that have a geometry."""
        return Rtree(self._folder, "feature_rtree")

    @cached_property
    def node_rtree(self) -> Rtree:
        """R-tree over all nodes, untagged ones included."""
        return Rtree(self._folder, "node_rtree")

    def search_box(self, bbox: Bbox) -> NDArray[np.uint32]:
        """Return the sorted listed rows whose box meets a bbox in degrees (candidates only)."""
        return _search(self.feature_rtree, bbox)

    def estimate_box(self, bbox: Bbox) -> int:
        """Return about how many rows `search_box` would find, rather too many; in microseconds."""
        return sum(self.feature_rtree.estimate(*_units(box)) for box in bbox.split())

    def search_nodes(self, bbox: Bbox) -> NDArray[np.uint32]:
        """Return the sorted rows of all nodes in a bbox in degrees, exactly, edges included."""
        return _search(self.node_rtree, bbox)

    @cached_property
    def _geometry(self) -> Heap:
        return Heap(self._folder, "geometry_wkb")

    def _stored_shapes(self, places: Ints) -> NDArray[np.object_]:
        """Decode stored geometries; large ones are kept, for an area's few large relations are
        among the candidates of every query there."""
        offsets = self._geometry.offsets
        large = offsets[places + 1] - offsets[places] >= _LARGE_WKB_BYTES
        shapes = np.full(len(places), None, np.object_)
        if not large.all():
            shapes[~large] = shapely.from_wkb(self._geometry.take(places[~large]))
        for index in np.flatnonzero(large).tolist():
            place = int(places[index])
            shape = self._shape_cache.find(place)
            if shape is None:
                wkb = self._geometry[place]
                shape = shapely.from_wkb(wkb)
                # GEOS computes envelopes when first asked for: now, before threads share it.
                shapely.bounds(shape)
                self._shape_cache.keep(place, shape, len(wkb))
            shapes[index] = shape
        return shapes

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
        plain = np.flatnonzero(~is_node & ~stored & (rows < self.relation_start))
        if len(plain):
            result[plain] = self._way_shapes(rows[plain])
        return result

    @cached_property
    def _relation_json(self) -> Heap:
        return Heap(self._folder, "relation_json")

    def relation_geometries_json(self, rows: Rows) -> list[bytes]:
        """Return the GeoJSON geometry of relations as text: 7 decimals, wound, `null` for none."""
        return self._relation_json.take(np.asarray(rows, np.int64) - self.relation_start)

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
        if not len(stored):
            return np.zeros(len(rows), np.bool_)
        rows = np.asarray(rows).astype(np.uint32)
        place = stored.searchsorted(rows)
        place[place == len(stored)] = 0
        found: NDArray[np.bool_] = stored[place] == rows
        return found

    def way_coordinates(self, rows: Rows) -> tuple[NDArray[np.int32], Ints]:
        """Return the present nodes of ways: (n, 2) lon, lat in 1e-7 degree, and offsets."""
        refs, offsets = self.way_nodes(rows)
        present = refs < self.node_count
        if not present.all():
            kept = np.concatenate([[0], np.cumsum(present)])
            offsets = kept[offsets]
            refs = refs[present]
        return np.column_stack([self.lon[refs], self.lat[refs]]), offsets


def _units(box: Bbox) -> tuple[int, int, int, int]:
    """Return the stored coordinates that lie in a box in degrees: x0, y0, x1, y1."""
    return (
        int(np.ceil(round(box.west * E7, 3))),
        int(np.ceil(round(box.south * E7, 3))),
        int(np.floor(round(box.east * E7, 3))),
        int(np.floor(round(box.north * E7, 3))),
    )


def _search(tree: Rtree, bbox: Bbox) -> NDArray[np.uint32]:
    """Search a tree with a bbox in degrees, outward rounded; two boxes at the antimeridian."""
    found = [tree.search(*_units(box)) for box in bbox.split()]
    if len(found) == 1:
        return np.sort(found[0])
    return np.unique(np.concatenate(found))


def open_store(folder: Path) -> Store:
    """Open the folder `elements/` of a dataset; about a millisecond, columns are mapped."""
    return Store(folder)
