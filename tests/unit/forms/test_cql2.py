"""CQL2 read into our filters."""

from __future__ import annotations

from typing import Any

import pytest

from mapyard.errors import InvalidRequest
from mapyard.features.conditions import Always, Condition, Either, Every, Not, write_key
from mapyard.features.tags import TagFilter
from mapyard.forms.ogc.cql2 import read_filter


@pytest.mark.parametrize(
    "text", ["not " * 4_900 + "a = 'b'", "(" * 9_000 + "a", "not (" * 3_000 + "a = 'b'"]
)
def test_a_nest_without_end_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="nested more than 20 deep"):
        read_filter(text, "cql2-text")


def tag(key: str, op: Any, *values: str) -> TagFilter:
    return TagFilter(key, op, values)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("amenity = 'cafe'", tag("amenity", "in", "cafe")),
        ("AMENITY = 'cafe' and name is not null",
         Every((tag("AMENITY", "in", "cafe"), Not(tag("name", "absent"))))),
        ("\"addr:street\" = 'Rue d''Or'", tag("addr:street", "in", "Rue d'Or")),
        ("addr:street IS NULL", tag("addr:street", "absent")),
        ("levels = 3", tag("levels", "number", "=", "3.0")),
        ("levels > -.5e1", tag("levels", "number", ">", "-5.0")),
        ("3 >= levels", tag("levels", "number", "<=", "3.0")),
        ("'b' < name", tag("name", "text", ">", "b")),
        ("oneway = true", tag("oneway", "in", "1", "true", "yes")),
        ("start_date < DATE('2000-01-01')", tag("start_date", "text", "<", "2000-01-01")),
        ("check_date >= TIMESTAMP('2000-01-01T00:00:00Z')",
         tag("check_date", "text", ">=", "2000-01-01T00:00:00Z")),
        ("name IN ('a|b', '*', '!c')", tag("name", "in", "!c", "*", "a|b")),
        ("levels IN (1, 'ground')",
         Either((tag("levels", "number", "=", "1.0"), tag("levels", "in", "ground")))),
        ("a <> 'x'", Not(tag("a", "in", "x"))),
        ("a NOT IN ('x')", Not(tag("a", "in", "x"))),
        ("NOT (a = 'x' OR b = 'y')", Not(Either((tag("a", "in", "x"), tag("b", "in", "y"))))),
        ("a = 'x' OR b = 'y' AND c = 'z'",
         Either((tag("a", "in", "x"), Every((tag("b", "in", "y"), tag("c", "in", "z")))))),
        ("a BETWEEN 1 AND 2 AND b = 'x'",
         Every((Every((tag("a", "number", ">=", "1.0"), tag("a", "number", "<=", "2.0"))),
                tag("b", "in", "x")))),
        ("a NOT BETWEEN 'c' AND 'd'",
         Not(Every((tag("a", "text", ">=", "c"), tag("a", "text", "<=", "d"))))),
        ("TRUE AND NOT FALSE", Every((Always(True), Not(Always(False))))),
        ("name LIKE 'Caf%'", tag("name", "regex", "^Caf")),
        ("name NOT LIKE '%bar_.(x'", Not(tag("name", "regex", r"^.*bar.\.\(x$"))),
        (r"name LIKE '100\%'", tag("name", "regex", "^100%$")),
        ("CASEI(name) = casei('Caf.')", tag("name", "regex", r"(?i)^(?:Caf\.)$")),
        ("CASEI(name) LIKE CASEI('caf%')", tag("name", "regex", "(?i)^caf")),
        ("CASEI(name) IN ('a', 'b')", tag("name", "regex", "(?i)^(?:a|b)$")),
    ],
)  # fmt: skip
def test_conditions(text: str, condition: Condition) -> None:
    assert read_filter(text, "cql2-text") == condition


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("S_INTERSECTS(geometry, POINT(7.4 43.7))", "intersects"),
        ("S_INTERSECTS(POINT(7.4 43.7), geometry)", "intersects"),
        ("S_INTERSECTS(geometry, BBOX(7.4, 43.7, 7.5, 43.8))", "bbox"),
        ("s_within(geometry, BBOX(7.4, 43.7, 7.5, 43.8))", "within"),
        ("s_within(BBOX(7.4, 43.7, 7.5, 43.8), geometry)", "contains"),
        ("S_CONTAINS(geometry, POINT(7.4 43.7))", "contains"),
        ("S_TOUCHES(geometry, LINESTRING(0 0, 1 1))", "touches"),
        ("S_OVERLAPS(geometry, POLYGON((0 0, 1 0, 1 1, 0 0)))", "overlaps"),
        ("S_EQUALS(geometry, POINT(7.4 43.7))", "equals"),
        ("S_CROSSES(geometry, MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0))))", "crosses"),
    ],
)
def test_places(text: str, name: str) -> None:
    region: Any = read_filter(text, "cql2-text")
    assert region.key[0] == name
    negated: Any = read_filter(f"NOT {text}", "cql2-text")
    assert isinstance(negated, Not)


