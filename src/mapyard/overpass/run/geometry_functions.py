"""Functions of geometries: center, hull, trace, pt, lstr, poly and gcat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import shapely
from shapely.geometry.polygon import orient

from mapyard.overpass.run.budget import Budget
from mapyard.overpass.run.columns import Column, Shapes, to_numbers
from mapyard.overpass.space.polygons import refuse_crossings

#: Crossings of the lines of one element that are noded.
MAX_CROSSINGS: Final = 20_000


def _values(column: Column) -> np.ndarray[Any, np.dtype[np.object_]]:
    if isinstance(column, Shapes):
        return column.values
    return np.full(len(column), None, np.object_)


def collect(column: Column) -> Shapes:
    """Return all geometries of a column as one collection; None where there is none."""
    shapes = _values(column)
    shapes = shapes[~shapely.is_missing(shapes)]
    result = np.full(1, None, np.object_)
    if len(shapes):
        result[0] = shapely.geometrycollections(shapes)
    return Shapes(result)


def _center(columns: list[Column], budget: Budget) -> Column:
    """Return the middle of each geometry's box."""
    bounds = shapely.bounds(_values(columns[0]))
    middle = (bounds[:, :2] + bounds[:, 2:]) / 2
    result = np.full(len(bounds), None, np.object_)
    known = ~np.isnan(middle[:, 0])
    result[known] = shapely.points(middle[known])
    return Shapes(result)


def _hull(columns: list[Column], budget: Budget) -> Column:
    return Shapes(np.asarray(shapely.convex_hull(_values(columns[0])), np.object_))


def _trace(columns: list[Column], budget: Budget) -> Column:
    """Return each geometry's lines and points, every piece once, cut where lines meet."""
    result = np.full(len(columns[0]), None, np.object_)
    for index, shape in enumerate(_values(columns[0])):
        if shape is not None:
            refuse_crossings(shape, MAX_CROSSINGS, budget)
            result[index] = _trace_one(shape)
    return Shapes(result)


def _trace_one(shape: shapely.Geometry) -> shapely.Geometry:
    parts = shapely.get_parts(shape)
    while (shapely.get_type_id(parts) >= 4).any():
        parts = shapely.get_parts(parts)
    kinds = shapely.get_type_id(parts)
    lines = np.where(kinds == 3, shapely.boundary(parts), parts)[(kinds >= 1) & (kinds <= 3)]
    traced = [shapely.line_merge(shapely.node(shapely.geometrycollections(lines)))]
    if not len(lines):
        traced = []
    points = shapely.union_all(parts[kinds == 0]) if (kinds == 0).any() else None
    if points is not None:
        traced.append(points)
    flat = shapely.get_parts(np.array(traced, np.object_)) if traced else []
    return shapely.geometrycollections(list(flat))


def _point(columns: list[Column], budget: Budget) -> Column:
    """Return points from latitudes and longitudes."""
    latitude, longitude = to_numbers(columns[0]), to_numbers(columns[1])
    result = np.full(len(latitude), None, np.object_)
    usable = (np.abs(latitude) <= 90) & (np.abs(longitude) <= 180)
    result[usable] = shapely.points(longitude[usable], latitude[usable])
    return Shapes(result)


def _line(columns: list[Column], budget: Budget) -> Column:
    """Return lines through the points of the arguments, None where one is no point."""
    rows = np.stack([_values(column) for column in columns], axis=1)
    result = np.full(len(rows), None, np.object_)
    usable = (shapely.get_type_id(rows) == 0).all(axis=1)
    for index in np.flatnonzero(usable).tolist():
        result[index] = shapely.linestrings(shapely.get_coordinates(rows[index]))
    return Shapes(result)


def _polygon(columns: list[Column], budget: Budget) -> Column:
    """Return areas bounded by the lines of the arguments, None where they close no ring."""
    rows = np.stack([_values(column) for column in columns], axis=1)
    result = np.full(len(rows), None, np.object_)
    for index, lines in enumerate(rows):
        usable = lines[shapely.get_type_id(lines) == 1]
        if not len(usable):
            continue
        refuse_crossings(shapely.geometrycollections(usable), MAX_CROSSINGS, budget)
        made = shapely.polygonize(
            np.asarray(shapely.get_parts(shapely.node(shapely.geometrycollections(usable))))
        )
        areas = [orient(part) for part in shapely.get_parts(made)]
        if areas:
            result[index] = areas[0] if len(areas) == 1 else shapely.multipolygons(areas)
    return Shapes(result)


FUNCTIONS: Final[dict[str, Callable[[list[Column], Budget], Column]]] = {
    "center": _center, "hull": _hull, "trace": _trace, "pt": _point, "lstr": _line,
    "poly": _polygon,
}  # fmt: skip
