"""Areas: relations of type multipolygon or boundary, and closed ways, always of this dataset.

The original prepares areas only now and then, and only of relations with a name. Here every
relation that is an area is one; ways are areas where they are closed, as there.
"""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.osm.elements import RELATION, WAY
from mapyard.overpass.osm.derived_columns import area_relations
from mapyard.overpass.osm.rowsets import (
    ElementSet,
    Rows,
    as_rows,
    intersect,
    split_types,
    unite,
)
from mapyard.overpass.parse.syntax import AreaFilter, IdFilter, IsIn, PivotFilter, Query, SetFilter
from mapyard.overpass.run import tagging
from mapyard.overpass.run.items import AREA_SHIFT
from mapyard.overpass.run.state import Run
from mapyard.overpass.space.lines import ring_shapes
from mapyard.overpass.space.polygons import Shapes, area_shapes
from mapyard.store.columns import find_place
from mapyard.store.reader import E7, Store

#: Ids of areas of ways in older versions of the original.
WAY_AREA_SHIFT = 2_400_000_000


def closed_ways(store: Store, rows: Rows) -> Rows:
    """Return the ways of a row array that are closed."""
    _, ways, _ = split_types(store, rows)
    return ways[store.is_closed(ways)]


def rows_of_area_ids(store: Store, ids: tuple[int, ...]) -> ElementSet:
    """Return the areas with these ids: a relation's and 3.6e9, or a way's and 2.4e9."""
    asked = np.array(ids, np.int64)
    relations = store.find_rows(RELATION, asked[asked >= AREA_SHIFT] - AREA_SHIFT)
    of_ways = (asked >= WAY_AREA_SHIFT) & (asked < AREA_SHIFT)
    ways = store.find_rows(WAY, asked[of_ways] - WAY_AREA_SHIFT)
    return ElementSet(
        rows=closed_ways(store, as_rows(ways)),
        areas=intersect(as_rows(relations), area_relations(store)),
    )


def find_areas(run: Run, query: Query) -> Rows:
    """Return the rows that an `area` query chooses from: those named, else all areas."""
    store = run.store
    named: list[Rows] = []
    for item in query.filters:
        if isinstance(item, IdFilter):
            elements = rows_of_area_ids(store, item.ids)
        elif isinstance(item, SetFilter | PivotFilter):
            elements = run.get(item.source)
        else:
            continue
        named.append(unite([closed_ways(store, elements.rows), elements.areas]))
    if named:
        rows = named[0]
        for other in named[1:]:
            rows = intersect(rows, other)
        return rows
    for item in query.filters:
        if tagging.is_tag_filter(item) and not item.negated:  # type: ignore[union-attr] # a tag filter
            rows = tagging.positive_rows(store, item)  # type: ignore[arg-type] # a tag filter
            return _area_rows(store, rows)
    rows = np.arange(store.way_start, store.row_count, dtype=np.uint32)
    run.budget.check(rows.nbytes * 4)
    return _area_rows(store, rows)


def _area_rows(store: Store, rows: Rows) -> Rows:
    """Return the closed ways and the area relations of a row array."""
    _, _, relations = split_types(store, rows)
    return unite([closed_ways(store, rows), intersect(relations, area_relations(store))])


def resolve_area(run: Run, item: AreaFilter) -> Shapes:
    """Return the shapes of an area filter."""
    store = run.store
    if item.ids:
        elements = rows_of_area_ids(store, item.ids)
        if any(number < WAY_AREA_SHIFT for number in item.ids):
            run.warn(item.at, "area ids are 3600000000 plus the id of a relation")
    else:
        elements = run.get(item.source)
    ways = closed_ways(store, elements.rows)
    if not len(ways) and not len(elements.areas):
        name = f"set .{item.source}" if not item.ids else "id"
        run.warn(item.at, f"the {name} of this (area) holds no area, so nothing is found")
    key = elements.areas.tobytes() + b"|" + ways.tobytes()
    if key not in run.shapes:
        run.budget.check(len(ways) * 500 + len(elements.areas) * 20_000)
        run.shapes[key] = area_shapes(store, elements.areas, ways)
    return run.shapes[key]


def map_to_area(store: Store, elements: ElementSet) -> ElementSet:
    """Return the areas of relations; closed ways and areas stay what they are."""
    _, _, relations = split_types(store, elements.rows)
    return ElementSet(
        rows=closed_ways(store, elements.rows),
        areas=unite([intersect(relations, area_relations(store)), elements.areas]),
    )


def areas_around(run: Run, statement: IsIn) -> ElementSet:
    """Return the areas that hold a point, or any node of a set."""
    store = run.store
    if statement.point is not None:
        latitude, longitude = statement.point
        points = np.rint(np.array([[longitude, latitude]]) * E7).astype(np.int32)
    else:
        nodes, _, _ = split_types(store, run.get(statement.source).rows)
        points = np.column_stack([store.lon[nodes], store.lat[nodes]])
    if not len(points):
        return ElementSet()
    rows = _find_areas_near(run, points)
    tree = shapely.STRtree(shapely.points(points / E7))
    inside = np.zeros(len(rows), np.bool_)
    for start in range(0, len(rows), _CHUNK):
        run.budget.check(points.nbytes * 16)
        _, ways, relations = split_types(store, rows[start : start + _CHUNK])
        shapes = np.concatenate([ring_shapes(store, ways), store.geometries(relations)])
        inside[start + tree.query(shapes, predicate="intersects")[0]] = True
    low = find_place(rows, store.relation_start)
    return ElementSet(rows=rows[:low][inside[:low]], areas=rows[low:][inside[low:]])


#: Points and areas that are looked at in one step.
_CHUNK = 5_000


def _find_areas_near(run: Run, points: NDArray[np.int32]) -> Rows:
    """Return the rows of areas whose box holds any of the points."""
    store = run.store
    found = []
    for start in range(0, len(points), _CHUNK):
        run.budget.check(points.nbytes * 16)
        part = points[start : start + _CHUNK]
        _, rows = store.feature_rtree.search_many(np.hstack([part, part]))
        found.append(_area_rows(store, as_rows(rows)))
    return unite(found)
