"""The rest of GeoSPARQL 1.1: relations of Egenhofer and RCC8, properties of shapes, their texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import shapely

from mapyard.errors import Unsupported
from mapyard.geo.azimuthal import project, unproject
from mapyard.sparql.run.expressions import KERNELS, Evaluator
from mapyard.sparql.run.geometry_text import (
    GML_LITERAL,
    KML_LITERAL,
    crs_of,
    write_gml,
    write_kml,
    write_wkt_in,
)
from mapyard.sparql.run.geosparql import (
    UNITS_M,
    ShapeArray,
    full,
    lengths_m,
    measure,
    number_argument,
    refuse_effort,
    robust,
    shape_function,
    shapes_of,
)
from mapyard.sparql.run.table import Booleans, Constant, Shapes, Value
from mapyard.sparql.terms.prefixes import GEOF
from mapyard.sparql.terms.terms import WKT_LITERAL, XSD, XSD_INTEGER, Iri, Literal, Term
from mapyard.sparql.terms.values import ExpressionError

#: Relations by their patterns of the nine intersections (GeoSPARQL 1.1, tables 5 and 6).
_PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "ehEquals": ("TFFFTFFFT",), "ehDisjoint": ("FF*FF****",),
    "ehMeet": ("FT*******", "F**T*****", "F***T****"), "ehOverlap": ("T*T***T**",),
    "ehCovers": ("T*TFT*FF*",), "ehCoveredBy": ("TFF*TFT**",), "ehInside": ("TFF*FFT**",),
    "ehContains": ("T*TFF*FF*",),
    "rcc8eq": ("TFFFTFFFT",), "rcc8dc": ("FFTFFTTTT",), "rcc8ec": ("FFTFTTTTT",),
    "rcc8po": ("TTTTTTTTT",), "rcc8tppi": ("TTTFTTFFT",), "rcc8tpp": ("TFFTTFTTT",),
    "rcc8ntpp": ("TFFTFFTTT",), "rcc8ntppi": ("TTTFFTFFT",),
}  # fmt: skip
_PATTERN_LENGTH: Final = 9


def _relation(patterns: tuple[str, ...]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        a, b = shapes_of(args[0], evaluator), shapes_of(args[1], evaluator)
        refuse_effort(a, b, args, evaluator)
        found = np.logical_or.reduce([shapely.relate_pattern(a, b, one) for one in patterns])
        valid = shapely.is_geometry(a) & shapely.is_geometry(b)
        return Booleans(np.broadcast_to(found, (length,)), np.broadcast_to(valid, (length,)))

    return kernel


def _relate(evaluator: Evaluator, args: list[Value], length: int) -> Value:
    """Return whether two shapes relate as a pattern says; the pattern is a constant."""
    given = args[2].term if isinstance(args[2], Constant) else None
    pattern = given.lexical if isinstance(given, Literal) else ""
    if len(pattern) != _PATTERN_LENGTH or set(pattern.upper()) - set("TF*012"):
        return np.zeros(length, np.int64)
    result: Value = _relation((pattern.upper(),))(evaluator, args, length)
    return result


def _per_shape(make: Callable[[Any], Term | None]) -> Any:
    """Make the kernel of a function of one shape that gives a term."""

    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        found = [None if shape is None else make(shape) for shape in shapes_of(args[0], evaluator)]
        return np.broadcast_to(evaluator.pool.encode_many(found), (length,))

    return kernel


def _integers(get: Callable[[ShapeArray], Any]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        known = shapely.is_geometry(shapes)
        found = [
            Literal(str(int(n)), XSD_INTEGER) if k else None
            for n, k in zip(np.asarray(get(shapes)).tolist(), known.tolist(), strict=True)
        ]
        return np.broadcast_to(evaluator.pool.encode_many(found), (length,))

    return kernel


def _test(get: Callable[[ShapeArray], Any]) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        shapes = shapes_of(args[0], evaluator)
        known = shapely.is_geometry(shapes)
        return Booleans(np.broadcast_to(get(shapes), (length,)), np.broadcast_to(known, (length,)))

    return kernel


def _dimensions(shapes: ShapeArray) -> Any:
    """Return 0 for points, 1 for lines, 2 for areas; empty shapes have that of their kind."""
    return np.maximum(shapely.get_dimensions(shapes), 0)


def _geometry_n(evaluator: Evaluator, args: list[Value], length: int) -> Value:
    """Return the part with a number, counted from 1."""
    shapes = full(shapes_of(args[0], evaluator), length)
    numbers = number_argument(args[1], evaluator, length)
    usable = shapely.is_geometry(shapes) & (numbers >= 1) & (numbers == np.floor(numbers))
    result = np.full(length, None, np.object_)
    result[usable] = shapely.get_geometry(shapes[usable], numbers[usable].astype(np.int64) - 1)
    return Shapes(result)


def _concave_hull(evaluator: Evaluator, args: list[Value], length: int) -> Value:
    shapes = full(shapes_of(args[0], evaluator), length)
    ratio: Value = args[1] if len(args) > 1 else Constant(Literal("0.3", XSD + "double"))
    numbers = number_argument(ratio, evaluator, length)
    result = np.full(length, None, np.object_)
    for number in np.unique(numbers[(numbers >= 0) & (numbers <= 1)]).tolist():
        chosen = (numbers == number) & shapely.is_geometry(shapes)
        result[chosen] = shapely.concave_hull(shapes[chosen], ratio=number)
    return Shapes(result)


def bounding_circle(shape: Any) -> Any:
    """Return the least circle around a shape, in the plane around its middle."""
    if shape is None or shape.is_empty:
        return shape
    west, south, east, north = shape.bounds
    center = ((west + east) / 2, (south + north) / 2)
    flat = shapely.transform(shape, lambda c: project(c[:, 0], c[:, 1], *center))
    circle = shapely.minimum_bounding_circle(flat)
    return shapely.transform(circle, lambda c: unproject(c, *center))


def _bounding_circles(shapes: ShapeArray) -> Any:
    result = np.full(len(shapes), None, np.object_)
    for place, shape in enumerate(shapes):
        result[place] = bounding_circle(shape)
    return result


def _z_extreme(pick: Callable[[Any], float]) -> Callable[[Any], Term | None]:
    def find(shape: Any) -> Term | None:
        if not shape.has_z or shape.is_empty:
            return None
        heights = shapely.get_coordinates(shape, include_z=True)[:, 2]
        return Literal(repr(float(pick(heights))), XSD + "double")

    return find


def _srid(evaluator: Evaluator, args: list[Value], length: int) -> Value:
    """Return the reference system of a literal."""

    def find(term: Term | None) -> Term | None:
        if term is None:
            return None
        try:
            return Literal(crs_of(term), XSD + "anyURI")
        except (ExpressionError, SyntaxError):
            return None

    if isinstance(args[0], Constant):
        found = find(args[0].term)
        return np.zeros(length, np.int64) if found is None else Constant(found)
    unique, inverse = np.unique(evaluator.ids(args[0], length), return_inverse=True)
    terms = [find(term) for term in evaluator.runtime.decode(unique)]
    return evaluator.pool.encode_many(terms)[inverse]


def _transform(evaluator: Evaluator, args: list[Value], length: int) -> Value:
    """Return literals in another reference system; those are texts, no longer shapes of ours."""
    target = args[1].term if isinstance(args[1], Constant) else None
    name = target[0] if isinstance(target, Iri | Literal) else ""

    def make(shape: Any) -> Term | None:
        text = write_wkt_in(shape, name)
        return None if text is None else Literal(text, WKT_LITERAL)

    result: Value = _per_shape(make)(evaluator, args, length)
    return result


def _refused(name: str, why: str) -> Any:
    def kernel(evaluator: Evaluator, args: list[Value], length: int) -> Value:
        raise Unsupported(f"geof:{name} is not served here; {why}", details={"function": name})

    return kernel


_DGGS: Final = "the data has no discrete global grid; use geof:asWKT or geof:asGeoJSON"

_FUNCTIONS: Final[dict[str, Any]] = {
    **{name: _relation(patterns) for name, patterns in _PATTERNS.items()},
    "relate": _relate,
    "getSRID": _srid,
    "transform": _transform,
    "dimension": _integers(_dimensions),
    "spatialDimension": _integers(shapely.get_coordinate_dimension),
    "coordinateDimension": _integers(shapely.get_coordinate_dimension),
    "numGeometries": _integers(shapely.get_num_geometries),
    "geometryN": _geometry_n,
    "isSimple": _test(shapely.is_simple),
    "is3D": _test(shapely.has_z),
    "isMeasured": _test(lambda shapes: np.zeros(len(shapes), np.bool_)),
    "perimeter": measure(lengths_m, 1.0, UNITS_M),
    "metricPerimeter": measure(lengths_m, 1.0, UNITS_M),
    "concaveHull": _concave_hull,
    "boundingCircle": shape_function(_bounding_circles),
    "minZ": _per_shape(_z_extreme(np.min)),
    "maxZ": _per_shape(_z_extreme(np.max)),
    "asGML": _per_shape(lambda shape: Literal(write_gml(shape), GML_LITERAL)),
    "asKML": _per_shape(lambda shape: Literal(write_kml(shape), KML_LITERAL)),
    "asDGGS": _refused("asDGGS", _DGGS),
}
KERNELS.update({GEOF + name: kernel for name, kernel in _FUNCTIONS.items()})

# Aggregates --------------------------------------------------------------------------------------

Gather = Callable[[ShapeArray], Any]


def _collected(make: Callable[[Any], Any]) -> Gather:
    return lambda shapes: make(shapely.geometrycollections(list(shapes)))


#: Aggregates of shapes by IRI: from all shapes of a group to one.
AGGREGATES: Final[dict[str, Gather]] = {
    GEOF + "aggUnion": lambda shapes: robust(
        lambda a, _: np.array([shapely.union_all(a)], np.object_), shapes, shapes
    )[0],
    GEOF + "aggBoundingBox": _collected(shapely.envelope),
    GEOF + "aggBoundingCircle": _collected(bounding_circle),
    GEOF + "aggConvexHull": _collected(shapely.convex_hull),
    GEOF + "aggConcaveHull": _collected(lambda shape: shapely.concave_hull(shape, ratio=0.3)),
    GEOF + "aggCentroid": _collected(shapely.centroid),
}
