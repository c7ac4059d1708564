"""An element by id as a place: with the address that is found where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from mapyard.geocoding.words.categories import get_category
from mapyard.library.call import Call
from mapyard.library.questions import geocoding as library
from mapyard.osm.elements import TYPE_BY_NAME
from mapyard.params.parser import Position
from mapyard.text.names import get_name

Feature = dict[str, Any]
#: How far the street may be, meters.
_RADIUS_M: Final = 1_000.0


def find_element(call: Call, kind: str, osm_id: int, langs: tuple[str, ...]) -> Feature | None:
    """Return an element as a place: as reverse search has it, or with the address found there."""
    store = call.store
    row = store.find_row(TYPE_BY_NAME[kind], osm_id)
    if row < 0:
        return None
    shape = store.geometries(np.array([row]))[0]
    if shape is None:
        return None
    point = shape.representative_point()
    asked = library.Reverse(
        at=Position(point.x, point.y), radius=_RADIUS_M, limit=20, lang=langs, areas=True
    )
    around = library.reverse(call, asked).features
    areas = library.reverse(
        call,
        library.Reverse(
            at=asked.at, radius=1.0, limit=20, layer=("admin",), lang=langs, areas=True
        ),
    ).features
    for feature in (*around, *areas):
        properties = feature["properties"]
        if (properties.get("osm_type"), properties.get("osm_id")) == (kind, osm_id):
            return feature
    return _make_place(store.tags(row), kind, osm_id, shape, [*around[:1], *areas[:1]], langs)


def _make_place(
    tags: dict[str, str],
    kind: str,
    osm_id: int,
    shape: Any,
    around: list[Feature],
    langs: tuple[str, ...],
) -> Feature:
    """Return a place of tags, with the streets and areas of its neighbor."""
    point = shape.representative_point()
    near: Mapping[str, Any] = around[0]["properties"] if around else {}
    shared = ("street", "suburb", "city", "county", "state", "country", "country_code", "postcode",
              "areas")  # fmt: skip
    category, subcategory = get_category(tags)
    name = get_name(tags, langs)
    line = ", ".join(
        dict.fromkeys(str(near[part]) for part in ("street", "city", "country") if near.get(part))
    )
    properties = {
        "display_name": ", ".join(part for part in (name, line) if part),
        "name": name,
        "house_number": tags.get("addr:housenumber"),
        **{part: near[part] for part in shared if near.get(part)},
        "category": category,
        "subcategory": subcategory,
        "osm_type": kind,
        "osm_id": osm_id,
        "score": 1.0,
    }
    properties = {name: value for name, value in properties.items() if value}
    geometry = {"type": "Point", "coordinates": [round(point.x, 7), round(point.y, 7)]}
    place: Feature = {"type": "Feature", "properties": properties, "geometry": geometry}
    if shape.geom_type != "Point":
        place["bbox"] = [round(value, 7) for value in shape.bounds]
    return place
