from __future__ import annotations

import numpy as np
import shapely
from hypothesis import given
from hypothesis import strategies as st

from mapyard.osm.multipolygon import assemble

# A grid of nodes: node 10 * row + column lies at (column, row) degrees.
LON = np.array([i % 10 for i in range(100)]) * 10_000_000
LAT = np.array([i // 10 for i in range(100)]) * 10_000_000


def polygon(*ways: list[int]) -> shapely.Geometry | None:
    return assemble([np.array(way) for way in ways], LON, LAT).polygon


def reason(*ways: list[int]) -> str:
    return assemble([np.array(way) for way in ways], LON, LAT).reason


def box(first: int, size: int) -> list[int]:
    return [first, first + size, first + size * 11, first + size * 10, first]


def test_a_ring_out_of_two_ways_in_any_direction() -> None:
    result = polygon([0, 4, 44], [0, 40, 44])
    assert result.equals(shapely.box(0, 0, 4, 4))
    assert shapely.is_ccw(result.exterior)


def test_a_hole_whatever_the_roles_say() -> None:
    result = polygon(box(0, 5), box(11, 2))
    assert result.equals(shapely.box(0, 0, 5, 5) - shapely.box(1, 1, 3, 3))


def test_an_island_in_a_hole_is_an_outer_ring() -> None:
    result = polygon(box(0, 9), box(11, 7), box(33, 2))
    assert result.geom_type == "MultiPolygon"
    assert result.area == 81 - 49 + 4


def test_rings_that_touch_in_a_node() -> None:
    result = polygon(box(0, 4), box(44, 4))
    assert shapely.is_valid(result)
    assert result.area == 32


def test_a_hole_that_touches_the_outer_ring() -> None:
    result = polygon([0, 2, 4, 44, 40, 0], [2, 13, 22, 11, 2])
    assert shapely.is_valid(result)
    assert result.area == 16 - 2


def test_outer_rings_with_a_common_side_become_one() -> None:
    assert polygon(box(0, 2), box(2, 2)).equals(shapely.box(0, 0, 4, 2))


def test_a_way_that_is_a_member_twice_cancels_out() -> None:
    assert polygon(box(0, 4), box(11, 1), box(11, 1)).equals(shapely.box(0, 0, 4, 4))


def test_rings_closed_by_a_second_node_at_the_same_place() -> None:
    lon, lat = LON.copy(), LAT.copy()
    lon[99], lat[99] = lon[0], lat[0]
    result = assemble([np.array([0, 4, 44, 40, 99])], lon, lat).polygon
    assert result.equals(shapely.box(0, 0, 4, 4))


def test_what_cannot_be_assembled_says_why() -> None:
    assert reason([0, 4, 44]) == "no ring: fewer than three segments"
    assert reason([0, 4, 44, 40]) == "a ring is open"
    assert reason([0, 44, 4, 40, 0]) == "the rings enclose nothing"
    assert reason(box(0, 2), box(11, 2)) == "rings cross without a common node"
    assert reason(box(0, 4), box(0, 4)) == "no ring: fewer than three segments"


def test_a_polygon_across_the_antimeridian_is_cut_there() -> None:
    lon = np.array([1790000000, -1790000000, -1790000000, 1790000000])
    lat = np.array([0, 0, 10000000, 10000000])
    result = assemble([np.array([0, 1, 2, 3, 0])], lon, lat).polygon
    expected = shapely.MultiPolygon([shapely.box(179, 0, 180, 1), shapely.box(-180, 0, -179, 1)])
    assert result.equals(expected)


@given(st.permutations(range(8)), st.lists(st.booleans(), min_size=8, max_size=8))
def test_order_and_direction_of_ways_do_not_matter(order: list[int], flips: list[bool]) -> None:
    outer, hole = box(0, 5), box(11, 2)
    ways = [outer[i : i + 2] for i in range(4)] + [hole[i : i + 2] for i in range(4)]
    mixed = [ways[i][::-1] if flip else ways[i] for i, flip in zip(order, flips, strict=True)]
    assert polygon(*mixed).equals(shapely.box(0, 0, 5, 5) - shapely.box(1, 1, 3, 3))
