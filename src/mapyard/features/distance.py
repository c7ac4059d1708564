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
        if not self.is_point:
            return self._measure_shapes(store, rows)
        distances = np.empty(len(rows))
        is_node = rows < store.way_start
        nodes = np.flatnonzero(is_node)
        if len(nodes):
            lon, lat = store.lon[rows[nodes]] / E7, store.lat[rows[nodes]] / E7
            distances[nodes] = haversine_m(self.lon, self.lat, lon, lat)
        is_way = ~is_node & (rows < store.relation_start) & ~store.has_stored_shape(rows)
        ways = np.flatnonzero(is_way)
        if len(ways):
            distances[ways] = self._measure_ways(store, rows[ways])
        others = np.flatnonzero(~is_node & ~is_way)
        if len(others):
            distances[others] = self._measure_shapes(store, rows[others])
        return distances

    def _measure_shapes(self, store: Store, rows: Rows) -> Floats:
        geometries = store.geometries(rows)
        lon, lat = shapely.get_coordinates(geometries).T
        plane = project(lon, lat, self.lon, self.lat)
        measured = shapely.distance(self._flat, shapely.set_coordinates(geometries, plane))
        return np.where(np.isnan(measured), np.inf, measured)

    def _measure_ways(self, store: Store, rows: Rows) -> Floats:
        """Return the distances of plain ways from the center, straight from their nodes."""
        units, offsets = store.way_coordinates(rows)
        distances = np.full(len(rows), np.inf)
        long_enough = np.flatnonzero(np.diff(offsets) > 1)
        if not len(long_enough):
            return distances
        plane = project(units[:, 0] / E7, units[:, 1] / E7, self.lon, self.lat)
        # Segments that join the end of one way to the start of the next belong to none.
        is_segment = np.ones(len(units) - 1, np.bool_)
        joints = offsets[1:-1]
        is_segment[joints[(joints > 0) & (joints < len(units))] - 1] = False
        x, y = plane[:-1].T
        dx, dy = (plane[1:] - plane[:-1]).T
        length2 = dx * dx + dy * dy
        with np.errstate(invalid="ignore", divide="ignore"):
            place = np.where(length2 > 0.0, -(x * dx + y * dy) / length2, 0.0)
        place = place.clip(0.0, 1.0)
        measured = np.hypot(x + place * dx, y + place * dy)
        measured[~is_segment] = np.inf
        starts = offsets[long_enough]
        distances[long_enough] = np.minimum.reduceat(measured, starts)
        is_area = store.is_area(rows)
        if is_area.any():
            # An area holds the center when a ray from it crosses the ring an odd number of times.
            crosses = is_segment & ((y > 0.0) != (y + dy > 0.0))
            crosses &= np.where(dy > 0.0, x * dy - y * dx, y * dx - x * dy) > 0.0
            inside = np.add.reduceat(crosses.astype(np.int64), starts) % 2 == 1
            distances[long_enough[inside & is_area[long_enough]]] = 0.0
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
