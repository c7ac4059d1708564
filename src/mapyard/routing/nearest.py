"""The nearest roads of a position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from mapyard.geo.sphere import distance_m
from mapyard.routing.config import COSTINGS
from mapyard.routing.engine import Engine
from mapyard.routing.modes import Mode
from mapyard.routing.snapping import (
    Snapped,
    check_positions,
    explain,
    find_roads,
    look_over_meridian,
    make_location,
    read_edge,
)

MAX_RADIUS_M: Final = 5_000.0
MAX_NUMBER: Final = 10

#: Radii in which further roads are looked for, until there are enough.
_SEARCH_RADII_M: Final = (50.0, 200.0, 800.0, 2_000.0, MAX_RADIUS_M)
#: Where a road is found at most positions.
_NEAR_M: Final = 200.0
#: The engine's class of an edge that no OSM tag is asked for: its use, else its classification.
_USES: Final = {
    "footway": "footway", "cycleway": "cycleway", "path": "path", "pedestrian": "pedestrian",
    "steps": "steps", "track": "track", "bridleway": "bridleway", "living_street": "living_street",
    "driveway": "service", "alley": "service", "parking_aisle": "service",
    "service_road": "service", "emergency_access": "service", "drive_through": "service",
    "ferry": "ferry", "sidewalk": "footway", "pedestrian_crossing": "footway",
    "mountain_bike": "path",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NearestRoad:
    """A place on a road.

    `edge_id` holds for this dataset only; `way_id` is OpenStreetMap's. `highway` is the engine's
    class of the road, which is coarser than the tag.
    """

    lon: float
    lat: float
    distance_m: float
    edge_id: int
    edge_length_m: float
    way_id: int
    name: str | None
    highway: str
    surface: str | None


def find_nearest(
    engine: Engine,
    lon: float,
    lat: float,
    mode: Mode = "auto",
    *,
    radius_m: float = 500.0,
    number: int = 1,
) -> list[NearestRoad]:
    """Return up to `number` roads within the radius, nearest first, each way once.

    Raises `NoRoad` when there is none, with the nearest one's distance if within 5 km.
    """
    position = np.array([[lon, lat]])
    if not (abs(lon) <= 180 and abs(lat) <= 90):  # nor is not a number
        check_positions(position, "position")
    asked = look_over_meridian(engine, position, mode, radius_m)
    if asked is not position:
        (near_lon, near_lat), position = asked[0].tolist(), asked
        others = _find_several(engine, near_lon, near_lat, mode, radius_m, number)
        roads = [
            replace(road, distance_m=distance_m(lon, lat, road.lon, road.lat)) for road in others
        ]
    elif number == 1:
        # A search ends at its radius, not at the nearest road: far ones are looked for second.
        near_m = min(radius_m, _NEAR_M)
        roads = find_roads(engine, position, mode, near_m, reach=1, verbose=True)[0]
        if near_m < radius_m and (not roads or roads[0].distance_m > near_m):
            roads = find_roads(engine, position, mode, radius_m, reach=1, verbose=True)[0]
    else:
        roads = _find_several(engine, lon, lat, mode, radius_m, number)
    if not roads:
        raise explain(engine, position, mode, radius_m)
    found: dict[int, NearestRoad] = {}
    for road in roads:
        way_id = road.edge["edge_info"]["way_id"]
        if way_id not in found and road.distance_m <= radius_m:
            found[way_id] = _read_road(road)
    return list(found.values())[:number]


def _find_several(
    engine: Engine, lon: float, lat: float, mode: Mode, radius_m: float, number: int
) -> list[Snapped]:
    roads: list[Snapped] = []
    for search_m in _SEARCH_RADII_M:
        within_m = min(search_m, radius_m)
        location = make_location(lon, lat, radius_m) | {"radius": within_m}
        answer = engine.call(
            "locate", {"locations": [location], "costing": COSTINGS[mode], "verbose": True}
        )
        edges = answer[0].get("edges") or []
        roads = sorted(
            (read_edge(edge, lon, lat) for edge in edges), key=lambda road: road.distance_m
        )
        ways = {road.edge["edge_info"]["way_id"] for road in roads}
        if len(ways) >= number or within_m >= radius_m:
            break
    return roads


def _read_road(road: Snapped) -> NearestRoad:
    info, edge = road.edge["edge_info"], road.edge["edge"]
    names = info.get("names") or [None]
    return NearestRoad(
        lon=road.lon,
        lat=road.lat,
        distance_m=round(road.distance_m, 2),
        edge_id=road.edge["edge_id"]["value"],
        edge_length_m=edge["geo_attributes"]["length"],
        way_id=info["way_id"],
        name=names[0],
        highway=_read_highway(edge["classification"]),
        surface=edge["classification"].get("surface"),
    )


def _read_highway(classification: dict[str, Any]) -> str:
    kind: str = classification["classification"]
    if classification["use"] in _USES:
        return _USES[classification["use"]]
    kind = "service" if kind == "service_other" else kind
    return kind + "_link" if classification["link"] else kind
