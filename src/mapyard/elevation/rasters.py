"""Elevation rasters of a folder, opened once and read in windows.

.hgt (also zipped or gzipped) and, with the extra `geotiff`, what GDAL reads. A folder's files may
overlap; a finer raster wins over a coarser one, which fills in where that one has a void. Voids
that none fills are filled from around.
"""

from __future__ import annotations

import copy
import logging
import threading
import zipfile
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.grid import Box, Floats, Grid
from mapyard.elevation.hgt import HgtGrid, is_hgt
from mapyard.elevation.voids import REACH, fill_void
from mapyard.geo.sphere import DEGREE_M

log = logging.getLogger(__name__)

SUFFIXES: Final = (".hgt", ".zip", ".gz", ".tif", ".tiff", ".vrt")
#: Outside of this, a value is no height on Earth, metres.
_LOWEST_M, _HIGHEST_M = -500.0, 9_000.0
#: Cells of one block of a raster kept in memory, along one side.
_BLOCK: Final = 1_024
#: Blocks kept: 64 blocks of float32 are 256 MB.
_MAX_BLOCKS: Final = 64
_MAX_FILLED: Final = 32

#: Gives known heights in a box (west, south, east, north): rows of lon, lat, meters.
type FindSpots = Callable[[Box], Floats]


@dataclass(frozen=True, slots=True)
class Raster:
    """An open raster of heights in metres."""

    name: str
    grid: Grid
    resolution_m: float


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
                raster.grid.close()

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
        last_row = min(raster.grid.height, top + REACH + 2)
        last_column = min(raster.grid.width, left + REACH + 2)
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
        column, row = np.meshgrid([first_column, last_column], [first_row, last_row])
        x, y = raster.grid.locate(column.ravel().astype(float), row.ravel().astype(float))
        found = self._find_spots((float(x.min()), float(y.min()), float(x.max()), float(y.max())))
        if not len(found):
            return np.empty((0, 3))
        columns, rows = self._find_cells(raster, found[:, 0], found[:, 1])
        return np.column_stack([rows - first_row, columns - first_column, found[:, 2]])

    def _find_cells(self, raster: Raster, lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
        """Return columns and rows of positions, whole numbers at the centers of cells."""
        grid = raster.grid
        column, row = grid.find_cells(lon, lat)
        # Cell centers lie at half indexes: heights are points there.
        return np.clip(column - 0.5, 0.0, grid.width - 1.0), np.clip(
            row - 0.5, 0.0, grid.height - 1.0
        )

    def _sample_raster(self, index: int, raster: Raster, lon: Floats, lat: Floats) -> Floats:
        """Return bilinear heights; a void among the four neighbors leaves the others to count."""
        grid = raster.grid
        column, row = self._find_cells(raster, lon, lat)
        left = np.minimum(column.astype(np.int64), max(grid.width - 2, 0))
        top = np.minimum(row.astype(np.int64), max(grid.height - 2, 0))
        right_share, bottom_share = column - left, row - top
        total = np.zeros(lon.shape)
        weights = np.zeros(lon.shape)
        for down in (0, 1):
            for along in (0, 1):
                weight = (bottom_share if down else 1.0 - bottom_share) * (
                    right_share if along else 1.0 - right_share
                )
                at_row = np.minimum(top + down, grid.height - 1)
                at_column = np.minimum(left + along, grid.width - 1)
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
            # GDAL's files are not to be used by two threads at once: read under the lock.
            block = _read_block(self.rasters[index].grid, block_row, block_column)
            self._blocks[key] = block
            while len(self._blocks) > _MAX_BLOCKS:
                self._blocks.popitem(last=False)
            return block


def _covers(raster: Raster, lon: Floats, lat: Floats) -> NDArray[np.bool_]:
    """Return which positions lie on the cells of a raster; beyond them nothing is known."""
    west, south, east, north = raster.grid.bounds
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


def _read_block(grid: Grid, block_row: int, block_column: int) -> NDArray[np.float32]:
    row, column = block_row * _BLOCK, block_column * _BLOCK
    heights = grid.read(
        row, column, min(_BLOCK, grid.height - row), min(_BLOCK, grid.width - column)
    )
    outside = (heights < _LOWEST_M) | (heights > _HIGHEST_M)
    return np.where(outside, np.nan, heights).astype(np.float32)


def _open_folder(folder: Path) -> list[Raster]:
    rasters = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        try:
            rasters.append(_open_raster(path))
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            log.warning("elevation file %s is left out: %s", path.name, error)
    return rasters


def _open_raster(path: Path) -> Raster:
    grid: Grid = HgtGrid(path) if is_hgt(path) else _open_with_gdal(path)
    _, south, _, north = grid.bounds
    return Raster(path.name, grid, round((north - south) / grid.height * DEGREE_M, 1))


def _open_with_gdal(path: Path) -> Grid:
    inner = ""
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            inner = next((e for e in archive.namelist() if e.lower().endswith(SUFFIXES)), "")
        if not inner:
            raise ValueError("the archive holds no raster")
    try:
        from mapyard.elevation.gdal import GdalGrid
    except ModuleNotFoundError:
        raise ValueError(
            "GeoTIFF, VRT and others need rasterio: pip install 'mapyard[geotiff]'"
        ) from None
    return GdalGrid(path, inner)
