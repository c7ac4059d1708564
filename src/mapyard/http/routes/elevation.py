"""Heights of positions and lines."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import shapely
from msgspec import Meta

from mapyard.elevation.profile import MAX_POINTS
from mapyard.errors import InvalidRequest
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import elevation as library
from mapyard.library.results.heights import Heights
from mapyard.library.ways import WayOutput
from mapyard.params.parser import Geometry, Params, Position, Positions, spelled

type Format = Annotated[Literal["json", "geojson"], Meta(description="both are GeoJSON")]


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
    interval: library.Interval = None
    output: WayOutput = WayOutput()
    format: Format = "json"


@endpoint(
    "/api/v1/elevation",
    methods=("GET", "POST"),
    premium=True,
    summary="Height of positions, or along a line",
    tag="Elevation",
    schema="ElevationResult",
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
        return _answer(library.find_points(ctx, np.array([params.at]), params.output), single=True)
    if params.locations is not None:
        lonlat, kind = params.locations.lonlat, params.locations.kind
    else:
        assert params.geometry is not None
        lonlat, kind = shapely.get_coordinates(params.geometry.shape), params.geometry.type
    if kind == "LineString":
        profile = library.find_line(ctx, lonlat, params.interval, params.output)
        return Answer.geojson(profile.written)
    if kind not in ("Point", "MultiPoint", "array"):
        raise InvalidRequest.of(
            "geometry", f"must be a Point, MultiPoint or LineString, not a {kind}"
        )
    return _answer(library.find_points(ctx, lonlat, params.output), single=kind == "Point")


def _answer(found: Heights, *, single: bool) -> Answer:
    return Answer.geojson(found.features[0] if single else found.to_collection())


class BatchParams(library.HeightsQuestion, kw_only=True):
    """Several positions."""

    format: Format = "json"


@endpoint(
    "/api/v1/elevation/batch",
    methods=("POST",),
    premium=True,
    summary="Heights of many positions",
    tag="Elevation",
    schema="Elevations",
    errors=("no_elevation",),
    examples=[Example({"coordinates": [{"lat": 43.7384, "lng": 7.4246}]})],
)
def elevation_batch(ctx: Context, params: BatchParams) -> Answer:
    """Return a FeatureCollection in input order; heights are null where there is no data."""
    return _answer(library.elevation(ctx, params), single=False)


class ProfileParams(library.ProfileQuestion, kw_only=True):
    """A line."""

    format: Format = "json"


@endpoint(
    "/api/v1/elevation/profile",
    methods=("POST",),
    premium=True,
    summary="Heights along a line",
    tag="Elevation",
    schema="ElevationResult",
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
    return Answer.geojson(library.elevation_profile(ctx, params).written)
