"""SERVICE to other servers: the operator's list only, bound values along, limits, SILENT."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest

from mapyard.deadline import Deadline
from mapyard.errors import MapyardError, Timeout, TooLarge, Unsupported
from mapyard.settings import Settings, get_settings
from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.parse.parser import parse_query
from mapyard.sparql.remote import endpoint as endpoints
from mapyard.sparql.remote import joins
from mapyard.sparql.remote.endpoint import Endpoint, ServiceFailed, is_public
from mapyard.sparql.remote.joins import Federation
from mapyard.sparql.sources.graph import TripleGraph
from mapyard.sparql.terms.terms import XSD_INTEGER, Iri, Literal
from mapyard.sparql.write.solutions import write_json
from mapyard.store.reader import Store

LABEL = "http://example.org/label"
OSM = "https://www.openstreetmap.org/"
#: Cafés of Monaco that the other server knows of.
KNOWN = ("node/917978763", "node/1306034043")
ELSEWHERE = TripleGraph(
    [(Iri(OSM + name), Iri(LABEL), Literal(f"label {n}")) for n, name in enumerate(KNOWN)]
    + [(Iri("http://example.org/other"), Iri(LABEL), Literal("other"))]
    + [(Iri("http://example.org/n"), Iri("http://example.org/p"), Literal("7", XSD_INTEGER))]
)


class Elsewhere:
    """A stand-in for another SPARQL server, with the queries that it was asked."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.reply: Callable[[BaseHTTPRequestHandler, str], None] = self.answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                query = parse_qs(self.rfile.read(length).decode())["query"][0]
                outer.queries.append(query)
                outer.reply(self, query)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/sparql"

    def answer(self, handler: BaseHTTPRequestHandler, query: str) -> None:
        result = Engine(ELSEWHERE).query(query)
        assert isinstance(result, Solutions)
        self.send(handler, b"".join(write_json(result)))

    def send(
        self, handler: BaseHTTPRequestHandler, body: bytes, status: int = 200,
        kind: str = "application/sparql-results+json", **headers: str,
    ) -> None:  # fmt: skip
        handler.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    found = Elsewhere()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


@pytest.fixture
def engine(elsewhere: Elsewhere, monaco_store: Store) -> Engine:
    return Engine(OsmSource(monaco_store), federation=Federation.of([elsewhere.address]))


def ask(engine: Engine, query: str, deadline: Deadline | None = None) -> list[dict[str, str]]:
    result: Any = engine.query(query, deadline)
    rows = orjson.loads(b"".join(write_json(result)))["results"]["bindings"]
    return [{name: value["value"] for name, value in row.items()} for row in rows]


def service(elsewhere: Elsewhere, pattern: str, silent: str = "") -> str:
    return f"SERVICE {silent} <{elsewhere.address}> {{ {pattern} }}"


CAFES = '?s osmkey:amenity "cafe" .'


@pytest.mark.parametrize("order", ["before", "behind"])
def test_what_is_bound_here_goes_along(engine: Engine, elsewhere: Elsewhere, order: str) -> None:
    there = service(elsewhere, f"?s <{LABEL}> ?label # a remark\n")
    parts = [CAFES, there] if order == "behind" else [there, CAFES]
    rows = ask(engine, f"SELECT ?s ?label {{ {' '.join(parts)} }} ORDER BY ?label")
    assert rows == [{"s": OSM + name, "label": f"label {n}"} for n, name in enumerate(KNOWN)]
    (query,) = elsewhere.queries
    assert "VALUES (?s)" in query
    assert query.count(f"<{OSM}node/") >= 20
    assert "http://example.org/other" not in query
    parse_query(query)


def test_many_rows_go_in_portions(
    engine: Engine, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "BATCH_ROWS", 5)
    there = service(elsewhere, f"?s <{LABEL}> ?label")
    assert len(ask(engine, f"SELECT * {{ {CAFES} {there} }}")) == 2
    assert len(elsewhere.queries) > 4
    asked = [name for q in elsewhere.queries for name in re.findall(r"\(<([^>]+)>\)", q)]
    assert len(asked) == len(set(asked))
    elsewhere.queries.clear()
    monkeypatch.setattr(joins, "MAX_REQUESTS", 2)
    with pytest.raises(TooLarge, match="more than 2 times"):
        ask(engine, f"SELECT * {{ {CAFES} {there} }}")


