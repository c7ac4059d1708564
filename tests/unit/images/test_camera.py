"""Views that show points whole: checked by projecting the points back into the picture."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mapyard.images.camera import Camera, fit


def place(camera: Camera, lon: float, lat: float, width: int, height: int) -> tuple[float, float]:
    """Return the pixel of a position, by the definition of Web Mercator (512 px at zoom 0)."""
    world = 512 * 2**camera.zoom

    def mercator(lon: float, lat: float) -> tuple[float, float]:
        y = math.log(math.tan(math.pi / 4 + math.radians(lat) / 2)) / (2 * math.pi)
        return lon / 360 * world, -y * world

    x, y = mercator(lon, lat)
    middle_x, middle_y = mercator(camera.lon, camera.lat)
    x_px = (x - middle_x + world / 2) % world - world / 2
    return x_px + width / 2, y - middle_y + height / 2


@pytest.mark.parametrize(
    "box",
    [(7.40, 43.72, 7.44, 43.75), (-3.0, 50.0, -2.0, 59.0), (5.0, -10.0, 60.0, 70.0),
     (178.0, -20.0, -178.0, -15.0)],
)  # fmt: skip
def test_a_box_touches_its_padding_on_two_sides(box: tuple[float, ...]) -> None:
    west, south, east, north = box
    camera = fit(np.array([[west, south], [east, north]]), 800, 500, 40)
    left, bottom = place(camera, west, south, 800, 500)
    right, top = place(camera, east, north, 800, 500)
    gaps = [left, 800 - right, top, 500 - bottom]
    assert min(gaps) == pytest.approx(40, abs=0.01)
    assert gaps[0] == pytest.approx(gaps[1], abs=0.01)
    assert gaps[2] == pytest.approx(gaps[3], abs=0.01)
    assert sum(gap == pytest.approx(40, abs=0.01) for gap in gaps) == 2


def test_one_point_is_shown_from_a_readable_height() -> None:
    camera = fit(np.array([[7.42, 43.73]] * 2), 300, 300, 40)
    assert camera == pytest.approx((7.42, 43.73, 16))


def test_the_poles_are_where_the_projection_ends() -> None:
    camera = fit(np.array([[0.0, -90.0], [0.0, 90.0]]), 512, 512, 0)
    assert camera.zoom == pytest.approx(0, abs=1e-3)
    assert camera.lat == pytest.approx(0, abs=1e-9)
