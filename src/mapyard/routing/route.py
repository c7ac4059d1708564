"""Routes through two or more positions."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.errors import InvalidRequest, MapyardError, Unsupported
from mapyard.geo.sphere import distance_m, haversine_m
from mapyard.routing.avoid import write_avoided
from mapyard.routing.contraction.table import ModeTable
from mapyard.routing.contraction.way import Way
from mapyard.routing.costing import CostingOptions
from mapyard.routing.engine import Engine, NoRoad, NoRoute, TooFarApart
from mapyard.routing.hours import meets_hours
from mapyard.routing.modes import ASSUMED_TIME, Mode, make_costing
from mapyard.routing.polyline import decode_polyline
from mapyard.routing.prepared import find_prepared_route
from mapyard.routing.profiles import find_profile
from mapyard.routing.snapping import (
    CONNECTED_REACH,
    DEFAULT_RADIUS_M,
    Role,
    check_on_roads,
    check_positions,
    explain,
    find_connected,
    look_over_meridian,
    make_locations,
    may_reach_meridian,
)
from mapyard.routing.steps import UNIT_M, Step, Units, ask_for_steps, read_step
from mapyard.routing.stops import Stop
from mapyard.routing.times import Travel
from mapyard.routing.trip import Leg, Route, Waypoint

#: Of our own endpoint, as its clients expect.
MAX_POSITIONS: Final = 27
#: Of one call of the engine, which cannot be stopped: it takes some 10 ms per position. How far
#: all of them are apart together is limited besides (config.py).
MOST_POSITIONS: Final = 200
MAX_ALTERNATIVES: Final = 3
#: As the crow flies: the search takes much the same over any distance, its line does not.
_QUICK_M: Final = 100_000.0
#: A walk along a line is on its edges where it takes as long and is as long, but for rounding.
_SAME_S, _SAME_M = 1.0, 5.0
#: The engine's: a destination as near to its road is on no side of it.
_AT_ROAD_M: Final = 5.0


def find_routes(
    engine: Engine,
    positions: NDArray[np.float64],
    mode: Mode = "auto",
    *,
    alternatives: int = 0,
    with_steps: bool = False,
    language: str = "en-US",
    units: Units = "metric",
    exclude: Collection[str] = (),
    avoid: shapely.Geometry | None = None,
    avoid_lines: shapely.Geometry | None = None,
    avoid_points: NDArray[np.float64] | None = None,
    radius_m: float = DEFAULT_RADIUS_M,
    options: CostingOptions | None = None,
    stops: Sequence[Stop] | None = None,
    travel: Travel | None = None,
) -> list[Route]:
    """Return the best route first, then up to `alternatives` others.

    Args:
        engine: the open graph.
        positions: (n, 2) lon and lat of origin, waypoints, destination; 2 ≤ n ≤ MOST_POSITIONS.
        mode: how to travel.
        alternatives: how many further routes to look for; there may be fewer. Not beyond
            MAX_POSITIONS, since each leg is asked again.
        with_steps: whether the legs get steps with instructions.
        language: one of `steps.LANGUAGES`.
        units: of distances in the texts of steps.
        exclude: see `modes.make_costing`.
        avoid: area whose roads are not taken.
        avoid_lines: lines that are not crossed.
        avoid_points: (m, 2), places whose nearest roads are not taken.
        radius_m: a position farther from every road is refused.
        options: how the mode moves, where it differs from the defaults.
        stops: one per position: headings, sides, points to pass without stopping.
        travel: when; without, rules of hours are those of noon of a working day.

    Raises `NoRoad` with the position's index, `NoRoute`, `TooFarApart`.
    """
    check_positions(positions)
    if stops is not None and (stops[0].is_through or stops[-1].is_through):
        raise InvalidRequest.of("through", "a route begins and ends with a stop")
    if alternatives and len(positions) > MAX_POSITIONS:
        raise InvalidRequest.of("alternatives", f"are found over {MAX_POSITIONS} positions or less")
    avoids = any(one is not None for one in (avoid, avoid_lines, avoid_points))
    asked = look_over_meridian(engine, positions, mode, radius_m)
    costing = make_costing(mode, exclude, options)
    if not (alternatives or avoids or stops or travel):
        profile = find_profile(mode, options, exclude)
        prepared = find_prepared_route(
            engine, asked.tolist(), positions.tolist(), mode, radius_m, profile
        )
        if prepared is not None and with_steps:
            prepared = _add_steps(engine, prepared, asked, mode, costing, language, units)
            if prepared is None and mode in engine.tables.own_modes:
                raise Unsupported(
                    f"own speeds are on for mode {mode}, and no steps can be worded along this "
                    "way; ask for it without steps"
                )
        if prepared is not None:
            return [prepared]
    request = costing | ask_for_steps(with_steps, language, units)
    request |= write_avoided(avoid_points, avoid_lines, avoid)
    ask = _Question(engine, request, mode, radius_m, travel)
    try:
        if alternatives and len(positions) > 2:
            answers = _ask_by_leg(ask, asked, stops, alternatives)
        else:
            answers = ask.trips(asked, stops, alternatives)
    except NoRoad:
        radiuses_m = [radius_m if stop.radius_m is None else stop.radius_m for stop in stops or ()]
        raise explain(engine, positions, mode, radiuses_m or radius_m) from None
    except TooFarApart:
        check_on_roads(engine, positions, mode, radius_m)
        raise
    wanted = language if with_steps else None
    return [read_trip(trip, positions, wanted) for trip in answers]


def find_quick_route(
    engine: Engine,
    origin: tuple[float, float],
    destination: tuple[float, float],
    mode: Mode,
    radius_m: float,
) -> Route | None:
    """Return the best route of positions that are near each other, without a call of the engine.

    None where `find_routes` has to look, which may take longer. Raises `NoRoad`.
    """
    if any(may_reach_meridian(lon, radius_m) for lon, _ in (origin, destination)):
        return None
    ends = origin, destination
    return find_prepared_route(engine, ends, ends, mode, radius_m, mode, most_m=_QUICK_M)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is the same for all positions asked between."""

    engine: Engine
    request: dict[str, Any]
    mode: Mode
    radius_m: float
    travel: Travel | None

    def trips(
        self,
        positions: NDArray[np.float64],
        stops: Sequence[Stop] | None,
        alternatives: int,
    ) -> list[dict[str, Any]]:
        """Return the engine's trips between the nearest roads, else between connected ones."""
        try:
            return self._ask(positions, stops, alternatives)
        except NoRoute:
            roles: list[Role] = ["via"] * len(positions)
            roles[0], roles[-1] = "origin", "destination"
            places, moved = find_connected(self.engine, positions, self.mode, self.radius_m, roles)
            # The nearest roads of other kinds than are asked for say nothing of these.
            chosen = any(stop.unsnappable for stop in stops or ())
            if not moved.any() and not chosen:
                raise
            return self._ask(places, stops, alternatives, CONNECTED_REACH if chosen else 1)

    def _ask(
        self,
        positions: NDArray[np.float64],
        stops: Sequence[Stop] | None,
        alternatives: int,
        reach: int = 1,
    ) -> list[dict[str, Any]]:
        locations = make_locations(positions, self.radius_m, reach)
        if stops is not None:
            for location, stop in zip(locations, stops, strict=True):
                location |= stop.write()
        request = self.request | {"locations": locations}
        if alternatives:
            request["alternates"] = min(alternatives, MAX_ALTERNATIVES)
        if self.travel is not None:
            answer = self.engine.call("route", request | self.travel.write())
        else:
            answer = self.engine.call("route", request)
            if meets_hours(answer, self.engine.hours):
                answer = self.engine.call("route", request | ASSUMED_TIME)
        return [answer["trip"], *(other["trip"] for other in answer.get("alternates", ()))]


