from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mapyard.geo.sphere import DEGREE_M, haversine_m
from mapyard.results.output import Output
from mapyard.results.shaping import (
    buffer_geometries,
    find_boxes,
    find_centers,
    shape_geometries,
)


def array(*wkts: str | None) -> NDArray[np.object_]:
    return np.array([None if wkt is None else shapely.from_wkt(wkt) for wkt in wkts], np.object_)


@given(st.floats(-180, 180), st.floats(-89.5, 89.5), st.floats(1, 100_000))
def test_a_buffered_point_is_a_circle_on_the_sphere(lon: float, lat: float, radius: float) -> None:
    circle = buffer_geometries(array(f"POINT ({lon} {lat})"), radius)[0]
    distances = haversine_m(lon, lat, *shapely.get_coordinates(circle).T)
    # Where the circle is cut at the antimeridian or holds a pole, cut corners lie elsewhere.
    if circle.geom_type == "Polygon" and abs(lat) * DEGREE_M + radius < 90 * DEGREE_M:
        assert distances.min() > radius * 0.999 - 0.02
        assert distances.max() < radius * 1.001 + 0.02


def test_a_buffer_across_the_antimeridian_is_cut() -> None:
    wide = buffer_geometries(array("POINT (179.999 10)", "POINT (0 0)", None), 1000)
    assert wide[0].geom_type == "MultiPolygon"
    assert find_boxes(wide)[0, 0] > 179
    assert find_boxes(wide)[0, 2] < -179
    assert wide[1].geom_type == "Polygon"
    assert wide[2] is None


def test_the_halves_of_a_cut_geometry_are_widened_as_one() -> None:
    line = "MULTILINESTRING ((179.99 0,180 0),(-180 0,-179.99 0))"
    wide = buffer_geometries(array(line), 500)[0]
    assert len(wide.geoms) == 2
    whole = buffer_geometries(array("LINESTRING (-0.01 0,0.01 0)"), 500)[0]
    assert wide.area == pytest.approx(whole.area, rel=1e-6)


def test_centroid() -> None:
    shapes = shape_geometries(
        array("LINESTRING (0 60,2 60)", "POLYGON ((0 0,2 0,2 2,0 2,0 0))", None),
        Output(centroid=True),
    )
    assert shapely.get_coordinates(shapes[:2]).tolist() == [
        pytest.approx([1, 60]), pytest.approx([1, 1]),
    ]  # fmt: skip
    assert shapes[2] is None


def test_centroid_of_halves_across_the_antimeridian() -> None:
    (x, y), *_ = shapely.get_coordinates(
        shape_geometries(
            array(
                "MULTIPOLYGON (((179 0,180 0,180 1,179 1,179 0)),"
                "((-180 0,-177 0,-177 1,-180 1,-180 0)))"
            ),
            Output(centroid=True),
        )
    )
    assert (x, y) == (pytest.approx(-179), pytest.approx(0.5))


def test_simplify_in_meters() -> None:
    line = "LINESTRING (0 60,0.01 60.0001,0.02 60)"  # 11 m beside the straight line
    kept = shape_geometries(array(line), Output(simplify=5))[0]
    cut = shape_geometries(array(line), Output(simplify=20))[0]
    assert shapely.get_num_coordinates(kept) == 3
    assert shapely.get_num_coordinates(cut) == 2


def test_simplify_keeps_halves_on_their_sides() -> None:
    line = "MULTILINESTRING ((179 0,179.5 0.000001,180 0),(-180 0,-179 0))"
    simple = shape_geometries(array(line), Output(simplify=10))[0]
    expected = shapely.from_wkt("MULTILINESTRING ((179 0,180 0),(-180 0,-179 0))")
    assert shapely.equals_exact(simple, expected, tolerance=1e-9)


def test_centroid_then_buffer_is_a_circle() -> None:
    shape = shape_geometries(
        array("POLYGON ((0 0,1 0,1 1,0 1,0 0))"), Output(centroid=True, buffer=100)
    )[0]
    assert shapely.centroid(shape).distance(shapely.Point(0.5, 0.5)) < 1e-6


def test_boxes_and_centers() -> None:
    boxes = find_boxes(array("LINESTRING (1 2,3 5)", None, "MULTIPOINT (179 0,-179 1)"))
    assert boxes[0].tolist() == [1, 2, 3, 5]
    assert np.isnan(boxes[1]).all()
    assert boxes[2].tolist() == [179, 0, -179, 1]
    centers = find_centers(boxes)
    assert centers[0].tolist() == [2, 3.5]
    assert abs(centers[2, 0]) == 180
