"""OSRM's services."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.forms.osrm.answers import (
    JSON,
    finish_routes,
    finish_waypoints,
    join_routes,
    make_error_writer,
    make_waypoint,
    read_annotations,
    write_request,
)
from mapyard.forms.osrm.params import (
    RADIUS_M,
    BadAddress,
    BadOptions,
    BadValue,
    Common,
    Drawn,
    read_coordinates,
    read_exclusions,
    read_indexes,
    read_list,
    read_mode,
    read_radius,
    read_stops,
)
from mapyard.forms.roads import find_ends, name_of
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.ways import get_engine
from mapyard.osm.elements import WAY
from mapyard.params.parser import Params
from mapyard.routing.matching.match import MAX_POINTS, MAX_RADIUS_M, Match, match_trace
from mapyard.routing.matrix import MAX_PAIRS, Matrix, compute_matrix, fill_unreachable
from mapyard.routing.modes import make_costing
from mapyard.routing.native import ask_route
from mapyard.routing.nearest import MAX_NUMBER, find_nearest
from mapyard.routing.nearest import MAX_RADIUS_M as NEAREST_RADIUS_M
from mapyard.routing.route import MAX_ALTERNATIVES, MAX_POSITIONS
from mapyard.routing.snapping import Snapped
from mapyard.routing.tours.order import MAX_STOPS, optimize_order

_TAG: Final = "OSRM"
_MONACO: Final = {"profile": "driving", "coordinates": "7.4246,43.7384;7.4197,43.7314"}
#: How far apart the engine's and our matched points may be, meters.
_MATCH_RADIUS_M: Final = 5.0

_no_route = make_error_writer("NoRoute", "InvalidValue")
_no_table = make_error_writer("NoTable", "InvalidValue")
_no_match = make_error_writer("NoMatch", "NoMatch")
_no_trips = make_error_writer("NoTrips", "InvalidValue")


class Route(Drawn, kw_only=True):
    """A way through coordinates."""

    alternatives: Annotated[
        str, Meta(max_length=20, description="true, false, or how many, at most 3")
    ] = "false"
    continue_straight: Annotated[
        Literal["default", "true", "false"],
        Meta(description="true: no turning around at coordinates on the way"),
    ] = "default"
    waypoints: Annotated[
        str, Meta(max_length=2_000, description="indexes of coordinates that end legs")
    ] = ""


class Table(Common, kw_only=True):
    """Durations between coordinates."""

    sources: Annotated[str, Meta(max_length=65_536, description="indexes, or all")] = "all"
    destinations: Annotated[str, Meta(max_length=65_536, description="indexes, or all")] = "all"
    annotations: Annotated[
        str, Meta(max_length=40, description="duration, distance, or both by comma")
    ] = "duration"
    fallback_speed: Annotated[
        float | None, Meta(gt=0, description="m/s as the crow flies, where no way leads")
    ] = None
    fallback_coordinate: Annotated[
        Literal["input", "snapped"], Meta(description="between which the crow flies")
    ] = "input"
    scale_factor: Annotated[float, Meta(gt=0, description="multiplies durations")] = 1.0


class Nearest(Common, kw_only=True):
    """A coordinate."""

    number: Annotated[int, Meta(ge=1, description=f"of roads, at most {MAX_NUMBER}")] = 1


class MatchParams(Drawn, kw_only=True):
    """A trace."""

    timestamps: Annotated[
        str, Meta(max_length=262_144, description="seconds per coordinate, ascending")
    ] = ""
    gaps: Annotated[Literal["split", "ignore"], Meta(description="split is served")] = "split"
    tidy: Annotated[bool, Meta(description="not needed: noise is averaged always")] = False
    waypoints: Annotated[
        str, Meta(max_length=65_536, description="indexes of coordinates that end legs")
    ] = ""


class Trip(Drawn, kw_only=True):
    """Stops in any order."""

    roundtrip: Annotated[bool, Meta(description="ends where it began")] = True
    source: Annotated[Literal["any", "first"], Meta(description="where it begins")] = "any"
    destination: Annotated[Literal["any", "last"], Meta(description="where it ends")] = "any"


@endpoint(
    "/osrm/route/v1/{profile}/{coordinates}",
    summary="Route as of OSRM",
    tag=_TAG,
    premium=True,
    media_types=(JSON,),
    write_error=_no_route,
    examples=[Example({**_MONACO, "steps": "true"})],
)
def route(ctx: Context, params: Route) -> Answer:
    """Find the quickest way through coordinates in their order."""
    _refuse_unknown(ctx)
    lonlat = read_coordinates(params.coordinates, MAX_POSITIONS)
    mode, count = read_mode(params), len(lonlat)
    ends = [stop.write() for stop in read_stops(params, count)]
    stops = _read_waypoints(params.waypoints, count)
    for index in range(1, count - 1):
        if index not in stops:
            ends[index]["type"] = "through" if params.continue_straight == "true" else "via"
        elif params.continue_straight == "true":
            ends[index]["type"] = "break_through"
    alternatives = _read_alternatives(params.alternatives)
    annotations = read_annotations(params.annotations)
    request = make_costing(mode, read_exclusions(params)) | write_request(params, annotations)
    if alternatives and count == 2:
        request["alternates"] = alternatives
    answer = ask_route(get_engine(ctx), lonlat, mode, request, ends, RADIUS_M)
    body = {
        "code": "Ok",
        "routes": finish_routes(answer["routes"], params, annotations),
        "waypoints": [answer["waypoints"][index] for index in stops],
    }
    return _answer(ctx, body, params, lonlat[stops])


@endpoint(
    "/osrm/table/v1/{profile}/{coordinates}",
    summary="Durations between coordinates as of OSRM",
    tag=_TAG,
    premium=True,
    heavy=True,
    refused={
        "bearings": "not served for tables: cells go from the nearest road, in both directions",
        "approaches": "not served for tables; ask for routes",
        "exclude": "not served for tables; ask for routes",
    },
    media_types=(JSON,),
    write_error=_no_table,
    examples=[Example({**_MONACO, "annotations": "duration,distance"})],
)
def table(ctx: Context, params: Table) -> Answer:
    """Return durations, in seconds, and distances from sources to destinations."""
    _refuse_unknown(ctx)
    lonlat = read_coordinates(params.coordinates, MAX_PAIRS)
    mode, engine = read_mode(params), get_engine(ctx)
    asked = params.annotations.split(",")
    if not set(asked) <= {"duration", "distance"}:
        raise BadValue("annotations: are duration, distance, or both by comma")
    rows = read_indexes("sources", params.sources, len(lonlat))
    columns = read_indexes("destinations", params.destinations, len(lonlat))
    if len(rows) * len(columns) > MAX_PAIRS:
        raise TooLarge(f"{len(rows)} × {len(columns)} cells, at most {MAX_PAIRS}")
    radiuses_m = read_list("radiuses", params.radiuses, len(lonlat), read_radius)
    ends = find_ends(ctx, lonlat, mode, [radius or RADIUS_M for radius in radiuses_m])
    origins, destinations = lonlat[rows], lonlat[columns]
    found = compute_matrix(
        engine,
        origins,
        destinations,
        mode,
        radius_m=RADIUS_M,
        deadline=ctx.deadline,
        known=ends.known,
    )
    body: dict[str, Any] = {"code": "Ok"}
    if params.fallback_speed is not None:
        found, filled = _fill(found, lonlat, ends.roads, rows, columns, params)
        body["fallback_speed_cells"] = filled
    if "duration" in asked:
        body["durations"] = np.round(found.durations_s * params.scale_factor, 1)
    if "distance" in asked:
        body["distances"] = found.distances_m
    if not params.skip_waypoints:
        points = [
            make_waypoint(
                (road.lon, road.lat), road.distance_m, name_of(road),
                with_hint=params.generate_hints,
            )
            for road in ends.roads
        ]  # fmt: skip
        body["sources"] = [points[index] for index in rows]
        body["destinations"] = [points[index] for index in columns]
    return Answer.json(body, JSON)


@endpoint(
    "/osrm/nearest/v1/{profile}/{coordinates}",
    summary="Nearest roads as of OSRM",
    tag=_TAG,
    inline=True,
    premium=True,
    refused={
        "bearings": "not served for nearest: roads in all directions are found",
        "approaches": "not served for nearest",
        "exclude": "not served for nearest",
    },
    media_types=(JSON,),
    write_error=_no_route,
    examples=[Example({"profile": "driving", "coordinates": "7.4246,43.7384", "number": 2})],
)
def nearest(ctx: Context, params: Nearest) -> Answer:
    """Return the places on the nearest roads, nearest first."""
    _refuse_unknown(ctx)
    lonlat = read_coordinates(params.coordinates, 2, least=1)
    if len(lonlat) > 1:
        raise BadOptions("exactly one coordinate is needed")
    ((lon, lat),) = lonlat.tolist()
    (radius_m,) = read_list("radiuses", params.radiuses, 1, read_radius)
    if params.number > MAX_NUMBER:
        raise TooLarge(f"number: {params.number}, at most {MAX_NUMBER}")
    roads = find_nearest(
        get_engine(ctx), lon, lat, read_mode(params),
        radius_m=radius_m or NEAREST_RADIUS_M, number=params.number,
    )  # fmt: skip
    points = [
        {
            **make_waypoint(
                (road.lon, road.lat), road.distance_m, road.name, with_hint=params.generate_hints
            ),
            "nodes": _find_nodes(ctx, road.way_id, road.lon, road.lat),
        }
        for road in roads
    ]
    return Answer.json({"code": "Ok", "waypoints": points}, JSON)


@endpoint(
    "/osrm/match/v1/{profile}/{coordinates}",
    summary="Match a trace as of OSRM",
    tag=_TAG,
    premium=True,
    heavy=True,
    refused={
        "bearings": "not served for traces: the order of the points says where they go",
        "approaches": "not served for traces",
        "exclude": "not served for traces: they were travelled where they were",
    },
    media_types=(JSON,),
    write_error=_no_match,
    examples=[
        Example({"profile": "walking", "coordinates": "7.4246,43.7384;7.425,43.739;7.4255,43.7396"})
    ],
)
def match(ctx: Context, params: MatchParams) -> Answer:
    """Return the ways that a trace was travelled on, and its points on them."""
    _refuse_unknown(ctx)
    if params.gaps == "ignore":
        raise BadValue("gaps: ignore is not served: nothing is known of the way over a gap")
    lonlat = read_coordinates(params.coordinates, MAX_POINTS)
    count = len(lonlat)
    radiuses = read_list("radiuses", params.radiuses, count, read_radius)
    times = read_list("timestamps", params.timestamps, count, float)
    found = match_trace(
        get_engine(ctx),
        lonlat,
        read_mode(params),
        radiuses_m=np.array([min(radius or 50.0, MAX_RADIUS_M) for radius in radiuses]),
        timestamps_s=np.array(times, np.float64) if params.timestamps else None,
        deadline=ctx.deadline,
    )
    stops = set(_read_waypoints(params.waypoints, count))
    matchings, points = _describe_matchings(ctx, found, params, stops)
    body: dict[str, Any] = {"code": "Ok", "matchings": matchings}
    if not params.skip_waypoints:
        body["tracepoints"] = points
    return Answer.json(body, JSON)


@endpoint(
    "/osrm/trip/v1/{profile}/{coordinates}",
    summary="Best order of stops as of OSRM",
    tag=_TAG,
    premium=True,
    heavy=True,
    refused={
        "bearings": "not served for trips",
        "approaches": "not served for trips",
        "exclude": "not served for trips",
        "radiuses": "not served for trips",
    },
    media_types=(JSON,),
    write_error=_no_trips,
    examples=[
        Example(
            {"profile": "walking", "coordinates": "7.4246,43.7384;7.4197,43.7314;7.4273,43.7402"}
        )
    ],
)
def trip(ctx: Context, params: Trip) -> Answer:
    """Return the quickest tour through all coordinates, and their order in it."""
    _refuse_unknown(ctx)
    lonlat = read_coordinates(params.coordinates, MAX_STOPS)
    mode, engine = read_mode(params), get_engine(ctx)
    first, last = _read_trip_ends(params, len(lonlat))
    tour = optimize_order(
        engine, lonlat, mode, roundtrip=params.roundtrip, first=first, last=last,
        radius_m=RADIUS_M, deadline=ctx.deadline,
    )  # fmt: skip
    order = tour.order.tolist()
    path = [*order, order[0]] if params.roundtrip else order
    annotations = read_annotations(params.annotations)
    request = make_costing(mode) | write_request(params, annotations)
    parts, points = [], []
    for start in range(0, len(path) - 1, MAX_POSITIONS - 1):
        ctx.deadline.check()
        some = path[start : start + MAX_POSITIONS]
        answer = ask_route(engine, lonlat[some], mode, request, (), RADIUS_M)
        parts.append(answer["routes"][0])
        points += answer["waypoints"][1 if start else 0 :]
    routes = [join_routes(parts, params.geometries)]
    for place, (index, point) in enumerate(zip(order, points, strict=False)):
        point |= {"waypoint_index": place, "trips_index": 0, "of": index}
    waypoints = sorted(points[: len(order)], key=lambda point: int(point["of"]))
    body = {
        "code": "Ok",
        "trips": finish_routes(routes, params, annotations),
        "waypoints": waypoints,
    }
    return _answer(ctx, body, params, lonlat, ("waypoint_index", "trips_index"))


class Tile(Params):
    """A tile."""

    profile: Annotated[str, Meta(max_length=40, description="of a profile")]
    tile: Annotated[str, Meta(max_length=100, description="tile(x,y,zoom).mvt")]


@endpoint(
    "/osrm/tile/v1/{profile}/{tile}",
    summary="Tiles of OSRM: refused",
    tag="",
    media_types=(JSON,),
    write_error=_no_route,
    needs_dataset=False,
)
def tile(ctx: Context, params: Tile) -> Answer:
    """Refuse tiles of the road graph, for debugging in the original; maps are at /api/v1/tiles."""
    raise BadValue("tile is not served: it shows the inside of a graph; maps are at /api/v1/tiles")


class Elsewhere(Params):
    """Parts of a path that leads nowhere."""

    service: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""
    version: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""
    profile: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""
    coordinates: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""


class _UnknownPart(InvalidRequest):
    """A service or version that there is not."""


_SERVICES: Final = ("route", "table", "nearest", "match", "trip", "tile")


@endpoint(
    "/osrm/{service}/{version}/{profile}/{coordinates}",
    aliases=("/osrm/{service}/{version}/{profile}", "/osrm/{service}/{version}", "/osrm/{service}"),
    summary="Other paths of OSRM: refused in its words",
    tag="",
    media_types=(JSON,),
    write_error=_no_route,
    needs_dataset=False,
)
def elsewhere(ctx: Context, params: Elsewhere) -> Answer:
    """Say what is wrong with a path."""
    if params.service not in _SERVICES:
        raise _UnknownPart(f"service {params.service[:40]!r} not found", code="InvalidService")
    if params.version not in ("", "v1"):
        raise _UnknownPart(f"version {params.version[:40]!r} is not v1", code="InvalidVersion")
    raise BadAddress("the address is /osrm/SERVICE/v1/PROFILE/COORDINATES")


def _refuse_unknown(ctx: Context) -> None:
    """OSRM refuses parameters that it does not know."""
    if ctx.ignored:
        raise InvalidRequest(f"query string malformed: there is no parameter {ctx.ignored[0]!r}")


def _answer(
    ctx: Context,
    body: dict[str, Any],
    params: Common,
    asked: NDArray[np.float64],
    members: tuple[str, ...] = (),
) -> Answer:
    if params.skip_waypoints:
        del body["waypoints"]
    else:
        body["waypoints"] = finish_waypoints(
            body["waypoints"], asked, with_hint=params.generate_hints, members=members
        )
    if ctx.snapshot.timestamp:
        body["data_version"] = ctx.snapshot.timestamp
    return Answer.json(body, JSON)


def _read_alternatives(text: str) -> int:
    if text in ("true", "false"):
        return 1 if text == "true" else 0
    if not text.isascii() or not text.isdigit():
        raise InvalidRequest("alternatives: is true, false or a number")
    return min(int(text), MAX_ALTERNATIVES)


def _read_waypoints(text: str, count: int) -> list[int]:
    """Return the indexes of coordinates that end legs, the first and last among them."""
    stops = read_indexes("waypoints", text, count)
    if sorted(set(stops)) != stops:
        raise BadOptions("waypoints: are ascending")
    if stops[0] != 0 or stops[-1] != count - 1:
        raise BadOptions("waypoints: first and last coordinates must be specified as waypoints")
    return stops


def _read_trip_ends(params: Trip, count: int) -> tuple[int | None, int | None]:
    first = 0 if params.source == "first" else None
    last = count - 1 if params.destination == "last" else None
    if params.roundtrip:
        # A circle that begins at the last one ends there too.
        return (first if first is not None else last or 0), None
    return first, last


def _fill(
    found: Matrix,
    lonlat: NDArray[np.float64],
    roads: list[Snapped],
    rows: list[int],
    columns: list[int],
    params: Table,
) -> tuple[Matrix, list[list[int]]]:
    """Return the table with empty cells as the crow flies, and which those are."""
    assert params.fallback_speed is not None
    cells = np.argwhere(np.isnan(found.durations_s)).tolist()
    if params.fallback_coordinate == "snapped":
        lonlat = np.array([(road.lon, road.lat) for road in roads])
    speed_kmh = params.fallback_speed * 3.6
    return fill_unreachable(found, lonlat[rows], lonlat[columns], speed_kmh), cells


def _find_nodes(ctx: Context, way_id: int, lon: float, lat: float) -> list[int]:
    """Return the ids of the two nodes of a way around a place on it; zeros where it is unknown."""
    store = ctx.store
    row = store.find_row(WAY, way_id)
    if row < 0:
        return [0, 0]
    refs = store.way_nodes(np.array([row])).values
    refs = refs[refs < store.node_count]
    if len(refs) < 2:
        return [0, 0]
    shape = np.column_stack([store.lon[refs], store.lat[refs]]) / 1e7
    shape -= (lon, lat)
    shape[:, 0] *= np.cos(np.radians(lat))
    one, step = shape[:-1], np.diff(shape, axis=0)
    share = -(one * step).sum(axis=1) / np.maximum((step * step).sum(axis=1), 1e-18)
    away = one + np.clip(share, 0.0, 1.0)[:, None] * step
    index = int((away * away).sum(axis=1).argmin())
    return [int(node) for node in store.node_ids(refs[index : index + 2])]


def _describe_matchings(
    ctx: Context, found: Match, params: MatchParams, stops: set[int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any] | None]]:
    """Return the matchings with their legs, and a place for each point or None."""
    mode = read_mode(params)
    annotations = read_annotations(params.annotations)
    request = make_costing(mode) | write_request(params, annotations) | {"shape_match": "map_snap"}
    matchings: list[dict[str, Any]] = []
    points: list[dict[str, Any] | None] = [None] * len(found.matching_of)
    for number, matching in enumerate(found.matchings):
        ctx.deadline.check()
        members = np.flatnonzero(found.matching_of == number).tolist()
        if len(members) < 2:
            continue
        # The points on their roads lead along the way that was found.
        shape = [
            {
                "lon": lon, "lat": lat, "radius": _MATCH_RADIUS_M,
                "type": "break" if index in stops or index in (members[0], members[-1]) else "via",
            }
            for index, (lon, lat) in zip(members, found.positions[members].tolist(), strict=True)
        ]  # fmt: skip
        answer = get_engine(ctx).call("trace_route", request | {"shape": shape})
        routes = finish_routes(answer["matchings"], params, annotations)
        for index, point in zip(members, answer["tracepoints"], strict=True):
            if point is not None:
                points[index] = {
                    **make_waypoint(
                        point["location"], float(found.away_m[index]), point["name"],
                        with_hint=params.generate_hints,
                    ),
                    "matchings_index": len(matchings) + point["matchings_index"],
                    "waypoint_index": point["waypoint_index"],
                    "alternatives_count": 0,
                }  # fmt: skip
        matchings += [{**one, "confidence": matching.confidence} for one in routes]
    return matchings, points
