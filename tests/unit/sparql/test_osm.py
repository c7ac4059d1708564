"""The map as triples: the same questions to us and to Oxigraph with the same triples."""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest

from mapyard.sparql.engine import Engine, Solutions, Triples, Truth
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.terms.prefixes import PREFIXES
from mapyard.sparql.terms.terms import BlankNode, Iri, Literal, format_term
from mapyard.sparql.terms.values import find_number
from mapyard.store.reader import Store
from osm_triples import iter_triples
from sparql_cases import CASES, GEOMETRY, NOT_SHARED, Case

HEAD = "".join(f"PREFIX {p}: <{n}>\n" for p, n in PREFIXES.items())
PLACES = {
    "area": "1124039", "south": "43.73", "west": "7.415", "north": "43.74", "east": "7.425",
    "point": "POINT(7.4246 43.7384)",
    "box": "POLYGON((7.415 43.73,7.425 43.73,7.425 43.74,7.415 43.74,7.415 43.73))",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(monaco_store: Store) -> Engine:
    return Engine(OsmSource(monaco_store))


@pytest.fixture(scope="module")
def oracle(monaco_store: Store) -> ox.Store:
    store = ox.Store()
    text = "".join(iter_triples(monaco_store, sophox=True))
    store.bulk_load(io.BytesIO(text.encode()), ox.RdfFormat.N_TRIPLES)
    return store


def fill(text: str) -> str:
    for name, value in PLACES.items():
        text = text.replace("{" + name + "}", value)
    return text


def rows_of(result: Any) -> list[tuple[Any, ...]]:
    if isinstance(result, Truth):
        return [(result.value,)]
    assert isinstance(result, Solutions)
    rows: list[tuple[Any, ...]] = []
    for table in result.tables:
        columns = [
            result.runtime.decode(table.ids(name, result.runtime.pool)) for name in result.variables
        ]
        rows += zip(*columns, strict=True)
    return [tuple(map(plain, row)) for row in rows]


def plain(term: Any) -> Any:
    """Return a text that only differs between terms of different value."""
    if isinstance(term, Literal) and (number := find_number(term)):
        return round(float(number[0]), 6)
    return "_:" if isinstance(term, BlankNode) else None if term is None else format_term(term)


def rows_of_oracle(oracle: ox.Store, text: str) -> list[tuple[Any, ...]]:
    result = oracle.query(HEAD + text)
    if isinstance(result, ox.QueryBoolean):
        return [(bool(result),)]
    return [
        tuple(plain(term_of(solution[v])) for v in result.variables)
        for solution in result
        if not any(
            (isinstance(t := solution[v], ox.NamedNode) and t.value in NOT_SHARED)
            or (isinstance(t, ox.NamedNode) and t.value.startswith("https://wiki."))
            for v in result.variables
        )
    ]  # fmt: skip


def term_of(node: Any) -> Any:
    if node is None:
        return None
    if isinstance(node, ox.NamedNode):
        return Iri(node.value)
    if isinstance(node, ox.BlankNode):
        return BlankNode(node.value)
    return Literal(node.value, node.datatype.value, node.language or "")


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_same_answer_as_oxigraph(case: Case, engine: Engine, oracle: ox.Store) -> None:
    ours = rows_of(engine.query(fill(case.ours)))
    mine = [row for row in ours if not any(f"<{p}>" in row for p in NOT_SHARED)]
    theirs = rows_of_oracle(oracle, fill(case.theirs or case.ours))
    assert Counter(mine) == Counter(theirs)
    if "no" not in case.name.split():
        assert mine


def ask(engine: Engine, text: str) -> list[Any]:
    rows = rows_of(engine.query(text))
    return [row[0] for row in rows] if rows and len(rows[0]) == 1 else rows


def test_counts_of_predicates_are_those_of_the_triples(engine: Engine) -> None:
    counted = dict(ask(engine, "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p"))
    total = ask(engine, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    assert total == [sum(counted.values())]
    walked = dict(ask(engine, "SELECT ?p (COUNT(?s) AS ?n) { ?s ?p ?o FILTER(true) } GROUP BY ?p"))
    assert walked == counted


def test_everything_of_an_element(engine: Engine, monaco_store: Store) -> None:
    row = int(monaco_store.rows_with_tag("amenity", "cafe")[0])
    name = monaco_store.name_of(row)
    described = engine.query(f"DESCRIBE <https://www.openstreetmap.org/{name}>")
    assert isinstance(described, Triples)
    triples = list(described.triples)
    tags = {p[0].rpartition("Key:")[2]: o[0] for _, p, o in triples if "Key:" in p[0]}
    assert tags == monaco_store.tags(row)
    kinds = {p[0].rpartition("/")[2].rpartition("#")[2] for _, p, _ in triples}
    assert {"type", "version", "timestamp", "hasGeometry", "facts"} <= kinds


def test_the_query_of_the_client_libraries(engine: Engine) -> None:
    text = 'SELECT ?s ?name WHERE { ?s osm:name ?name . ?s osm:amenity "cafe" } LIMIT 10'
    assert len(ask(engine, text)) == 10


def test_values_typed_as_on_the_public_endpoints(engine: Engine) -> None:
    items = ask(engine, "SELECT ?w { ?s osmt:wikidata ?w }")
    assert items
    assert all(item.startswith("<http://www.wikidata.org/entity/Q") for item in items)
    linked = ask(engine, "SELECT ?w { ?s osm2rdfkey:wikidata ?w }")
    assert Counter(items) == Counter(linked)
    texts = ask(engine, "SELECT ?w { ?s osmkey:wikidata ?w }")
    assert all(text.startswith('"Q') for text in texts)
    pages = ask(engine, "SELECT ?w { ?s osmt:wikipedia ?w }")
    assert any(page.startswith("<https://fr.wikipedia.org/wiki/") for page in pages)
    both = "SELECT ?s { ?s osmkey:admin_level %s ; osmkey:name 'Monaco' }"
    assert ask(engine, both % "2") == ask(engine, both % "'2'") != []


def test_nodes_of_ways(engine: Engine, monaco_store: Store) -> None:
    row = int(monaco_store.rows_with_tag("highway", "pedestrian")[0])
    way = f"osmway:{monaco_store.ids[row]}"
    refs = monaco_store.way_nodes(np.array([row])).values
    wanted = [f"<https://www.openstreetmap.org/node/{i}>" for i in monaco_store.node_ids(refs)]
    found = ask(
        engine,
        f"SELECT ?n {{ {way} osmway:member ?m . ?m osmway:member_id ?n ; osmway:member_pos ?p }} "
        "ORDER BY ?p",
    )
    assert found == wanted
    counts = ask(
        engine, f"SELECT ?a ?b {{ {way} osmway:nodeCount ?a ; osmway:uniqueNodeCount ?b }}"
    )
    assert counts == [(len(refs), len(set(refs.tolist())))]
    following = ask(
        engine,
        f"SELECT ?n {{ {way} osmway:member ?m . ?m osmway:next_node ?n ; osmway:member_pos ?p }} "
        "ORDER BY ?p",
    )
    assert following == wanted[1:]
    back = ask(engine, f"SELECT ?w {{ ?w osmway:member/osmway:member_id {wanted[0]} }}")
    assert f"<https://www.openstreetmap.org/way/{monaco_store.ids[row]}>" in back


def test_old_member_vocabulary(engine: Engine) -> None:
    head = "SELECT ?m ?r { osmrel:1124039 osmrel:member ?x . ?x "
    new = head + "osmrel:member_id ?m ; osmrel:member_role ?r }"
    old = head + "osm2rdfmember:id ?m ; osm2rdfmember:role ?r }"
    assert Counter(ask(engine, new)) == Counter(ask(engine, old)) != Counter()


def as_wkt(expression: str) -> str:
    """Give quoted shapes their datatype."""
    return re.sub(r"('[A-Z]+\([^']*\)')", r"\1^^geo:wktLiteral", expression)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("geof:distance('POINT(0 0)', 'POINT(0 1)')", 111.19508),
        (
            "geof:metricDistance('POINT(0 0)', 'POINT(1 0)')",
            111195.08,
        ),
        (
            "geof:distance('POINT(0 0)', 'POINT(0 1)', unit:MI)",
            69.093,
        ),
        (
            "geof:distance('POINT(0 0)', 'POINT(0 1)', uom:metre)",
            111195.08,
        ),
        (
            "geof:metricDistance('POINT(0 1)', 'LINESTRING(-1 0,1 0)')",
            111195.08,
        ),
        ("geof:metricArea('POLYGON((0 0,1 0,1 1,0 1,0 0))')", 1.23636e10),
        ("geof:length('LINESTRING(0 0,0 1,0 2)', unit:KiloM)", 222.39016),
        ("geof:metricLength('POLYGON((0 0,0 1,0 0))')", 222390.16),
        ("geof:latitude('POINT(7 43)')", 43.0),
        ("geof:maxX('LINESTRING(0 0,3 1)')", 3.0),
        ("geof:minY('LINESTRING(0 -2,3 1)')", -2.0),
        (
            "geof:metricArea(geof:buffer('POINT(7 43)', 1000, uom:metre)) / 1000000",
            3.1365,
        ),
    ],
)
def test_measures(engine: Engine, expression: str, result: float) -> None:
    expression = as_wkt(expression)
    (value,) = ask(engine, f"SELECT ({expression} AS ?x) {{}}")
    assert value == pytest.approx(result, rel=2e-3)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("geof:envelope('LINESTRING(0 0,2 1)')", "POLYGON((0 0,2 0,2 1,0 1,0 0))"),
        ("geof:centroid('LINESTRING(0 0,2 0)')", "POINT(1 0)"),
        (
            "geof:convexHull('MULTIPOINT(0 0,1 0,0 1)')",
            "POLYGON((0 0,0 1,1 0,0 0))",
        ),
        ("geof:boundary('LINESTRING(0 0,2 0)')", "MULTIPOINT((0 0),(2 0))"),
        (
            "geof:intersection('LINESTRING(0 0,2 0)', 'LINESTRING(1 -1,1 1)')",
            "POINT(1 0)",
        ),
        (
            "geof:union('POINT(0 0)', 'POINT(1 1)')",
            "MULTIPOINT((0 0),(1 1))",
        ),
        (
            "geof:difference('LINESTRING(0 0,2 0)', 'LINESTRING(1 0,3 0)')",
            "LINESTRING(0 0,1 0)",
        ),
    ],
)
def test_shapes(engine: Engine, expression: str, result: str) -> None:
    expression = as_wkt(expression)
    (value,) = ask(engine, f"SELECT (STR({expression}) AS ?x) {{}}")
    assert value == f'"{result}"'


