"""The elements that a value is evaluated over, and what is known of each as a column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import orjson
import shapely

from mapyard.errors import Unsupported
from mapyard.osm.elements import TYPE_NAMES
from mapyard.overpass.osm.derived_columns import remember, shown_boxes
from mapyard.overpass.osm.rowsets import Derived, Mask, Rows, as_rows
from mapyard.overpass.run.columns import Column, Numbers, Shapes, Texts, from_texts
from mapyard.overpass.space.lines import Floats, Ints, line_shapes
from mapyard.overpass.space.sphere import distance_m, unit_vectors
from mapyard.store.reader import E7, Store

AREA_SHIFT: Final = 3_600_000_000


class MemberColumns(NamedTuple):
    """For items that are members: the item they belong to, and what each is there."""

    owner: Ints
    position: Ints
    eid: Ints
    role: Texts
    angle: Floats | None


@dataclass(frozen=True, slots=True)
class Items:
    """Elements in the order rows, areas, deriveds; rows need not be sorted for members."""

    store: Store
    rows: Rows
    areas: Rows
    derived: tuple[Derived, ...]
    members: MemberColumns | None = None

    @property
    def count(self) -> int:
        """Return the number of items."""
        return len(self.rows) + len(self.areas) + len(self.derived)

    @property
    def element_rows(self) -> Rows:
        """Return the rows of elements and areas, an area's being that of its relation."""
        return np.concatenate([self.rows, self.areas]) if len(self.areas) else self.rows


def _padded(items: Items, values: Floats, fill: float) -> Floats:
    """Return values of all element rows, with `fill` for deriveds."""
    if not items.derived:
        return values
    return np.concatenate([values, np.full(len(items.derived), fill)])


def tag_column(items: Items, key: str) -> Texts:
    """Return the value of a tag of each item, empty where missing."""
    kvs = items.store.tag_values(items.element_rows, key)
    distinct, codes = np.unique(kvs, return_inverse=True)
    absent = int(len(distinct) > 0 and distinct[0] < 0)
    values = [""] * absent + items.store.values(distinct[absent:])
    if not items.derived:
        return Texts(codes.reshape(-1), values)
    texts = [values[code] for code in codes.tolist()]
    return from_texts([*texts, *(item.tags.get(key, "") for item in items.derived)])


def has_tag(items: Items, key: str) -> Mask:
    """Return which items have a key."""
    having = items.store.tag_values(items.element_rows, key) >= 0
    return np.concatenate([having, [key in item.tags for item in items.derived]]).astype(np.bool_)


def tag_dicts(items: Items) -> list[dict[str, str]]:
    """Return the tags of each item."""
    texts = items.store.tags_json(items.element_rows)
    return [*(orjson.loads(text) for text in texts), *(dict(d.tags) for d in items.derived)]


def key_lists(items: Items) -> list[list[str]]:
    """Return the keys of each item."""
    return [list(tags) for tags in tag_dicts(items)]


def ids(items: Items) -> Column:
    """Return the ids; an area's is that of its relation and 3,600,000,000."""
    own = items.store.ids[items.rows]
    areas = items.store.ids[items.areas] + AREA_SHIFT
    derived = np.array([item.id for item in items.derived], np.int64)
    return Numbers(np.concatenate([own, areas, derived]).astype(np.float64))


def type_names(items: Items) -> Column:
    """Return the type names."""
    codes = np.concatenate([items.store.types(items.rows), np.full(len(items.areas), 3)])
    values = [*TYPE_NAMES, "area"]
    if not items.derived:
        return Texts(codes, values)
    names = [values[code] for code in codes.tolist()]
    return from_texts([*names, *(item.type_name for item in items.derived)])


def need_metadata(store: Store, what: str) -> None:
    """Raise when the extract holds no versions and timestamps."""
    if not store.has_metadata:
        raise Unsupported(
            f"{what} needs metadata, which this extract does not hold; use an extract with "
            "versions and timestamps",
            details={"statement": what},
        )


