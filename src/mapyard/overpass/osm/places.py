"""Places by name from the elements alone, for macros where no geocoder is built."""

from __future__ import annotations

import numpy as np

from mapyard.osm.elements import RELATION, TYPE_NAMES
from mapyard.overpass.osm.derived_columns import shown_boxes
from mapyard.overpass.osm.rowsets import Rows, as_rows, unite
from mapyard.overpass.parse.macros import Place
from mapyard.store.reader import E7, Store

_NAME_KEYS = ("name", "name:en", "official_name", "alt_name", "short_name", "int_name")


def find_place(store: Store, name: str, want_area: bool) -> Place | None:
    """Return the element of that very name that is most likely meant, or None.

    Areas first, the widest administrative one before others; then places, then anything else. Of a
    name with commas (`Vaduz, Liechtenstein`) the first part counts.
    """
    rows: Rows = store.listed[:0]
    for text in (name, name.partition(",")[0].strip()):
        rows = unite([as_rows(store.rows_with_tag(key, text)) for key in _NAME_KEYS])
        if want_area:
            rows = rows[store.is_area(rows)]
        if len(rows):
            break
    if not len(rows):
        return None
    row = min(rows.tolist(), key=lambda one: _rank(store, one))
    return make_place(store, row)


def make_place(store: Store, row: int) -> Place | None:
    """Return an element as a place, None where it has no position."""
    kind = int(store.types(np.array([row]))[0])
    box = store.boxes(np.array([row], np.uint32))[0]
    if kind == RELATION:
        box = shown_boxes(store, np.array([row], np.uint32))[0]
    west, south, east, north = (box / E7).tolist()
    if west > east:
        return None
    lon, lat = (west + east) / 2, (south + north) / 2
    return Place(TYPE_NAMES[kind], int(store.ids[row]), lon, lat, (west, south, east, north))


def _rank(store: Store, row: int) -> tuple[bool, int, bool, int]:
    tags = store.tags(row)
    is_area = bool(store.is_area(np.array([row]))[0])
    level = tags.get("admin_level", "")
    return (
        not is_area,
        int(level) if level.isdecimal() and tags.get("boundary") == "administrative" else 99,
        "place" not in tags,
        row,
    )
