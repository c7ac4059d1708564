"""Heights as raster tiles, which maps shade and raise the ground by: Terrarium in PNG.

A pixel's height in meters is red × 256 + green + blue ÷ 256 − 32,768
(https://github.com/tilezen/joerd/blob/master/docs/formats.md).
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.rasters import Rasters

#: Below, a tile would need too many cells.
MIN_ZOOM: Final = 9
_MOST_ZOOM: Final = 14
SIDE_PX: Final = 256
_OFFSET_M: Final = 32_768
#: Meters of a pixel at the equator at zoom 0.
_PIXEL_M: Final = 156_543.03


def find_max_zoom(rasters: Rasters) -> int:
    """Return the zoom at which a pixel is about a cell of the finest raster, at 45°."""
    finest_m = min(raster.resolution_m for raster in rasters.rasters)
    zoom = math.ceil(math.log2(_PIXEL_M * math.cos(math.pi / 4) / finest_m))
    return min(max(zoom, MIN_ZOOM), _MOST_ZOOM)


def find_bounds(rasters: Rasters) -> tuple[float, float, float, float]:
    """Return west, south, east, north of all rasters."""
    boxes = np.array([raster.grid.bounds for raster in rasters.rasters])
    west, south = boxes[:, :2].min(0).tolist()
    east, north = boxes[:, 2:].max(0).tolist()
    return west, south, east, north


def draw_relief(rasters: Rasters, z: int, x: int, y: int) -> bytes:
    """Return a tile of heights as PNG, b"" where no raster has any."""
    side = 1 << z
    places = (np.arange(SIDE_PX) + 0.5) / SIDE_PX
    lon = (x + places) / side * 360 - 180
    lat = np.degrees(np.arctan(np.sinh(math.pi * (1 - 2 * (y + places) / side))))
    at_lat, at_lon = np.meshgrid(lat, lon, indexing="ij")
    heights_m, _, _ = rasters.sample(at_lon.ravel(), at_lat.ravel(), fills_voids=False)
    heights_m = heights_m.reshape(SIDE_PX, SIDE_PX)
    if np.isnan(heights_m).all():
        return b""
    return encode_terrarium(bridge_gaps(heights_m))


def bridge_gaps(heights_m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return heights without NaN: between its neighbors in the row, else of the row above.

    A gap shaded as sea level would look like a cliff.
    """
    out = heights_m.copy()
    columns = np.arange(out.shape[1])
    known_rows = np.flatnonzero(~np.isnan(out).all(axis=1))
    for row in known_rows[np.isnan(out[known_rows]).any(axis=1)].tolist():
        known = ~np.isnan(out[row])
        out[row] = np.interp(columns, columns[known], out[row][known])
    nearest = known_rows[
        np.clip(np.searchsorted(known_rows, np.arange(len(out)), "right") - 1, 0, None)
    ]
    return out[nearest]


def encode_terrarium(heights_m: NDArray[np.float64]) -> bytes:
    """Return heights (rows, columns) as PNG of 8 bits for each of red, green and blue."""
    parts = np.clip(np.rint((heights_m + _OFFSET_M) * 256), 0, (1 << 24) - 1).astype(np.uint32)
    pixels = np.stack([parts >> 16, parts >> 8 & 255, parts & 255], axis=2).astype(np.uint8)
    height, width, _ = pixels.shape
    # Each byte less the one of the pixel before (PNG's filter 1): slopes become small numbers.
    filtered = np.empty((height, 1 + 3 * width), np.uint8)
    filtered[:, 0] = 1
    rows = pixels.reshape(height, 3 * width)
    filtered[:, 1:4] = rows[:, :3]
    filtered[:, 4:] = rows[:, 3:] - rows[:, :-3]
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in (
            (b"IHDR", head), (b"IDAT", zlib.compress(filtered.tobytes(), 6)), (b"IEND", b""),
        )
    )  # fmt: skip


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum
