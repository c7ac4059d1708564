"""Parsing: what it gives, and what it says about mistakes."""

from __future__ import annotations

import pytest

from mapyard.errors import InvalidQuery, Unsupported
from mapyard.sparql.parse.parser import parse_query
from mapyard.sparql.plan.algebra import (
    Aggregate,
    Bgp,
    Call,
    Distinct,
    Extend,
    Filter,
    Group,
    Inverse,
    LeftJoin,
    OrderBy,
    Project,
    Repeat,
    Slice,
    TriplePattern,
    Union,
    Var,
)
from mapyard.sparql.terms.prefixes import OSM_KEY, SOPHOX_KEY
from mapyard.sparql.terms.terms import XSD_DECIMAL, XSD_INTEGER, Iri, Literal


def triples(text: str) -> tuple[TriplePattern, ...]:
    pattern = parse_query(text).pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.pattern, Bgp)
    return pattern.pattern.triples


def test_published_prefixes_are_declared() -> None:
    (first, second) = triples('SELECT * { ?s osmkey:addr:city "x" ; osmt:name ?n }')
    assert first.predicate == Iri(OSM_KEY + "addr:city")
    assert second == TriplePattern(Var("s"), Iri(SOPHOX_KEY + "name"), Var("n"))


def test_a_query_s_own_prefix_wins() -> None:
    (triple,) = triples("PREFIX osmt: <http://example.org/> SELECT * { ?s osmt:name 4.5 }")
    assert triple.predicate == Iri("http://example.org/name")
    assert triple.object == Literal("4.5", XSD_DECIMAL)


def test_base_and_codepoints() -> None:
    (triple,) = triples('BASE <http://e.org/a/b> SELECT * { <c> <#d> "\\u00e9" }')
    assert triple.subject == Iri("http://e.org/a/c")
    assert triple.predicate == Iri("http://e.org/a/b#d")
    assert triple.object == Literal("é")


def test_paths_become_joins_unions_and_repetitions() -> None:
    (first, second) = triples("SELECT * { ?s geo:hasGeometry/geo:asWKT ?g }")
    assert first.object == second.subject
    (triple,) = triples("SELECT * { ?s (^osm:a)* ?o }")
    assert triple.predicate == Repeat(
        Inverse(Iri("https://www.openstreetmap.org/a")), zero=True, many=True
    )
    pattern = parse_query('SELECT * { ?s (osmt:a|osmt:b) "x" }').pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.pattern, Union)


def test_solution_modifiers_nest_in_the_order_of_the_recommendation() -> None:
    text = """SELECT DISTINCT ?a (COUNT(DISTINCT ?b) AS ?n) { ?a ?p ?b FILTER(?b > 1) }
    GROUP BY ?a HAVING(?n > 2) ORDER BY DESC(?n) LIMIT 3 OFFSET 4"""
    pattern = parse_query(text).pattern
    assert isinstance(pattern, Slice)
    assert (pattern.offset, pattern.limit) == (4, 3)
    kinds = []
    while not isinstance(pattern, Bgp):
        kinds.append(type(pattern))
        if isinstance(pattern, Group):
            assert pattern.aggregates[0][1] == Aggregate("COUNT", Var("b"), True)
        pattern = pattern.pattern  # type: ignore[union-attr]
    assert kinds == [Slice, Distinct, Project, OrderBy, Extend, Filter, Group, Filter]


def test_filters_of_an_optional_group_belong_to_it_but_not_those_in_inner_braces() -> None:
    def optional(text: str) -> LeftJoin:
        pattern = parse_query(text).pattern
        assert isinstance(pattern, Project)
        assert isinstance(pattern.pattern, LeftJoin)
        return pattern.pattern

    own = optional("SELECT * { ?a ?b ?c OPTIONAL { ?c ?d ?e FILTER(?a) } }")
    assert own.filters == (Var("a"),)
    inner = optional("SELECT * { ?a ?b ?c OPTIONAL { { ?c ?d ?e FILTER(?a) } } }")
    assert inner.filters == ()


def test_operators_by_precedence() -> None:
    pattern = parse_query(
        "SELECT * { ?a ?b ?c FILTER(?a + 1 * 2 = 3 || !?b && ?c IN (1, 2)) }"
    ).pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.pattern, Filter)
    (expression,) = pattern.pattern.filters
    assert isinstance(expression, Call)
    assert expression.name == "||"
    equal, both = expression.args
    assert isinstance(equal, Call)
    assert equal.args[0] == Call(
        "+", (Var("a"), Call("*", (Literal("1", XSD_INTEGER), Literal("2", XSD_INTEGER))))
    )
    assert isinstance(both, Call)
    assert both.name == "&&"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("SELECT ?s WHERE {\n  ?s osmkey:amenity cafe }", 2, 21, "text stands in quotes"),
        ("SELECT ?s { ?s foo:bar ?o }", 1, 16, "prefix 'foo:' is not declared"),
        ("SELECT ?s { ?s ?p 'x }", 1, 19, "same quotes"),
        ("SELECT ?s { ?s ?p ?o ", 1, 22, "the query ends here"),
        ("SELECT ?s { ?s ?p ?o } GROUP BY ?p", 1, 35, "neither grouped nor aggregated"),
        ("SELECT ?s { ?s ?p ?o FILTER(FOO(?o)) }", 1, 29, "is not a function of SPARQL"),
        ("SELECT ?s { ?s ?p ?o FILTER(SUBSTR(?o)) }", 1, 29, "takes 2 to 3 arguments"),
        ("SELECT ?s { ?s ?p ?o BIND(1 AS ?o) }", 1, 32, "is bound already"),
        ("SELECT ?s { ?s ?p ?o FILTER(COUNT(?o) > 1) }", 1, 29, "can only be in SELECT"),
        ("SELECT ?s { VALUES (?a ?b) { (1) } }", 1, 30, "1 values for 2 variables"),
        ("SELECT * { SELECT ?s { ?s ?p ?o } } LIMIT -1", 1, 43, "whole number"),
        ("{ ?s ?p ?o }", 1, 1, "expected SELECT"),
    ],
)
def test_mistakes_have_their_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_query(text)
    assert message in caught.value.message
    assert caught.value.details is not None
    assert (caught.value.details["line"], caught.value.details["column"]) == (line, column)


def test_deep_nesting_is_refused_instead_of_exhausting_the_stack() -> None:
    with pytest.raises(InvalidQuery, match="nested deeper"):
        parse_query("SELECT * { ?s ?p ?o FILTER" + "(" * 500 + "1" + ")" * 500 + " }")
    with pytest.raises(InvalidQuery, match="nested deeper"):
        parse_query("SELECT * " + "{ " * 500 + "}" * 500)


def test_updates_are_refused_by_name() -> None:
    with pytest.raises(Unsupported, match="DELETE is SPARQL Update"):
        parse_query("DELETE WHERE { ?s ?p ?o }")
