"""Coordinate systems of OGC API Features, part 2: longitudes and latitudes, and Web Mercator."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import orjson
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest

CRS84: Final = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
EPSG_4326: Final = "http://www.opengis.net/def/crs/EPSG/0/4326"
EPSG_3857: Final = "http://www.opengis.net/def/crs/EPSG/0/3857"
ALL: Final = (CRS84, EPSG_4326, EPSG_3857)
_RADIUS_M: Final = 6_378_137.0
#: Latitude where the square map ends.
_MOST_LAT: Final = 85.051128779806592

type Positions = NDArray[np.float64]


def check_crs(name: str, text: str) -> str:
    """Return a known coordinate system."""
    if text and text not in ALL:
        raise InvalidRequest.of(name, f"{text[:100]!r} is not served; there are {', '.join(ALL)}")
    return text or CRS84


def to_crs(positions: Positions, crs: str) -> Positions:
    """Return positions (n, 2), lon and lat, in another system."""
    if crs == EPSG_4326:
        return positions[:, ::-1]
    if crs == EPSG_3857:
        lat = np.radians(np.clip(positions[:, 1], -_MOST_LAT, _MOST_LAT))
        x = np.radians(positions[:, 0]) * _RADIUS_M
        return np.round(np.column_stack([x, np.arcsinh(np.tan(lat)) * _RADIUS_M]), 3)
    return positions


def from_crs(positions: Positions, crs: str) -> Positions:
    """Return lon and lat of positions (n, 2) in a system."""
    if crs == EPSG_4326:
        return positions[:, ::-1]
    if crs == EPSG_3857:
        lat = np.degrees(np.arctan(np.sinh(positions[:, 1] / _RADIUS_M)))
        return np.column_stack([np.degrees(positions[:, 0] / _RADIUS_M), lat])
    return positions


def rewrite(written: bytes, crs: str) -> bytes:
    """Return a feature, as bytes, in another system."""
    if crs == CRS84:
        return written
    feature: dict[str, Any] = orjson.loads(written)
    if feature.get("geometry"):
        shape = shapely.from_geojson(orjson.dumps(feature["geometry"]))
        moved = shapely.transform(shape, lambda positions: to_crs(positions, crs))
        feature["geometry"] = orjson.Fragment(shapely.to_geojson(moved).encode())
    return orjson.dumps(feature)
