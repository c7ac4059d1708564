"""Electric cars: stops against brute force, physics, and what the map says of stations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mapyard.geo.bbox import Bbox
from mapyard.routing.electric.charging import PLUG_IN_S, charging_times_s
from mapyard.routing.electric.consumption import compute_energy_wh, fill_heights
from mapyard.routing.electric.search import Places, find_plan
from mapyard.routing.electric.stations import (
    find_power_kw,
    find_stations,
    is_for_cars,
    read_connectors,
    read_plugs,
    read_power_kw,
)
from mapyard.routing.electric.vehicle import ElectricVehicle

CAPACITY_WH = 40_000.0
#: Brute force tries so many stops to charge at, the same one again too.
MOST_VISITS = 4


def try_all(places, initial, least, steps):
    """Return the least time over all orders of stations and all charges to leave with."""
    count = len(places.powers_kw)
    need = np.where(
        np.isfinite(places.energies_wh),
        np.ceil(np.nan_to_num(places.energies_wh, posinf=1e9) / CAPACITY_WH * steps - 1e-9),
        10**6,
    )
    floor, first = int(np.ceil(least * steps - 1e-9)), int(initial * steps + 1e-9)
    chargers = [place for place in range(count) if places.powers_kw[place] > 0]
    curves = {
        place: charging_times_s(CAPACITY_WH, places.powers_kw[place], np.arange(steps + 1) / steps)
        for place in chargers
    }
    best = np.inf

    def follow(order, at, charge, time_s):
        nonlocal best
        if time_s >= best:
            return
        left = charge - need[order[at], order[at + 1]]
        if left < floor:
            return
        time_s = time_s + places.times_s[order[at], order[at + 1]]
        at += 1
        if at == len(order) - 1:
            best = min(best, time_s)
            return
        here = order[at]
        if here not in curves:
            follow(order, at, int(left), time_s)
            return
        for target in range(int(left), steps + 1):
            charging_s = curves[here][target] - curves[here][int(left)]
            follow(order, at, target, time_s + PLUG_IN_S + charging_s)

    stops = places.stops
    for visits in range(MOST_VISITS + 1):
        for order in itertools.product(chargers, repeat=visits):
            for cuts in itertools.combinations_with_replacement(range(visits + 1), len(stops) - 2):
                way = [stops[0]]
                begin = 0
                for stop, end in zip(stops[1:], [*cuts, visits], strict=True):
                    way += [*order[begin:end], stop]
                    begin = end
                follow(way, 0, first, 0.0)
    return best


def make_places(seed, stop_count, station_count):
    rng = np.random.default_rng(seed)
    at = rng.uniform(0, 300_000, (stop_count + station_count, 2))
    away_m = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)) * 1.3
    speeds = rng.uniform(15, 30, away_m.shape)
    energies = away_m / 1000 * rng.uniform(120, 220, away_m.shape)
    energies[rng.random(away_m.shape) < 0.1] = np.inf
    powers = np.zeros(len(at))
    powers[stop_count:] = rng.choice([11.0, 22.0, 50.0, 150.0], station_count)
    return Places(away_m / speeds, energies, list(range(stop_count)), powers)


@pytest.mark.parametrize("seed", range(24))
def test_plans_are_as_quick_as_the_best_of_all(seed):
    places = make_places(seed, stop_count=2 + seed % 2, station_count=3)
    initial, least = (0.9, 0.1) if seed % 3 else (0.5, 0.2)
    plan = find_plan(places, CAPACITY_WH, initial, least, steps=10)
    best_s = try_all(places, initial, least, steps=10)
    if plan is None:
        assert best_s == np.inf
        return
    assert len(plan.visits) - len(places.stops) <= MOST_VISITS
    assert plan.duration_s == pytest.approx(best_s)
    # The plan holds by itself: every charge and every second of it.
    visited = [visit.place for visit in plan.visits]
    assert [place for place in visited if place in places.stops] == places.stops
    driven_s = sum(places.times_s[leg] for leg in itertools.pairwise(visited))
    charging_s = sum(visit.charging_s for visit in plan.visits)
    assert driven_s + charging_s == pytest.approx(plan.duration_s)
    for one, other in itertools.pairwise(plan.visits):
        used = places.energies_wh[one.place, other.place] / CAPACITY_WH
        assert other.arrival <= one.departure - used + 1e-9
        assert other.arrival >= least - 1e-9


def test_some_plans_stop_and_some_do_not():
    stops = [
        len(plan.visits)
        for seed in range(24)
        if (plan := find_plan(make_places(seed, 2, 4), CAPACITY_WH, 0.9, 0.1)) is not None
    ]
    assert 2 in stops
    assert max(stops) >= 4


def test_charging_is_slower_near_full():
    times_s = charging_times_s(50_000, 50, np.array([0, 0.2, 0.4, 0.8, 0.9, 1.0]))
    assert times_s[0] == 0
    assert times_s[1] == pytest.approx(0.2 * 3600)
    assert times_s[3] == pytest.approx(0.8 * 3600)
    assert times_s[4] - times_s[3] > 0.1 * 3600
    assert times_s[5] - times_s[4] > times_s[4] - times_s[3]
    assert charging_times_s(50_000, 25, np.array([0.5]))[0] == pytest.approx(3600)


def use(km=1.0, kmh=50.0, climb_m=0.0, **car):
    vehicle = ElectricVehicle(battery_capacity_wh=50_000, **car)
    one = np.array([1.0])
    return float(compute_energy_wh(vehicle, one * km * 1000, one * kmh / 3.6, one * climb_m)[0])


def test_a_flat_kilometer_costs_what_physics_says():
    rolling_j = 0.010 * 1900 * 9.81 * 1000
    air_j = 0.5 * 1.2 * 0.65 * (50 / 3.6) ** 2 * 1000
    beside_wh = 500 * (1000 / (50 / 3.6)) / 3600
    assert use() == pytest.approx((rolling_j + air_j) / 0.88 / 3600 + beside_wh)
    assert 90 < use(kmh=50) < 130  # Wh, as cars of this size use in town
    assert 170 < use(kmh=120) < 240  # and on a motorway


def test_slopes_cost_and_give_back_in_part():
    up, down, flat = use(climb_m=50), use(climb_m=-50), use()
    assert up - flat == pytest.approx(1900 * 9.81 * 50 / 0.88 / 3600, rel=0.01)
    assert down < flat
    assert use(climb_m=-200) < 0
    assert up + down > 2 * flat
    assert use(climb_m=-200, regeneration=0.0) == pytest.approx(500 * 72 / 3600, rel=0.01)


def test_missing_heights_are_between_their_neighbors():
    holes = np.array([100.0, np.nan, 120.0])
    at_m = np.array([0.0, 500, 1000])
    assert fill_heights(at_m, holes, np.array([500.0, 750.0])).tolist() == [110.0, 115.0]
    assert (fill_heights(at_m, np.full(3, np.nan), at_m) == 0).all()


@pytest.mark.parametrize(
    ("text", "kw"),
    [("22 kW", 22), ("22kW", 22), ("11;22 kW", 22), ("50000", 50), ("150", 150), ("3,7 kW", 3.7),
     ("3700 W", 3.7), ("22 kVA", 22), ("", None), ("fast", None)],
)  # fmt: skip
def test_powers_are_read(text, kw):
    assert read_power_kw(text) == kw


@pytest.mark.parametrize(
    ("tags", "wanted", "kw"),
    [
        ({"socket:type2": "2"}, (), 11),
        ({"socket:type2": "2", "socket:type2:output": "22 kW"}, (), 22),
        ({"socket:type2": "2", "socket:type2:output": "22 kW"}, ("chademo",), None),
        (
            {"socket:type2": "1", "socket:type2_combo": "1", "socket:type2_combo:output": "150 kW"},
            ("type2",),
            11,
        ),
        ({"socket:type2_combo": "4", "socket:type2_combo:output": "150 kW"}, ("type2_combo",), 150),
        ({"socket:chademo": "no", "socket:type2": "1"}, ("chademo",), None),
        ({}, (), 11),
        ({}, ("chademo",), None),
        ({"charging_station:output": "43 kW"}, ("type2",), 43),
    ],
)
def test_the_strongest_plug_that_fits_counts(tags, wanted, kw):
    assert find_power_kw(tags, read_plugs(tags), wanted) == kw


@pytest.mark.parametrize(
    ("tags", "is_one"),
    [
        ({}, True), ({"motorcar": "yes"}, True), ({"access": "private"}, False),
        ({"bicycle": "yes"}, False), ({"bicycle": "yes", "motorcar": "yes"}, True),
        ({"bicycle": "yes", "socket:type2": "2"}, True), ({"motorcar": "no"}, False),
        ({"access": "customers"}, True), ({"hgv": "yes"}, False), ({"access": "no"}, False),
    ],
)  # fmt: skip
def test_stations_are_for_cars_that_may_use_them(tags, is_one):
    assert is_for_cars(tags) == is_one


def test_plugs_have_several_names():
    assert read_connectors(["CCS", "type2"]) == {"type2_combo", "type2"}
    assert read_connectors([]) == frozenset()
    assert read_connectors(["type2", "cable"]) is None


def test_stations_of_the_map(monaco_store):
    everywhere = Bbox(-180, -90, 180, 90)
    found = find_stations(monaco_store, everywhere)
    assert len(found) > 5
    rows = monaco_store.rows_with_tag("amenity", "charging_station")
    assert len(found) <= len(rows)
    assert {one.osm_type for one in found} <= {"node", "way", "relation"}
    strong = find_stations(monaco_store, everywhere, least_kw=40)
    assert all(one.power_kw >= 40 for one in strong)
    assert len(strong) < len(found)
    assert find_stations(monaco_store, Bbox(0, 0, 1, 1)) == []
