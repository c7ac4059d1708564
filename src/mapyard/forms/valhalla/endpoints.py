"""Valhalla's calls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from typing import Annotated, Any, Final

import numpy as np
import orjson
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.elevation.profile import MAX_POINTS as MAX_HEIGHTS
from mapyard.elevation.profile import find_heights, make_profile
from mapyard.errors import InvalidRequest, MapyardError, NotFound
from mapyard.forms.roads import check_pairs
from mapyard.forms.valhalla.heights import MILES, add_heights
from mapyard.forms.valhalla.params import (
    CARRIED,
    REFUSED,
    Costed,
    Height,
    Isochrone,
    Locate,
    Location,
    Matrix,
    Request,
    Route,
    Trace,
    read_line,
    read_mode,
    read_positions,
    read_request,
    read_shape,
    write_end,
    write_location,
    write_request,
)
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked, Example, Handler, endpoint
from mapyard.library.questions.roads import MAX_POINTS as MAX_ENDS
from mapyard.library.ways import get_engine, get_rasters
from mapyard.params.parser import Params, parser_of
from mapyard.routing.matching.match import MAX_POINTS
from mapyard.routing.matrix import MAX_PAIRS, compute_matrix
from mapyard.routing.meta import GraphMeta
from mapyard.routing.modes import ASSUMED_DEPARTURE, ASSUMED_TIME
from mapyard.routing.native import ask_route
from mapyard.routing.polyline import encode_polyline
from mapyard.routing.route import MOST_POSITIONS
from mapyard.routing.snapping import (
    CONNECTED_REACH,
    DEFAULT_RADIUS_M,
    check_on_roads,
    find_connected,
)
from mapyard.routing.tours.order import optimize_order

_TAG: Final = "Valhalla"
JSON: Final = "application/json; charset=utf-8"
_MOST_OPTIMIZED: Final = 50
#: What the original calls a matrix of ways that are searched from both ends.
_ALGORITHM: Final = "costmatrix"
_MOST_LOCATED: Final = 100
#: Pairs that the engine is asked for at once.
_PAIRS_OF_ENGINE: Final = 2_500
#: What the engine says of the time that rules of hours are taken at.
_ASSUMED: Final = ("date_time", "time_zone_offset", "time_zone_name")
_KM_PER_MILE: Final = 1.609344
ACTIONS: Final = (
    "route", "optimized_route", "sources_to_targets", "isochrone", "trace_route",
    "trace_attributes", "locate", "height", "expansion", "status",
)  # fmt: skip
_NO_MATCH: Final = 444
#: The original's code of each of our errors, and its status.
_CODES: Final = {
    "no_road_found": 171, "no_route_found": 442, "too_large": 150, "no_costing": 125,
    "not_found": 106, "method_not_allowed": 101, "invalid_request": 100,
    "validation_failed": _NO_MATCH, "not_installed": 107,
}  # fmt: skip
_UNKNOWN: Final = 199
_REFUSALS: Final = (400, 413, 422)
_PHRASES: Final = {
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 408: "Request Timeout", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
}  # fmt: skip
FROM_TO: Final = [{"lat": 43.7384, "lon": 7.4246}, {"lat": 43.7314, "lon": 7.4197}]


def write_error(error: MapyardError, _asked: Asked) -> Answer:
    """Return an error as Valhalla writes it; for nearly all it has status 400."""
    status = 400 if error.status in _REFUSALS or error.code.startswith("no_") else error.status
    code = _CODES.get(error.code, _UNKNOWN)
    if code == _NO_MATCH and "trace" not in (error.details or {}):
        code = _CODES["invalid_request"]
    body = {
        "error_code": code,
        "error": error.message,
        "status_code": status,
        "status": _PHRASES.get(status, "Error"),
    }
    return Answer(orjson.dumps(body), JSON, status, headers=error.headers)


def declare(
    name: str, summary: str, example: dict[str, Any], **options: Any
) -> Callable[[Handler], Handler]:
    """Declare a call: premium, by GET with ?json= or by POST, with the original's errors."""
    shared: dict[str, Any] = {"refused": REFUSED, **options}
    return endpoint(
        f"/valhalla/{name}",
        methods=("GET", "POST"),
        summary=summary,
        tag=_TAG,
        premium=True,
        media_types=(JSON,),
        write_error=write_error,
        examples=[Example(example)],
        **shared,
    )


@declare(
    "route",
    "Route as of Valhalla",
    {"locations": FROM_TO, "costing": "pedestrian"},
)
def route(ctx: Context, params: Route) -> Answer:
    """Find the quickest way through locations in their order."""
    params = read_request(params, _ROUTE)
    positions = read_positions(params.locations, "locations", MOST_POSITIONS)
    _need(positions, 2)
    return _answer_route(ctx, params, positions, params.locations)


