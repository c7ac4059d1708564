"""Names of features in the asked language: `lang`, `output[lang]` and Accept-Language."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import write_osm

NAMES = {
    1: {"name": "Vaduz", "name:fr": "Vaduz-le-Bourg", "name:pt": "Vaduzo", "name:zh_TW": "瓦都茲"},
    2: {"name": "Schaan"},
    3: {"name:fr": "Sans nom"},
    4: {},
}
CASES: list[tuple[str, list[str | None]]] = [
    ("", [None, None, None, None]),
    ("fr", ["Vaduz-le-Bourg", "Schaan", "Sans nom", None]),
    ("de", ["Vaduz", "Schaan", None, None]),
    ("de,fr", ["Vaduz-le-Bourg", "Schaan", "Sans nom", None]),
    ("pt-BR,fr", ["Vaduzo", "Schaan", "Sans nom", None]),
    ("zh-TW", ["瓦都茲", "Schaan", None, None]),
    ("xx", ["Vaduz", "Schaan", None, None]),
]


@pytest.fixture(scope="module")
def client(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalClient]:
    nodes = {i: (9.5 + i / 100, 47.1, {"place": "town", **tags}) for i, tags in NAMES.items()}
    source = write_osm(tmp_path_factory.mktemp("names") / "names.osm", nodes)
    data = build_once("names", source, ["text"])
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def names(client: LocalClient, path: str, headers: Any = None, **params: Any) -> list[str | None]:
    answer = client.get(path, params=params, headers=headers or {})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    features = found.get("features", [found])
    return [f["properties"].get("@name") for f in sorted(features, key=lambda f: f["osm_id"])]


@pytest.mark.parametrize(("langs", "expected"), CASES)
@pytest.mark.parametrize("parameter", ["lang", "output[lang]", "language"])
def test_lists(client: LocalClient, parameter: str, langs: str, expected: list[str | None]) -> None:
    asked = {parameter: langs} if langs else {}
    assert names(client, "/api/v1/features", **asked) == expected
    headers = {"Accept-Language": f"{langs};q=0.9"} if langs else {}
    if "," not in langs:
        assert names(client, "/api/v1/features", headers) == expected
    near = {"lat": 47.1, "lng": 9.52, "radius": 100_000}
    assert names(client, "/api/v1/features/nearby", **near, **asked) == expected
    for number, name in enumerate(expected, start=1):
        assert names(client, f"/api/v1/features/node/{number}", **asked) == [name]
        assert names(client, f"/api/v1/features/node/{number}", headers)[0] == name or "," in langs


def test_the_parameter_comes_before_the_header(client: LocalClient) -> None:
    headers = {"Accept-Language": "pt"}
    found = names(client, "/api/v1/features", headers, **{"output[lang]": "fr"})
    assert found[0] == "Vaduz-le-Bourg"


def test_tags_stay_as_they_are(client: LocalClient) -> None:
    answer = client.get("/api/v1/features/node/1", params={"output[lang]": "fr"}).json()
    assert answer["properties"]["name"] == "Vaduz"
    fields = {"output[lang]": "fr", "output[fields]": "place"}
    answer = client.get("/api/v1/features/node/1", params=fields).json()["properties"]
    assert answer == {"@type": "node", "@id": 1, "place": "town", "@name": "Vaduz-le-Bourg"}


def test_search_and_files(client: LocalClient) -> None:
    assert names(client, "/api/v1/search", q="vaduz", **{"output[lang]": "fr"}) == [
        "Vaduz-le-Bourg"
    ]
    answer = client.get("/api/v1/features", params={"output[lang]": "fr", "format": "csv"}).text
    rows = list(csv.DictReader(io.StringIO(answer)))
    assert [row["@name"] for row in rows] == ["Vaduz-le-Bourg", "Schaan", "Sans nom", ""]
    assert rows[0]["name"] == "Vaduz"
    plain = client.get("/api/v1/features", params={"format": "csv"}).text
    assert "@name" not in plain


@pytest.mark.parametrize(("langs", "expected"), CASES)
def test_several_elements_at_once(
    client: LocalClient, langs: str, expected: list[str | None]
) -> None:
    body = {"elements": [{"type": "node", "id": number} for number in NAMES]}
    asked = {**body, "lang": langs.split(",")} if langs else body
    found = client.post("/api/v1/features/batch", json=asked).json()["features"]
    assert [feature["properties"].get("@name") for feature in found] == expected


def test_two_answers_to_one_question_are_refused(client: LocalClient) -> None:
    both = {"lang": "fr", "output[lang]": "pt"}
    answer = client.get("/api/v1/features", params=both)
    assert answer.status_code == 400
    assert "lang" in answer.json()["error"]["details"]
    same = {"lang": "fr", "output[lang]": "fr"}
    assert client.get("/api/v1/features", params=same).status_code == 200


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/api/v1/features", {}),
        ("/api/v1/features/node/1", {}),
        ("/api/v1/features/node/99", {}),
        ("/api/v1/features/lookup", {"type": "node", "id": 1}),
        ("/api/v1/features/nearby", {"lat": 47.1, "lng": 9.52}),
        ("/api/v1/search", {"q": "vaduz"}),
        ("/api/v1/search", {"q": "vaduz", "format": "csv"}),
        ("/api/v1/reverse-geocode", {"lat": 47.1, "lng": 9.52}),
        ("/api/v1/geocode", {"q": "vaduz"}),
        ("/api/v1/geocode/autocomplete", {"q": "vad"}),
        ("/api/v1/geocode/reverse", {"lat": 47.1, "lng": 9.52}),
        ("/nominatim/search", {"q": "vaduz"}),
        ("/nominatim/reverse", {"lat": 47.1, "lon": 9.52}),
        ("/nominatim/lookup", {"osm_ids": "N1"}),
        ("/nominatim/details", {"osmtype": "N", "osmid": 1}),
    ],
)
def test_caches_are_told_that_the_language_counts(
    client: LocalClient, path: str, params: dict[str, Any]
) -> None:
    vary = client.get(path, params=params).headers["vary"]
    assert "Accept-Language" in vary
    assert "Accept-Language" not in client.get("/healthz").headers.get("vary", "")


def test_the_nearest_named_thing(client: LocalClient) -> None:
    asked = {"lat": 47.1, "lng": 9.51}
    french = names(client, "/api/v1/reverse-geocode", {"Accept-Language": "fr"}, **asked)
    assert french == names(client, "/api/v1/reverse-geocode", **asked, lang="fr")
    assert french == ["Vaduz-le-Bourg"]
