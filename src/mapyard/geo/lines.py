"""Lines of positions, lon and lat: bearings along them, and fewer positions for the same line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

#: Tolerance of a coarser line, as share of its extent.
_COARSE: Final = 1 / 500


def find_bearings(line: NDArray[np.float64], indexes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the directions in which a line comes to, and leaves, each of its positions.

    Degrees clockwise from north; 0 before the first position and after the last one.
    """
    step = np.diff(line, axis=0)
    middle = np.radians((line[:-1, 1] + line[1:, 1]) / 2)
    angles = np.degrees(np.arctan2(step[:, 0] * np.cos(middle), step[:, 1])) % 360
    whole = np.append(np.round(angles) % 360, 0).astype(np.int64)
    moving = np.append((step != 0).any(axis=1), True)
    # Where two positions are one, the direction is that of the next step or the last one.
    count = len(line)
    index = np.arange(count)
    following = np.minimum.accumulate(np.where(moving, index, count - 1)[::-1])[::-1]
    before = np.maximum.accumulate(np.where(moving, index, -1))
    found = []
    for at in indexes:
        earlier = int(before[at - 1]) if at > 0 else -1
        arrives = int(whole[earlier]) if earlier >= 0 else 0
        found.append((arrives, int(whole[following[at]])))
    return found


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
