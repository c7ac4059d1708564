"""Geometry literals: WKT, GeoJSON, GML and KML in, with their reference systems; GML and KML out.

Shapes are in degrees, longitude first (CRS84), whatever a literal says: others are brought there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.sparql.terms.terms import GEO, WKT_LITERAL, XSD_STRING, Literal, Term
from mapyard.sparql.terms.values import ExpressionError

if TYPE_CHECKING:  # takes long to read, and few queries need it
    import pyproj

GML_LITERAL: Final = GEO + "gmlLiteral"
KML_LITERAL: Final = GEO + "kmlLiteral"
GEOJSON_LITERAL: Final = GEO + "geoJSONLiteral"
DGGS_LITERAL: Final = GEO + "dggsLiteral"
CRS84: Final = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_CRS: Final = re.compile(r"\s*<([^>]*)>\s*")
_EPSG: Final = re.compile(
    r"(?:http://www\.opengis\.net/def/crs/EPSG/[^/]*/|urn:ogc:def:crs:EPSG:[^:]*:"
    r"|http://www\.opengis\.net/gml/srs/epsg\.xml#|EPSG:)(\d{4,6})",
    re.IGNORECASE,
)
_CRS84_NAMES: Final = ("CRS84", "urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84", "")
_GML_NAMESPACE: Final = "http://www.opengis.net/ont/gml"
_MAX_NESTING: Final = 20

Floats = NDArray[np.float64]


@lru_cache(maxsize=64)
def find_crs(name: str) -> str | None:
    """Return the EPSG code of a reference system, "" for CRS84; None where it is not known."""
    if name == CRS84 or name in _CRS84_NAMES:
        return ""
    found = _EPSG.fullmatch(name)
    if found is None:
        return None
    import pyproj

    try:
        pyproj.CRS.from_epsg(int(found[1]))
    except pyproj.exceptions.CRSError:
        return None
    return found[1]


@lru_cache(maxsize=64)
def _transformer(source: str, target: str) -> pyproj.Transformer:
    import pyproj

    def crs(code: str) -> str:
        return f"EPSG:{code}" if code else "OGC:CRS84"

    return pyproj.Transformer.from_crs(crs(source), crs(target))


def transform(shape: Any, source: str, target: str) -> Any:
    """Return a shape of one reference system in another, axes in the order of each."""
    if source == target:
        return shape
    transformer = _transformer(source, target)

    def move(coordinates: Floats) -> Floats:
        return np.column_stack(transformer.transform(coordinates[:, 0], coordinates[:, 1]))

    return shapely.transform(shape, move)


def crs_of(term: Term) -> str:
    """Return the IRI of the reference system of a literal; raises ExpressionError."""
    if not isinstance(term, Literal):
        raise ExpressionError
    if term.datatype in (WKT_LITERAL, XSD_STRING) and (found := _CRS.match(term.lexical)):
        return found[1]
    if term.datatype == GML_LITERAL:
        return _read_xml(term.lexical).get("srsName") or CRS84
    if term.datatype in (WKT_LITERAL, KML_LITERAL, GEOJSON_LITERAL):
        return CRS84
    raise ExpressionError


def parse_geometry(term: Term) -> Any:
    """Return the shape of a geometry literal, not repaired; raises ExpressionError.

    A plain text is read as WKT.
    """
    if not isinstance(term, Literal):
        raise ExpressionError
    read = _READERS.get(term.datatype)
    if read is None:
        raise ExpressionError
    try:
        return read(term.lexical)
    except (ValueError, TypeError, IndexError, KeyError, ParseError, shapely.errors.ShapelyError,
            RuntimeError):  # fmt: skip # the last is pyproj's ProjError
        raise ExpressionError from None


def _read_wkt(text: str) -> Any:
    code: str | None = ""
    if found := _CRS.match(text):
        code = find_crs(found[1])
        if code is None:
            raise ExpressionError
        text = text[found.end() :]
    if not text.strip():
        return shapely.Point()  # an empty text is an empty geometry (GeoSPARQL 8.5.1)
    with np.errstate(invalid="ignore"):
        shape = shapely.from_wkt(text, on_invalid="ignore")
    if shape is None:
        raise ExpressionError
    return transform(shape, code or "", "")


def _read_geojson(text: str) -> Any:
    if not text.strip():
        return shapely.Point()
    shape = shapely.from_geojson(text, on_invalid="ignore")
    if shape is None:
        raise ExpressionError
    return shape


# GML and KML -------------------------------------------------------------------------------------


def _read_xml(text: str) -> Element:
    if "<!" in text:  # no document types, so no entities
        raise ExpressionError
    return fromstring(text)  # noqa: S314 - without document types nothing can expand


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _read_gml(text: str) -> Any:
    if not text.strip():
        return shapely.Point()
    root = _read_xml(text)
    code = find_crs(root.get("srsName", ""))
    if code is None:
        raise ExpressionError
    return transform(_shape(root, _gml_positions, 0), code, "")


def _read_kml(text: str) -> Any:
    return _shape(_read_xml(text), _kml_positions, 0) if text.strip() else shapely.Point()


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.replace(",", " ").split()]


def _gml_positions(element: Element) -> Floats:
    found: list[list[float]] = []
    for child in element.iter():
        name = _name(child)
        if name in ("pos", "posList", "coordinates"):
            numbers = _numbers(child.text or "")
            size = int(child.get("srsDimension") or element.get("srsDimension") or 2)
            if name == "coordinates":
                size = len((child.text or "").split()[0].split(","))
            found += [numbers[i : i + 2] for i in range(0, len(numbers), size)]
    return np.array(found, np.float64).reshape(-1, 2)


def _kml_positions(element: Element) -> Floats:
    texts = [child.text or "" for child in element.iter() if _name(child) == "coordinates"]
    words = [word.split(",")[:2] for text in texts for word in text.split()]
    return np.array([[float(a), float(b)] for a, b in words], np.float64).reshape(-1, 2)


def _children(element: Element, *names: str) -> list[Element]:
    return [child for child in element if _name(child) in names]


def _inner(element: Element, *names: str) -> list[Element]:
    return [child for part in _children(element, *names) for child in part]


def _shape(element: Element, positions: Callable[[Element], Floats], depth: int) -> Any:
    if depth > _MAX_NESTING:
        raise ExpressionError
    name = _name(element)
    if name == "Point":
        found = positions(element)
        return shapely.Point(found[0]) if len(found) else shapely.Point()
    if name in ("LineString", "LinearRing", "Curve"):
        return shapely.linestrings(positions(element))
    if name in ("Polygon", "PolygonPatch", "Rectangle", "Triangle"):
        outer = _inner(element, "exterior", "outerBoundaryIs")
        if not outer:
            return shapely.Polygon()
        holes = [positions(ring) for ring in _inner(element, "interior", "innerBoundaryIs")]
        return shapely.Polygon(positions(outer[0]), holes)
    if name in ("Surface", "PolyhedralSurface"):
        parts = [_shape(p, positions, depth + 1) for p in _inner(element, "patches")]
        return parts[0] if len(parts) == 1 else shapely.multipolygons(parts)
    if name == "Envelope":
        (west, south), (east, north) = _corners(element)
        return shapely.box(west, south, east, north)
    if name.startswith("Multi"):
        members = [
            inner
            for child in element
            for inner in (
                child if _name(child).lower().endswith(("member", "members")) else [child]
            )
        ]
        return _collect([_shape(member, positions, depth + 1) for member in members])
    raise ExpressionError


def _corners(element: Element) -> list[list[float]]:
    lower, upper = _children(element, "lowerCorner"), _children(element, "upperCorner")
    return [_numbers(lower[0].text or ""), _numbers(upper[0].text or "")]


def _collect(shapes: list[Any]) -> Any:
    kinds = {shape.geom_type for shape in shapes}
    makers: dict[str, Callable[[Any], Any]] = {
        "Point": shapely.multipoints,
        "LineString": shapely.multilinestrings,
        "Polygon": shapely.multipolygons,
    }
    if len(kinds) == 1 and (make := makers.get(kinds.pop())):
        return make(shapes)
    return shapely.geometrycollections(shapes)


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    WKT_LITERAL: _read_wkt, XSD_STRING: _read_wkt, GEOJSON_LITERAL: _read_geojson,
    GML_LITERAL: _read_gml, KML_LITERAL: _read_kml,
}  # fmt: skip

# Out ---------------------------------------------------------------------------------------------


def write_wkt_in(shape: Any, crs: str) -> str | None:
    """Return the WKT of a shape in another reference system; None where that is not known."""
    code = find_crs(crs)
    if code is None:
        return None
    text = shapely.to_wkt(transform(shape, "", code), rounding_precision=7)
    prefix = f"<{crs}> " if crs != CRS84 else ""
    return prefix + text.replace(" (", "(").replace(", ", ",")


def _list(coordinates: Floats, separator: str, between: str) -> str:
    return between.join(
        separator.join(f"{v:.7f}".rstrip("0").rstrip(".") for v in pair[:2])
        for pair in coordinates.tolist()
    )


def write_gml(shape: Any, profile: str = "3.2") -> str:
    """Return a shape as GML 3.2."""
    del profile  # one profile is written
    head = f'xmlns:gml="{_GML_NAMESPACE}" srsName="{CRS84}"'
    return _write_gml(shape, " " + head)


def _write_gml(shape: Any, head: str = "") -> str:
    kind = shape.geom_type
    if kind == "Point":
        inner = "" if shape.is_empty else f"<gml:pos>{_list(_positions(shape), ' ', ' ')}</gml:pos>"
        return f"<gml:Point{head}>{inner}</gml:Point>"
    if kind in ("LineString", "LinearRing"):
        inner = f"<gml:posList>{_list(_positions(shape), ' ', ' ')}</gml:posList>"
        return f"<gml:{kind}{head}>{inner}</gml:{kind}>"
    if kind == "Polygon":
        rings = [] if shape.is_empty else [("exterior", shape.exterior)]
        rings += [("interior", ring) for ring in shape.interiors]
        inner = "".join(f"<gml:{n}>{_write_gml(r)}</gml:{n}>" for n, r in rings)
        return f"<gml:Polygon{head}>{inner}</gml:Polygon>"
    name, member = {
        "MultiPoint": ("MultiPoint", "pointMember"),
        "MultiLineString": ("MultiCurve", "curveMember"),
        "MultiPolygon": ("MultiSurface", "surfaceMember"),
    }.get(kind, ("MultiGeometry", "geometryMember"))
    inner = "".join(f"<gml:{member}>{_write_gml(p)}</gml:{member}>" for p in shape.geoms)
    return f"<gml:{name}{head}>{inner}</gml:{name}>"


def write_kml(shape: Any) -> str:
    """Return a shape as KML."""
    return _write_kml(shape, ' xmlns="http://www.opengis.net/kml/2.2"')


def _write_kml(shape: Any, head: str = "") -> str:
    kind = shape.geom_type
    if kind in ("Point", "LineString", "LinearRing"):
        inner = f"<coordinates>{_list(_positions(shape), ',', ' ')}</coordinates>"
        return f"<{kind}{head}>{inner}</{kind}>"
    if kind == "Polygon":
        rings = [] if shape.is_empty else [("outerBoundaryIs", shape.exterior)]
        rings += [("innerBoundaryIs", ring) for ring in shape.interiors]
        inner = "".join(f"<{n}>{_write_kml(r)}</{n}>" for n, r in rings)
        return f"<Polygon{head}>{inner}</Polygon>"
    inner = "".join(_write_kml(part) for part in shape.geoms)
    return f"<MultiGeometry{head}>{inner}</MultiGeometry>"


def _positions(shape: Any) -> Floats:
    return np.asarray(shapely.get_coordinates(shape), np.float64)
