"""Where on Earth a question is, as far as its parameters tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec
import orjson
import shapely

from mapyard.errors import MapyardError
from mapyard.fleet.areas import DEGREE_M
from mapyard.forms.osrm.params import read_coordinates
from mapyard.geo.bbox import Bbox
from mapyard.params.positions import Geometry, Position, Positions
from mapyard.tiles.mercator import MAX_ZOOM, TileId, tile_bounds_deg

#: Parameters that say where a question is not.
_NEGATED: Final = ("not_within", "not_intersects", "not_contains")
#: Parameters that only prefer a place.
_FASTEST_M_S: Final = 40.0
_SPEEDS_M_S: Final = {"foot": 3.0, "wheelchair": 3.0, "hike": 3.0, "bicycle": 15.0}
_PREFERRED: Final = ("focus", "output")


def find_extent(params: Any) -> Bbox | None:
    """Return the box that a question is about; None: everywhere, or nobody knows."""
    if hasattr(params, "z") and hasattr(params, "x") and hasattr(params, "y"):
        return _find_tile(params)
    boxes = []
    for name in params.__struct_fields__:
        value = getattr(params, name)
        if name in _PREFERRED or value is None or value == ():
            continue
        if name in _NEGATED:
            return None
        boxes += list(_iter_boxes(value))
    if getattr(params, "bbox", None) is not None and getattr(params, "bounded", True) is False:
        return None
    if not boxes:
        return None
    if any(box.crosses_antimeridian for box in boxes):
        return None
    box = Bbox(
        min(box.west for box in boxes), min(box.south for box in boxes),
        max(box.east for box in boxes), max(box.north for box in boxes),
    )  # fmt: skip
    return grow(box, _find_radius(params))


def find_request_extent(path: str, params: Any) -> Bbox | None:
    """Return the box that a request to an endpoint is about; None: everywhere, or nobody knows."""
    if path in _REACH_OUT:
        return None
    read = _POSITIONS.get(path)
    if read is None:
        return find_extent(params)
    try:
        positions = read(params)
    except (MapyardError, ValueError, TypeError, KeyError, AttributeError):
        return None  # the endpoint says what is wrong
    lons, lats = [lon for lon, _ in positions], [lat for _, lat in positions]
    return Bbox(min(lons), min(lats), max(lons), max(lats)) if positions else None


type _Lonlats = list[tuple[float, float]]


def _read_osrm(params: Any) -> _Lonlats:
    return [(lon, lat) for lon, lat in read_coordinates(params.coordinates, 100_000, 1).tolist()]


def _read_valhalla(params: Any) -> _Lonlats:
    names = ("locations", "sources", "targets", "shape")
    if params.json:
        asked = orjson.loads(params.json)
        if "encoded_polyline" in asked:
            return []
        places = [place for name in names for place in asked.get(name, ())]
        return [(float(place["lon"]), float(place["lat"])) for place in places]
    if getattr(params, "encoded_polyline", ""):
        return []
    places = [place for name in names for place in getattr(params, name, ())]
    return [(place.lon, place.lat) for place in places]


def _read_ors(params: Any) -> _Lonlats:
    pairs = [text.split(",") for text in (params.start, params.end)]
    return [(float(lon), float(lat)) for lon, lat in pairs]


def _read_graphhopper(params: Any) -> _Lonlats:
    found: _Lonlats = []
    for name in ("point", "from_point", "to_point"):
        for text in getattr(params, name, ()) or ():
            lat, lon = text.split(",")
            found.append((float(lon), float(lat)))
    for name in ("points", "from_points", "to_points"):
        value = getattr(params, name, None)
        found += [(lon, lat) for lon, lat in value.lonlat.tolist()] if value is not None else []
    return found


#: Calls that are answered between the positions that they name. Not those that reach out.
_POSITIONS: Final[Mapping[str, Callable[[Any], _Lonlats]]] = {
    **{f"/osrm/{service}/v1/{{profile}}/{{coordinates}}": _read_osrm
       for service in ("route", "table", "trip", "match")},
    **{f"/valhalla/{call}": _read_valhalla
       for call in ("route", "sources_to_targets", "optimized_route", "trace_route",
                    "trace_attributes", "locate")},
    **{f"/graphhopper/{call}": _read_graphhopper for call in ("route", "matrix")},
    "/ors/v2/directions/{profile}": _read_ors,
}  # fmt: skip
#: Calls with positions, of which nothing tells here how far from them they reach.
_REACH_OUT: Final = ("/ors/v2/isochrones/{profile}", "/graphhopper/isochrone",
                     "/valhalla/isochrone", "/valhalla/expansion")  # fmt: skip


def _iter_boxes(value: Any) -> Iterator[Bbox]:
    match value:
        case Bbox():
            yield value
        case Position():
            yield Bbox(value.lon, value.lat, value.lon, value.lat)
        case Positions() if len(value):
            west, south = value.lonlat.min(axis=0).tolist()
            east, north = value.lonlat.max(axis=0).tolist()
            yield Bbox(west, south, east, north)
        case Geometry():
            west, south, east, north = shapely.bounds(value.shape).tolist()
            yield Bbox(west, south, east, north)
        case msgspec.Struct():
            for name in value.__struct_fields__:
                yield from _iter_boxes(getattr(value, name))


def _find_radius(params: Any) -> float:
    """Return how far from its positions a question reaches, meters."""
    if hasattr(params, "contours_minutes"):
        return _find_reach(params)
    radius = getattr(params, "radius", None)
    if radius is None and getattr(params, "around", None) is not None:
        return 500.0
    return float(radius) if isinstance(radius, int | float) else 0.0


def _find_reach(params: Any) -> float:
    """Return how far an isochrone may reach at most."""
    seconds = [*params.time, *(60.0 * minutes for minutes in params.contours_minutes), 0.0]
    speed = _SPEEDS_M_S.get(params.mode, _FASTEST_M_S)
    return 200.0 + 1.25 * max([speed * max(seconds), *params.distance])


def grow(box: Bbox, radius_m: float) -> Bbox:
    """Return a box with a margin around, a little more than enough."""
    if not radius_m:
        return box
    up = radius_m / DEGREE_M * 1.01
    lat = min(89.0, max(abs(box.south - up), abs(box.north + up)))
    side = up / math.cos(math.radians(lat))
    return Bbox(box.west - side, box.south - up, box.east + side, box.north + up)


def _find_tile(params: Any) -> Bbox | None:
    row = str(params.y).partition(".")[0]
    if not row.isdigit():
        return None
    z, x, y = params.z, params.x, int(row)
    if z > MAX_ZOOM or max(x, y) >= 1 << z:
        return None  # it says itself what is wrong
    west, south, east, north = tile_bounds_deg(TileId(z, x, y))
    # Tiles show what lies a little outside, as lines are drawn over their edges.
    side, up = (east - west) / 8, (north - south) / 8
    return Bbox(west - side, south - up, east + side, north + up)
