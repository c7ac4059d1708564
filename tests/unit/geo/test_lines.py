"""Bearings along lines, and coarser lines."""

from __future__ import annotations

import numpy as np
import pytest

from mapyard.geo.lines import find_bearings, thin


def test_bearings_are_those_of_the_steps_around():
    # North, east, then two positions that are one, then south.
    line = np.array([(0, 0), (0, 1), (1, 1), (1, 1), (1, 0)], np.float64)
    assert find_bearings(line, range(5)) == [(0, 0), (0, 90), (90, 180), (90, 180), (180, 0)]


def test_bearings_mind_that_degrees_are_narrow_in_the_north():
    line = np.array([(0, 60), (0.02, 60.01)], np.float64)
    ((_, leaves), _) = find_bearings(line, (0, 1))
    assert leaves == 45


def test_a_thin_line_keeps_what_it_is_told_to():
    lon = np.linspace(0, 1, 101)
    line = np.column_stack([lon, np.zeros(101)])
    coarse, places = thin(line, [0, 37, 37, 100])
    assert places == [0, 1, 1, 2]
    assert coarse.tolist() == [[0, 0], [pytest.approx(0.37), 0], [1, 0]]


def test_a_thin_line_keeps_its_bends_and_heights():
    line = np.array([(0, 0, 5), (0.5, 0.0001, 6), (1, 0, 7), (1, 1, 8)], np.float64)
    coarse, places = thin(line, [0, 3])
    assert coarse.tolist() == [[0, 0, 5], [1, 0, 7], [1, 1, 8]]
    assert places == [0, 2]


def test_a_line_of_one_place_stays():
    line = np.array([(1.0, 2.0)])
    assert thin(line, [0])[1] == [0]