def test_other_geometry_functions(engine: Engine) -> None:
    wkt = "<http://www.opengis.net/def/crs/EPSG/0/4326> LINESTRING(1 2,3 4)"
    text = f"""SELECT (geof:geometryType(?g) AS ?t) (geof:isEmpty(?g) AS ?e)
    (geof:asGeoJSON(?g) AS ?j) (geof:latitude(?g) AS ?none)
    {{ BIND("{wkt}"^^geo:wktLiteral AS ?g) }}"""
    ((kind, empty, geojson, none),) = ask(engine, text)
    assert kind.startswith('"http://www.opengis.net/ont/sf#LineString"')
    assert empty.startswith('"false"')
    assert "[[2.0,1.0],[4.0,3.0]]" in geojson
    assert none is None  # no point


def test_nearest_of_the_spatial_search(engine: Engine) -> None:
    pairs = f"""?c osmkey:amenity 'cafe' ; {GEOMETRY} ?cg .
        ?b osmkey:highway 'bus_stop' ; {GEOMETRY} ?bg"""
    every = ask(engine, f"SELECT ?c ?b (geof:metricDistance(?cg, ?bg) AS ?d) {{ {pairs} }}")
    best: dict[str, list[float]] = {}
    for cafe, _, distance in every:
        best.setdefault(cafe, []).append(distance)
    found = ask(
        engine,
        f"""SELECT ?c ?b ?d {{ ?c osmkey:amenity 'cafe' ; {GEOMETRY} ?cg
        SERVICE spatialSearch: {{ _:c spatialSearch:left ?cg ; spatialSearch:right ?bg ;
          spatialSearch:numNearestNeighbors 3 ; spatialSearch:bindDistance ?d ;
          spatialSearch:payload ?b . {{ ?b osmkey:highway 'bus_stop' ; {GEOMETRY} ?bg }} }} }}""",
    )
    near: dict[str, list[float]] = {}
    for cafe, _, distance_km in found:
        near.setdefault(cafe, []).append(distance_km * 1000)
    assert near.keys() == best.keys()
    for cafe, distances in near.items():
        assert sorted(distances) == pytest.approx(sorted(best[cafe])[:3], abs=0.02)


