"""GraphHopper's answers: errors and paths."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.elevation.profile import climb, make_profile
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.forms.graphhopper.params import Drawn, read_digits
from mapyard.forms.roads import find_edges_of, find_stretches
from mapyard.geo.lines import find_bearings
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked
from mapyard.library.ways import find_way_tags, get_rasters
from mapyard.routing.costing import CostingOptions
from mapyard.routing.edges import EdgeInfo
from mapyard.routing.modes import Mode
from mapyard.routing.polyline import encode_polyline
from mapyard.routing.steps import Step
from mapyard.routing.trip import Route

JSON: Final = "application/json"
_REFUSALS: Final = (400, 404, 413, 422)
EXCEPTIONS: Final = {
    "no_road_found": "com.graphhopper.util.exceptions.PointNotFoundException",
    "no_route_found": "com.graphhopper.util.exceptions.ConnectionNotFoundException",
}
_EXCEPTION: Final = "java.lang.IllegalArgumentException"
COPYRIGHTS: Final = ["OpenStreetMap contributors"]

#: What a step does → the original's sign.
_SIGNS: Final = {
    "turn left": -2, "turn right": 2, "sharp left": -3, "sharp right": 3, "bear left": -1,
    "bear right": 1, "merge left": -1, "merge right": 1, "enter roundabout": 6,
    "exit roundabout": -6, "uturn left": -8, "uturn right": 8, "keep left": -7, "keep right": 7,
    "ramp left": -7, "ramp right": 7, "exit left": -7, "exit right": 7, "board ferry": 9,
}  # fmt: skip
_STRAIGHT, _FINISH, _VIA = 0, 4, 5
#: Figures that are those of edges, by the name that asks for them.
_OF_EDGES: Final = (
    "street_name", "edge_id", "osm_way_id", "road_class", "road_environment", "surface", "toll",
    "average_speed", "max_speed", "time", "distance",
)  # fmt: skip
_OF_LEGS: Final = ("leg_time", "leg_distance")


def write_error(error: MapyardError, _asked: Asked) -> Answer:
    """Return an error as GraphHopper writes it: of all wrong questions the status is 400."""
    status = 400 if error.status in _REFUSALS else error.status
    body: dict[str, Any] = {"message": error.message}
    if status == 400:
        hint: dict[str, Any] = {
            "message": error.message, "details": EXCEPTIONS.get(error.code, _EXCEPTION),
        }  # fmt: skip
        index = (error.details or {}).get("index")
        if isinstance(index, int):
            hint["point_index"] = index
        body["hints"] = [hint]
    return Answer(orjson.dumps(body), JSON, status, headers=error.headers)


def answer(ctx: Context, members: dict[str, Any]) -> Answer:
    """Return an answer with what is said of the data in all of them."""
    info: dict[str, Any] = {"copyrights": COPYRIGHTS, "took": math.ceil(ctx.elapsed_s * 1e3)}
    if timestamp := ctx.snapshot.find_data_time("routing"):
        info["road_data_timestamp"] = timestamp
    return Answer.json({"info": info, **members}, JSON)


def make_path(
    ctx: Context,
    route: Route,
    params: Drawn,
    mode: Mode,
    options: CostingOptions | None = None,
    *,
    with_via: bool = True,
) -> dict[str, Any]:
    """Return one route."""
    path: dict[str, Any] = {
        "distance": route.distance_m,
        "weight": round(route.duration_s, 3),
        "time": round(route.duration_s * 1_000),
        "transfers": 0,
    }
    if not params.calc_points:
        return path
    line = route.positions
    snapped = np.array([(point.lon, point.lat) for point in route.waypoints])
    if params.elevation:
        heights = np.nan_to_num(make_profile(get_rasters(ctx), line).heights.heights_m)
        path["ascend"], path["descend"] = climb(heights)
        nearest = [
            int(np.abs(line - point).sum(axis=1).argmin()) for point in snapped
        ]  # a waypoint or two
        snapped = np.column_stack([snapped, heights[nearest]])
        line = np.column_stack([line, heights])
    else:
        path |= {"ascend": 0.0, "descend": 0.0}
    low, high = line[:, :2].min(axis=0), line[:, :2].max(axis=0)
    path |= {
        "points_encoded": params.points_encoded,
        "bbox": [*low.tolist(), *high.tolist()],
        "points": _write_line(line, params),
        "snapped_waypoints": _write_line(snapped, params),
        "legs": [],
        "details": _make_details(ctx, route, params, mode, options),
    }
    if params.points_encoded:
        path["points_encoded_multiplier"] = params.points_encoded_multiplier
    if params.instructions:
        path["instructions"] = _write_steps(route, with_via=with_via)
    return path


def _write_line(line: NDArray[np.float64], params: Drawn) -> Any:
    if not params.points_encoded:
        return {"type": "LineString", "coordinates": line.tolist()}
    heights = line[:, 2] if line.shape[1] == 3 else None
    return encode_polyline(line[:, :2], read_digits(params), heights)


def _write_steps(route: Route, *, with_via: bool) -> list[dict[str, Any]]:
    written = []
    for number, leg in enumerate(route.legs, 1):
        is_last = number == len(route.legs)
        for step in leg.steps:
            if step.maneuver == "arrive" and not is_last:
                if with_via:
                    written.append(_write_step(step, _VIA, f"Waypoint {number}"))
                continue
            made = _write_step(step, _find_sign(step), step.instruction)
            if step.maneuver == "depart":
                ((_, made["heading"]),) = find_bearings(route.positions, (step.begin,))
            written.append(made)
    return written


def _find_sign(step: Step) -> int:
    return _FINISH if step.maneuver == "arrive" else _SIGNS.get(step.maneuver, _STRAIGHT)


def _write_step(step: Step, sign: int, text: str) -> dict[str, Any]:
    written: dict[str, Any] = {
        "text": text,
        "street_name": step.name or "",
        "distance": step.distance_m,
        "time": round(step.duration_s * 1_000),
        "sign": sign,
        "interval": [step.begin, step.end],
    }
    if step.roundabout_exit is not None:
        written |= {"exit_number": step.roundabout_exit, "exited": True}
    return written


def _make_details(
    ctx: Context, route: Route, params: Drawn, mode: Mode, options: CostingOptions | None
) -> dict[str, list[list[Any]]]:
    unknown = [name for name in params.details if name not in (*_OF_EDGES, *_OF_LEGS)]
    if unknown:
        known = ", ".join((*_OF_EDGES, *_OF_LEGS))
        raise InvalidRequest(
            f"cannot find the path details: {', '.join(name[:40] for name in unknown)}; "
            f"there are {known}"
        )
    details: dict[str, list[list[Any]]] = {}
    for name in params.details:
        if name in _OF_LEGS:
            details[name] = [
                [leg.begin, leg.end, leg.distance_m if name == "leg_distance"
                 else round(leg.duration_s * 1_000)]
                for leg in route.legs
            ]  # fmt: skip
    wanted = [name for name in params.details if name in _OF_EDGES]
    if wanted:
        path, ends = find_edges_of(ctx, route, mode, options)
        lengths_m, durations_s = path.lengths_m.tolist(), path.durations_s.tolist()
        tags = {edge.way_id: find_way_tags(ctx, edge.way_id) for edge in path.edges}
        for name in wanted:
            values: list[Any]
            if name == "time":
                values = [round(seconds * 1_000) for seconds in durations_s]
            elif name == "distance":
                values = [round(meters, 3) for meters in lengths_m]
            else:
                values = [_read_edge(name, edge, tags[edge.way_id]) for edge in path.edges]
            details[name] = find_stretches(values, ends)
    return details


def _read_edge(name: str, edge: EdgeInfo, tags: dict[str, str]) -> Any:
    if name == "street_name":
        return edge.name or ""
    if name == "edge_id":
        return edge.edge_id
    if name == "osm_way_id":
        return edge.way_id
    if name == "road_class":
        return tags.get("highway", "other").removesuffix("_link")
    if name == "road_environment":
        kinds = (("ferry", edge.use == "ferry"), ("tunnel", edge.tunnel), ("bridge", edge.bridge))
        return next((kind for kind, holds in kinds if holds), "road")
    if name == "surface":
        return tags.get("surface", "missing")
    if name == "toll":
        return "all" if edge.toll else "no"
    if name == "average_speed":
        return edge.speed_kmh
    text = tags.get("maxspeed", "")
    return float(text) if text.isascii() and text.isdigit() else None
