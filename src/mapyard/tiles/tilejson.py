"""TileJSON 3.0 and the metadata of archives: what is in the tiles of a dataset.

https://github.com/mapbox/tilejson-spec/tree/master/3.0.0
"""

from __future__ import annotations

from typing import Any, Final

from mapyard.tiles.mercator import MAX_ZOOM
from mapyard.tiles.schema import LAYERS, VERSION
from mapyard.tiles.table import TableInfo

ATTRIBUTION: Final = (
    '<a href="https://www.openstreetmap.org/copyright">© OpenStreetMap contributors</a>'
)


def make_tilejson(info: TableInfo, tiles_url: str, version: str) -> dict[str, Any]:
    """Return the TileJSON object; `tiles_url` holds {z}, {x} and {y}."""
    west, south, east, north = info.bounds
    bounds = [west, south, east, north] if west <= east else [-180.0, south, 180.0, north]
    middle = (west + east + (360.0 if west > east else 0.0)) / 2
    center = [round(middle - 360.0 if middle > 180.0 else middle, 6), round((south + north) / 2, 6)]
    return {
        "tilejson": "3.0.0",
        "name": "Mapyard",
        "description": f"OpenStreetMap vector tiles in the Shortbread schema {VERSION}",
        "version": version,
        "attribution": ATTRIBUTION,
        "scheme": "xyz",
        "tiles": [tiles_url],
        "minzoom": 0,
        "maxzoom": MAX_ZOOM,
        "bounds": bounds,
        "center": [*center, 10],
        "vector_layers": vector_layers(info),
    }


def vector_layers(info: TableInfo) -> list[dict[str, Any]]:
    """Return the layers with their fields, in drawing order."""
    fields: list[dict[str, str]] = [{} for _ in LAYERS]
    for attribute in info.attributes:
        fields[attribute.layer][attribute.name] = attribute.type
    return [
        {
            "id": layer.name,
            "fields": fields[index],
            "minzoom": min((rule.minzoom for rule in layer.rules), default=layer.minzoom),
            "maxzoom": MAX_ZOOM,
        }
        for index, layer in enumerate(LAYERS)
    ]


def describe_archive(info: TableInfo) -> dict[str, Any]:
    """Return the metadata of a PMTiles or MBTiles archive."""
    return {
        "name": "Mapyard",
        "description": f"OpenStreetMap vector tiles in the Shortbread schema {VERSION}",
        "attribution": ATTRIBUTION,
        "vector_layers": vector_layers(info),
    }
