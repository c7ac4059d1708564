"""GeoSPARQL functions on arrays of shapes.

Topology (`sf*`) is planar in degrees, as everywhere in this service; lengths, areas and distances
are meters on the sphere. Two-argument `geof:distance` gives kilometers, as QLever does.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import TooLarge
from mapyard.geo.arcs import arc_arc, unit_vectors
from mapyard.geo.azimuthal import project, unproject
from mapyard.geo.crossings import count_crossings
from mapyard.geo.geojson import write_geometries
from mapyard.geo.sphere import EARTH_RADIUS_M, haversine_m
from mapyard.results.shaping import buffer_geometries
from mapyard.sparql.run.expressions import KERNELS, Evaluator
from mapyard.sparql.run.geometry_text import parse_geometry
from mapyard.sparql.run.table import Booleans, Column, Constant, Numbers, Shapes, Value
from mapyard.sparql.terms.ids import POOL, SHIFT
from mapyard.sparql.terms.prefixes import GEOF, QUDT_UNIT, UOM
from mapyard.sparql.terms.terms import GEO, XSD, Iri, Literal, Term
from mapyard.sparql.terms.values import ExpressionError, find_number

ShapeArray = NDArray[np.object_]
Floats = NDArray[np.float64]

_LENGTHS_M: Final = {
    "M": 1.0, "KiloM": 1000.0, "DeciM": 0.1, "CentiM": 0.01, "MilliM": 0.001, "MI": 1609.344,
    "FT": 0.3048, "FT_US": 1200 / 3937, "YD": 0.9144, "IN": 0.0254, "MI_N": 1852.0,
}  # fmt: skip
#: Meters of one unit, by the IRIs of OGC and QUDT.
UNITS_M: Final[dict[str, float]] = {
    **dict.fromkeys((UOM + "metre", UOM + "meter"), 1.0),
    **dict.fromkeys((UOM + "kilometre", UOM + "kilometer"), 1000.0),
    UOM + "statuteMile": 1609.344, UOM + "nauticalMile": 1852.0, UOM + "foot": 0.3048,
    UOM + "yard": 0.9144,
    # A degree or radian of a great circle.
    **dict.fromkeys((UOM + "degree", QUDT_UNIT + "DEG"), EARTH_RADIUS_M * np.pi / 180),
    **dict.fromkeys((UOM + "radian", QUDT_UNIT + "RAD"), EARTH_RADIUS_M),
    **{QUDT_UNIT + name: meters for name, meters in _LENGTHS_M.items()},
}  # fmt: skip
#: Square meters of one unit.
UNITS_M2: Final[dict[str, float]] = {
    UOM + "squareMetre": 1.0, UOM + "squareKilometre": 1e6, UOM + "hectare": 1e4,
    QUDT_UNIT + "HA": 1e4, QUDT_UNIT + "AC": 4046.8564224,
    **{QUDT_UNIT + name + "2": meters**2 for name, meters in _LENGTHS_M.items()},
}  # fmt: skip
#: Function names of topology that hold only where the boxes of both shapes meet.
TOPOLOGY: Final = (
    "sfEquals", "sfIntersects", "sfTouches", "sfCrosses", "sfWithin", "sfContains", "sfOverlaps",
    "sfCovers", "sfCoveredBy",
)  # fmt: skip
_KM_M: Final = 1000.0
#: Reach of the plane within which distances are right to a millimeter per kilometer, and how often
#: a pair beyond is drawn anew.
_EXACT_M: Final = 12_000.0
_REFINEMENTS: Final = 4
#: Pieces from this length on are compared as arcs, for so many pairs of them.
_BENT_DEG: Final = 0.05
_MOST_ARCS: Final = 250_000
_POLYGON: Final = 3
#: Positions of one geometry of a query, and crossings of its lines.
MAX_VERTICES: Final = 50_000
MAX_CROSSINGS: Final = 20_000
#: Shapes with fewer positions are never looked at for their crossings.
_LONG: Final = 256
_AREA: Final = 2
#: Literals up to this length are parsed once: the constants of queries come again and again.
_KEPT_LENGTH: Final = 4_096


def parse_wkt(term: Term) -> Any:
    """Return the valid shape of a geometry literal in degrees; raises ExpressionError."""
    if isinstance(term, Literal) and len(term.lexical) <= _KEPT_LENGTH:
        # A shape of one's own: what is prepared for one query must not be read by another thread.
        return shapely.from_wkb(_parse_kept(term))
    return repair(parse_geometry(term))


@lru_cache(maxsize=512)
def _parse_kept(term: Literal) -> bytes:
    found: bytes = shapely.to_wkb(repair(parse_geometry(term)), flavor="iso")
    return found


def shapes_of(value: Value, evaluator: Evaluator) -> ShapeArray:
    """Return the shapes of a value; one for a constant, None where it is not a geometry."""
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
    if count == 1 and shapely.get_type_id(shape) == 0:
        if not math.isfinite(shape.x + shape.y):
            raise ExpressionError
        return shape
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
    made = [arg for arg in args[:2] if not (isinstance(arg, Shapes) and arg.ids is not None)]
    if args and all(
        isinstance(arg, Constant)
        and int(shapely.get_num_coordinates(shapes_of(arg, evaluator))[0]) <= _LONG
        for arg in made
    ):
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


def robust(
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

    Two points: the great circle. Else in the azimuthal plane, which is exact around its center:
    around one side where both are near, else around the middle of the places found nearest.
    """
    if len(b) == 1 and (len(a) > 1 or _is_after(a[0], b[0])):
        a, b = b, a
    points = (shapely.get_type_id(a) == 0) & (shapely.get_type_id(b) == 0)
    measured = haversine_m(shapely.get_x(a), shapely.get_y(a), shapely.get_x(b), shapely.get_y(b))
    if points.all():
        return measured
    rest = ~points
    measured[rest] = _plane_distances_m(a if len(a) == 1 else a[rest], b[rest])
    return measured


