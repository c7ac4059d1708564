import json

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from mapyard.geo.geojson import dump_floats, write_geometries


def as_array(*geometries):
    array = np.empty(len(geometries), np.object_)
    array[:] = geometries
    return array


SQUARE = "(0 0,0 1,1 1,1 0,0 0)"


@pytest.mark.parametrize(
    "wkt",
    [
        "POINT (7.4 43.7)",
        "LINESTRING (0 0,1 1,2 0.5)",
        "POLYGON ((0 0,4 0,4 4,0 4,0 0),(1 1,1 2,2 2,2 1,1 1))",
        "MULTIPOINT (1 1,2 2)",
        "MULTILINESTRING ((0 0,1 1),(2 2,3 3,4 4))",
        f"MULTIPOLYGON ((({SQUARE[1:-1]})),((5 5,6 5,6 6,5 5)))",
        "GEOMETRYCOLLECTION (POINT (1 1),LINESTRING (0 0,1 1))",
    ],
)
def test_written_geometry_is_the_geometry(wkt):
    geometry = shapely.from_wkt(wkt)
    written = json.loads(write_geometries(as_array(geometry))[0])
    assert shapely.equals(shapely.geometry.shape(written), geometry)
    assert written["type"] == geometry.geom_type


def test_order_of_a_mixed_array_is_kept():
    wkts = ["POINT (1 2)", "LINESTRING (0 0,1 1)", "POINT (3 4)", f"POLYGON ({SQUARE})"]
    written = write_geometries(as_array(*shapely.from_wkt(wkts), None, shapely.Point(5, 6)))
    types = [json.loads(text) and json.loads(text)["type"] for text in written]
    assert types == ["Point", "LineString", "Point", "Polygon", None, "Point"]
    assert json.loads(written[5])["coordinates"] == [5, 6]


def test_nothing_and_empty():
    assert write_geometries(np.empty(0, np.object_)) == []
    assert json.loads(write_geometries(as_array(shapely.Point()))[0])["coordinates"] == []
    assert json.loads(write_geometries(as_array(shapely.Polygon()))[0])["coordinates"] == []


def test_outer_rings_are_counterclockwise_and_holes_clockwise():
    polygon = shapely.from_wkt(f"POLYGON ({SQUARE},(.2 .2,.4 .2,.4 .4,.2 .4,.2 .2))")
    outer, hole = json.loads(write_geometries(as_array(polygon))[0])["coordinates"]
    assert shapely.LinearRing(outer).is_ccw
    assert not shapely.LinearRing(hole).is_ccw


@given(
    st.lists(
        st.tuples(
            st.integers(-1_800_000_000, 1_800_000_000), st.integers(-900_000_000, 900_000_000)
        ),
        min_size=2,
        max_size=20,
    )
)
def test_stored_coordinates_are_written_exactly(units):
    line = shapely.LineString(np.array(units) / 1e7)
    text = write_geometries(as_array(line))[0]
    read = np.array(json.loads(text)["coordinates"])
    assert (np.rint(read * 1e7) == units).all()
    numbers = text.split(b":")[-1].translate(None, b"[]}").split(b",")
    decimals = [number.partition(b".")[2] for number in numbers if b"e" not in number]
    assert all(len(decimal) <= 7 for decimal in decimals)


def test_precision_rounds():
    written = write_geometries(as_array(shapely.Point(7.123456789, -0.00001)), precision=3)
    assert written == [b'{"type":"Point","coordinates":[7.123,0.0]}']


def test_dump_floats_keeps_the_shape():
    assert json.loads(dump_floats(np.array([[1.5, 2.0], [3.0, 4.25]]))) == [[1.5, 2], [3, 4.25]]
