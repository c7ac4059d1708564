"""SPARQL over HTTP: forms of asking and answering, pages, errors, limits; and the command."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from mapyard.cli import build_app
from mapyard.http.routes.sparql import choose_type
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES

PATH = "/api/v1/sparql"
CAFES = 'SELECT ?s ?name ?g WHERE { ?s osmkey:amenity "cafe" ; osmkey:name ?name ; ' \
    "geo:hasGeometry/geo:asWKT ?g } ORDER BY ?s"  # fmt: skip


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path]) -> Path:
    return build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])


@pytest.fixture(scope="module")
def client(data: Path) -> Iterator[LocalClient]:
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def ask(client: LocalClient, query: str, accept: str = "*/*", **params: Any) -> httpx.Response:
    answer = client.post(PATH, json={"query": query, **params}, headers={"Accept": accept})
    assert answer.status_code == 200, answer.text
    return answer


def error(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()["error"]
    assert found["code"] == code
    return found


# Asking -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "send",
    [
        lambda c: c.post(PATH, json={"query": CAFES}),
        lambda c: c.get(PATH, params={"query": CAFES}),
        lambda c: c.post(PATH, data={"query": CAFES}),
        lambda c: c.post(PATH, content=CAFES, headers={"Content-Type": "application/sparql-query"}),
        lambda c: c.post(PATH, content=CAFES, headers={"Content-Type": "text/plain"}),
        lambda c: c.post(PATH, json={"query": CAFES}, headers={"Accept": "application/json"}),
    ],
)
def test_every_way_of_asking(client: LocalClient, send: Callable[..., httpx.Response]) -> None:
    answer = send(client)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("application/geo+json")
    body = answer.json()
    assert body["type"] == "FeatureCollection"
    assert body["attribution"] == "© OpenStreetMap contributors (ODbL)"
    assert len(body["features"]) > 10
    feature = body["features"][0]
    assert feature["geometry"]["type"] == "Point"
    assert feature["properties"]["s"].endswith(feature["id"])
    assert set(feature["properties"]) == {"s", "name"}


def test_the_geometry_is_wkt_else_that_of_the_first_element(client: LocalClient) -> None:
    body = ask(client, "SELECT ?n ?s { ?s osmkey:leisure 'park' ; osmkey:name ?n }").json()
    assert {f["geometry"]["type"] for f in body["features"]} == {"Polygon"}
    text = (
        "SELECT (COUNT(?s) AS ?n) (geof:envelope('LINESTRING(1 2,3 4)'^^geo:wktLiteral) AS ?box)"
        " (true AS ?yes) (1.5 AS ?number) { ?s osmkey:leisure 'park' }"
    )
    (feature,) = ask(client, text).json()["features"]
    assert feature["geometry"]["coordinates"][0][0] == [1, 2]
    assert feature["properties"]["n"] > 5
    assert feature["properties"]["yes"] is True
    assert feature["properties"]["number"] == 1.5
    assert "id" not in feature
    (feature,) = ask(client, "SELECT ('x' AS ?only) {}").json()["features"]
    assert feature["geometry"] is None


# Formats ----------------------------------------------------------------------------------------


def test_w3c_formats_agree(client: LocalClient) -> None:
    found = ask(client, CAFES, "application/sparql-results+json").json()
    rows = [
        {name: (b["value"], b.get("datatype")) for name, b in row.items()}
        for row in found["results"]["bindings"]
    ]
    assert found["head"]["vars"] == ["s", "name", "g"]
    for accept, kind in (
        ("application/sparql-results+xml", ox.QueryResultsFormat.XML),
        ("application/sparql-results+json", ox.QueryResultsFormat.JSON),
        ("text/tab-separated-values", ox.QueryResultsFormat.TSV),
    ):
        answer = ask(client, CAFES, accept)
        assert answer.headers["content-type"].startswith(accept)
        parsed = ox.parse_query_results(answer.content, kind)
        assert [[s["s"].value, s["name"].value, s["g"].value] for s in parsed] == [
            [row[v][0] for v in ("s", "name", "g")] for row in rows
        ]
    lines = list(csv.reader(io.StringIO(ask(client, CAFES, "text/csv").text)))
    assert lines[0] == ["s", "name", "g"]
    assert [line[1] for line in lines[1:]] == [row["name"][0] for row in rows]


def test_unbound_and_odd_texts(client: LocalClient) -> None:
    text = """SELECT ?a ?b ?c { VALUES (?a ?b) { ("x,\\"y\\"\\n<&>" UNDEF) (UNDEF "é"@fr) }
    BIND(BNODE() AS ?c) }"""
    found = ask(client, text, "application/sparql-results+json").json()["results"]["bindings"]
    assert found[0]["a"]["value"] == 'x,"y"\n<&>'
    assert "b" not in found[0]
    assert found[1]["b"] == {"type": "literal", "value": "é", "xml:lang": "fr"}
    assert found[0]["c"]["type"] == "bnode"
    tree = ElementTree.fromstring(ask(client, text, "application/sparql-results+xml").content)
    texts = [e.text for e in tree.iter("{http://www.w3.org/2005/sparql-results#}literal")]
    assert texts == ['x,"y"\n<&>', "é"]
    rows = list(csv.reader(io.StringIO(ask(client, text, "text/csv").text)))
    assert rows[1][:2] == ['x,"y"\n<&>', ""]
    assert ask(client, text).json()["features"][1]["properties"]["b"] == "é"


def test_booleans_and_graphs(client: LocalClient) -> None:
    assert ask(client, "ASK { ?s osmkey:amenity 'cafe' }").json() == {"head": {}, "boolean": True}
    xml = ask(client, "ASK { ?s osmkey:amenity 'x' }", "application/sparql-results+xml").text
    assert "<boolean>false</boolean>" in xml
    text = (
        "CONSTRUCT { ?s a schema:Cafe ; schema:name ?n } { ?s osmt:amenity 'cafe' ; osmt:name ?n }"
    )
    turtle = ask(client, text)
    assert turtle.headers["content-type"].startswith("text/turtle")
    lines = ask(client, text, "application/n-triples")
    assert lines.headers["content-type"].startswith("application/n-triples")
    a = set(ox.parse(turtle.content, ox.RdfFormat.TURTLE))
    b = set(ox.parse(lines.content, ox.RdfFormat.N_TRIPLES))
    assert a == b
    assert len(a) > 20
    described = ask(client, "DESCRIBE osmrel:1124039")
    assert len(set(ox.parse(described.content, ox.RdfFormat.TURTLE))) > 100


def test_choice_of_the_format() -> None:
    offered = ("text/csv", "text/turtle")
    assert choose_type("text/turtle;q=0.5, text/csv;q=0.4", offered) == "text/turtle"
    assert choose_type("TEXT/CSV; charset=utf-8", offered) == "text/csv"
    assert choose_type("application/pdf, */*", offered) == ""
    assert choose_type("text/csv;q=0, text/turtle;q=x", offered) == ""


# Pages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["cursor", "offset"])
def test_pages_make_the_whole(client: LocalClient, mode: str) -> None:
    whole = [f["id"] for f in ask(client, CAFES).json()["features"]]
    seen: list[str] = []
    place: dict[str, Any] = {"offset": 0} if mode == "offset" else {}
    for _ in range(50):
        answer = ask(client, CAFES, limit=7, **place)
        seen += [f["id"] for f in answer.json()["features"]]
        assert answer.headers["x-limit"] == "7"
        if answer.headers["x-has-more"] == "false":
            assert "link" not in answer.headers
            break
        assert 'rel="next"' in answer.headers["link"]
        if mode == "offset":
            place = {"offset": int(answer.headers["x-next-offset"])}
        else:
            place = {"cursor": answer.headers["x-next-cursor"]}
    assert seen == whole


def test_cursors_belong_to_their_query(client: LocalClient) -> None:
    cursor = ask(client, CAFES, limit=1).headers["x-next-cursor"]
    other = client.post(PATH, json={"query": CAFES + " LIMIT 5", "cursor": cursor})
    error(other, 400, "invalid_cursor")
    error(client.post(PATH, json={"query": CAFES, "limit": 1001}), 400, "invalid_request")


def test_client_libraries_also_get_results(client: LocalClient) -> None:
    answer = client.post(PATH, json={"query": CAFES}, headers={"X-Stainless-Lang": "python"}).json()
    assert answer["results"] == answer["features"] != []
    assert "results" not in ask(client, CAFES).json()


# Errors and limits ------------------------------------------------------------------------------


def test_errors_say_where_and_what(client: LocalClient) -> None:
    found = error(
        client.post(PATH, json={"query": "SELECT ?s {\n ?s osmkey:amenity cafe }"}),
        400,
        "invalid_query",
    )
    assert (found["details"]["line"], found["details"]["column"]) == (2, 20)
    assert "quotes" in found["details"]["hint"]
    error(client.post(PATH, json={"query": "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }"}), 422,
          "validation_failed")  # fmt: skip
    text = "SELECT * { SERVICE <http://e.org/> { ?a ?b ?c } }"
    found = error(client.post(PATH, json={"query": text}), 422, "validation_failed")
    assert (found["details"]["line"], found["details"]["column"]) == (1, 12)
    error(client.post(PATH, json={}), 400, "invalid_request")


def test_products_are_refused_in_time(client: LocalClient) -> None:
    start = time.perf_counter()
    for text in (
        "SELECT * { ?a a ?x . ?b a ?y }",
        "SELECT (COUNT(*) AS ?n) { ?a ?p ?x . ?b ?q ?y }",
        "SELECT * { ?a osmkey:building ?x . ?b osmmeta:version ?y FILTER(?x = ?y) }",
    ):
        found = error(client.post(PATH, json={"query": text}), 413, "too_large")
        assert "shares no variable" in found["message"]
    assert time.perf_counter() - start < 10


def test_memory_is_bounded(data: Path) -> None:
    with LocalClient(Settings(data=data, query_bytes=1 << 20)) as small:
        text = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?o"
        found = error(small.post(PATH, json={"query": text}), 413, "too_large")
        assert "needs more than" in found["message"]
        text = "SELECT (COUNT(*) AS ?n) { SELECT DISTINCT ?s ?o { ?s ?p ?o } }"
        error(small.post(PATH, json={"query": text}), 413, "too_large")


def test_time_is_bounded_and_others_are_answered_meanwhile(data: Path) -> None:
    heavy = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(STRLEN(SHA512(STR(?o))) > 0) }"
    with LocalClient(Settings(data=data, timeout_s=0.3)) as hasty:
        answer = hasty.post(PATH, json={"query": heavy})
        error(answer, 408, "timeout")
        assert answer.headers["x-should-retry"] == "false"
        again = hasty.post(PATH, json={"query": "ASK { ?s osmkey:amenity 'cafe' }"})
        assert again.json()["boolean"] is True


def test_everything_streams(client: LocalClient) -> None:
    answer = ask(client, "SELECT * { ?s ?p ?o }", "text/tab-separated-values")
    counted = ask(client, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "text/csv").text.split()
    assert answer.text.count("\n") == int(counted[1]) + 1


# Command ----------------------------------------------------------------------------------------


def test_the_command(data: Path, tmp_path: Path) -> None:
    app = build_app(["sparql"])
    query = tmp_path / "q.rq"
    query.write_text(CAFES, encoding="utf-8")

    def run(*arguments: str, **options: Any) -> Any:
        return CliRunner().invoke(app, ["sparql", *arguments, "--data", str(data)], **options)

    done = run(str(query))
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["features"]) > 10
    done = run("-", "--format", "csv", input="SELECT (1 + 1 AS ?two) {}")
    assert done.stdout.split() == ["two", "2"]
    assert run("-", input="ASK { ?s osmkey:amenity 'cafe' }").stdout == "true\n"
    done = run("-", "-f", "ntriples", input="CONSTRUCT { ?s a ?c } { ?s a ?c } LIMIT 3")
    assert done.stdout.count(" .\n") == 3
    assert run(str(tmp_path / "none.rq")).exit_code == 1
    assert run("-", "-f", "turtle", input=CAFES).exit_code == 1


def test_queries_of_several_threads_at_once(client: LocalClient, data: Path) -> None:
    from mapyard.sparql.engine import Engine, Solutions
    from mapyard.sparql.osm.source import OsmSource
    from mapyard.store.reader import open_store

    engine = Engine(OsmSource(open_store(data / "current" / "elements")))
    wanted = len(ask(client, CAFES).json()["features"])
    counts: list[int] = []

    def work() -> None:
        for _ in range(5):
            result = engine.query(CAFES)
            assert isinstance(result, Solutions)
            counts.append(sum(table.length for table in result.tables))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [wanted] * 20


PROTOCOL = "/sparql"
MAKE = "CONSTRUCT { ?s osmkey:name ?n ; a osm:node } WHERE { ?s osmkey:amenity 'cafe' ; " \
    "osmkey:name ?n } LIMIT 5"  # fmt: skip


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", "application/sparql-results+json"),
        ("*/*", "application/sparql-results+json"),
        ("application/json", "application/sparql-results+json"),
        ("application/xml;q=0.5, text/csv", "text/csv"),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/*", "text/csv"),
    ],
)
def test_the_protocol_for_tools_answers_as_accepted(
    client: LocalClient, accept: str, media_type: str
) -> None:
    headers = {"Accept": accept} if accept else {}
    answer = client.get(PROTOCOL, params={"query": CAFES}, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(media_type)
    assert answer.text.count("openstreetmap.org/") >= 5


@pytest.mark.parametrize(
    ("media_type", "form"),
    [
        ("text/turtle", ox.RdfFormat.TURTLE),
        ("application/n-triples", ox.RdfFormat.N_TRIPLES),
        ("application/rdf+xml", ox.RdfFormat.RDF_XML),
        ("application/ld+json", ox.RdfFormat.JSON_LD),
    ],
)
def test_the_protocol_gives_triples_in_four_forms(
    client: LocalClient, media_type: str, form: ox.RdfFormat
) -> None:
    for params in ({"query": MAKE}, {}):
        answer = client.get(PROTOCOL, params=params, headers={"Accept": media_type})
        assert answer.headers["content-type"].startswith(media_type), answer.text
        quads = list(ox.parse(answer.content, format=form, base_iri="http://a/"))
        triples = {(str(q.subject), str(q.predicate), str(q.object)) for q in quads}
        if params:
            assert len(triples) == 10
        else:
            assert any("service-description#Service" in o for _, _, o in triples)
            assert any("rdfs.org/ns/void#Dataset" in o for _, _, o in triples)


def test_the_protocol_refuses_by_name(client: LocalClient) -> None:
    query = {"query": "ASK { ?s ?p ?o }"}
    found = client.get(PROTOCOL, params=query, headers={"Accept": "image/png"})
    assert error(found, 406, "not_acceptable")["message"].count("sparql-results") == 2
    for name in ("default-graph-uri", "named-graph-uri"):
        found = client.get(PROTOCOL, params={**query, name: "http://a/"})
        assert "one graph" in json.dumps(error(found, 422, "validation_failed"))
    found = client.get(PROTOCOL + "?query=ASK%7B%7D&query=ASK%7B%7D")
    assert found.status_code in (400, 422)
    assert client.post(PROTOCOL, data={"update": "CLEAR ALL"}).status_code == 422
    posted = client.post(PROTOCOL, content="ASK { ?s osmkey:amenity 'cafe' }",
                         headers={"Content-Type": "application/sparql-query"})  # fmt: skip
    assert posted.json()["boolean"] is True


@pytest.mark.parametrize("path", [PATH, PROTOCOL])
def test_unknown_predicates_are_named_in_a_header(client: LocalClient, path: str) -> None:
    text = "SELECT ?s { ?s osmkey:amenty 'cafe' }"
    warned = client.get(path, params={"query": text})
    assert "did you mean osmkey:amenity?" in warned.headers["x-query-warning"]
    assert "x-query-warning" not in client.get(path, params={"query": CAFES}).headers


def test_a_query_is_explained(client: LocalClient) -> None:
    plan = ask(client, CAFES, explain=True).json()
    assert plan["language"] == "sparql"
    assert plan["rows"] == len(ask(client, CAFES).json()["features"])
    assert client.get(PATH, params={"query": CAFES, "explain": 1}).json()["rows"] == plan["rows"]
    error(client.get(PATH, params={"query": "SELECT", "explain": 1}), 400, "invalid_query")