def _is_after(a: Any, b: Any) -> bool:
    """Order two shapes, so that a distance is the same from either side."""
    if a is None or b is None:
        return False
    return bool((a.bounds, a.wkb) > (b.bounds, b.wkb))


def _plane_distances_m(a: ShapeArray, b: ShapeArray) -> Floats:
    bounds = shapely.bounds(a)
    lon0, lat0 = (bounds[:, 0] + bounds[:, 2]) / 2, (bounds[:, 1] + bounds[:, 3]) / 2
    if len(a) > 1:  # the middle of both: the same from either side
        others = shapely.bounds(b)
        lon0 = (lon0 + (others[:, 0] + others[:, 2]) / 2) / 2
        lat0 = (lat0 + (others[:, 1] + others[:, 3]) / 2) / 2
    flat_a, reach_a_m = _flatten(a, lon0, lat0)
    if len(a) == 1:
        shapely.prepare(flat_a)
    flat_b, reach_b_m = _flatten(b, lon0, lat0)
    found = np.asarray(shapely.distance(flat_a, flat_b), np.float64)
    if reach_a_m <= _EXACT_M and reach_b_m <= _EXACT_M:  # so it mostly is
        return found
    far = np.flatnonzero((_reach_m(flat_a, flat_b) > _EXACT_M) & (found > 0))
    if len(far):
        one = len(a) == 1
        found[far] = _refined_m(
            np.repeat(a, len(far)) if one else a[far],
            b[far],
            np.repeat(lon0, len(far)) if len(lon0) == 1 else lon0[far],
            np.repeat(lat0, len(far)) if len(lat0) == 1 else lat0[far],
        )
    return found


def _reach_m(a: ShapeArray, b: ShapeArray) -> Floats:
    """Return how far from the center of the plane any place of a pair lies."""
    bounds = np.maximum(np.abs(shapely.bounds(a)), np.abs(shapely.bounds(b)))
    return np.asarray(np.hypot(bounds[:, ::2].max(axis=1), bounds[:, 1::2].max(axis=1)))


def _refined_m(a: ShapeArray, b: ShapeArray, lon0: Floats, lat0: Floats) -> Floats:
    """Return distances by drawing each pair around the middle of what was nearest before."""
    for _ in range(_REFINEMENTS):
        flat = _flatten(a, lon0, lat0)[0], _flatten(b, lon0, lat0)[0]
        lines = shapely.shortest_line(*flat)
        ends = shapely.get_coordinates(lines).reshape(-1, 2, 2)
        places = unproject(ends.reshape(-1, 2), np.repeat(lon0, 2), np.repeat(lat0, 2))
        places = places.reshape(-1, 2, 2)
        middle = unproject(ends.mean(axis=1), lon0, lat0)
        lon0, lat0 = middle[:, 0], middle[:, 1]
    found = haversine_m(places[:, 0, 0], places[:, 0, 1], places[:, 1, 0], places[:, 1, 1])
    # Long pieces are bent in the plane: those pairs are compared arc by arc.
    for place in np.flatnonzero(_are_bent(a) | _are_bent(b)).tolist():
        one, other = _arcs(a[place]), _arcs(b[place])
        if len(one[0]) * len(other[0]) <= _MOST_ARCS:
            angle = arc_arc(*(v[:, None, :] for v in one), *(v[None, :, :] for v in other))
            found[place] = EARTH_RADIUS_M * float(angle.min())
    return found


