"""SPARQL 1.2: triple terms in expressions and VALUES, base direction, and what is refused."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import orjson
import pytest

from mapyard.errors import InvalidQuery, MapyardError, Unsupported
from mapyard.sparql.engine import Engine, Triples
from mapyard.sparql.run.expressions import KERNELS
from mapyard.sparql.run.functions import SCALAR
from mapyard.sparql.sources.graph import TripleGraph
from mapyard.sparql.write.features import FeatureWriter
from mapyard.sparql.write.solutions import write_csv, write_json, write_tsv, write_xml
from mapyard.sparql.write.triples import write_json_ld, write_n_triples, write_rdf_xml

A, B = "<http://x/a>", "<http://x/b>"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(TripleGraph())


def ask(engine: Engine, expression: str) -> Any:
    """Return an expression's binding; None where it has no value."""
    result: Any = engine.query(f'VERSION "1.2" SELECT ({expression} AS ?x) {{}}')
    rows = orjson.loads(b"".join(write_json(result)))["results"]["bindings"]
    return rows[0].get("x")


def value(engine: Engine, expression: str) -> str | None:
    found = ask(engine, expression)
    return None if found is None else found["value"]


T = f"<<( {A} {B} 5 )>>"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"SUBJECT({T})", "http://x/a"),
        (f"PREDICATE({T})", "http://x/b"),
        (f"OBJECT({T})", "5"),
        (f"OBJECT(OBJECT(<<( {A} a {T} )>>))", "5"),
        (f"PREDICATE(<<( {A} a {T} )>>)", RDF + "type"),
        (f"isTRIPLE({T})", "true"),
        (f"isTRIPLE({A})", "false"),
        ("isTRIPLE(?no)", None),
        (f"sameTerm({T}, TRIPLE({A}, {B}, 5))", "true"),
        (f"{T} = <<( {A} {B} 5.0 )>>", "true"),
        (f"sameTerm({T}, <<( {A} {B} 5.0 )>>)", "false"),
        (f"{T} = {A}", "false"),
        (f"TRIPLE(5, {B}, {A})", None),
        (f"STR({T})", None),
        (f"SUBJECT({A})", None),
        (f"isIRI({T})", "false"),
        (f"{T} IN ({A}, {T})", "true"),
        ('LANGDIR("a"@en--rtl)', "rtl"),
        ('LANGDIR("a"@en)', ""),
        ('LANGDIR("a")', ""),
        (f"LANGDIR({A})", None),
        ('LANG("a"@EN--ltr)', "en"),
        ('DATATYPE("a"@en--ltr)', RDF + "dirLangString"),
        ('hasLANG("a"@en)', "true"),
        ('hasLANG("a")', "false"),
        ('hasLANGDIR("a"@en)', "false"),
        ('hasLANGDIR("a"@en--ltr)', "true"),
        ('STRLANGDIR("a", "ar", "rtl") = "a"@ar--rtl', "true"),
        ('STRLANGDIR("a", "ar", "up")', None),
        ('STRLANGDIR("a", "", "rtl")', None),
        ('STRLANG("a", "ar--rtl")', None),
        ('"a"@ar--rtl = "a"@ar', "false"),
        ('sameTerm(UCASE("a"@ar--rtl), "A"@ar--rtl)', "true"),
        ('sameTerm(CONCAT("a"@ar--rtl, "b"@ar--rtl), "ab"@ar--rtl)', "true"),
        ('sameTerm(CONCAT("a"@ar--rtl, "b"@ar), "ab")', "true"),
        ('STRLEN("abc"@ar--rtl)', "3"),
        ('IF("x"@ar--rtl, 1, 2)', "1"),
        (r'"a\u0022b"', 'a"b'),
        (r'STRLEN("\u005C\u000A\u0027")', "3"),
    ],
)  # fmt: skip
def test_functions(engine: Engine, expression: str, expected: str | None) -> None:
    assert value(engine, expression) == expected


def test_values_hold_triple_terms_and_they_sort_last(engine: Engine) -> None:
    result: Any = engine.query(
        f"SELECT ?t {{ VALUES ?t {{ {T} <<( {A} a <<( {B} {B} 'x'@ar--rtl )>> )>> 'z' UNDEF }} }} "
        "ORDER BY ?t"
    )
    lines = b"".join(write_tsv(result)).decode().splitlines()[1:]
    five = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert lines == [
        "", '"z"',
        f"<<( {A} <{RDF}type> <<( {B} {B} \"x\"@ar--rtl )>> )>>",
        f"<<( {A} {B} {five} )>>",
    ]  # fmt: skip


QUERY = f'SELECT ?t ?d {{ VALUES ?t {{ {T} }} BIND("x"@ar--rtl AS ?d) }}'


