"""OSRM's answers: errors, waypoints, and lines in the form that is asked for."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, MapyardError
from mapyard.forms.osrm.params import BadValue, Drawn, Geometries, Overview
from mapyard.geo.sphere import haversine_m
from mapyard.http.answer import Answer
from mapyard.http.endpoints import Asked, ErrorWriter
from mapyard.routing.polyline import decode_polyline, encode_polyline

JSON: Final = "application/json; charset=utf-8"
#: Statuses for which the original has 400 alone.
_REFUSALS: Final = (400, 404, 413, 422)
_CODES: Final = {
    "invalid_request": "InvalidQuery", "no_road_found": "NoSegment", "too_large": "TooBig",
    "not_implemented": "NotImplemented", "not_found": "InvalidUrl",
}  # fmt: skip
_OWN_CODES: Final = ("InvalidOptions", "InvalidValue", "InvalidUrl", "InvalidService",
                     "InvalidVersion")  # fmt: skip
#: The engine's name of each annotation.
_ANNOTATIONS: Final = {
    "distance": "shape_attributes.length", "duration": "shape_attributes.time",
    "speed": "shape_attributes.speed",
}  # fmt: skip
#: The original's other annotations.
_NOT_SERVED: Final = ("nodes", "weight")
_SHAPE_FORMATS: Final[dict[Geometries, str]] = {
    "polyline": "polyline5", "polyline6": "polyline6", "geojson": "geojson",
}  # fmt: skip
_DIGITS: Final[dict[Geometries, int]] = {"polyline": 5, "polyline6": 6}
#: Tolerance of overview=simplified, as share of the line's extent.
_SIMPLIFIED: Final = 1 / 500
_LEFT_OUT: Final = ("via_waypoints", "admins")


def make_error_writer(no_way: str, unsupported: str) -> ErrorWriter:
    """Return what writes errors as OSRM does, with the codes that a service has of its own."""
    codes = {**_CODES, "no_route_found": no_way, "validation_failed": unsupported}

    def write_error(error: MapyardError, _asked: Asked) -> Answer:
        code = error.code if error.code in _OWN_CODES else codes.get(error.code)
        if code is None:
            code = "".join(word.capitalize() for word in error.code.split("_"))
        body = orjson.dumps({"code": code, "message": error.message})
        status = 400 if error.status in _REFUSALS else error.status
        return Answer(body, JSON, status, headers=error.headers)

    return write_error


def make_waypoint(
    location: Sequence[float], distance_m: float, name: str | None, *, with_hint: bool
) -> dict[str, Any]:
    """Return a coordinate on its road."""
    waypoint: dict[str, Any] = {
        "location": list(location),
        "name": name or "",
        "distance": round(distance_m, 6),
    }
    return waypoint | ({"hint": _make_hint(location)} if with_hint else {})


def _make_hint(location: Sequence[float]) -> str:
    place = np.round(np.array(location) * 1e7).astype("<i4").tobytes()
    return base64.urlsafe_b64encode(place).decode()


def finish_waypoints(
    found: list[dict[str, Any]],
    asked: NDArray[np.float64],
    *,
    with_hint: bool,
    members: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """Return the engine's waypoints with what they lack; it was perhaps asked for other places."""
    places = np.array([point["location"] for point in found])
    away_m = haversine_m(asked[:, 0], asked[:, 1], places[:, 0], places[:, 1]).tolist()
    return [
        make_waypoint(point["location"], distance_m, point["name"], with_hint=with_hint)
        | {name: point[name] for name in members}
        for point, distance_m in zip(found, away_m, strict=True)
    ]


