"""Voids of a raster filled from around: a thin plate laid over the cells at their rim.

It goes on with the slopes around, where a mean of the rim would cut ridges and peaks off.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Cells around a position that are looked at; a void that reaches farther stays one.
REACH: Final = 48
#: Rim cells that carry the plate.
_MOST_POINTS: Final = 200
#: How wide the rim is, cells: two tell the slope.
_RIM: Final = 2

type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]


def fill_void(window: Floats, row: int, column: int, spots: Floats | None = None) -> Floats:
    """Return the window with the void around a cell filled; infinite where it is too wide.

    `spots` are known heights (n, 3): row, column, meters. Those within the void carry the plate
    too, unless they are twice as far off as slopes from the rim could lead: then they are mistakes.
    """
    void = np.isnan(window)
    part = _spread(void, row, column)
    rim = _widen(part, _RIM) & ~void
    points = np.argwhere(rim)
    if part[[0, -1]].any() or part[:, [0, -1]].any() or len(points) < 3 * _RIM:
        return np.where(part, np.inf, window)
    every = -(-len(points) // _MOST_POINTS)
    filled = window.copy()
    # No higher and lower than what slopes from the rim could give.
    known = window[rim]
    slack = float(np.ptp(known)) / 2
    lowest, highest = known.min() - slack, known.max() + slack
    places, heights = points[::every].astype(np.float64), known[::every]
    if spots is not None and len(spots):
        cells = np.round(spots[:, :2]).astype(np.int64)
        inside = ((cells >= 0) & (cells < window.shape)).all(axis=1)
        inside[inside] = part[tuple(cells[inside].T)]
        told = spots[:, 2]
        inside &= (told >= lowest - slack) & (told <= highest + slack)
        places = np.concatenate([places, spots[inside, :2]])
        heights = np.concatenate([heights, told[inside]])
        lowest = min(lowest, told[inside].min(initial=lowest))
        highest = max(highest, told[inside].max(initial=highest))
    filled[part] = _lay_plate(places, heights, np.argwhere(part))
    return np.where(part, np.clip(filled, lowest, highest), filled)


def _spread(void: Bools, row: int, column: int) -> Bools:
    """Return the connected void cells around one."""
    part = np.zeros_like(void)
    part[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2] = True
    part &= void
    while True:
        wider = _widen(part, 1) & void
        if wider.sum() == part.sum():
            return part
        part = wider


def _widen(cells: Bools, by: int) -> Bools:
    padded = np.pad(cells, by)
    rows, columns = cells.shape
    found = np.zeros_like(cells)
    for down in range(2 * by + 1):
        for along in range(2 * by + 1):
            found |= padded[down : down + rows, along : along + columns]
    return found


def _lay_plate(places: Floats, heights: Floats, at: NDArray[np.int64]) -> Floats:
    """Return heights at cells of the thin-plate spline through places."""
    flat = np.column_stack([np.ones(len(places)), places])
    bend = np.block([[_bend(places, places), flat], [flat.T, np.zeros((3, 3))]])
    weights = np.linalg.lstsq(bend, np.append(heights, np.zeros(3)), rcond=None)[0]
    targets = at.astype(np.float64)
    plane = np.column_stack([np.ones(len(targets)), targets])
    return np.asarray(_bend(targets, places) @ weights[:-3] + plane @ weights[-3:])


def _bend(a: Floats, b: Floats) -> Floats:
    squared = ((a[:, None] - b[None]) ** 2).sum(axis=-1)
    return squared * np.log(np.maximum(squared, 1.0))
