"""Geometries of elements, and the relations between elements that geometry implies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import Unsupported
from mapyard.geo.bbox import Bbox
from mapyard.sparql.osm.ids import (
    CENTROID,
    ELEMENT,
    ENVELOPE,
    HULL,
    OBB,
    WKT,
    is_point,
    point_ids,
    point_positions,
)
from mapyard.sparql.osm.predicates import Pairs, Predicate, concat_pairs, of_space
from mapyard.sparql.run.spatial import grow_boxes
from mapyard.sparql.sources.source import Context, Matches, Position
from mapyard.sparql.terms.ids import Ids, make_ids
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7, Store

Shapes = NDArray[np.object_]

_TESTS: Final[dict[str, tuple[Callable[..., Any], str]]] = {
    # relation → (test, the relation with its sides exchanged)
    "sfContains": (shapely.contains, "sfWithin"),
    "sfWithin": (shapely.within, "sfContains"),
    "sfCovers": (shapely.covers, "sfCoveredBy"),
    "sfCoveredBy": (shapely.covered_by, "sfCovers"),
    "sfIntersects": (shapely.intersects, "sfIntersects"),
    "sfEquals": (shapely.equals, "sfEquals"),
    "sfTouches": (shapely.touches, "sfTouches"),
    "sfCrosses": (shapely.crosses, "sfCrosses"),
    "sfOverlaps": (shapely.overlaps, "sfOverlaps"),
}
#: Shape of a geometry id by its space, from the element's geometry.
DERIVED: Final[dict[int, Callable[[Shapes], Any]]] = {
    WKT: lambda shapes: shapes,
    ELEMENT: lambda shapes: shapes,
    CENTROID: shapely.centroid,
    ENVELOPE: shapely.envelope,
    HULL: shapely.convex_hull,
    OBB: shapely.oriented_envelope,
}


def has_geometry(store: Store, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows have a geometry."""
    rows = np.asarray(rows, np.int64)
    if not len(rows) or int(rows.max()) < store.node_count:
        return np.ones(len(rows), np.bool_)
    boxes = store.boxes(rows)
    return np.asarray(boxes[:, 0] <= boxes[:, 2])


def geometry_ids(store: Store, rows: NDArray[Any], space: int = WKT) -> Ids:
    """Return the WKT literals of rows: points of nodes by value, others by row; 0 for none."""
    rows = np.asarray(rows, np.int64)
    node_count = store.node_count
    if not len(rows) or int(rows.max()) < node_count:
        return point_ids(store.lon[rows], store.lat[rows])
    ids = np.where(has_geometry(store, rows), make_ids(space, rows), 0)
    nodes = np.flatnonzero(rows < node_count)
    if len(nodes):
        ids[nodes] = point_ids(store.lon[rows[nodes]], store.lat[rows[nodes]])
    return ids


def shapes_of_ids(store: Store, ids: Ids) -> Shapes | None:
    """Return the shapes of geometries, and of elements; None when no id is any of these."""
    points = is_point(ids)
    result = np.full(len(ids), None, np.object_)
    if points.any():
        lon, lat = point_positions(ids[points])
        result[points] = shapely.points(lon / E7, lat / E7)
        if points.all():
            return result
    found = bool(points.any())
    for space, derive in DERIVED.items():
        index, rows = of_space(ids, space)
        if len(index):
            found = True
            unique, inverse = np.unique(rows, return_inverse=True)
            result[index] = np.asarray(derive(store.geometries(unique)), np.object_)[inverse]
    return result if found or not len(ids) else None


