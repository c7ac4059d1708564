"""What all geocoding forms need of a place: its kind, rank, box and outline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import shapely

from mapyard.geo.bbox import Bbox
from mapyard.geocoding.answer.answers import Area
from mapyard.library.call import Call
from mapyard.osm.elements import TYPE_BY_NAME

Properties = Mapping[str, Any]

#: Half of the box that is given around a point, degrees.
_POINT_BOX_DEG: Final = 0.00005
_TYPE_BITS: Final = 2
#: Numbers of positions begin where those of elements end.
_FIRST_POSITION: Final = 1 << 52
#: Nominatim's ranks: 4 a country, 30 a house.
_RANKS: Final = {
    "country": 4, "state": 8, "region": 8, "province": 8, "county": 12, "district": 12,
    "municipality": 14, "city": 16, "town": 18, "borough": 18, "village": 19, "suburb": 19,
    "hamlet": 20, "quarter": 20, "neighbourhood": 20, "island": 17, "islet": 20,
    "isolated_dwelling": 22, "farm": 22, "locality": 25, "city_block": 25, "square": 25,
}  # fmt: skip
_STREET_RANK, _SMALL_ROAD_RANK, _HOUSE_RANK = 26, 27, 30
_SMALL_ROADS: Final = frozenset(
    ("service", "cycleway", "path", "footway", "steps", "bridleway", "track", "motorway_link",
     "primary_link", "trunk_link", "secondary_link", "tertiary_link")
)  # fmt: skip
#: Levels of boundaries with a rank; of others it is that of a settlement.
_LEVELS: Final = frozenset(map(str, range(2, 13)))
_SETTLEMENT_RANK: Final = 16


def is_boundary(properties: Properties) -> bool:
    """Return whether a place is an administrative boundary, whatever else it is called."""
    return (properties.get("tags") or {}).get("boundary") == "administrative"


def find_rank(properties: Properties) -> int:
    """Return how local a place is, in Nominatim's numbers."""
    if properties.get("house_number"):
        return _HOUSE_RANK
    category, kind = properties.get("category"), properties.get("subcategory")
    if category == "highway":
        return _SMALL_ROAD_RANK if kind in _SMALL_ROADS else _STREET_RANK
    if is_boundary(properties):
        level = str(properties["tags"].get("admin_level", ""))
        return 2 * int(level) if level in _LEVELS else _SETTLEMENT_RANK
    if category == "place" and kind == "postcode":
        return 21
    return _RANKS.get(str(kind), _HOUSE_RANK) if category in ("place", "boundary") else _HOUSE_RANK


def find_address_rank(properties: Properties) -> int:
    """Return how local a place is as a part of addresses: a settlement, or the rank of its level.

    A city may be a state too, by the level of its boundary.
    """
    is_settlement = properties.get("subcategory") in ("city", "town", "village")
    if is_settlement and not properties.get("house_number"):
        return _SETTLEMENT_RANK
    return find_rank(properties)


def find_area_rank(area: Area) -> int:
    """Return how local an area is, in the same numbers."""
    level = area.get("admin_level", 0)
    return _RANKS.get(area.get("place", ""), 2 * level or _HOUSE_RANK)


def find_place_id(properties: Properties, lon: float, lat: float) -> int:
    """Return a number for a place: of its element, or of its position where it is none."""
    kind, osm_id = properties.get("osm_type"), properties.get("osm_id")
    if kind in TYPE_BY_NAME and osm_id:
        return make_place_id(kind, int(osm_id))
    x, y = round((lon + 180) * 1e5), round((lat + 90) * 1e5)
    return _FIRST_POSITION + (x << 25) + y


def make_place_id(kind: str, osm_id: int) -> int:
    """Return the number of an element."""
    return osm_id << _TYPE_BITS | TYPE_BY_NAME[kind]


def read_place_id(number: int) -> tuple[str, int] | None:
    """Return type and id of the element of a number, None of a position."""
    names = {code: name for name, code in TYPE_BY_NAME.items()}
    kind = names.get(number & ((1 << _TYPE_BITS) - 1))
    return None if kind is None or number >= _FIRST_POSITION else (kind, number >> _TYPE_BITS)


def find_rows(call: Call, features: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the element row of each feature, −1 where it has none."""
    rows = []
    for feature in features:
        properties = feature["properties"]
        kind, osm_id = properties.get("osm_type"), properties.get("osm_id")
        known = kind in TYPE_BY_NAME and osm_id
        rows.append(call.store.find_row(TYPE_BY_NAME[kind], int(osm_id)) if known else -1)
    return rows


def find_box(feature: Mapping[str, Any]) -> Bbox:
    """Return the box of a feature, or a small one around its position."""
    if box := feature.get("bbox"):
        return Bbox(*box)
    lon, lat = feature["geometry"]["coordinates"]
    return Bbox(
        round(lon - _POINT_BOX_DEG, 7), round(lat - _POINT_BOX_DEG, 7),
        round(lon + _POINT_BOX_DEG, 7), round(lat + _POINT_BOX_DEG, 7),
    )  # fmt: skip


def find_shapes(
    call: Call, features: Sequence[Mapping[str, Any]], tolerance_deg: float
) -> list[Any]:
    """Return the outline of each feature, simplified; a point where there is none."""
    rows = find_rows(call, features)
    shapes = call.store.geometries(np.maximum(np.array(rows, np.int64), 0))
    found = []
    for feature, row, shape in zip(features, rows, shapes.tolist(), strict=True):
        if row < 0 or shape is None:
            found.append(shapely.Point(feature["geometry"]["coordinates"]))
        else:
            found.append(shapely.simplify(shape, tolerance_deg) if tolerance_deg else shape)
    return found
