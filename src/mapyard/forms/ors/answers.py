"""openrouteservice's answers: errors, metadata, routes."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.elevation.profile import climb, make_profile
from mapyard.errors import MapyardError
from mapyard.forms.ors.params import UNIT_M, Directions
from mapyard.geo.lines import find_bearings, thin
from mapyard.geo.sphere import haversine_m
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked, ErrorWriter
from mapyard.library.ways import get_rasters
from mapyard.results.pages import ATTRIBUTION
from mapyard.routing.polyline import encode_polyline
from mapyard.routing.steps import Step
from mapyard.routing.trip import Leg, Route

JSON: Final = "application/json;charset=UTF-8"
GEOJSON: Final = "application/geo+json;charset=UTF-8"
_VERSION: Final = "9"
#: Statuses of who asks, which the original leaves to what stands before it: one text alone.
_ACCESS: Final = (401, 403, 429)
_REFUSALS: Final = (400, 413, 422)
_NOT_UNDERSTOOD: Final = "is not understood"

#: What a step does → the original's number.
_TYPES: Final = {
    "depart": 11, "arrive": 10, "turn left": 0, "turn right": 1, "sharp left": 2, "sharp right": 3,
    "bear left": 4, "bear right": 5, "merge left": 4, "merge right": 5, "enter roundabout": 7,
    "exit roundabout": 8, "uturn left": 9, "uturn right": 9, "keep left": 12, "keep right": 13,
    "ramp left": 12, "ramp right": 13, "exit left": 12, "exit right": 13,
}  # fmt: skip
_STRAIGHT: Final = 6


def make_error_writer(base: int, *, unknown: int = 11) -> ErrorWriter:
    """Return what writes errors as openrouteservice does, with the codes of one service."""
    codes = {
        "too_large": 4, "no_route_found": 9, "no_road_found": 10, "validation_failed": 3,
        "not_implemented": 7,
    }  # fmt: skip

    def write_error(error: MapyardError, _asked: Asked) -> Answer:
        if error.status in _ACCESS:
            body: dict[str, Any] = {"error": error.message}
            return Answer(orjson.dumps(body), JSON, error.status, headers=error.headers)
        number = 99
        if error.code == "invalid_request":
            number = _tell_problem(error.details or {})
        elif _is_unknown(error.details or {}):
            number = unknown
        elif error.code in codes:
            number = codes[error.code]
        status = 400 if error.status in _REFUSALS else error.status
        body = {
            "error": {"code": base + number, "message": error.message},
            "info": {"engine": {"version": _VERSION}, "timestamp": _now_ms()},
        }
        return Answer(orjson.dumps(body), JSON, status, headers=error.headers)

    return write_error


def _is_unknown(details: Mapping[str, Any]) -> bool:
    return any(
        _NOT_UNDERSTOOD in str(problem)
        for problems in details.values()
        if isinstance(problems, list)
        for problem in problems
    )


def _tell_problem(details: Mapping[str, Any]) -> int:
    """Return whether a member is missing (1), of another form (2), or of a wrong value (3)."""
    if _is_unknown(details):
        return 11
    texts = [str(problem) for found in details.values() for problem in found]
    if any("JSON" in text for text in texts):
        return 0
    if any("is required" in text for text in texts):
        return 1
    of_form = ("must be text", "must be a list", "must be a number", "must be an object")
    return 2 if any(text.startswith(of_form) for text in texts) else 3


def _now_ms() -> int:
    return int(time.time() * 1_000)


def make_metadata(ctx: Context, service: str, query: dict[str, Any]) -> dict[str, Any]:
    """Return what was asked, by whom it is answered, of when the data is."""
    found: dict[str, Any] = {
        "attribution": ATTRIBUTION,
        "service": service,
        "timestamp": _now_ms(),
        "query": {name: value for name, value in query.items() if value not in (None, "", ())},
        "engine": {
            "version": _VERSION,
            "graph_date": ctx.snapshot.manifest.created,
            "osm_date": ctx.snapshot.find_data_time("routing"),
        },
    }
    if query.get("id"):
        found["id"] = query["id"]
    return found


class Written:
    """One route with its line in the units and the fineness that are asked for."""

    def __init__(self, ctx: Context, route: Route, params: Directions) -> None:
        self._unit_m = UNIT_M[params.units]
        self._params = params
        self._route = route
        line = route.positions
        self._climbs: list[tuple[float, float]] = []
        if params.elevation:
            heights = make_profile(get_rasters(ctx), line).heights.heights_m
            heights = np.where(np.isnan(heights), 0.0, heights)
            self._climbs = [climb(heights[leg.begin : leg.end + 1]) for leg in route.legs]
            line = np.column_stack([line, heights])
        #: Index in the route's own line → in the line that is written.
        self._places = {index: index for index in _find_needed(route)}
        if params.geometry_simplify:
            needed = sorted(self._places)
            line, moved = thin(line, needed)
            self._places = dict(zip(needed, moved, strict=True))
        self.line = line

    @property
    def bbox(self) -> list[float]:
        """Return west, south, east, north; with heights, the lowest and highest too."""
        return [*self.line.min(axis=0).tolist(), *self.line.max(axis=0).tolist()]

    def encode(self) -> str:
        """Return the line as text."""
        heights = self.line[:, 2] if self.line.shape[1] == 3 else None
        return encode_polyline(self.line[:, :2], 5, heights)

    def to_members(self, extras: dict[str, Any] | None) -> dict[str, Any]:
        """Return segments, summary and places of the coordinates."""
        route, params = self._route, self._params
        members: dict[str, Any] = {
            "segments": self._write_segments(),
            "summary": {
                "distance": self._length(route.distance_m),
                "duration": round(route.duration_s, 1),
            },
            "way_points": [self._places[leg.begin] for leg in route.legs]
            + [self._places[route.legs[-1].end]],
        }
        if params.elevation:
            up, down = (round(sum(values), 1) for values in zip(*self._climbs, strict=True))
            members["summary"] |= {"ascent": up, "descent": down}
        if extras is not None:
            members["extras"] = extras
        return members

    def _length(self, meters: float) -> float:
        return round(meters / self._unit_m, 1 if self._unit_m == 1.0 else 3)

    def _write_segments(self) -> list[dict[str, Any]]:
        route, params = self._route, self._params
        bearings: dict[int, tuple[int, int]] = {}
        if params.maneuvers:
            needed = sorted(self._places)
            found = find_bearings(route.positions, needed)
            bearings = dict(zip(needed, found, strict=True))
        segments = []
        for index, leg in enumerate(route.legs):
            segment: dict[str, Any] = {
                "distance": self._length(leg.distance_m),
                "duration": round(leg.duration_s, 1),
            }
            if params.instructions:
                segment["steps"] = [self._write_step(step, bearings) for step in leg.steps]
            segment |= self._write_attributes(leg)
            if params.elevation:
                segment["ascent"], segment["descent"] = self._climbs[index]
            segments.append(segment)
        return segments

    def _write_attributes(self, leg: Leg) -> dict[str, Any]:
        route = self._route
        found: dict[str, float] = {}
        for name in self._params.attributes:
            if name == "avgspeed":  # of an hour: km, or miles
                unit_m = UNIT_M["mi" if self._params.units == "mi" else "km"]
                hours = leg.duration_s / 3_600
                found[name] = round(leg.distance_m / unit_m / hours, 2) if hours else 0.0
            elif name == "percentage":
                share = leg.distance_m / route.distance_m if route.distance_m else 1.0
                found[name] = round(100 * share, 2)
            else:
                ends = route.positions[[leg.begin, leg.end]]
                air_m = float(haversine_m(*ends[0], *ends[1]))
                found[name] = round(leg.distance_m / air_m, 2) if air_m else 1.0
        return found

    def _write_step(self, step: Step, bearings: Mapping[int, tuple[int, int]]) -> dict[str, Any]:
        text = step.instruction
        if self._params.instructions_format == "html":
            text = html.escape(text, quote=False)
            if step.name:
                name = html.escape(step.name, quote=False)
                text = text.replace(name, f"<b>{name}</b>")
        written: dict[str, Any] = {
            "distance": self._length(step.distance_m),
            "duration": round(step.duration_s, 1),
            "type": _TYPES.get(step.maneuver, _STRAIGHT),
            "instruction": text,
            "name": step.name or "-",
            "way_points": [self._places[step.begin], self._places[step.end]],
        }
        if step.roundabout_exit is not None:
            written["exit_number"] = step.roundabout_exit
        if bearings:
            before, after = bearings[step.begin]
            written["maneuver"] = {
                "location": self._route.positions[step.begin].tolist(),
                "bearing_before": before,
                "bearing_after": after,
            }
        return written


def _find_needed(route: Route) -> set[int]:
    """Return the places of the line that steps and legs name."""
    found = {0, len(route.positions) - 1}
    for leg in route.legs:
        found |= {leg.begin, leg.end}
        for step in leg.steps:
            found |= {step.begin, step.end}
    return found


def join_boxes(boxes: Sequence[list[float]]) -> list[float]:
    """Return the box of boxes."""
    half = len(boxes[0]) // 2
    together: NDArray[np.float64] = np.array(boxes)
    return [*together[:, :half].min(axis=0).tolist(), *together[:, half:].max(axis=0).tolist()]
