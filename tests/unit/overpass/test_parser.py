"""Parsing: errors with their place and a hint, and that no text breaks the parser."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.errors import InvalidQuery, Unsupported
from mapyard.overpass.convert.forms import convert
from mapyard.overpass.engine import read_program
from mapyard.overpass.parse.macros import Place, Surroundings, expand_macros
from mapyard.overpass.parse.parser import parse
from mapyard.overpass.parse.syntax import Difference, Out, PolygonFilter, Query, TagFilter
from mapyard.overpass.parse.text import Source

sys.path.insert(0, str(Path(__file__).parent))

from conformance import FEATURES

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
        ("node{amenity=cafe};out;", 1, 5, "unexpected '{'", "node[key=value]"),
        ("node[name=Old Town];out;", 1, 11, "spaces", '[name="Old Town"]'),
        ("node[amenity](bbox);out;", 1, 15, "unknown filter 'bbox'", "{{bbox}}"),
        ("SELECT * FROM nodes;", 1, 1, "'SELECT'", "SQL"),
        ("node(1);out sort=distance;", 1, 13, "'sort'", "/api/v1/features/nearby"),
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


XML = (
    '<osm-script output="json" timeout="25"><query type="node"><has-kv k="highway" v="bus_stop"/>'
    '<bbox-query s="47.13" w="9.50" n="47.16" e="9.54"/></query><print mode="ids"/></osm-script>'
)


@pytest.mark.parametrize(
    ("xml", "ql"),
    [
        (XML, "[out:json][timeout:25];node[highway=bus_stop](47.13,9.5,47.16,9.54);out ids;"),
        (
            '<union into="u"><query type="way"><has-kv k="a" modv="not" regv="^x\\."/></query>'
            '<recurse type="down"/><item set="b"/><recurse type="up-rel" from="b"/></union>',
            '(way[a!~"^x\\."];>;.b;.b <<;)->.u;',
        ),
        (
            '<foreach from="a" into="b"><recurse type="way-node" from="b" into="c"/>'
            '<print from="c" mode="skeleton" order="quadtile" limit="3"/></foreach>',
            "foreach.a->.b{node(w.b)->.c;.c out skel qt 3;}",
        ),
        (
            '<difference><query type="relation"><has-kv regk="^n" regv="x" case="ignore"/>'
            '</query><id-query type="relation" ref="1" ref_1="2"/></difference>',
            '(rel[~"^n"~"x",i];-rel(id:1,2););',
        ),
        (
            '<query type="nwr"><around radius="5" lat="1" lon="2"/><area-query ref="3600000001"/>'
            '<polygon-query bounds="1 1 1 2 2 2"/><newer than="2025-01-01T00:00:00Z"/>'
            '<user uid="7"/></query><print geometry="full" s="1" w="2" n="3" e="4"/>',
            '',
        ),
        ('<coord-query lat="1" lon="2"/>', "is_in(1,2);"),
        ('<map-to-area from="a" into="b"/>', ".a map_to_area->.b;"),
        ('<complete maxnum="3"><recurse type="node-relation"/></complete>',
         "complete(3){rel(bn);}"),
        ('<query type="way"><recurse type="relation-way" role="outer" role-restricted="yes"/>'
         "</query>", 'way(r:"outer");'),
    ],
)  # fmt: skip
def test_the_xml_form_is_the_same_language(xml: str, ql: str) -> None:
    text = xml if xml.startswith("<osm-script") else f"<osm-script>{xml}</osm-script>"
    program, _ = read_program(text, Surroundings())
    if ql:
        expected, _ = read_program(ql, Surroundings())
        assert without_places(program) == without_places(expected)
    for form in ("mapql", "compact", "xml"):
        again, _ = read_program(convert(text, form), Surroundings())
        assert without_places(again) == without_places(program), form


def without_places(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(without_places, value))
    if isinstance(value, msgspec.Struct):
        names = [name for name in value.__struct_fields__ if name != "at"]
        return (type(value).__name__, *(without_places(getattr(value, name)) for name in names))
    return value


@pytest.mark.parametrize("feature", [f for f in FEATURES if f.served == "yes"], ids=str)
def test_every_part_of_the_language_is_written_back(feature: Any) -> None:
    around = Surroundings(
        (0.0, 0.0, 0.01, 0.02), (0.0, 0.0), lambda *_: Place("relation", 1, 0, 0, (0, 0, 1, 1))
    )
    program, source = read_program(feature.query, around)
    for form in ("mapql", "compact"):
        again, _ = read_program(convert(source.text, form), around)
        assert without_places(again) == without_places(program), convert(source.text, form)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<osm-script>\n<query/></osm-script>", 2, "needs type"),
        ("<osm-script>\n<query type='node'>", 2, "not well-formed"),
        ("<osm-script>\n<strange/></osm-script>", 2, "<strange> is not served"),
        ('<osm-script date="2020-01-01T00:00:00Z"/>', 1, "newest version"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><osm-script/>', 1, "entities"),
    ],
)  # fmt: skip
def test_errors_of_the_xml_form_name_their_line(text: str, line: int, message: str) -> None:
    with pytest.raises((InvalidQuery, Unsupported)) as caught:
        read_program(text, Surroundings())
    assert caught.value.details is not None
    assert caught.value.details["line"] == line
    assert message in caught.value.message


def test_places_are_attributes_in_the_xml_form() -> None:
    text = '<osm-script><query type="node"><bbox-query {{bbox}}/></query></osm-script>'
    program, _ = read_program(text, Surroundings(box=(1, 2, 3, 4)))
    expected, _ = read_program("node(1,2,3,4);", Surroundings())
    assert without_places(program) == without_places(expected)
