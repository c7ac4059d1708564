"""openrouteservice's directions."""

from __future__ import annotations

from typing import Annotated, Any, Final

import numpy as np
import shapely
from msgspec import Meta

from mapyard.errors import InvalidRequest, Unsupported
from mapyard.forms.ors.answers import (
    GEOJSON,
    JSON,
    Written,
    join_boxes,
    make_error_writer,
    make_metadata,
)
from mapyard.forms.ors.extras import make_extras
from mapyard.forms.ors.params import (
    NOT_ROUTED,
    Directions,
    SimpleDirections,
    read_choice,
    read_language,
    read_stops,
)
from mapyard.forms.roads import share_way
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.ways import get_engine
from mapyard.params.parser import Params, Positions
from mapyard.routing.choice import Choice
from mapyard.routing.gpx import GPX, write_gpx_route
from mapyard.routing.modes import Mode
from mapyard.routing.route import find_routes
from mapyard.routing.steps import choose_language
from mapyard.routing.trip import Route

_TAG: Final = "openrouteservice"
_MONACO: Final = {"profile": "foot-walking", "coordinates": [[7.4246, 43.7384], [7.4197, 43.7314]]}
write_error = make_error_writer(2_000, unknown=12)


@endpoint(
    "/ors/v2/directions/{profile}/json",
    aliases=("/ors/v2/directions/{profile}",),
    methods=("POST",),
    summary="Directions as of openrouteservice",
    tag=_TAG,
    premium=True,
    strict=True,
    refused=NOT_ROUTED,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example(_MONACO)],
)
def directions(ctx: Context, params: Directions) -> Answer:
    """Find ways through coordinates, lines as text."""
    written, members = _find(ctx, params)
    routes = []
    for one, own in zip(written, members, strict=True):
        route = {**own, "bbox": one.bbox}
        if params.geometry:
            route["geometry"] = one.encode()
        routes.append(route)
    return Answer.json(_with_metadata(ctx, params, "json", written) | {"routes": routes}, JSON)


@endpoint(
    "/ors/v2/directions/{profile}/geojson",
    methods=("POST",),
    summary="Directions as of openrouteservice, as GeoJSON",
    tag=_TAG,
    premium=True,
    strict=True,
    refused=NOT_ROUTED,
    media_types=(GEOJSON,),
    write_error=write_error,
    examples=[Example(_MONACO)],
)
def directions_geojson(ctx: Context, params: Directions) -> Answer:
    """Find ways through coordinates, as features."""
    return _answer_geojson(ctx, params)


@endpoint(
    "/ors/v2/directions/{profile}",
    summary="Directions as of openrouteservice, by GET",
    tag=_TAG,
    premium=True,
    media_types=(GEOJSON,),
    write_error=write_error,
    examples=[
        Example({"profile": "driving-car", "start": "7.4246,43.7384", "end": "7.4197,43.7314"})
    ],
)
def simple_directions(ctx: Context, params: SimpleDirections) -> Answer:
    """Find the way from one place to another."""
    if ctx.ignored:
        name = ctx.ignored[0][:60]
        raise Unsupported(f"{name}: is not understood", details={name: ["is not understood"]})
    places = [_read_place("start", params.start), _read_place("end", params.end)]
    positions = Positions(np.array(places), "array")
    return _answer_geojson(ctx, Directions(profile=params.profile, coordinates=positions))


@endpoint(
    "/ors/v2/directions/{profile}/gpx",
    methods=("POST",),
    summary="Directions as of openrouteservice, as GPX",
    tag=_TAG,
    premium=True,
    strict=True,
    refused=NOT_ROUTED,
    media_types=(GPX,),
    write_error=write_error,
    examples=[Example(_MONACO)],
)
def directions_gpx(ctx: Context, params: Directions) -> Answer:
    """Find the way through coordinates, as GPX."""
    if params.alternative_routes is not None:
        raise InvalidRequest.of("alternative_routes", "gpx holds one route")
    mode, choice = _read_choice(params)
    route = _route(ctx, params, mode, choice)[0]
    heights = Written(ctx, route, params).line[:, 2] if params.elevation else None
    return Answer(write_gpx_route(route, heights), GPX)


class OtherFormat(Params):
    """A form that there is not."""

    profile: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""
    format: Annotated[str, Meta(max_length=65_536, description="of the path")] = ""


