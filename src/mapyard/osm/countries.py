"""Countries by position: ISO code, name, driving side, speed unit.

The borders come from country-coder (see data/README.md). They follow real borders between
neighbors and are generous at sea, so that piers, islands and bridges have a country.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from mapyard.geo.bbox import Bbox


@dataclass(frozen=True, slots=True)
class Region:
    """A country or a part of one that differs in code, driving side or units."""

    code: str  #: ISO 3166-1 alpha-2, upper case: the territory's own official one, if it has one
    country_name: str  #: English
    name: str  #: English name of the region: "England" in "United Kingdom"
    drives_on_left: bool
    uses_miles: bool
    geometry: shapely.MultiPolygon


@lru_cache(maxsize=1)
def get_regions() -> tuple[Region, ...]:
    """Return all regions of the world; their order is stable within one version of the data."""
    packed = resources.files("mapyard.osm").joinpath("data/countries.json.xz").read_bytes()
    content = json.loads(lzma.decompress(packed))
    regions = []
    for row in content["regions"]:
        polygons = [shapely.Polygon(rings[0], rings[1:]) for rings in row["polygons"]]
        geometry = shapely.MultiPolygon(polygons)
        shapely.prepare(geometry)
        regions.append(
            Region(
                code=row["code"],
                country_name=content["names"][row["code"]],
                name=row["name"],
                drives_on_left=row["left"],
                uses_miles=row["miles"],
                geometry=geometry,
            )
        )
    return tuple(regions)


@lru_cache(maxsize=1)
def _region_bounds() -> NDArray[np.float64]:
    return np.asarray(shapely.bounds([region.geometry for region in get_regions()]))


def find_region_indexes(lons: ArrayLike, lats: ArrayLike) -> NDArray[np.int16]:
    """Return per position the index in `get_regions()`, -1 outside all; shape as the input."""
    lon, lat = np.broadcast_arrays(np.asarray(lons, np.float64), np.asarray(lats, np.float64))
    found = np.full(lon.shape, -1, np.int16)
    regions, bounds = get_regions(), _region_bounds()
    if not found.size:
        return found
    touched = np.flatnonzero(
        (bounds[:, 0] <= lon.max())
        & (bounds[:, 2] >= lon.min())
        & (bounds[:, 1] <= lat.max())
        & (bounds[:, 3] >= lat.min())
    )
    for index in touched:
        west, south, east, north = bounds[index]
        near = (found < 0) & (lon >= west) & (lon <= east) & (lat >= south) & (lat <= north)
        candidates = np.nonzero(near)
        if not candidates[0].size:
            continue
        inside = shapely.intersects_xy(regions[index].geometry, lon[candidates], lat[candidates])
        found[tuple(axis[inside] for axis in candidates)] = index
    return found


def find_region(lon: float, lat: float) -> Region | None:
    """Return the region of a position, or None on the high seas."""
    index = int(find_region_indexes([lon], [lat])[0])
    return None if index < 0 else get_regions()[index]


def iter_regions(bbox: Bbox) -> Iterator[Region]:
    """Yield the regions that touch a box."""
    boxes = [shapely.box(*part) for part in bbox.split()]
    for region in get_regions():
        if any(region.geometry.intersects(box) for box in boxes):
            yield region
