"""Lengths and areas of shapes on the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.sphere import EARTH_RADIUS_M, haversine_m

type Floats = NDArray[np.float64]
type Geometries = NDArray[np.object_]


def measure_lengths_m(geometries: Geometries) -> Floats:
    """Return the length of each line in meters, of areas that of their outlines; 0 for points."""
    parts, owners = shapely.get_parts(geometries, return_index=True)
    is_area = shapely.get_type_id(parts) == 3
    rings, of_area = shapely.get_rings(parts[is_area], return_index=True)
    lines = np.concatenate([parts[~is_area], rings])
    owners = np.concatenate([owners[~is_area], owners[is_area][of_area]])
    lengths, index = _steps(lines)
    return np.bincount(owners[index], lengths, minlength=len(geometries))


def _steps(lines: NDArray[Any]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the length of each segment, and the line that it is of."""
    coordinates, index = shapely.get_coordinates(lines, return_index=True)
    if len(coordinates) < 2:
        return np.empty(0), np.empty(0, np.int64)
    lon, lat = coordinates.T
    same = index[1:] == index[:-1]
    lengths = np.asarray(haversine_m(lon[:-1], lat[:-1], lon[1:], lat[1:]))
    return lengths[same], index[1:][same]


def measure_areas_m2(geometries: Geometries) -> Floats:
    """Return the area of each polygon in square meters, holes left out; 0 for lines and points."""
    parts, owners = shapely.get_parts(geometries, return_index=True)
    is_area = shapely.get_type_id(parts) == 3
    parts, owners = parts[is_area], owners[is_area]
    rings, of_part = shapely.get_rings(parts, return_index=True)
    coordinates, ring = shapely.get_coordinates(rings, return_index=True)
    if not len(coordinates):
        return np.zeros(len(geometries))
    lon, lat = np.radians(coordinates).T
    same = ring[1:] == ring[:-1]
    # The area between an edge and the equator, on a cylinder of equal area.
    strips = (lon[1:] - lon[:-1]) * (2 + np.sin(lat[1:]) + np.sin(lat[:-1])) / 2
    sums = np.abs(np.bincount(ring[1:][same], strips[same], minlength=len(rings)))
    is_hole = np.r_[False, of_part[1:] == of_part[:-1]]
    area = np.where(is_hole, -sums, sums) * EARTH_RADIUS_M**2
    return np.bincount(owners[of_part], area, minlength=len(geometries))