@endpoint(
    "/ors/v2/directions/{profile}/{format}",
    methods=("GET", "POST"),
    summary="Other forms of directions: refused",
    tag="",
    media_types=(JSON,),
    write_error=write_error,
    needs_dataset=False,
)
def other_format(ctx: Context, params: OtherFormat) -> Answer:
    """Say which forms there are."""
    raise Unsupported(
        "format: directions are given as json, geojson or gpx, by POST",
        details={"format": ["is json, geojson or gpx"]}, code="not_implemented",
    )  # fmt: skip


def _read_place(name: str, text: str) -> tuple[float, float]:
    try:
        lon, lat = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest.of(name, "must be text: lon,lat in degrees") from None
    if not (abs(lon) <= 180 and abs(lat) <= 90):
        raise InvalidRequest.of(name, "is not longitude and latitude in degrees")
    return lon, lat


def _answer_geojson(ctx: Context, params: Directions) -> Answer:
    written, members = _find(ctx, params)
    features = []
    for one, own in zip(written, members, strict=True):
        shape = {"type": "LineString", "coordinates": one.line} if params.geometry else None
        features.append({"type": "Feature", "bbox": one.bbox, "properties": own, "geometry": shape})
    head = {"type": "FeatureCollection", **_with_metadata(ctx, params, "geojson", written)}
    return Answer.json(head | {"features": features}, GEOJSON)


def _with_metadata(
    ctx: Context, params: Directions, form: str, written: list[Written]
) -> dict[str, Any]:
    query = {
        "id": params.id, "profile": params.profile, "profileName": params.profile, "format": form,
        "coordinates": params.coordinates.lonlat.tolist(), "preference": params.preference,
        "units": params.units, "language": params.language, "geometry": params.geometry,
        "instructions": params.instructions, "elevation": params.elevation,
    }  # fmt: skip
    return {
        "bbox": join_boxes([one.bbox for one in written]),
        "metadata": make_metadata(ctx, "routing", query),
    }


def _find(ctx: Context, params: Directions) -> tuple[list[Written], list[dict[str, Any]]]:
    """Return the routes, and the members of each."""
    mode, choice = _read_choice(params)
    routes = _route(ctx, params, mode, choice)
    if params.extra_info and params.geometry_simplify:
        raise InvalidRequest.of("geometry_simplify", "and extra_info exclude each other")
    written = [Written(ctx, route, params) for route in routes]
    members = []
    for route, one in zip(routes, written, strict=True):
        extras = None
        if params.extra_info:
            ctx.deadline.check()
            extras = make_extras(ctx, route, params.extra_info, mode, choice.options)
        members.append(one.to_members(extras))
    return written, members


def _read_choice(params: Directions) -> tuple[Mode, Choice]:
    own: dict[str, Any] = {"shortest": True} if params.preference == "shortest" else {}
    if params.maximum_speed is not None:
        if not params.profile.startswith("driving-"):
            raise InvalidRequest.of("maximum_speed", "is of driving-car and driving-hgv")
        own["top_speed_kmh"] = params.maximum_speed
    if params.roundabout_exits:
        raise Unsupported(
            "roundabout_exits: bearings of exits are not served; exit_number is always there",
            details={"roundabout_exits": ["is not served"]},
        )
    return read_choice(params.profile, params.options, own, params.departure, params.arrival)


def _route(ctx: Context, params: Directions, mode: Mode, choice: Choice) -> list[Route]:
    lonlat = params.coordinates.lonlat
    if len(lonlat) < 2:
        raise InvalidRequest.of("coordinates", "two or more are needed")
    others = params.alternative_routes
    routes = find_routes(
        get_engine(ctx), lonlat, mode,
        alternatives=others.target_count - 1 if others else 0,
        with_steps=True, language=choose_language(read_language(params.language)),
        exclude=choice.exclude, avoid=_find_avoided(params), options=choice.options,
        stops=read_stops(params, len(lonlat)), travel=choice.travel,
    )  # fmt: skip
    if others is None:
        return routes
    best = routes[0]
    return [
        best,
        *(
            route
            for route in routes[1:]
            if route.duration_s <= others.weight_factor * best.duration_s
            and share_way(route, best) <= others.share_factor
        ),
    ]


def _find_avoided(params: Directions) -> shapely.Geometry | None:
    options = params.options
    return (
        None if options is None or options.avoid_polygons is None else options.avoid_polygons.shape
    )