@declare(
    "optimized_route",
    "Best order of locations as of Valhalla",
    {"locations": [*FROM_TO, {"lat": 43.7402, "lon": 7.4273}], "costing": "pedestrian"},
    heavy=True,
)
def optimized_route(ctx: Context, params: Route) -> Answer:
    """Find the quickest way from the first location over all others to the last."""
    params = read_request(params, _ROUTE)
    positions = read_positions(params.locations, "locations", _MOST_OPTIMIZED)
    _need(positions, 2)
    order = [0, 1]
    if len(positions) > 2:
        tour = optimize_order(
            get_engine(ctx), positions, read_mode(params), roundtrip=False, first=0,
            last=len(positions) - 1, deadline=ctx.deadline,
        )  # fmt: skip
        order = tour.order.tolist()
    places = tuple(params.locations[index] for index in order)
    return _answer_route(ctx, params, positions[order], places, order)


@declare(
    "sources_to_targets",
    "Matrix as of Valhalla",
    {"sources": FROM_TO[:1], "targets": FROM_TO[1:], "costing": "pedestrian"},
    heavy=True,
)
def sources_to_targets(ctx: Context, params: Matrix) -> Answer:
    """Return times, in seconds, and distances from each source to each target."""
    params = read_request(params, _MATRIX)
    sources = read_positions(params.sources, "sources", MAX_ENDS)
    targets = read_positions(params.targets, "targets", MAX_ENDS)
    most = check_pairs(ctx, len(sources), len(targets), InvalidRequest)
    if _is_plain(params):
        found = compute_matrix(
            get_engine(ctx), sources, targets, read_mode(params), max_pairs=most,
            deadline=ctx.deadline,
        )  # fmt: skip
        times, meters = found.durations_s, found.distances_m
    else:
        times, meters = _ask_matrix(ctx, params, sources, targets)
    unit_m = 1_000.0 * (_KM_PER_MILE if params.units in MILES else 1.0)
    distances = np.round(meters / unit_m, 3)
    body: dict[str, Any] = {}
    if params.verbose:
        body["sources_to_targets"] = _write_cells(ctx, times, distances)
    else:
        body["sources_to_targets"] = {"durations": times, "distances": distances}
    if params.verbose:
        body["sources"] = [{"lon": lon, "lat": lat} for lon, lat in sources.tolist()]
        body["targets"] = [{"lon": lon, "lat": lat} for lon, lat in targets.tolist()]
    body["units"] = "miles" if params.units in MILES else "kilometers"
    body["algorithm"] = _ALGORITHM
    return _answer(body, params)


@declare(
    "isochrone",
    "Isochrones as of Valhalla",
    {"locations": FROM_TO[:1], "costing": "pedestrian", "contours": [{"time": 5}]},
)
def isochrone(ctx: Context, params: Isochrone) -> Answer:
    """Return what can be reached within minutes or kilometers, as lines or areas."""
    params = read_request(params, _ISOCHRONE)
    positions = read_positions(params.locations, "locations", 1)
    if not params.contours:
        raise InvalidRequest("contours: insufficiently specified required parameter")
    if any((contour.time is None) == (contour.distance is None) for contour in params.contours):
        raise InvalidRequest("contours: each has a time or a distance")
    mode = read_mode(params)
    check_on_roads(get_engine(ctx), positions, mode, DEFAULT_RADIUS_M)
    request = {**ASSUMED_DEPARTURE, **write_request(params, "locations")}
    _, moved = find_connected(get_engine(ctx), positions, mode, DEFAULT_RADIUS_M, "origin")
    reach = {"minimum_reachability": CONNECTED_REACH} if moved[0] else {}
    request["locations"] = [write_location(place) | reach for place in params.locations]
    return _answer(get_engine(ctx).call("isochrone", request), params)


@declare(
    "trace_route",
    "Route along a trace as of Valhalla",
    {"shape": FROM_TO, "costing": "pedestrian", "shape_match": "map_snap"},
    heavy=True,
)
def trace_route(ctx: Context, params: Trace) -> Answer:
    """Return the way that a trace was travelled on, with directions."""
    return _answer_trace(ctx, params, "trace_route")


@declare(
    "trace_attributes",
    "Roads of a trace as of Valhalla",
    {"shape": FROM_TO, "costing": "pedestrian", "shape_match": "map_snap"},
    heavy=True,
)
def trace_attributes(ctx: Context, params: Trace) -> Answer:
    """Return what is known of the roads that a trace was travelled on."""
    return _answer_trace(ctx, params, "trace_attributes")


