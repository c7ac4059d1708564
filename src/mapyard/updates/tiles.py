"""Which map tiles an update changes: for caches in front of the service."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ranges
from mapyard.store.reader import Store

Ints = NDArray[np.int64]
#: The zoom at which changes are found; lower zooms follow from it.
ZOOM = 14
#: Elements larger than this many tiles count by their outline only.
_MAX_FILLED_TILES = 64
_MAX_LATITUDE_E7 = 850_511_287


def tile_xy(lon_e7: NDArray[Any], lat_e7: NDArray[Any], zoom: int = ZOOM) -> tuple[Ints, Ints]:
    """Return the tile columns and rows of positions in 1e-7 degree (Web Mercator)."""
    size = 1 << zoom
    lat = np.radians(np.clip(lat_e7, -_MAX_LATITUDE_E7, _MAX_LATITUDE_E7) / 1e7)
    x = (np.asarray(lon_e7, np.float64) / 1e7 + 180.0) / 360.0 * size
    y = (1.0 - np.arcsinh(np.tan(lat)) / np.pi) / 2.0 * size
    return (
        np.clip(np.floor(x), 0, size - 1).astype(np.int64),
        np.clip(np.floor(y), 0, size - 1).astype(np.int64),
    )


def find_tiles(store: Store, rows: Ints) -> set[tuple[int, int]]:
    """Return the (x, y) at ZOOM that some elements touch."""
    rows = rows[(rows >= store.way_start) | store.has_tags(rows)]
    boxes = store.boxes(rows)
    placed = (boxes[:, 0] <= boxes[:, 2]) & (boxes[:, 1] < 2**31 - 1)
    rows, boxes = rows[placed], boxes[placed]
    x0, y1 = tile_xy(boxes[:, 0], boxes[:, 1])
    x1, y0 = tile_xy(boxes[:, 2], boxes[:, 3])
    width, height = x1 - x0 + 1, y1 - y0 + 1
    small = width * height <= _MAX_FILLED_TILES
    found: set[tuple[int, int]] = set()
    columns = np.repeat(np.arange(small.sum()), width[small])
    xs = ranges(x0[small], width[small])
    tall = height[small][columns]
    ys = ranges(y0[small][columns], tall)
    found.update(zip(np.repeat(xs, tall).tolist(), ys.tolist(), strict=True))
    for row in rows[~small].tolist():
        found.update(_outline_tiles(store, row))
    return found


def _outline_tiles(store: Store, row: int) -> set[tuple[int, int]]:
    """Return the tiles along the lines of a large element, every half tile along."""
    import shapely

    shape = store.geometries(np.array([row]))[0]
    step_deg = 360.0 / (1 << ZOOM) / 2
    points = shapely.get_coordinates(shapely.segmentize(shape, step_deg))
    x, y = tile_xy(points[:, 0] * 1e7, points[:, 1] * 1e7)
    return set(zip(x.tolist(), y.tolist(), strict=True))


def format_tiles(tiles: set[tuple[int, int]]) -> str:
    """Return the list as text: z/x/y by line, zoom 0 to ZOOM, sorted."""
    lines = []
    for zoom in range(ZOOM + 1):
        shift = ZOOM - zoom
        parents = sorted({(x >> shift, y >> shift) for x, y in tiles})
        lines += [f"{zoom}/{x}/{y}" for x, y in parents]
    return "\n".join(lines) + "\n" if lines else ""