def _ask_by_leg(
    ask: _Question,
    positions: NDArray[np.float64],
    stops: Sequence[Stop] | None,
    alternatives: int,
) -> list[dict[str, Any]]:
    """Return the best route over all positions, then those with the best other way in one leg.

    The engine knows alternatives between two positions only.
    """
    best = ask.trips(positions, stops, 0)[0]
    breaks = [
        index for index in range(len(positions)) if stops is None or not stops[index].is_through
    ]
    others: list[tuple[float, int, dict[str, Any]]] = []
    for number, (first, last) in enumerate(pairwise(breaks)):
        if last - first > 1:
            continue  # over points that are only passed there are none
        part = None if stops is None else stops[first : last + 1]
        own = best["legs"][number]["summary"]["time"]
        for trip in ask.trips(positions[[first, last]], part, alternatives)[1:]:
            leg = trip["legs"][0]
            others.append((leg["summary"]["time"] - own, number, leg))
    others.sort(key=lambda other: other[0])
    return [best, *(_replace_leg(best, number, leg) for _, number, leg in others[:alternatives])]


def _replace_leg(trip: dict[str, Any], number: int, leg: dict[str, Any]) -> dict[str, Any]:
    legs = [*trip["legs"][:number], leg, *trip["legs"][number + 1 :]]
    summaries = [one["summary"] for one in legs]
    summary = {
        "length": sum(one["length"] for one in summaries),
        "time": sum(one["time"] for one in summaries),
    } | {
        name: any(one[name] for one in summaries)
        for name in ("has_toll", "has_ferry", "has_highway")
    }
    return trip | {"legs": legs, "summary": summary}


