"""The plane around a place in metres: the azimuthal equidistant projection of the sphere.

Distances from the center are exact at any range; elsewhere the error grows with the square of the
distance from the center: 0.04 % at 300 km, 0.5 % at 1,100 km.
Source: Snyder, Map Projections: A Working Manual (USGS PP 1395), chapter 25.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapyard.geo.sphere import EARTH_RADIUS_M

type Floats = NDArray[np.float64]


def project(lon: ArrayLike, lat: ArrayLike, lon0: ArrayLike, lat0: ArrayLike) -> Floats:
    """Return x, y in metres, shape (n, 2), of degrees seen from the center (lon0, lat0)."""
    phi, phi0 = np.radians(lat), np.radians(lat0)
    dlambda = np.radians(np.subtract(lon, lon0))
    sin_phi, cos_phi = np.sin(phi), np.cos(phi)
    sin_phi0, cos_phi0 = np.sin(phi0), np.cos(phi0)
    cos_phi_cos_dlambda = cos_phi * np.cos(dlambda)
    # Differences of numbers near 1 lose some 1e-16, which on this sphere is a nanometer.
    x = cos_phi * np.sin(dlambda)
    y = cos_phi0 * sin_phi - sin_phi0 * cos_phi_cos_dlambda
    sin_c = np.hypot(x, y)
    cos_c = sin_phi0 * sin_phi + cos_phi0 * cos_phi_cos_dlambda
    with np.errstate(invalid="ignore", divide="ignore"):
        k = np.where(sin_c > 0.0, np.arctan2(sin_c, cos_c) / sin_c, 1.0)
    return np.stack([x * k, y * k], axis=-1) * EARTH_RADIUS_M


def unproject(xy_m: Floats, lon0: ArrayLike, lat0: ArrayLike) -> Floats:
    """Return lon, lat in degrees, shape (n, 2), of points in the plane around (lon0, lat0).

    Longitudes lie within 180 degrees of the center and may leave ±180.
    """
    x, y = xy_m[..., 0] / EARTH_RADIUS_M, xy_m[..., 1] / EARTH_RADIUS_M
    c = np.hypot(x, y)
    phi0 = np.radians(lat0)
    with np.errstate(invalid="ignore", divide="ignore"):
        sinc = np.where(c > 0.0, np.sin(c) / c, 1.0)
    cos_c, sin_phi0, cos_phi0 = np.cos(c), np.sin(phi0), np.cos(phi0)
    # The direction as a vector; an arcsine of its height would lose centimeters near the poles.
    east, north = x * sinc, y * sinc
    outward = cos_phi0 * cos_c - north * sin_phi0
    up = cos_c * sin_phi0 + north * cos_phi0
    lambda_ = np.arctan2(east, outward)
    phi = np.arctan2(up, np.hypot(east, outward))
    return np.stack([np.degrees(lambda_) + lon0, np.degrees(phi)], axis=-1)