@pytest.mark.parametrize("kind", ["within", "intersects"])
def test_join_types_of_the_spatial_search(engine: Engine, kind: str) -> None:
    left = f"?b osmkey:amenity 'bench' ; {GEOMETRY} ?bg"
    right = f"?p osmkey:leisure 'park' ; {GEOMETRY} ?pg"
    searched = ask(
        engine,
        f"SELECT ?b ?p {{ {left} SERVICE qlss: {{ _:c qlss:left ?bg ; qlss:right ?pg ; "
        f"qlss:joinType qlss:{kind} . {{ {right} }} }} }}",
    )
    filtered = ask(
        engine,
        f"SELECT ?b ?p {{ {left} . {right} FILTER(geof:sf{kind.capitalize()}(?bg, ?pg)) }}",
    )
    assert Counter(searched) == Counter(filtered) != Counter()


def test_relations_between_elements_need_one_side(engine: Engine) -> None:
    from mapyard.errors import Unsupported

    with pytest.raises(Unsupported, match="both sides unbound"):
        ask(engine, "SELECT * { ?a ogc:sfIntersects ?b }")
    with pytest.raises(Unsupported, match="is another server"):
        ask(engine, "SELECT * { SERVICE <https://query.wikidata.org/sparql> { ?a ?b ?c } }")
    with pytest.raises(Unsupported, match="one graph"):
        ask(engine, "SELECT * FROM <http://e.org/g> { ?a ?b ?c }")
    with pytest.raises(Unsupported, match="needs one end"):
        ask(engine, "SELECT * { ?a osmkey:x* ?c }")


