"""Contour lines of a tile, out of the rasters of heights.

Heights are sampled on a lattice that neighboring tiles share, and smoothed by a binomial filter,
so that lines meet at the edges of tiles and do not show the steps of the rasters.
"""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.rasters import Rasters
from mapyard.elevation.relief import MIN_ZOOM

type Unit = Literal["m", "ft"]

#: Lattice cells along a side of a tile; and beyond each side, for the smoothing and the overlap.
_CELLS: Final = 128
_OVERLAP: Final = 2
_FILTER: Final = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)
_METERS_OF_FOOT: Final = 0.3048
#: Between two lines, by zoom from MIN_ZOOM on.
_STEPS: Final[dict[Unit, tuple[int, ...]]] = {
    "m": (500, 200, 100, 50, 20, 10),
    "ft": (2000, 1000, 500, 200, 100, 40),
}
MAX_ZOOM: Final = MIN_ZOOM + len(_STEPS["m"]) - 1


class Contour(NamedTuple):
    """One line: vertices (n, 2) in shares of the tile, x east, y south; above its left side.

    `height` is in the unit asked for; `rank` is 10, 5, 2 or 1: the greatest of them by which the
    line's number divides, for drawing every fifth line thicker.
    """

    xy: NDArray[np.float64]
    height: int
    rank: int


def find_step(z: int, unit: Unit) -> int:
    """Return the height between two lines at a zoom."""
    return _STEPS[unit][min(z, MAX_ZOOM) - MIN_ZOOM]


def trace_contours(rasters: Rasters, z: int, x: int, y: int, unit: Unit = "m") -> list[Contour]:
    """Return the lines of a tile, also a little beyond its edges, but for height 0.

    None where the rasters have no heights.
    """
    from contourpy import LineType, contour_generator

    heights = _sample(rasters, z, x, y)
    if unit == "ft":
        heights /= _METERS_OF_FOOT
    if np.isnan(heights).all():
        return []
    places = np.arange(-_OVERLAP, _CELLS + _OVERLAP + 1) / _CELLS
    generator = contour_generator(
        places, places, np.ma.masked_invalid(heights), line_type=LineType.Separate
    )
    step = find_step(z, unit)
    first = math.ceil(np.nanmin(heights) / step)
    last = math.floor(np.nanmax(heights) / step)
    found = []
    for number in range(first, last + 1):
        if not number:
            continue  # the sea is flat: its line is the coast, in the steps of the rasters
        lines = cast("list[NDArray[np.float64]]", generator.lines(number * step))
        found += [Contour(xy, number * step, _rank(number)) for xy in lines]
    return found


def _sample(rasters: Rasters, z: int, x: int, y: int) -> NDArray[np.float64]:
    """Return heights in meters on the lattice, rows from the north; NaN where there are none."""
    margin = _OVERLAP + len(_FILTER) // 2
    places = np.arange(-margin, _CELLS + margin + 1) / _CELLS
    side = 1 << z
    lon = (x + places) / side * 360 - 180
    lat = np.degrees(np.arctan(np.sinh(math.pi * (1 - 2 * (y + places) / side))))
    at_lat, at_lon = np.meshgrid(lat, (lon + 180) % 360 - 180, indexing="ij")
    heights_m, _, _ = rasters.sample(at_lon.ravel(), at_lat.ravel(), fills_voids=False)
    return _smooth(_smooth(heights_m.reshape(at_lat.shape)).T).T


def _smooth(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows smoothed along the first axis; two rows fewer at each end."""
    size = len(heights) - len(_FILTER) + 1
    out = np.zeros((size, heights.shape[1]))
    for place, weight in enumerate(_FILTER):
        out += weight * heights[place : place + size]
    return out


def _rank(number: int) -> int:
    return next(rank for rank in (10, 5, 2, 1) if number % rank == 0)
