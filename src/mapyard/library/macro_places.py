"""The geocoder as the macros of Overpass QL need it: a name in, an element out."""

from __future__ import annotations

import numpy as np

from mapyard.geocoding.geocoder import Geocoder
from mapyard.osm.elements import TYPE_BY_NAME
from mapyard.overpass.osm.places import find_place, make_place
from mapyard.overpass.parse.macros import Geocode, Place
from mapyard.store.reader import Store

_RESULTS = 10


def make_geocode(store: Store, geocoder: Geocoder | None) -> Geocode:
    """Return a function that finds places by name: by the geocoder, else by the very name."""

    def geocode(name: str, want_area: bool) -> Place | None:
        place = _find(store, geocoder, name, want_area) if geocoder is not None else None
        return place or find_place(store, name, want_area)

    return geocode


def _find(store: Store, geocoder: Geocoder, name: str, want_area: bool) -> Place | None:
    """Return the best result that every word of the name led to, an area if wanted."""
    for feature in geocoder.forward(name, _RESULTS):
        properties = feature["properties"]
        if (properties.get("match") or {}).get("unmatched"):
            continue
        kind = TYPE_BY_NAME.get(properties.get("osm_type") or "")
        if kind is None or properties.get("osm_id") is None:
            continue
        row = store.find_row(kind, int(properties["osm_id"]))
        if row < 0 or (want_area and not store.is_area(np.array([row]))[0]):
            continue
        place = make_place(store, row)
        if place is not None:
            return place
    return None