def need_users(store: Store, what: str) -> None:
    """Raise when the extract holds no user names."""
    if not store.has_users:
        raise Unsupported(
            f"{what} needs user names, which this extract does not hold; public extracts leave "
            "them out, OSM's own planet file has them",
            details={"statement": what},
        )


def _meta_column(name: str) -> Callable[[Items], Column]:
    def read(items: Items) -> Column:
        need_metadata(items.store, f"{name}()")
        meta = items.store.meta(items.element_rows)
        assert meta is not None
        return Numbers(_padded(items, getattr(meta, name).astype(np.float64), np.nan))

    return read


def timestamps(items: Items) -> Column:
    """Return the times of the last edit in ISO 8601."""
    need_metadata(items.store, "timestamp()")
    meta = items.store.meta(items.element_rows)
    assert meta is not None
    distinct, codes = np.unique(meta.timestamp, return_inverse=True)
    values = [f"{text}Z" for text in np.datetime_as_string(distinct.astype("datetime64[s]"))]
    codes = np.concatenate([codes.reshape(-1), np.full(len(items.derived), len(values))])
    return Texts(codes, [*values, ""])


def user_names(items: Items) -> Column:
    """Return the names of the last editors."""
    need_users(items.store, "user()")
    return _users(items, items.store.users[1])


def user_ids(items: Items) -> Column:
    """Return the ids of the last editors."""
    need_users(items.store, "uid()")
    return _users(items, [str(uid) for uid in items.store.users[0].tolist()])


def _users(items: Items, values: list[str]) -> Column:
    meta = items.store.meta(items.element_rows)
    assert meta is not None
    distinct, codes = np.unique(meta.user, return_inverse=True)
    codes = np.concatenate([codes.reshape(-1), np.full(len(items.derived), len(distinct))])
    return Texts(codes, [*(values[user] for user in distinct.tolist()), ""])


def closedness(items: Items) -> Column:
    """Return 1 for closed ways, 0 for open ones, NaW for what is no way."""
    rows = items.element_rows
    is_way = (rows >= items.store.way_start) & (rows < items.store.relation_start)
    is_way[len(items.rows) :] = False
    codes = np.where(is_way, items.store.is_closed(rows).astype(np.int64), 2)
    codes = np.concatenate([codes, np.full(len(items.derived), 2)])
    return Texts(codes, ["0", "1", "NaW"])


def way_lengths_m(store: Store, ways: Rows) -> Floats:
    """Return the lengths of ways in meters, on the original's sphere."""
    coordinates, offsets = store.way_coordinates(ways)
    if len(coordinates) < 2:
        return np.zeros(len(ways))
    lon, lat = coordinates[:, 0] / E7, coordinates[:, 1] / E7
    pieces = distance_m(lon[:-1], lat[:-1], lon[1:], lat[1:])
    ends = offsets[1:-1]
    ends = ends[(ends > 0) & (ends < len(coordinates))]
    pieces[ends - 1] = 0.0  # from the last node of one way to the first of the next
    total = np.concatenate([[0.0], np.cumsum(np.append(pieces, 0.0))])
    return np.asarray(total[offsets[1:]] - total[offsets[:-1]])


def lengths(items: Items) -> Column:
    """Return the lengths in meters: of ways, and of the member ways of relations."""
    store, rows = items.store, items.element_rows
    result = np.zeros(len(rows))
    is_way = (rows >= store.way_start) & (rows < store.relation_start)
    result[is_way] = way_lengths_m(store, rows[is_way])
    is_relation = np.flatnonzero(rows >= store.relation_start)
    if len(is_relation):
        members = store.members(rows[is_relation])
        ways = (members.row >= store.way_start) & (members.row < store.relation_start)
        distinct = as_rows(members.row[ways])
        each = way_lengths_m(store, distinct)[np.searchsorted(distinct, members.row[ways])]
        result[is_relation] = np.bincount(members.relation[ways], each, minlength=len(is_relation))
    return Numbers(_padded(items, np.round(result, 3), 0.0), decimals=3)


