"""A trip by electric car: the way, the stops to charge at, the charge all along.

Between places the matrix gives time and length, from which the least energy follows: at a steady
speed and slope a car uses less than with changes. The legs that a plan uses are then looked at edge
by edge, and planned again with what they really use. As all other figures are too low, the first
plan whose legs are all known is the quickest there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.geo.bbox import Bbox
from mapyard.geo.sphere import DEGREE_M, distance_m, haversine_m
from mapyard.routing.choice import USUAL, Choice
from mapyard.routing.edges import find_edges
from mapyard.routing.electric.charging import PLUG_IN_S, charging_times_s
from mapyard.routing.electric.consumption import compute_energy_wh, follow_path
from mapyard.routing.electric.search import Places, Plan, find_plan
from mapyard.routing.electric.stations import Station
from mapyard.routing.electric.vehicle import ElectricVehicle
from mapyard.routing.engine import Engine, NoRoute
from mapyard.routing.matrix import compute_matrix
from mapyard.routing.modes import Mode
from mapyard.routing.nearest import find_ends
from mapyard.routing.trip import Leg, Route

type Floats = NDArray[np.float64]

#: Stations that are looked at, the strongest of each part of the way.
MAX_STATIONS: Final = 60
_PARTS: Final = 12
#: Stations farther from a road are left out.
_STATION_RADIUS_M: Final = 300.0
#: Points of the profile of charge.
_PROFILE_POINTS: Final = 200


@dataclass(frozen=True, slots=True)
class ChargingStop:
    """A stop at a station."""

    station: Station
    leg: int  #: after which it comes
    fraction: float  #: of the way's length up to it
    arrival_charge: float
    departure_charge: float
    energy_wh: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class ElectricTrip:
    """A route whose legs end at waypoints and stations."""

    route: Route
    stops: list[ChargingStop]
    #: Share of the length, charge: (n, 2).
    profile: Floats
    energy_wh: float
    charging_s: float
    has_slopes: bool


class OutOfRange(NoRoute):
    """No charging stops keep the battery above its least charge."""

    code = "no_route_found"


def find_electric_trip(
    engine: Engine,
    positions: Floats,
    vehicle: ElectricVehicle,
    stations: Sequence[Station],
    ask: Callable[[Floats], Route],
    *,
    mode: Mode = "auto",
    choice: Choice = USUAL,
    find_heights: Callable[[Floats], Floats] | None = None,
    deadline: Deadline,
) -> ElectricTrip:
    """Return the quickest trip through the positions (n, 2) that never runs low.

    Args:
        engine: the open graph.
        positions: origin, waypoints, destination.
        vehicle: the car.
        stations: where it could charge.
        ask: gives the route through positions.
        mode: of the route.
        choice: of the roads, for what lies between stations.
        find_heights: gives the heights of positions, NaN where there is none.
        deadline: looked at all along.

    Raises `OutOfRange` where no stops will do.
    """
    engine.refuse_own_speeds(mode)  # what is used on an edge is worked out from the engine's
    direct = ask(positions)
    measure = _Measure(engine, vehicle, mode, find_heights)
    used = [measure.follow(direct, leg) for leg in direct.legs]
    if _is_enough(vehicle, used):
        return _make_trip(vehicle, direct, used, [], find_heights is not None)
    near = _choose_stations(engine, direct.positions, stations, mode)
    places = np.array([*positions.tolist(), *((one.lon, one.lat) for one in near)])
    graph = _estimate(measure, places, len(positions), near, choice, deadline)
    known: dict[tuple[int, int], Floats] = {}
    while True:
        deadline.check()
        plan = find_plan(
            graph, vehicle.battery_capacity_wh, vehicle.initial_charge_pct, vehicle.min_charge_pct,
            deadline=deadline,
        )  # fmt: skip
        if plan is None:
            raise _explain(vehicle, near)
        legs = list(pairwise(visit.place for visit in plan.visits))
        new = [leg for leg in legs if leg not in known]
        if not new:
            break
        for start, end in new:
            route = ask(places[[start, end]])
            known[start, end] = measure.follow(route, route.legs[0])
            graph.times_s[start, end] = route.duration_s
            graph.energies_wh[start, end] = known[start, end][:, 0].max(initial=0.0)
    route = ask(places[[visit.place for visit in plan.visits]])
    used = [measure.follow(route, leg) for leg in route.legs]
    return _make_trip(
        vehicle, route, used, _read_charges(plan, near, len(positions)), find_heights is not None
    )


@dataclass(frozen=True, slots=True)
class _Measure:
    """What a car uses on a leg."""

    engine: Engine
    vehicle: ElectricVehicle
    mode: Mode
    find_heights: Callable[[Floats], Floats] | None

    def follow(self, route: Route, leg: Leg) -> Floats:
        """Return rows of Wh and meters from the leg's start, at the end of each edge."""
        line = route.positions[leg.begin : leg.end + 1]
        if leg.distance_m <= 0 or len(line) < 2:
            return np.zeros((1, 2))
        path = find_edges(self.engine, line, self.mode)
        return np.column_stack(follow_path(self.vehicle, path, self.find_heights))


def _is_enough(vehicle: ElectricVehicle, used: list[Floats]) -> bool:
    charge_wh = vehicle.initial_charge_pct * vehicle.battery_capacity_wh
    least_wh = vehicle.min_charge_pct * vehicle.battery_capacity_wh
    for rows in used:
        if charge_wh - rows[:, 0].max(initial=0.0) < least_wh:
            return False
        charge_wh = min(vehicle.battery_capacity_wh, charge_wh - rows[-1, 0])
    return True


def _choose_stations(
    engine: Engine, line: Floats, stations: Sequence[Station], mode: Mode
) -> list[Station]:
    """Return up to `MAX_STATIONS`, per part of the way those with most power for their detour."""
    if not stations:
        return []
    at = np.array([(one.lon, one.lat) for one in stations])
    every = line[:: max(1, len(line) // 500)]
    away_m = haversine_m(at[:, None, 0], at[:, None, 1], every[None, :, 0], every[None, :, 1])
    part = away_m.argmin(axis=1) * _PARTS // len(every)
    detour_s = 2 * away_m.min(axis=1) / 15.0  # there and back at 54 km/h
    full_s = 3_600.0 * 30.0 / np.array([one.power_kw for one in stations])  # for 30 kWh
    order = np.argsort(detour_s + full_s, kind="stable")
    kept: list[int] = []
    for number in range(_PARTS):
        kept += order[part[order] == number][: MAX_STATIONS // _PARTS].tolist()
    kept += [index for index in order.tolist() if index not in set(kept)]
    kept = kept[:MAX_STATIONS]
    on_roads = find_ends(engine, at[kept], mode, _STATION_RADIUS_M)
    return [stations[index] for index, end in zip(kept, on_roads, strict=True) if end]


def _estimate(
    measure: _Measure,
    places: Floats,
    stop_count: int,
    stations: list[Station],
    choice: Choice,
    deadline: Deadline,
) -> Places:
    vehicle = measure.vehicle
    matrix = compute_matrix(
        measure.engine, places, places, measure.mode,
        max_pairs=len(places) ** 2, deadline=deadline, choice=choice,
    )  # fmt: skip
    lengths_m = np.nan_to_num(matrix.distances_m, nan=np.inf)
    times_s = np.nan_to_num(matrix.durations_s, nan=np.inf)
    speeds_m_s = np.ones_like(times_s)
    driven = np.isfinite(times_s) & (times_s > 0)
    speeds_m_s[driven] = np.maximum(lengths_m[driven] / times_s[driven], 1.0)
    climbs_m = np.zeros_like(lengths_m)
    if measure.find_heights is not None:
        heights_m = np.nan_to_num(measure.find_heights(places), nan=0.0)
        climbs_m = heights_m[None, :] - heights_m[:, None]
    ways = np.isfinite(lengths_m)
    energies_wh = np.full_like(lengths_m, np.inf)
    energies_wh[ways] = compute_energy_wh(
        vehicle, lengths_m[ways], speeds_m_s[ways], climbs_m[ways]
    )
    powers_kw = np.zeros(len(places))
    powers_kw[stop_count:] = [min(one.power_kw, vehicle.max_power_kw) for one in stations]
    return Places(times_s, energies_wh, list(range(stop_count)), powers_kw)


def _explain(vehicle: ElectricVehicle, near: list[Station]) -> OutOfRange:
    where = (
        "there is no charging station near the way that the car fits"
        if not near
        else f"none of {len(near)} charging stations near the way brings the car there"
    )
    return OutOfRange(
        f"the battery does not reach: {where}",
        details={
            "stations": len(near),
            "battery_capacity_wh": vehicle.battery_capacity_wh,
            "min_charge_pct": vehicle.min_charge_pct,
        },
    )


def _read_charges(
    plan: Plan, stations: list[Station], stop_count: int
) -> list[tuple[int, Station, float]]:
    """Return per charging visit the leg that it ends, the station, and the charge to leave with."""
    return [
        (index - 1, stations[visit.place - stop_count], visit.departure)
        for index, visit in enumerate(plan.visits)
        if visit.place >= stop_count
    ]


def _make_trip(
    vehicle: ElectricVehicle,
    route: Route,
    used: list[Floats],
    charges: list[tuple[int, Station, float]],
    has_slopes: bool,
) -> ElectricTrip:
    capacity_wh = vehicle.battery_capacity_wh
    at_end = {leg: (station, departure) for leg, station, departure in charges}
    total_m = sum(float(rows[-1, 1]) for rows in used) or 1.0
    charge, driven_m, energy_wh, charging_s = vehicle.initial_charge_pct, 0.0, 0.0, 0.0
    points: list[tuple[float, float]] = [(0.0, charge)]
    stops: list[ChargingStop] = []
    for leg, rows in enumerate(used):
        charges_here = np.minimum(charge - rows[:, 0] / capacity_wh, 1.0)
        every = max(1, len(rows) * len(used) // _PROFILE_POINTS)
        for index in [*range(every - 1, len(rows) - 1, every), len(rows) - 1]:
            fraction = (driven_m + float(rows[index, 1])) / total_m
            points.append((round(fraction, 4), round(float(charges_here[index]), 4)))
        driven_m += float(rows[-1, 1])
        energy_wh += float(rows[-1, 0])
        charge = float(charges_here[-1])
        if leg in at_end:
            station, departure = at_end[leg]
            departure = max(departure, charge)
            power_kw = min(station.power_kw, vehicle.max_power_kw)
            times_s = charging_times_s(capacity_wh, power_kw, np.array([charge, departure]))
            duration_s = PLUG_IN_S + float(times_s[1] - times_s[0])
            stops.append(
                ChargingStop(
                    station,
                    leg,
                    round(driven_m / total_m, 4),
                    round(charge, 4),
                    round(departure, 4),
                    round((departure - charge) * capacity_wh, 1),
                    round(duration_s, 1),
                )
            )
            charge, charging_s = departure, charging_s + duration_s
            points.append((round(driven_m / total_m, 4), round(charge, 4)))
    return ElectricTrip(
        route, stops, np.array(points), round(energy_wh, 1), round(charging_s, 1), has_slopes
    )


def find_search_box(positions: Floats) -> Bbox:
    """Return where stations are looked for: around the way, as far as it may bend."""
    (west, south), (east, north) = positions.min(axis=0).tolist(), positions.max(axis=0).tolist()
    lat = (south + north) / 2
    width_m = distance_m(west, lat, east, lat)
    margin_m = 20_000.0 + 0.2 * max(width_m, distance_m(west, south, west, north))
    margin_deg = margin_m / DEGREE_M
    wide_deg = margin_deg / max(0.1, float(np.cos(np.radians(lat))))
    return Bbox(west - wide_deg, south - margin_deg, east + wide_deg, north + margin_deg)
