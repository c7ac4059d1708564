"""The nearest road of a position."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.reply import Later
from mapyard.http.ways import (
    ModeField,
    WayOutput,
    find_way_tags,
    get_engine,
    make_collection,
    make_point_feature,
)
from mapyard.params.parser import Params, Position, spelled
from mapyard.routing.nearest import MAX_NUMBER, MAX_RADIUS_M, NearestRoad, find_nearest

#: A search of some 0.2 ms: a thread hop would cost half as much again.
INLINE_RADIUS_M: Final = 1_000.0


class NearestParams(Params):
    """Which position, how far, how many."""

    at: Annotated[Position, spelled("the position", "geometry", "near", "location", pair=True)]
    radius: Annotated[float, Meta(ge=1, le=MAX_RADIUS_M, description="search radius, meters")] = (
        500.0
    )
    mode: ModeField = "auto"
    number: Annotated[
        int,
        Meta(ge=1, le=MAX_NUMBER, description="how many roads; more than 1 gives a collection"),
    ] = 1
    output: WayOutput = WayOutput()
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
    lon, lat = params.at
    roads = find_nearest(
        get_engine(ctx), lon, lat, params.mode, radius_m=params.radius, number=params.number
    )
    features = [_make_feature(ctx, road, params.output) for road in roads]
    if params.number > 1:
        return Answer.geojson(make_collection(features))
    return Answer.geojson(features[0])


def _make_feature(ctx: Context, road: NearestRoad, output: WayOutput) -> dict[str, Any]:
    tags = find_way_tags(ctx, road.way_id)
    properties = {
        "distance_m": road.distance_m,
        "edge_id": road.edge_id,
        "edge_length_m": road.edge_length_m,
        "highway": tags.get("highway", road.highway),
        "name": tags.get("name", road.name),
        "surface": tags.get("surface"),
        "osm_way_id": road.way_id,
    }
    # The earliest client libraries read these at the top.
    flat = (
        {
            "distance": road.distance_m,
            "lat": road.lat,
            "lng": road.lon,
            "edge_id": road.edge_id,
        }
        if ctx.is_client_library
        else None
    )
    return make_point_feature(road.lon, road.lat, properties, output, flat)
