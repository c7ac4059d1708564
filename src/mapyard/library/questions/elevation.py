"""Heights of positions and lines."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import shapely
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.elevation.profile import MAX_POINTS, find_heights, make_profile
from mapyard.elevation.profile import Heights as FoundHeights
from mapyard.errors import InvalidRequest
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.heights import Heights, Profile
from mapyard.library.ways import WayOutput, get_rasters, make_feature, make_point_feature
from mapyard.params.parser import Params, Positions, spelled

type Interval = Annotated[
    float | None,
    Meta(gt=0, le=100_000, description="lines: add positions, at most this many meters apart"),
]


class HeightsQuestion(Params, kw_only=True):
    """Several positions."""

    coordinates: Annotated[
        Positions,
        spelled("positions", "geometry", "locations", lng_first=True, max_points=MAX_POINTS),
    ]
    output: WayOutput = WayOutput()


@question("elevation", path="/api/v1/elevation/batch", leading=("coordinates",))
def elevation(call: Call, params: HeightsQuestion) -> Heights:
    """Return heights of positions in meters above the sea (EGM96), in input order.

    Bilinear between the cells of the raster; null where there is no data. Small voids are filled
    from around, which property `filled` tells.
    """
    return find_points(call, params.coordinates.lonlat, params.output)


class ProfileQuestion(Params, kw_only=True):
    """A line."""

    geometry: Annotated[
        Positions,
        spelled("LineString, or positions in order", "coordinates", "path", max_points=MAX_POINTS),
    ]
    interval: Interval = None
    output: WayOutput = WayOutput()


@question("elevation_profile", path="/api/v1/elevation/profile", leading=("geometry",))
def elevation_profile(call: Call, params: ProfileQuestion) -> Profile:
    """Return a line with its heights, and the figures of its profile.

    Ascent and descent leave out ups and downs below 5 m, which are noise of the raster.
    """
    return find_line(call, params.geometry.lonlat, params.interval, params.output)


def find_points(call: Call, positions: NDArray[np.float64], output: WayOutput) -> Heights:
    """Return the heights of positions (n, 2)."""
    heights = find_heights(get_rasters(call), positions)
    return Heights(
        [
            _make_point(lon, lat, height, is_filled, heights, output)
            for (lon, lat), height, is_filled in zip(
                positions.tolist(),
                _none_for_nan(heights.heights_m),
                heights.is_filled.tolist(),
                strict=True,
            )
        ]
    )


def _make_point(
    lon: float,
    lat: float,
    height_m: float | None,
    is_filled: bool,
    heights: FoundHeights,
    output: WayOutput,
) -> dict[str, Any]:
    properties = {"elevation_m": height_m, **_describe(heights)}
    if is_filled:
        properties["filled"] = True
    feature = make_point_feature(lon, lat, properties, output)
    if output.geometry and height_m is not None:
        feature["geometry"]["coordinates"].append(height_m)
    return feature


def find_line(
    call: Call, line: NDArray[np.float64], interval_m: float | None, output: WayOutput
) -> Profile:
    """Return the profile of a line (n, 2)."""
    if len(line) < 2:
        raise InvalidRequest.of("geometry", "a line needs two positions or more")
    profile = make_profile(get_rasters(call), line, interval_m=interval_m)
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
        "filled_positions": np.flatnonzero(profile.heights.is_filled).tolist(),
        **_describe(profile.heights),
    }
    feature = make_feature(shapely.LineString(profile.positions), properties, output)
    if output.geometry:
        rounded = np.round(profile.positions, output.precision)
        # A line has one dimension: without the height of one position, it has none of any.
        if None not in heights:
            rounded = np.column_stack([rounded, profile.heights.heights_m])
        feature["geometry"] = {"type": "LineString", "coordinates": rounded.tolist()}
    return Profile(feature)


def _describe(heights: FoundHeights) -> dict[str, Any]:
    return {"source": heights.sources, "resolution_m": heights.resolution_m, "datum": "EGM96"}


def _none_for_nan(values: NDArray[np.float64]) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]