def test_nothing_bound_asks_for_all(engine: Engine, elsewhere: Elsewhere) -> None:
    rows = ask(engine, f"SELECT ?x {{ {service(elsewhere, f'?x <{LABEL}> ?l')} }}")
    assert len(rows) == 3
    assert "VALUES" not in elsewhere.queries[0]


def test_prefixes_and_terms_travel(engine: Engine, elsewhere: Elsewhere) -> None:
    query = f"""PREFIX ex: <http://example.org/>
        SELECT ?v (?v + 1 AS ?w) {{
          VALUES ?n {{ ex:n "a\\"b" 5 true "x"@de UNDEF }}
          {service(elsewhere, "?n ex:p ?v . FILTER(?v > 5)")}
        }}"""
    assert ask(engine, query) == [{"v": "7", "w": "8"}] * 2
    assert elsewhere.queries[0].startswith("PREFIX ex: <http://example.org/>")
    assert "PREFIX osm:" not in elsewhere.queries[0]


def test_optional_union_minus_and_subqueries(engine: Engine, elsewhere: Elsewhere) -> None:
    there = service(elsewhere, f"?s <{LABEL}> ?label")
    every = len(ask(engine, f"SELECT ?s {{ {CAFES} }}"))
    rows = ask(engine, f"SELECT ?s ?label {{ {CAFES} OPTIONAL {{ {there} }} }}")
    assert len(rows) == every
    assert sum("label" in row for row in rows) == 2
    assert len(ask(engine, f"SELECT ?s {{ {CAFES} MINUS {{ {there} }} }}")) == every - 2
    assert len(ask(engine, f"SELECT ?s {{ {{ {CAFES} }} UNION {{ {there} }} }}")) == every + 3
    inside = f"SELECT ?s {{ {CAFES} FILTER EXISTS {{ {there} }} }}"
    assert len(ask(engine, inside)) == 2
    sub = f"SELECT ?s {{ {CAFES} {{ SELECT ?s {{ {there} }} }} }}"
    assert len(ask(engine, sub)) == 2


def test_limit_asks_no_further_than_it_must(
    engine: Engine, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "BATCH_ROWS", 30)
    query = f"SELECT ?s {{ ?s osmkey:name ?n {service(elsewhere, '?s ?p ?o')} }}"
    ask(engine, "SELECT ?s { ?s osmkey:shop ?n } LIMIT 1")
    silent = query.replace("SERVICE", "SERVICE SILENT") + " LIMIT 1"
    elsewhere.reply = lambda handler, _: elsewhere.send(handler, b"", 500)
    assert len(ask(engine, silent)) == 1
    assert len(elsewhere.queries) == 1


def test_the_plan_names_the_service(engine: Engine, elsewhere: Elsewhere) -> None:
    plan = engine.explain(f"SELECT ?s {{ {CAFES} {service(elsewhere, f'?s <{LABEL}> ?l')} }}")
    (step,) = [s for _, s in plan.lines() if s.step == "service"]
    assert (step.detail, step.rows) == (f"<{elsewhere.address}>", 2)


def test_no_other_server_is_asked(engine: Engine, elsewhere: Elsewhere) -> None:
    for address in (elsewhere.address + "/", elsewhere.address + "?a=b", "http://example.org/"):
        with pytest.raises(Unsupported, match="may not ask"):
            ask(engine, f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}")
        assert ask(engine, f"SELECT * {{ SERVICE SILENT <{address}> {{ ?s ?p ?o }} }}") == [{}]
    with pytest.raises(Unsupported, match="no variable"):
        ask(engine, "SELECT * { VALUES ?x { 1 } SERVICE ?x { ?s ?p ?o } }")
    assert elsewhere.queries == []


def _redirect(handler: BaseHTTPRequestHandler, elsewhere: Elsewhere) -> None:
    elsewhere.send(handler, b"", 302, Location=elsewhere.address + "/else")


BAD: dict[str, Callable[[Elsewhere, BaseHTTPRequestHandler], None]] = {
    "redirect": lambda e, h: e.send(h, b"", 302, Location="http://127.0.0.1:1/"),
    "answered 500": lambda e, h: e.send(h, b"oh", 500),
    "text/html": lambda e, h: e.send(h, b"<html>", kind="text/html"),
    "what is not a result": lambda e, h: e.send(h, b"{}"),
    "no SPARQL results": lambda e, h: e.send(h, b'{"results":{"bindings":[{"s":5}]}}'),
    "a term of type": lambda e, h: e.send(
        h, b'{"results":{"bindings":[{"s":{"type":"x","value":"y"}}]}}'
    ),
    "broke off": lambda e, h: h.connection.close(),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_service_that_fails_is_named_and_silent_goes_on(
    engine: Engine, elsewhere: Elsewhere, reason: str
) -> None:
    elsewhere.reply = lambda handler, _: BAD[reason](elsewhere, handler)
    there = service(elsewhere, f"?s <{LABEL}> ?label")
    with pytest.raises(ServiceFailed, match=reason) as caught:
        ask(engine, f"SELECT ?s {{ {CAFES} {there} }}")
    assert (caught.value.status, caught.value.code) == (502, "service_failed")
    assert elsewhere.address in caught.value.message
    every = ask(engine, f"SELECT ?s {{ {CAFES} }}")
    silent = service(elsewhere, f"?s <{LABEL}> ?label", "SILENT")
    assert ask(engine, f"SELECT ?s {{ {CAFES} {silent} }}") == every


def test_an_answer_may_not_be_larger_than_the_limit(
    engine: Engine, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "ANSWER_BYTES", 100_000)
    elsewhere.reply = lambda handler, _: elsewhere.send(handler, b" " * 200_000)
    with pytest.raises(TooLarge, match="100,000 bytes"):
        ask(engine, f"SELECT * {{ {service(elsewhere, '?s ?p ?o')} }}")


def _trickle(handler: BaseHTTPRequestHandler, _: str) -> None:
    handler.send_response(200)
    handler.flush_headers()
    try:
        for _n in range(200):
            handler.wfile.write(b"X-More: 1\r\n")
            handler.wfile.flush()
            time.sleep(0.02)
    except OSError:
        pass


def test_time_runs_for_the_whole_answer(
    engine: Engine, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere.reply = _trickle
    monkeypatch.setattr(endpoints, "REQUEST_S", 0.3)
    query = f"SELECT * {{ {service(elsewhere, '?s ?p ?o')} }}"
    began_s = time.monotonic()
    with pytest.raises(ServiceFailed, match="did not answer within"):
        ask(engine, query)
    assert time.monotonic() - began_s < 2
    monkeypatch.setattr(endpoints, "REQUEST_S", 20.0)
    began_s = time.monotonic()
    with pytest.raises((Timeout, ServiceFailed)):
        ask(engine, query, Deadline(0.3))
    assert time.monotonic() - began_s < 2


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("2a01:4f8::1", True), ("127.0.0.1", False), ("10.1.2.3", False),
        ("192.168.0.1", False), ("172.16.0.1", False), ("169.254.169.254", False),
        ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False), ("::1", False),
        ("fe80::1%eth0", False), ("fd00::1", False), ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True), ("64:ff9b::7f00:1", False), ("2002:7f00:1::", False),
        ("::127.0.0.1", False), ("255.255.255.255", False),
    ],
)  # fmt: skip
def test_private_addresses_are_known(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_name_that_leads_into_a_private_network_is_not_asked(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = elsewhere.server.server_port
    looked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        looked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(endpoints.socket, "getaddrinfo", look_up)
    named = Endpoint(f"http://query.example.org:{port}/sparql")
    with pytest.raises(ServiceFailed, match="private network"):
        named.ask("ASK {}", Deadline(5))
    assert looked == ["query.example.org"]
    assert elsewhere.queries == []


def test_the_checked_address_is_the_one_connected_to(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = elsewhere.server.server_port
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1"])  # a second look would lead home
    connected: list[Any] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def connect(address: Any, timeout: float) -> Any:
        connected.append(address)
        raise OSError(111, "Connection refused")

    monkeypatch.setattr(endpoints.socket, "getaddrinfo", look_up)
    monkeypatch.setattr(endpoints.socket, "create_connection", connect)
    with pytest.raises(ServiceFailed, match="cannot be reached: Connection refused"):
        Endpoint(f"http://query.example.org:{port}/sparql").ask("ASK {}", Deadline(5))
    assert connected == [("93.184.216.34", port)]


@pytest.mark.parametrize(
    "text", ["ftp://x/", "x", "http://", "http://a:b@x/", "https://x/#y", "http://x:99999/"]
)
def test_only_addresses_can_be_listed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Endpoint(text)
    monkeypatch.setenv("MAPYARD_SPARQL_SERVICES", orjson.dumps([text]).decode())
    get_settings.cache_clear()
    try:
        with pytest.raises(MapyardError, match="SPARQL_SERVICES"):
            get_settings()
    finally:
        get_settings.cache_clear()


def test_by_default_there_is_none() -> None:
    assert Settings().sparql_services == []
