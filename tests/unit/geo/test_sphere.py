"""Distances of single pairs and of arrays are the same."""

import numpy as np
import pytest

from mapyard.geo.sphere import DEGREE_M, distance_m, haversine_m


def test_a_degree_of_latitude():
    assert distance_m(9.5, 47.0, 9.5, 48.0) == pytest.approx(DEGREE_M, rel=1e-12)


def test_one_pair_is_as_far_apart_as_in_arrays():
    rng = np.random.default_rng(1)
    lon = rng.uniform(-180, 180, (2, 200))
    lat = rng.uniform(-90, 90, (2, 200))
    arrays = haversine_m(lon[0], lat[0], lon[1], lat[1])
    single = [distance_m(*pair) for pair in np.stack([lon[0], lat[0], lon[1], lat[1]], axis=1)]
    np.testing.assert_allclose(single, arrays, rtol=1e-9)


@pytest.mark.parametrize("pair", [(7.0, 43.0, 7.0, 43.0), (0.0, 90.0, 120.0, 90.0)])
def test_the_same_place_is_no_distance(pair):
    assert distance_m(*pair) == pytest.approx(0.0, abs=1e-6)


def test_opposite_places_are_half_the_globe_apart():
    assert distance_m(0.0, 0.0, 180.0, 0.0) == pytest.approx(180 * DEGREE_M, rel=1e-9)
    assert distance_m(10.0, 35.0, -170.0, -35.0) == pytest.approx(180 * DEGREE_M, rel=1e-6)
