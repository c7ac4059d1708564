"""Jumps and stays of traces, without any map."""

from __future__ import annotations

import numpy as np
import pytest

from mapyard.geo.sphere import DEGREE_M
from mapyard.routing.matching.doubt import find_headings, measure_straightness, measure_wholeness
from mapyard.routing.matching.traces import find_jumps, find_stays

EAST = 1 / DEGREE_M  # a meter at the equator, where these traces lie


def walk(count=40, step_m=10.0):
    """Return a trace eastward along the equator."""
    return np.column_stack([np.arange(count) * step_m * EAST, np.zeros(count)])


def jumps(trace, timestamps=None, mode="auto", radius_m=50.0):
    times = None if timestamps is None else np.asarray(timestamps, np.float64)
    found = find_jumps(trace, np.full(len(trace), radius_m), times, mode)
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize("points", [[7], [7, 8], [20, 21, 22], [5, 12, 30]])
def test_points_that_lead_away_and_back_are_jumps(points):
    trace = walk()
    trace[points, 1] += 400 * EAST
    assert jumps(trace) == points


def test_a_way_there_and_back_is_none():
    there = walk(20)
    assert jumps(np.concatenate([there, there[::-1]])) == []
    trace = walk()
    trace[20:24, 1] += np.array([100, 200, 200, 100]) * EAST  # four points, at twice the pace
    assert jumps(trace) == []


def test_sparse_traces_go_far_between_two_points():
    trace = walk(10, step_m=400)
    trace[5, 1] += 700 * EAST
    assert jumps(trace) == []


def test_noise_is_no_jump():
    rng = np.random.default_rng(3)
    assert jumps(walk(300) + rng.normal(0, 15 * EAST, (300, 2))) == []


def test_nobody_walks_so_fast():
    trace = walk(40, step_m=1.4)
    trace[9, 1] += 70 * EAST
    assert jumps(trace, mode="foot") == []  # without times it may have been a bicycle
    assert jumps(trace, timestamps=np.arange(40), mode="foot") == [9]
    assert jumps(trace, timestamps=np.arange(40) * 10, mode="foot") == []
    assert jumps(trace, timestamps=np.arange(40), mode="auto") == []


def test_two_points_have_no_jump():
    assert jumps(walk(2, step_m=5000)) == []


def test_a_stay_is_named_with_its_points():
    trace = np.concatenate([walk(20), np.repeat(walk(20)[-1:], 10, axis=0), walk(40)[20:]])
    trace[20:30] += np.random.default_rng(0).normal(0, 4 * EAST, (10, 2))
    times = np.arange(50) * 10.0
    times[30:] += 60
    (stay,) = find_stays(trace, times)
    # The slow approach within the radius belongs to it.
    assert 16 <= stay.begin <= 19
    assert 29 <= stay.end <= 32
    assert stay.duration_s == times[stay.end] - times[stay.begin]
    assert stay.lon == pytest.approx(trace[20:30, 0].mean(), abs=15 * EAST)
    assert find_stays(trace, times, least_s=1_000) == []
    assert find_stays(walk(), np.arange(40.0)) == []


def test_detours_and_breaks_make_doubtful():
    crow_m = np.full(10, 100.0)
    assert measure_straightness(crow_m * 1.3, crow_m) == 1.0
    long_m = crow_m.copy()
    long_m[4] = 1_000.0
    assert measure_straightness(long_m, crow_m) == pytest.approx(1 - 810 / 1_900)
    assert measure_wholeness(1) == 1.0
    assert measure_wholeness(4) < measure_wholeness(2) < 1.0


def test_headings_are_those_of_the_line():
    line = np.array([[0.0, 0.0], [0.0, 0.01], [0.01, 0.01]])
    places = np.array([[0.0001, 0.004], [0.006, 0.0101]])
    assert find_headings(line, places) == pytest.approx([0, 90], abs=1)