def test_disjoint_is_the_negation_of_intersects() -> None:
    found: Any = read_filter("S_DISJOINT(geometry, LINESTRING(0 0, 1 1))", "cql2-text")
    assert isinstance(found, Not)
    assert found.part.key[0] == "intersects"  # type: ignore[union-attr]


def test_a_collection_is_met_by_each_of_its_parts() -> None:
    text = "S_INTERSECTS(geometry, GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(3 4, 5 6)))"
    found: Any = read_filter(text, "cql2-text")
    assert isinstance(found, Either)
    assert [part.key[0] for part in found.parts] == ["intersects"] * 2  # type: ignore[union-attr]


def test_json_means_the_same() -> None:
    text = """{"op": "and", "args": [
        {"op": "=", "args": [{"property": "a"}, "x"]},
        {"op": "not", "args": [{"op": "isNull", "args": [{"property": "b"}]}]},
        {"op": "between", "args": [{"property": "c"}, 1, 2]},
        {"op": "<>", "args": [{"op": "casei", "args": [{"property": "d"}]}, "y"]},
        {"op": ">", "args": [{"property": "e"}, {"date": "2020-01-01"}]},
        true,
        {"op": "s_within", "args": [{"property": "geometry"}, {"bbox": [1, 2, 3, 4]}]}]}"""
    same = (
        "a = 'x' AND b IS NOT NULL AND c BETWEEN 1 AND 2 AND CASEI(d) <> 'y'"
        " AND e > DATE('2020-01-01') AND TRUE AND S_WITHIN(geometry, BBOX(1,2,3,4))"
    )
    assert write_key(read_filter(text, "cql2-json")) == write_key(read_filter(same, "cql2-text"))


@pytest.mark.parametrize(
    "text",
    [
        "a", "a =", "= 'x'", "a = b", "a = 'x", "a ~ 'x'", "a NOT = 'x'", "a = 'x' b",
        "a IN ()", "(a = 'x'", "geometry = 'x'", "geometry IS NULL", "a > true", "'a' = 'b'",
        "CASEI(a) > 'x'", "a BETWEEN 1", "a BETWEEN true AND false", "a = DATE('soon')",
        "a = CASEI(", "S_WITHIN(a, POINT(1 2))", "S_WITHIN(geometry)",
        "S_WITHIN(geometry, POINT(1))", "S_WITHIN(geometry, geometry)",
        "S_WITHIN(geometry, GEOMETRYCOLLECTION(POINT(1 2)))",
        "S_WITHIN(geometry, BBOX(1,2,3))", "S_WITHIN(geometry, BBOX(1,2,3,400))",
        "S_INTERSECTS(geometry, POLYGON((0 0, 1 1, 0 1, 1 0, 0 0)))",
        "(" * 100, "NOT " * 100, "a = 'x' OR NOT", "TRUE FALSE", "a LIKE 3",
        "a = '" + "x" * 3_000 + "'", "a = '" + "x" * 30_000 + "'",
        " OR ".join(["a = 'x'"] * 300), "a IN (" + ",".join(["1"] * 300) + ")",
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
        '{"op": "or", "args": []}', '{"op": "between", "args": [{"property": "a"}, 1]}',
        '{"op": "=", "args": [{"op": "casei", "args": []}, "x"]}',
        '{"op": "=", "args": [{"property": "a"}, {"date": 5}]}',
        '{"op": "=", "args": [{"property": "a"}, null]}', "null",
        '{"op": "s_intersects", "args": [{"property": "geometry"}, {"bbox": ["a", 1, 2, 3]}]}',
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
