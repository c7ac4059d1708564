"""Matching synthetic traces of known ways."""

import numpy as np
import pytest

from mapyard.errors import InvalidRequest, TooLarge, Unsupported
from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.routing import find_routes, match_trace
from mapyard.routing.edges import find_edges
from mapyard.routing.modes import MODES, TABLE_MODES

PAIR = np.array([(7.4281, 43.7392), (7.4156, 43.7277)])


@pytest.fixture(scope="module")
def path(engine):
    route = find_routes(engine, PAIR, "auto")[0]
    return find_edges(engine, route.positions, "auto")


def sample(path, spacing_m, noise_m=6.0, seed=1):
    rng = np.random.default_rng(seed)
    distances_m = np.arange(0.0, path.along_m[-1], spacing_m)
    trace = np.column_stack(
        [np.interp(distances_m, path.along_m, path.positions[:, axis]) for axis in (0, 1)]
    )
    noise = rng.normal(0.0, noise_m / DEGREE_M, trace.shape)
    noise[:, 0] /= np.cos(np.radians(trace[:, 1]))
    return trace + noise


def recall(path, match):
    ways = {edge.way_id for edge in path.edges}
    found = {way for matching in match.matchings for way in matching.way_ids}
    return len(ways & found) / len(ways)


@pytest.mark.parametrize("spacing_m", [5, 14, 70, 140])
def test_ways_are_found_again(engine, path, spacing_m):
    match = match_trace(engine, sample(path, spacing_m))
    assert recall(path, match) >= (0.95 if spacing_m < 100 else 0.85)
    assert match.confidence > (0.9 if spacing_m < 100 else 0.7)


def test_there_is_a_leg_between_each_two_points(engine, path):
    trace = sample(path, 50)
    match = match_trace(engine, trace)
    assert len(match.legs) == len(trace) - 1
    assert all(leg.matched for leg in match.legs)
    assert len(match.matchings) == 1
    total_m = sum(leg.distance_m for leg in match.legs)
    assert total_m == pytest.approx(match.distance_m, rel=0.02)
    assert sum(leg.duration_s for leg in match.legs) == pytest.approx(match.duration_s, rel=0.1)
    assert match.legs[10].way_ids


def test_a_gap_makes_two_matchings(engine, path, monkeypatch):
    from mapyard.routing.matching import match as module

    monkeypatch.setattr(module, "GAP_M", 300.0)
    trace = sample(path, 50)
    third = len(trace) // 3
    parts = np.concatenate([trace[:third], trace[third + 10 :]])
    match = match_trace(engine, parts)
    assert len(match.matchings) == 2
    assert not match.legs[third - 1].matched
    assert match.legs[third - 1].distance_m is None
    assert match.matching_of[0] == 0
    assert match.matching_of[-1] == 1


def test_outliers_lower_the_confidence(engine, path):
    trace = sample(path, 50)
    good = match_trace(engine, trace)
    trace[5:8, 1] -= 0.02  # out at sea
    bad = match_trace(engine, trace)
    assert (bad.matching_of[5:8] == -1).all()
    assert np.isnan(bad.positions[5:8]).all()
    assert not bad.legs[5].matched
    assert bad.confidence < good.confidence - 0.04


def test_confidence_tells_noise(engine, path):
    exact = match_trace(engine, sample(path, 50, noise_m=0.0)).confidence
    noisy = match_trace(engine, sample(path, 50, noise_m=12.0)).confidence
    assert 0.98 <= exact <= 1.0
    assert noisy < exact - 0.03


def test_there_and_back_again(engine, path):
    there = sample(path, 40)[:20]
    match = match_trace(engine, np.concatenate([there, there[::-1]]), "foot")
    assert match.distance_m == pytest.approx(2 * 19 * 40, rel=0.35)
    assert match.confidence > 0.6  # by car on the road, which walkers have pavements along


