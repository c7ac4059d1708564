# ruff: noqa: E501 - tables of queries
"""How often Mapyard and Oxigraph give the same solutions, on the same triples.

.venv/bin/python -m bench.sparql_agreement DATA …

DATA is a data folder. Its elements are written as triples (tests/osm_triples.py, apart from the engine)
and loaded into pyoxigraph. Questions are made from the extract's own keys and values.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox

from mapyard.errors import MapyardError
from mapyard.sparql.engine import Engine, Solutions, Triples, Truth
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.terms.prefixes import PREFIXES
from mapyard.sparql.terms.terms import NUMERIC_TYPES, BlankNode, Iri, Literal, Term
from mapyard.store.reader import E7, Store, open_store

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from osm_triples import iter_triples

HEAD = "".join(f"PREFIX {name}: <{space}>\n" for name, space in PREFIXES.items())
#: With `K` and `V` each of the most frequent keys and its most frequent value; `L` another key.
OF_KEY = (
    "SELECT ?s ?v { ?s osmkey:K ?v }",
    "SELECT ?v (COUNT(*) AS ?n) { ?s osmkey:K ?v } GROUP BY ?v",
    'SELECT ?s { ?s osmkey:K "V" ; a osm:way }',
    'SELECT (COUNT(DISTINCT ?v) AS ?n) (MIN(?v) AS ?a) (MAX(?v) AS ?b) { ?s osmkey:K ?v FILTER(?v != "V") }',
)
OF_PAIR = (
    "SELECT ?s ?a ?b { ?s osmkey:K ?a ; osmkey:L ?b }",
    'SELECT ?s ?b { ?s osmkey:K "V" OPTIONAL { ?s osmkey:L ?b } }',
    'SELECT ?s { ?s osmkey:K "V" MINUS { ?s osmkey:L ?b } }',
    'SELECT ?s { { ?s osmkey:K "V" } UNION { ?s osmkey:L ?b } }',
    'SELECT ?s { ?s osmkey:K "V" FILTER NOT EXISTS { ?s osmkey:L ?b } }',
    "SELECT ?a (COUNT(?b) AS ?n) { ?s osmkey:K ?a OPTIONAL { ?s osmkey:L ?b } } GROUP BY ?a HAVING(COUNT(?b) > 2)",
)
_NAMED = "?s osmkey:name ?n "
EXPRESSIONS = (
    "UCASE(?n)", "LCASE(?n)", "STRLEN(?n)", "SUBSTR(?n, 2, 3)", 'STRBEFORE(?n, " ")', 'STRAFTER(?n, " ")',
    'REPLACE(?n, "[aeiou]", "_")', 'CONCAT(?n, "-", ?n)', "ENCODE_FOR_URI(?n)", "MD5(?n)", "SHA256(?n)",
    'IF(CONTAINS(?n, "a"), 1, 2)', "DATATYPE(?n)", "LANG(?n)", 'STRLANG(?n, "de")', "isLITERAL(?n)",
    "isIRI(?s)", "STR(?s)", "xsd:integer(STRLEN(?n))", "STRLEN(?n) * 2 + 1", "STRLEN(?n) / 3", "-STRLEN(?n)",
    "ABS(5 - STRLEN(?n))", "CEIL(STRLEN(?n) / 2)", "FLOOR(STRLEN(?n) / 2)", "ROUND(STRLEN(?n) / 4)",
    'COALESCE(xsd:integer(?n), "none")', 'IRI(CONCAT("http://x/", STR(STRLEN(?n))))', "sameTerm(?n, ?n)",
    "?n = UCASE(?n)", "STRLEN(?n) IN (3, 5, 7)", "STRLEN(?n) NOT IN (3, 5, 7)",
)  # fmt: skip
FILTERS = (
    'CONTAINS(?n, "an")', 'STRSTARTS(?n, "S")', 'STRENDS(?n, "e")', 'REGEX(?n, "^[A-M]")', 'REGEX(?n, "STRASSE$|RUE", "i")',
    '?n < "C"', '?n >= "T" && STRLEN(?n) > 8', 'STRLEN(?n) = 5 || STRLEN(?n) = 9', '!CONTAINS(?n, " ")',
    'LCASE(?n) = ?n', 'SUBSTR(?n, 1, 1) IN ("A", "B")', "EXISTS { ?s osmkey:highway ?h }",
)  # fmt: skip
OTHERS = (
    "SELECT ?s ?v { ?s osmmeta:version ?v ; osmkey:highway ?h FILTER(?v > 12) }",
    "SELECT ?y (COUNT(*) AS ?n) { ?s osmmeta:timestamp ?t ; osmkey:highway ?h BIND(YEAR(?t) AS ?y) } GROUP BY ?y",
    "SELECT ?s { ?s osmmeta:timestamp ?t ; osmkey:highway ?h FILTER(?t > '2024-01-01T00:00:00Z'^^xsd:dateTime) }",
    "SELECT (MIN(?t) AS ?a) (MAX(?t) AS ?b) { ?s osmmeta:timestamp ?t ; osmkey:highway ?h }",
    "SELECT ?m (COUNT(*) AS ?n) { ?s osmmeta:timestamp ?t ; osmkey:highway ?h BIND(MONTH(?t) AS ?m) } GROUP BY ?m",
    "SELECT (SUM(?v) AS ?n) (AVG(?v) AS ?a) { ?s osmmeta:version ?v ; a osm:relation }",
    "SELECT ?v (COUNT(*) AS ?n) { ?s osmmeta:version ?v ; a osm:way } GROUP BY ?v",
    "SELECT ?r ?m { ?r osmkey:route ?x ; osmrel:member ?e . ?e osmrel:member_id ?m }",
    "SELECT ?role (COUNT(*) AS ?n) { ?e osmrel:member_role ?role } GROUP BY ?role",
    "SELECT ?r ?m { ?r osmkey:type 'restriction' ; osmrel:member/osmrel:member_id ?m }",
    "SELECT ?r ?pos { ?r osmkey:type 'multipolygon' ; osmrel:member ?e . ?e osmrel:member_pos ?pos ; osmrel:member_role 'inner' }",
    "SELECT DISTINCT ?r { ?m osmkey:highway 'bus_stop' . ?m ^osmrel:member_id/^osmrel:member ?r }",
    "SELECT ?r ?x { ?r osmkey:type 'route_master' . ?r (osmrel:member/osmrel:member_id)+ ?x }",
    "SELECT ?s ?v { ?s osmkey:highway|osmkey:railway ?v }",
    "SELECT ?s ?v { ?s !(osmkey:name|osmkey:highway) ?v ; osmkey:amenity 'cafe' FILTER(isLITERAL(?v) && !isNUMERIC(?v) && DATATYPE(?v) = xsd:string) }",
    "SELECT ?s ?n { VALUES ?a { 'cafe' 'bar' 'pub' } ?s osmkey:amenity ?a OPTIONAL { ?s osmkey:name ?n } }",
    "SELECT ?a ?n { { SELECT ?a (COUNT(*) AS ?n) { ?s osmkey:amenity ?a } GROUP BY ?a } FILTER(?n > 20) }",
    "SELECT ?s ?n { ?s osmkey:amenity 'cafe' ; osmkey:name ?n { SELECT ?n { ?x osmkey:name ?n } GROUP BY ?n HAVING(COUNT(*) > 1) } }",
    "SELECT DISTINCT ?t { ?s osmkey:building ?b ; a ?t }",
    "SELECT ?n { ?s osmkey:name ?n } ORDER BY DESC(?n) ?s LIMIT 50",
    "SELECT ?n (COUNT(*) AS ?c) { ?s osmkey:name ?n } GROUP BY ?n ORDER BY DESC(?c) ?n LIMIT 30 OFFSET 5",
    "SELECT ?s ?k { ?s osmkey:tourism ?k ; geo:hasGeometry/geo:asWKT ?g FILTER(geof:sfWithin(?g, 'BOX'^^geo:wktLiteral)) }",
    "SELECT ?s { ?s osmkey:shop ?k ; geo:hasGeometry/geo:asWKT ?g FILTER(geof:sfIntersects(?g, 'BOX'^^geo:wktLiteral)) }",
    "SELECT ?s { ?s osmkey:building 'yes' ; geo:hasGeometry/geo:asWKT ?g FILTER(!geof:sfDisjoint(?g, 'BOX'^^geo:wktLiteral)) }",
    "SELECT (COUNT(*) AS ?n) { ?s osmkey:highway ?k ; geo:hasGeometry/geo:asWKT ?g FILTER(geof:sfCrosses(?g, 'BOX'^^geo:wktLiteral)) }",
    "ASK { ?s osmkey:amenity 'cafe' ; osmkey:name ?n }",
    "ASK { ?s osmkey:amenity 'no such thing' }",
    "CONSTRUCT { ?s <http://x/is> ?a } { ?s osmkey:amenity ?a ; osmkey:name ?n }",
    "CONSTRUCT { ?s <http://x/at> ?g . ?g <http://x/of> ?s } { ?s osmkey:tourism 'hotel' ; geo:hasGeometry ?g }",
    "SELECT ?p (COUNT(*) AS ?n) { ?s osmkey:amenity 'cafe' ; ?p ?o FILTER(STRSTARTS(STR(?p), STR(osmkey:))) } GROUP BY ?p",
    "SELECT ?s ?o { ?s ?p 'cafe' . ?s osmkey:name ?o }",
    "SELECT ?l (COUNT(*) AS ?n) { ?s osmkey:admin_level ?l } GROUP BY ?l",
    "SELECT ?s ?x { ?s osmkey:amenity 'cafe' BIND(BNODE() AS ?b) BIND(isBLANK(?b) AS ?x) }",
    "SELECT ?a (GROUP_CONCAT(DISTINCT ?t; SEPARATOR=',') AS ?x) { ?s osmkey:amenity ?a BIND('t' AS ?t) } GROUP BY ?a",
)  # fmt: skip


def iter_questions(store: Store, count: int = 13) -> Iterator[str]:
    """Yield the questions with the extract's own keys, values and places."""
    plain = [key for key in store.keys if key.isidentifier() and key != "admin_level"]
    counts = {key: store.key_count(key) for key in plain}
    keys = sorted(plain, key=lambda key: (-counts[key], key))[:count]
    most = {key: _most_frequent(store, key) for key in keys}
    for place, key in enumerate(keys):
        value = most[key].replace("\\", "\\\\").replace('"', '\\"')
        other = keys[(place + 3) % len(keys)]
        for text in (*OF_KEY, *OF_PAIR):
            yield (
                text.replace("osmkey:K", f"osmkey:{key}")
                .replace('"V"', f'"{value}"')
                .replace("osmkey:L", f"osmkey:{other}")
            )
    for expression in EXPRESSIONS:
        yield f"SELECT ?s ?n ({expression} AS ?x) {{ {_NAMED}}}"
    for condition in FILTERS:
        yield f"SELECT ?s ?n {{ {_NAMED}FILTER({condition}) }}"
    rows = np.sort(store.rows_with_key("name"))
    nodes = rows[rows < store.node_count]
    lon, lat = np.sort(store.lon[nodes]) / E7, np.sort(store.lat[nodes]) / E7
    west, east = lon[len(lon) // 3], lon[2 * len(lon) // 3]
    south, north = lat[len(lat) // 3], lat[2 * len(lat) // 3]
    ring = f"{west} {south},{east} {south},{east} {north},{west} {north},{west} {south}"
    for text in OTHERS:
        yield text.replace("BOX", f"POLYGON(({ring}))")


def _most_frequent(store: Store, key: str) -> str:
    start, stop = store.kv_range(key)
    best = int(np.argmax(store.kv_counts(start, stop)))
    return store.values(np.array([start + best]))[0]


def plain(term: Term | None) -> Any:
    """Return what has to be equal of one of our terms: numbers by value, blank nodes as such."""
    if term is None or isinstance(term, BlankNode):
        return term and "_:"
    if isinstance(term, Iri):
        return f"<{term.value}>"
    assert isinstance(term, Literal)
    return _literal(term.lexical, term.datatype, term.language)


def plain_theirs(term: Any) -> Any:
    """Return the same of one of Oxigraph's terms."""
    if term is None or isinstance(term, ox.BlankNode):
        return term and "_:"
    if isinstance(term, ox.NamedNode):
        return f"<{term.value}>"
    return _literal(term.value, term.datatype.value, term.language or "")


def _literal(text: str, datatype: str, language: str) -> Any:
    if datatype in NUMERIC_TYPES:
        try:
            return round(Decimal(text), 9).normalize()
        except InvalidOperation:
            pass
    return text, datatype, language


def ask_ours(engine: Engine, text: str) -> Counter[Any]:
    """Return our solutions, counted."""
    result = engine.query(text)
    if isinstance(result, Truth):
        return Counter([result.value])
    if isinstance(result, Triples):
        return Counter(tuple(map(plain, triple)) for triple in result.triples)
    assert isinstance(result, Solutions)
    found: Counter[Any] = Counter()
    for table in result.tables:
        columns = [
            result.runtime.decode(table.ids(n, result.runtime.pool)) for n in result.variables
        ]
        found.update(tuple(map(plain, row)) for row in zip(*columns, strict=True))
    return found


def ask_theirs(peer: ox.Store, text: str) -> Counter[Any]:
    """Return Oxigraph's."""
    result: Any = peer.query(HEAD + text)
    if isinstance(result, ox.QueryBoolean):
        return Counter([bool(result)])
    if isinstance(result, ox.QueryTriples):
        return Counter(
            {tuple(map(plain_theirs, (t.subject, t.predicate, t.object))) for t in result}
        )
    names = [variable.value for variable in result.variables]
    return Counter(tuple(plain_theirs(row[name]) for name in names) for row in result)


def main() -> None:
    """Compare, and print what differs and how many are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    for folder in parser.parse_args().data:
        store = open_store(folder / "current" / "elements")
        engine = Engine(OsmSource(store))
        peer = ox.Store()
        text = "".join(iter_triples(store))
        peer.bulk_load(io.BytesIO(text.encode()), ox.RdfFormat.N_TRIPLES)
        equal = count = solutions = 0
        for question in iter_questions(store):
            count += 1
            theirs = ask_theirs(peer, question)
            try:
                ours = ask_ours(engine, question)
            except MapyardError as error:
                print(f"refused: {question}\n   {error.message}")
                continue
            solutions += theirs.total()
            if ours == theirs:
                equal += 1
                continue
            print(f"differs: {question}\n   {theirs.total()} there, {ours.total()} here")
            print(
                f"   only here {list((ours - theirs).items())[:2]}\n   only there {list((theirs - ours).items())[:2]}"
            )
        print(
            f"{folder}: {equal} of {count} equal, {solutions:,} solutions; pyoxigraph {ox.__version__}",
            flush=True,
        )


if __name__ == "__main__":
    main()