def find_near(store: Store, shape: Any, radius_m: float, listed_only: bool) -> NDArray[np.int64]:
    """Return the sorted rows whose box meets that of a shape grown by a radius."""
    box = grow_boxes(np.array([shape], np.object_), radius_m)[0]
    west, south, east, north = shapely.bounds(box)
    if east - west >= 360.0:
        west, east = -180.0, 180.0
    west = west + 360.0 if west < -180.0 else west
    east = east - 360.0 if east > 180.0 else east
    bbox = Bbox(west, max(south, -90.0), east, min(north, 90.0))
    rows = store.search_box(bbox)
    if not listed_only:
        rows = distinct(rows, store.search_nodes(bbox))
    return rows.astype(np.int64)


class RelationPredicate(Predicate):
    """`ogc:sfContains` and its like between listed elements, found when asked."""

    is_listed = True
    per_subject = 300.0
    per_object = 300.0

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self.total = store.row_count * 10

    def match(self, s: Position, o: Position, context: Context) -> Iterator[Matches]:
        """Yield the pairs of elements that stand in the relation; one side must be bound."""
        if s is None and o is None:
            raise Unsupported(
                f"{self._name} with both sides unbound would compare all elements with all; "
                "bind one side: name an element, or give its tags before"
            )
        if s is not None and o is not None:
            yield self._check_pairs(s, o)
            return
        yield from super().match(s, o, context)

    def count_subject(self, term_id: int, context: Context) -> float:
        """Return about how many elements the index has near an element."""
        _, rows = of_space(np.array([term_id], np.int64), ELEMENT)
        if not len(rows) or not has_geometry(self._store, rows).all():
            return 0.0
        west, south, east, north = (self._store.boxes(rows)[0] / E7).tolist()
        return float(self._store.estimate_box(Bbox(west, south, east, north)))

    def count_object(self, term_id: int, context: Context) -> float:
        """Return about how many elements the index has near an element."""
        return self.count_subject(term_id, context)

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return what the subjects contain, cover, …"""
        return self._find(subjects, self._name, context)

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return what contains, covers, … the objects."""
        return self._find(objects, _TESTS[self._name][1], context)

    def _find(self, ids: Ids, name: str, context: Context) -> Pairs:
        test = _TESTS[name][0]
        index, rows = of_space(ids, ELEMENT)
        shapes = self._store.geometries(rows)
        shapely.prepare(shapes)
        found: list[Pairs] = []
        for place, row, shape in zip(index.tolist(), rows.tolist(), shapes, strict=True):
            context.deadline.check()
            if shape is None or shape.is_empty:
                continue
            near = find_near(self._store, shape, 0.0, listed_only=True)
            near = near[near != row]
            for start in range(0, len(near), 8192):
                context.deadline.check()
                part = near[start : start + 8192]
                held = part[test(shape, self._store.geometries(part))]
                found.append((np.full(len(held), place), make_ids(ELEMENT, held)))
        return concat_pairs(found)

    def _check_pairs(self, s: Position, o: Position) -> Matches:
        test, mirrored = _TESTS[self._name]
        is_array = isinstance(s, np.ndarray) or isinstance(o, np.ndarray)
        a, b = np.broadcast_arrays(np.asarray(s, np.int64), np.asarray(o, np.int64))
        a, b = np.atleast_1d(a), np.atleast_1d(b)
        a_unique, a_index = np.unique(a, return_inverse=True)
        b_unique, b_index = np.unique(b, return_inverse=True)
        a_shapes, b_shapes = self._shapes(a_unique), self._shapes(b_unique)
        candidates = np.flatnonzero(a != b)
        left, right = a_shapes[a_index[candidates]], b_shapes[b_index[candidates]]
        if len(a_unique) <= len(b_unique):
            shapely.prepare(a_shapes)
            holds = test(left, right)
        else:
            shapely.prepare(b_shapes)
            holds = _TESTS[mirrored][0](right, left)
        index = candidates[holds]
        return Matches(len(index), index if is_array else None)

    def _shapes(self, ids: Ids) -> Shapes:
        result = np.full(len(ids), None, np.object_)
        index, rows = of_space(ids, ELEMENT)
        result[index] = self._store.geometries(rows)
        return result