def read_trip(trip: dict[str, Any], positions: NDArray[np.float64], language: str | None) -> Route:
    """Return the route of a trip over positions (n, 2), with steps if a language is given."""
    shapes = [decode_polyline(leg["shape"]) for leg in trip["legs"]]
    # Legs share their end points; each further one is joined without its first position.
    joined = np.concatenate([shapes[0], *(shape[1:] for shape in shapes[1:])])
    starts = np.cumsum([0] + [len(shape) - 1 for shape in shapes]).tolist()
    unit_m = UNIT_M[trip["units"]]
    legs = [
        _read_leg(leg, begin, end, unit_m, language)
        for leg, (begin, end) in zip(trip["legs"], pairwise(starts), strict=True)
    ]
    snapped = _find_passed(joined, starts, positions)
    away_m = haversine_m(positions[:, 0], positions[:, 1], snapped[:, 0], snapped[:, 1])
    names = _read_names(trip["legs"])
    if len(names) < len(positions):  # points that are only passed begin no leg
        names = [names[0], *[None] * (len(positions) - 2), names[-1]]
    summary = trip["summary"]
    return Route(
        positions=joined,
        distance_m=round(summary["length"] * unit_m, 1),
        duration_s=summary["time"],
        legs=legs,
        waypoints=[
            Waypoint(lon, lat, round(distance_m, 1), name)
            for (lon, lat), distance_m, name in zip(
                snapped.tolist(), away_m.tolist(), names, strict=True
            )
        ],
        has_toll=summary["has_toll"],
        has_ferry=summary["has_ferry"],
        has_motorway=summary["has_highway"],
    )


def find_steps(
    engine: Engine,
    line: NDArray[np.float64],
    mode: Mode,
    language: str = "en-US",
    units: Units = "metric",
) -> list[Step]:
    """Return the steps along a line (n, 2) that runs on roads, such as a matched one."""
    request = make_costing(mode) | ask_for_steps(True, language, units)
    request["shape"] = [{"lon": lon, "lat": lat} for lon, lat in line.tolist()]
    answer = engine.call("trace_route", request | {"shape_match": "walk_or_snap"})["trip"]
    unit_m = UNIT_M[answer["units"]]
    return [
        read_step(row, 0, unit_m, language) for leg in answer["legs"] for row in leg["maneuvers"]
    ]


def _add_steps(
    engine: Engine,
    route: Route,
    asked: NDArray[np.float64],
    mode: Mode,
    costing: dict[str, Any],
    language: str,
    units: Units,
) -> Route | None:
    """Return the route with steps, which the engine words along its line.

    None where the engine cannot walk it, as where two ways lie on the same nodes.
    """
    legs = []
    request = costing | ask_for_steps(True, language, units)
    unit_m = UNIT_M[request["units"]]
    table = engine.tables.find(mode) if mode in engine.tables.own_modes else None
    for leg, way, places in zip(route.legs, route.ways, pairwise(asked.tolist()), strict=True):
        line = route.positions[leg.begin : leg.end + 1]
        shape = [{"lon": lon, "lat": lat} for lon, lat in line.tolist()]
        # On which side of the street an end is follows from where it was asked for.
        for point, (lon, lat), end in zip((shape[0], shape[-1]), places, way.ends, strict=True):
            if 0 < end.share < 1 and distance_m(lon, lat, *point.values()) > _AT_ROAD_M:
                point |= {"display_lon": lon, "display_lat": lat}
        any_s = math.inf if table is not None else _SAME_S
        steps = _walk(engine, request | {"shape": shape}, leg, unit_m, language, any_s)
        if steps is None:
            return None
        if table is not None:
            steps = _time_steps(table, way, leg, steps)
        legs.append(replace(leg, steps=steps))
    return replace(route, legs=legs)


def _time_steps(table: ModeTable, way: Way, leg: Leg, steps: list[Step]) -> list[Step]:
    """Return the steps with the table's times, which the engine does not have."""
    lasts = table.roads.find_line(way.edges, way.ends).last
    taken_s, _ = table.measure_edges(way)
    points = [0, *lasts.tolist()]
    ends_s = np.array([0.0, *taken_s.tolist()])

    def find_s(point: int) -> float:
        return float(np.interp(point - leg.begin, points, ends_s))

    return [
        replace(step, duration_s=round(find_s(step.end) - find_s(step.begin), 3)) for step in steps
    ]


def _walk(
    engine: Engine,
    request: dict[str, Any],
    leg: Leg,
    unit_m: float,
    language: str,
    same_s: float,
) -> list[Step] | None:
    try:
        trip = engine.call("trace_route", request | {"shape_match": "edge_walk"})["trip"]
    except MapyardError:
        return None
    count = len(request["shape"])
    (walked, *others) = trip["legs"]
    shape_of = decode_polyline(walked["shape"])
    # At a crossing the engine has edges without length at the ends, whose point comes twice.
    before = int(len(shape_of) > count and (shape_of[0] == shape_of[1]).all())
    after = int(len(shape_of) > count + before and (shape_of[-1] == shape_of[-2]).all())
    is_same = (
        not others
        and len(shape_of) == before + count + after
        and abs(walked["summary"]["time"] - leg.duration_s) <= same_s
        and abs(walked["summary"]["length"] * unit_m - leg.distance_m) <= _SAME_M
    )
    if not is_same:
        return None
    rows = [
        row
        | {
            name: min(max(row[name] - before, 0), count - 1)
            for name in ("begin_shape_index", "end_shape_index")
        }
        for row in walked["maneuvers"]
    ]
    return [read_step(row, leg.begin, unit_m, language) for row in rows]


def _find_passed(
    line: NDArray[np.float64], starts: list[int], positions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return where a route stops at, or passes, its positions."""
    if len(starts) == len(positions):
        return line[starts]
    shape, points = shapely.linestrings(line), shapely.points(positions)
    passed = shapely.line_interpolate_point(shape, shapely.line_locate_point(shape, points))
    passed_lonlat = shapely.get_coordinates(passed)
    passed_lonlat[0], passed_lonlat[-1] = line[0], line[-1]
    return passed_lonlat


def _read_leg(
    leg: dict[str, Any], begin: int, end: int, unit_m: float, language: str | None
) -> Leg:
    return Leg(
        distance_m=round(leg["summary"]["length"] * unit_m, 1),
        duration_s=leg["summary"]["time"],
        begin=begin,
        end=end,
        steps=[]
        if language is None
        else [read_step(row, begin, unit_m, language) for row in leg["maneuvers"]],
    )


def _read_names(legs: list[dict[str, Any]]) -> list[str | None]:
    """Return the road's name at each waypoint: of the leg that begins there, or of the last."""
    names = [_first_name(leg["maneuvers"][0]) if leg["maneuvers"] else None for leg in legs]
    last = [row for row in legs[-1]["maneuvers"] if row["length"] > 0]
    return [*names, _first_name(last[-1]) if last else None]


def _first_name(maneuver: dict[str, Any]) -> str | None:
    names = maneuver.get("begin_street_names") or maneuver.get("street_names") or [None]
    return names[0]
