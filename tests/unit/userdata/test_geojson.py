"""GeoJSON, whole and by lines: streamed, checked, transformed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mapyard.userdata.read import geojson
from mapyard.userdata.rows import ImportFailed

from .conftest import Import

POINT = {"type": "Point", "coordinates": [9.5, 47.1]}
LINE = {"type": "LineString", "coordinates": [[9.5, 47.1], [9.6, 47.2]]}
AREA = {"type": "Polygon", "coordinates": [[[9, 47], [10, 47], [10, 48], [9, 47]]]}


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def collection(*features: Any, **members: Any) -> str:
    return json.dumps({"type": "FeatureCollection", **members, "features": list(features)})


def kinds(made: Any) -> list[Any]:
    return [f["geometry"] and f["geometry"]["type"] for f in made.features]


MIXED = [
    feature(POINT, a=1),
    feature(AREA, a="x", nested={"b": [1, 2]}),
    feature(None, a=None),
    feature(LINE, ok=True),
    feature({"type": "MultiPoint", "coordinates": [[9, 47], [9.1, 47.1]]}),
]


def test_features_of_all_kinds(make: Import) -> None:
    made = make(collection(*MIXED))
    assert kinds(made) == ["Point", "Polygon", None, "LineString", "MultiPoint"]
    assert [f["properties"] for f in made.features] == [m["properties"] for m in MIXED]
    assert made.said.schema == {
        "a": {"type": "mixed", "count": 2},
        "nested": {"type": "object", "count": 1},
        "ok": {"type": "boolean", "count": 1},
    }


def test_the_same_by_lines_and_in_an_array(make: Import) -> None:
    expected = make(collection(*MIXED)).features
    lines = "\n".join(map(json.dumps, MIXED))
    assert make(lines).features == expected
    assert make(lines.replace("\n", "\n\x1e"), format="ndjson").features == expected
    assert make(json.dumps(MIXED)).features == expected
    assert make(json.dumps(MIXED[0])).features == expected[:1]
    assert kinds(make(json.dumps(AREA))) == ["Polygon"]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_where_a_chunk_ends_does_not_matter(
    make: Import, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    text = collection(*MIXED, feature(POINT, text='quo"te \\ [{é☂', number=-1.5e-3), name="x")
    expected = make(text).features
    monkeypatch.setattr(geojson, "_CHUNK", size)
    assert make(text).features == expected


def test_an_id_becomes_a_property(make: Import) -> None:
    made = make(collection({**feature(POINT, a=1), "id": "x7"}))
    assert made.features[0]["properties"] == {"id": "x7", "a": 1}


def test_another_coordinate_system_is_transformed(make: Import) -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
    place = {"type": "Point", "coordinates": [1_057_535.16, 5_963_000.0]}
    made = make(collection(feature(place), crs=crs))
    lon, lat = made.features[0]["geometry"]["coordinates"]
    assert (lon, lat) == pytest.approx((9.5, 47.12), abs=0.02)
    with pytest.raises(ImportFailed, match="the coordinate system 'EPSG:1' is not known"):
        make(collection(feature(place), crs={"properties": {"name": "EPSG:1"}}))


def test_what_is_wrong_with_a_feature_is_listed(make: Import) -> None:
    bow_tie = {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}
    flat = {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [2, 2], [0, 0]]]}
    made = make(
        collection(
            feature({"type": "Point", "coordinates": ["9", "47"]}),
            {"type": "Thing"},
            feature({"type": "GeometryCollection", "geometries": [POINT, LINE]}),
            feature(bow_tie),
            feature(flat),
            feature({"type": "Point", "coordinates": [9.5, 97.1]}),
            {"type": "Feature", "geometry": POINT, "properties": 5},
        )
    )
    assert kinds(made) == [None, None, None, "MultiPolygon", None, None, "Point"]
    assert [problem["row"] for problem in made.said.problems] == [2, 7, 1, 6, 3, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type":"FeatureCollection","features":[{"type":"Fea', "broken near byte"),
        ('{"type":"FeatureCollection","features":[' + json.dumps(MIXED[0]), "the file ends"),
        ('{"type":"FeatureCollection","features":[{"a":}]}', "broken near byte"),
        ('{"type":"FeatureCollection","features":[{"a":NaN}]}', "NaN is not a JSON value"),
        ('{"type":"Topology"}', "has no features"),
        ("[" * 100_000, "nested too deeply"),
        ('{"features":[' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_documents_say_where(make: Import, text: str, message: str) -> None:
    with pytest.raises(ImportFailed, match=message):
        make(text, format="geojson")


def test_a_wrong_encoding_says_where(make: Import) -> None:
    with pytest.raises(ImportFailed, match="byte 3 is not UTF-8"):
        make(b'{ "\xff": 1}', format="geojson")


def test_broken_lines_are_listed(make: Import) -> None:
    made = make(json.dumps(MIXED[0]) + "\n{broken\n\n" + json.dumps(MIXED[3]), format="ndjson")
    assert kinds(made) == ["Point", "LineString"]
    assert made.said.problems[0]["row"] == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(JSON, max_size=4), st.integers(0, 200))
def test_nothing_breaks_the_reader(make: Import, features: list[Any], cut: int) -> None:
    text = json.dumps({"type": "FeatureCollection", "features": features})
    for data in (text.encode(), text.encode()[:cut]):
        try:
            made = make(data or b" ", format="geojson")
        except ImportFailed:
            continue
        assert made.said.feature_count == len(features)
