"""Geometries made over for an answer: centroid, simplified, widened; boxes and centers.

Geometries are arrays of shapely objects in degrees, cut at the antimeridian, None where an element
has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.geo.antimeridian import cut_antimeridian
from mapyard.geo.azimuthal import project, unproject
from mapyard.geo.sphere import DEGREE_M
from mapyard.results.output import Output

type Floats = NDArray[np.float64]
type Geometries = NDArray[np.object_]

#: Geometries made over between two looks at the deadline: a large boundary takes milliseconds.
_RESHAPED_AT_ONCE = 50
#: Segments per quarter circle of a buffer: its corners lie 0.1 % inside the circle.
_QUARTER = 16
#: Positions of parts that are widened piece by piece, and of a piece.
_LONG = 512
_PIECE = 32
#: Detail left away before widening, as a share of the radius.
_DETAIL = 0.002


def shape_geometries(geometries: Geometries, output: Output) -> Geometries:
    """Return the geometries as output options ask: centroid, then simplify, then buffer."""
    if output.centroid:
        geometries = _in_flat_plane(geometries, shapely.centroid)
    if (tolerance_m := output.simplify) is not None:
        geometries = _in_flat_plane(geometries, lambda flat: shapely.simplify(flat, tolerance_m))
    if output.buffer is not None:
        geometries = buffer_geometries(geometries, output.buffer)
    return geometries


def iter_shaped(
    geometries: Geometries, output: Output, deadline: Deadline | None
) -> Iterator[Geometries]:
    """Yield `shape_geometries` in parts; the deadline is looked at before each.

    All in one where nothing is made over.
    """
    reshaped = output.centroid or output.simplify is not None or output.buffer is not None
    size = _RESHAPED_AT_ONCE if reshaped else max(1, len(geometries))
    for start in range(0, len(geometries), size):
        if deadline is not None:
            deadline.check()
        yield shape_geometries(geometries[start : start + size], output)


def find_boxes(geometries: Geometries) -> Floats:
    """Return (n, 4) west, south, east, north; west > east across the antimeridian; NaN for None.

    Source: RFC 7946 section 5.2.
    """
    boxes = np.asarray(shapely.bounds(geometries), np.float64)
    for place in np.flatnonzero(boxes[:, 2] - boxes[:, 0] > 180.0).tolist():
        lons = shapely.get_coordinates(geometries[place])[:, 0]
        boxes[place, 0], boxes[place, 2] = lons[lons > 0].min(), lons[lons <= 0].max()
    return boxes


def find_centers(boxes: Floats) -> Floats:
    """Return (n, 2) lon, lat of the middle of boxes from `find_boxes`."""
    west, south, east, north = boxes.T
    east = np.where(west > east, east + 360.0, east)
    return np.column_stack([_wrap((west + east) / 2), (south + north) / 2])


def buffer_geometries(
    geometries: Geometries, radius_m: float, check: Callable[[], None] = lambda: None
) -> Geometries:
    """Return the geometries widened by a distance on the sphere, cut at the antimeridian.

    The edge is within 0.3 % of the radius. A negative radius narrows areas; what has none is empty
    then. `check` is called between steps and may raise.
    """
    coordinates, owners = shapely.get_coordinates(geometries, return_index=True)
    if not len(coordinates):
        return geometries
    lon0, lat0 = _middles(coordinates, owners, len(geometries))
    plane = project(coordinates[:, 0], coordinates[:, 1], lon0[owners], lat0[owners])
    flat = shapely.set_coordinates(geometries.copy(), plane)
    wide = _widen(flat, radius_m, check)
    plane, owners = shapely.get_coordinates(wide, return_index=True)
    lonlat = unproject(plane, lon0[owners], lat0[owners])
    lonlat[:, 0] = _wrap(lonlat[:, 0])
    return cut_antimeridian(shapely.set_coordinates(wide, lonlat))


def _widen(flat: Geometries, radius_m: float, check: Callable[[], None]) -> Geometries:
    """Return buffers in the plane.

    Detail far below the radius is left away, and parts are widened one by one and then united:
    GEOS takes a hundred times longer on a whole boundary of many ways at once.
    """
    is_lines = shapely.get_type_id(flat) == 5
    flat = flat.copy()
    flat[is_lines] = shapely.line_merge(flat[is_lines])
    flat = shapely.simplify(flat, abs(radius_m) * _DETAIL)
    parts, owners = shapely.get_parts(flat, return_index=True)
    wide_parts = np.full(len(parts), None, np.object_)
    is_long = shapely.get_num_coordinates(parts) > _LONG
    wide_parts[~is_long] = shapely.buffer(parts[~is_long], radius_m, quad_segs=_QUARTER)
    for place in np.flatnonzero(is_long).tolist():
        check()
        wide_parts[place] = _widen_long(parts[place], radius_m, check)
    wide = np.full(len(flat), None, np.object_)
    edges = np.searchsorted(owners, np.arange(len(flat) + 1)).tolist()
    for place, (start, end) in enumerate(pairwise(edges)):
        if end - start == 1:
            wide[place] = wide_parts[start]
        elif end > start:
            wide[place] = shapely.union_all(wide_parts[start:end])
    return wide


def _widen_long(part: Any, radius_m: float, check: Callable[[], None]) -> Any:
    """Return the buffer of one line or polygon, put together from those of short pieces.

    The outline of a whole long line crosses itself wherever the line turns within the radius: GEOS
    takes memory and time with the square of that.
    """
    is_area = shapely.get_type_id(part) == 3
    lines = shapely.get_rings(part) if is_area else [part]
    pieces = []
    for line in lines:
        positions = shapely.get_coordinates(line)
        pieces += [
            shapely.linestrings(positions[start : start + _PIECE + 1])
            for start in range(0, max(1, len(positions) - 1), _PIECE)
        ]
    edges = []
    for start in range(0, len(pieces), _PIECE):
        check()
        around = shapely.buffer(pieces[start : start + _PIECE], abs(radius_m), quad_segs=_QUARTER)
        edges.append(shapely.union_all(around))
    check()
    edge = shapely.union_all(edges)
    if not is_area:
        return edge if radius_m > 0 else shapely.Polygon()
    return shapely.union(part, edge) if radius_m > 0 else shapely.difference(part, edge)


def _middles(coordinates: Floats, owners: NDArray[np.int64], count: int) -> tuple[Floats, Floats]:
    """Return lon, lat of the mean direction of each geometry's positions, poles included."""
    lon, lat = np.radians(coordinates).T
    x, y, z = (
        np.bincount(owners, weights=part, minlength=count)
        for part in (np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat))
    )
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))