def test_thousands_of_points_stay_in_few_pieces(engine, path):
    trace = np.concatenate(
        [sample(path, 2, seed=seed)[:: 1 if seed % 2 else -1] for seed in (1, 2)]
    )
    assert len(trace) > 1000
    match = match_trace(engine, trace, "foot")
    assert len(match.matchings) <= 8
    assert (match.matching_of >= 0).mean() > 0.95


def test_standing_still_is_matched(engine, path):
    trace = np.repeat(sample(path, 50, noise_m=0.0)[10:11], 5, axis=0)
    match = match_trace(engine, trace)
    assert match.distance_m < 5
    assert all(leg.matched for leg in match.legs)


def test_radiuses_are_kept(engine, path):
    trace = sample(path, 50, noise_m=0.0)
    shifted = trace + np.array([0.0, 30 / DEGREE_M])
    wide = match_trace(engine, shifted, radiuses_m=np.full(len(trace), 60.0))
    away_m = wide.away_m[wide.matching_of >= 0]
    assert (away_m <= 60.5).all()
    matched = match_trace(engine, trace, radiuses_m=np.full(len(trace), 10.0))
    snapped = matched.positions[matched.matching_of >= 0]
    near = trace[matched.matching_of >= 0]
    assert (haversine_m(near[:, 0], near[:, 1], snapped[:, 0], snapped[:, 1]) <= 10.5).all()


def test_timestamps_do_not_break_a_good_trace(engine, path):
    trace = sample(path, 50)
    match = match_trace(engine, trace, timestamps_s=np.arange(len(trace)) * 6.0)
    assert recall(path, match) >= 0.8


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"radiuses_m": np.array([5.0])}, "radiuses"),
        ({"radiuses_m": np.array([5.0, 101.0])}, "radiuses"),
        ({"radiuses_m": np.array([5.0, 0.0])}, "radiuses"),
        ({"timestamps_s": np.array([1.0, 0.0])}, "timestamps"),
        ({"timestamps_s": np.array([1.0])}, "timestamps"),
    ],
)
def test_bad_options_are_named(engine, options, name):
    with pytest.raises(InvalidRequest, match=name):
        match_trace(engine, PAIR, **options)


def test_bad_traces_are_refused(engine):
    with pytest.raises(InvalidRequest, match="two points"):
        match_trace(engine, PAIR[:1])
    with pytest.raises(TooLarge):
        match_trace(engine, np.repeat(PAIR, 5001, axis=0))
    with pytest.raises(Unsupported, match="cannot be matched"):
        match_trace(engine, np.array([(7.5, 43.6), (7.5001, 43.6)]))
    with pytest.raises(InvalidRequest, match=r"trace\[1\]"):
        match_trace(engine, np.array([(7.42, 43.73), (np.inf, 43.6)]))


def test_footways_closer_than_the_noise_are_told_apart(engine, monkeypatch):
    from mapyard.routing.matching import match as module

    walks = []
    for ends in (PAIR[::-1], np.array([(7.4246, 43.7384), PAIR[1]])):
        walked = find_edges(engine, find_routes(engine, ends, "foot")[0].positions, "foot")
        walks += [(walked, sample(walked, 14, seed=seed)) for seed in range(4)]

    def find_mean():
        return np.mean([recall(walk, match_trace(engine, trace, "foot")) for walk, trace in walks])

    refined = find_mean()
    monkeypatch.setattr(module, "_REFINED", frozenset())
    assert refined >= 0.95
    assert refined > find_mean() + 0.02


def test_a_refined_match_is_whole(engine):
    route = find_routes(engine, PAIR, "foot")[0]
    trace = sample(find_edges(engine, route.positions, "foot"), 14)
    match = match_trace(engine, trace, "foot")
    assert len(match.matchings) == 1
    assert all(leg.matched for leg in match.legs)
    assert sum(leg.distance_m for leg in match.legs) == pytest.approx(match.distance_m, rel=0.02)
    away_m = haversine_m(*trace.T, *match.positions.T)
    assert match.away_m == pytest.approx(away_m, abs=0.1)
    on_line = match.matchings[0].positions
    gaps_m = [haversine_m(lon, lat, *on_line.T).min() for lon, lat in match.positions[:1]]
    assert max(gaps_m) < 1.0
    assert set(match.legs[20].way_ids) <= set(match.matchings[0].way_ids)


