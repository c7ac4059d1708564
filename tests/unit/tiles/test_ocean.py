from __future__ import annotations

import numpy as np
import shapely

from mapyard.tiles.ocean import find_water

BOX = shapely.box(0, 0, 100, 100)


def water(*lines: list[tuple[float, float]]) -> shapely.Geometry:
    """Water of coastlines drawn as on a screen: y points down, land lies to the left."""
    return find_water(np.array([shapely.LineString(line) for line in lines], np.object_), BOX)


def is_water(area: shapely.Geometry, x: float, y: float) -> bool:
    return bool(shapely.contains_xy(area, x, y))


def ring(x: float, y: float, size: float) -> list[tuple[float, float]]:
    """A coastline around land: counter-clockwise as seen on a screen."""
    return [(x, y), (x, y + size), (x + size, y + size), (x + size, y), (x, y)]


def test_an_island_lies_in_the_ocean() -> None:
    area = water(ring(40, 40, 20))
    assert is_water(area, 10, 10)
    assert not is_water(area, 50, 50)
    assert area.area == 10_000 - 400


def test_a_lagoon_is_water_again() -> None:
    area = water(ring(20, 20, 60), ring(40, 40, 20)[::-1])
    assert is_water(area, 10, 10)
    assert not is_water(area, 30, 30)
    assert is_water(area, 50, 50)


def test_a_coast_across_the_box() -> None:
    eastward = [(-10, 50), (50, 55), (110, 50)]  # north of it is left of it: land
    area = water(eastward)
    assert not is_water(area, 50, 10)
    assert is_water(area, 50, 90)
    assert not is_water(water(eastward[::-1]), 50, 90)


def test_a_coast_in_pieces_of_which_one_is_drawn_backwards() -> None:
    area = water(
        [(-10, 50), (30, 50)], [(30, 50), (60, 50)], [(65, 50), (60, 50)], [(65, 50), (110, 50)]
    )
    assert is_water(area, 50, 90)
    assert not is_water(area, 50, 10)


def test_ends_inside_the_box_are_led_on_to_its_edge() -> None:
    area = water([(8, 50), (50, 60), (93, 50)])
    assert is_water(area, 50, 90)
    assert not is_water(area, 50, 10)
    assert is_water(area, 2, 90)
    assert not is_water(area, 98, 10)


def test_a_gap_in_an_island_is_closed() -> None:
    coast = [(40, 40), (40, 60), (60, 60), (60, 41)]
    area = water(coast)
    assert is_water(area, 10, 10)
    assert not is_water(area, 50, 50)


def test_a_coast_outside_the_box_changes_nothing() -> None:
    area = water(ring(40, 40, 20), ring(300, 300, 50))
    assert area.area == 10_000 - 400
