"""Great-circle arcs as unit vectors: angles between points and arcs, exact for small ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def unit_vectors(lon: ArrayLike, lat: ArrayLike) -> Floats:
    """Return the points as (n, 3) vectors of length 1."""
    lon, lat = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def _angle(a: Floats, b: Floats) -> Floats:
    """Return the angle between unit vectors, exact for small angles."""
    half = np.linalg.norm(a - b, axis=-1) / 2
    return np.asarray(2 * np.arcsin(np.clip(half, 0.0, 1.0)))


def point_arc(point: Floats, start: Floats, end: Floats) -> Floats:
    """Return the angles of points to great-circle arcs, radians; unit vectors, broadcasting."""
    best = np.minimum(_angle(point, start), _angle(point, end))
    normal = np.cross(start, end)
    length = np.linalg.norm(normal, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = normal / length[..., None]
        height = np.einsum("...i,...i->...", point, unit)
        foot = point - height[..., None] * unit
        # The foot lies within the arc when it is after the start and before the end.
        inside = (np.einsum("...i,...i->...", np.cross(start, foot), unit) >= 0) & (
            np.einsum("...i,...i->...", np.cross(foot, end), unit) >= 0
        )
        across = np.arcsin(np.clip(np.abs(height), 0.0, 1.0))
    usable = inside & (length > 1e-15)
    return np.asarray(np.where(usable, np.minimum(best, across), best))


def arc_arc(a0: Floats, a1: Floats, b0: Floats, b1: Floats) -> Floats:
    """Return the angles between arcs, radians; 0 where they cross. Unit vectors, (n, 3) each."""
    best = np.minimum(
        np.minimum(point_arc(a0, b0, b1), point_arc(a1, b0, b1)),
        np.minimum(point_arc(b0, a0, a1), point_arc(b1, a0, a1)),
    )
    normal_a, normal_b = np.cross(a0, a1), np.cross(b0, b1)

    def side(normal: Floats, point: Floats) -> Floats:
        return np.asarray(np.einsum("...i,...i->...", normal, point))

    crossing = (side(normal_a, b0) * side(normal_a, b1) < 0) & (
        side(normal_b, a0) * side(normal_b, a1) < 0
    )
    # Arcs on opposite halves of the sphere cross each other's great circles as well.
    crossing &= np.einsum("...i,...i->...", a0 + a1, b0 + b1) > 0
    return np.where(crossing, 0.0, best)
