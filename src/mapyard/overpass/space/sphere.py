"""Distances as Overpass measures them: a sphere with a quadrant of 10,000 km.

This one module has its own radius, so that `around` and `length()` agree with the original.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapyard.geo.arcs import arc_arc, point_arc, unit_vectors

#: Radius of the original's sphere, meters.
RADIUS_M = 20_000_000.0 / np.pi

Floats = NDArray[np.float64]


def distance_m(lon1: ArrayLike, lat1: ArrayLike, lon2: ArrayLike, lat2: ArrayLike) -> Floats:
    """Return great-circle distances in meters; degrees in, numpy broadcasting."""
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    half_phi = (phi2 - phi1) / 2
    half_lambda = np.radians(np.subtract(lon2, lon1)) / 2
    a = np.sin(half_phi) ** 2 + np.cos(phi1) * np.cos(phi2) * np.sin(half_lambda) ** 2
    return np.asarray(2 * RADIUS_M * np.arcsin(np.sqrt(np.clip(a, 0.0, 1.0))))


def point_segment_m(point: Floats, start: Floats, end: Floats) -> Floats:
    """Return the distances of points to great-circle arcs, meters; unit vectors, broadcasting."""
    return np.asarray(RADIUS_M * point_arc(point, start, end))


def segment_segment_m(a0: Floats, a1: Floats, b0: Floats, b1: Floats) -> Floats:
    """Return the distances between arcs, meters; 0 where they cross. Unit vectors, (n, 3) each."""
    return np.asarray(RADIUS_M * arc_arc(a0, a1, b0, b1))


__all__ = [
    "RADIUS_M", "distance_m", "point_segment_m", "segment_segment_m", "unit_vectors",
]  # fmt: skip
