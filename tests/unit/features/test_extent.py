from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mapyard.features.extent import find_core
from mapyard.store.reader import Store
from mapyard.store.rtree import Rtree, write_rtree


class Scattered:
    """A store of points."""

    def __init__(self, folder: Path, lon: np.ndarray, lat: np.ndarray) -> None:
        boxes = np.column_stack([lon, lat]) * 1e7
        write_rtree(folder, "t", np.arange(len(lon), dtype=np.uint32), boxes.astype(np.int32))
        self.feature_rtree = Rtree(folder, "t")


Scatter = Callable[..., Store]


@pytest.fixture
def scatter(tmp_path: Path) -> Scatter:
    return lambda lon, lat: Scattered(tmp_path, np.asarray(lon), np.asarray(lat))  # type: ignore[return-value]


def test_islets_far_from_everything_are_left_out(scatter: Scatter) -> None:
    chance = np.random.default_rng(1)
    lon = np.r_[chance.uniform(7.0, 7.1, 5_000), 3.0, 9.9]
    lat = np.r_[chance.uniform(43.0, 43.1, 5_000), 40.0, 48.0]
    west, south, east, north = find_core(scatter(lon, lat), [3.0, 40.0, 9.9, 48.0])
    assert 6.99 < west < 7.01
    assert 7.09 < east < 7.11
    assert 42.99 < south < 43.01
    assert 43.09 < north < 43.11


def test_the_box_of_the_data_is_never_left(scatter: Scatter) -> None:
    lon = np.linspace(7.0, 7.1, 100)
    assert find_core(scatter(lon, lon + 36), [7.0, 43.0, 7.1, 43.1]) == pytest.approx(
        [7.0, 43.0, 7.1, 43.1], abs=0.002
    )


def test_across_the_antimeridian(scatter: Scatter) -> None:
    lon = np.r_[np.linspace(179.5, 179.99, 500), np.linspace(-179.99, -179.5, 500)]
    west, _, east, _ = find_core(scatter(lon, np.linspace(-17, -16, 1_000)), [179, -18, -179, -15])
    assert west == pytest.approx(179.47, abs=0.05)
    assert east == pytest.approx(-179.47, abs=0.05)


def test_nothing_gives_the_box_back(scatter: Scatter) -> None:
    assert find_core(scatter(np.empty(0), np.empty(0)), [1, 2, 3, 4]) == [1, 2, 3, 4]


def test_monaco_s_first_view_is_the_town_and_not_the_sea(monaco_store: Store) -> None:
    west, south, east, north = find_core(monaco_store, [7.36, 43.50, 7.60, 43.77])
    assert 7.39 < west < 7.42 < 7.43 < east < 7.45
    assert 43.71 < south < 43.73 < 43.74 < north < 43.77
