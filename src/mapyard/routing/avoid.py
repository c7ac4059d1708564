"""What a way is to keep off: places, lines and areas, as the engine wants them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.geo.azimuthal import project, unproject
from mapyard.geo.sphere import haversine_m
from mapyard.routing.config import MAX_AVOID_PERIMETER_M, MAX_AVOID_VERTICES

#: Roads that cross a line, or pass a place so near, are not taken.
_LINE_WIDTH_M: Final = 2.0
MAX_AVOID_POINTS: Final = 200


def write_avoided(
    points: NDArray[np.float64] | None = None,
    lines: shapely.Geometry | None = None,
    areas: shapely.Geometry | None = None,
) -> dict[str, Any]:
    """Return the request members that keep a way off roads at points, over lines, in areas.

    Raises `InvalidRequest` for other kinds of shapes, `TooLarge` over the limits.
    """
    request: dict[str, Any] = {}
    if points is not None and len(points):
        if len(points) > MAX_AVOID_POINTS:
            raise TooLarge(
                f"avoid_points: {len(points)} points, at most {MAX_AVOID_POINTS}",
                details={"parameter": "avoid_points", "limit": MAX_AVOID_POINTS},
            )
        request["exclude_locations"] = [{"lon": lon, "lat": lat} for lon, lat in points.tolist()]
    rings: list[NDArray[np.float64]] = []
    if lines is not None:
        _check_kind("avoid_lines", lines, ("LineString", "MultiLineString"))
        rings += [_widen(line) for line in shapely.get_parts(lines) if not line.is_empty]
    if areas is not None:
        _check_kind("avoid_polygons", areas, ("Polygon", "MultiPolygon"))
        for polygon in shapely.get_parts(areas):
            rings += [shapely.get_coordinates(part.exterior) for part in _open_holes(polygon)]
    if rings:
        _check_size(rings)
        request["exclude_polygons"] = [ring.tolist() for ring in rings]
    return request


def _check_kind(name: str, shape: shapely.Geometry, kinds: tuple[str, str]) -> None:
    if shape.geom_type not in kinds:
        raise InvalidRequest.of(
            name, f"must be a {kinds[0]} or {kinds[1]}, not a {shape.geom_type}"
        )


def _widen(line: shapely.Geometry) -> NDArray[np.float64]:
    """Return the rim of a narrow strip along a line."""
    positions = shapely.get_coordinates(line)
    lon0, lat0 = positions[0].tolist()
    plane = shapely.linestrings(project(positions[:, 0], positions[:, 1], lon0, lat0))
    strip = shapely.buffer(plane, _LINE_WIDTH_M / 2, quad_segs=1, cap_style="square")
    rim = max(shapely.get_parts(strip), key=shapely.area).exterior
    return np.asarray(unproject(shapely.get_coordinates(rim), lon0, lat0))


def _open_holes(polygon: shapely.Geometry) -> Iterable[shapely.Geometry]:
    """Yield parts without holes: the engine knows none, so cuts from north to south open them."""
    if polygon.is_empty:
        return
    if not polygon.interiors:
        yield polygon
        return
    west, south, east, north = polygon.bounds
    lon = shapely.Polygon(polygon.interiors[0]).representative_point().x
    for half in (shapely.box(west, south, lon, north), shapely.box(lon, south, east, north)):
        for part in shapely.get_parts(shapely.intersection(polygon, half)):
            if part.geom_type == "Polygon":
                yield from _open_holes(part)


def _check_size(rings: list[NDArray[np.float64]]) -> None:
    vertex_count = sum(len(ring) for ring in rings)
    perimeter_m = sum(
        float(haversine_m(ring[:-1, 0], ring[:-1, 1], ring[1:, 0], ring[1:, 1]).sum())
        for ring in rings
    )
    for what, count, limit in (
        ("vertices", vertex_count, MAX_AVOID_VERTICES),
        ("metres around", round(perimeter_m), MAX_AVOID_PERIMETER_M),
    ):
        if count > limit:
            raise TooLarge(
                f"avoid_polygons: {count} {what}, at most {limit}",
                details={"parameter": "avoid_polygons", "limit": limit, "count": count},
            )