def read_annotations(text: str) -> list[str]:
    """Return the figures per segment that are asked for."""
    if text in ("", "false"):
        return []
    known = [*_ANNOTATIONS, "datasources"]
    names = ", ".join(known)
    asked = known if text == "true" else [part for part in text.split(",") if part]
    for name in asked:
        if name not in known and name not in _NOT_SERVED:
            raise InvalidRequest(f"annotations: {name[:40]!r} is not known; there are {names}")
        if name not in known:
            raise BadValue(
                f"annotations: {name[:40]!r} is not served; there are {names}: ways "
                "have no numbers of nodes and no weights per segment here"
            )
    return asked


def write_request(params: Drawn, annotations: list[str]) -> dict[str, Any]:
    """Return the engine's members of how an answer is written."""
    request: dict[str, Any] = {
        "format": "osrm",
        # Without steps the engine need not look for maneuvers.
        "directions_type": "maneuvers" if params.steps else "none",
        "shape_format": _SHAPE_FORMATS[params.geometries],
    }
    if annotations:
        names = [_ANNOTATIONS[name] for name in annotations if name in _ANNOTATIONS]
        names = names or list(_ANNOTATIONS.values())[:1]
        request["filters"] = {"action": "include", "attributes": names}
    return request


def finish_routes(
    routes: list[dict[str, Any]], params: Drawn, annotations: list[str]
) -> list[dict[str, Any]]:
    """Return the engine's routes with what is asked for, and no more."""
    for route in routes:
        for leg in route["legs"]:
            _finish_leg(leg, params, annotations)
        line = route.pop("geometry")
        if params.overview != "false":
            route["geometry"] = _redraw(line, params.geometries, params.overview)
        route["weight_name"] = "cost"
    return routes


def _finish_leg(leg: dict[str, Any], params: Drawn, annotations: list[str]) -> None:
    for name in _LEFT_OUT:
        leg.pop(name, None)
    if not params.steps:
        leg["steps"] = []
        leg["summary"] = ""
    for step in leg["steps"]:
        step["maneuver"].pop("instruction", None)
        for crossing in step["intersections"]:
            crossing.pop("admin_index", None)
    if annotations:
        _finish_annotation(leg, annotations)


def _finish_annotation(leg: dict[str, Any], annotations: list[str]) -> None:
    found = leg.get("annotation", {})
    count = max((len(values) for values in found.values()), default=0)
    kept = {name: found[name] for name in annotations if name in found}
    if "datasources" in annotations:
        kept |= {
            "datasources": [0] * count,
            "metadata": {"datasource_names": ["OpenStreetMap"]},
        }
    leg["annotation"] = kept


def join_routes(parts: list[dict[str, Any]], geometries: Geometries) -> dict[str, Any]:
    """Return one route of several that follow one another."""
    if len(parts) == 1:
        return parts[0]
    lines = [_read_line(part["geometry"], geometries) for part in parts]
    joined = np.concatenate([lines[0], *(line[1:] for line in lines[1:])])
    sums = {name: sum(part[name] for part in parts) for name in ("distance", "duration", "weight")}
    return {
        **parts[0], **sums, "geometry": write_line(joined, geometries),
        "legs": [leg for part in parts for leg in part["legs"]],
    }  # fmt: skip


def _redraw(line: Any, geometries: Geometries, overview: Overview) -> Any:
    if overview == "full":
        return line
    positions = _read_line(line, geometries)
    extent = float(np.ptp(positions, axis=0).max())
    if len(positions) < 3 or extent == 0.0:
        return line
    simple = shapely.simplify(shapely.linestrings(positions), extent * _SIMPLIFIED)
    return write_line(shapely.get_coordinates(simple), geometries)


def _read_line(line: Any, geometries: Geometries) -> NDArray[np.float64]:
    if geometries == "geojson":
        return np.array(line["coordinates"], np.float64).reshape(-1, 2)
    return decode_polyline(line, _DIGITS[geometries])


def write_line(positions: NDArray[np.float64], geometries: Geometries) -> Any:
    """Return a line in the form that is asked for."""
    if geometries == "geojson":
        return {"type": "LineString", "coordinates": positions.tolist()}
    return encode_polyline(positions, _DIGITS[geometries])
