"""Routes between two or more positions."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from mapyard.errors import InvalidRequest, Unsupported
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import routes as library
from mapyard.routing.gpx import GPX, write_gpx_route
from mapyard.routing.route import Route

REFUSED: Final = {
    "traffic_model": "there is no traffic data; leave it out",
    "ev": "routes for electric vehicles are not served; leave it out",
}


class RouteParams(library.RouteQuestion, kw_only=True):
    """Where from, where to, how, and how it is written."""

    format: Annotated[
        Literal["json", "geojson", "gpx"], Meta(description="gpx: the route as GPX 1.1")
    ] = "json"


@endpoint(
    "/api/v1/route",
    methods=("GET", "POST"),
    premium=True,
    summary="Route between two positions",
    tag="Routing",
    refused=REFUSED,
    schema="RouteResult",
    media_types=(GEOJSON, GPX),
    errors=("no_route_found", "no_road_found"),
    examples=[
        Example(
            {
                "origin": {"type": "Point", "coordinates": [7.4246, 43.7384]},
                "destination": {"type": "Point", "coordinates": [7.4197, 43.7314]},
                "mode": "foot",
            }
        ),
        Example(
            {
                "origin": "43.7384,7.4246",
                "destination": "43.7314,7.4197",
                "steps": True,
                "lang": "fr",
                "alternatives": 1,
            }
        ),
    ],
)
def route(ctx: Context, params: RouteParams) -> Answer:
    """Return the quickest route as a LineString feature.

    Properties: `distance` and `distance_m` in meters, `duration` and `duration_s` in seconds (the
    same values under both names), `mode`, `waypoints` (each position on its road, with distance
    and road name), `legs`. Positions farther than `snap_radius` from every road are refused with
    404 `no_road_found`; `details.index` counts origin 0, waypoints, destination.
    """
    if params.format == "gpx":
        return Answer(_write_gpx(ctx, library.find(ctx, params, with_steps=True)[0], params), GPX)
    return Answer.geojson(library.route(ctx, params).to_written())


def _write_gpx(ctx: Context, found: Route, params: RouteParams) -> bytes:
    if params.alternatives or params.overview != "full":
        raise Unsupported(
            "format=gpx gives one route in full: leave alternatives and overview out",
            details={"format": ["gpx gives one route in full"]},
        )
    if params.geometries != "geojson":
        raise InvalidRequest.of("geometries", "has no meaning with format=gpx")
    heights = None
    if params.elevation:
        heights = library.find_line_heights(ctx, found.positions)
    return write_gpx_route(found, heights)