@pytest.mark.parametrize(("points_back", "least_m"), [(6, 480), (15, 600)])
def test_going_back_on_the_way_is_kept(engine, points_back, least_m):
    """The points are as near to the way without, which is shorter."""
    route = find_routes(engine, PAIR, "foot")[0]
    there = sample(find_edges(engine, route.positions, "foot"), 10, noise_m=2.0)[:40]
    turn = 39 - points_back
    trace = np.concatenate([there, there[: turn - 1 : -1], there[turn:]])
    assert match_trace(engine, trace, "foot").distance_m > least_m


@pytest.mark.parametrize("mode", TABLE_MODES)
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_noise_of_15_m_leaves_one_piece(engine, mode, seed):
    route = find_routes(engine, PAIR, mode)[0]
    line = route.positions
    steps_m = haversine_m(line[:-1, 0], line[:-1, 1], line[1:, 0], line[1:, 1])
    along_m = np.append(0.0, np.cumsum(steps_m))
    at_m = np.linspace(0, along_m[-1], int(route.distance_m / 11))
    trace = np.column_stack([np.interp(at_m, along_m, line[:, axis]) for axis in (0, 1)])
    noise_deg = np.random.default_rng(seed).normal(0, 15, trace.shape) / DEGREE_M
    match = match_trace(engine, trace + noise_deg / [np.cos(np.radians(43.7)), 1], mode)
    assert len(match.matchings) == 1
    assert match.distance_m == pytest.approx(route.distance_m, rel=0.2)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_is_matched(engine, mode):
    route = find_routes(engine, PAIR, mode)[0]
    trace = sample(find_edges(engine, route.positions, mode), 40)
    assert match_trace(engine, trace, mode).confidence > 0.5


def test_jumps_are_left_out_and_the_way_stays_whole(engine, path):
    trace = sample(path, 20)
    good = match_trace(engine, trace)
    trace[[8, 30]] += 600 / DEGREE_M
    match = match_trace(engine, trace)
    assert np.flatnonzero(match.is_jump).tolist() == [8, 30]
    assert (match.matching_of[[8, 30]] == -1).all()
    assert len(match.matchings) == 1
    assert match.distance_m == pytest.approx(good.distance_m, rel=0.02)
    assert [index for index, leg in enumerate(match.legs) if not leg.matched] == [7, 8, 29, 30]
    assert len(match.legs) == len(trace) - 1
    assert match.names[9] == good.names[9]
    assert match.confidence == pytest.approx(
        good.confidence * (len(trace) - 2) / len(trace), abs=0.05
    )


def test_points_that_are_less_exact_count_less(engine, path):
    trace = sample(path, 5, noise_m=2.0)
    bad = np.arange(len(trace)) % 2 == 1
    trace[bad, 1] += 60 / DEGREE_M  # to the same side all along, as reflections do
    accuracies = np.where(bad, 60.0, 3.0)
    told = match_trace(engine, trace, accuracies_m=accuracies)
    untold = match_trace(engine, trace)
    assert recall(path, told) > max(0.9, recall(path, untold))
    assert told.distance_m == pytest.approx(path.along_m[-1], rel=0.05)
    with pytest.raises(InvalidRequest, match="accuracies"):
        match_trace(engine, trace, accuracies_m=np.full(len(trace), -1.0))


def test_stays_are_found_with_times_only(engine, path):
    trace = sample(path, 20, noise_m=2.0)
    index = np.concatenate([np.arange(20), np.full(30, 20), np.arange(21, len(trace))])
    match = match_trace(engine, trace[index], timestamps_s=np.arange(len(index)) * 8.0)
    (stay,) = match.stays
    assert stay.begin <= 20
    assert stay.end >= 49
    assert match_trace(engine, trace[index]).stays == []
