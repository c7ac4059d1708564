"""Which closed ways are polygons, by their tags.

The list is that of https://wiki.openstreetmap.org/wiki/Overpass_turbo/Polygon_Features.
"""

from __future__ import annotations

from typing import Final

#: Key → every value counts but these.
ALL_BUT: Final[dict[str, frozenset[str]]] = {
    **{
        key: frozenset()
        for key in (
            "building", "landuse", "amenity", "leisure", "area", "boundary", "place", "shop",
            "tourism", "historic", "public_transport", "office", "building:part", "military",
            "ruins", "area:highway", "craft", "golf", "indoor",
        )
    },
    "natural": frozenset({"coastline", "cliff", "ridge", "arete", "tree_row"}),
    "man_made": frozenset({"cutline", "embankment", "pipeline"}),
    "aeroway": frozenset({"taxiway"}),
}  # fmt: skip
#: Key → only these values count.
ONLY: Final[dict[str, frozenset[str]]] = {
    "highway": frozenset({"services", "rest_area", "escape", "elevator"}),
    "waterway": frozenset({"riverbank", "dock", "boatyard", "dam"}),
    "barrier": frozenset({"city_wall", "ditch", "hedge", "retaining_wall", "wall", "spikes"}),
    "railway": frozenset({"station", "turntable", "roundhouse", "platform"}),
    "power": frozenset({"plant", "substation", "generator", "transformer"}),
}

AREA, NOT_AREA = 1, 2


def area_bits(key: str, value: str) -> int:
    """Return what one tag says: AREA, NOT_AREA (area=no, which wins) or 0."""
    if key == "area" and value == "no":
        return NOT_AREA
    if value == "no":
        return 0
    if key in ALL_BUT:
        return 0 if value in ALL_BUT[key] else AREA
    return AREA if value in ONLY.get(key, ()) else 0
