"""Requests that are not asked of a region: of what is over all of them, or of any dataset."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from mapyard.fleet.wholes import OVERVIEW, OVERVIEW_ZOOM, PLACES

#: Drawn by this node out of the tiles of all, by the style of the overview.
PICTURES: Final = "pictures"
#: Answered from what a node has besides its datasets (heights, fonts), or from none.
ANY: Final = "any"

_FORWARD: Final = frozenset(
    (
        "/api/v1/geocode",
        "/api/v1/geocode/autocomplete",
        "/api/v1/geocode/batch",
        "/graphhopper/geocode",
        "/nominatim/search",
        "/pelias/v1/search",
        "/pelias/v1/search/structured",
        "/pelias/v1/autocomplete",
        "/photon/api",
        "/photon/structured",
    )
)
#: Where tags are asked for, they answer with elements that are no places, and a region has these.
_REVERSE: Final = frozenset(
    (
        "/api/v1/geocode/reverse",
        "/nominatim/reverse",
        "/pelias/v1/reverse",
        "/photon/reverse",
    )
)
_TILES: Final = frozenset(("/api/v1/tiles/{z}/{x}/{y}", "/ogc/tiles/{set}/{z}/{row}/{column}"))
_PICTURES: Final = frozenset(("/api/v1/static/{size}", "/api/v1/raster/{z}/{x}/{y}"))
_OF_TILES: Final = frozenset(
    (
        "/api/v1/tiles.json",
        "/api/v1/tiles/style.json",
        "/ogc/tiles/{set}/tilejson",
    )
)
_ANY: Final = frozenset(
    (
        "/api/v1/terrain.json",
        "/api/v1/terrain/{z}/{x}/{y}",
        "/api/v1/contours.json",
        "/api/v1/contours/{z}/{x}/{y}",
        "/api/v1/tiles/glyphs/{fontstack}/{range}",
        "/api/v1/tiles/sprites/{file}",
        "/api/v1/tiles/world.json",
        "/nominatim/status",
        "/photon/status",
    )
)
#: By the rasters of a node; where these have voids, peaks tell their heights, which `places` has.
_HEIGHTS: Final = frozenset(
    (
        "/api/v1/elevation",
        "/api/v1/elevation/batch",
        "/api/v1/elevation/profile",
        "/ors/elevation/line",
        "/ors/elevation/point",
        "/valhalla/height",
    )
)


def find_choice(path: str, params: Any, wholes: Collection[str]) -> str:
    """Return the name of the dataset that answers an endpoint; "" for what regions answer.

    `wholes` are the datasets over all regions that there are.
    """
    if path in _HEIGHTS:
        return PLACES if PLACES in wholes else ANY
    if path in _FORWARD or (path in _REVERSE and not _asks_for_tags(params)):
        return PLACES
    if path in _OF_TILES or (path in _TILES and params.z <= OVERVIEW_ZOOM):
        return OVERVIEW
    if path in _PICTURES:
        return PICTURES
    return ANY if path in _ANY else ""


def _asks_for_tags(params: Any) -> bool:
    return any(getattr(params, "tags", ())) or bool(getattr(params, "osm_tag", ()))
