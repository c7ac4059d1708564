"""The regions of a generation: which one holds a box whole, which ones meet it, whose roads."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson
import shapely

from mapyard.fleet.areas import E7, Area
from mapyard.fleet.generation import OF_ROADS, WHOLE, Generation, Region
from mapyard.geo.bbox import Bbox

_EARTH: Final = shapely.box(-180, -90, 180, 90)


class _Roads(NamedTuple):
    """A region of roads: what it holds, and where that ends, but for the ends of the Earth."""

    region: Region
    whole: Any
    border: Any


def _grow(shape: Any, margin_m: float) -> Any:
    """Return a drawn area with its margin, as the split has cut it."""
    west, south, east, north = (round(value * E7) for value in shape.bounds)
    grown = Area("", (west, south, east, north), shape).grow(margin_m).shape
    return shapely.intersection(grown, _EARTH)


def _draw(region: Region, margin_m: float) -> tuple[Any, Any]:
    """Return the area of a region, and the area with its margin, in degrees."""
    area = shapely.from_geojson(orjson.dumps(region.area))
    is_box = area.equals(shapely.box(*area.bounds))
    whole = shapely.box(*region.grown) if is_box else _grow(area, margin_m)
    shapely.prepare(area)
    shapely.prepare(whole)
    return area, whole


def _rank(roads: _Roads, shape: Any) -> tuple[float, float]:
    distance = float("inf") if roads.border.is_empty else shapely.distance(shape, roads.border)
    return distance, -roads.whole.area


class RegionMap:
    """Finds the regions of places."""

    def __init__(self, generation: Generation) -> None:
        #: Those that have an area, and those of the whole map by their names.
        self.regions = [region for region in generation.regions if not region.kind]
        self.wholes = {region.name: region for region in generation.regions if region.kind == WHOLE}
        #: Region → its own area, in degrees.
        self.areas: dict[str, Any] = {}
        self._areas: list[tuple[Region, Any, Any]] = []
        for region in self.regions:
            area, whole = _draw(region, generation.margin_m)
            self.areas[region.name] = area
            self._areas.append((region, area, whole))
        #: Regions of roads; where there are none, each region has its own.
        self.roads = [region for region in generation.regions if region.kind == OF_ROADS]
        self._roads = []
        for region in self.roads:
            _, whole = _draw(region, generation.roads_margin_m)
            border = shapely.difference(whole.boundary, _EARTH.boundary)
            self._roads.append(_Roads(region, whole, border))

    def find_roads(self, box: Bbox) -> Region | None:
        """Return the region of roads that holds all of a box, farthest from its border.

        None where no region holds it.
        """
        shape = shapely.box(*box)
        held = [roads for roads in self._roads if roads.whole.covers(shape)]
        return max(held, key=lambda roads: _rank(roads, shape)).region if held else None

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
