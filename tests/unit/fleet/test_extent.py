"""Where requests of other services' forms are; and which of them nobody knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from mapyard.fleet.extent import find_request_extent
from mapyard.routing.polyline import encode_polyline
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
         {"profile": "foot", "coordinates": "9.5,47.1"}, 5_000),
        ("/valhalla/route", "POST", {"locations": PLACES, "costing": "auto"}, BOX),
        ("/valhalla/route", "GET", {"json": orjson.dumps({"locations": PLACES}).decode()}, BOX),
        ("/valhalla/sources_to_targets", "POST",
         {"sources": PLACES[:1], "targets": PLACES[1:], "costing": "auto"}, BOX),
        ("/valhalla/trace_route", "POST",
         {"encoded_polyline": encode_polyline(np.array([[9.5, 47.1], [9.4, 47.2]]), 6)}, BOX),
        ("/valhalla/trace_route", "POST", {"encoded_polyline": "é", "costing": "auto"}, None),
        ("/valhalla/isochrone", "POST",
         {"locations": PLACES[:1], "costing": "auto", "contours": [{"time": 5}]}, 15_200),
        ("/valhalla/isochrone", "GET", {"json": orjson.dumps(
            {"locations": PLACES[:1], "costing": "pedestrian", "contours": [{"distance": 2}]}
         ).decode()}, 2_700),
        ("/graphhopper/isochrone", "GET", {"point": "47.1,9.5", "profile": "foot",
                                           "time_limit": 600}, 2_450),
        ("/graphhopper/isochrone", "GET", {"point": "47.1,9.5", "profile": "foot",
                                           "distance_limit": 1_000}, 1_450),
        ("/graphhopper/nearest", "GET", {"point": "47.1,9.5", "profile": "foot"}, 5_000),
        ("/ors/v2/snap/{profile}", "POST",
         {"profile": "foot-walking", "locations": [[9.5, 47.1]], "radius": 350}, 350),
        ("/ors/optimization", "POST",
         {"vehicles": [{"id": 1, "start": [9.5, 47.1], "end": [9.45, 47.1]}],
          "shipments": [{"pickup": {"id": 1, "location": [9.4, 47.2]},
                         "delivery": {"id": 2, "location": [9.45, 47.2]}}]}, BOX),
        ("/api/v1/optimize", "POST", {"waypoints": [[9.5, 47.1], [9.4, 47.2]]}, BOX),
        ("/graphhopper/match", "POST", {"profile": "foot", "gpx":
         '<gpx><trk><trkseg><trkpt lat="47.1" lon="9.5"/><trkpt lat="47.2" lon="9.4"/></trkseg>'
         '</trk></gpx>'}, BOX),
        ("/graphhopper/route", "GET", {"point": ["47.1,9.5", "47.2,9.4"], "profile": "car"}, BOX),
        ("/graphhopper/route", "POST", {"points": [[9.5, 47.1], [9.4, 47.2]], "profile": "car"},
         BOX),
        ("/ors/v2/directions/{profile}", "GET",
         {"profile": "driving-car", "start": "9.5,47.1", "end": "9.4,47.2"}, BOX),
        ("/ors/v2/directions/{profile}/json", "POST",
         {"profile": "driving-car", "coordinates": [[9.5, 47.1], [9.4, 47.2]]}, BOX),
        ("/ors/v2/isochrones/{profile}", "POST",
         {"profile": "driving-car", "locations": [[9.5, 47.1]], "range": [300]}, 15_200),
        ("/ors/v2/isochrones/{profile}", "POST",
         {"profile": "cycling-road", "locations": [[9.5, 47.1]], "range": [2], "units": "km",
          "range_type": "distance"}, 2_700),
    ],
)  # fmt: skip
def test_where_a_form_asks(
    path: str, method: str, raw: dict[str, Any], expected: tuple[float, ...] | int | None
) -> None:
    """A number is how far from the first place it reaches, meters."""
    params = ENDPOINTS[path, method].parser.parse(raw)
    found = find_request_extent(path, params)
    if isinstance(expected, int):
        assert found is not None
        assert 0.999 * expected < (found.north - 47.1) * 111_195 < 1.03 * expected
        assert 0.999 * expected < (9.5 - found.west) * 111_195 * 0.6807 < 1.03 * expected
        return
    assert (found and tuple(found)) == expected
