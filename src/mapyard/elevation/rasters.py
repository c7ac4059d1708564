"""Elevation rasters of a folder, opened once and read in windows.

Any raster that GDAL reads: .hgt (also zipped or gzipped), GeoTIFF, VRT. A folder's files may
overlap; a finer raster wins over a coarser one, which fills in where that one has a void. Voids
that none fills are filled from around.
"""

from __future__ import annotations

import copy
import logging
import threading
import warnings
import zipfile
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.warp import transform as transform_positions
from rasterio.windows import Window

from mapyard.elevation.voids import REACH, fill_void
from mapyard.geo.sphere import DEGREE_M

log = logging.getLogger(__name__)

SUFFIXES: Final = (".hgt", ".zip", ".gz", ".tif", ".tiff", ".vrt")
#: Void of SRTM files, also where the header does not say so.
_VOID: Final = -32_768
#: Outside of this, a value is no height on Earth, metres.
_LOWEST_M, _HIGHEST_M = -500.0, 9_000.0
#: Cells of one block of a raster kept in memory, along one side.
_BLOCK: Final = 1_024
#: Blocks kept: 64 blocks of float32 are 256 MB.
_MAX_BLOCKS: Final = 64
_MAX_FILLED: Final = 32
_WGS84: Final = CRS.from_epsg(4326)

type Floats = NDArray[np.float64]
#: Gives known heights in a box (west, south, east, north): rows of lon, lat, meters.
type FindSpots = Callable[[tuple[float, float, float, float]], Floats]


@dataclass(frozen=True, slots=True)
class Raster:
    """An open raster of heights in metres."""

    name: str
    dataset: Any  # rasterio.DatasetReader
    resolution_m: float
    bounds: tuple[float, float, float, float]  #: west, south, east, north in degrees


