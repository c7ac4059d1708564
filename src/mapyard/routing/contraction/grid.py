"""From roads with a value at each end to the rings around what is under a limit.

The values, such as the seconds to a place, go into the cells of a grid (`kernels/grid.c`); between
the middles of cells they are taken to rise evenly.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import TooLarge
from mapyard.routing.contraction.costs import Floats
from mapyard.routing.contraction.roads import Roads
from mapyard.routing.contraction.tiles import Ints
from mapyard.routing.kernels import address, load_kernels

#: Cells around all roads that stay without a value, so that rings close.
_RIM: Final = 3
_MOST_CELLS: Final = 30_000_000
_RINGS, _POINTS = 64, 2_048


class _Struct(ctypes.Structure):
    """`Grid` of kernels.h."""

    _fields_ = [
        *[(name, ctypes.c_double) for name in ("west", "south", "size", "wide", "high")],
        *[(name, ctypes.c_int64) for name in ("columns", "rows")],
    ]


@dataclass(frozen=True, slots=True)
class Grid:
    """Values in cells, infinite where there is none."""

    west: float
    south: float
    size_deg: float
    values: NDArray[np.float32]  #: (rows, columns), from the south and the west
    crossing: tuple[float, float]  #: what it takes to cross a cell eastward and northward

    def trace(self, limit: float, gap: float) -> tuple[Floats, Ints]:
        """Return the rings around what is under the limit, which lies on their left.

        They are points (n, 2) and the first one of each ring; the last one leads to the first. A
        cell without a value counts as `gap` more than the limit.
        """
        grid, kernels = self._describe(), load_kernels()
        points, rings = ctypes.c_int64(_POINTS), ctypes.c_int64(_RINGS)
        while True:
            point = np.empty((points.value, 2))
            first = np.empty(rings.value + 1, np.int64)
            room = points.value, rings.value
            if kernels.trace_rings(
                ctypes.addressof(grid), address(self.values, np.float32), limit, gap,
                address(point, np.float64), address(first, np.int64), *room,
                ctypes.addressof(points), ctypes.addressof(rings),
            ):  # fmt: skip
                raise MemoryError("no memory is left to trace areas")
            if points.value <= room[0] and rings.value <= room[1]:
                break
        corner = np.array([self.west, self.south]) + 0.5 * self.size_deg
        return corner + self.size_deg * point[: points.value], first[: rings.value]

    def _describe(self) -> _Struct:
        rows, columns = self.values.shape
        return _Struct(self.west, self.south, self.size_deg, *self.crossing, columns, rows)


def fill_grid(
    roads: Roads,
    codes: NDArray[np.int32],
    begin: Floats,
    end: Floats,
    center: tuple[float, float],
    size_deg: float,
    crossing: tuple[float, float],
    *,
    beside: int = 0,
    slower: float = 1.0,
    sure: float = 0.0,
) -> Grid:
    """Return the grid of roads by code (see `RoadArrays.road`) with values at begin and end.

    The center lies in the middle of a cell, whose value is 0.

    Args:
        roads: where they are.
        codes: which of them.
        begin: the value at the begin of each, as it is taken.
        end: at its end.
        center: longitude and latitude.
        size_deg: of cells.
        crossing: what it takes to cross a cell without a road, eastward and northward. Roads are
            taken to lead on to the middles of their cells at that.
        beside: how many cells far they lead on beyond their own, where there are no others.
        slower: how much longer a cell takes there.
        sure: below this value nobody asks how much it is.
    """
    west, south, east, north = roads.surround(codes, center)
    half = 0.5 * size_deg
    lon, lat = center
    left, down = (
        int(np.ceil((at - low - half) / size_deg)) + _RIM for at, low in ((lon, west), (lat, south))
    )
    right, up = (
        int(np.ceil((high - at - half) / size_deg)) + _RIM
        for at, high in ((lon, east), (lat, north))
    )
    columns, rows = left + 1 + right, down + 1 + up
    if columns * rows > _MOST_CELLS:
        raise TooLarge(f"an area of {columns} by {rows} cells; ask for less time or distance")
    values = np.full((rows, columns), np.inf, np.float32)
    values[down, left] = 0.0
    grid = Grid(
        lon - half - left * size_deg, lat - half - down * size_deg, size_deg, values, crossing
    )
    described = grid._describe()
    load_kernels().fill_grid(
        roads.where, len(codes), address(codes, np.int32), address(begin, np.float64, len(codes)),
        address(end, np.float64, len(codes)), ctypes.addressof(described),
        sure, address(values, np.float32),
    )  # fmt: skip
    if load_kernels().fill_gaps(
        ctypes.addressof(described), address(values, np.float32), beside,
        slower * crossing[0], slower * crossing[1],
    ):  # fmt: skip
        raise MemoryError("no memory is left to fill the gaps of an area")
    return grid
