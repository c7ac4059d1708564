"""Heights as the engine's tile builder reads them: a file of one arc-second per degree.

With them roads have grades: riders and walkers get slower uphill, and may avoid climbs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox

type Floats = NDArray[np.float64]
#: Gives the heights of lon and lat, meters; NaN where there is none.
type FindHeights = Callable[[Floats, Floats], Floats]

#: Samples of a degree along one side, its two borders included.
SIZE: Final = 3_601
#: Void of the format.
VOID: Final = -32_768
#: Rows sampled at once.
_ROWS: Final = 121
#: A degree without a height at so many places in each direction has none.
_PROBES: Final = 13


def write_heights(find_heights: FindHeights, bbox: Bbox, folder: Path) -> int:
    """Write a file for each degree around a box that has heights; return their number."""
    count = 0
    west, east = int(np.floor(bbox.west)), int(np.floor(bbox.east))
    columns = range(west, east + 1) if west <= east else [*range(west, 180), *range(-180, east + 1)]
    for south in range(int(np.floor(bbox.south)), int(np.floor(bbox.north)) + 1):
        for left in columns:
            if _has_heights(find_heights, left, south):
                path = folder / _name(left, south)
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(find_heights, left, south, path)
                count += 1
    return count


def _name(west: int, south: int) -> Path:
    row = f"{'N' if south >= 0 else 'S'}{abs(south):02}"
    return Path(row) / f"{row}{'E' if west >= 0 else 'W'}{abs(west):03}.hgt"


def _has_heights(find_heights: FindHeights, west: int, south: int) -> bool:
    share = np.linspace(0.0, 1.0, _PROBES)
    lon, lat = np.meshgrid(west + share, south + share)
    return bool(np.isfinite(find_heights(lon.ravel(), lat.ravel())).any())


def _write(find_heights: FindHeights, west: int, south: int, path: Path) -> None:
    lon = west + np.linspace(0.0, 1.0, SIZE)
    lats = south + np.linspace(1.0, 0.0, SIZE)
    with path.open("wb") as file:
        for first in range(0, SIZE, _ROWS):
            lat = lats[first : first + _ROWS]
            heights_m = find_heights(np.tile(lon, len(lat)), np.repeat(lat, SIZE))
            whole = np.where(np.isfinite(heights_m), np.round(np.nan_to_num(heights_m)), VOID)
            file.write(whole.astype(">i2").tobytes())
