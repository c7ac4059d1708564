"""OSRM's service of traces: match."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta

from mapyard.forms.osrm.answers import (
    JSON,
    finish_routes,
    make_error_writer,
    make_waypoint,
    read_annotations,
    write_request,
)
from mapyard.forms.osrm.params import (
    BadValue,
    Drawn,
    read_coordinates,
    read_list,
    read_mode,
    read_radius,
)
from mapyard.forms.osrm.services import read_waypoints, refuse_unknown, service
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.library.ways import get_engine
from mapyard.routing.matching.match import MAX_POINTS, MAX_RADIUS_M, Match, match_trace
from mapyard.routing.modes import make_costing

#: How far apart the engine's and our matched points may be, meters.
_MATCH_RADIUS_M: Final = 5.0
_no_match = make_error_writer("NoMatch", "NoMatch")


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


@service(
    "match",
    "Match a trace as of OSRM",
    {"profile": "walking", "coordinates": "7.4246,43.7384;7.425,43.739;7.4255,43.7396"},
    write_error=_no_match,
    heavy=True,
    refused={
        "bearings": "not served for traces: the order of the points says where they go",
        "approaches": "not served for traces",
        "exclude": "not served for traces: they were travelled where they were",
    },
)
def match(ctx: Context, params: MatchParams) -> Answer:
    """Return the ways that a trace was travelled on, and its points on them."""
    refuse_unknown(ctx)
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
    stops = set(read_waypoints(params.waypoints, count))
    matchings, points = _describe_matchings(ctx, found, params, stops)
    body: dict[str, Any] = {"code": "Ok", "matchings": matchings}
    if not params.skip_waypoints:
        body["tracepoints"] = points
    return Answer.json(body, JSON)


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
