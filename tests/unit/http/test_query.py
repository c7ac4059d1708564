"""/query over HTTP: PlazaQL with pages and streams, Overpass QL, the early list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES

BOX = "43.73,7.41,43.74,7.425"
CAFES = f"[out:json];nwr[amenity=cafe]({BOX});out center;"
PLAZA = 'search(node, amenity: "cafe");'


@pytest.fixture(scope="module")
def client(build_once: Callable[..., Path]) -> Iterator[LocalClient]:
    data = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def ask(client: LocalClient, text: str, **params: Any) -> httpx.Response:
    return client.post("/api/v1/query", json={"data": text, **params})


def features(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["features"]
    return found


def error(answer: httpx.Response, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    found = answer.json()["error"]
    assert found["code"] == code
    return str(found["message"])


@pytest.fixture(scope="module")
def cafes(client: LocalClient) -> list[dict[str, Any]]:
    asked = {"type": "node", "tags": "amenity=cafe", "limit": 1000}
    return features(client.get("/api/v1/features", params=asked))


def test_plazaql_under_both_names_and_as_text(
    client: LocalClient, cafes: list[dict[str, Any]]
) -> None:
    assert features(ask(client, PLAZA)) == cafes
    assert features(client.post("/api/v1/query", json={"query": PLAZA})) == cafes
    plain = {"content-type": "text/plain"}
    assert features(client.post("/api/v1/query", content=PLAZA, headers=plain)) == cafes


def test_pages_by_cursor_and_by_offset(client: LocalClient, cafes: list[dict[str, Any]]) -> None:
    found, cursor = [], None
    while True:
        answer = ask(client, PLAZA, limit=7, **({"cursor": cursor} if cursor else {}))
        found += features(answer)
        if answer.headers["x-has-more"] == "false":
            break
        cursor = answer.headers["x-next-cursor"]
    assert found == cafes
    answer = ask(client, PLAZA, limit=7, offset=7)
    assert features(answer) == cafes[7:14]
    assert answer.headers["x-next-offset"] == "14"
    error(ask(client, "search(way);", cursor=cursor), 400, "invalid_cursor")


def test_pages_go_over_all_outputs(client: LocalClient, cafes: list[dict[str, Any]]) -> None:
    text = f'$$.a = {PLAZA} $$.n = search(node).count(); $$.b = search(node, amenity: "bar");'
    whole = features(ask(client, text))
    names = [f["properties"]["@output"] for f in whole]
    assert names == sorted(names)
    assert names.count("a") == len(cafes)
    paged = [f for skip in range(0, len(whole), 9)
             for f in features(ask(client, text, limit=9, offset=skip))]  # fmt: skip
    assert paged == whole
    assert ask(client, text).json()["outputs"]["n"] > 1000


def test_streams(client: LocalClient, cafes: list[dict[str, Any]]) -> None:
    assert ask(client, PLAZA, format="geojson").json()["features"] == cafes
    lines = ask(client, PLAZA, format="ndjson")
    assert lines.headers["content-type"].startswith(("application/x-ndjson", "application/jsonl"))
    assert [json.loads(line) for line in lines.text.splitlines()] == cafes
    nothing = ask(client, 'search(node, amenity: "no such");', format="geojson").json()
    assert (nothing["type"], nothing["features"]) == ("FeatureCollection", [])


def test_numbers_are_beside_the_features(client: LocalClient, cafes: list[dict[str, Any]]) -> None:
    answer = ask(client, 'search(node, amenity: "cafe").count();').json()
    assert (answer["features"], answer["result"]) == ([], len(cafes))


def test_errors_name_line_and_column(client: LocalClient) -> None:
    message = error(ask(client, "search(node)\n.witin(5);"), 400, "invalid_query")
    assert message == "line 2, column 2: there is no method .witin() (did you mean within?)"
    error(ask(client, 'search(node, name: ~"(?=a)");'), 422, "validation_failed")
    error(ask(client, ""), 400, "invalid_request")


def test_overpass_ql_is_told_apart(client: LocalClient) -> None:
    expected = features(client.post("/api/v1/overpass", json={"data": CAFES}))
    assert features(ask(client, CAFES)) == expected
    assert features(ask(client, CAFES, limit=2)) == expected[:2]
    error(ask(client, "node[a;out;"), 400, "invalid_query")
    message = error(ask(client, "node[amenity=cafe](area.a); out body"), 400, "invalid_query")
    assert "search(" not in message


def test_query_by_get_lists_features_for_early_clients(client: LocalClient) -> None:
    params = {"bbox": BOX, "type": "way", "limit": 3}
    listed = client.get("/api/v1/features", params=params)
    assert features(client.get("/api/v1/query", params=params)) == features(listed)
