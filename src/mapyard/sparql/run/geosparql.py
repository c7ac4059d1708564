"""GeoSPARQL functions on arrays of shapes.

Topology (`sf*`) is planar in degrees, as everywhere in this service; lengths, areas and distances
are meters on the sphere. Two-argument `geof:distance` gives kilometers, as QLever does.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import TooLarge
from mapyard.geo.azimuthal import project
from mapyard.geo.crossings import count_crossings
from mapyard.geo.geojson import write_geometries
from mapyard.geo.sphere import EARTH_RADIUS_M, haversine_m
from mapyard.results.shaping import buffer_geometries
from mapyard.sparql.run.expressions import KERNELS, Evaluator
from mapyard.sparql.run.functions import get_text
from mapyard.sparql.run.table import Booleans, Column, Constant, Numbers, Shapes, Value
from mapyard.sparql.terms.ids import POOL, SHIFT
from mapyard.sparql.terms.prefixes import GEOF, QUDT_UNIT, UOM
from mapyard.sparql.terms.terms import GEO, WKT_LITERAL, XSD, Iri, Literal, Term
from mapyard.sparql.terms.values import ExpressionError, find_number

ShapeArray = NDArray[np.object_]
Floats = NDArray[np.float64]

#: Meters of one unit, by the IRIs of OGC and QUDT.
UNITS_M: Final[dict[str, float]] = {
    UOM + "metre": 1.0,
    UOM + "meter": 1.0,
    UOM + "kilometre": 1000.0,
    UOM + "kilometer": 1000.0,
    QUDT_UNIT + "M": 1.0,
    QUDT_UNIT + "KiloM": 1000.0,
    QUDT_UNIT + "MI": 1609.344,
    QUDT_UNIT + "FT": 0.3048,
    QUDT_UNIT + "YD": 0.9144,
}
#: Square meters of one unit.
UNITS_M2: Final[dict[str, float]] = {
    QUDT_UNIT + "M2": 1.0,
    QUDT_UNIT + "KiloM2": 1e6,
    QUDT_UNIT + "HA": 1e4,
    QUDT_UNIT + "MI2": 1609.344**2,
    UOM + "squareMetre": 1.0,
}
#: Function names of topology that hold only where the boxes of both shapes meet.
TOPOLOGY: Final = (
    "sfEquals", "sfIntersects", "sfTouches", "sfCrosses", "sfWithin", "sfContains", "sfOverlaps",
    "sfCovers", "sfCoveredBy",
)  # fmt: skip
_CRS = re.compile(r"\s*<([^>]*)>\s*")
_LON_LAT: Final = ("http://www.opengis.net/def/crs/OGC/1.3/CRS84",)
_LAT_LON: Final = ("http://www.opengis.net/def/crs/EPSG/0/4326",)
_KM_M: Final = 1000.0
#: Positions of one geometry of a query, and crossings of its lines.
MAX_VERTICES: Final = 50_000
MAX_CROSSINGS: Final = 20_000
#: Shapes with fewer positions are never looked at for their crossings.
_LONG: Final = 256
_AREA: Final = 2


def parse_wkt(term: Term) -> Any:
    """Return the shape of a WKT literal (a plain text is read too); raises ExpressionError."""
    text = get_text(term).lexical if _is_text(term) else _wkt_text(term)
    flip = False
    if found := _CRS.match(text):
        if found[1] in _LAT_LON:
            flip = True
        elif found[1] not in _LON_LAT:
            raise ExpressionError
        text = text[found.end() :]
    with np.errstate(invalid="ignore"):
        shape = shapely.from_wkt(text, on_invalid="ignore")
    if shape is None:
        raise ExpressionError
    if flip:
        shape = shapely.transform(shape, lambda c: c[:, ::-1])
    return repair(shape)


def _is_text(term: Term) -> bool:
    return isinstance(term, Literal) and term.datatype == XSD + "string"


def _wkt_text(term: Term) -> str:
    if isinstance(term, Literal) and term.datatype == WKT_LITERAL:
        return term.lexical
    raise ExpressionError


def shapes_of(value: Value, evaluator: Evaluator) -> ShapeArray:
    """Return the shapes of a value; one for a constant, None where it is no geometry."""
    if isinstance(value, Shapes):
        return value.values
    if isinstance(value, Constant):
        cache = evaluator.runtime.made.setdefault("shapes", {})
        if value.term not in cache:
            cache[value.term] = np.array([_parse_or_none(value.term)], np.object_)
        shape: ShapeArray = cache[value.term]
        return shape
    if not isinstance(value, np.ndarray):
        return np.full(len(value), None, np.object_)
    known = evaluator.runtime.source.shapes(value)
    result: ShapeArray = np.full(len(value), None, np.object_) if known is None else known
    in_pool = value >> SHIFT == POOL
    if known is None or in_pool.any():
        cache = evaluator.runtime.made.setdefault("shapes", {})
        own = np.flatnonzero(in_pool)
        for place, key in zip(own.tolist(), value[own].tolist(), strict=True):
            if key not in cache:
                evaluator.runtime.deadline.check()
                term = evaluator.pool.decode_one(key)
                cache[key] = None if term is None else _parse_or_none(term)
            result[place] = cache[key]
    rest = (value != 0) & ~in_pool & ~shapely.is_geometry(result)
    if known is None and rest.any():  # a source that holds its geometries as literals
        unique, inverse = np.unique(value[rest], return_inverse=True)
        parsed = np.array(
            [None if t is None else _parse_or_none(t) for t in evaluator.pool.decode(unique)],
            np.object_,
        )
        result[rest] = parsed[inverse]
    return result


def _parse_or_none(term: Term) -> Any:
    try:
        return parse_wkt(term)
    except ExpressionError:
        return None


def find_constant_shape(value: Value, evaluator: Evaluator) -> Any:
    """Return the one shape of a value without variables, or None."""
    shapes = shapes_of(value, evaluator)
    return shapes[0] if len(shapes) == 1 else None


# Effort and faults -------------------------------------------------------------------------------


def repair(shape: Any) -> Any:
    """Return a shape of a literal; areas that cross themselves are made valid.

    Raises TooLarge for more positions or crossings than one query may have, and ExpressionError
    where the shape has no place on a map.
    """
    count = shapely.get_num_coordinates(shape)
    if count > MAX_VERTICES:
        raise TooLarge(
            f"a geometry of this query has {count:,} positions, at most {MAX_VERTICES:,}; "
            "simplify it",
            details={"limit": MAX_VERTICES, "count": int(count), "unit": "positions"},
        )
    if not np.isfinite(shapely.get_coordinates(shape)).all():
        raise ExpressionError
    if shapely.get_dimensions(shape) < _AREA or shapely.is_valid(shape):
        return shape
    _refuse_crossings(count_crossings(shape, None, MAX_CROSSINGS))
    try:
        return shapely.make_valid(shape, method="structure")
    except shapely.errors.GEOSException:
        raise ExpressionError from None


def _refuse_crossings(crossings: int) -> None:
    if crossings > MAX_CROSSINGS:
        raise TooLarge(
            f"the lines of this query's geometries cross more than {MAX_CROSSINGS:,} times; "
            "simplify them",
            details={"limit": MAX_CROSSINGS, "unit": "crossings"},
        )


def refuse_effort(
    a: ShapeArray, b: ShapeArray | None, args: list[Value], evaluator: Evaluator
) -> None:
    """Raise TooLarge before GEOS is asked for more crossings than it should have to find.

    Shapes of the map are known to be harmless, but for those that the query made.
    """
    if all(isinstance(arg, Shapes) and arg.ids is not None for arg in args[:2]):
        return
    check = evaluator.runtime.deadline.check
    sizes = shapely.get_num_coordinates(a)
    for place in np.flatnonzero(sizes > _LONG).tolist():
        _count_own(a[place], evaluator)
    if b is None:
        return
    others = shapely.get_num_coordinates(b)
    for place in np.flatnonzero(others > _LONG).tolist():
        _count_own(b[place], evaluator)
    sizes, others = np.broadcast_arrays(sizes, others)
    a, b = np.broadcast_arrays(a, b)
    for place in np.flatnonzero(sizes * others > _LONG**2).tolist():
        _refuse_crossings(count_crossings(a[place], b[place], MAX_CROSSINGS, check))


def _count_own(shape: Any, evaluator: Evaluator) -> None:
    """Look at the crossings of a shape with itself, once in a query."""
    looked: dict[int, Any] = evaluator.runtime.made.setdefault("crossings", {})
    if id(shape) not in looked:
        check = evaluator.runtime.deadline.check
        _refuse_crossings(count_crossings(shape, None, MAX_CROSSINGS, check))
        looked[id(shape)] = shape  # kept, so that its id stays its own


def _robust(
    make: Callable[[ShapeArray, ShapeArray], Any], a: ShapeArray, b: ShapeArray
) -> ShapeArray:
    """Return what `make` gives; pairs that GEOS fails on are repaired, or have no result."""
    try:
        return np.asarray(make(a, b), np.object_)
    except shapely.errors.GEOSException:
        pass
    a, b = np.broadcast_arrays(a, b)
    result: ShapeArray = np.full(len(a), None, np.object_)
    for place, pair in enumerate(zip(a, b, strict=True)):
        with contextlib.suppress(shapely.errors.GEOSException):
            try:
                result[place] = make(*pair)
            except shapely.errors.GEOSException:
                fixed = [shapely.make_valid(shape, method="structure") for shape in pair]
                result[place] = make(*fixed)
    return result


# Distances --------------------------------------------------------------------------------------


def distances_m(a: ShapeArray, b: ShapeArray) -> Floats:
    """Return the distance in meters of each pair; one of the arrays may be of length 1.

    Two points: the great circle. Else in the azimuthal plane around the first shape of each pair.
    """
    if len(b) == 1 and len(a) > 1:
        a, b = b, a
    points = (shapely.get_type_id(a) == 0) & (shapely.get_type_id(b) == 0)
    measured = haversine_m(shapely.get_x(a), shapely.get_y(a), shapely.get_x(b), shapely.get_y(b))
    if points.all():
        return measured
    rest = ~points
    measured[rest] = _plane_distances_m(a if len(a) == 1 else a[rest], b[rest])
    return measured


def _plane_distances_m(a: ShapeArray, b: ShapeArray) -> Floats:
    bounds = shapely.bounds(a)
    lon0, lat0 = (bounds[:, 0] + bounds[:, 2]) / 2, (bounds[:, 1] + bounds[:, 3]) / 2
    flat_a = _flatten(a, lon0, lat0)
    if len(a) == 1:
        shapely.prepare(flat_a)
    return np.asarray(shapely.distance(flat_a, _flatten(b, lon0, lat0)), np.float64)


def _flatten(shapes: ShapeArray, lon0: Floats, lat0: Floats) -> ShapeArray:
    coordinates, owner = shapely.get_coordinates(shapes, return_index=True)
    if len(lon0) == len(shapes) and len(lon0) > 1:
        lon0, lat0 = lon0[owner], lat0[owner]
    elif len(lon0) > 1:  # one shape seen from many centers
        shapes = np.repeat(shapes, len(lon0))
        return _flatten(shapes, lon0, lat0)
    plane = project(coordinates[:, 0], coordinates[:, 1], lon0, lat0)
    result: ShapeArray = shapely.set_coordinates(shapes.copy(), plane)
    return result


def areas_m2(shapes: ShapeArray) -> Floats:
    """Return areas on the sphere, by the equal-area cylindrical projection."""

    def flatten(coordinates: Floats) -> Floats:
        x = np.radians(coordinates[:, 0]) * EARTH_RADIUS_M
        return np.column_stack([x, np.sin(np.radians(coordinates[:, 1])) * EARTH_RADIUS_M])

    return np.asarray(shapely.area(shapely.transform(shapes, flatten)), np.float64)


def lengths_m(shapes: ShapeArray) -> Floats:
    """Return lengths on the sphere: of lines, and of the rings of polygons."""
    parts, owners = shapely.get_parts(shapes, return_index=True)
    is_polygon = shapely.get_type_id(parts) == 3
    rings, ring_owners = shapely.get_rings(parts[is_polygon], return_index=True)
    lines = np.concatenate([parts[~is_polygon], rings])
    line_owners = np.concatenate([owners[~is_polygon], owners[is_polygon][ring_owners]])
    coordinates, index = shapely.get_coordinates(lines, return_index=True)
    if len(coordinates) < 2:
        return np.zeros(len(shapes))
    steps = haversine_m(
        coordinates[:-1, 0], coordinates[:-1, 1], coordinates[1:, 0], coordinates[1:, 1]
    )
    steps[index[1:] != index[:-1]] = 0.0
    return np.bincount(line_owners[index[1:]], weights=steps, minlength=len(shapes))


# Kernels ----------------------------------------------------------------------------------------


def _unit(value: Value | None, units: dict[str, float], default: float) -> float:
    if value is None:
        return default
    if isinstance(value, Constant):
        term = value.term
        name = term.value if isinstance(term, Iri) else term[0]
        if name in units:
            return units[name]
    return np.nan


def _full(shapes: ShapeArray, length: int) -> ShapeArray:
    return np.broadcast_to(shapes, (length,)) if len(shapes) != length else shapes


def _spread_numbers(values: Floats, valid: NDArray[np.bool_], length: int) -> Numbers:
    return Numbers(
        np.broadcast_to(np.asarray(values, np.float64), (length,)),
        np.broadcast_to(valid, (length,)),
    )


def _number_argument(value: Value, evaluator: Evaluator, length: int) -> Floats:
    """Return an argument as numbers, NaN where it is none."""
    if isinstance(value, Constant):
        found = find_number(value.term)
        return np.full(length, np.nan if found is None else float(found[0]))
    if isinstance(value, Numbers):
        return np.where(value.valid, value.values, np.nan)
    unique, inverse = np.unique(evaluator.ids(value, length), return_inverse=True)
    numbers = []
    for term in evaluator.pool.decode(unique):
        found = None if term is None else find_number(term)
        numbers.append(np.nan if found is None else float(found[0]))
    return np.array(numbers, np.float64)[inverse]


def _topology(test: Callable[..., Any], mirrored: Callable[..., Any]) -> Any:
    """Make the kernel of a relation; `mirrored` is the same with the arguments exchanged."""

    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        a, b = shapes_of(args[0], evaluator), shapes_of(args[1], evaluator)
        refuse_effort(a, b, args, evaluator)
        # GEOS prepares the first argument: the constant, or whichever is an area.
        if len(b) == 1 and len(a) != 1:
            shapely.prepare(b)
            result = mirrored(b, a)
        elif len(a) == 1:
            shapely.prepare(a)
            result = test(a, b)
        elif bool((shapely.get_dimensions(b) > shapely.get_dimensions(a)).all()):
            result = mirrored(b, a)
        else:
            result = test(a, b)
        valid = shapely.is_geometry(a) & shapely.is_geometry(b)
        return Booleans(np.broadcast_to(result, (length,)), np.broadcast_to(valid, (length,)))

    return kernel


def _measure(
    measure: Callable[[ShapeArray], Floats], default: float, units: dict[str, float]
) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        unit = _unit(args[1] if len(args) > 1 else None, units, default)
        valid = shapely.is_geometry(shapes) & (unit == unit)
        values = np.zeros(len(shapes))
        values[valid] = measure(shapes[valid]) / unit
        return _spread_numbers(values, valid, length)

    return kernel


def _distance(default: float) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        a, b = shapes_of(args[0], evaluator), shapes_of(args[1], evaluator)
        unit = _unit(args[2] if len(args) > 2 else None, UNITS_M, default)
        valid = shapely.is_geometry(a) & shapely.is_geometry(b) & (unit == unit)
        if not valid.any():
            return _spread_numbers(np.zeros(1), np.zeros(1, np.bool_), length)
        if len(a) > 1 and not valid.all():
            a = a[valid]
        if len(b) > 1 and not valid.all():
            b = b[valid]
        values = np.zeros(len(valid))
        values[valid] = distances_m(a, b) / unit
        return _spread_numbers(values, valid, length)

    return kernel


def _shape_function(make: Callable[[ShapeArray], Any]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        result = _robust(lambda a, _: make(a), shapes, shapes)
        return Shapes(_full(result, length))

    return kernel


def _shape_pair(make: Callable[[ShapeArray, ShapeArray], Any]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        a, b = shapes_of(args[0], evaluator), shapes_of(args[1], evaluator)
        refuse_effort(a, b, args, evaluator)
        return Shapes(_full(_robust(make, a, b), length))

    return kernel


def _buffer(default: float) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        unit = _unit(args[2] if len(args) > 2 else None, UNITS_M, default)
        count = 1 if isinstance(args[1], Constant) else length
        radii = _number_argument(args[1], evaluator, count) * unit
        shapes = _full(shapes, max(len(shapes), count))
        radii = np.broadcast_to(radii, (len(shapes),))
        result = np.full(len(shapes), None, np.object_)
        usable = shapely.is_geometry(shapes) & np.isfinite(radii)
        refuse_effort(shapes, None, args, evaluator)
        check = evaluator.runtime.deadline.check
        for radius in np.unique(radii[usable]).tolist():
            chosen = usable & (radii == radius)
            result[chosen] = buffer_geometries(shapes[chosen], radius, check)
        return Shapes(_full(result, length))

    return kernel


def _coordinate(get: Callable[[ShapeArray], Any]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        values = np.asarray(get(shapes_of(args[0], evaluator)), np.float64)
        return _spread_numbers(values, ~np.isnan(values), length)

    return kernel


def _terms(make: Callable[[ShapeArray], list[Term | None]]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        ids = evaluator.pool.encode_many(make(shapes_of(args[0], evaluator)))
        column: Column = np.broadcast_to(ids, (length,))
        return column

    return kernel


_TYPE_NAMES: Final = (
    "Point", "LineString", "LinearRing", "Polygon", "MultiPoint", "MultiLineString",
    "MultiPolygon", "GeometryCollection",
)  # fmt: skip


def _geometry_types(shapes: ShapeArray) -> list[Term | None]:
    sf = "http://www.opengis.net/ont/sf#"
    return [
        None if t < 0 else Literal(sf + _TYPE_NAMES[t], XSD + "anyURI")
        for t in shapely.get_type_id(shapes).tolist()
    ]


def _as_geojson(shapes: ShapeArray) -> list[Term | None]:
    return [
        None if shape is None else Literal(text.decode(), GEO + "geoJSONLiteral")
        for shape, text in zip(shapes, write_geometries(shapes), strict=True)
    ]


def _is_empty(evaluator: Evaluator, args: list[Value], length: int) -> Value:
    shapes = shapes_of(args[0], evaluator)
    empty = np.broadcast_to(shapely.is_empty(shapes), (length,))
    return Booleans(empty, np.broadcast_to(shapely.is_geometry(shapes), (length,)))


def _envelopes(shapes: ShapeArray) -> Any:
    return shapely.envelope(shapes)


_FUNCTIONS: Final[dict[str, Any]] = {
    "sfEquals": _topology(shapely.equals, shapely.equals),
    "sfDisjoint": _topology(shapely.disjoint, shapely.disjoint),
    "sfIntersects": _topology(shapely.intersects, shapely.intersects),
    "sfTouches": _topology(shapely.touches, shapely.touches),
    "sfCrosses": _topology(shapely.crosses, shapely.crosses),
    "sfWithin": _topology(shapely.within, shapely.contains),
    "sfContains": _topology(shapely.contains, shapely.within),
    "sfOverlaps": _topology(shapely.overlaps, shapely.overlaps),
    "sfCovers": _topology(shapely.covers, shapely.covered_by),
    "sfCoveredBy": _topology(shapely.covered_by, shapely.covers),
    "distance": _distance(_KM_M),
    "metricDistance": _distance(1.0),
    "area": _measure(areas_m2, 1.0, UNITS_M2),
    "metricArea": _measure(areas_m2, 1.0, UNITS_M2),
    "length": _measure(lengths_m, 1.0, UNITS_M),
    "metricLength": _measure(lengths_m, 1.0, UNITS_M),
    "buffer": _buffer(1.0),
    "metricBuffer": _buffer(1.0),
    "envelope": _shape_function(_envelopes),
    "convexHull": _shape_function(shapely.convex_hull),
    "centroid": _shape_function(shapely.centroid),
    "boundary": _shape_function(shapely.boundary),
    "asWKT": _shape_function(lambda shapes: shapes),
    "union": _shape_pair(shapely.union),
    "intersection": _shape_pair(shapely.intersection),
    "difference": _shape_pair(shapely.difference),
    "symDifference": _shape_pair(shapely.symmetric_difference),
    "latitude": _coordinate(shapely.get_y),
    "longitude": _coordinate(shapely.get_x),
    "minX": _coordinate(lambda shapes: shapely.bounds(shapes)[:, 0]),
    "minY": _coordinate(lambda shapes: shapely.bounds(shapes)[:, 1]),
    "maxX": _coordinate(lambda shapes: shapely.bounds(shapes)[:, 2]),
    "maxY": _coordinate(lambda shapes: shapely.bounds(shapes)[:, 3]),
    "geometryType": _terms(_geometry_types),
    "asGeoJSON": _terms(_as_geojson),
    "isEmpty": _is_empty,
}
KERNELS.update({GEOF + name: kernel for name, kernel in _FUNCTIONS.items()})
