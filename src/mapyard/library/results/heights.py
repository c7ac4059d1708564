"""Heights of positions and lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.library.results.feature import Feature
from mapyard.library.results.ways import WayFeatures


class Heights(WayFeatures):
    """Positions with their heights, in input order."""

    @property
    def heights_m(self) -> NDArray[np.float64]:
        """Return the heights, meters above the sea; NaN where there is no data."""
        return np.array([f["properties"].get("elevation_m") for f in self.features], np.float64)


class Profile(Feature):
    """A line with its heights."""

    __slots__ = ()

    @property
    def heights_m(self) -> NDArray[np.float64]:
        """Return the height at each position, meters above the sea; NaN where there is no data."""
        return np.array(self.properties["elevations_m"], np.float64)

    @property
    def distances_m(self) -> NDArray[np.float64]:
        """Return the distance of each position from the start, meters."""
        return np.array(self.properties["distances_m"], np.float64)

    def figures(self) -> dict[str, Any]:
        """Return least, greatest and mean height, ascent, descent and length, meters."""
        return {
            name: value
            for name, value in self.properties.items()
            if name.endswith("_m") and not isinstance(value, list)
        }