def test_within_is_the_reverse_of_contains(engine: Engine) -> None:
    contains = (
        "SELECT ?a ?b { ?a osmkey:leisure 'park' ; ogc:sfContains ?b . ?b osmkey:barrier [] }"
    )
    within = "SELECT ?a ?b { ?b osmkey:barrier [] ; geo:sfWithin ?a . ?a osmkey:leisure 'park' }"
    assert Counter(ask(engine, contains)) == Counter(ask(engine, within)) != Counter()


def test_a_distance_calculated_on_one_side_of_a_union_only(engine: Engine) -> None:
    distance = "geof:metricDistance(?g, 'POINT(7.42 43.735)'^^geo:wktLiteral)"
    bars = f"?s osmkey:amenity 'bar' ; {GEOMETRY} ?g"
    shops = f"?s osmkey:shop 'bakery' ; {GEOMETRY} ?g"
    found = ask(
        engine,
        f"SELECT ?s ({distance} AS ?d) {{ {{ {bars} FILTER({distance} < 500) }} "
        f"UNION {{ {shops} }} }}"
        f" ORDER BY {distance}",
    )
    distances = [row[1] for row in found]
    assert None not in distances
    assert distances == sorted(distances)
    assert distances[-1] > 500


def test_values_kept_from_constants_do_not_outlive_their_query(engine: Engine) -> None:
    parks = (
        "SELECT ?b { ?p osmkey:leisure 'park' ; geo:hasGeometry/geo:asWKT ?pg . "
        "?b osmkey:amenity 'bench' ; geo:hasGeometry/geo:asWKT ?bg "
        "FILTER(geof:sfWithin(?bg, ?pg)) }"
    )
    before = len(rows_of(engine.query(parks)))
    point = '"POINT(7 43)"^^geo:wktLiteral'
    rows_of(engine.query(f"SELECT (geof:metricDistance({point}, {point}) AS ?d) {{}}"))
    assert len(rows_of(engine.query(parks + " LIMIT 100000"))) == before > 0