def _are_bent(shapes: ShapeArray) -> NDArray[np.bool_]:
    """Return which shapes have pieces so long that a straight line is no great circle."""
    coordinates, owner = shapely.get_coordinates(shapes, return_index=True)
    steps = np.abs(np.diff(coordinates, axis=0)).max(axis=1, initial=0.0)
    long = (steps > _BENT_DEG) & (owner[1:] == owner[:-1])
    return np.bincount(owner[1:][long], minlength=len(shapes)) > 0


def _arcs(shape: Any) -> tuple[Floats, Floats]:
    """Return the starts and ends of the pieces of a shape; a point is a piece of no length."""
    parts = shapely.get_parts(shape)
    polygons = shapely.get_type_id(parts) == _POLYGON
    lines = np.concatenate([parts[~polygons], shapely.get_rings(parts[polygons])])
    coordinates, owner = shapely.get_coordinates(lines, return_index=True)
    vectors = unit_vectors(coordinates[:, 0], coordinates[:, 1])
    inside = owner[1:] == owner[:-1]
    single = np.bincount(owner)[owner] == 1
    starts = np.concatenate([vectors[:-1][inside], vectors[single]])
    return starts, np.concatenate([vectors[1:][inside], vectors[single]])


def _flatten(shapes: ShapeArray, lon0: Floats, lat0: Floats) -> tuple[ShapeArray, float]:
    """Return shapes in the plane around a center each, and how far from it any place may lie."""
    coordinates, owner = shapely.get_coordinates(shapes, return_index=True)
    if len(lon0) == len(shapes) and len(lon0) > 1:
        lon0, lat0 = lon0[owner], lat0[owner]
    plane = project(coordinates[:, 0], coordinates[:, 1], lon0, lat0)
    result: ShapeArray = shapely.set_coordinates(shapes.copy(), plane)
    extent = max(float(plane.max(initial=0.0)), -float(plane.min(initial=0.0)))
    return result, extent * np.sqrt(2.0)


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
        name = term.value if isinstance(term, Iri) else str(term[0])
        if name in units:
            return units[name]
    return np.nan


def full(shapes: ShapeArray, length: int) -> ShapeArray:
    """Return shapes for every row, be they one for all."""
    return np.broadcast_to(shapes, (length,)) if len(shapes) != length else shapes


def _spread_numbers(values: Floats, valid: NDArray[np.bool_], length: int) -> Numbers:
    return Numbers(
        np.broadcast_to(np.asarray(values, np.float64), (length,)),
        np.broadcast_to(valid, (length,)),
    )


def number_argument(value: Value, evaluator: Evaluator, length: int) -> Floats:
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


def measure(get: Callable[[ShapeArray], Floats], default: float, units: dict[str, float]) -> Any:
    """Make the kernel of a measure of one shape in a unit."""

    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        unit = _unit(args[1] if len(args) > 1 else None, units, default)
        valid = shapely.is_geometry(shapes) & (unit == unit)
        values = np.zeros(len(shapes))
        values[valid] = get(shapes[valid]) / unit
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


def shape_function(make: Callable[[ShapeArray], Any]) -> Any:
    """Make the kernel of a function from shapes to shapes."""

    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        result = robust(lambda a, _: make(a), shapes, shapes)
        return Shapes(full(result, length))

    return kernel


def _shape_pair(make: Callable[[ShapeArray, ShapeArray], Any]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        a, b = shapes_of(args[0], evaluator), shapes_of(args[1], evaluator)
        refuse_effort(a, b, args, evaluator)
        return Shapes(full(robust(make, a, b), length))

    return kernel


def _buffer(default: float) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        unit = _unit(args[2] if len(args) > 2 else None, UNITS_M, default)
        count = 1 if isinstance(args[1], Constant) else length
        radii = number_argument(args[1], evaluator, count) * unit
        shapes = full(shapes, max(len(shapes), count))
        radii = np.broadcast_to(radii, (len(shapes),))
        result = np.full(len(shapes), None, np.object_)
        usable = shapely.is_geometry(shapes) & np.isfinite(radii)
        refuse_effort(shapes, None, args, evaluator)
        check = evaluator.runtime.deadline.check
        for radius in np.unique(radii[usable]).tolist():
            chosen = usable & (radii == radius)
            result[chosen] = buffer_geometries(shapes[chosen], radius, check)
        return Shapes(full(result, length))

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
    "area": measure(areas_m2, 1.0, UNITS_M2),
    "metricArea": measure(areas_m2, 1.0, UNITS_M2),
    "length": measure(lengths_m, 1.0, UNITS_M),
    "metricLength": measure(lengths_m, 1.0, UNITS_M),
    "buffer": _buffer(1.0),
    "metricBuffer": _buffer(1.0),
    "envelope": shape_function(_envelopes),
    "convexHull": shape_function(shapely.convex_hull),
    "centroid": shape_function(shapely.centroid),
    "boundary": shape_function(shapely.boundary),
    "asWKT": shape_function(lambda shapes: shapes),
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
