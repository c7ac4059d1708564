"""Multipolygons from way segments, as osmium assembles them.

Roles are not trusted: segments that occur twice cancel out, every node must have an even number of
segments, and what is inside or outside follows from the geometry (even-odd).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray


class Assembled(NamedTuple):
    """A Polygon or MultiPolygon in degrees, or None with the reason."""

    polygon: Any | None
    reason: str


def assemble(ways: list[NDArray[Any]], lon: NDArray[Any], lat: NDArray[Any]) -> Assembled:
    """Assemble the ways (node indexes) with positions lon, lat (1e-7 degree by node index)."""
    starts = np.concatenate([way[:-1] for way in ways]).astype(np.int64)
    ends = np.concatenate([way[1:] for way in ways]).astype(np.int64)
    # Nodes at one position are one corner: closed rings are often closed by a second node there.
    corners, corner_of = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    x, y = lon[corners].astype(np.int64), lat[corners].astype(np.int64)
    place = (x << 32) | (y & 0xFFFFFFFF)
    _, first, same = np.unique(place, return_index=True, return_inverse=True)
    corner_of = same[corner_of]
    half = len(starts)
    low = np.minimum(corner_of[:half], corner_of[half:])
    high = np.maximum(corner_of[:half], corner_of[half:])
    real = low != high
    segments, counts = np.unique((low[real] << 32) | high[real], return_counts=True)
    segments = segments[counts % 2 == 1]
    if len(segments) < 3:
        return Assembled(None, "no ring: fewer than three segments")
    used, ends = np.unique(
        np.concatenate([segments >> 32, segments & 0xFFFFFFFF]), return_inverse=True
    )
    low, high = ends[: len(segments)], ends[len(segments) :]
    degree = np.bincount(ends)
    if (degree % 2).any():
        return Assembled(None, "a ring is open")
    x, y = x[first[used]] / 1e7, y[first[used]] / 1e7
    crosses = x.max() - x.min() > 180
    if crosses:
        x = np.where(x < 0, x + 360, x)
    rings = _walk_rings(low, high, degree)
    if rings is not None:
        lines = [shapely.linestrings(np.column_stack([x[ring], y[ring]])) for ring in rings]
    else:
        ends2 = np.column_stack([low, high]).ravel()
        lines = shapely.linestrings(
            np.column_stack([x[ends2], y[ends2]]), indices=np.repeat(np.arange(len(low)), 2)
        )
    area = shapely.build_area(shapely.geometrycollections(lines))
    if area is None or shapely.is_empty(area):
        return Assembled(None, "the rings enclose nothing")
    if not shapely.is_valid(area) or not _uses_all(area, lines):
        return Assembled(None, "rings cross without a common node")
    if crosses:
        area = _cut(area)
    return Assembled(shapely.orient_polygons(area), "")


def _walk_rings(
    low: NDArray[np.int64], high: NDArray[np.int64], degree: NDArray[np.int64]
) -> list[list[int]] | None:
    """Chain segments to rings where every corner has two; None where rings touch."""
    if degree.max() > 2:
        return None
    ends = np.concatenate([low, high])
    order = np.argsort(ends, kind="stable")
    segment_of = (order % len(low)).tolist()  # two entries per corner, in corner order
    other = (low + high).tolist()
    used = bytearray(len(low))
    rings = []
    for start in range(len(degree)):
        segment = segment_of[2 * start]
        if used[segment]:
            continue
        ring, corner = [start], start
        while not used[segment]:
            used[segment] = 1
            corner = other[segment] - corner
            ring.append(corner)
            pair = segment_of[2 * corner], segment_of[2 * corner + 1]
            segment = pair[1] if pair[0] == segment else pair[0]
        rings.append(ring)
    return rings


def _uses_all(area: Any, lines: Any) -> bool:
    """Return whether the area's boundary is exactly the lines: none crossed or fell away."""
    wanted = float(shapely.length(lines).sum())
    return abs(float(shapely.length(area)) - wanted) <= 1e-9 * wanted


def _cut(area: Any) -> Any:
    """Cut a polygon in longitudes 0…360 at 180 and move its east part back."""
    west = shapely.intersection(area, shapely.box(-180, -90, 180, 90))
    east = shapely.intersection(area, shapely.box(180, -90, 540, 90))
    east = shapely.transform(east, lambda c: c - [360.0, 0.0])
    parts = [p for g in (west, east) for p in shapely.get_parts(g) if p.geom_type == "Polygon"]
    return shapely.multipolygons(parts)
