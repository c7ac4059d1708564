"""Elevation files that GDAL reads: GeoTIFF, VRT and others, in any coordinate system.

It comes with the extra `geotiff`, since it is a fifth of what an installation would take on disk.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.warp import transform as transform_positions
from rasterio.windows import Window

from mapyard.elevation.grid import Box, Floats

_WGS84: Final = CRS.from_epsg(4326)
#: Void of SRTM files, also where the header does not say so.
_VOID: Final = -32_768


class GdalGrid:
    """An open raster."""

    def __init__(self, path: Path, inner: str = "") -> None:
        name = str(path)
        if path.suffix.lower() == ".zip":
            name = f"/vsizip/{path}/{inner}"
        elif path.suffix.lower() == ".gz":
            name = f"/vsigzip/{path}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", NotGeoreferencedWarning)
                self._dataset = rasterio.open(name)
        except (RasterioError, NotGeoreferencedWarning) as error:
            raise ValueError(str(error)) from error
        crs = self._dataset.crs
        #: The coordinate system when it is not in degrees, else None.
        self._crs = None if crs is None or crs.is_geographic else crs
        self.height: int = self._dataset.height
        self.width: int = self._dataset.width
        west, south, east, north = self._dataset.bounds
        if self._crs is not None:
            xs = [west, west, east, east]
            ys = [south, north, south, north]
            lons, lats = transform_positions(self._crs, _WGS84, xs, ys)
            west, south, east, north = min(lons), min(lats), max(lons), max(lats)
        self.bounds: Box = (west, south, east, north)

    def find_cells(self, lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
        """Return columns and rows of positions."""
        x, y = lon, lat
        if self._crs is not None:
            x, y = _transform(_WGS84, self._crs, lon, lat)
        to = ~self._dataset.transform
        return to.a * x + to.b * y + to.c, to.d * x + to.e * y + to.f

    def locate(self, column: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Return longitudes and latitudes of columns and rows."""
        to = self._dataset.transform
        x, y = to.a * column + to.b * row + to.c, to.d * column + to.e * row + to.f
        return (x, y) if self._crs is None else _transform(self._crs, _WGS84, x, y)

    def read(self, row: int, column: int, rows: int, columns: int) -> NDArray[Any]:
        """Return the heights of a window in meters, NaN where they are void."""
        values = self._dataset.read(1, window=Window(column, row, columns, rows), masked=True)
        scale, offset = self._dataset.scales[0], self._dataset.offsets[0]
        heights = np.ma.filled(values.astype(np.float32), np.nan)
        return np.where(heights == _VOID, np.nan, heights * scale + offset)

    def close(self) -> None:
        """Close the file."""
        self._dataset.close()


def _transform(source: Any, target: Any, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    xs, ys = transform_positions(source, target, x.tolist(), y.tolist())
    return np.asarray(xs), np.asarray(ys)
