"""Parameters, formats and errors of /geocode and /search."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES


@pytest.fixture(scope="module")
def client(build_once: Callable[..., Path]) -> Iterator[LocalClient]:
    data = build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def get(client: LocalClient, url: str) -> Any:
    answer = client.get(url)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("url", "parameter"),
    [
        ("/api/v1/geocode", "q"),
        ("/api/v1/geocode?q=", "q"),
        ("/api/v1/geocode?q=%20%20", "q"),
        ("/api/v1/geocode?q=a&limit=101", "limit"),
        ("/api/v1/geocode?q=a&limit=0", "limit"),
        ("/api/v1/geocode?q=a&country_code=MCO", "country_code"),
        ("/api/v1/geocode?q=a&layer=moon", "layer"),
        ("/api/v1/geocode?q=a&lat=91&lng=0", "lat"),
        ("/api/v1/geocode?q=a&lat=9", "lng"),
        ("/api/v1/geocode?q=a&lang=!!", "lang"),
        ("/api/v1/geocode?q=a&bbox=1,2,3", "bbox"),
        ("/api/v1/geocode/autocomplete", "q"),
        ("/api/v1/geocode/autocomplete?q=a&limit=21", "limit"),
        ("/api/v1/geocode/reverse?lat=1", "lng"),
        ("/api/v1/geocode/reverse?lat=1&lng=1&radius=5001", "radius"),
        ("/api/v1/geocode/reverse?lat=1&lng=1&limit=21", "limit"),
        ("/api/v1/geocode/reverse?lat=nan&lng=1", "lat"),
        ("/api/v1/search", "q"),
        ("/api/v1/search?q=%20", "q"),
        ("/api/v1/search?q=a&limit=101", "limit"),
        ("/api/v1/search?q=a&output[sort]=distance", "output[sort]"),
    ],
)
def test_bad_parameters_are_named(client: LocalClient, url: str, parameter: str) -> None:
    answer = client.get(url)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "invalid_request"
    assert parameter in error["details"]


@pytest.mark.parametrize("path", ["geocode", "geocode/autocomplete", "search"])
@pytest.mark.parametrize("text", ["😀", "x" * 10_000, "'; DROP TABLE a; --", "\x01\x02", "%%%"])
def test_nonsense_is_an_empty_answer(client: LocalClient, path: str, text: str) -> None:
    answer = client.post(f"/api/v1/{path}", json={"q": text})
    assert answer.status_code == 200
    assert answer.json()["features"] == []


def test_get_and_post_are_the_same(client: LocalClient) -> None:
    by_get = get(client, "/api/v1/geocode?q=rue%20grimaldi&limit=2&lat=43.7&lng=7.4")
    body = {"q": "rue grimaldi", "limit": 2, "focus": {"lat": 43.7, "lng": 7.4}}
    assert client.post("/api/v1/geocode", json=body).json() == by_get
    assert "results" not in by_get
    assert by_get["attribution"].startswith("©")


def test_formats(client: LocalClient) -> None:
    url = "/api/v1/geocode?q=rue%20grimaldi&limit=2"
    features = get(client, url)["features"]
    answer = client.get(f"{url}&format=ndjson")
    assert answer.headers["content-type"].startswith("application/jsonl")
    assert [json.loads(line) for line in answer.text.splitlines()] == features
    answer = client.get(f"{url}&format=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["display_name"] for row in rows] == [
        f["properties"]["display_name"] for f in features
    ]
    assert get(client, f"{url}&format=geojson")["features"] == features


def test_structured_and_countries(client: LocalClient) -> None:
    url = "/api/v1/geocode?street=Boulevard+de+Suisse&house_number=25&city=Monaco&limit=1"
    (found,) = get(client, url)["features"]
    assert found["properties"]["osm_id"] == 94399747
    assert found["id"] == "way/94399747"
    assert get(client, f"{url}&country_code=fr")["features"] == []
    assert len(get(client, f"{url}&country_code=fr,mc")["features"]) == 1


def test_bbox_limits_or_only_prefers(client: LocalClient) -> None:
    west = "43.725,7.40,43.735,7.42"
    inside = get(client, f"/api/v1/geocode?q=carrefour&bbox={west}&limit=50")["features"]
    assert inside
    for feature in inside:
        lng, lat = feature["geometry"]["coordinates"]
        assert 7.40 <= lng <= 7.42
        assert 43.725 <= lat <= 43.735
    preferred = get(client, f"/api/v1/geocode?q=carrefour&bbox={west}&bounded=false&limit=50")
    assert len(preferred["features"]) > len(inside)
    assert preferred["features"][0]["id"] in {feature["id"] for feature in inside}


def test_tag_filters(client: LocalClient) -> None:
    found = get(client, "/api/v1/geocode?q=monaco&tags[railway]=station&limit=5")["features"]
    assert found
    assert {f["properties"]["tags"]["railway"] for f in found} == {"station"}
    url = "/api/v1/geocode/reverse?lat=43.7384&lng=7.4246&radius=2000&limit=3"
    found = get(client, f"{url}&tags[amenity]=pharmacy")["features"]
    assert len(found) == 3
    assert {f["properties"]["tags"]["amenity"] for f in found} == {"pharmacy"}
    distances = [f["properties"]["distance_m"] for f in found]
    assert distances == sorted(distances)
    without = get(client, "/api/v1/geocode?q=monaco&tags[place]=!&limit=20")["features"]
    assert without
    assert not any("place" in f["properties"].get("tags", {}) for f in without)


def test_batch(client: LocalClient) -> None:
    rows = ["rue grimaldi", {"lat": 43.7384, "lng": 7.4246}, 5, {"street": "rue grimaldi"}]
    answer = client.post("/api/v1/geocode/batch", json={"addresses": rows})
    found = answer.json()
    assert answer.status_code == 200
    assert found["count"] == 4
    assert [len(result["features"]) for result in found["results"]] == [1, 1, 0, 1]
    assert found["results"][2]["error"]["code"] == "invalid_request"
    for body, status in (({"addresses": []}, 400), ({"addresses": ["a"] * 1_001}, 413), ({}, 400)):
        answer = client.post("/api/v1/geocode/batch", json=body)
        assert answer.status_code == status, answer.text
    assert answer.json()["error"]["details"]["addresses"]


def test_batch_csv(client: LocalClient) -> None:
    text = 'id;address\n7;"rue grimaldi; monaco"\n8;xyzzyplugh\n'
    answer = client.post(
        "/api/v1/geocode/batch", content=text.encode(), headers={"Content-Type": "text/csv"}
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/csv")
    one, two = csv.DictReader(io.StringIO(answer.text), delimiter=";")
    assert (one["id"], one["address"]) == ("7", "rue grimaldi; monaco")
    assert one["match_display_name"].startswith("Rue Grimaldi")
    assert (two["match_lat"], two["match_error"]) == ("", "nothing found")
    answer = client.post(
        "/api/v1/geocode/batch", content=b"a,b\n1,2\n", headers={"Content-Type": "text/csv"}
    )
    assert answer.status_code == 400


def test_search_pages_with_headers_and_filters(client: LocalClient) -> None:
    url = "/api/v1/search?q=carrefour&tags[shop]=supermarket&limit=1"
    seen: list[str] = []
    while url:
        answer = client.get(url)
        assert answer.status_code == 200
        seen += [feature["id"] for feature in answer.json()["features"]]
        assert answer.headers["x-limit"] == "1"
        more = answer.headers["x-has-more"] == "true"
        assert more == ("link" in answer.headers)
        url = answer.headers["link"].partition(">")[0][1:] if more else ""
    whole = get(client, "/api/v1/search?q=carrefour&tags[shop]=supermarket&limit=100")["features"]
    assert seen == [feature["id"] for feature in whole]
    assert len(seen) > 1
    offset = client.get("/api/v1/search?q=carrefour&tags[shop]=supermarket&limit=1&offset=1")
    assert [f["id"] for f in offset.json()["features"]] == seen[1:2]
    assert "x-next-cursor" not in offset.headers


def test_search_streams_are_whole(client: LocalClient) -> None:
    whole: list[str] = []
    url = "/api/v1/search?q=monaco&limit=100"
    while url:
        answer = client.get(url)
        whole += [feature["id"] for feature in answer.json()["features"]]
        link = answer.headers.get("link", "")
        url = link.partition(">")[0][1:]
    answer = client.get("/api/v1/search?q=monaco&format=ndjson")
    assert [json.loads(line)["id"] for line in answer.text.splitlines()] == whole
    assert len(client.get("/api/v1/search?q=monaco&format=ndjson&limit=3").text.splitlines()) == 3
    streamed = get(client, "/api/v1/search?q=monaco&format=geojson")["features"]
    assert [feature["id"] for feature in streamed] == whole


def test_search_in_other_orders(client: LocalClient) -> None:
    by_id = get(client, "/api/v1/search?q=carrefour&output[sort]=osm_id&limit=100")["features"]
    ids = [feature["osm_id"] for feature in by_id]
    assert ids == sorted(ids)
    by_name = get(client, "/api/v1/search?q=carrefour&output[sort]=name&limit=100")["features"]
    names = [f["properties"]["name"] for f in by_name if "name" in f["properties"]]
    assert names == sorted(names)
    assert {f["id"] for f in by_name} == {f["id"] for f in by_id}


def test_without_the_part_501_says_what_to_build(
    build_once: Callable[..., Path],
) -> None:
    data = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    with LocalClient(Settings(data=data)) as client:
        for url in ("geocode?q=a", "search?q=a", "geocode/reverse?lat=43.7&lng=7.4"):
            answer = client.get(f"/api/v1/{url}")
            assert answer.status_code == 501
            assert answer.json()["error"]["code"] == "not_installed"
            assert answer.json()["error"]["details"] == {"part": "text"}


def test_the_language_of_the_browser_counts_where_none_is_given(client: LocalClient) -> None:
    headers = {"Accept-Language": "ja, en;q=0.5"}
    path = "/api/v1/geocode?q=Monaco&limit=1&layer=admin"
    country = client.get(path, headers=headers).json()["features"][0]["properties"]["country"]
    assert country == "モナコ"
    country = client.get(f"{path}&lang=de", headers=headers).json()["features"][0]["properties"]
    assert country["country"] == "Monaco"


def test_negative_layers_and_exclusions(client: LocalClient) -> None:
    found = get(client, "/api/v1/geocode?q=monaco&layer=!poi&limit=20")["features"]
    assert found
    assert all(f["properties"]["category"] in ("place", "boundary", "highway") for f in found)
    found = get(client, "/api/v1/geocode?q=monaco&limit=1")["features"]
    other = get(client, f"/api/v1/geocode?q=monaco&limit=1&exclude={found[0]['id']}")["features"]
    assert other[0]["id"] != found[0]["id"]
    explained = get(client, "/api/v1/geocode?q=monaco&limit=1&debug=1")["features"]
    assert explained[0]["properties"]["explain"]["text"] > 0


def test_batch_ndjson_and_ids(client: LocalClient) -> None:
    rows = '{"id": 7, "q": "Rue Grimaldi"}\n"xyzzyplugh"\n'
    answer = client.post(
        "/api/v1/geocode/batch",
        content=rows.encode(),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert answer.headers["content-type"].startswith("application/jsonl")
    first, second = [json.loads(line) for line in answer.text.splitlines()]
    assert (first["id"], second["features"]) == (7, [])
    assert first["features"][0]["properties"]["name"] == "Rue Grimaldi"


def test_columns_that_are_not_used_are_named_and_old_matches_replaced(client: LocalClient) -> None:
    text = "id,q,turnover\n1,Rue Grimaldi,5\n"
    headers = {"Content-Type": "text/csv"}
    once = client.post("/api/v1/geocode/batch", content=text.encode(), headers=headers)
    assert once.headers["x-unused-columns"] == "turnover"
    twice = client.post("/api/v1/geocode/batch", content=once.content, headers=headers)
    assert twice.text == once.text


@pytest.mark.parametrize(
    ("encoding", "content_type"),
    [
        ("utf-8-sig", "text/csv"),
        ("utf-16", "text/csv"),
        ("cp1252", "text/csv"),
        ("iso-8859-15", "text/csv; charset=iso-8859-15"),
    ],
)
def test_csv_in_the_encodings_of_spreadsheets(
    client: LocalClient, encoding: str, content_type: str
) -> None:
    answer = client.post(
        "/api/v1/geocode/batch",
        content='q\n"Rue Émile de Loth"\n'.encode(encoding),
        headers={"Content-Type": content_type},
    )
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["q"], row["match_street"]) == ("Rue Émile de Loth", "Rue Émile de Loth")


def test_a_charset_that_does_not_hold_is_named(client: LocalClient) -> None:
    answer = client.post(
        "/api/v1/geocode/batch",
        content=b"q\n\xff\n",
        headers={"Content-Type": "text/csv; charset=ascii"},
    )
    assert answer.status_code == 400
    assert "charset ascii" in answer.text
