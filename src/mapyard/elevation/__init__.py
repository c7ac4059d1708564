"""Elevation of positions and lines from any raster; a Python library of its own.

from pathlib import Path
import numpy as np
from mapyard.elevation import find_heights, open_elevation

rasters = open_elevation(Path("DATA/elevation"))
print(find_heights(rasters, np.array([[9.5209, 47.1410]])).heights_m)
"""

from __future__ import annotations

from pathlib import Path

from mapyard.elevation.profile import find_heights, make_profile
from mapyard.elevation.rasters import Rasters

__all__ = ["Rasters", "find_heights", "make_profile", "open_elevation"]


def open_elevation(folder: Path) -> Rasters:
    """Open the rasters of a folder; raise FileNotFoundError when it holds none."""
    return Rasters(folder)
