"""Years, months, days, durations; functions of XPath; Unicode; namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from mapyard.errors import Unsupported
from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.parse.parser import parse_query
from mapyard.sparql.sources.graph import TripleGraph


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(TripleGraph([], {}))


def value(engine: Engine, expression: str) -> Any:
    result = engine.query(f"SELECT ({expression} AS ?r) {{}}")
    assert isinstance(result, Solutions)
    (table,) = result.tables
    (term,) = result.runtime.decode(table.ids("r", result.runtime.pool))
    return None if term is None else term[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"1899"^^xsd:gYear < "1900"^^xsd:gYear', "true"),
        ('"1899-05"^^xsd:gYearMonth < "1900"^^xsd:gYear', "true"),
        ('"1900-01-02"^^xsd:date > "1900"^^xsd:gYear', "true"),
        ('"1900"^^xsd:gYear = "1900"^^xsd:gYear', "true"),
        ('YEAR("1900-05"^^xsd:gYearMonth)', "1900"), ('MONTH("1900-05"^^xsd:gYearMonth)', "5"),
        ('MONTH("1900"^^xsd:gYear)', None), ('YEAR("1900-05-02"^^xsd:date)', "1900"),
        ('YEAR("2026-01-01T00:00:00Z"^^xsd:dateTime) - YEAR("1900"^^xsd:gYear)', "126"),
        ('"2025-03-01"^^xsd:date - "2025-02-27"^^xsd:date', "P2D"),
        ('"2025-03-01T12:00:00Z"^^xsd:dateTime - "2025-03-01T10:30:15Z"^^xsd:dateTime',
         "PT1H29M45S"),
        ('"2025-03-01"^^xsd:date - "2025-03-01"^^xsd:date', "PT0S"),
        ('"2025-03-01"^^xsd:date + "P1D"^^xsd:dayTimeDuration', "2025-03-02"),
        ('"2024-02-28T23:00:00Z"^^xsd:dateTime + "PT2H"^^xsd:dayTimeDuration',
         "2024-02-29T01:00:00Z"),
        ('"2024-03-31"^^xsd:date - "P1M"^^xsd:yearMonthDuration', "2024-02-29"),
        ('"P2D"^^xsd:dayTimeDuration > "PT47H"^^xsd:dayTimeDuration', "true"),
        ('xsd:gYear("1900-05-02"^^xsd:date)', "1900"), ('xsd:gYear("x")', None),
        ('xsd:gYearMonth("1900-05-02"^^xsd:date)', "1900-05"),
        ('xsd:dayTimeDuration("P1D")', "P1D"), ('xsd:dayTimeDuration("P1M")', None),
        ('REGEX("Äpfel", "^\\\\w+$")', "true"), ('REGEX("٣", "^\\\\d$")', "true"),
        ('REGEX("ÄPFEL", "^äpfel$", "i")', "true"), ('REGEX("a b", "^[\\\\w ]+$")', "true"),
        ('REGEX("Ä", "^\\\\W$")', "false"), ('REGEX("a.b", "^a\\\\.b$")', "true"),
        ('REPLACE("Straße 5", "[^\\\\w]", "")', "Straße5"),
        ("math:sqrt(16)", "4.0"), ("math:pow(2, 10)", "1024.0"), ("math:sqrt(-1)", "NaN"),
        ("math:pi() > 3.14", "true"), ("math:atan2(0, 1)", "0.0"), ("math:log10(100)", "2.0"),
        ("fn:round(2.345, 2)", "2.35"), ('fn:normalize-space("  a   b ")', "a b"),
        ('fn:string-join("a", "b", "-")', "a-b"), ('fn:translate("abc", "ab", "x")', "xc"),
        ('fn:starts-with("abc", "a")', "true"), ('fn:matches("abc", "b.")', "true"),
        ('fn:not(true)', "false"),
    ],
)  # fmt: skip
def test_values(engine: Engine, expression: str, expected: str | None) -> None:
    assert value(engine, expression) == expected


@pytest.mark.parametrize("call", ["fn:matches(1)", "math:pow(1)", "geof:distance(1)"])
def test_a_wrong_number_of_arguments_is_said(engine: Engine, call: str) -> None:
    with pytest.raises(Unsupported, match="arguments"):
        value(engine, call)


def test_namespaces_keep_their_hash_under_a_base() -> None:
    text = "BASE <http://a.b/> PREFIX x: <http://c.d/e#> PREFIX y: <f#> ASK { x:z y:z ?o }"
    prefixes = parse_query(text).prefixes
    assert (prefixes["x"], prefixes["y"]) == ("http://c.d/e#", "http://a.b/f#")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("xsd:byte('127')", "127"), ("xsd:byte('128')", None), ("xsd:byte('-129')", None),
        ("xsd:unsignedShort('65536')", None), ("xsd:nonNegativeInteger('-1')", None),
        ("xsd:positiveInteger('0')", None), ("xsd:negativeInteger('5')", None),
        ("xsd:unsignedLong('18446744073709551615')", "18446744073709551615"),
        ("xsd:int(5.9)", "5"), ("STR(DATATYPE(xsd:int('5')))", "http://www.w3.org/2001/XMLSchema#int"),
        ("xsd:int('5') + 1", "6"), ("xsd:int('5') = 5", "true"),
    ],
)  # fmt: skip
def test_casts_look_at_the_range_of_a_type(
    engine: Engine, expression: str, expected: str | None
) -> None:
    assert value(engine, expression) == expected
