"""Areas that can be reached within a time or a distance."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import areas as library


class IsochroneParams(library.Isochrone, kw_only=True):
    """From where, how long or how far."""

    format: Annotated[Literal["json", "geojson"], Meta(description="both are GeoJSON")] = "json"


@endpoint(
    "/api/v1/isochrone",
    methods=("GET", "POST"),
    premium=True,
    summary="Area reachable within a time or distance",
    tag="Routing",
    schema="IsochroneResult",
    errors=("no_road_found",),
    examples=[
        Example({"lat": 43.7384, "lng": 7.4246, "time": 300, "mode": "foot"}),
        Example({"at": "43.7384,7.4246", "time": [120, 240], "mode": "foot"}),
    ],
)
def isochrone(ctx: Context, params: IsochroneParams) -> Answer:
    """Return one Polygon or MultiPolygon feature per value.

    One value gives a Feature; several, or a JSON list, give a FeatureCollection in the order asked
    for. Larger areas hold the smaller ones. Properties: `time_seconds` or `distance_meters`,
    `mode`, `area_m2`.
    """
    found = library.isochrone(ctx, params)
    # A JSON list of one value is a list, and is answered as one. Texts of a query are no lists.
    given = (ctx.raw.get(name) for name in ("time", "contours_minutes", "distance"))
    is_list = len(found.features) > 1 or any(type(values) is list for values in given)
    return Answer.geojson(found.to_collection() if is_list else found.features[0])
