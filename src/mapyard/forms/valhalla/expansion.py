"""The steps of a search, for looking into it: Valhalla's /expansion."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import orjson

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.forms.roads import measure
from mapyard.forms.valhalla.endpoints import FROM_TO, JSON, declare
from mapyard.forms.valhalla.params import (
    Expansion,
    read_mode,
    read_positions,
    read_request,
    write_location,
    write_request,
)
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.library.ways import get_engine
from mapyard.params.parser import parser_of
from mapyard.routing.modes import ASSUMED_DEPARTURE
from mapyard.routing.snapping import DEFAULT_RADIUS_M, check_on_roads

#: An answer names every road that is looked at: these keep it to some ten megabytes in a city.
_MOST_MINUTES: Final = 10.0
_MOST_KM: Final = 5.0
_MOST_LOCATIONS: Final = 4


@declare(
    "expansion",
    "Steps of a search as of Valhalla",
    {
        "action": "isochrone", "locations": FROM_TO[:1], "costing": "pedestrian",
        "contours": [{"time": 1}], "expansion_properties": ["distance"],
    },
    heavy=True,
)  # fmt: skip
def expansion(ctx: Context, params: Expansion) -> Answer:
    """Return the roads that a search looks at, as lines."""
    params = read_request(params, _EXPANSION)
    if params.action is None:
        raise InvalidRequest("action: is route, isochrone or sources_to_targets")
    names = ["locations"] if params.action != "sources_to_targets" else ["sources", "targets"]
    lists = [read_positions(getattr(params, name), name, _MOST_LOCATIONS) for name in names]
    everything = np.concatenate(lists)
    if params.action == "isochrone":
        _check_contours(params)
    elif params.action == "route" and len(everything) < 2:
        raise InvalidRequest("locations: insufficient number of locations provided: 2 are needed")
    length_km = measure(everything)[-1] / 1_000.0
    if length_km > _MOST_KM:
        raise TooLarge(f"locations: {length_km:.1f} km apart, at most {_MOST_KM:g} here")
    engine = get_engine(ctx)
    check_on_roads(engine, everything, read_mode(params), DEFAULT_RADIUS_M)
    request: dict[str, Any] = {
        **ASSUMED_DEPARTURE, **write_request(params, "locations", "sources", "targets"),
    }  # fmt: skip
    for name in names:
        request[name] = [write_location(place) for place in getattr(params, name)]
    ctx.deadline.check()
    text = engine.ask("expansion", request).encode()
    if params.id:
        text = text[:-1] + b',"id":' + orjson.dumps(params.id) + b"}"
    return Answer(text, JSON)


def _check_contours(params: Expansion) -> None:
    if not params.contours:
        raise InvalidRequest("contours: insufficiently specified required parameter")
    for contour in params.contours:
        given = msgspec.to_builtins(contour)
        if ("time" in given) == ("distance" in given):
            raise InvalidRequest("contours: each has a time or a distance")
        if given.get("time", 0) > _MOST_MINUTES or given.get("distance", 0) > _MOST_KM:
            raise TooLarge(f"contours: at most {_MOST_MINUTES:g} minutes or {_MOST_KM:g} km here")


_EXPANSION: Final = parser_of(Expansion)
