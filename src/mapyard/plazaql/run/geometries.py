"""Geometries of a query: constructors, and what a set or a variable is as a geometry."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import shapely

from mapyard.errors import InvalidQuery
from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.bbox import Bbox
from mapyard.plazaql.parse.syntax import At
from mapyard.plazaql.plan.check import fail
from mapyard.plazaql.run.values import Elements, Features, Shape
from mapyard.results.shaping import buffer_geometries

MAX_RADIUS_M: Final = 100_000.0


def get_shape(value: Any, at: At, *, area: bool = False) -> Any:
    """Return the geometry of a value; with `area` one that has an inside."""
    if isinstance(value, Shape):
        shape = value.geometry
    elif isinstance(value, Elements | Features):
        shape = value.shape()
        if shape is None:
            raise fail(at, "this set has no geometry: nothing was found", "look at it alone first")
    else:
        raise fail(
            at, "this is not a geometry", 'write point(47.1, 9.5) or boundary(name: "Vaduz")'
        )
    if area and not _has_inside(shape):
        hint = 'give an area: boundary(name: "…"), polygon(…), bbox(…), or .buffer(meters)'
        raise fail(at, "this geometry has no inside", hint)
    return shape


def _has_inside(shape: Any) -> bool:
    parts = shapely.get_parts(shape)
    return len(parts) > 0 and bool((shapely.get_type_id(parts) == 3).all())


def make_point(lat: Any, lng: Any, at: At) -> Shape:
    """Return `point(lat, lng)`."""
    lat, lng = read_number(lat, at, "lat"), read_number(lng, at, "lng")
    if not (abs(lat) <= 90 and abs(lng) <= 180):
        raise fail(at, f"there is no position {lat:g}, {lng:g}",
                   "latitude is within -90 to 90 and comes first")  # fmt: skip
    return Shape(shapely.Point(lng, lat))


def make_line(points: list[Any], at: At) -> Shape:
    """Return `linestring(…)`."""
    return Shape(shapely.LineString(_positions(points, at, 2, "linestring")))


def make_polygon(points: list[Any], at: At) -> Shape:
    """Return `polygon(…)`, closed if it is not."""
    positions = _positions(points, at, 3, "polygon")
    shape = shapely.Polygon(positions)
    if not shapely.is_valid(shape):
        raise fail(at, "this polygon crosses itself", "give its corners in order")
    return Shape(shape)


def make_box(values: list[Any], at: At) -> Bbox:
    """Return `bbox(south, west, north, east)`."""
    south, west, north, east = (
        read_number(value, at, name)
        for value, name in zip(values, ("south", "west", "north", "east"), strict=True)
    )
    if not (-90 <= south <= north <= 90 and abs(west) <= 180 and abs(east) <= 180):
        raise fail(at, "this is not a box", "write bbox(south, west, north, east)")
    return Bbox(west, south, east, north)


def box_shape(box: Bbox) -> Shape:
    """Return the polygon of a box, two where it crosses the antimeridian."""
    parts = [shapely.box(*part) for part in box.split()]
    return Shape(parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts))


def make_circle(center: Any, radius: Any, at: At) -> Shape:
    """Return `circle(center, radius)`."""
    radius_m = read_distance(radius, at, "radius")
    shapes = np.array([get_shape(center, at)], np.object_)
    return Shape(cut_antimeridian(buffer_geometries(shapes, radius_m))[0])


def _positions(points: list[Any], at: At, least: int, name: str) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for value in points:
        shape = value.geometry if isinstance(value, Shape) else None
        if shape is None or shape.geom_type != "Point":
            raise fail(at, f"{name}() takes points", f"write {name}(point(47.1, 9.5), …)")
        found.append((shape.x, shape.y))
    if len(found) < least:
        raise fail(at, f"{name}() takes {least} points or more, got {len(found)}")
    return found


def read_number(value: Any, at: At, name: str) -> float:
    """Return a number; raise InvalidQuery for anything else."""
    if isinstance(value, bool) or not isinstance(value, float):
        raise fail(at, f"{name} must be a number")
    return value


def read_count(value: Any, at: At, name: str, least: int = 0) -> int:
    """Return a whole number."""
    number = read_number(value, at, name)
    if not number.is_integer() or number < least:
        raise fail(at, f"{name} must be a whole number from {least}")
    return int(number)


def read_distance(value: Any, at: At, name: str) -> float:
    """Return a distance in meters."""
    number = read_number(value, at, name)
    if not 0 <= number <= MAX_RADIUS_M:
        raise fail(at, f"{name} must be within 0 to {MAX_RADIUS_M:,.0f} meters")
    return number


__all__ = ["InvalidQuery", "get_shape"]
