"""CQL2 read into our filters."""

from __future__ import annotations

from typing import Any

import pytest

from mapyard.errors import InvalidRequest
from mapyard.forms.ogc.cql2 import Wanted, read_filter


@pytest.mark.parametrize(
    "text", ["not " * 4_900 + "a = 'b'", "(" * 9_000 + "a", "not (" * 3_000 + "a = 'b'"]
)
def test_a_nest_without_end_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="nested more than 20 deep"):
        read_filter(text, "cql2-text")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("amenity = 'cafe'", [("amenity", "cafe")]),
        ("AMENITY = 'cafe' and name is not null", [("AMENITY", "cafe"), ("name", "*")]),
        ("\"addr:street\" = 'Rue d''Or'", [("addr:street", "Rue d'Or")]),
        ("addr:street IS NULL", [("addr:street", "!")]),
        ("levels = 3", [("levels", "3")]),
        ("oneway = true", [("oneway", "true")]),
        ("name IN ('a|b', '*', '!c', '~d')", [("name", r"a\|b|\*|\!c|\~d")]),
        ("a = 'x' OR a IN ('y', 'z')", [("a", "x|y|z")]),
        ("(a = 'x' OR a = 'y') AND b = 'z'", [("a", "x|y"), ("b", "z")]),
        ("name LIKE 'Caf%'", [("name", "~^Caf")]),
        ("name LIKE '%bar_.(x'", [("name", r"~^.*bar.\.\(x$")]),
        (r"name LIKE '100\%'", [("name", "~^100%$")]),
    ],
)
def test_conditions(text: str, tags: list[tuple[str, str]]) -> None:
    assert read_filter(text, "cql2-text") == Wanted(tuple(tags))


@pytest.mark.parametrize(
    ("text", "predicate", "kind"),
    [
        ("S_INTERSECTS(geometry, POINT(7.4 43.7))", "intersects", "Point"),
        ("s_within(geometry, BBOX(7.4, 43.7, 7.5, 43.8))", "within", "Polygon"),
        ("NOT S_WITHIN(geometry, POLYGON((0 0, 1 0, 1 1, 0 0)))", "not_within", "Polygon"),
        ("S_DISJOINT(geometry, LINESTRING(0 0, 1 1))", "not_intersects", "LineString"),
        (
            "S_CROSSES(geometry, MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0))))",
            "crosses",
            "MultiPolygon",
        ),
    ],
)
def test_places(text: str, predicate: str, kind: str) -> None:
    wanted = read_filter(text, "cql2-text")
    assert wanted.predicate == predicate
    assert wanted.shape is not None
    assert wanted.shape.type == kind


def test_json_means_the_same() -> None:
    text = """{"op": "and", "args": [
        {"op": "=", "args": [{"property": "a"}, "x"]},
        {"op": "not", "args": [{"op": "isNull", "args": [{"property": "b"}]}]},
        {"op": "s_intersects", "args": [{"property": "geometry"}, {"bbox": [1, 2, 3, 4]}]}]}"""
    wanted = read_filter(text, "cql2-json")
    same = read_filter(
        "a = 'x' AND b IS NOT NULL AND S_INTERSECTS(geometry, BBOX(1,2,3,4))", "cql2-text"
    )
    assert (wanted.tags, wanted.predicate) == (same.tags, same.predicate)
    assert wanted.shape is not None
    assert same.shape is not None
    assert wanted.shape.shape == same.shape.shape


@pytest.mark.parametrize(
    "text",
    [
        "a", "a =", "= 'x'", "a = b", "a = 'x", "a ~ 'x'", "a > 3", "a NOT = 'x'", "a = 'x' b",
        "NOT a = 'x'", "a NOT IN ('x')", "a IN ()", "(a = 'x'", "geometry = 'x'",
        "S_WITHIN(a, POINT(1 2))", "S_WITHIN(geometry)", "S_WITHIN(geometry, POINT(1))",
        "S_WITHIN(geometry, BBOX(1,2,3))", "S_WITHIN(geometry, BBOX(1,2,3,400))",
        "S_WITHIN(geometry, POINT(1 2)) AND S_WITHIN(geometry, POINT(1 2))",
        "NOT S_TOUCHES(geometry, POINT(1 2))", "a = 'x' OR b = 'y'", "(" * 100, "NOT " * 100,
        "a = 'x' OR NOT a = 'y'", "a = '" + "x" * 30_000 + "'",
    ],
)  # fmt: skip
def test_what_is_not_served_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="filter: "):
        read_filter(text, "cql2-text")


@pytest.mark.parametrize(
    "text",
    [
        "[]", "1", "{}", '{"op": "="}', '{"op": "=", "args": 5}', '{"op": "and", "args": [1]}',
        '{"op": "=", "args": [{"property": "a"}, {"x": 1}]}', '{"op": "=", "args": [1, 2]}',
        '{"op": "in", "args": [{"property": "a"}, []]}', '{"op": "not", "args": []}',
        '{"op": "s_within", "args": [{"property": "geometry"}, {"type": "Moon"}]}',
        '{"op": "s_within", "args": [{"property": "geometry"}, 5]}',
        '{"op": "or", "args": []}',
    ],
)  # fmt: skip
def test_wrong_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="filter: "):
        read_filter(text, "cql2-json")


def test_nested_json_ends() -> None:
    node: Any = '{"op": "=", "args": [{"property": "a"}, "x"]}'
    for _ in range(50):
        node = '{"op": "and", "args": [' + node + "]}"
    with pytest.raises(InvalidRequest, match="nested"):
        read_filter(node, "cql2-json")
