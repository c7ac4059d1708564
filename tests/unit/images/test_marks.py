"""Marks are read from GeoJSON with clear errors, and lie above the map."""

from __future__ import annotations

from typing import Any

import pytest

from mapyard.errors import InvalidRequest
from mapyard.images.marks import MAX_FEATURES, add_marks, join_marks, read_color, read_marks


def feature(kind: str, coordinates: Any, **properties: Any) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def test_properties_of_simplestyle() -> None:
    given = {"stroke": "#0A0", "stroke-width": 2, "fill-opacity": 0.5, "label": "A"}
    marks = read_marks(feature("Polygon", [[[0, 0], [1, 0], [1, 1], [0, 0]]], **given))
    properties = marks.features[0]["properties"]
    assert properties["stroke"] == properties["fill"] == "#0a0"
    assert (properties["stroke-width"], properties["fill-opacity"]) == (2, 0.5)
    assert marks.pins == []
    assert marks.lonlat.min(0).tolist() == [0, 0]
    assert marks.lonlat.max(0).tolist() == [1, 1]


def test_pins_of_several_colors() -> None:
    marks = read_marks(
        {"type": "FeatureCollection", "features": [
            feature("Point", [1, 2], **{"marker-color": "green", "label": "Town hall"}),
            feature("MultiPoint", [[1, 2], [3, 4]], label="12"),
            feature("Point", [5, 6], **{"marker-color": "#1A7F37"}),
        ]}
    )  # fmt: skip
    assert marks.pins == ["#1a7f37", "#d0342c"]
    assert [f["properties"]["inside"] for f in marks.features] == [False, True, False]
    both = join_marks([marks, read_marks(feature("LineString", [[0, 0], [9, 9]]))])
    assert len(both.features) == 4
    assert both.lonlat.shape == (6, 2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "FeatureCollection", "features": 3}, "no array `features`"),
        ({"type": "FeatureCollection"}, "no array `features`"),
        (feature("Point", [200, 1]), "feature 0 .*longitude 200"),
        (feature("Circle", [0, 1]), "must be one of"),
        (feature("Point", [0, 1], **{"marker-color": "url(x)"}), "must be #rgb, #rrggbb"),
        (feature("LineString", [[0, 0], [1, 1]], **{"stroke-width": 99}), "from 0 to 40"),
        (feature("LineString", [[0, 0], [1, 1]], **{"stroke-opacity": "1"}), "from 0 to 1"),
        ({"type": "Feature", "geometry": None, "properties": {}}, "without a geometry"),
        ({"type": "FeatureCollection", "features": [feature("Point", [0, 0])] * (MAX_FEATURES + 1)},
         "501 features, at most 500"),
        (feature("MultiPoint", [[0, 0]] * 20_001), "more than 20000 points"),
        ({"type": "Feature", "geometry": {"type": "Point", "coordinates": [0, 0]},
          "properties": [1]}, "must be an object"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(value: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        read_marks(value)


def test_points_are_counted_over_all_features() -> None:
    many = feature("MultiPoint", [[0, 0]] * 15_000)
    with pytest.raises(InvalidRequest, match="more than 20000 points in all"):
        read_marks({"type": "FeatureCollection", "features": [many, many]})


def test_marks_lie_above_the_map() -> None:
    style: dict[str, Any] = {"version": 8, "sources": {"osm": {}}, "layers": [{"id": "land"}]}
    assert add_marks(style, read_marks({"type": "FeatureCollection", "features": []})) is style
    drawn = add_marks(style, read_marks(feature("Point", [0, 0])))
    assert drawn["layers"][0] == {"id": "land"}
    assert {layer["source"] for layer in drawn["layers"][1:]} == {"marks"}
    assert list(style["sources"]) == ["osm"]


@pytest.mark.parametrize("text", ["#12345", "expression", "#ggg", "", "rgb(1,2,3)"])
def test_only_plain_colors(text: str) -> None:
    with pytest.raises(InvalidRequest, match="stroke"):
        read_color(text, "stroke")
