"""The regions of a generation: which one holds a box whole, which ones meet it."""

from __future__ import annotations

from typing import Any

import orjson
import shapely

from mapyard.fleet.generation import Generation, Region
from mapyard.geo.bbox import Bbox


class RegionMap:
    """Finds the regions of places."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self.by_name = {region.name: region for region in generation.regions}
        #: Region → its own area, in degrees.
        self.areas: dict[str, Any] = {}
        self._areas: list[tuple[Region, Any, Any]] = []
        for region in generation.regions:
            area = shapely.from_geojson(orjson.dumps(region.area))
            # What a drawn area has as margin is not its box: only the area itself is sure.
            is_box = area.equals(shapely.box(*area.bounds))
            whole = shapely.box(*region.grown) if is_box else area
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
            return list(self.generation.regions)
        shape = shapely.box(*box)
        found = [region for region, area, _ in self._areas if area.intersects(shape)]
        return found or list(self.generation.regions)
