"""From GeoJSON geometries to shapely and WKB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import shapely


def make_shape(geometry: Mapping[str, Any] | None) -> shapely.Geometry | None:
    """Return the shapely geometry of a GeoJSON geometry, None for null."""
    return None if geometry is None else make_shapes([geometry])[0]


def make_shapes(geometries: Sequence[Mapping[str, Any] | None]) -> np.ndarray[Any, Any]:
    """Return the shapely geometries of many, None for null."""
    texts = [None if g is None else orjson.dumps(g).decode() for g in geometries]
    shapes: np.ndarray[Any, Any] = shapely.from_geojson(np.array(texts, dtype=object))
    return shapes
