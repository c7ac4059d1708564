"""Isochrones, matrices and tours of Monaco against routes."""

from itertools import pairwise, permutations

import numpy as np
import pytest
import shapely

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, Timeout, TooLarge
from mapyard.geo.sphere import DEGREE_M
from mapyard.routing import compute_matrix, find_isochrones, optimize_order
from mapyard.routing import matrix as matrix_module
from mapyard.routing.engine import NoRoad, NoRoute
from mapyard.routing.matrix import fill_unreachable, iter_matrix
from mapyard.routing.modes import TABLE_MODES
from mapyard.routing.snapping import find_roads

CASINO = (7.4281, 43.7392)
SEA = (7.45, 43.70)


@pytest.fixture(scope="module")
def places(engine):
    rng = np.random.default_rng(3)
    found = np.column_stack([rng.uniform(7.412, 7.432, 80), rng.uniform(43.727, 43.745, 80)])
    near = np.ones(len(found), bool)
    for mode in TABLE_MODES:
        for index, roads in enumerate(find_roads(engine, found, mode, 1000.0)):
            # On a road of the town's own network, with no other one to choose from.
            near[index] &= bool(roads) and roads[-1].distance_m < min(40, roads[0].distance_m + 1)
    return found[near][:12]


def test_a_matrix_of_one_place_is_zero(engine):
    matrix = compute_matrix(engine, np.array([CASINO]), np.array([CASINO]), "foot")
    assert matrix.distances_m.tolist() == [[0.0]]
    assert matrix.durations_s.tolist() == [[0.0]]


def test_positions_without_roads_are_counted_over_both_lists(engine):
    with pytest.raises(NoRoad) as caught:
        compute_matrix(engine, np.array([CASINO, CASINO]), np.array([CASINO, SEA]))
    assert caught.value.details["index"] == 3
    with pytest.raises(NoRoad) as caught:
        compute_matrix(engine, np.array([CASINO, SEA]), np.array([CASINO, SEA]))
    assert caught.value.details["index"] == 1
    with pytest.raises(NoRoad):
        compute_matrix(engine, np.array([SEA]), np.array([SEA]))


def test_too_many_pairs_are_refused_with_both_numbers(engine):
    many = np.repeat([CASINO], 101, axis=0)
    with pytest.raises(TooLarge) as caught:
        compute_matrix(engine, many, many[:100])
    assert caught.value.details == {"limit": 10_000, "count": 10_100}


def test_a_passed_deadline_ends_a_matrix(engine, places):
    with pytest.raises(Timeout):
        compute_matrix(engine, places, places, deadline=Deadline(-1.0))


def test_unreachable_cells_are_filled_as_the_crow_flies():
    from mapyard.routing.matrix import Matrix

    matrix = Matrix(np.array([[np.nan, 5.0]]), np.array([[np.nan, 1.0]]))
    filled = fill_unreachable(
        matrix, np.array([[0.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 2.0]]), 36.0
    )
    assert filled.distances_m[0, 0] == pytest.approx(DEGREE_M, abs=0.1)
    assert filled.durations_s[0, 0] == pytest.approx(DEGREE_M / 10, abs=0.1)
    assert filled.distances_m[0, 1] == 5.0


@pytest.mark.parametrize("mode", TABLE_MODES)
def test_areas_are_valid_and_nested(engine, mode):
    limits = [900.0, 60.0, 300.0, 150.5]
    found = find_isochrones(engine, *CASINO, limits, mode)
    assert [one.limit for one in found] == limits
    by_limit = sorted(found, key=lambda one: one.limit)
    for smaller, larger in pairwise(by_limit):
        assert smaller.geometry.is_valid
        assert larger.geometry.buffer(1e-9).covers(smaller.geometry)
        assert smaller.area_m2 <= larger.area_m2
    assert by_limit[0].area_m2 > 0


def test_inside_means_reachable_in_time(engine):
    (area,) = find_isochrones(engine, *CASINO, [300.0], "foot")
    rng = np.random.default_rng(4)
    west, south, east, north = area.geometry.buffer(0.004).bounds
    found = np.column_stack([rng.uniform(west, east, 500), rng.uniform(south, north, 500)])
    roads = find_roads(engine, found, "foot", 50.0)
    on_roads = np.array([(row[0].lon, row[0].lat) for row in roads if row])
    away_m = shapely.distance(area.geometry.boundary, shapely.points(on_roads)) * DEGREE_M * 0.7
    samples = on_roads[away_m > 120.0][:100]
    assert len(samples) > 40
    times_s = compute_matrix(engine, np.array([CASINO]), samples, "foot").durations_s[0]
    inside = shapely.contains_xy(area.geometry, samples[:, 0], samples[:, 1])
    assert np.mean(inside == (times_s <= 300)) >= 0.95


@pytest.mark.parametrize("limit", [1.0, 1.5, 3.0, 7200.0])
def test_extreme_times_have_areas(engine, limit):
    (area,) = find_isochrones(engine, *CASINO, [limit], "auto")
    assert area.geometry.is_valid
    assert not area.geometry.is_empty


