"""Native Overpass JSON, with the members and the order of members of the original.

Written in arrays (see digits.py): what varies in length (tags, node lists, geometries, members) is
made as one text per element and put into slots.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.geo.geojson import write_geometries
from mapyard.osm.elements import TYPE_NAMES
from mapyard.overpass.osm.derived_columns import remember, shown_boxes
from mapyard.overpass.osm.rowsets import Derived, ElementSet, Mask, Rows, as_rows
from mapyard.overpass.parse.syntax import Out
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.run.items import AREA_SHIFT
from mapyard.overpass.space.lines import Ints
from mapyard.overpass.write.clipping import boxes_of_nodes, clipped_relation_boxes, visible_nodes
from mapyard.overpass.write.digits import (
    SLOT,
    Bytes,
    constant,
    degrees,
    either,
    fill,
    integers,
    join_runs,
    one_of,
    only,
    render,
)
from mapyard.overpass.write.ordering import take
from mapyard.store.cache import ByteCache
from mapyard.store.columns import find_place
from mapyard.store.reader import E7, Store
from mapyard.version import __version__

COPYRIGHT = (
    "The data included in this document is from www.openstreetmap.org. "
    "The data is made available under ODbL."
)
SEPARATOR = b",\n"
#: Member lists from this length on are kept as text, up to this many bytes in all.
_LONG_MEMBERS_BYTES: Final = 2_048
_MEMBER_CACHE_BYTES: Final = 32 << 20
_HAS_TAGS = ("body", "tags", "meta")
_HAS_PARTS = ("skel", "body", "meta")
_MEMBER_TYPES = [f'{{"type":"{name}","ref":'.encode() for name in TYPE_NAMES]


#: Texts longer than this do not stand in columns.
_LONG = 32


class Slots(NamedTuple):
    """Texts of varying length for the slots of one column: rows that have one, and the texts."""

    rows: NDArray[np.int64]
    texts: list[bytes]


class Block:
    """Rows of one element type under construction: columns and the texts for their slots."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.columns: list[Bytes] = []
        self.slots: list[Slots] = []

    def add(self, *columns: Bytes | bytes) -> None:
        """Add columns; bytes are a constant."""
        self.columns += [c if isinstance(c, np.ndarray) else constant(c) for c in columns]

    def add_slot(self, has: Mask, before: bytes, texts: list[bytes], after: bytes) -> None:
        """Add a text of varying length, with what stands around it, for rows that have one."""
        self.add(only(constant(before + SLOT + after), has))
        self.slots.append(Slots(np.flatnonzero(has), texts))

    def add_choice(self, codes: NDArray[np.uint32], texts: list[bytes]) -> None:
        """Add a text per code; long ones go through slots, so that columns stay narrow."""
        counts = np.bincount(codes)
        used = np.flatnonzero(counts)
        places = (np.cumsum(counts > 0) - 1)[codes]
        chosen = [texts[code] for code in used.tolist()]
        is_long = np.array([len(text) > _LONG for text in chosen], np.bool_)
        short = [SLOT if long else text for text, long in zip(chosen, is_long, strict=True)]
        self.add(one_of(places, short))
        if is_long.any():
            rows = np.flatnonzero(is_long[places])
            self.slots.append(Slots(rows, [chosen[place] for place in places[rows].tolist()]))

    def write(self) -> bytes:
        """Return the text."""
        text = render(self.columns, self.count)
        if not self.slots:
            return text
        if len(self.slots) == 1:
            return fill(text, self.slots[0].texts)
        # Slots come row by row, and within a row column by column.
        keys = np.concatenate(
            [slots.rows * len(self.slots) + place for place, slots in enumerate(self.slots)]
        )
        texts = [text for slots in self.slots for text in slots.texts]
        return fill(text, [texts[index] for index in np.argsort(keys).tolist()])


def write_head(timestamp: str) -> bytes:
    """Return the document up to its first element."""
    osm3s = {"timestamp_osm_base": timestamp, "timestamp_areas_base": timestamp}
    osm3s["copyright"] = COPYRIGHT
    return b'{"version":0.6,"generator":"Mapyard %b","osm3s":%b,"elements":[\n' % (
        __version__.encode(),
        orjson.dumps(osm3s),
    )


