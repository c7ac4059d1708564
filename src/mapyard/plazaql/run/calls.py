"""Calls of services: their parameters as the API takes them, their answers as features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import shapely

from mapyard.errors import Unsupported
from mapyard.plazaql.parse.syntax import At
from mapyard.plazaql.plan.check import fail
from mapyard.plazaql.run.geometries import get_shape, read_count, read_number
from mapyard.plazaql.run.services import Services
from mapyard.plazaql.run.values import Answer, Features, Shape, Value

#: Other words for the ways to travel.
_MODES: Final = {"walk": "foot", "walking": "foot", "bike": "bicycle", "cycling": "bicycle",
                 "drive": "auto", "driving": "auto", "car": "auto"}  # fmt: skip
#: Function → question of the library; those that count as premium.
_TEXTS: Final = {"geocode": "geocode", "autocomplete": "autocomplete", "text_search": "search"}
PREMIUM: Final = (
    "route", "isochrone", "matrix", "map_match", "optimize", "ev_route", "elevation",
    "elevation_profile",
)  # fmt: skip


def ask_service(
    services: Services, name: str, given: Mapping[str, Any], rest: list[Any], at: At
) -> Value:
    """Return what a service answers."""
    limit = {}
    if "limit" in given:
        limit = {"limit": read_count(given["limit"], at, "limit", 1)}
    if name in _TEXTS:
        if not isinstance(given["q"], str):
            raise fail(at, f"{name}() takes a text", f'write {name}("Vaduz")')
        return _features(services.ask(_TEXTS[name], {"q": given["q"], **limit}))
    mode = _read_mode(given, at)
    asked: dict[str, Any]
    match name:
        case "reverse_geocode":
            lon, lat = _point(given["point"], at)
            radius = {}
            if "radius" in given:
                radius = {"radius": read_number(given["radius"], at, "radius")}
            return _features(services.ask("reverse", {"lat": lat, "lng": lon, **radius, **limit}))
        case "route":
            asked = {key: _geojson(given[key], at) for key in ("origin", "destination")}
            return _features(services.ask("route", asked | mode))
        case "ev_route":
            asked = {key: _geojson(given[key], at) for key in ("origin", "destination")}
            return _features(services.ask("route", asked | mode | {"ev": _read_car(given, at)}))
        case "isochrone":
            time_s = read_number(given["time"], at, "time")
            asked = {"center": _geojson(given["center"], at), "time": [time_s], **mode}
            return _features(services.ask("isochrone", asked))
        case "elevation":
            position = list(_point(given["point"], at))
            return _features(services.ask("elevation", {"coordinates": [position]}))
        case "elevation_profile":
            line = get_shape(given["line"], at)
            return _features(services.ask("elevation_profile", {"geometry": _mapping(line)}))
        case "matrix":
            return Answer(services.ask("matrix", _matrix(given, rest, at) | mode))
        case "map_match":
            return _features(services.ask("match", {"trace": _many(given, [], at), **mode}))
        case "optimize":
            points = _many(given, rest, at)
            return _features(services.ask("optimize", {"waypoints": points, **mode}))
    raise Unsupported(f"{name}() is not offered in PlazaQL; ask the endpoint of its own")


def _read_mode(given: Mapping[str, Any], at: At) -> dict[str, str]:
    if "mode" not in given:
        return {}
    mode = given["mode"]
    if not isinstance(mode, str):
        raise fail(at, "mode must be a text", 'write mode: "foot"')
    return {"mode": _MODES.get(mode, mode)}


def _read_car(given: Mapping[str, Any], at: At) -> dict[str, float]:
    """Return the electric car of ev_route; `battery` is in watt-hours."""
    names = {"battery": "battery_capacity_wh", "initial_charge_pct": "initial_charge_pct",
             "min_charge_pct": "min_charge_pct"}  # fmt: skip
    return {to: read_number(given[name], at, name) for name, to in names.items() if name in given}


def _matrix(given: Mapping[str, Any], rest: list[Any], at: At) -> dict[str, Any]:
    sources = given["sources"]
    if isinstance(sources, list):
        found = {"origins": [list(_point(value, at)) for value in sources]}
        if "destinations" in given:
            destinations = given["destinations"]
            if not isinstance(destinations, list):
                raise fail(at, "destinations takes a list", "write destinations: [point(…), …]")
            return found | {"destinations": [list(_point(value, at)) for value in destinations]}
        return found | {"destinations": found["origins"]}
    points = [list(_point(v, at)) for v in (sources, given.get("destinations"), *rest) if v]
    return {"origins": points, "destinations": points}


def _many(given: Mapping[str, Any], rest: list[Any], at: At) -> list[list[float]]:
    """Return positions: a list of points, several points, or a line."""
    first = given.get("points")
    if isinstance(first, list):
        return [list(_point(value, at)) for value in first]
    if isinstance(first, Shape) and first.geometry.geom_type == "LineString":
        return [list(position) for position in first.geometry.coords]
    values = [*([first] if first is not None else []), *rest]
    return [list(_point(value, at)) for value in values]


def _point(value: Any, at: At) -> tuple[float, float]:
    """Return lon, lat of a point; of a set that of its middle."""
    shape = get_shape(value, at)
    point = shape if shape.geom_type == "Point" else shape.centroid
    return point.x, point.y


def _geojson(value: Any, at: At) -> dict[str, Any]:
    return {"type": "Point", "coordinates": list(_point(value, at))}


def _mapping(shape: Any) -> dict[str, Any]:
    found: dict[str, Any] = shapely.geometry.mapping(shape)
    return found


def _features(answer: dict[str, Any]) -> Features:
    """Return the features of a GeoJSON answer."""
    if answer.get("type") == "Feature":
        return Features([answer], {})
    features = answer.get("features", [])
    left_out = ("type", "features", "attribution")
    members = {key: value for key, value in answer.items() if key not in left_out}
    return Features(list(features), members)
