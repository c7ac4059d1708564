"""GPS traces onto roads."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import matching as library
from mapyard.params.parser import Positions, spelled
from mapyard.routing.gpx import GPX, write_gpx_lines
from mapyard.routing.kml import KML, write_kml_lines
from mapyard.routing.matching.match import MAX_POINTS


class MapMatchParams(library.Trace, kw_only=True):
    """The trace, and how exact it is."""

    coordinates: Annotated[
        Positions | None,
        spelled(
            "the same; the answer then is a collection of points", "geometry", max_points=MAX_POINTS
        ),
    ] = None
    format: Annotated[
        Literal["json", "geojson", "gpx", "kml"], Meta(description="gpx, kml: the line alone")
    ] = "json"


@endpoint(
    "/api/v1/map-match",
    methods=("POST",),
    premium=True,
    heavy=True,
    summary="Match a GPS trace to roads",
    tag="Routing",
    texts={GPX: "gpx", "application/xml": "gpx", "text/xml": "gpx"},
    schema="MapMatchResult",
    media_types=(GEOJSON, GPX, KML),
    errors=("validation_failed",),
    examples=[
        Example(
            {
                "trace": {
                    "type": "LineString",
                    "coordinates": [[7.4246, 43.7384], [7.4250, 43.7390], [7.4255, 43.7396]],
                },
                "mode": "foot",
            }
        )
    ],
)
def map_match(ctx: Context, params: MapMatchParams) -> Answer:
    """Return the way that a trace was travelled on.

    `trace` (or a GPX body) gives a LineString feature, a MultiLineString where the trace has gaps,
    with `legs`: exactly one between each two consecutive trace points (`matched`, `distance`,
    `duration`, `way_ids`, `names`). `coordinates` or `geometry` gives a FeatureCollection of the
    points on their roads, and `matchings`. `confidence` is 0 to 1: the share of points that lie on
    a road, each weighed by its distance from it, less where other roads run along as near, for
    detours and for breaks.
    """
    if params.format not in ("json", "geojson"):
        return _write_file(ctx, params)
    if params.coordinates is not None:
        return Answer.geojson(library.match_points(ctx, params).to_collection())
    return Answer.geojson(library.match(ctx, params).written)


def _write_file(ctx: Context, params: MapMatchParams) -> Answer:
    for name in ("coordinates", "steps", "annotations", "extra_info"):
        if getattr(params, name):
            raise InvalidRequest.of(name, f"has no meaning with format={params.format}")
    found, _ = library.find(ctx, params)
    lines = [matching.positions for matching in found.matchings]
    if params.format == "kml":
        return Answer(write_kml_lines(lines), KML)
    return Answer(write_gpx_lines(lines), GPX)
