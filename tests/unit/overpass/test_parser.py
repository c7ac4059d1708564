"""Parsing: errors with their place and a hint, and that no text breaks the parser."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.errors import InvalidQuery
from mapyard.overpass.parse.macros import Surroundings, expand_macros
from mapyard.overpass.parse.parser import parse
from mapyard.overpass.parse.syntax import Difference, Out, PolygonFilter, Query, TagFilter
from mapyard.overpass.parse.text import Source

WIZARD = """[out:json][timeout:25];
// what a wizard writes
(
  node["amenity"="drinking_water"](47.0,9.4,47.3,9.7);
  way["amenity"="drinking_water"](47.0,9.4,47.3,9.7);
  relation["amenity"="drinking_water"](47.0,9.4,47.3,9.7);
);
out body;
>;
out skel qt;
"""


@pytest.mark.parametrize(
    ("query", "line", "column", "message", "hint"),
    [
        ("node[amenity=cafe]\nout;", 2, 1, "';' expected, found 'out'", "ends with ;"),
        ("node[amenity=cafe]", 1, 19, "not closed", "ends with ;"),
        ("node(amenity=cafe);out;", 1, 6, "unknown filter 'amenity'", "square brackets"),
        ("nodes[amenity];out;", 1, 1, "found 'nodes'", "did you mean node?"),
        ("node[amenity==cafe];out;", 1, 13, "", "[amenity=…]"),
        (".a(around:5);", 1, 3, ".a needs a type", "node.a"),
        ("node;out;", 1, 1, "a query needs a filter", "[bbox:…]"),
        ("node[a=b](48,2,47,3);out;", 1, 10, "south", "south,west,north,east"),
        ("node[a=b](95,2,97,3);out;", 1, 10, "latitude", "south,west,north,east"),
        ("node(around:10,200,3);out;", 1, 16, "latitude 200", "latitude, longitude"),
        ("node(around:-1,2,3);out;", 1, 13, "negative", ""),
        ("node(1,2,3);out;", 1, 5, "3 numbers", "(id:1,2,3)"),
        ('node["a"="b];out;', 1, 10, "never closed", 'closing "'),
        ("node[“amenity”];out;", 1, 6, "typographic", "straight"),
        ("/* node;", 1, 1, "comment", "*/"),
        ('node[name~"(?=x)"];out;', 1, 11, "invalid regular expression", "look-around"),
        ('node[name~"(a"];out;', 1, 11, "invalid regular expression", ""),
        ('node[~"a"];out;', 1, 7, "value pattern", ""),
        ("[out:geojson];node(1);out;", 1, 6, "'geojson'", "GeoJSON comes without asking"),
        ("[outt:json];node(1);out;", 1, 2, "'outt'", "did you mean out?"),
        ("[out:json]node(1);out;", 1, 11, "';' expected", "closed by one ;"),
        ("[timeout:-5];node(1);out;", 1, 10, "above 0", ""),
        ("node(1);out json;", 1, 13, "'json'", "[out:json]"),
        ("node(1);out bdoy;", 1, 13, "'bdoy'", "did you mean body?"),
        ("node(1)->a;out;", 1, 10, "'.' expected", "->.name"),
        ("node(area.serchArea);out;", 1, 5, "never written", "->.serchArea"),
        ("area[name=X]->.searchArea;node(area.serchArea);out;", 1, 31, "", "searchArea?"),
        ("(node(1);-node(2);-node(3););out;", 1, 19, "two members", "( A; - B; )"),
        ("(node(1);out;", 1, 14, "')' is missing", ""),
        ("node(bw);out;", 1, 6, "gives relation", "write relation"),
        ("area(w);out;", 1, 6, "no area", "write node"),
        ('node(poly:"1 2 3");out;', 1, 11, "3 numbers", "lat and lon"),
        ('node(poly:"1 2 3 4");out;', 1, 11, "three different points", ""),
        ('node(newer:"yesterday");out;', 1, 12, "not a date", "2025-01-31"),
        ("node(if: leng() > 3);out;", 1, 10, "'leng'", "length"),
        ("make x a=id();out;", 1, 10, "needs an element", "set(id())"),
        ("node(1);convert x a=pos();out;", 1, 21, "needs a member", "per_member"),
        ("node(1);make x n=count(tags);out;", 1, 24, "one of nodes", "count_tags()"),
        ("node(if: t[\"a\"] = 1);out;", 1, 17, "", ""),
        ("node(1);make x a=1,a=2;out;", 1, 20, "set twice", ""),
        ("{{bbox}}", 1, 1, "{{bbox}} needs a box", "bbox=south"),
        ("node[a=b];\nout; {{what}}", 2, 6, "unknown macro", "{{what=value}}"),
        ("complete(0){node(1);};out;", 1, 10, "1…1048576", ""),
    ],
)  # fmt: skip
def test_errors_name_place_and_way_out(
    query: str, line: int, column: int, message: str, hint: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse(expand_macros(query, Surroundings()))
    details = caught.value.details or {}
    assert (details["line"], details["column"]) == (line, column), caught.value.message
    assert message in caught.value.message
    assert hint in details["hint"]


def test_places_are_those_of_the_text_before_expansion() -> None:
    text = "{{where=47,9,48,10}}node[a=b]({{where}})({{where}});\nnode[c;"
    with pytest.raises(InvalidQuery) as caught:
        parse(expand_macros(text, Surroundings()))
    assert caught.value.details is not None
    assert (caught.value.details["line"], caught.value.details["column"]) == (2, 7)


def test_reads_a_long_polygon_and_single_quotes() -> None:
    points = " ".join(f"{47 + i / 10_000:.6f} {9 + i % 7 / 100:.6f}" for i in range(6_000))
    assert len(points) > 100_000
    program = parse(Source(f"way['highway'](poly:'{points}');out;"))
    query = program.statements[0]
    assert isinstance(query, Query)
    assert query.filters[0].at == 3
    assert isinstance(query.filters[1], PolygonFilter)
    assert len(query.filters[1].points) == 6_000


def test_reads_escapes_and_free_spaces() -> None:
    program = parse(Source('node [ "a\\"b" = \'\\u00e4\\n\\t\\\\\' ] ; out  body  2 ;'))
    query, out = program.statements
    assert isinstance(query, Query)
    assert query.filters == (TagFilter(key='a"b', value="ä\n\t\\", at=5),)
    assert isinstance(out, Out)
    assert out.limit == 2


def test_the_last_word_of_a_kind_wins() -> None:
    out = parse(Source("node(1);out ids center tags geom 5 qt 7;")).statements[1]
    assert isinstance(out, Out)
    assert (out.mode, out.geometry, out.order, out.limit) == ("tags", "geom", "qt", 7)


def test_a_difference_may_hold_unions() -> None:
    program = parse(Source("(way[a];-(way[b];way[c];););out;"))
    assert isinstance(program.statements[0], Difference)


@pytest.mark.parametrize("text", ["(" * 5_000, "node(if:" + "(" * 5_000, "node(if:" + "!" * 5_000,
                                  "node(if:1" + "+1-1" * 5_000 + ");out;",
                                  "foreach{" * 3_000, "node(if:1?" * 900])  # fmt: skip
def test_deep_nesting_is_an_error(text: str) -> None:
    with pytest.raises(InvalidQuery):
        parse(Source(text))


def test_many_members_are_no_problem() -> None:
    text = "(" + "".join(f"node({i});" for i in range(1, 2_500)) + ");out;"
    assert len(parse(Source(text)).statements) == 2
    condition = " || ".join(f"id()=={i}" for i in range(2_000))
    assert parse(Source(f"node[a](if:{condition});out;")).statements


def test_parses_in_less_than_a_millisecond() -> None:
    parse(Source(WIZARD))
    times = []
    for _ in range(20):
        start = time.process_time()
        parse(Source(WIZARD))
        times.append(time.process_time() - start)
    assert min(times) < 0.001


PIECES = [
    "node", "way", "rel", "nwr", "area", "[", "]", "(", ")", "{", "}", ";", ",", ":", ".", "->",
    ".a", "_", "out", "meta", "geom", "count", "5", "47.1", "9.5", "-", "!", "~", "=", "!=", "==",
    '"x"', "'y'", "around", "poly", "if", "t[\"k\"]", "::", "make", "convert", "foreach", "for",
    "complete", "else", ">", ">>", "<", "<<", "is_in", "map_to_area", "id()", "length()", "set(",
    "(w)", "(bn:1)", "[out:json]", "[bbox:1,2,3,4]", "newer", '"2020-01-01"', "&&", "||", "?",
    "{{bbox}}", "{{a=b}}", "{{", "}}", "/*", "*/", "//", "\n", "\\", "\"", "user", "timeline",
]  # fmt: skip


def _parse_any(text: str) -> None:
    """Parse, and let through only errors that tell a user where and what."""
    with suppress(InvalidQuery):
        parse(expand_macros(text, Surroundings(box=(1.0, 2.0, 3.0, 4.0))))


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_no_sequence_of_tokens_breaks_the_parser(text: str) -> None:
    _parse_any(text)


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_the_parser(text: str) -> None:
    _parse_any(text)


@given(st.integers(0, len(WIZARD)), st.integers(0, 6), st.sampled_from(PIECES))
@settings(max_examples=200, deadline=None)
def test_no_damage_to_a_query_breaks_the_parser(start: int, length: int, piece: str) -> None:
    _parse_any(WIZARD[:start] + piece + WIZARD[start + length :])