class Rasters:
    """The rasters of a folder, the finest first; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.rasters = sorted(_open_folder(folder), key=lambda raster: raster.resolution_m)
        self._blocks: OrderedDict[tuple[int, int, int], NDArray[np.float32]] = OrderedDict()
        #: Windows with a filled void: raster, first row and column, cells.
        self._filled: deque[tuple[int, int, int, Floats]] = deque(maxlen=_MAX_FILLED)
        self._lock = threading.Lock()
        self._find_spots: FindSpots | None = None
        if not self.rasters:
            raise FileNotFoundError(folder)

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            self._blocks.clear()
            for raster in self.rasters:
                raster.dataset.close()

    def with_spots(self, find_spots: FindSpots) -> Rasters:
        """Return the same rasters, whose voids are filled with known heights besides.

        Summits are what the rim of a void does not tell.
        """
        seen = copy.copy(self)
        seen._filled = deque(maxlen=_MAX_FILLED)
        seen._find_spots = find_spots
        return seen

    def sample(
        self, lon: Floats, lat: Floats, *, fills_voids: bool = True
    ) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
        """Return heights in metres, indexes of their rasters, and which ones lie in filled voids.

        NaN and -1 where there is no height.
        """
        heights_m = np.full(lon.shape, np.nan)
        source = np.full(lon.shape, -1)
        for index, raster in enumerate(self.rasters):
            wanted = np.flatnonzero(np.isnan(heights_m) & _covers(raster, lon, lat))
            if not wanted.size:
                continue
            found = self._sample_raster(index, raster, lon[wanted], lat[wanted])
            heights_m[wanted] = found
            source[wanted[~np.isnan(found)]] = index
        is_filled = np.zeros(lon.shape, np.bool_)
        if not fills_voids:
            return heights_m, source, is_filled
        for at in np.flatnonzero(np.isnan(heights_m)).tolist():
            for index, raster in enumerate(self.rasters):
                if not _covers(raster, lon[at], lat[at]):
                    continue
                height_m = self._sample_void(index, raster, lon[at : at + 1], lat[at : at + 1])
                if height_m is not None:
                    heights_m[at], source[at], is_filled[at] = height_m, index, True
                    break
        return heights_m, source, is_filled

    def _sample_void(self, index: int, raster: Raster, lon: Floats, lat: Floats) -> float | None:
        """Return the height of a position in a void, filled from around, or None."""
        columns, rows = self._find_cells(raster, lon, lat)
        column, row = float(columns[0]), float(rows[0])
        left, top = int(column), int(row)
        for known_index, first_row, first_column, window in self._filled:
            if known_index != index:
                continue
            height_m = _sample_window(window, row - first_row, column - first_column)
            if height_m is not None:
                return None if np.isinf(height_m) else height_m
        first_row, first_column = max(0, top - REACH), max(0, left - REACH)
        last_row = min(raster.dataset.height, top + REACH + 2)
        last_column = min(raster.dataset.width, left + REACH + 2)
        at_rows, at_columns = np.mgrid[first_row:last_row, first_column:last_column]
        cells = self._read_cells(index, at_rows.ravel(), at_columns.ravel())
        spots = self._locate_spots(raster, (first_row, first_column, last_row, last_column))
        window = cells.reshape(at_rows.shape)
        filled = fill_void(window, top - first_row, left - first_column, spots)
        self._filled.append((index, first_row, first_column, filled))
        height_m = _sample_window(filled, row - first_row, column - first_column)
        return None if height_m is None or np.isinf(height_m) else height_m

    def _locate_spots(self, raster: Raster, cells: tuple[int, int, int, int]) -> Floats:
        """Return known heights in a window: rows of row, column, meters."""
        if self._find_spots is None:
            return np.empty((0, 3))
        first_row, first_column, last_row, last_column = cells
        to = raster.dataset.transform
        column, row = np.meshgrid([first_column, last_column], [first_row, last_row])
        x = (to.a * column + to.b * row + to.c).ravel()
        y = (to.d * column + to.e * row + to.f).ravel()
        crs = raster.dataset.crs
        if crs is not None and not crs.is_geographic:
            xs, ys = transform_positions(crs, _WGS84, x.tolist(), y.tolist())
            x, y = np.asarray(xs), np.asarray(ys)
        found = self._find_spots((float(x.min()), float(y.min()), float(x.max()), float(y.max())))
        if not len(found):
            return np.empty((0, 3))
        columns, rows = self._find_cells(raster, found[:, 0], found[:, 1])
        return np.column_stack([rows - first_row, columns - first_column, found[:, 2]])

    def _find_cells(self, raster: Raster, lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
        """Return columns and rows of positions, whole numbers at the centers of cells."""
        dataset = raster.dataset
        x, y = lon, lat
        if dataset.crs is not None and dataset.crs != _WGS84 and not dataset.crs.is_geographic:
            xs, ys = transform_positions(_WGS84, dataset.crs, lon.tolist(), lat.tolist())
            x, y = np.asarray(xs), np.asarray(ys)
        inverse = ~dataset.transform
        # Cell centers lie at half indexes: heights are points there.
        column = inverse.a * x + inverse.b * y + inverse.c - 0.5
        row = inverse.d * x + inverse.e * y + inverse.f - 0.5
        return np.clip(column, 0.0, dataset.width - 1.0), np.clip(row, 0.0, dataset.height - 1.0)

    def _sample_raster(self, index: int, raster: Raster, lon: Floats, lat: Floats) -> Floats:
        """Return bilinear heights; a void among the four neighbors leaves the others to count."""
        dataset = raster.dataset
        column, row = self._find_cells(raster, lon, lat)
        left = np.minimum(column.astype(np.int64), max(dataset.width - 2, 0))
        top = np.minimum(row.astype(np.int64), max(dataset.height - 2, 0))
        right_share, bottom_share = column - left, row - top
        total = np.zeros(lon.shape)
        weights = np.zeros(lon.shape)
        for down in (0, 1):
            for along in (0, 1):
                weight = (bottom_share if down else 1.0 - bottom_share) * (
                    right_share if along else 1.0 - right_share
                )
                at_row = np.minimum(top + down, dataset.height - 1)
                at_column = np.minimum(left + along, dataset.width - 1)
                cells = self._read_cells(index, at_row, at_column)
                known = ~np.isnan(cells)
                total += np.where(known, weight * cells, 0.0)
                weights += np.where(known, weight, 0.0)
        # Less than half of the weight known is a void, not a height.
        return np.where(weights >= 0.5, total / np.maximum(weights, 1e-12), np.nan)

    def _read_cells(self, index: int, row: NDArray[np.int64], column: NDArray[np.int64]) -> Floats:
        cells = np.empty(row.shape)
        keys = (row // _BLOCK) * 1_000_000 + column // _BLOCK
        for key in np.unique(keys).tolist():
            block_row, block_column = divmod(key, 1_000_000)
            block = self._get_block(index, block_row, block_column)
            here = keys == key
            cells[here] = block[row[here] % _BLOCK, column[here] % _BLOCK]
        return cells

    def _get_block(self, index: int, block_row: int, block_column: int) -> NDArray[np.float32]:
        key = (index, block_row, block_column)
        with self._lock:
            block = self._blocks.get(key)
            if block is not None:
                self._blocks.move_to_end(key)
                return block
            # GDAL datasets are not to be used by two threads at once: read under the lock.
            block = _read_block(self.rasters[index].dataset, block_row, block_column)
            self._blocks[key] = block
            while len(self._blocks) > _MAX_BLOCKS:
                self._blocks.popitem(last=False)
            return block


def _covers(raster: Raster, lon: Floats, lat: Floats) -> NDArray[np.bool_]:
    """Return which positions lie on the cells of a raster; beyond them nothing is known."""
    west, south, east, north = raster.bounds
    return np.asarray((lon >= west) & (lon <= east) & (lat >= south) & (lat <= north))


def _sample_window(window: Floats, row: float, column: float) -> float | None:
    """Return the bilinear height in a window, or None beyond it and beside a void."""
    top, left = int(np.floor(row)), int(np.floor(column))
    if top < 0 or left < 0 or row > window.shape[0] - 1 or column > window.shape[1] - 1:
        return None
    corners = window[top : top + 2, left : left + 2]
    down, along = row - top, column - left
    weights = np.outer([1 - down, down], [1 - along, along])[: len(corners), : corners.shape[1]]
    height = float((corners * weights).sum())
    return None if np.isnan(height) else height


def _read_block(dataset: Any, block_row: int, block_column: int) -> NDArray[np.float32]:
    row, column = block_row * _BLOCK, block_column * _BLOCK
    window = Window(
        column, row, min(_BLOCK, dataset.width - column), min(_BLOCK, dataset.height - row)
    )
    values = dataset.read(1, window=window, masked=True)
    scale, offset = dataset.scales[0], dataset.offsets[0]
    heights = np.ma.filled(values.astype(np.float32), np.nan)
    heights = np.where(heights == _VOID, np.nan, heights * scale + offset)
    outside = (heights < _LOWEST_M) | (heights > _HIGHEST_M)
    return np.where(outside, np.nan, heights).astype(np.float32)


def _open_folder(folder: Path) -> list[Raster]:
    rasters = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        try:
            rasters.append(_open_raster(path))
        except (RasterioError, ValueError, OSError, zipfile.BadZipFile) as error:
            log.warning("elevation file %s is left out: %s", path.name, error)
    return rasters


def _open_raster(path: Path) -> Raster:
    name = str(path)
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            inner = [entry for entry in archive.namelist() if entry.lower().endswith(SUFFIXES)]
        if not inner:
            raise ValueError("the archive holds no raster")
        name = f"/vsizip/{path}/{inner[0]}"
    elif path.suffix.lower() == ".gz":
        name = f"/vsigzip/{path}"
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotGeoreferencedWarning)
        dataset = rasterio.open(name)
    west, south, east, north = dataset.bounds
    if dataset.crs is not None and not dataset.crs.is_geographic:
        xs = [west, west, east, east]
        ys = [south, north, south, north]
        lons, lats = transform_positions(dataset.crs, _WGS84, xs, ys)
        west, south, east, north = min(lons), min(lats), max(lons), max(lats)
    resolution_m = (north - south) / dataset.height * DEGREE_M
    return Raster(path.name, dataset, round(resolution_m, 1), (west, south, east, north))
