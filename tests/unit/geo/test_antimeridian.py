import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from mapyard.geo.antimeridian import crosses_antimeridian, cut_antimeridian


def cut(wkt):
    array = np.array([shapely.from_wkt(wkt)], np.object_)
    return cut_antimeridian(array)[0]


def wrap(lon):
    return (lon + 180.0) % 360.0 - 180.0


@pytest.mark.parametrize(
    ("wkt", "expected"),
    [
        ("LINESTRING (170 0,-170 10)", "MULTILINESTRING ((170 0,180 5),(-180 5,-170 10))"),
        ("LINESTRING (-170 10,170 0)", "MULTILINESTRING ((-170 10,-180 5),(180 5,170 0))"),
        (
            "LINESTRING (179 0,-179 0,-179 1,179 1)",
            "MULTILINESTRING ((179 0,180 0),(-180 0,-179 0,-179 1,-180 1),(180 1,179 1))",
        ),
        # A position on the antimeridian itself leaves no part without length.
        ("LINESTRING (180 0,-179 0)", "MULTILINESTRING ((-180 0,-179 0))"),
    ],
)
def test_lines_are_cut(wkt, expected):
    assert shapely.equals_exact(cut(wkt), shapely.from_wkt(expected), tolerance=1e-12)


@pytest.mark.parametrize(
    "wkt",
    ["POINT (180 5)", "LINESTRING (-180 -60,180 -60)", "POLYGON ((-170 0,-80 0,0 1,100 0,-170 0))"],
)
def test_what_does_not_cross_is_left_alone(wkt):
    geometry = shapely.from_wkt(wkt)
    assert cut(wkt) == geometry or "POLYGON" in wkt


def test_an_array_without_crossings_is_returned_itself():
    array = np.array([shapely.Point(0, 0), None, shapely.LineString([(0, 0), (1, 1)])], np.object_)
    assert cut_antimeridian(array) is array


def test_a_polygon_with_a_hole_across_is_cut_into_halves():
    result = cut(
        "POLYGON ((178 -2,-178 -2,-178 2,178 2,178 -2),(179 -1,179 1,-179 1,-179 -1,179 -1))"
    )
    assert result.geom_type == "MultiPolygon"
    assert result.is_valid
    assert result.area == pytest.approx(4 * 4 - 2 * 2)
    assert shapely.bounds(result).tolist() == [-180, -2, 180, 2]
    assert not shapely.contains_xy(result, 179.5, 0)
    assert shapely.contains_xy(result, -178.5, 0)


def test_a_hole_on_one_side_stays_on_its_side():
    result = cut("POLYGON ((178 -2,-178 -2,-178 2,178 2,178 -2),(-179 0,-179 1,-178.5 1,-179 0))")
    assert result.area == pytest.approx(16 - 0.25)
    assert not shapely.contains_xy(result, -178.9, 0.6)


def test_a_ring_around_the_pole_reaches_it():
    result = cut("POLYGON ((0 -70,-90 -70,-179 -70,90 -70,0 -70))")
    assert shapely.contains_xy(result, 10, -89)
    assert not shapely.contains_xy(result, 10, -60)


def test_multi_geometries_are_cut_part_by_part():
    result = cut("MULTILINESTRING ((0 0,1 1),(179 0,-179 0))")
    assert len(result.geoms) == 3


@given(
    st.floats(175, 185),
    st.lists(st.tuples(st.floats(-4, 4), st.floats(-4, 4)), min_size=2, max_size=12),
)
def test_cut_lines_keep_their_length_and_never_step_across(start, offsets):
    free = np.array([(start + x, y) for x, y in offsets])
    wrapped = np.column_stack([wrap(free[:, 0]), free[:, 1]])
    line = shapely.LineString(wrapped)
    result = cut_antimeridian(np.array([line], np.object_))
    assert not crosses_antimeridian(result).any()
    assert shapely.length(result[0]) == pytest.approx(shapely.LineString(free).length, abs=1e-6)


@given(
    st.floats(176, 184), st.floats(-60, 60), st.floats(0.5, 3), st.integers(3, 12), st.booleans()
)
def test_cut_polygons_keep_their_area(lon, lat, radius, corners, reverse):
    angles = np.linspace(0, 2 * np.pi, corners, endpoint=False)[:: -1 if reverse else 1]
    free = np.column_stack([lon + radius * np.cos(angles), lat + radius * np.sin(angles)])
    polygon = shapely.Polygon(np.column_stack([wrap(free[:, 0]), free[:, 1]]))
    result = cut_antimeridian(np.array([polygon], np.object_))[0]
    assert result.area == pytest.approx(shapely.Polygon(free).area, rel=1e-9)
    assert result.is_valid
