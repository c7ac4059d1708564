"""Where requests of other services' forms are; and which of them nobody knows."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from mapyard.fleet.extent import find_request_extent
from mapyard.server.assembly import load_endpoints

ENDPOINTS = {(endpoint.path, method): endpoint for endpoint in load_endpoints()
             for method in endpoint.methods}  # fmt: skip
PLACES = [{"lat": 47.1, "lon": 9.5}, {"lat": 47.2, "lon": 9.4}]
BOX = (9.4, 47.1, 9.5, 47.2)


@pytest.mark.parametrize(
    ("path", "method", "raw", "expected"),
    [
        ("/osrm/route/v1/{profile}/{coordinates}", "GET",
         {"profile": "foot", "coordinates": "9.5,47.1;9.4,47.2"}, BOX),
        ("/osrm/table/v1/{profile}/{coordinates}", "GET",
         {"profile": "foot", "coordinates": "9.5,47.1;9.4,47.2"}, BOX),
        ("/osrm/route/v1/{profile}/{coordinates}", "GET",
         {"profile": "foot", "coordinates": "nonsense"}, None),
        ("/osrm/nearest/v1/{profile}/{coordinates}", "GET",
         {"profile": "foot", "coordinates": "9.5,47.1"}, None),
        ("/valhalla/route", "POST", {"locations": PLACES, "costing": "auto"}, BOX),
        ("/valhalla/route", "GET", {"json": orjson.dumps({"locations": PLACES}).decode()}, BOX),
        ("/valhalla/sources_to_targets", "POST",
         {"sources": PLACES[:1], "targets": PLACES[1:], "costing": "auto"}, BOX),
        ("/valhalla/trace_route", "POST", {"encoded_polyline": "abc", "costing": "auto"}, None),
        ("/valhalla/isochrone", "POST",
         {"locations": PLACES[:1], "costing": "auto", "contours": [{"time": 5}]}, None),
        ("/graphhopper/route", "GET", {"point": ["47.1,9.5", "47.2,9.4"], "profile": "car"}, BOX),
        ("/graphhopper/route", "POST", {"points": [[9.5, 47.1], [9.4, 47.2]], "profile": "car"},
         BOX),
        ("/ors/v2/directions/{profile}", "GET",
         {"profile": "driving-car", "start": "9.5,47.1", "end": "9.4,47.2"}, BOX),
        ("/ors/v2/directions/{profile}/json", "POST",
         {"profile": "driving-car", "coordinates": [[9.5, 47.1], [9.4, 47.2]]}, BOX),
        ("/ors/v2/isochrones/{profile}", "POST",
         {"profile": "driving-car", "locations": [[9.5, 47.1]], "range": [300]}, None),
    ],
)  # fmt: skip
def test_where_a_form_asks(
    path: str, method: str, raw: dict[str, Any], expected: tuple[float, ...] | None
) -> None:
    params = ENDPOINTS[path, method].parser.parse(raw)
    found = find_request_extent(path, params)
    assert (found and tuple(found)) == expected
