"""Distances on the sphere, with one radius for the whole service.

Overpass QL alone uses the original's own radius (see overpass/).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Mean Earth radius (IUGG R1), metres: the one radius of every distance in answers.
EARTH_RADIUS_M = 6_371_008.8
#: Length of one degree of latitude, metres.
DEGREE_M = EARTH_RADIUS_M * np.pi / 180.0


def haversine_m(
    lon1: ArrayLike, lat1: ArrayLike, lon2: ArrayLike, lat2: ArrayLike
) -> NDArray[np.float64]:
    """Return great-circle distances in metres; degrees in, numpy broadcasting."""
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    half_dphi = (phi2 - phi1) / 2
    half_dlambda = np.radians(np.subtract(lon2, lon1)) / 2
    a = np.sin(half_dphi) ** 2 + np.cos(phi1) * np.cos(phi2) * np.sin(half_dlambda) ** 2
    return np.asarray(2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.clip(a, 0.0, 1.0))))


def distance_m(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Return the great-circle distance of one pair in metres: a twentieth of the arrays' cost."""
    phi1, phi2 = math.radians(lat1), math.radians(lat2)
    a = (
        math.sin((phi2 - phi1) / 2) ** 2
        + math.cos(phi1) * math.cos(phi2) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    )
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(a, 1.0)))
