"""Cutting geometries at the antimeridian, as RFC 7946 section 3.1.9 asks.

Coordinates are planar lon, lat within ±180. A step of more than 180 degrees of longitude between
two neighboring positions is read as the short way around, across the antimeridian; a step of
exactly 360 runs along a parallel from edge to edge of the map and is no crossing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type Geometries = NDArray[np.object_]

_WIDE_DEG = 180.0


def crosses_antimeridian(geometries: Geometries) -> NDArray[np.bool_]:
    """Return which geometries take a step across the antimeridian; None does not."""
    bounds = shapely.bounds(geometries)
    wide = np.flatnonzero(bounds[:, 2] - bounds[:, 0] > _WIDE_DEG)
    result = np.zeros(len(geometries), np.bool_)
    for place in wide.tolist():
        result[place] = any(
            _steps(shapely.get_coordinates(line)).any() for line in _lines_of(geometries[place])
        )
    return result


def cut_antimeridian(geometries: Geometries) -> Geometries:
    """Return the geometries with those that cross the antimeridian cut into multi-geometries.

    LineString becomes MultiLineString and Polygon MultiPolygon, with parts that touch ±180. The
    input array is returned as it is when nothing crosses, which costs one look at the bounds.
    """
    crossing = np.flatnonzero(crosses_antimeridian(geometries))
    if not len(crossing):
        return geometries
    result = geometries.copy()
    for place in crossing.tolist():
        result[place] = _cut(geometries[place])
    return result


def _lines_of(geometry: Any) -> list[Any]:
    parts = shapely.get_parts([geometry])
    is_polygon = shapely.get_type_id(parts) == 3
    return [*parts[~is_polygon], *shapely.get_rings(parts[is_polygon])]


def _steps(coordinates: Floats) -> NDArray[np.int64]:
    """Return per step +1 where it crosses eastwards (180 → −180), −1 westwards, else 0."""
    step = np.diff(coordinates[:, 0])
    crossing = (np.abs(step) > _WIDE_DEG) & (np.abs(step) < 360.0)
    return np.where(crossing, -np.sign(step), 0).astype(np.int64)


def _unwrap(coordinates: Floats) -> Floats:
    turns = np.concatenate([[0], np.cumsum(_steps(coordinates))])
    return np.column_stack([coordinates[:, 0] + 360.0 * turns, coordinates[:, 1]])


def _cut(geometry: Any) -> Any:
    lines, polygons, others = [], [], []
    for part in shapely.get_parts([geometry]):
        match shapely.get_type_id(part):
            case 1 | 2:
                lines += _cut_line(shapely.get_coordinates(part))
            case 3:
                polygons += _cut_polygon(part)
            case _:
                others.append(part)
    made = []
    if lines:
        made.append(shapely.multilinestrings(lines))
    if polygons:
        made.append(shapely.multipolygons(polygons))
    made += others
    return made[0] if len(made) == 1 else shapely.geometrycollections(made)


def _cut_line(coordinates: Floats) -> list[Any]:
    steps = _steps(coordinates)
    pieces = []
    start: list[Any] = []
    begin = 0
    for i in np.flatnonzero(steps).tolist():
        edge = 180.0 * steps[i]
        (lon1, lat1), (lon2, lat2) = coordinates[i], coordinates[i + 1]
        lon2 += 360.0 * steps[i]
        lat = lat1 + (lat2 - lat1) * (edge - lon1) / (lon2 - lon1)
        pieces.append(np.array([*start, *coordinates[begin : i + 1], [edge, lat]]))
        start, begin = [[-edge, lat]], i + 1
    pieces.append(np.array([*start, *coordinates[begin:]]))
    # A piece of one place comes from a position that lies on the antimeridian itself.
    return [shapely.linestrings(piece) for piece in pieces if (np.diff(piece, axis=0) != 0).any()]


def _cut_polygon(polygon: Any) -> list[Any]:
    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(polygon)]
    shell = _close_at_pole(_unwrap(rings[0]))
    west, east = shell[:, 0].min(), shell[:, 0].max()
    holes = []
    for ring in rings[1:]:
        hole = _unwrap(ring)
        if hole[:, 0].min() < west:
            hole[:, 0] += 360.0
        elif hole[:, 0].max() > east:
            hole[:, 0] -= 360.0
        holes.append(hole)
    whole = shapely.make_valid(shapely.Polygon(shell, holes))
    pieces = []
    first, last = int(np.floor((west + 180.0) / 360.0)), int(np.ceil((east - 180.0) / 360.0))
    for turn in range(first, last + 1):
        window = shapely.box(-180.0 + 360.0 * turn, -90.0, 180.0 + 360.0 * turn, 90.0)
        piece = shapely.intersection(whole, window)
        leaves = shapely.get_parts(shapely.get_parts([piece]))  # make_valid may nest
        is_area = (shapely.get_type_id(leaves) == 3) & ~shapely.is_empty(leaves)
        pieces += [_shift(leaf, -360.0 * turn) for leaf in leaves[is_area]]
    return pieces


def _shift(geometry: Any, lon: float) -> Any:
    return (
        shapely.transform(geometry, lambda lonlat: lonlat + np.array([lon, 0.0]))
        if lon
        else geometry
    )


def _close_at_pole(shell: Floats) -> Floats:
    """Lead a ring that runs around a pole over that pole, so that it closes in the plane."""
    if shell[0, 0] == shell[-1, 0]:
        return shell
    pole = 90.0 if shell[:, 1].mean() > 0 else -90.0
    return np.concatenate([shell, [[shell[-1, 0], pole], [shell[0, 0], pole]], shell[:1]])