@declare(
    "locate",
    "Roads near locations as of Valhalla",
    {"locations": FROM_TO[:1], "costing": "pedestrian"},
)
def locate(ctx: Context, params: Locate) -> Answer:
    """Return the roads near each location."""
    params = read_request(params, _LOCATE)
    read_positions(params.locations, "locations", _MOST_LOCATED)
    request = write_request(params, "locations")
    request["locations"] = [write_location(place) for place in params.locations]
    return Answer.json(get_engine(ctx).call("locate", request), JSON)


@declare(
    "height",
    "Heights as of Valhalla",
    {"shape": FROM_TO},
    refused=None,
)
def height(ctx: Context, params: Height) -> Answer:
    """Return the heights of a line or of points, meters; null where there is no data."""
    params = read_request(params, _HEIGHT)
    line = read_shape(params, MAX_HEIGHTS)
    rasters = get_rasters(ctx)
    if params.range or params.resample_distance is not None:
        _need(line, 2)
        profile = make_profile(rasters, line, interval_m=params.resample_distance)
        line, heights, along_m = profile.positions, profile.heights.heights_m, profile.distances_m
    else:
        heights, along_m = find_heights(rasters, line).heights_m, None
    heights = np.round(heights, params.height_precision)
    body: dict[str, Any] = {}
    if params.encoded_polyline:
        digits = 5 if params.shape_format == "polyline5" else 6
        body["encoded_polyline"] = encode_polyline(line[:, :2], digits)
    else:
        body["shape"] = [{"lat": lat, "lon": lon} for lon, lat in line[:, :2].tolist()]
    if params.range:
        assert along_m is not None
        body["range_height"] = np.column_stack([np.round(along_m), heights])
    else:
        body["height"] = heights
    return _answer(body, params)


class StatusParams(Params):
    """What Valhalla takes at /status."""

    json: Annotated[str, Meta(max_length=1_000, description="the request as text, for GET")] = ""
    verbose: Annotated[bool, Meta(description="what the road graph has")] = False


@endpoint(
    "/valhalla/status",
    methods=("GET", "POST"),
    summary="State as of Valhalla",
    tag=_TAG,
    public=True,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({})],
)
def status(ctx: Context, params: StatusParams) -> Answer:
    """Say which version answers, of when the data is, and what there is."""
    text = ctx.snapshot.find_data_time("routing")
    modified = int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()) if text else 0
    body = {
        "version": version("pyvalhalla"), "tileset_last_modified": modified,
        "available_actions": list(ACTIONS),
    }  # fmt: skip
    if params.verbose or b'"verbose":true' in params.json.replace(" ", "").encode():
        body |= _describe_graph(ctx)
    return Answer.json(body, JSON)


def _describe_graph(ctx: Context) -> dict[str, Any]:
    try:
        graph = GraphMeta.read(ctx.snapshot.folder / "routing")
    except FileNotFoundError:
        return {"has_tiles": False}
    west, south, east, north = ctx.snapshot.manifest.bbox or (-180, -90, 180, 90)
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    area = {"type": "Polygon", "coordinates": [ring]}
    feature = {"type": "Feature", "properties": {}, "geometry": area}
    return {
        "has_tiles": True,
        "has_admins": True,
        "has_timezones": graph.timezone_count > 0,
        "has_live_traffic": False,
        "bbox": {"type": "FeatureCollection", "features": [feature]},
    }


class Elsewhere(Params):
    """A call that there is not."""

    action: Annotated[str, Meta(max_length=200, description="of the path")]


@endpoint(
    "/valhalla/{action}",
    methods=("GET", "POST"),
    summary="Other calls of Valhalla: refused in its words",
    tag="",
    media_types=(JSON,),
    write_error=write_error,
    needs_dataset=False,
)
def elsewhere(ctx: Context, params: Elsewhere) -> Answer:
    """Say which calls there are."""
    known = " ".join(f"'/{action}'" for action in ACTIONS)
    raise NotFound(f"{params.action[:40]} is not served; try any of: {known}")


_ROUTE: Final = parser_of(Route)
_MATRIX: Final = parser_of(Matrix)
_ISOCHRONE: Final = parser_of(Isochrone)
_LOCATE: Final = parser_of(Locate)
_TRACE: Final = parser_of(Trace)
_HEIGHT: Final = parser_of(Height)


def _need(positions: NDArray[np.float64], count: int) -> None:
    if len(positions) < count:
        raise InvalidRequest(f"insufficient number of locations provided: {count} are needed")


def _answer(body: dict[str, Any], params: Request) -> Answer:
    return Answer.json(body | ({"id": params.id} if params.id else {}), JSON)


