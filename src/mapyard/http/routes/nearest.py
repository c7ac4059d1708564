"""The nearest road of a position."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.reply import Later
from mapyard.library.questions import roads as library

#: A search of some 0.2 ms: a thread hop would cost half as much again.
INLINE_RADIUS_M: Final = 1_000.0


class NearestParams(library.Nearest, kw_only=True):
    """Which position, how far, how many."""

    format: Annotated[Literal["json", "geojson"], Meta(description="both are GeoJSON")] = "json"


@endpoint(
    "/api/v1/nearest",
    methods=("GET", "POST"),
    premium=True,
    inline=True,
    summary="Snap a position to the nearest road",
    tag="Routing",
    schema="NearestResult",
    errors=("no_road_found",),
    examples=[Example({"lat": 43.7384, "lng": 7.4246}), Example({"at": "43.7384,7.4246"})],
)
def nearest(ctx: Context, params: NearestParams) -> Answer:
    """Return the place on the nearest road that the mode may use.

    Properties: `distance_m`, `edge_id` (of this dataset only), `edge_length_m`, `highway`, `name`,
    `surface`, `osm_way_id`. With `number` the answer is a FeatureCollection, nearest first.
    """
    if params.number == 1 and params.radius <= INLINE_RADIUS_M:
        return _answer(ctx, params)
    raise Later(lambda: _answer(ctx, params))


def _answer(ctx: Context, params: NearestParams) -> Answer:
    found = library.nearest(ctx, params)
    if ctx.is_client_library:
        for feature, road in zip(found.features, found.roads, strict=True):
            # The earliest client libraries read these at the top.
            feature |= {
                "distance": road.distance_m,
                "lat": road.lat,
                "lng": road.lon,
                "edge_id": road.edge_id,
            }
    return Answer.geojson(found.to_collection() if params.number > 1 else found.features[0])
