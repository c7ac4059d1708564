"""Tiles of heights: what a reader of PNG gets back, places of pixels, gaps, and nothing."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest

from mapyard.elevation import open_elevation
from mapyard.elevation.rasters import Rasters
from mapyard.elevation.relief import (
    bridge_gaps,
    draw_relief,
    encode_terrarium,
    find_bounds,
    find_max_zoom,
)
from osm_files import EXAMPLES


@pytest.fixture(scope="module")
def rasters(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("elevation")
    (folder / "N43E007.hgt.zip").symlink_to(EXAMPLES / "N43E007.hgt.zip")
    opened = open_elevation(folder)
    yield opened
    opened.close()


def decode(data: bytes) -> Any:
    """Return the heights of a tile as its specification reads them."""
    from PIL import Image

    image = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(float)
    return image[:, :, 0] * 256 + image[:, :, 1] + image[:, :, 2] / 256 - 32_768


def test_heights_come_back_to_a_256th_of_a_meter() -> None:
    heights_m = np.random.default_rng(1).uniform(-430, 8_849, (256, 256))
    assert np.abs(decode(encode_terrarium(heights_m)) - heights_m).max() <= 0.5 / 256
    assert decode(encode_terrarium(np.array([[-40_000.0, 40_000.0]]))).tolist() == [
        [-32_768.0, 32_767.99609375]
    ]


def test_pixels_lie_where_web_maps_put_them(rasters: Rasters) -> None:
    z, x, y = 12, 2132, 1493
    heights_m = decode(draw_relief(rasters, z, x, y))
    for row, column in ((0, 0), (17, 200), (255, 255), (128, 3)):
        lon = (x + (column + 0.5) / 256) / 2**z * 360 - 180
        angle = math.pi * (1 - 2 * (y + (row + 0.5) / 256) / 2**z)
        lat = math.degrees(2 * math.atan(math.exp(angle)) - math.pi / 2)
        wanted, _, _ = rasters.sample(np.array([lon]), np.array([lat]))
        assert heights_m[row, column] == pytest.approx(wanted[0], abs=0.01)
    assert heights_m.max() > 500  # the hills behind Monaco


def test_neighbors_meet(rasters: Rasters) -> None:
    left, right = (decode(draw_relief(rasters, 12, x, 1493)) for x in (2131, 2132))
    steps = np.abs(left[:, -1] - right[:, 0])
    assert np.median(steps) < 15


def test_without_heights_there_is_no_tile(rasters: Rasters) -> None:
    assert draw_relief(rasters, 12, 100, 100) == b""
    west, south, east, north = find_bounds(rasters)
    assert (round(west), round(south), round(east), round(north)) == (7, 43, 8, 44)
    assert find_max_zoom(rasters) in (11, 12)


def test_gaps_are_bridged() -> None:
    nan = np.nan
    given = np.array([[nan, nan, nan], [1.0, nan, 3.0], [nan, nan, nan], [nan, 5.0, nan]])
    assert bridge_gaps(given).tolist() == [[1, 2, 3], [1, 2, 3], [1, 2, 3], [5, 5, 5]]


def test_a_gap_at_the_rim_of_the_raster_is_no_cliff(rasters: Rasters) -> None:
    _, south, _, _ = find_bounds(rasters)
    side = 2**10
    row = int((1 - math.asinh(math.tan(math.radians(south))) / math.pi) / 2 * side)
    heights_m = decode(draw_relief(rasters, 10, 532, row))
    assert np.abs(np.diff(heights_m, axis=0)).max() < 400