#: Predicates that osm2rdf writes (its own list of constants) and those of Sophox.
VOCABULARY = (
    "rdf:type", "osm2rdf:area", "osm2rdf:facts", "osm2rdf:hasCompleteGeometry",
    "osm2rdf:length", "osm2rdfgeom:convex_hull", "osm2rdfgeom:envelope", "osm2rdfgeom:obb",
    "osm2rdfgeom:centroid", "geo:hasGeometry", "geo:hasCentroid", "geo:asWKT",
    "geo:hasSerialization", "geo:hasDefaultGeometry", "osmrel:member", "osmrel:member_id",
    "osmrel:member_role", "osmrel:member_pos", "osmway:member", "osmway:member_id",
    "osmway:member_pos", "osmway:node", "osmway:node_id", "osmway:next_node",
    "osmway:next_node_distance", "osmway:is_closed", "osmway:nodeCount",
    "osmway:uniqueNodeCount", "osmmeta:version", "osmmeta:timestamp", "osmmeta:visible",
    "osm2rdfmember:id", "osm2rdfmember:role", "osm2rdfmember:pos", "osmm:loc", "osmm:type",
    "osmm:isClosed", "osmm:has", "osmkey:highway", "osmt:highway", "osm:highway",
    "osm2rdfkey:wikidata",
)  # fmt: skip


@pytest.mark.parametrize("predicate", VOCABULARY)
def test_every_predicate_of_the_vocabulary_has_triples(engine: Engine, predicate: str) -> None:
    prepared = engine.prepare(f"SELECT ?o {{ ?s {predicate} ?o }} LIMIT 1")
    assert engine.warnings(prepared) == []
    # Centroids are found by their node only.
    subject = "?x geo:hasCentroid ?s . " if predicate == "geo:asWKT" else ""
    assert len(rows_of(engine.query(f"SELECT ?o {{ {subject}?s {predicate} ?o }} LIMIT 1"))) == 1


def test_measures_of_osm2rdf(engine: Engine) -> None:
    (largest,) = rows_of(
        engine.query("SELECT ?p ?a { ?p osmkey:leisure 'park' ; osm2rdf:area ?a } "
                     "ORDER BY DESC(?a) LIMIT 1")
    )  # fmt: skip
    (measured,) = rows_of(
        engine.query(f"SELECT (geof:metricArea(?g) AS ?a) {{ {largest[0]} {GEOMETRY} ?g }}")
    )
    assert largest[1] == pytest.approx(measured[0], abs=1e-3)
    by_node = "?w osmway:member ?m . ?m osmway:next_node_distance ?d"
    (row,) = rows_of(
        engine.query(f"SELECT ?w (SUM(?d) AS ?m) (SAMPLE(?l) AS ?length) {{ ?w osm2rdf:length ?l "
                     f"{{ SELECT ?w {{ ?w osmkey:highway 'primary' }} LIMIT 1 }} {by_node} }} "
                     "GROUP BY ?w")
    )  # fmt: skip
    assert row[1] == pytest.approx(row[2], abs=1e-2)


@pytest.mark.parametrize(
    ("pattern", "warning"),
    [
        ("?s osmkey:amenty ?a", "did you mean osmkey:amenity?"),
        ("?s osm2rdf:areea ?a", "did you mean osm2rdf:area?"),
        ("?s osmkey:amenity/^osmkey:shopp ?a", "did you mean osmkey:shop?"),
        ("?s osmkey:amenity ?a FILTER NOT EXISTS { ?s ogc:sfContain ?v }", "ogc:sfContains?"),
        ("?s osmkey:amenity ?a ; <http://example.org/x> ?y", ""),
    ],
)
def test_unknown_predicates_are_named(engine: Engine, pattern: str, warning: str) -> None:
    found = " ".join(engine.warnings(engine.prepare(f"SELECT * {{ {pattern} }}")))
    assert (warning in found) if warning else not found
