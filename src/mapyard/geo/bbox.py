"""Bounding boxes: (west, south, east, north) in degrees; west > east crosses the antimeridian."""

from __future__ import annotations

from typing import NamedTuple


class Bbox(NamedTuple):
    """West, south, east, north in degrees."""

    west: float
    south: float
    east: float
    north: float

    @property
    def crosses_antimeridian(self) -> bool:
        """Return whether the box spans longitude 180."""
        return self.west > self.east

    def split(self) -> list[Bbox]:
        """Return the box as one box, or as two at the antimeridian."""
        if not self.crosses_antimeridian:
            return [self]
        return [
            Bbox(self.west, self.south, 180.0, self.north),
            Bbox(-180.0, self.south, self.east, self.north),
        ]