def _in_flat_plane(geometries: Geometries, work: Callable[[Geometries], Geometries]) -> Geometries:
    """Do planar work in meters on each geometry, degrees scaled by its middle latitude."""
    bounds = shapely.bounds(geometries)
    # Halves on both sides of the antimeridian are moved together, and back after the work.
    split = bounds[:, 2] - bounds[:, 0] > 180.0
    scale_x = DEGREE_M * np.cos(np.radians((bounds[:, 1] + bounds[:, 3]) / 2))
    scale = np.column_stack([scale_x, np.full(len(scale_x), DEGREE_M)])
    coordinates, owners = shapely.get_coordinates(geometries, return_index=True)
    coordinates[split[owners] & (coordinates[:, 0] < 0), 0] += 360.0
    flat = shapely.set_coordinates(geometries.copy(), coordinates * scale[owners])
    worked = work(flat)
    coordinates, owners = shapely.get_coordinates(worked, return_index=True)
    coordinates /= scale[owners]
    if split.any():
        # A part lies on one side: the vertex on the antimeridian itself goes where its part is.
        coordinates[:, 0] = _move_back(worked, coordinates[:, 0], owners, split)
    return np.asarray(shapely.set_coordinates(worked, coordinates))


def _move_back(
    worked: Geometries, lon: Floats, owners: NDArray[np.int64], split: NDArray[np.bool_]
) -> Floats:
    parts = shapely.get_parts(worked)
    _, part_of = shapely.get_coordinates(parts, return_index=True)
    highest = np.full(len(parts), -np.inf)
    np.maximum.at(highest, part_of, lon)
    return np.where(split[owners] & (highest[part_of] > 180.0 + 1e-9), lon - 360.0, lon)


def _wrap(lon: Floats) -> Floats:
    return np.asarray(np.where(np.abs(lon) > 180.0, (lon + 180.0) % 360.0 - 180.0, lon))
