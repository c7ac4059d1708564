# ruff: noqa: E501 - a table of queries
"""Queries that ask for too much: each ends near its time, in its memory, and never as a fault."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from math import cos, pi, sin

import pytest

from mapyard.deadline import Deadline
from mapyard.errors import MapyardError, Timeout, TooLarge
from mapyard.overpass.engine import run_text
from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.run.runtime import Limits
from mapyard.sparql.write.solutions import write_json
from mapyard.store.reader import Store

#: Time limit of each query, and what it may take beyond it on a busy machine.
LIMIT_S = 1.0
LATE_S = 2.0
BYTES = 256 << 20
#: Memory of the process beyond the query's own limit: libraries, answers being written.
BESIDE_BYTES = 300 << 20

WKT = "^^geo:wktLiteral"


def zigzag(count: int, separator: str = " ") -> list[str]:
    """Return positions that make a line over itself again and again."""
    random.seed(1)
    return [
        f"{7.4 + random.random() / 10:.6f}{separator}{43.7 + random.random() / 10:.6f}"
        for _ in range(count)
    ]


def circle(count: int) -> list[str]:
    turns = [2 * pi * step / count for step in range(count)]
    return [f"{7.4 + 0.05 * cos(t):.7f} {43.7 + 0.05 * sin(t):.7f}" for t in turns]


def line(positions: list[str]) -> str:
    return f'"LINESTRING({",".join(positions)})"{WKT}'


def polygon(positions: list[str]) -> str:
    return f'"POLYGON(({",".join([*positions, positions[0]])}))"{WKT}'


def chained(function: str, count: int) -> str:
    """Return BINDs of ?a0 … each a function of the one before."""
    return " ".join(
        f"BIND({function.replace('?', f'?a{step}')} AS ?a{step + 1})" for step in range(count)
    )


SERVED = {
    "400 ||": "SELECT ?s { ?s osmkey:amenity ?a FILTER("
    + " || ".join(f"?a = 'x{i}'" for i in range(399))
    + " || ?a = 'cafe') }",
    "400 &&": "SELECT ?s { ?s osmkey:amenity ?a FILTER("
    + " && ".join(f"?a != 'x{i}'" for i in range(400))
    + ") } LIMIT 3",
    "1,000 UNIONs": "SELECT ?s { "
    + " UNION ".join(f"{{ ?s osmkey:amenity 'x{i}' }}" for i in range(999))
    + " UNION { ?s osmkey:amenity 'cafe' } }",
    "500 +": f"SELECT ({'+'.join(['1'] * 500)} AS ?n) {{}}",
    "500 + of a variable": f"SELECT ({'+'.join(['?x'] * 500)} AS ?n) "
    "{ ?s osmkey:amenity 'cafe' BIND(1 AS ?x) } LIMIT 3",
    "1,900 patterns": "SELECT * { "
    + " ".join(f"?s osmkey:k{i} ?v{i} ." for i in range(1900))
    + " }",
    "a path of 600 steps": f"SELECT * {{ ?s {'/'.join(['osmkey:a'] * 600)} ?v }}",
    "1,900 alternatives": "SELECT * { ?s "
    + "|".join(f"osmkey:a{i}" for i in range(1900))
    + " ?v }",
    "a list of 20,000": "SELECT ?s { ?s osmkey:name ?a FILTER(?a IN ("
    + ",".join(f"'x{i}'" for i in range(20_000))
    + ")) }",
    "300 OPTIONALs": "SELECT * { ?s osmkey:amenity 'cafe' "
    + " ".join(f"OPTIONAL {{ ?s osmkey:k{i} ?x{i} }}" for i in range(300))
    + " }",
    "a circle of 40,000 positions": f"SELECT (geof:metricBuffer({polygon(circle(40_000))}, 1000) "
    "AS ?b) {}",
    "a polygon over itself": 'SELECT (geof:isEmpty(geof:intersection("POLYGON((0 0,1 1,1 0,0 1,0 0))"'
    f'{WKT}, "POLYGON((0 0,2 0,2 2,0 2,0 0))"{WKT})) AS ?e) {{}}',
    "a negative buffer": "SELECT (geof:metricBuffer(?g, -50) AS ?e) "
    "{ ?s osmkey:leisure 'park' ; geo:hasGeometry/geo:asWKT ?g }",
}

REFUSED = {
    "20,000 patterns": "SELECT * { "
    + " ".join(f"?s osmkey:k{i} ?v{i} ." for i in range(20_000))
    + " }",
    "3,000 MINUS": "SELECT * { ?s osmkey:amenity 'cafe' "
    + " ".join(f"MINUS {{ ?s osmkey:k{i} ?x }}" for i in range(3000))
    + " }",
    "1,900 groups": "SELECT * { " + " ".join(["{ ?s osmkey:amenity ?x }"] * 1900) + " }",
    "1,900 BINDs": "SELECT * { " + " ".join(f"BIND({i} AS ?x{i})" for i in range(1900)) + " }",
    "a path of 20,000 steps": f"SELECT * {{ ?s {'/'.join(['osmkey:a'] * 20_000)} ?v }}",
    "steps within a path": f"SELECT * {{ ?s ({'/'.join(['osmkey:a'] * 20_000)})+ ?v }}",
    "all that hang together": "SELECT (COUNT(*) AS ?n) { ?s ((osmrel:member/osmrel:member_id)|"
    "^(osmrel:member/osmrel:member_id)|(osmway:member/osmway:member_id)|"
    "^(osmway:member/osmway:member_id))+ ?v }",
    "a chain of REPLACE": "SELECT (SUM(STRLEN(?a8)) AS ?n) { ?s osmkey:name ?a0 "
    + chained("REPLACE(?, '[a-z]', 'aaaaaaaaaa')", 8)
    + " }",
    "REPLACE within REPLACE": "SELECT (SUM(STRLEN("
    + "REPLACE(" * 9
    + "?a"
    + ", '.', 'aaaaaaaaaa')" * 9
    + ")) AS ?n) { ?s osmkey:name ?a }",
    "a text twice as long 30 times": "SELECT (STRLEN(?a30) AS ?n) { BIND('xxxxxxxxxx' AS ?a0) "
    + chained("CONCAT(?, ?)", 30)
    + " }",
    "GROUP_CONCAT of geometries": "SELECT (GROUP_CONCAT(?w) AS ?n) "
    "{ ?s geo:hasGeometry/geo:asWKT ?g BIND(STR(geof:metricBuffer(?g, 100)) AS ?w) }",
    "ORDER BY over pairs": "SELECT ?s { ?s osmkey:building ?o . ?t osmkey:highway 'residential' } "
    "ORDER BY CONCAT(STR(?s), STR(?t))",
    "a buffer around a zigzag": f"SELECT (geof:metricBuffer({line(zigzag(30_000))}, 1000) AS ?b) {{}}",
    "a thin buffer around a zigzag": f"SELECT (geof:metricBuffer({line(zigzag(20_000))}, 1) AS ?b) {{}}",
    "an area of a zigzag": f"SELECT (geof:area({polygon(zigzag(5000))}) AS ?b) {{}}",
    "a long literal": f"SELECT (STRLEN(STR(geof:envelope({line(['1 2'] * 60_000)}))) AS ?b) {{}}",
    "500 products": "SELECT * { " + " ".join(
        f"{{ ?s osmkey:amenity ?x{i} }}" for i in range(500)) + " }",
    "nested 500 deep": f"SELECT ({'(' * 500}1{')' * 500} AS ?x) {{}}",
}  # fmt: skip


def bounded(run: Callable[[], object]) -> MapyardError | None:
    """Run within the time and memory that a query may have; return its refusal."""
    began_s = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refusal = None
    try:
        run()
    except MapyardError as error:
        refusal = error
    assert time.monotonic() - began_s < LIMIT_S + LATE_S
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown < BYTES + BESIDE_BYTES
    return refusal


@pytest.fixture(scope="module")
def engine(monaco_store: Store) -> Engine:
    engine = Engine(OsmSource(monaco_store), Limits(max_bytes=BYTES))
    ask(engine, "ASK { ?s osmkey:name 'x' }")  # finds the index of texts
    return engine


def ask(engine: Engine, text: str) -> None:
    result = engine.query(text, Deadline(LIMIT_S))
    if isinstance(result, Solutions):
        for _ in write_json(result):
            pass


@pytest.mark.parametrize("name", SERVED)
def test_long_sparql_is_answered(engine: Engine, name: str) -> None:
    refusal = bounded(lambda: ask(engine, SERVED[name]))
    assert refusal is None, refusal.message


@pytest.mark.parametrize("name", REFUSED)
def test_sparql_without_end_is_refused(engine: Engine, name: str) -> None:
    refusal = bounded(lambda: ask(engine, REFUSED[name]))
    assert refusal is not None
    assert refusal.status in (400, 408, 413)


BOX = "(43.5,7.2,43.9,7.6)"
OVERPASS_SERVED = {
    "1,000 members": "(" + "".join(f'node["a{i}"];' for i in range(1000)) + ");out count;",
    "400 ||": f"node{BOX}(if:" + "||".join(f't["a{i}"]=="x"' for i in range(100)) + ");out count;",
    "500 +": "node(1)(if:" + "+".join(["1"] * 500) + ">5);out count;",
    "500 deep": "(" * 500 + "node(1);" + ");" * 500 + "out count;",
    "1,000 parentheses": "node(1)(if:" + "(" * 1000 + "1" + ")" * 1000 + ");out count;",
    "a polygon of 10,000": 'node(poly:"' + " ".join(
        " ".join(reversed(p.split())) for p in circle(10_000)) + '");out count;',
}  # fmt: skip
OVERPASS_REFUSED = {
    "a polygon of a zigzag": f'node(poly:"{" ".join(zigzag(5000))}");out count;',
    "around a zigzag": f"nwr(around:100,{','.join(','.join(reversed(p.split())) for p in zigzag(20_000))});"
    "out count;",
    "a text twice as long 40 times": 'make x a="xxxxxxxxxx"->.a;'
    + '.a convert x a=t["a"]+t["a"]->.a;' * 40
    + ".a out count;",
    "a text twice as long per element": f'make x a="xxxxxxxxxx"->.a;node{BOX};'
    'foreach(.a convert x a=t["a"]+t["a"]->.a;);.a out count;',
    "an area of a zigzag": "make x ::geom=poly(lstr("
    + ",".join(f"pt({p})" for p in zigzag(3000, ","))
    + "));out geom;",
    "a loop in a loop": f"node{BOX};foreach(node{BOX};foreach(node(1);););out count;",
    "all areas at all nodes": f"node{BOX};foreach(is_in;);out count;",
    "1,024 deep": "(" * 1024 + "node(1);" + ");" * 1024 + "out count;",
}


def run_overpass(store: Store, text: str) -> None:
    run_text(store, text, deadline=Deadline(LIMIT_S), max_bytes=BYTES)


@pytest.mark.parametrize("name", OVERPASS_SERVED)
def test_long_overpass_is_answered(monaco_store: Store, name: str) -> None:
    refusal = bounded(lambda: run_overpass(monaco_store, OVERPASS_SERVED[name]))
    assert refusal is None, refusal.message


@pytest.mark.parametrize("name", OVERPASS_REFUSED)
def test_overpass_without_end_is_refused(monaco_store: Store, name: str) -> None:
    refusal = bounded(lambda: run_overpass(monaco_store, OVERPASS_REFUSED[name]))
    assert refusal is not None
    assert refusal.status in (400, 408, 413)


def test_sorting_looks_at_the_time(engine: Engine) -> None:
    with pytest.raises((Timeout, TooLarge)):
        ask(engine, "SELECT ?s ?p ?o ?h { ?s ?p ?o BIND(SHA512(STR(?o)) AS ?h) } ORDER BY ?h ?o ?s")


#: A shape of every odd kind that a literal can have.
ODD = (
    "POINT EMPTY", "POLYGON EMPTY", "GEOMETRYCOLLECTION EMPTY", "POINT Z(1 2 3)", "POINT(nan nan)",
    "POLYGON((0 0,1 1,1 0,0 1,0 0))", "POLYGON((0 0,0 0,0 0,0 0))", "LINESTRING(1 1,1 1)",
    "POLYGON((0 0,4 0,4 4,0 4,0 0),(1 1,5 1,5 5,1 5,1 1))", "POINT(500 900)", "nonsense",
    "MULTIPOLYGON(((0 0,2 0,2 2,0 2,0 0)),((1 1,3 1,3 3,1 3,1 1)))",
    "GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,2 2),POLYGON((0 0,1 0,1 1,0 0)))",
)  # fmt: skip


@pytest.mark.parametrize("text", ODD)
def test_no_odd_shape_is_a_fault(engine: Engine, text: str) -> None:
    one = f'"{text}"{WKT}'
    for name in (
        "envelope", "convexHull", "centroid", "boundary", "asWKT", "isEmpty", "geometryType",
        "area", "length", "minX", "latitude", "asGeoJSON",
    ):  # fmt: skip
        ask(engine, f"SELECT (geof:{name}({one}) AS ?r) {{}}")
    for radius in (-1000, 0, 1000):
        ask(engine, f"SELECT (geof:metricBuffer({one}, {radius}) AS ?r) {{}}")
    for other in ODD:
        pair = f'{one}, "{other}"{WKT}'
        parts = " ".join(
            f"(geof:{name}({pair}) AS ?{name})"
            for name in ("intersection", "union", "difference", "symDifference", "sfIntersects",
                         "sfEquals", "sfTouches", "sfOverlaps", "metricDistance")
        )  # fmt: skip
        ask(engine, f"SELECT {parts} {{}}")
