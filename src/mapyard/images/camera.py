"""Where a picture looks: the view that shows a box or some points whole."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Pixels of the world at zoom 0, as MapLibre counts zooms.
_WORLD_PIXELS: Final = 512
MAX_ZOOM: Final = 22.0
#: No closer than this to what has no size.
POINT_ZOOM: Final = 16.0
_MAX_LAT: Final = 85.0511


class Camera(NamedTuple):
    """The middle of a picture, and how close it is."""

    lon: float
    lat: float
    zoom: float


def fit(lonlat: NDArray[np.float64], width: int, height: int, padding: int) -> Camera:
    """Return the view of (n, 2) points that keeps `padding` pixels free on all sides.

    Points on both sides of the antimeridian are shown together where that is closer.
    """
    lon, lat = lonlat[:, 0], np.clip(lonlat[:, 1], -_MAX_LAT, _MAX_LAT)
    turned = np.where(lon < 0, lon + 360, lon)
    if np.ptp(turned) < np.ptp(lon):
        lon = turned
    y = np.arcsinh(np.tan(np.radians(lat))) / (2 * math.pi)
    span_x, span_y = float(np.ptp(lon)) / 360, float(np.ptp(y))
    room_x = max(1, width - 2 * padding) / _WORLD_PIXELS
    room_y = max(1, height - 2 * padding) / _WORLD_PIXELS
    zooms = [math.log2(room / span) for room, span in ((room_x, span_x), (room_y, span_y)) if span]
    zoom = min([POINT_ZOOM if max(span_x, span_y) < 1e-6 else MAX_ZOOM, *zooms])
    middle = float(lon.min() + lon.max()) / 2
    middle_y = float(y.min() + y.max()) / 2
    return Camera(
        (middle + 180) % 360 - 180,
        math.degrees(math.atan(math.sinh(2 * math.pi * middle_y))),
        max(0.0, zoom),
    )
