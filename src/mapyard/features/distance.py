"""Distances in meters between a geometry and elements, on the sphere with the one radius.

Measured in the azimuthal equidistant plane around the geometry: exact for a point, and better than
0.5 % for geometries up to 20 degrees wide.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geo.azimuthal import project
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M, EARTH_RADIUS_M, haversine_m
from mapyard.store.portions import in_portions
from mapyard.store.reader import E7, Rows, Store

#: From this many nodes on, the segments that may be nearest are sought first.
_MANY_NODES: Final = 500
#: Ways that reach farther from the center than this are measured whole.
_FLAT_M: Final = 100_000.0
#: Farther than anything on the sphere, yet finite.
_FAR_M: Final = 1e9

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
        return in_portions(store, rows, partial(self._measure_portion, store))

    def _measure_portion(self, store: Store, rows: Rows) -> Floats:
        geometries = store.geometries(rows)
        lon, lat = shapely.get_coordinates(geometries).T
        plane = project(lon, lat, self.lon, self.lat)
        measured = shapely.distance(self._flat, shapely.set_coordinates(geometries, plane))
        return np.where(np.isnan(measured), np.inf, measured)

    def _measure_ways(self, store: Store, rows: Rows) -> Floats:
        """Return the distances of plain ways from the center, straight from their nodes."""
        x, y, offsets = store.way_positions(rows)
        distances = np.full(len(rows), np.inf)
        long_enough = np.flatnonzero(np.diff(offsets) > 1)
        if not len(long_enough):
            return distances
        # Segments that join the end of one way to the start of the next belong to none.
        is_segment = np.ones(len(x) - 1, np.bool_)
        joints = offsets[1:-1]
        is_segment[joints[(joints > 0) & (joints < len(x))] - 1] = False
        starts = offsets[long_enough]
        is_area = store.is_area(rows[long_enough])
        may_hold = is_area
        if is_area.any():
            may_hold = is_area & self._may_hold(store.boxes(rows[long_enough]))
        places = self._find_nearest(x, y, is_segment, starts, may_hold)
        firsts = np.searchsorted(places, starts)
        # What is left of the segments, exactly: both of their ends in the plane.
        ends = np.concatenate([places, places + 1])
        plane = project(x[ends] / E7, y[ends] / E7, self.lon, self.lat)
        ax, ay = plane[: len(places)].T
        dx, dy = (plane[len(places) :] - plane[: len(places)]).T
        length2 = dx * dx + dy * dy
        with np.errstate(invalid="ignore", divide="ignore"):
            place = np.where(length2 > 0.0, -(ax * dx + ay * dy) / length2, 0.0)
        place = place.clip(0.0, 1.0)
        measured = np.hypot(ax + place * dx, ay + place * dy)
        distances[long_enough] = np.minimum.reduceat(measured, firsts)
        if may_hold.any():
            # An area holds the center when a ray from it crosses the ring an odd number of times.
            crosses = (ay > 0.0) != (ay + dy > 0.0)
            crosses &= np.where(dy > 0.0, ax * dy - ay * dx, ay * dx - ax * dy) > 0.0
            inside = np.add.reduceat(crosses.astype(np.int64), firsts) % 2 == 1
            distances[long_enough[inside & may_hold]] = 0.0
        return distances

    def _may_hold(self, boxes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which areas may hold the center, by their boxes in 1e-7 degree."""
        if not self._is_flat:
            return np.ones(len(boxes), np.bool_)
        x0, y0, x1, y1 = (boxes / E7).T
        # As far as a long side may bulge when it is drawn straight in the plane.
        margin = np.maximum(x1 - x0, y1 - y0)
        return (
            (x0 - margin <= self.lon) & (self.lon <= x1 + margin)
            & (y0 - margin <= self.lat) & (self.lat <= y1 + margin)
        )  # fmt: skip

    @property
    def _is_flat(self) -> bool:
        """Whether degrees around the center are nearly a plane, and do not jump."""
        return abs(self.lat) <= 75.0 and abs(self.lon) <= 175.0

    def _find_nearest(
        self,
        x: NDArray[np.int32],
        y: NDArray[np.int32],
        is_segment: NDArray[np.bool_],
        starts: NDArray[np.int64],
        whole: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """Return the places of those segments of each way that may be its nearest, or all of it.

        Sines and cosines cost most, so the nearest are found without them, in degrees scaled to
        meters. Within r of the center a position there is off by at most
        (2 tan(lat) + 0.5) r² / R, and so is a distance to a segment between two such positions.
        """
        if not self._is_flat or len(x) < _MANY_NODES:
            return np.flatnonzero(is_segment)
        scale = DEGREE_M / E7
        u = (x - self.lon * E7) * (scale * math.cos(math.radians(self.lat)))
        v = (y - self.lat * E7) * scale
        du, dv = u[1:] - u[:-1], v[1:] - v[:-1]
        au, av = u[:-1], v[:-1]
        length2 = du * du + dv * dv
        with np.errstate(invalid="ignore", divide="ignore"):
            place = -(au * du + av * dv) / length2
        place[length2 == 0.0] = 0.0
        place = place.clip(0.0, 1.0)
        du *= place
        dv *= place
        du += au
        dv += av
        measured = np.sqrt(du * du + dv * dv)
        measured[~is_segment] = np.inf
        reach = np.maximum.reduceat(np.maximum(np.abs(u), np.abs(v)), starts)
        error = (2.0 * math.tan(math.radians(abs(self.lat))) + 0.5) * reach * reach / EARTH_RADIUS_M
        limit = np.minimum.reduceat(measured, starts) + 2.0 * error
        limit[whole | (reach > _FLAT_M)] = _FAR_M
        near = np.zeros(len(measured), np.bool_)
        sizes = np.diff(starts, append=len(measured))
        near[starts[0] :] = measured[starts[0] :] <= np.repeat(limit, sizes)
        return np.flatnonzero(near)

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
