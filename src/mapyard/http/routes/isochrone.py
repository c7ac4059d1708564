"""Areas that can be reached within a time or a distance."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.ways import (
    ModeField,
    SnapRadius,
    WayOutput,
    get_engine,
    make_collection,
    make_feature,
)
from mapyard.params.parser import Params, Position, spelled
from mapyard.routing.config import MAX_CONTOURS
from mapyard.routing.isochrone import MAX_DISTANCE_M, MAX_TIME_S, Metric, find_isochrones
from mapyard.routing.snapping import DEFAULT_RADIUS_M


class IsochroneParams(Params):
    """From where, how long or how far."""

    at: Annotated[Position, spelled("the position", "geometry", "center", "near", pair=True)]
    time: Annotated[
        tuple[Annotated[float, Meta(ge=1, le=MAX_TIME_S)], ...],
        Meta(description="seconds, 1 to 7200, one or several", max_length=MAX_CONTOURS),
    ] = ()
    contours_minutes: Annotated[
        tuple[Annotated[float, Meta(gt=0, le=MAX_TIME_S / 60)], ...],
        Meta(description="the same in minutes", max_length=MAX_CONTOURS),
    ] = ()
    distance: Annotated[
        tuple[Annotated[float, Meta(ge=1, le=MAX_DISTANCE_M)], ...],
        Meta(description="meters on the road, instead of time", max_length=MAX_CONTOURS),
    ] = ()
    mode: ModeField = "auto"
    snap_radius: SnapRadius = DEFAULT_RADIUS_M
    output: WayOutput = WayOutput()
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
    metric, limits, spelling = _read_limits(params)
    lon, lat = params.at
    found = find_isochrones(
        get_engine(ctx), lon, lat, limits, params.mode, metric=metric, radius_m=params.snap_radius
    )
    name = "time_seconds" if metric == "time" else "distance_meters"
    features = []
    for one in found:
        limit = int(one.limit) if one.limit == int(one.limit) else one.limit
        properties: dict[str, Any] = {name: limit, "mode": params.mode, "area_m2": one.area_m2}
        if metric == "time":
            properties["max_cost_s"] = limit
        features.append(make_feature(one.geometry, properties, params.output))
    # A JSON list of one value is a list, and is answered as one. Texts of a query are no lists.
    is_list = len(limits) > 1 or type(ctx.raw.get(spelling)) is list
    return Answer.geojson(make_collection(features) if is_list else features[0])


def _read_limits(params: IsochroneParams) -> tuple[Metric, list[float], str]:
    given = [
        (metric, [value * scale for value in values], name)
        for metric, name, values, scale in (
            ("time", "time", params.time, 1.0),
            ("time", "contours_minutes", params.contours_minutes, 60.0),
            ("distance", "distance", params.distance, 1.0),
        )
        if values
    ]
    if not given:
        raise InvalidRequest.of("time", "is required: seconds, 1 to 7200 (or distance in meters)")
    if len(given) > 1:
        names = " and ".join(name for _, _, name in given)
        raise InvalidRequest.of(given[1][2], f"{names} exclude each other")
    metric, values, name = given[0]
    return ("time" if metric == "time" else "distance"), values, name
