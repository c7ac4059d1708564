from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.geo.bbox import Bbox
from mapyard.params.positions import (
    Position,
    Problem,
    TooMany,
    read_bbox,
    read_geometry,
    read_position,
    read_positions,
)

LON = st.floats(-180, 180)
LAT = st.floats(-90, 90)
POINTS = st.lists(st.tuples(LON, LAT), max_size=8)


def spellings(lon: float, lat: float) -> list[Any]:
    point = {"type": "Point", "coordinates": [lon, lat]}
    return [
        point,
        {"type": "Point", "coordinates": [lon, lat, 12.5]},
        {"type": "Feature", "properties": {}, "geometry": point},
        {"lat": lat, "lng": lon},
        {"lat": repr(lat), "lon": lon},
        [lon, lat],
        f"{lat!r},{lon!r}",
        f" {lat!r} , {lon!r} ",
        json.dumps(point),
        json.dumps([lon, lat]),
    ]


@given(LON, LAT)
def test_every_spelling_of_a_position(lon: float, lat: float) -> None:
    for value in spellings(lon, lat):
        assert read_position(value) == Position(lon, lat)


@given(POINTS)
def test_every_spelling_of_positions(points: list[tuple[float, float]]) -> None:
    pairs = [list(point) for point in points]
    values: list[Any] = [
        {"type": "MultiPoint", "coordinates": pairs},
        {"type": "LineString", "coordinates": pairs},
        json.dumps({"type": "MultiPoint", "coordinates": pairs}),
        pairs,
        [spellings(*point)[i % 10] for i, point in enumerate(points)],
    ]
    if points:
        values.append("|".join(f"{lat!r},{lon!r}" for lon, lat in points))
        values.append(";".join(f"{lat!r},{lon!r}" for lon, lat in points))
    for value in values:
        read = read_positions(value)
        assert read.lonlat.shape == (len(points), 2)
        assert read.lonlat.tolist() == pairs


def test_kinds_and_order() -> None:
    assert read_positions({"type": "LineString", "coordinates": [[1, 2]]}).kind == "LineString"
    assert read_positions({"lat": 1, "lng": 2}).kind == "Point"
    assert read_positions([7, 43]).lonlat.tolist() == [[7, 43]]
    assert read_positions("7,43|8,44", lng_first=True).lonlat.tolist() == [[7, 43], [8, 44]]
    assert read_positions("43,7|44,8").lonlat.tolist() == [[7, 43], [8, 44]]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([[1, 2], [3, 91]], "point 1 (counted from 0): latitude 91"),
        ([[1, 2], [3, 4], [181, 4]], "point 2 (counted from 0): longitude 181"),
        ([[1, 2], {"lat": 1}], "point 1"),
        ([[1, 2], [None, 4]], "point 1"),
        ([[1, 2], [True, 4]], "point 1"),
        ([[1, 2], [float("nan"), 4]], "point 1"),
        ([[1, 2], [float("inf"), 4]], "point 1"),
        ([[1, 2], [10**400, 4]], "point 1"),
        ({"type": "Polygon", "coordinates": []}, "Polygon"),
        ("1,2|x", "two numbers"),
        (5, "got '5'"),
        ("{", "not valid JSON"),
    ],
)
def test_bad_positions_are_named_by_index(bad: Any, words: str) -> None:
    with pytest.raises(Problem, match=words.replace("(", r"\(").replace(")", r"\)")):
        read_positions(bad)


def test_limit() -> None:
    with pytest.raises(TooMany) as caught:
        read_positions([[0, 0]] * 5, limit=4)
    assert (caught.value.limit, caught.value.count) == (4, 5)


SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("geometry", "kind", "count"),
    [
        ({"type": "Point", "coordinates": [1, 2]}, "Point", 1),
        ({"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}, "MultiPoint", 2),
        ({"type": "LineString", "coordinates": [[1, 2], [3, 4]]}, "LineString", 2),
        ({"type": "MultiLineString", "coordinates": [[[1, 2], [3, 4]]]}, "MultiLineString", 2),
        ({"type": "Polygon", "coordinates": [SQUARE]}, "Polygon", 5),
        ({"type": "MultiPolygon", "coordinates": [[SQUARE], [SQUARE]]}, "MultiPolygon", 10),
        ({"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}}, "Point", 1),
        ("2,1", "Point", 1),
        ({"lat": 2, "lng": 1}, "Point", 1),
        (json.dumps({"type": "Polygon", "coordinates": [SQUARE]}), "Polygon", 5),
    ],
)
def test_geometries(geometry: Any, kind: str, count: int) -> None:
    read = read_geometry(geometry)
    assert (read.type, read.shape.geom_type, read.point_count) == (kind, kind, count)
    if kind == "Point":
        assert (read.shape.x, read.shape.y) == (1, 2)


def test_polygon_with_hole() -> None:
    hole = [[0.2, 0.2], [0.4, 0.2], [0.4, 0.4], [0.2, 0.2]]
    read = read_geometry({"type": "Polygon", "coordinates": [SQUARE, hole]})
    assert np.isclose(read.shape.area, 1 - 0.02)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"type": "Polygon", "coordinates": [SQUARE[:-1]]}, "not closed"),
        ({"type": "Polygon", "coordinates": [SQUARE[:2]]}, "fewer than four"),
        ({"type": "Polygon", "coordinates": SQUARE}, "nested"),
        ({"type": "Polygon", "coordinates": []}, "no coordinates|without rings"),
        ({"type": "LineString", "coordinates": [[1, 2]]}, "fewer than two"),
        ({"type": "LineString", "coordinates": [[1, 2], [1, 91]]}, "point 1"),
        ({"type": "Circle", "coordinates": [1, 2]}, "one of Point"),
        ({"type": ["Point"], "coordinates": [1, 2]}, "one of Point"),
        ({"type": "GeometryCollection", "geometries": []}, "one of Point"),
        ({"type": "Point"}, "coordinates"),
        ({"type": "Feature", "geometry": None}, "without a geometry"),
        ({"type": "MultiPolygon", "coordinates": [[]]}, "no coordinates|without rings"),
    ],
)
def test_bad_geometries(bad: Any, words: str) -> None:
    with pytest.raises(Problem, match=words):
        read_geometry(bad)


def test_boxes() -> None:
    assert read_bbox("43,7,44,8") == Bbox(7, 43, 8, 44)
    assert read_bbox([43, 7, 44, 8]) == Bbox(7, 43, 8, 44)
    assert read_bbox("[43,7,44,8]") == Bbox(7, 43, 8, 44)
    assert read_bbox("-20,170,-10,-170").crosses_antimeridian


@pytest.mark.parametrize("bad", ["1,2,3", "44,7,43,8", "91,0,92,1", "0,181,1,2", "a,b,c,d", 5, []])
def test_bad_boxes(bad: Any) -> None:
    with pytest.raises(Problem):
        read_bbox(bad)
