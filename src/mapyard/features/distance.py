"""Distances in meters between a geometry and elements, on the sphere with the one radius.

Measured in the azimuthal equidistant plane around the geometry: exact for a point, and better than
0.5 % for geometries up to 20 degrees wide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.azimuthal import project
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M, EARTH_RADIUS_M, haversine_m
from mapyard.store.reader import E7, Rows, Store

type Floats = NDArray[np.float64]


class Center:
    """A geometry from which distances are measured."""

    def __init__(self, shape: Any) -> None:
        self.is_point = shapely.get_type_id(shape) == 0
        coordinates = shapely.get_coordinates(shape)
        #: Middle of the geometry, degrees: the center of the plane.
        self.lon, self.lat = _find_middle(coordinates)
        plane = project(coordinates[:, 0], coordinates[:, 1], self.lon, self.lat)
        self._flat = shapely.set_coordinates(np.array([shape], np.object_), plane)[0]
        shapely.prepare(self._flat)
        self._reach_m = float(np.hypot(plane[:, 0], plane[:, 1]).max())

    def distances_m(self, store: Store, rows: Rows) -> Floats:
        """Return the distance of each row (any order); infinity where it has no geometry."""
        rows = np.asarray(rows, np.int64)
        distances = np.full(len(rows), np.inf)
        is_node = rows < store.way_start
        if self.is_point and is_node.any():
            nodes = rows[is_node]
            distances[is_node] = haversine_m(
                self.lon, self.lat, store.lon[nodes] / E7, store.lat[nodes] / E7
            )
        others = np.flatnonzero(~is_node) if self.is_point else np.arange(len(rows))
        if len(others):
            geometries = store.geometries(rows[others])
            coordinates, _ = shapely.get_coordinates(geometries, return_index=True)
            plane = project(coordinates[:, 0], coordinates[:, 1], self.lon, self.lat)
            measured = shapely.distance(self._flat, shapely.set_coordinates(geometries, plane))
            distances[others] = np.where(np.isnan(measured), np.inf, measured)
        return distances

    def boxes_within(self, radius_m: float) -> list[Bbox]:
        """Return the boxes that hold every place within the radius of the geometry."""
        reach_m = radius_m + self._reach_m
        angle_deg = reach_m / DEGREE_M
        south, north = self.lat - angle_deg, self.lat + angle_deg
        if south <= -90.0 or north >= 90.0:
            return [Bbox(-180.0, max(south, -90.0), 180.0, min(north, 90.0))]
        # The meridians that touch the circle.
        widest = np.arcsin(np.sin(reach_m / EARTH_RADIUS_M) / np.cos(np.radians(self.lat)))
        dlon = float(np.degrees(widest))
        west, east = self.lon - dlon, self.lon + dlon
        if west < -180.0:
            west += 360.0
        elif east > 180.0:
            east -= 360.0
        return Bbox(west, south, east, north).split()


def _find_middle(coordinates: Floats) -> tuple[float, float]:
    """Return lon, lat of the mean direction of positions."""
    if len(coordinates) == 1:
        return float(coordinates[0, 0]), float(coordinates[0, 1])
    lon, lat = np.radians(coordinates).T
    x, y = (np.cos(lat) * np.cos(lon)).sum(), (np.cos(lat) * np.sin(lon)).sum()
    z = np.sin(lat).sum()
    return float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))