def write_document(
    store: Store, outs: list[tuple[Out, ElementSet]], timestamp: str, budget: Budget
) -> bytes:
    """Return the whole answer."""
    parts: list[bytes | memoryview] = [write_head(timestamp)]
    for out, elements in outs:
        parts += write_out(store, out, elements, budget)
    if len(parts) > 1:
        parts[-1] = memoryview(parts[-1])[: -len(SEPARATOR)]
    return b"".join([*parts, b"\n]}\n"])


def write_out(store: Store, out: Out, elements: ElementSet, budget: Budget) -> list[bytes]:
    """Return what one `out` shows, as runs of elements with a SEPARATOR after each."""
    if out.mode == "count":
        return [orjson.dumps(count_element(store, elements)) + SEPARATOR]
    shown = take(store, out, elements)
    parts = []
    for kind, write in enumerate((_write_nodes, _write_ways, _write_relations)):
        start, stop = store.type_range(kind)
        # Rows in place order are grouped by type too.
        rows = shown.rows[(shown.rows >= start) & (shown.rows < stop)]
        for first in range(0, len(rows), _CHUNK):
            budget.check()
            text = write(store, out, rows[first : first + _CHUNK])
            budget.held_bytes += len(text)
            parts.append(text)
    if len(shown.areas):
        parts.append(_write_areas(store, out, shown.areas))
    parts += [_write_derived(out, item) for item in shown.derived]
    return parts


def read_elements(part: bytes) -> list[dict[str, Any]]:
    """Return the elements of a run from `write_out`."""
    elements: list[dict[str, Any]] = orjson.loads(b"[%b]" % part[: -len(SEPARATOR)])
    return elements


_CHUNK = 50_000


def count_element(store: Store, elements: ElementSet) -> dict[str, Any]:
    """Return the pseudo element of `out count`."""
    edges = find_place(elements.rows, store.way_start, store.relation_start)
    nodes, ways, relations = np.diff([0, *edges.tolist(), len(elements.rows)]).tolist()
    tags = {"nodes": nodes, "ways": ways, "relations": relations}
    if len(elements.areas):
        tags["areas"] = len(elements.areas)
    tags["total"] = len(elements.rows) + len(elements.areas)
    return {"type": "count", "id": 0, "tags": {key: str(value) for key, value in tags.items()}}


def _start(store: Store, out: Out, rows: Rows, type_name: bytes) -> Block:
    block = Block(len(rows))
    block.add(b'{"type":"' + type_name + b'"')
    if out.show_ids:
        block.add(b',"id":', integers(store.ids[rows]))
    return block


def _add_meta(block: Block, store: Store, out: Out, rows: Rows) -> None:
    meta = store.meta(rows) if out.mode == "meta" else None
    if meta is None:
        return
    distinct, codes = np.unique(meta.timestamp, return_inverse=True)
    times = np.datetime_as_string(distinct.astype("datetime64[s]")).astype("S19")
    stamps = times.view(np.uint8).reshape(len(distinct), 19)[codes.reshape(-1)]
    block.add(b',"timestamp":"', stamps, b'Z","version":', integers(meta.version))
    block.add(b',"changeset":', integers(meta.changeset))
    if store.has_users:
        uids, names = store.users
        known = meta.user > 0
        texts = [orjson.dumps(names[user]) for user in meta.user[known].tolist()]
        block.add_slot(known, b',"user":', texts, b"")
        block.add(either(known, b',"uid":'), integers(uids[meta.user]) * known[:, None])


def _finish(block: Block, store: Store, out: Out, rows: Rows) -> bytes:
    if out.mode in _HAS_TAGS:
        has = store.has_tags(rows)
        block.add_slot(has, b',"tags":', store.tags_json(rows[has]) if has.any() else [], b"")
    block.add(b"}" + SEPARATOR)
    return block.write()