def _answer_route(
    ctx: Context,
    params: Route,
    positions: NDArray[np.float64],
    places: tuple[Location, ...],
    order: list[int] | None = None,
) -> Answer:
    request = write_request(params, "locations")
    ends = [write_end(place) for place in places]
    body = ask_route(get_engine(ctx), positions, read_mode(params), request, ends)
    if params.format == "json":
        for answer in (body, *body.get("alternates", ())):
            # As asked: they may have been moved to a connected road.
            found = answer["trip"]["locations"]
            for index, (place, (lon, lat), asked) in enumerate(
                zip(found, positions.tolist(), ends, strict=True)
            ):
                place |= {"lon": lon, "lat": lat}
                place |= {name: asked[name] for name in CARRIED if name in asked}
                if params.date_time is None:
                    for name in _ASSUMED:
                        place.pop(name, None)
                if order is not None:
                    place["original_index"] = order[index]
        if params.elevation_interval:
            add_heights(ctx, body, params)
    return _answer(body, params)


def _answer_trace(ctx: Context, params: Trace, action: Any) -> Answer:
    params = read_request(params, _TRACE)
    request = write_request(params, "shape", "encoded_polyline")
    if params.encoded_polyline:
        line = read_line(params.encoded_polyline, 6, MAX_POINTS)
        request["shape"] = [{"lon": lon, "lat": lat} for lon, lat in line.tolist()]
    else:
        line = read_positions(params.shape, "shape", MAX_POINTS)
        request["shape"] = [
            {"lon": place.lon, "lat": place.lat, **write_end(place)} for place in params.shape
        ]
    _need(line, 2)
    body = get_engine(ctx).call(action, request)
    if params.elevation_interval and params.format == "json":
        add_heights(ctx, body, params)
    return _answer(body, params)


def _is_plain(params: Matrix) -> bool:
    """Whether cells depend on the mode alone, so that our tables have them."""
    said: Costed = params
    return not (
        said.costing_options or said.date_time or said.exclude_locations or said.avoid_locations
        or said.exclude_polygons or said.avoid_polygons
        or any(write_end(place) for place in (*params.sources, *params.targets))
    )  # fmt: skip


def _write_cells(
    ctx: Context, times: NDArray[np.float64], distances: NDArray[np.float64]
) -> list[orjson.Fragment]:
    """Return the rows; each is written at once, as objects per cell would take much memory."""
    rows = []
    for row, (times_s, meters) in enumerate(zip(times, distances, strict=True)):
        ctx.deadline.check()
        cells = zip(times_s.tolist(), meters.tolist(), strict=True)
        # Numbers that are none become null.
        written = [
            {"from_index": row, "to_index": column, "time": time_s, "distance": distance}
            for column, (time_s, distance) in enumerate(cells)
        ]
        rows.append(orjson.Fragment(orjson.dumps(written)))
    return rows


def _ask_matrix(
    ctx: Context, params: Matrix, sources: NDArray[np.float64], targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return seconds and meters as the engine has them, for what tables do not know."""
    engine, mode = get_engine(ctx), read_mode(params)
    everything = np.concatenate([sources, targets])
    check_on_roads(engine, everything, mode, DEFAULT_RADIUS_M)
    if len(sources) * len(targets) > MAX_PAIRS:  # one call, which cannot be stopped
        raise InvalidRequest(
            f"{len(sources)} × {len(targets)} pairs, at most {MAX_PAIRS} with costing_options, "
            "date_time or options of locations"
        )
    found = _ask_engine(ctx, params, sources, targets)
    if np.isnan(found[0]).any():
        # Ends on roads without connection go to a connected road nearby, as in routes.
        sources, _ = find_connected(engine, sources, mode, DEFAULT_RADIUS_M, "origin")
        targets, _ = find_connected(engine, targets, mode, DEFAULT_RADIUS_M, "destination")
        others = _ask_engine(ctx, params, sources, targets)
        empty = np.isnan(found[0])
        found = np.where(empty, others[0], found[0]), np.where(empty, others[1], found[1])
    return found


def _ask_engine(
    ctx: Context, params: Matrix, sources: NDArray[np.float64], targets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    request = {**ASSUMED_TIME, **write_request(params, "sources", "targets", "units")}
    ends = [
        [
            write_location(place) | {"lon": lon, "lat": lat}
            for place, (lon, lat) in zip(places, positions.tolist(), strict=True)
        ]
        for places, positions in ((params.sources, sources), (params.targets, targets))
    ]
    request |= {"verbose": False, "targets": ends[1]}
    rows_per_call = max(1, _PAIRS_OF_ENGINE // len(targets))
    times, meters = [], []
    for start in range(0, len(sources), rows_per_call):
        ctx.deadline.check()
        request["sources"] = ends[0][start : start + rows_per_call]
        answer = get_engine(ctx).call("matrix", request, one_search_per_origin=False)
        cells = answer["sources_to_targets"]
        times.append(np.array(cells["durations"], np.float64))
        meters.append(np.array(cells["distances"], np.float64) * 1_000.0)
    all_times = np.concatenate(times)
    return all_times, np.where(np.isnan(all_times), np.nan, np.concatenate(meters))
