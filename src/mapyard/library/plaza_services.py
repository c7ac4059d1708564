"""The other engines as PlazaQL asks them: questions of the library, names of areas, heights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.elevation.profile import find_heights
from mapyard.errors import NotInstalled
from mapyard.library.call import Call
from mapyard.library.macro_places import make_geocode
from mapyard.library.own_datasets import open_dataset
from mapyard.library.question import find_question
from mapyard.library.ways import get_rasters
from mapyard.osm.elements import TYPE_BY_NAME
from mapyard.plazaql.run.services import Services
from mapyard.store.reader import Store


def make_services(call: Call) -> Services:
    """Return the engines of a call."""

    def ask(name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
        question = find_question(name)
        result = question.answer(call, question.parser.parse(dict(raw)))
        answer: dict[str, Any] = (
            result.to_json() if hasattr(result, "to_json") else result.to_geojson()
        )
        return answer

    def find_boundary(name: str) -> Any:
        try:
            geocoder = call.part("geocoder")
        except NotInstalled:
            geocoder = None
        place = make_geocode(call.store, geocoder)(name, True)
        if place is None:
            return None
        row = call.store.find_row(TYPE_BY_NAME[place.type], place.id)
        return call.store.geometries(np.array([row]))[0] if row >= 0 else None

    def find_heights_at(lon: NDArray[np.float64], lat: NDArray[np.float64]) -> NDArray[np.float64]:
        found = find_heights(get_rasters(call), np.column_stack([lon, lat]))
        return found.heights_m

    attributions: list[str] = []

    def find_own(name: str) -> Store:
        own = open_dataset(call, name)
        if own.attribution and own.attribution not in attributions:
            attributions.append(own.attribution)
        return own.store

    return Services(ask, find_boundary, find_heights_at, find_own, attributions)