def centers(store: Store, rows: Rows) -> Floats:
    """Return lon, lat of the middle of each element's box, NaN without a position; any order."""
    nodes_or_ways = rows < store.relation_start
    boxes = np.empty((len(rows), 4), np.int64)
    boxes[nodes_or_ways] = store.boxes(rows[nodes_or_ways])
    if not nodes_or_ways.all():
        boxes[~nodes_or_ways] = shown_boxes(store, rows[~nodes_or_ways])
    middle = (boxes[:, :2] + boxes[:, 2:]) / (2 * E7)
    middle[boxes[:, 0] > boxes[:, 2]] = np.nan
    return middle


def _center_column(axis: int) -> Callable[[Items], Column]:
    def read(items: Items) -> Column:
        own = centers(items.store, items.element_rows)[:, axis]
        for item in items.derived:
            box = shapely.bounds(item.geometry) if item.geometry is not None else [np.nan] * 4
            own = np.append(own, (box[axis] + box[axis + 2]) / 2)
        return Numbers(own, decimals=7)

    return read


def geometries(items: Items) -> Column:
    """Return geometries as the language sees them: ways are lines, relations collections."""
    store, rows = items.store, items.element_rows
    shapes = np.full(len(rows), None, np.object_)
    is_node, is_relation = rows < store.way_start, rows >= store.relation_start
    is_way = ~is_node & ~is_relation
    shapes[is_node] = store.geometries(rows[is_node])
    ways = rows[is_way]
    shapes[is_way] = line_shapes(store, ways)
    shapes[is_relation] = store.geometries(rows[is_relation])
    derived = np.array([item.geometry for item in items.derived], np.object_)
    return Shapes(np.concatenate([shapes, derived]) if len(derived) else shapes)


def tag_counts(items: Items) -> Column:
    """Return the numbers of tags."""

    def make() -> Ints:
        store = items.store
        parts = [store.rows_with_key(key) for key in store.keys]
        rows = np.concatenate(parts) if parts else np.empty(0, np.uint32)
        return np.bincount(rows, minlength=store.row_count).astype(np.uint16)

    counts = remember(items.store, "tag counts", make)[items.element_rows]
    derived = [len(item.tags) for item in items.derived]
    return Numbers(np.concatenate([counts, derived]).astype(np.float64))


def member_counts(items: Items, role: str | None = None, *, distinct: bool = False) -> Column:
    """Return the numbers of nodes of ways and of members of relations, in a role if given."""
    store, rows = items.store, items.rows
    counts = np.zeros(items.count)
    ways = np.flatnonzero((rows >= store.way_start) & (rows < store.relation_start))
    if len(ways) and role is None:
        refs, offsets = store.way_nodes(rows[ways])
        owner = np.repeat(np.arange(len(ways)), np.diff(offsets))
        counts[ways] = _count(owner, refs.astype(np.int64), len(ways), distinct)
    relations = np.flatnonzero(rows >= store.relation_start)
    if len(relations):
        members = store.members(rows[relations])
        keep = np.ones(len(members.row), np.bool_)
        if role is not None:
            wanted = store.roles.index(role) if role in store.roles else -1
            keep = members.role == wanted
        counts[relations] = _count(
            members.relation[keep], members.eid[keep], len(relations), distinct
        )
    return Numbers(counts)


def _count(owner: Ints, value: Ints, count: int, distinct: bool) -> Ints:
    if distinct and len(owner):
        order = np.lexsort((value, owner))
        owner, value = owner[order], value[order]
        new = np.append(True, (owner[1:] != owner[:-1]) | (value[1:] != value[:-1]))
        owner = owner[new]
    return np.bincount(owner, minlength=count).astype(np.int64)


