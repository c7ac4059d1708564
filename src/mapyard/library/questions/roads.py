"""Roads around a position, areas within reach, distances between many positions."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import shapely
from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.matrix import Matrix
from mapyard.library.results.ways import Areas, NearestRoads
from mapyard.library.ways import (
    ModeField,
    SnapRadius,
    WayChoice,
    WayOutput,
    find_way_tags,
    get_engine,
    make_feature,
    make_point_feature,
    read_choice,
)
from mapyard.params.parser import Params, Position, Positions, spelled
from mapyard.routing.config import MAX_CONTOURS
from mapyard.routing.isochrone import MAX_DISTANCE_M, MAX_TIME_S, Metric, find_isochrones
from mapyard.routing.matrix import compute_matrix, fill_unreachable
from mapyard.routing.nearest import MAX_NUMBER, MAX_RADIUS_M, NearestRoad, find_nearest
from mapyard.routing.snapping import DEFAULT_RADIUS_M
from mapyard.routing.tagging.conditions import ASSUMED_TEXT

MAX_POINTS = 10_000


class Nearest(Params, kw_only=True):
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


@question("nearest", path="/api/v1/nearest", leading=("at",))
def nearest(call: Call, params: Nearest) -> NearestRoads:
    """Return the places on the nearest roads that the mode may use, nearest first.

    Properties: `distance_m`, `edge_id` (of this dataset only), `edge_length_m`, `highway`, `name`,
    `surface`, `osm_way_id`.
    """
    lon, lat = params.at
    roads = find_nearest(
        get_engine(call), lon, lat, params.mode, radius_m=params.radius, number=params.number
    )
    return NearestRoads([_make_road(call, road, params.output) for road in roads], roads)


def _make_road(call: Call, road: NearestRoad, output: WayOutput) -> dict[str, Any]:
    tags = find_way_tags(call, road.way_id)
    properties = {
        "distance_m": road.distance_m,
        "edge_id": road.edge_id,
        "edge_length_m": road.edge_length_m,
        "highway": tags.get("highway", road.highway),
        "name": tags.get("name", road.name),
        "surface": tags.get("surface"),
        "osm_way_id": road.way_id,
    }
    return make_point_feature(road.lon, road.lat, properties, output)


class Isochrone(WayChoice, kw_only=True):
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
    reverse: Annotated[
        bool, Meta(description="from where the position is reached, instead of what is reached")
    ] = False
    denoise: Annotated[
        float,
        Meta(ge=0, le=1, description="leave out parts and holes under this share of the largest"),
    ] = 0.0
    polygons: Annotated[bool, Meta(description="false: the outlines as lines")] = True
    snap_radius: SnapRadius = DEFAULT_RADIUS_M
    output: WayOutput = WayOutput()


@question("isochrone", path="/api/v1/isochrone", leading=("at", "time"))
def isochrone(call: Call, params: Isochrone) -> Areas:
    """Return the area within reach of a position for each time or distance.

    One Polygon or MultiPolygon per value, in the order asked for; larger areas hold the smaller
    ones. Properties: `time_seconds` or `distance_meters`, `mode`, `area_m2`.
    """
    metric, limits = _read_limits(params)
    lon, lat = params.at
    found = find_isochrones(
        get_engine(call),
        lon,
        lat,
        limits,
        params.mode,
        metric=metric,
        radius_m=params.snap_radius,
        toward=params.reverse,
        choice=read_choice(params),
        least_share=params.denoise,
    )
    name = "time_seconds" if metric == "time" else "distance_meters"
    features = []
    for one in found:
        limit = int(one.limit) if one.limit == int(one.limit) else one.limit
        properties: dict[str, Any] = {name: limit, "mode": params.mode, "area_m2": one.area_m2}
        if metric == "time":
            properties["max_cost_s"] = limit
        if params.depart_at is None:
            properties["assumed_time"] = ASSUMED_TEXT
        shape = one.geometry if params.polygons else shapely.boundary(one.geometry)
        features.append(make_feature(shape, properties, params.output))
    return Areas(features)


def _read_limits(params: Isochrone) -> tuple[Metric, list[float]]:
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
    metric, values, _ = given[0]
    return ("time" if metric == "time" else "distance"), values


class MatrixQuestion(WayChoice, kw_only=True):
    """From where, to where."""

    origins: Annotated[Positions, spelled("rows of the matrix", "sources", max_points=MAX_POINTS)]
    destinations: Annotated[
        Positions, spelled("columns of the matrix", "targets", max_points=MAX_POINTS)
    ]
    mode: ModeField = "auto"
    fallback_speed: Annotated[
        float | None,
        Meta(
            gt=0,
            le=1_000,
            description="km/h: unreachable cells are filled as the crow flies at this speed",
        ),
    ] = None
    snap_radius: SnapRadius = DEFAULT_RADIUS_M


@question("matrix", path="/api/v1/matrix", leading=("origins", "destinations"))
def matrix(call: Call, params: MatrixQuestion) -> Matrix:
    """Return meters and seconds from every origin (rows) to every destination (columns).

    A cell is NaN (null in JSON) where no way leads. `details["index"]` of the error `no_road_found`
    counts the origins first, then the destinations.
    """
    origins, destinations = params.origins.lonlat, params.destinations.lonlat
    found = compute_matrix(
        get_engine(call),
        origins,
        destinations,
        params.mode,
        radius_m=params.snap_radius,
        max_pairs=call.settings.matrix_pairs,
        deadline=call.deadline,
        choice=read_choice(params),
    )
    filled = None
    if params.fallback_speed is not None:
        filled = np.argwhere(np.isnan(found.durations_s))
        found = fill_unreachable(found, origins, destinations, params.fallback_speed)
    return Matrix(found.distances_m, found.durations_s, params.mode, filled)
