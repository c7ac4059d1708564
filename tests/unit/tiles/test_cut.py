from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.store.columns import offsets_of
from mapyard.tiles.cut import cut, repair
from mapyard.tiles.mercator import TileId
from mapyard.tiles.shapes import (
    LINE,
    POINT,
    POLYGON,
    Shapes,
    drop_repeats,
    from_geometries,
    points,
    ring_areas,
    to_geometries,
)

CORNER = TileId(14, 0, 0)
_NUMBER = st.integers(-900, 9000)


def shapes_of(*wkts: str, kind: int = POLYGON) -> Shapes:
    shapes, source = from_geometries(shapely.from_wkt(list(wkts)), kind)
    assert len(source) == len(wkts)
    return shapes


def geometries(shapes: Shapes, kind: int = POLYGON) -> list[shapely.Geometry]:
    return list(to_geometries(shapes, kind))


def test_polygons_survive_packing() -> None:
    wkt = "POLYGON ((0 0, 100 0, 100 100, 0 100, 0 0), (10 10, 20 10, 20 20, 10 20, 10 10))"
    two = "MULTIPOLYGON (((0 0, 9 0, 9 9, 0 0)), ((20 20, 30 20, 30 30, 20 20)))"
    shapes = shapes_of(wkt, two)
    assert (ring_areas(shapes.xy, shapes.rings) > 0).tolist() == [True, False, True, True]
    for made, expected in zip(geometries(shapes), shapely.from_wkt([wkt, two]), strict=True):
        assert shapely.equals(made, expected)


def test_repeated_collinear_and_folded_vertices_go() -> None:
    xy = [(0, 0), (5, 0), (10, 0), (10, 0), (10, 10), (10, 15), (10, 10), (0, 10), (0, 10)]
    shapes = Shapes(np.array(xy, np.int64), offsets_of(np.array([9])), offsets_of(np.array([1])))
    clean, source = drop_repeats(shapes, POLYGON)
    assert clean.xy.tolist() == [[0, 0], [10, 0], [10, 10], [0, 10]]
    assert source.tolist() == [0]
    flat = Shapes(np.array([(0, 0), (5, 5), (9, 9)]), offsets_of(np.array([3])), offsets_of([1]))
    assert len(drop_repeats(flat, POLYGON)[0]) == 0


def test_lines_are_cut_at_the_buffer_and_others_left_alone() -> None:
    shapes = shapes_of(
        "LINESTRING (10 10, 20 20)", "LINESTRING (100 100, 9000 100)",
        "LINESTRING (8000 8000, 9000 9000)",
        "LINESTRING (4000 50, 4500 50, 4500 90, 4000 90)", kind=LINE,
    )  # fmt: skip
    made, source = cut(shapes, LINE, CORNER)
    assert source.tolist() == [0, 1, 3]
    assert made.take(np.array([1])).xy.tolist() == [[100, 100], [4160, 100]]
    assert np.diff(made.features).tolist() == [1, 1, 2]


def test_points_outside_the_buffer_go() -> None:
    made, source = cut(points(np.array([[0, 0], [4160, 0], [4161, 0]])), POINT, CORNER)
    assert source.tolist() == [0, 1]
    assert made.xy.tolist() == [[0, 0], [4160, 0]]


def test_nothing_is_lost_at_zoom_14_and_specks_go_below() -> None:
    shapes = shapes_of(
        "POLYGON ((0 0, 1 0, 1 1, 0 0))", "POLYGON ((0 0, 900 0, 900 900, 0 900, 0 0))"
    )
    assert cut(shapes, POLYGON, CORNER)[1].tolist() == [0, 1]
    assert cut(shapes, POLYGON, TileId(12, 0, 0))[1].tolist() == [1]


def test_touching_lines_of_a_group_are_joined_below_zoom_14() -> None:
    shapes = shapes_of(
        "LINESTRING (0 0, 400 0)", "LINESTRING (0 800, 400 800)", "LINESTRING (400 0, 800 80)",
        kind=LINE,
    )  # fmt: skip
    groups = np.array([7, 9, 7])
    made, source = cut(shapes, LINE, TileId(13, 0, 0), groups)
    assert source.tolist() == [0, 1]
    assert made.take(np.array([0])).xy.tolist() == [[0, 0], [200, 0], [400, 40]]
    _, source = cut(shapes, LINE, CORNER, None)
    assert source.tolist() == [0, 1, 2]


def test_pieces_are_dissolved() -> None:
    shapes = shapes_of(
        "POLYGON ((0 0, 100 0, 100 100, 0 100, 0 0))",
        "POLYGON ((100 0, 200 0, 200 100, 100 100, 100 0))",
    )
    made, source = cut(shapes, POLYGON, CORNER, dissolve=True)
    assert source.tolist() == [0]
    assert geometries(made)[0].area == 20_000
    assert len(geometries(made)[0].geoms) == 1


def test_a_bow_tie_is_repaired() -> None:
    xy = np.array([(0, 0), (100, 100), (100, 0), (0, 101)], np.int64)
    broken = Shapes(xy, offsets_of(np.array([4])), offsets_of(np.array([1])))
    assert not geometries(broken)[0].is_valid
    fixed, source = repair(broken, np.array([True]))
    assert source.tolist() == [0]
    made = geometries(fixed)[0]
    assert made.is_valid
    assert made.area == pytest.approx(5000, abs=120)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(_NUMBER, _NUMBER), min_size=3, max_size=9), min_size=1, max_size=6),
    st.sampled_from([TileId(14, 0, 0), TileId(14, 1, 1), TileId(13, 0, 0), TileId(10, 0, 0)]),
)  # fmt: skip
def test_whatever_goes_in_valid_polygons_come_out(
    rings: list[list[tuple[int, int]]], tile: TileId
) -> None:
    made = shapely.make_valid([shapely.Polygon(ring) for ring in rings], method="structure")
    shapes, _ = from_geometries(np.array(made, np.object_), POLYGON)
    if not len(shapes):
        return
    shapes, _ = repair(*_cleaned(shapes))
    result, source = cut(shapes, POLYGON, tile)
    assert (np.diff(source) > 0).all()
    assert ((result.xy >= -64) & (result.xy <= 4160)).all()
    for geometry in geometries(result):
        assert geometry.is_valid, shapely.is_valid_reason(geometry)
        assert geometry.area > 0


def _cleaned(shapes: Shapes) -> tuple[Shapes, np.ndarray]:
    clean, _ = drop_repeats(shapes, POLYGON)
    return clean, np.ones(len(clean), np.bool_)
