"""The regions of a generation: which one holds a box whole, which ones meet it."""

from __future__ import annotations

from typing import Any

import orjson
import shapely

from mapyard.fleet.areas import E7, Area
from mapyard.fleet.generation import Generation, Region
from mapyard.geo.bbox import Bbox


def _grow(shape: Any, margin_m: float) -> Any:
    """Return a drawn area with its margin, as the split has cut it."""
    west, south, east, north = (round(value * E7) for value in shape.bounds)
    grown = Area("", (west, south, east, north), shape).grow(margin_m).shape
    return shapely.intersection(grown, shapely.box(-180, -90, 180, 90))


class RegionMap:
    """Finds the regions of places."""

    def __init__(self, generation: Generation) -> None:
        #: Those that have an area, and those of the whole map by their names.
        self.regions = [region for region in generation.regions if not region.is_whole]
        self.wholes = {region.name: region for region in generation.regions if region.is_whole}
        #: Region → its own area, in degrees.
        self.areas: dict[str, Any] = {}
        self._areas: list[tuple[Region, Any, Any]] = []
        for region in self.regions:
            area = shapely.from_geojson(orjson.dumps(region.area))
            is_box = area.equals(shapely.box(*area.bounds))
            whole = shapely.box(*region.grown) if is_box else _grow(area, generation.margin_m)
            shapely.prepare(area)
            shapely.prepare(whole)
            self.areas[region.name] = area
            self._areas.append((region, area, whole))

    def find_whole(self, box: Bbox | None) -> list[Region]:
        """Return the regions that hold all of a box, margins included."""
        if len(self._areas) == 1:
            return [self._areas[0][0]]
        if box is None:
            return []
        shape = shapely.box(*box)
        return [region for region, _, whole in self._areas if whole.covers(shape)]

    def find_meeting(self, box: Bbox | None) -> list[Region]:
        """Return the regions whose own areas meet a box; all of them for None."""
        if box is None:
            return self.regions
        shape = shapely.box(*box)
        found = [region for region, area, _ in self._areas if area.intersects(shape)]
        return found or self.regions
