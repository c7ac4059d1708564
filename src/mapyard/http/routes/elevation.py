"""Heights of positions and lines."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.elevation.profile import MAX_POINTS, Heights, find_heights, make_profile
from mapyard.errors import InvalidRequest
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.ways import (
    WayOutput,
    get_rasters,
    make_collection,
    make_feature,
    make_point_feature,
)
from mapyard.params.parser import Geometry, Params, Position, Positions, spelled

type Format = Annotated[Literal["json", "geojson"], Meta(description="both are GeoJSON")]
type Interval = Annotated[
    float | None,
    Meta(gt=0, le=100_000, description="lines: add positions, at most this many meters apart"),
]


class ElevationParams(Params):
    """One position, several, or a line."""

    geometry: Annotated[
        Geometry | None,
        spelled("Point, MultiPoint or LineString", "path", "line", max_points=MAX_POINTS),
    ] = None
    locations: Annotated[
        Positions | None,
        spelled(
            "positions; as text lng,lat|lng,lat",
            "coordinates",
            lng_first=True,
            max_points=MAX_POINTS,
        ),
    ] = None
    at: Annotated[Position | None, spelled("one position", "location", "near", pair=True)] = None
    interval: Interval = None
    output: WayOutput = WayOutput()
    format: Format = "json"


@endpoint(
    "/api/v1/elevation",
    methods=("GET", "POST"),
    premium=True,
    summary="Height of positions, or along a line",
    tag="Elevation",
    schema="GeoJsonFeature",
    errors=("no_elevation",),
    examples=[
        Example({"lat": 43.7384, "lng": 7.4246}),
        Example({"locations": "7.4246,43.7384|7.4197,43.7314"}),
    ],
)
def elevation(ctx: Context, params: ElevationParams) -> Answer:
    """Return heights in meters above the sea (EGM96), bilinear between the raster's cells.

    A Point (or `lat` and `lng`) gives a Feature with `elevation_m`, several positions a
    FeatureCollection in input order, a LineString a LineString feature with the profile's figures.
    Where there is no data the height is null.
    """
    given = [name for name in ("geometry", "locations", "at") if getattr(params, name) is not None]
    if not given:
        raise InvalidRequest.of(
            "geometry", "is required: a Point, MultiPoint or LineString (or lat and lng)"
        )
    if len(given) > 1:
        raise InvalidRequest.of(given[1], f"{' and '.join(given)} exclude each other")
    if params.at is not None:
        return _answer_points(ctx, np.array([params.at]), params.output, single=True)
    if params.locations is not None:
        positions = params.locations
        single = positions.kind == "Point"
        if positions.kind == "LineString":
            return _answer_line(ctx, positions.lonlat, params.interval, params.output)
        return _answer_points(ctx, positions.lonlat, params.output, single=single)
    assert params.geometry is not None
    shape = params.geometry.shape
    lonlat = shapely.get_coordinates(shape)
    match params.geometry.type:
        case "Point" | "MultiPoint":
            single = params.geometry.type == "Point"
            return _answer_points(ctx, lonlat, params.output, single=single)
        case "LineString":
            return _answer_line(ctx, lonlat, params.interval, params.output)
    raise InvalidRequest.of(
        "geometry", f"must be a Point, MultiPoint or LineString, not a {params.geometry.type}"
    )


class BatchParams(Params):
    """Several positions."""

    coordinates: Annotated[
        Positions,
        spelled("positions", "geometry", "locations", lng_first=True, max_points=MAX_POINTS),
    ]
    output: WayOutput = WayOutput()
    format: Format = "json"


@endpoint(
    "/api/v1/elevation/batch",
    methods=("POST",),
    premium=True,
    summary="Heights of many positions",
    tag="Elevation",
    schema="FeatureCollection",
    errors=("no_elevation",),
    examples=[Example({"coordinates": [{"lat": 43.7384, "lng": 7.4246}]})],
)
def elevation_batch(ctx: Context, params: BatchParams) -> Answer:
    """Return a FeatureCollection in input order; heights are null where there is no data."""
    return _answer_points(ctx, params.coordinates.lonlat, params.output, single=False)


class ProfileParams(Params):
    """A line."""

    geometry: Annotated[
        Positions,
        spelled("LineString, or positions in order", "coordinates", "path", max_points=MAX_POINTS),
    ]
    interval: Interval = None
    output: WayOutput = WayOutput()
    format: Format = "json"


@endpoint(
    "/api/v1/elevation/profile",
    methods=("POST",),
    premium=True,
    summary="Heights along a line",
    tag="Elevation",
    schema="GeoJsonFeature",
    errors=("no_elevation",),
    examples=[
        Example(
            {
                "geometry": {
                    "type": "LineString",
                    "coordinates": [[7.4246, 43.7384], [7.4197, 43.7314]],
                },
                "interval": 100,
            }
        )
    ],
)
def elevation_profile(ctx: Context, params: ProfileParams) -> Answer:
    """Return the line with heights as third coordinate, and the figures of the profile.

    Ascent and descent leave out ups and downs below 5 m, which are noise of the raster.
    """
    return _answer_line(ctx, params.geometry.lonlat, params.interval, params.output)


def _answer_points(
    ctx: Context, positions: NDArray[np.float64], output: WayOutput, *, single: bool
) -> Answer:
    heights = find_heights(get_rasters(ctx), positions)
    features = [
        _make_point(lon, lat, height, heights, output)
        for (lon, lat), height in zip(
            positions.tolist(), _none_for_nan(heights.heights_m), strict=True
        )
    ]
    return Answer.geojson(features[0] if single else make_collection(features))


def _make_point(
    lon: float, lat: float, height_m: float | None, heights: Heights, output: WayOutput
) -> dict[str, Any]:
    properties = {"elevation_m": height_m, **_describe(heights)}
    feature = make_point_feature(lon, lat, properties, output)
    if output.geometry and height_m is not None:
        feature["geometry"]["coordinates"].append(height_m)
    return feature


def _answer_line(
    ctx: Context, line: NDArray[np.float64], interval_m: float | None, output: WayOutput
) -> Answer:
    if len(line) < 2:
        raise InvalidRequest.of("geometry", "a line needs two positions or more")
    profile = make_profile(get_rasters(ctx), line, interval_m=interval_m)
    heights = _none_for_nan(profile.heights.heights_m)
    properties = {
        "min_elevation_m": profile.min_m,
        "max_elevation_m": profile.max_m,
        "avg_elevation_m": profile.avg_m,
        "total_ascent_m": profile.ascent_m,
        "total_descent_m": profile.descent_m,
        "distance_m": round(float(profile.distances_m[-1]), 1),
        "distances_m": np.round(profile.distances_m, 1).tolist(),
        "elevations_m": heights,
        **_describe(profile.heights),
    }
    feature = make_feature(shapely.LineString(profile.positions), properties, output)
    if output.geometry:
        rounded = np.round(profile.positions, output.precision).tolist()
        feature["geometry"] = {
            "type": "LineString",
            "coordinates": [
                position if height is None else [*position, height]
                for position, height in zip(rounded, heights, strict=True)
            ],
        }
    return Answer.geojson(feature)


def _describe(heights: Heights) -> dict[str, Any]:
    return {"source": heights.sources, "resolution_m": heights.resolution_m, "datum": "EGM96"}


def _none_for_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]
