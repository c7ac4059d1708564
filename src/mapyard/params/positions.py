"""Positions, boxes and geometries as clients spell them: one reader for all endpoints.

A position is a GeoJSON Point, `{"lat": .., "lng": ..}`, `[lng, lat]` or the text `lat,lng`; a
list of positions is a MultiPoint, a LineString, an array of any of these, or texts joined by `|`
or `;`. `lng` and `lon` are both read. Inside, the order is lon, lat.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox

#: Nesting of `coordinates` below the type: how many levels of arrays hold positions.
GEOMETRY_DEPTHS: Final = {
    "Point": 0,
    "MultiPoint": 1,
    "LineString": 1,
    "MultiLineString": 2,
    "Polygon": 2,
    "MultiPolygon": 3,
}
NUMBER: Final = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


class Problem(ValueError):  # noqa: N818 - a signal to the parser
    """What is wrong with a value; whoever knows the parameter's name adds it."""


class TooMany(Exception):  # noqa: N818 - becomes a TooLarge with the parameter's name
    """More items than allowed."""

    def __init__(self, limit: int, count: int) -> None:
        super().__init__(f"{count} of at most {limit}")
        self.limit = limit
        self.count = count


class Position(NamedTuple):
    """One position in degrees."""

    lon: float
    lat: float


class Positions:
    """A list of positions.

    `lonlat` is a float64 array of shape (n, 2), degrees, in input order. `kind` tells the
    spelling: "Point", "MultiPoint", "LineString" or "array".
    """

    __slots__ = ("kind", "lonlat")

    def __init__(self, lonlat: NDArray[np.float64], kind: str = "array") -> None:
        self.lonlat = lonlat
        self.kind = kind

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self.lonlat)


class Geometry:
    """A GeoJSON geometry (not a GeometryCollection), checked for shape, range and closed rings.

    `shape` is the shapely geometry; it may still be invalid in the OGC sense (self-crossing).
    """

    __slots__ = ("point_count", "shape", "type")

    def __init__(self, geometry_type: str, shape: shapely.Geometry, point_count: int) -> None:
        self.type = geometry_type
        self.shape = shape
        self.point_count = point_count


def read_number(value: Any) -> float:
    """Return a finite number from a number or its text; booleans are no numbers."""
    if isinstance(value, str):
        if NUMBER.fullmatch(value) is None:
            raise Problem(f"must be a number, got {shorten(value)}")
        number = float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    else:
        raise Problem(f"must be a number, got {shorten(value)}")
    if not math.isfinite(number):
        raise Problem("must be a finite number")
    return number


def read_position(value: Any) -> Position:
    """Return a position from any spelling; raise `Problem`."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith(("{", "[")):
            return read_position(_load(text))
        return make_position(*_pair_of(text))
    if isinstance(value, dict):
        if "type" in value or "coordinates" in value:
            value = unwrap_feature(value)
            if value.get("type") != "Point":
                raise Problem(f"must be a Point, got a {shorten(value.get('type'))}")
            return read_position(_coordinates_of(value))
        lon = value.get("lng", value.get("lon"))
        if "lat" not in value or lon is None:
            raise Problem('must have the members "lat" and "lng"')
        return make_position(value["lat"], lon)
    if isinstance(value, list | tuple):
        if len(value) < 2:
            raise Problem("must have two numbers [lng, lat]")
        return make_position(value[1], value[0])
    raise Problem(
        'must be a GeoJSON Point, {"lat": .., "lng": ..}, [lng, lat] or the text lat,lng; '
        f"got {shorten(value)}"
    )


def make_position(lat: Any, lon: Any) -> Position:
    """Return the position of two raw values, checked."""
    try:
        lat = read_number(lat)
    except Problem as problem:
        raise Problem(f"latitude {problem}") from None
    try:
        lon = read_number(lon)
    except Problem as problem:
        raise Problem(f"longitude {problem}") from None
    if not -90.0 <= lat <= 90.0:
        raise Problem(f"latitude {lat:g} is outside -90 to 90 (is the order right?)")
    if not -180.0 <= lon <= 180.0:
        raise Problem(f"longitude {lon:g} is outside -180 to 180")
    return Position(lon, lat)


def read_positions(value: Any, *, lng_first: bool = False, limit: int | None = None) -> Positions:
    """Return a list of positions from any spelling; raise `Problem` with the index, `TooMany`.

    `lng_first` is for texts `lng,lat|lng,lat`; positions in JSON have their own order.
    """
    kind: str = "array"
    if isinstance(value, str):
        text = value.strip()
        if text.startswith(("{", "[")):
            return read_positions(_load(text), limit=limit)
        pairs = [_pair_of(part) for part in re.split(r"[|;]", text) if part.strip()]
        value = [[lon, lat] if not lng_first else [lat, lon] for lat, lon in pairs]
    if isinstance(value, dict):
        if "type" not in value and "coordinates" not in value:
            return Positions(np.array([read_position(value)]), "Point")
        value = unwrap_feature(value)
        kind = str(value.get("type"))
        if kind == "Point":
            return Positions(np.array([read_position(value)]), "Point")
        if kind not in ("MultiPoint", "LineString"):
            raise Problem(f"must be a MultiPoint or LineString, got a {shorten(kind)}")
        value = _coordinates_of(value)
    if not isinstance(value, list | tuple):
        raise Problem(
            "must be a GeoJSON MultiPoint or LineString, an array of positions, or the text "
            f"lat,lng|lat,lng; got {shorten(value)}"
        )
    if len(value) == 2 and all(isinstance(item, int | float) for item in value):
        value = [value]
    if limit is not None and len(value) > limit:
        raise TooMany(limit, len(value))
    return Positions(read_coordinates(value), kind)


def read_coordinates(items: Sequence[Any]) -> NDArray[np.float64]:
    """Return an (n, 2) array of lon, lat from a list of positions in any spelling."""
    if not items:
        return np.empty((0, 2))
    if all(type(item) is list and len(item) == 2 for item in items) and all(
        type(number) in (int, float) for item in items for number in item
    ):
        try:
            lonlat = np.array(items, dtype=np.float64)
        except OverflowError:
            lonlat = None
        if lonlat is not None and bool(np.all(np.abs(lonlat) <= (180.0, 90.0))):  # NaN is refused
            return lonlat
    rows = []
    for index, item in enumerate(items):
        try:
            rows.append(read_position(item))
        except Problem as problem:
            raise Problem(f"point {index} (counted from 0): {problem}") from None
    return np.array(rows, dtype=np.float64)


def read_geometry(value: Any, *, limit: int | None = None) -> Geometry:
    """Return a checked geometry from GeoJSON (object, Feature or text) or a position's spelling."""
    if isinstance(value, str):
        text = value.strip()
        value = _load(text) if text.startswith(("{", "[")) else [*read_position(text)]
    if isinstance(value, dict) and "type" in value:
        value = unwrap_feature(value)
        geometry_type = value.get("type")
        if not isinstance(geometry_type, str) or geometry_type not in GEOMETRY_DEPTHS:
            raise Problem(
                f"must be one of {', '.join(GEOMETRY_DEPTHS)}, got {shorten(geometry_type)}"
            )
        coordinates = _coordinates_of(value)
    else:
        geometry_type, coordinates = "Point", [*read_position(value)]
    lines = _read_nested(coordinates, GEOMETRY_DEPTHS[geometry_type], geometry_type)
    count = sum(len(line) for line in _flatten(lines))
    if limit is not None and count > limit:
        raise TooMany(limit, count)
    if count == 0:
        raise Problem("has no coordinates")
    return Geometry(geometry_type, _build_shape(geometry_type, lines), count)