def _write_nodes(store: Store, out: Out, rows: Rows) -> bytes:
    block = _start(store, out, rows, b"node")
    if out.mode in _HAS_PARTS or out.geometry != "none":
        lat, lon = store.lat[rows], store.lon[rows]
        placed = lat <= 90 * E7  # files may hold nodes without a valid position
        block.add(only(constant(b',"lat":'), placed), only(degrees(lat), placed))
        block.add(only(constant(b',"lon":'), placed), only(degrees(lon), placed))
    _add_meta(block, store, out, rows)
    return _finish(block, store, out, rows)


def _add_bounds(block: Block, out: Out, boxes: NDArray[np.int32]) -> None:
    """Add the bounds or the center, for rows that have a position."""
    has = boxes[:, 0] <= boxes[:, 2]
    south, west, north, east = (boxes[:, side].astype(np.int64) for side in (1, 0, 3, 2))
    if out.geometry == "none":
        return
    if out.geometry == "center":
        columns = {b',"center":{"lat":': (south + north) // 2, b',"lon":': (west + east) // 2}
    else:
        columns = {
            b',"bounds":{"minlat":': south, b',"minlon":': west,
            b',"maxlat":': north, b',"maxlon":': east,
        }  # fmt: skip
    for name, column in columns.items():
        block.add(only(constant(name), has), only(degrees(column), has))
    block.add(only(constant(b"}"), has))


def _write_ways(store: Store, out: Out, rows: Rows) -> bytes:
    block = _start(store, out, rows, b"way")
    _add_meta(block, store, out, rows)
    if out.mode in _HAS_PARTS or out.geometry == "geom":
        refs, offsets = store.way_nodes(rows)
    boxes = store.boxes(rows)
    geometry: list[bytes] = []
    if out.geometry == "geom":
        visible = visible_nodes(store, refs, offsets, out.box)
        if out.box is not None:
            owner = np.repeat(np.arange(len(rows)), np.diff(offsets))
            boxes = boxes_of_nodes(store, owner[visible], refs[visible], len(rows))
        geometry = _write_positions(store, refs, offsets, visible)
    _add_bounds(block, out, boxes)
    if out.mode in _HAS_PARTS:
        has = np.diff(offsets) > 0
        texts = join_runs([integers(store.node_ids(refs))], _run_ends(offsets))
        block.add_slot(has, b',"nodes":[', texts, b"]")
    if out.geometry == "geom":
        has = np.array([bool(text) for text in geometry], np.bool_)
        block.add_slot(has, b',"geometry":[', [text for text in geometry if text], b"]")
    return _finish(block, store, out, rows)


def _run_ends(offsets: Ints) -> Mask:
    ends = np.zeros(int(offsets[-1]), np.bool_)
    ends[offsets[1:][np.diff(offsets) > 0] - 1] = True
    return ends


def _write_positions(store: Store, refs: Ints, offsets: Ints, visible: Mask) -> list[bytes]:
    """Return for each way its positions, null for invisible ones; empty where none is visible."""
    safe = np.where(visible, refs, 0)
    columns = [
        only(constant(b'{"lat":'), visible), only(degrees(store.lat[safe]), visible),
        only(constant(b',"lon":'), visible), only(degrees(store.lon[safe]), visible),
        constant(b"}") if visible.all() else either(visible, b"}", b"null"),
    ]  # fmt: skip
    texts = join_runs(columns, _run_ends(offsets))
    filled = np.flatnonzero(np.diff(offsets) > 0)
    any_visible = np.logical_or.reduceat(visible, offsets[filled]) if len(filled) else filled
    result = [b""] * (len(offsets) - 1)
    for way, text, has in zip(filled.tolist(), texts, any_visible.tolist(), strict=True):
        if has:
            result[way] = text
    return result


def _write_relations(store: Store, out: Out, rows: Rows) -> bytes:
    block = _start(store, out, rows, b"relation")
    _add_meta(block, store, out, rows)
    if out.geometry == "geom" and out.box is not None:
        boxes = clipped_relation_boxes(store, rows, out.box)
    else:
        boxes = shown_boxes(store, rows)
    _add_bounds(block, out, boxes)
    if out.mode in _HAS_PARTS or out.geometry == "geom":
        if out.geometry == "geom":
            texts, has = _write_members(store, out, rows)
        else:
            texts, has = _plain_members(store, out, rows)
        block.add_slot(has, b',"members":[', texts, b"]")
    return _finish(block, store, out, rows)


def _plain_members(store: Store, out: Out, rows: Rows) -> tuple[list[bytes], Mask]:
    """Return what `_write_members` does; long lists are kept, for they depend on nothing else.

    An area's few large relations are in the answer of every query upwards from there.
    """
    kept: ByteCache[int, bytes] = remember(
        store, "member texts", lambda: ByteCache(_MEMBER_CACHE_BYTES)
    )
    known = [kept.find(row) for row in rows.tolist()]
    asked = np.array([text is None for text in known], np.bool_)
    if not asked.any():
        return [text for text in known if text is not None], np.ones(len(rows), np.bool_)
    texts, filled = _write_members(store, out, rows[asked])
    fresh = iter(texts)
    has = np.ones(len(rows), np.bool_)
    has[asked] = filled
    result = []
    for row, text, is_filled in zip(rows.tolist(), known, has.tolist(), strict=True):
        if text is None and is_filled:
            text = next(fresh)
            if len(text) >= _LONG_MEMBERS_BYTES:
                kept.keep(row, text, len(text))
        if text is not None:
            result.append(text)
    return result, has


def _write_members(store: Store, out: Out, rows: Rows) -> tuple[list[bytes], Mask]:
    """Return the members of relations that have any, and which have."""
    members = store.members(rows)
    count = len(members.row)
    eids = members.eid
    block = Block(count)
    block.add(one_of(eids & 3, _MEMBER_TYPES), integers(eids >> 2), b',"role":')
    block.add_choice(members.role, [orjson.dumps(role) for role in store.roles])
    if out.geometry == "geom":
        is_node = (members.row >= 0) & (members.row < store.way_start)
        shown = is_node
        if out.box is not None:
            shown = is_node.copy()
            shown[is_node] = visible_nodes(
                store, members.row[is_node], np.arange(is_node.sum() + 1), out.box
            )
        safe = np.where(shown, members.row, 0)
        block.add(only(constant(b',"lat":'), shown), only(degrees(store.lat[safe]), shown))
        block.add(only(constant(b',"lon":'), shown), only(degrees(store.lon[safe]), shown))
        is_way = (members.row >= store.way_start) & (members.row < store.relation_start)
        ways = as_rows(members.row[is_way])
        refs, offsets = store.way_nodes(ways)
        visible = visible_nodes(store, refs, offsets, out.box)
        geometry = _write_positions(store, refs, offsets, visible)
        places = np.searchsorted(ways, members.row[is_way]).tolist()
        way_texts = [geometry[place] for place in places]
        has_line = is_way.copy()
        has_line[is_way] = [bool(text) for text in way_texts]
        filled = [text for text in way_texts if text]
        block.add_slot(has_line, b',"geometry":[', filled, b"]")
    ends = np.ones(count, np.bool_)
    ends[:-1] = members.relation[1:] != members.relation[:-1]
    block.add(either(ends, b"}\x02", b"},"))
    has = np.bincount(members.relation, minlength=len(rows)) > 0
    return block.write().split(b"\x02")[:-1], has


def _write_areas(store: Store, out: Out, rows: Rows) -> bytes:
    block = Block(len(rows))
    block.add(b'{"type":"area"')
    if out.show_ids:
        block.add(b',"id":', integers(store.ids[rows] + AREA_SHIFT))
    return _finish(block, store, out, rows)


def _write_derived(out: Out, item: Derived) -> bytes:
    head = b'{"type":' + orjson.dumps(item.type_name)
    if out.show_ids:
        head += b',"id":%d' % item.id
    shape = item.geometry
    if shape is not None and not shape.is_empty:
        if out.geometry == "center":
            west, south, east, north = shape.bounds
            shape = shapely.Point((west + east) / 2, (south + north) / 2)
        elif out.geometry == "bb":
            shape = shapely.box(*shape.bounds)
        head += b',"geometry":' + write_geometries(np.array([shape], np.object_))[0]
    if item.tags and out.mode in _HAS_TAGS:
        head += b',"tags":' + orjson.dumps(item.tags)
    return head + b"}" + SEPARATOR
