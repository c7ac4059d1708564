"""Where most of a dataset lies: the first view of a map."""

from __future__ import annotations

from typing import Final

import numpy as np

from mapyard.store.reader import E7, Store

_SAMPLE: Final = 20_000
#: What may lie outside on each side: ferries, islets and cables far from everything else.
_OUTSIDE: Final = 0.01
_MARGIN: Final = 0.04


def find_core(store: Store, bbox: list[float]) -> list[float]:
    """Return west, south, east, north of where 98 % of the features are, each way.

    `bbox` is the dataset's; where it crosses the antimeridian (west > east), so may the result. It
    is never larger than that box, which may hold much sea. A store without features gives it back.
    """
    boxes = store.feature_rtree.sample(_SAMPLE).astype(np.float64)
    if not len(boxes):
        return bbox
    lon, lat = (boxes[:, 0] + boxes[:, -2]) / 2 / E7, (boxes[:, 1] + boxes[:, -1]) / 2 / E7
    west, south, east, north = bbox
    if west > east:
        lon, east = np.where(lon < west, lon + 360, lon), east + 360
    shares = (_OUTSIDE, 1 - _OUTSIDE)
    (x0, x1), (y0, y1) = np.quantile(lon, shares), np.quantile(lat, shares)
    dx, dy = _MARGIN * (x1 - x0), _MARGIN * (y1 - y0)
    x0, x1 = max(west, x0 - dx), min(east, x1 + dx)
    y0, y1 = max(south, y0 - dy), min(north, y1 + dy)
    return [round(float(v), 6) for v in (x0, y0, x1 - 360 if x1 > 180 else x1, y1)]
