"""What an elevation file is to us: a grid of heights somewhere on Earth."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type Box = tuple[float, float, float, float]  #: west, south, east, north in degrees


class Grid(Protocol):
    """An open grid. Whole columns and rows are the edges of cells, halves their centers."""

    height: int
    width: int
    bounds: Box

    def find_cells(self, lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
        """Return columns and rows of positions."""

    def locate(self, column: Floats, row: Floats) -> tuple[Floats, Floats]:
        """Return longitudes and latitudes of columns and rows."""

    def read(self, row: int, column: int, rows: int, columns: int) -> NDArray[Any]:
        """Return the heights of a window in meters, NaN where they are void."""

    def close(self) -> None:
        """Let the file go."""
