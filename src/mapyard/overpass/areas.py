"""Areas: relations of type multipolygon or boundary, and closed ways, always of this dataset.

The original prepares areas only now and then, and only of relations with a name. Here every
relation that is an area is one, and every way that is an area.
"""

from __future__ import annotations

import numpy as np
import shapely

from mapyard.osm.elements import RELATION, WAY
from mapyard.overpass import tagging
from mapyard.overpass.boxes import Box
from mapyard.overpass.derived_columns import area_relations
from mapyard.overpass.items import AREA_SHIFT
from mapyard.overpass.polygons import Shapes, area_shapes
from mapyard.overpass.rowsets import (
    ElementSet,
    Rows,
    as_rows,
    intersect,
    split_types,
    unite,
)
from mapyard.overpass.run import Run
from mapyard.overpass.syntax import AreaFilter, IdFilter, IsIn, PivotFilter, Query, SetFilter
from mapyard.store.reader import E7, EMPTY_ROWS, Store

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
            rows = rows[np.searchsorted(rows, store.way_start) :]
            return rows[store.is_area(rows)]
    rows = np.arange(store.way_start, store.row_count, dtype=np.uint32)
    run.budget.check(rows.nbytes * 4)
    return rows[store.is_area(rows)]


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
    run.budget.check(points.nbytes * 16)
    rows = _areas_near(store, points)
    inside = np.zeros(len(rows), np.bool_)
    shapes = np.full(len(rows), None, np.object_)
    low = int(np.searchsorted(rows, store.relation_start))
    shapes[:] = store.geometries(rows)
    for index, shape in enumerate(shapes):
        if not index % 64:
            run.budget.check(rows.nbytes * 64)
        if shape is None:
            continue
        west, south, east, north = shapely.bounds(shape) * E7
        near = (points[:, 0] >= west - 1) & (points[:, 0] <= east + 1)
        near &= (points[:, 1] >= south - 1) & (points[:, 1] <= north + 1)
        if near.any():
            shapely.prepare(shape)
            at = points[near] / E7
            inside[index] = bool(shapely.intersects_xy(shape, at[:, 0], at[:, 1]).any())
    return ElementSet(rows=rows[:low][inside[:low]], areas=rows[low:][inside[low:]])


def _areas_near(store: Store, points: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> Rows:
    """Return the rows of areas whose box holds any of the points."""
    if len(points) == 1:
        x, y = points[0].tolist()
        rows = as_rows(store.feature_rtree.search(*Box(x, y, x, y)))
    else:
        corners = np.concatenate([points.min(axis=0), points.max(axis=0)]).tolist()
        rows = as_rows(store.feature_rtree.search(*Box(*corners)))
    rows = rows[np.searchsorted(rows, store.way_start) :]
    rows = rows[store.is_area(rows)]
    return rows if len(rows) else EMPTY_ROWS
