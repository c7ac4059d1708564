"""Lines of positions, lon and lat: bearings along them, and fewer positions for the same line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

#: Tolerance of a coarser line, as share of its extent.
_COARSE: Final = 1 / 500


def find_bearings(line: NDArray[np.float64], indexes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the directions in which a line comes to, and leaves, each of some positions.

    Degrees clockwise from north; 0 before the first position and after the last one. Where some
    are in one place, the direction is that of the step to another place.
    """
    return [(_arrive(line, index), _leave(line, index)) for index in indexes]


def _arrive(line: NDArray[np.float64], index: int) -> int:
    here = line[index].tolist()
    for other in range(index - 1, -1, -1):
        there = line[other].tolist()
        if there != here:
            return _find_bearing(there, here)
    return 0


def _leave(line: NDArray[np.float64], index: int) -> int:
    here = line[index].tolist()
    for other in range(index + 1, len(line)):
        there = line[other].tolist()
        if there != here:
            return _find_bearing(here, there)
    return 0


def _find_bearing(one: list[float], other: list[float]) -> int:
    middle = math.radians((one[1] + other[1]) / 2)
    east, north = (other[0] - one[0]) * math.cos(middle), other[1] - one[1]
    return round(math.degrees(math.atan2(east, north))) % 360


def thin(line: NDArray[np.float64], kept: Sequence[int]) -> tuple[NDArray[np.float64], list[int]]:
    """Return a coarser line, and the places in it of the positions that it keeps.

    `kept` are ascending indexes, the first and last position among them.
    """
    extent = float(np.ptp(line[:, :2], axis=0).max())
    bounds = sorted(set(kept))
    if len(bounds) < 2:
        return line, list(kept)
    pieces = [line[begin : end + 1] for begin, end in pairwise(bounds)]
    simple = shapely.simplify([shapely.linestrings(piece) for piece in pieces], extent * _COARSE)
    coordinates, owner = shapely.get_coordinates(
        simple, include_z=line.shape[1] == 3, return_index=True
    )
    is_first = np.append(True, owner[1:] != owner[:-1])
    is_first[0] = False  # of each further piece, the first position is the last one of the other
    counts = np.bincount(owner) - 1
    places = dict(zip(bounds, np.append(0, np.cumsum(counts)).tolist(), strict=True))
    return coordinates[~is_first], [places[index] for index in kept]
