"""Routes between two or more positions."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from mapyard.errors import InvalidRequest, Unsupported
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.reply import Later
from mapyard.library.questions import routes as library
from mapyard.routing.gpx import GPX, write_gpx_route
from mapyard.routing.kml import KML, write_kml_route
from mapyard.routing.steps import write_steps_csv

CSV: Final = "text/csv; charset=utf-8"
REFUSED: Final = {
    "traffic_model": "there is no traffic data; leave it out",
}


class RouteParams(library.RouteQuestion, kw_only=True):
    """Where from, where to, how, and how it is written."""

    format: Annotated[
        Literal["json", "geojson", "gpx", "kml", "csv"],
        Meta(description="gpx, kml: the route with its steps; csv: a table of the steps"),
    ] = "json"


@endpoint(
    "/api/v1/route",
    methods=("GET", "POST"),
    premium=True,
    inline=True,
    summary="Route between two positions",
    tag="Routing",
    refused=REFUSED,
    schema="RouteResult",
    media_types=(GEOJSON, GPX, KML, "text/csv"),
    errors=("no_route_found", "no_road_found"),
    examples=[
        Example(
            {
                "origin": "43.7384,7.4246",
                "destination": "43.7314,7.4197",
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
    if params.format not in ("json", "geojson"):
        raise Later(lambda: _write_file(ctx, params))
    quick = library.find_quickly(ctx, params)
    if quick is None:
        raise Later(lambda: Answer.geojson(library.route(ctx, params).to_written()))
    return Answer.geojson(quick.to_written())


def _write_file(ctx: Context, params: RouteParams) -> Answer:
    """Return the route in a format that holds one whole route and nothing else."""
    if params.alternatives or params.overview != "full":
        raise Unsupported(
            f"format={params.format} gives one route in full: leave alternatives and overview out",
            details={"format": [f"{params.format} gives one route in full"]},
        )
    for name in ("geometries", "annotations", "extra_info"):
        if getattr(params, name) not in ("geojson", False, ()):
            raise InvalidRequest.of(name, f"has no meaning with format={params.format}")
    found = library.find(ctx, params, with_steps=True)[0]
    if params.format == "csv":
        return Answer(write_steps_csv(library.iter_steps(found)).encode(), CSV)
    heights = library.find_line_heights(ctx, found.positions) if params.elevation else None
    if params.format == "kml":
        return Answer(write_kml_route(found, heights), KML)
    return Answer(write_gpx_route(found, heights), GPX)
