"""Coordinate systems: whatever a file is in becomes longitude and latitude of WGS 84."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import shapely

from mapyard.userdata.rows import Geometries, ImportFailed

Transform = Callable[[Geometries], Geometries]
_WGS84: Final = (
    "ogc:crs84",
    "epsg:4326",
    "urn:ogc:def:crs:ogc:1.3:crs84",
    "urn:ogc:def:crs:ogc::crs84",
)


def make_transform(crs: Any) -> Transform | None:
    """Return what turns geometries into lon, lat; None where they are already.

    `crs` is a name ("EPSG:3857"), WKT or PROJJSON. Raises ImportFailed for an unknown one.
    """
    if isinstance(crs, str) and crs.lower() in _WGS84:
        return None
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError, ProjError

    try:
        source = CRS.from_user_input(crs)
        to_wgs84 = Transformer.from_crs(source, "OGC:CRS84", always_xy=True)
    except (CRSError, ProjError):
        raise ImportFailed(
            f"the coordinate system '{str(crs)[:80]}' is not known; convert the file to "
            "EPSG:4326 (longitude and latitude)"
        ) from None
    if source.equals("OGC:CRS84") or source.to_epsg() == 4326:
        return None

    def transform(shapes: Geometries) -> Geometries:
        def move(flat: Any) -> Any:
            lon, lat = to_wgs84.transform(flat[:, 0], flat[:, 1])
            return np.column_stack([lon, lat])

        return np.asarray(shapely.transform(shapely.force_2d(shapes), move))

    return transform