def test_distances_limit_areas_too(engine):
    near, far = find_isochrones(engine, *CASINO, [200.0, 800.0], "foot", metric="distance")
    assert 0 < near.area_m2 < far.area_m2 < np.pi * 900**2


@pytest.mark.parametrize("limits", [[], [0.0], [7201.0], [-5.0], [float("nan")]])
def test_bad_limits_are_refused(engine, limits):
    with pytest.raises(InvalidRequest):
        find_isochrones(engine, *CASINO, limits)


def test_too_many_limits_are_refused(engine):
    with pytest.raises(TooLarge):
        find_isochrones(engine, *CASINO, list(range(60, 720, 60)))


def test_no_area_without_a_road(engine):
    with pytest.raises(NoRoad):
        find_isochrones(engine, *SEA, [300.0])


def test_a_round_trip_is_no_longer_than_any_other_order(engine, places):

    stops = places[:5]
    tour = optimize_order(engine, stops, "foot")
    matrix = compute_matrix(engine, stops, stops, "foot").durations_s
    best = min(
        sum(matrix[a, b] for a, b in zip((0, *rest), (*rest, 0), strict=True))
        for rest in permutations(range(1, 5))
    )
    assert tour.order[0] == 0
    assert sorted(tour.order.tolist()) == list(range(5))
    assert tour.duration_s == pytest.approx(best)


def test_fixed_and_open_ends(engine, places):
    stops = places[:6]
    fixed = optimize_order(engine, stops, "foot", roundtrip=False, first=2, last=4)
    assert fixed.order[0] == 2
    assert fixed.order[-1] == 4
    assert fixed.return_duration_s == 0.0
    open_ends = optimize_order(engine, stops, "foot", roundtrip=False, first=None, last=None)
    assert sorted(open_ends.order.tolist()) == list(range(6))
    assert open_ends.duration_s <= fixed.duration_s
    only_last = optimize_order(engine, stops, "foot", roundtrip=False, first=None, last=3)
    assert only_last.order[-1] == 3
    two = optimize_order(engine, stops[:2], "foot", roundtrip=False, first=1, last=0)
    assert two.order.tolist() == [1, 0]


def test_figures_of_a_tour_are_its_parts(engine, places):
    tour = optimize_order(engine, places[:4], "foot")
    assert tour.durations_s[0] == 0.0
    assert tour.distance_m == pytest.approx(tour.distances_m.sum() + tour.return_distance_m)


def test_bad_tours_are_refused(engine, places):
    with pytest.raises(InvalidRequest, match="2 positions"):
        optimize_order(engine, places[:1])
    with pytest.raises(TooLarge):
        optimize_order(engine, np.repeat(places[:1], 101, axis=0))
    with pytest.raises(InvalidRequest, match="not an index"):
        optimize_order(engine, places[:3], roundtrip=False, first=7)
    with pytest.raises(InvalidRequest, match="round trip"):
        optimize_order(engine, places[:3], roundtrip=False, first=1, last=1)


def test_unreachable_stops_are_named(monkeypatch, engine, places):
    from mapyard.routing.matrix import Matrix
    from mapyard.routing.tours import order as optimize

    durations = np.full((4, 4), 60.0)
    np.fill_diagonal(durations, 0.0)
    durations[:3, 3] = durations[3, :3] = np.nan
    monkeypatch.setattr(
        optimize, "compute_matrix", lambda *a, **k: Matrix(durations * 10, durations)
    )
    with pytest.raises(NoRoute) as caught:
        optimize.optimize_order(engine, places[:4])
    assert [row["index"] for row in caught.value.details["unreachable"]] == [3]


@pytest.mark.parametrize("mode", ["auto", "foot", "wheelchair"])
def test_blocks_of_rows_are_the_whole(engine, monkeypatch, mode):
    """From the arrays and from the engine; with places on islands, whose cells are asked twice."""
    rng = np.random.default_rng(12)
    places = np.column_stack([rng.uniform(7.414, 7.431, 24), rng.uniform(43.729, 43.743, 24)])
    whole = compute_matrix(engine, places[:13], places[13:], mode, radius_m=5_000)
    monkeypatch.setattr(matrix_module, "CELLS_AT_ONCE", 40)
    blocks = list(iter_matrix(engine, places[:13], places[13:], mode, radius_m=5_000))
    assert [len(block.durations_s) for block in blocks] == [3, 3, 3, 3, 1]
    again = compute_matrix(engine, places[:13], places[13:], mode, radius_m=5_000)
    for name in ("durations_s", "distances_m"):
        assert np.array_equal(getattr(whole, name), getattr(again, name), equal_nan=True)
    sea = np.concatenate([places[:12], [[7.46, 43.60]]])
    with pytest.raises(NoRoad) as caught:
        iter_matrix(engine, sea, places[13:], mode)  # before any block is asked for
    assert caught.value.details["index"] == 12
