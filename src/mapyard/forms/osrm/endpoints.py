"""OSRM's services of ways: route and trip; and what is refused."""

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
    read_annotations,
    write_request,
)
from mapyard.forms.osrm.params import (
    RADIUS_M,
    BadAddress,
    BadValue,
    Common,
    Drawn,
    read_coordinates,
    read_exclusions,
    read_mode,
    read_stops,
)
from mapyard.forms.osrm.services import MONACO, no_route, read_waypoints, refuse_unknown, service
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import endpoint
from mapyard.library.ways import get_engine
from mapyard.params.parser import Params
from mapyard.routing.modes import make_costing
from mapyard.routing.native import ask_route
from mapyard.routing.route import MAX_ALTERNATIVES, MAX_POSITIONS, MOST_POSITIONS
from mapyard.routing.tours.order import MAX_STOPS, optimize_order

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


class Trip(Drawn, kw_only=True):
    """Stops in any order."""

    roundtrip: Annotated[bool, Meta(description="ends where it began")] = True
    source: Annotated[Literal["any", "first"], Meta(description="where it begins")] = "any"
    destination: Annotated[Literal["any", "last"], Meta(description="where it ends")] = "any"


@service(
    "route",
    "Route as of OSRM",
    {**MONACO, "steps": "true"},
    write_error=no_route,
)
def route(ctx: Context, params: Route) -> Answer:
    """Find the quickest way through coordinates in their order."""
    refuse_unknown(ctx)
    lonlat = read_coordinates(params.coordinates, MOST_POSITIONS)
    mode, count = read_mode(params), len(lonlat)
    ends = [stop.write() for stop in read_stops(params, count)]
    stops = read_waypoints(params.waypoints, count)
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


@service(
    "trip",
    "Best order of stops as of OSRM",
    {"profile": "walking", "coordinates": "7.4246,43.7384;7.4197,43.7314;7.4273,43.7402"},
    write_error=_no_trips,
    heavy=True,
    refused={
        "bearings": "not served for trips",
        "approaches": "not served for trips",
        "exclude": "not served for trips",
        "radiuses": "not served for trips",
    },
)
def trip(ctx: Context, params: Trip) -> Answer:
    """Return the quickest tour through all coordinates, and their order in it."""
    refuse_unknown(ctx)
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
    write_error=no_route,
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
    write_error=no_route,
    needs_dataset=False,
)
def elsewhere(ctx: Context, params: Elsewhere) -> Answer:
    """Say what is wrong with a path."""
    if params.service not in _SERVICES:
        raise _UnknownPart(f"service {params.service[:40]!r} not found", code="InvalidService")
    if params.version not in ("", "v1"):
        raise _UnknownPart(f"version {params.version[:40]!r} is not v1", code="InvalidVersion")
    raise BadAddress("the address is /osrm/SERVICE/v1/PROFILE/COORDINATES")


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
    if timestamp := ctx.snapshot.find_data_time("routing"):
        body["data_version"] = timestamp
    return Answer.json(body, JSON)


def _read_alternatives(text: str) -> int:
    if text in ("true", "false"):
        return 1 if text == "true" else 0
    if not text.isascii() or not text.isdigit():
        raise InvalidRequest("alternatives: is true, false or a number")
    if int(text[:9]) > MAX_ALTERNATIVES:
        raise TooLarge(f"alternatives: {text[:9]}, at most {MAX_ALTERNATIVES}")
    return int(text)


def _read_trip_ends(params: Trip, count: int) -> tuple[int | None, int | None]:
    first = 0 if params.source == "first" else None
    last = count - 1 if params.destination == "last" else None
    if params.roundtrip:
        # A circle that begins at the last one ends there too.
        return (first if first is not None else last or 0), None
    return first, last
