"""The grid of all tiles: Web Mercator with 4096 units per tile of zoom 14, y down.

Shapes are kept on this grid; a tile of a lower zoom has coarser units. 2**26 units go around the
Earth, 0.6 m at the equator.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_ZOOM: Final = 14
EXTENT_BITS: Final = 12
GRID_BITS: Final = MAX_ZOOM + EXTENT_BITS
GRID_SIZE: Final = 1 << GRID_BITS

#: Vertices up to this many tile units outside a tile are kept, so that lines meet at its edges.
BUFFER: Final = 64

_MAX_LATITUDE: Final = 85.0511287798066
#: Half the circumference of the Mercator world (EPSG:3857), metres.
_HALF_WORLD_M: Final = math.pi * 6_378_137.0
GRID_UNIT_M: Final = 2 * _HALF_WORLD_M / GRID_SIZE


class TileId(NamedTuple):
    """Zoom, column, row."""

    z: int
    x: int
    y: int


def project(lon_lat_deg: NDArray[Any]) -> NDArray[np.float64]:
    """Return (n, 2) grid positions of (n, 2) longitudes and latitudes."""
    lat = np.radians(np.clip(lon_lat_deg[:, 1], -_MAX_LATITUDE, _MAX_LATITUDE))
    out = np.empty((len(lon_lat_deg), 2))
    out[:, 0] = (lon_lat_deg[:, 0] + 180.0) * (GRID_SIZE / 360.0)
    out[:, 1] = (0.5 - np.arcsinh(np.tan(lat)) / (2 * np.pi)) * GRID_SIZE
    return out


def unproject(x: float, y: float) -> tuple[float, float]:
    """Return longitude and latitude, degrees, of a grid position."""
    lat = math.atan(math.sinh(math.pi * (1 - 2 * y / GRID_SIZE)))
    return x * 360.0 / GRID_SIZE - 180.0, math.degrees(lat)


def tile_box(tile: TileId, buffer: int = 0) -> tuple[int, int, int, int]:
    """Return x0, y0, x1, y1 on the grid; `buffer` in units of the tile."""
    shift = GRID_BITS - tile.z
    margin = buffer << (MAX_ZOOM - tile.z)
    return (
        (tile.x << shift) - margin,
        (tile.y << shift) - margin,
        (tile.x + 1 << shift) + margin,
        (tile.y + 1 << shift) + margin,
    )


def tile_bounds_deg(tile: TileId) -> tuple[float, float, float, float]:
    """Return west, south, east, north."""
    x0, y0, x1, y1 = tile_box(tile)
    west, north = unproject(x0, y0)
    east, south = unproject(x1, y1)
    return west, south, east, north