def expand_members(items: Items, *, inner_vertices: bool) -> Items:
    """Return one item per node of ways and per member of relations; ways only for vertices."""
    store, rows = items.store, items.rows
    found: list[tuple[Ints, Ints, Ints, Ints, Floats]] = []
    ways = np.flatnonzero((rows >= store.way_start) & (rows < store.relation_start))
    if len(ways):
        refs, offsets = store.way_nodes(rows[ways])
        counts = np.diff(offsets)
        owner = np.repeat(np.arange(len(ways)), counts)
        position = np.arange(len(refs)) - np.repeat(offsets[:-1], counts)
        angle = _angles(store, refs, offsets, owner, position)
        keep = np.ones(len(refs), np.bool_)
        if inner_vertices:
            last = position == counts[owner] - 1
            keep = (position > 0) & (~last | store.is_closed(rows[ways])[owner])
        role = np.full(len(refs), -1, np.int64)
        eid = store.node_ids(refs) * 4
        found.append((ways[owner[keep]], position[keep], eid[keep], role[keep], angle[keep]))
    relations = np.flatnonzero(rows >= store.relation_start)
    if len(relations) and not inner_vertices:
        members = store.members(rows[relations])
        role = members.role.astype(np.int64)
        angle = np.full(len(role), np.nan)
        found.append((relations[members.relation], members.position, members.eid, role, angle))
    if not found:
        none = np.empty(0, np.int64)
        found.append((none, none, none, none, np.empty(0)))
    owner, position, eid, role, angle = (
        np.concatenate(parts) for parts in zip(*found, strict=True)
    )
    roles = Texts(np.where(role < 0, len(store.roles), role), [*store.roles, ""])
    columns = MemberColumns(owner, position + 1, eid, roles, angle)
    return Items(store, rows[owner], items.areas[:0], (), columns)


def _angles(store: Store, refs: Ints, offsets: Ints, owner: Ints, position: Ints) -> Floats:
    """Return the turn at each node of ways in degrees, NaN at open ends and at missing nodes."""
    counts = np.diff(offsets)
    here = np.arange(len(refs))
    is_last = position == counts[owner] - 1
    before = np.where(position > 0, here - 1, here)
    after = np.where(is_last, np.minimum(offsets[owner] + 1, len(refs) - 1), here + 1)
    present = refs < store.node_count
    usable = present & present[before] & present[after] & (position > 0) & (counts[owner] > 1)
    safe = np.where(present, refs, 0)
    vectors = unit_vectors(store.lon[safe] / E7, store.lat[safe] / E7)
    previous, middle, following = vectors[before], vectors, vectors[after]
    incoming, outgoing = np.cross(previous, middle), np.cross(middle, following)
    size = np.linalg.norm(incoming, axis=1) * np.linalg.norm(outgoing, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        product = np.einsum("ij,ij->i", incoming, outgoing) / size
    turn = np.degrees(np.arccos(np.clip(product, -1.0, 1.0)))
    side = np.einsum("ij,ij->i", middle - previous, outgoing)  # > 0: to the right
    return np.where(usable & (size > 1e-20), np.copysign(turn, side), np.nan)


#: Functions of an element without arguments.
ELEMENT_COLUMNS: Final[dict[str, Callable[[Items], Column]]] = {
    "id": ids,
    "type": type_names,
    "version": _meta_column("version"),
    "changeset": _meta_column("changeset"),
    "timestamp": timestamps,
    "user": user_names,
    "uid": user_ids,
    "is_closed": closedness,
    "geom": geometries,
    "length": lengths,
    "lat": _center_column(1),
    "lon": _center_column(0),
    "count_tags": tag_counts,
    "count_members": member_counts,
    "count_distinct_members": lambda items: member_counts(items, distinct=True),
}


def member_column(items: Items, name: str) -> Column:
    """Return pos, mtype, ref, role or angle of items that are members."""
    members = items.members
    assert members is not None
    if name == "pos":
        return Numbers(members.position.astype(np.float64))
    if name == "ref":
        return Numbers((members.eid >> 2).astype(np.float64))
    if name == "mtype":
        return Texts(members.eid & 3, list(TYPE_NAMES))
    if name == "role":
        return members.role
    assert members.angle is not None
    texts = [f"{angle:.3f}" if angle == angle else "" for angle in members.angle.tolist()]
    return from_texts(texts)