def test_every_form_of_results_writes_them(engine: Engine) -> None:
    row = orjson.loads(b"".join(write_json(engine.query(QUERY))))["results"]["bindings"][0]  # type: ignore[arg-type] # of SELECT
    assert row["t"]["type"] == "triple"
    assert row["t"]["value"]["object"]["value"] == "5"
    assert row["d"] == {"type": "literal", "value": "x", "xml:lang": "ar", "its:dir": "rtl"}
    xml = ElementTree.fromstring(b"".join(write_xml(engine.query(QUERY))))  # type: ignore[arg-type] # of SELECT
    space = "{http://www.w3.org/2005/sparql-results#}"
    triple = xml.find(f".//{space}triple")
    assert triple is not None
    assert [part.tag for part in triple] == [space + n for n in ("subject", "predicate", "object")]
    directed = xml.find(f".//{space}literal[@{{http://www.w3.org/2005/11/its}}dir='rtl']")
    assert directed is not None
    assert b"<<( " in b"".join(write_csv(engine.query(QUERY)))  # type: ignore[arg-type] # of SELECT


def test_a_graph_with_them_is_written_or_refused(engine: Engine) -> None:
    def build(target: str) -> Triples:
        result = engine.query(f"CONSTRUCT {{ {A} {B} ?t }} {{ BIND({target} AS ?t) }}")
        assert isinstance(result, Triples)
        return result

    assert b"<<( " in b"".join(write_n_triples(build(T)))
    for write in (write_rdf_xml, write_json_ld):
        with pytest.raises(Unsupported, match="triple terms"):
            b"".join(write(build(T)))
    assert b'its:dir="rtl"' in b"".join(write_rdf_xml(build('"x"@ar--rtl')))
    assert b'"@direction":"rtl"' in b"".join(write_json_ld(build('"x"@ar--rtl')))


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("?s ?p <<( ?a ?b ?c )>>", "triple term"),
        ("<<( ?a ?b ?c )>> ?p ?o", "triple term"),
        ("<< ?s ?p ?o >> ?a ?b", "reified triple"),
        ("?s ?p ?o {| ?a ?b |}", "annotation"),
        ("?s ?p ?o ~ ?r", "reifier"),
        ("?s ?p ?o . << ?s ?p ?o >>", "reified triple"),
        ("?s ?p ?o << ?s ?p ?o >> ?p ?o", "reified triple"),
    ],
)
def test_statements_about_statements_are_refused_by_name(
    engine: Engine, pattern: str, what: str
) -> None:
    with pytest.raises(Unsupported, match=what) as caught:
        engine.query(f"SELECT * {{ {pattern} }}")
    assert caught.value.details
    assert caught.value.details["line"] == 1


@pytest.mark.parametrize(
    "text",
    [
        'SELECT (<<( "x" a 1 )>> AS ?t) {}', f"SELECT (<<( {A} 5 1 )>> AS ?t) {{}}",
        f"SELECT (<<( {T} a 1 )>> AS ?t) {{}}", 'SELECT ("x"@en--up AS ?x) {}',
        f"SELECT (<<( {A} a 1 ) AS ?t) {{}}", "VERSION 1.2 SELECT * {}",
        f"SELECT * {{ VALUES ?t {{ <<( {A} a ?x )>> }} }}", "SELECT * { VALUES (?a ?a) { (1 1) } }",
    ],
)  # fmt: skip
def test_what_is_no_triple_term_says_where(engine: Engine, text: str) -> None:
    with pytest.raises(InvalidQuery, match="column"):
        engine.query(text)


def test_other_versions_are_refused(engine: Engine) -> None:
    with pytest.raises(Unsupported, match="versions"):
        engine.query('VERSION "2.0" SELECT * {}')


@pytest.mark.parametrize("name", sorted({*SCALAR, *KERNELS}))
def test_no_function_breaks_on_them(engine: Engine, name: str) -> None:
    call = f"<{name}>" if ":" in name else name
    if name in ("+", "-", "*", "/", "negate", "plus"):
        call = "ABS"
    for term in (T, '"x"@ar--rtl'):
        for count in range(1, 5):
            arguments = ", ".join([term] * count)
            for body in (f"SELECT ({call}({arguments}) AS ?x) {{}}",
                         f"SELECT ({call}({arguments.replace(term, '?v')}) AS ?x) "
                         f"{{ VALUES ?v {{ {term} 1 }} }}"):  # fmt: skip
                try:
                    result: Any = engine.query(body)
                    b"".join(write_json(result))
                except MapyardError:
                    pass


def test_features_hold_them_as_texts(monaco_store: Any) -> None:
    from mapyard.sparql.osm.source import OsmSource

    result: Any = Engine(OsmSource(monaco_store)).query(QUERY)
    features = [f for chunk in FeatureWriter(result, monaco_store).write() for f in chunk]
    assert orjson.loads(features[0])["properties"]["t"].startswith("<<( ")
