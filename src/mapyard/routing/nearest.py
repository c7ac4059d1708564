"""The nearest roads of a position, and of many.

In the modes whose roads are prepared they come out of arrays, in others from the engine; both by
the rule of snapping.py, so that it is the road that routes begin on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.sphere import distance_m, haversine_m
from mapyard.routing.config import COSTINGS
from mapyard.routing.contraction.table import ModeTable
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
class RoadEnd:
    """A position's place on the nearest road."""

    lon: float
    lat: float
    distance_m: float
    name: str | None


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
    table = engine.tables.find(mode)
    if table is not None:
        roads = _find_prepared(table, asked, (lon, lat), mode, radius_m, number)
    else:
        roads = _ask_engine(engine, asked, (lon, lat), mode, radius_m, number)
    if not roads:
        raise explain(engine, asked, mode, radius_m)
    return roads


def find_ends(
    engine: Engine, positions: NDArray[np.float64], mode: Mode, radius_m: float
) -> list[RoadEnd | None]:
    """Return the nearest road's place of each position (n, 2), None where there is none."""
    check_positions(positions)
    asked = look_over_meridian(engine, positions, mode, radius_m)
    table = engine.tables.find(mode)
    if table is None:
        return [
            RoadEnd(road.lon, road.lat, road.distance_m, _read_name(road)) if road else None
            for road in (
                next(iter(roads), None)
                for roads in find_roads(engine, asked, mode, radius_m, reach=1, verbose=True)
            )
        ]
    places = table.find_places(asked, radius_m)
    known, first = np.unique(places.position, return_index=True)
    at = places.at[first]
    away_m = haversine_m(positions[known, 0], positions[known, 1], at[:, 0], at[:, 1])
    ends: list[RoadEnd | None] = [None] * len(positions)
    for index, (lon, lat), its_m, edge in zip(
        known.tolist(), at.tolist(), away_m.tolist(), places.edge[first].tolist(), strict=True
    ):
        ends[index] = RoadEnd(lon, lat, its_m, table.facts.read_name(edge))
    return ends


def _find_prepared(
    table: ModeTable,
    asked: NDArray[np.float64],
    position: tuple[float, float],
    mode: Mode,
    radius_m: float,
    number: int,
) -> list[NearestRoad]:
    places = table.find_places(asked, radius_m)
    if not len(places.edge):
        return []
    lon, lat = places.at[0].tolist()
    # Within a road both of its edges are there, at a crossing first one that leads away.
    edge = int(places.edge[0] if places.share[0] == 0 else places.edge[:2].min())
    nearest = _describe(table, edge, lon, lat, distance_m(*position, lon, lat))
    found = {nearest.way_id: nearest}
    room = 2 * number
    while len(found) < number:
        edges, at = table.roads.find_near(asked[0], mode, radius_m, room)
        for edge, (lon, lat) in zip(edges.tolist(), at.tolist(), strict=True):
            away_m = distance_m(*position, lon, lat)
            if away_m <= nearest.distance_m:  # another road of the crossing
                lon, lat, away_m = nearest.lon, nearest.lat, nearest.distance_m
            road = _describe(table, edge, lon, lat, away_m)
            found.setdefault(road.way_id, road)
        if len(edges) < room:
            break
        room *= 4
    return sorted(found.values(), key=lambda road: road.distance_m)[:number]


def _describe(table: ModeTable, edge: int, lon: float, lat: float, away_m: float) -> NearestRoad:
    facts = table.facts.read(edge)
    return NearestRoad(
        lon=round(lon, 6),
        lat=round(lat, 6),
        distance_m=round(away_m, 2),
        edge_id=facts.edge_id,
        edge_length_m=facts.length_m,
        way_id=facts.way_id,
        name=facts.names[0] if facts.names else None,
        highway=_find_highway(facts.use, facts.road_class, is_link=facts.is_link),
        surface=facts.surface,
    )


def _ask_engine(
    engine: Engine,
    asked: NDArray[np.float64],
    position: tuple[float, float],
    mode: Mode,
    radius_m: float,
    number: int,
) -> list[NearestRoad]:
    if number == 1:
        # A search ends at its radius, not at the nearest road: far ones are looked for second.
        near_m = min(radius_m, _NEAR_M)
        roads = find_roads(engine, asked, mode, near_m, reach=1, verbose=True)[0]
        if near_m < radius_m and (not roads or roads[0].distance_m > near_m):
            roads = find_roads(engine, asked, mode, radius_m, reach=1, verbose=True)[0]
    else:
        lon, lat = asked[0].tolist()
        roads = _find_several(engine, lon, lat, mode, radius_m, number)
    found: dict[int, NearestRoad] = {}
    for road in roads:
        way_id = road.edge["edge_info"]["way_id"]
        away_m = distance_m(*position, road.lon, road.lat)
        if way_id not in found and away_m <= radius_m:
            found[way_id] = _read_road(road, away_m)
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


def _read_name(road: Snapped) -> str | None:
    names = road.edge["edge_info"].get("names") or [None]
    name: str | None = names[0]
    return name


def _read_road(road: Snapped, away_m: float) -> NearestRoad:
    info, edge = road.edge["edge_info"], road.edge["edge"]
    kind = edge["classification"]
    return NearestRoad(
        lon=road.lon,
        lat=road.lat,
        distance_m=round(away_m, 2),
        edge_id=road.edge["edge_id"]["value"],
        edge_length_m=edge["geo_attributes"]["length"],
        way_id=info["way_id"],
        name=_read_name(road),
        highway=_find_highway(kind["use"], kind["classification"], is_link=kind["link"]),
        surface=kind.get("surface"),
    )


def _find_highway(use: str, road_class: str, *, is_link: bool) -> str:
    if use in _USES:
        return _USES[use]
    kind = "service" if road_class == "service_other" else road_class
    return kind + "_link" if is_link else kind
