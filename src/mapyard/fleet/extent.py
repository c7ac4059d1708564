"""Where on Earth a question is, as far as its parameters tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import orjson
import shapely

from mapyard.errors import MapyardError
from mapyard.fleet.areas import DEGREE_M
from mapyard.forms.osrm.params import read_coordinates
from mapyard.geo.bbox import Bbox
from mapyard.params.positions import Geometry, Position, Positions
from mapyard.routing.gpx import read_gpx
from mapyard.routing.nearest import MAX_RADIUS_M as NEAREST_RADIUS_M
from mapyard.routing.polyline import decode_polyline
from mapyard.tiles.mercator import MAX_ZOOM, TileId, tile_bounds_deg

#: Parameters that say where a question is not.
_NEGATED: Final = ("not_within", "not_intersects", "not_contains")
_FASTEST_M_S: Final = 40.0
_SPEEDS_M_S: Final = {
    **dict.fromkeys(("foot", "wheelchair", "hike", "pedestrian"), 3.0),
    **dict.fromkeys(("bicycle", "bike", "cycling"), 15.0),
}
#: Parameters that only prefer a place.
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
    read, reach = _POSITIONS.get(path), _REACHES.get(path)
    try:
        box = find_extent(params) if read is None else _surround(read(params))
        return grow(box, reach(params)) if box is not None and reach is not None else box
    except (MapyardError, ValueError, TypeError, KeyError, AttributeError):
        return None  # the endpoint says what is wrong


def _surround(positions: _Lonlats) -> Bbox | None:
    lons, lats = [lon for lon, _ in positions], [lat for _, lat in positions]
    return Bbox(min(lons), min(lats), max(lons), max(lats)) if positions else None


type _Lonlats = list[tuple[float, float]]


def _read_osrm(params: Any) -> _Lonlats:
    return [(lon, lat) for lon, lat in read_coordinates(params.coordinates, 100_000, 1).tolist()]


def _decode(line: str) -> _Lonlats:
    return [(lon, lat) for lon, lat in decode_polyline(line).tolist()]


def _read_valhalla(params: Any) -> _Lonlats:
    names = ("locations", "sources", "targets", "shape")
    if params.json:
        asked = orjson.loads(params.json)
        if line := asked.get("encoded_polyline"):
            return _decode(line)
        places = [place for name in names for place in asked.get(name, ())]
        return [(float(place["lon"]), float(place["lat"])) for place in places]
    if getattr(params, "encoded_polyline", ""):
        return _decode(params.encoded_polyline)
    places = [place for name in names for place in getattr(params, name, ())]
    return [(place.lon, place.lat) for place in places]


def _read_vroom(params: Any) -> _Lonlats:
    """Return the positions of a problem of VROOM, or of a tour of stops."""
    stops = getattr(params, "waypoints", None)
    found: _Lonlats = [] if stops is None else [(lon, lat) for lon, lat in stops.lonlat.tolist()]
    waiting: list[Any] = [params.vehicles, params.jobs, params.shipments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            places = (value.get(name) for name in ("start", "end", "location"))
            found += [(float(place[0]), float(place[1])) for place in places if place is not None]
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return found


def _read_gpx(params: Any) -> _Lonlats:
    return [(lon, lat) for lon, lat in read_gpx(params.gpx)[0].tolist()]


def _read_ors(params: Any) -> _Lonlats:
    pairs = [text.split(",") for text in (params.start, params.end)]
    return [(float(lon), float(lat)) for lon, lat in pairs]


def _read_graphhopper(params: Any) -> _Lonlats:
    found: _Lonlats = []
    for name in ("point", "from_point", "to_point"):
        texts = getattr(params, name, ()) or ()
        for text in (texts,) if isinstance(texts, str) else texts:
            lat, lon = text.split(",")
            found.append((float(lon), float(lat)))
    for name in ("points", "from_points", "to_points"):
        value = getattr(params, name, None)
        found += [(lon, lat) for lon, lat in value.lonlat.tolist()] if value is not None else []
    return found


#: Calls that are answered between the positions that they name. Not those that reach out.
_POSITIONS: Final[Mapping[str, Callable[[Any], _Lonlats]]] = {
    **{f"/osrm/{service}/v1/{{profile}}/{{coordinates}}": _read_osrm
       for service in ("route", "table", "trip", "match", "nearest")},
    **{f"/valhalla/{call}": _read_valhalla
       for call in ("route", "sources_to_targets", "optimized_route", "trace_route",
                    "trace_attributes", "locate", "isochrone", "expansion")},
    **{f"/graphhopper/{call}": _read_graphhopper
       for call in ("route", "matrix", "isochrone", "nearest")},
    "/graphhopper/match": _read_gpx,
    **dict.fromkeys(("/api/v1/optimize", "/api/v1/tours", "/ors/optimization"), _read_vroom),
    "/ors/v2/directions/{profile}": _read_ors,
}  # fmt: skip


def _reach_valhalla(params: Any) -> float:
    if params.json:
        asked = orjson.loads(params.json)
        costing = str(asked.get("costing", "auto"))
        contours = asked.get("contours", ())
    else:
        costing, contours = params.costing, msgspec.to_builtins(params.contours)
    return _find_most(
        costing,
        [60.0 * (contour.get("time") or 0.0) for contour in contours],
        [1_000.0 * (contour.get("distance") or 0.0) for contour in contours],
    )


def _reach_ors(params: Any) -> float:
    ranges = list(params.range)
    if params.range_type == "time":
        return _find_most(params.profile, ranges, [])
    unit_m = {"m": 1.0, "km": 1_000.0, "mi": 1_609.344}[params.units]
    return _find_most(params.profile, [], [unit_m * value for value in ranges])


def _reach_graphhopper(params: Any) -> float:
    if params.distance_limit > 0:
        return _find_most(params.profile, [], [params.distance_limit])
    return _find_most(params.profile, [params.time_limit], [])


def _reach_nearest(params: Any) -> float:
    return NEAREST_RADIUS_M


#: Calls that reach out from their positions, and how far, meters.
_REACHES: Final[Mapping[str, Callable[[Any], float]]] = {
    "/graphhopper/isochrone": _reach_graphhopper,
    "/graphhopper/nearest": _reach_nearest,
    "/ors/v2/isochrones/{profile}": _reach_ors,
    "/osrm/nearest/v1/{profile}/{coordinates}": _reach_nearest,
    "/valhalla/expansion": _reach_valhalla,
    "/valhalla/isochrone": _reach_valhalla,
}
#: Calls about roads, which regions of roads answer where there are some.
ABOUT_ROADS: Final = frozenset((
    *_POSITIONS, *_REACHES,
    *(f"/api/v1/{call}" for call in ("route", "matrix", "isochrone", "map-match", "optimize",
                                     "tours", "nearest")),
    *(f"/ors/v2/directions/{{profile}}/{form}" for form in ("json", "geojson", "gpx")),
    "/ors/v2/matrix/{profile}", "/ors/v2/snap/{profile}", "/ors/v2/snap/{profile}/geojson",
))  # fmt: skip


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
    seconds = [*params.time, *(60.0 * minutes for minutes in params.contours_minutes)]
    return _find_most(params.mode, seconds, list(params.distance))


def _find_most(mode: str, seconds: Sequence[float], meters: Sequence[float]) -> float:
    """Return how far one gets at most, by the name of a mode or of another service's profile."""
    speeds = [speed for name, speed in _SPEEDS_M_S.items() if name in mode]
    speed = min(speeds, default=_FASTEST_M_S)
    return 200.0 + 1.25 * max([speed * max([*seconds, 0.0]), *meters])


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