def read_bbox(value: Any) -> Bbox:
    """Return a box from the text `south,west,north,east` or an array in this order."""
    if isinstance(value, str):
        text = value.strip()
        value = _load(text) if text.startswith("[") else text.split(",")
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise Problem("must be four numbers south,west,north,east")
    south, west, north, east = (read_number(number) for number in value)
    if not (-90 <= south <= 90 and -90 <= north <= 90):
        raise Problem("latitudes must be within -90 to 90; the order is south,west,north,east")
    if not (-180 <= west <= 180 and -180 <= east <= 180):
        raise Problem("longitudes must be within -180 to 180; the order is south,west,north,east")
    if south > north:
        raise Problem(
            f"south {south:g} is above north {north:g}; the order is south,west,north,east"
        )
    return Bbox(west, south, east, north)


def unwrap_feature(value: dict[str, Any]) -> dict[str, Any]:
    """Return the geometry of a Feature, or the value itself."""
    if value.get("type") != "Feature":
        return value
    geometry = value.get("geometry")
    if not isinstance(geometry, dict):
        raise Problem("is a Feature without a geometry")
    return geometry


def shorten(value: Any) -> str:
    """Return a value as it was sent, cut to a length fit for a message."""
    if isinstance(value, dict | list):
        kind = "object" if isinstance(value, dict) else "array"
        return f"an {kind}"
    text = (
        "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}…'"


def _load(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise Problem(f"is not valid JSON: {shorten(text)}") from None


def _pair_of(text: str) -> tuple[str, str]:
    parts = text.split(",")
    if len(parts) != 2:
        raise Problem(f"must be two numbers lat,lng, got {shorten(text)}")
    return parts[0], parts[1]


def _coordinates_of(value: dict[str, Any]) -> list[Any]:
    coordinates = value.get("coordinates")
    if not isinstance(coordinates, list):
        raise Problem('must have "coordinates", an array')
    return coordinates


def _read_nested(value: Any, depth: int, geometry_type: str) -> Any:
    if not isinstance(value, list | tuple):
        raise Problem(f"has coordinates that are not nested as in a {geometry_type}")
    if depth == 0:
        return np.array([read_position(value)])
    if depth == 1:
        if any(not isinstance(item, list) for item in value):
            raise Problem(f"has coordinates that are not nested as in a {geometry_type}")
        line = read_coordinates(value)
        if geometry_type in ("LineString", "MultiLineString") and len(line) < 2:
            raise Problem("has a line of fewer than two positions")
        if geometry_type in ("Polygon", "MultiPolygon"):
            if len(line) < 4:
                raise Problem("has a ring of fewer than four positions")
            if not np.array_equal(line[0], line[-1]):
                raise Problem("has a ring that is not closed: repeat its first position at the end")
        return line
    return [_read_nested(item, depth - 1, geometry_type) for item in value]


def _flatten(lines: Any) -> list[NDArray[np.float64]]:
    if isinstance(lines, np.ndarray):
        return [lines]
    return [line for item in lines for line in _flatten(item)]


def _build_shape(geometry_type: str, lines: Any) -> shapely.Geometry:
    match geometry_type:
        case "Point":
            return shapely.Point(lines[0])
        case "MultiPoint":
            return shapely.multipoints(shapely.points(lines))
        case "LineString":
            return shapely.linestrings(lines)
        case "MultiLineString":
            return shapely.multilinestrings([shapely.linestrings(line) for line in lines])
        case "Polygon":
            return _build_polygon(lines)
        case _:
            return shapely.multipolygons([_build_polygon(rings) for rings in lines])


def _build_polygon(rings: list[NDArray[np.float64]]) -> shapely.Geometry:
    if not rings:
        raise Problem("has a polygon without rings")
    return shapely.Polygon(rings[0], rings[1:])
