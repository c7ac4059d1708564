"""The feature endpoints in process, on Monaco's store."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES

FEATURES = "/api/v1/features"
BOX = "43.73,7.41,43.745,7.43"
SQUARE = {
    "type": "Polygon",
    "coordinates": [[[7.42, 43.73], [7.43, 43.73], [7.43, 43.74], [7.42, 43.74], [7.42, 43.73]]],
}


@pytest.fixture(scope="module")
def client(build_once: Callable[..., Path]) -> Iterator[LocalClient]:
    data = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    with LocalClient(Settings(data=data)) as opened:
        yield opened


def get(client: LocalClient, path: str = FEATURES, **params: Any) -> httpx.Response:
    answer = client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer


def ids(answer: httpx.Response) -> list[str]:
    return [feature["id"] for feature in answer.json()["features"]]


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert error["code"] == code
    return error


def follow(client: LocalClient, answer: httpx.Response) -> list[str]:
    """Return the ids of all pages, going by the Link alone."""
    found = ids(answer)
    while "next" in answer.links:
        assert answer.headers["X-Has-More"] == "true"
        answer = client.get(answer.links["next"]["url"])
        found += ids(answer)
    assert answer.headers["X-Has-More"] == "false"
    assert "X-Next-Cursor" not in answer.headers
    assert "X-Next-Offset" not in answer.headers
    return found


def test_following_the_links_finds_the_stream(client: LocalClient) -> None:
    query = f"{FEATURES}?bbox={BOX}&tags[amenity]=cafe|restaurant"
    by_cursor = follow(client, client.get(f"{query}&limit=7"))
    by_offset = follow(client, client.get(f"{query}&limit=7&offset=0"))
    lines = client.get(f"{query}&format=ndjson").text.splitlines()
    assert by_cursor == by_offset == [json.loads(line)["id"] for line in lines]
    assert len(by_cursor) > 30


def test_defaults_and_headers(client: LocalClient) -> None:
    answer = get(client)
    assert len(ids(answer)) == 20
    assert answer.headers["X-Limit"] == "20"
    assert answer.headers["content-type"] == "application/geo+json"
    assert answer.json()["attribution"] == "© OpenStreetMap contributors (ODbL)"
    assert "pagination" not in answer.json()


def test_client_libraries_and_early_paths_get_pagination_in_the_body(client: LocalClient) -> None:
    library = client.get(f"{FEATURES}?limit=1", headers={"X-Stainless-Lang": "python"}).json()
    assert library["pagination"]["has_more"] is True
    early = get(client, "/api/v1/elements", limit=5000, offset=0)
    assert early.headers["X-Limit"] == "1000"
    assert early.json()["pagination"] == {
        "limit": 1000, "has_more": True, "next_cursor": None, "next_offset": 1000,
    }  # fmt: skip
    assert len(ids(get(client, "/api/v1/nearby", lat=43.7384, lng=7.4246))) == 100


def test_a_cursor_wins_over_an_offset(client: LocalClient) -> None:
    first = get(client, limit=2)
    second = get(client, limit=2, offset=500, cursor=first.headers["X-Next-Cursor"])
    assert ids(second) == ids(get(client, limit=2, offset=2))
    assert "X-Next-Cursor" in second.headers


def test_after_a_switch_cursors_from_before_are_stale(
    build_once: Callable[..., Path], tmp_path: Path
) -> None:
    source = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    data = tmp_path / "data"
    dataset = (source / "current").resolve()
    shutil.copytree(dataset, data / "datasets" / "first", copy_function=os.link)
    shutil.copytree(dataset, data / "datasets" / "second", copy_function=os.link)
    (data / "current").symlink_to("datasets/first")
    with LocalClient(Settings(data=data)) as client:
        paths = [f"{FEATURES}?bbox={BOX}&limit=2", f"{FEATURES}/nearby?near=43.7384,7.4246&limit=2"]
        links = [client.get(path).links["next"]["url"] for path in paths]
        assert all(client.get(link).status_code == 200 for link in links)
        (data / "next").symlink_to("datasets/second")
        (data / "next").replace(data / "current")
        for path, link in zip(paths, links, strict=True):
            error = problem(client.get(link), 400, "stale_cursor")
            assert "first page" in error["message"]
            assert client.get(path).status_code == 200


def test_get_and_post_are_twins(client: LocalClient) -> None:
    query = {"bbox": BOX, "limit": 3, "type": "way"}
    by_get = get(client, **query, **{"tags[highway]": "*"})
    bodies: list[dict[str, Any]] = [
        {**query, "tags": {"highway": "*"}},
        {**query, "tags": {"highway": True}, "limit": "3.0", "within": None},
        {**query, "tags": "highway"},
    ]
    for body in bodies:
        assert ids(client.post(FEATURES, json=body)) == ids(by_get)
    empty = client.post(f"{FEATURES}?bbox={BOX}&limit=3&type=way&tags[highway]=*")
    assert ids(empty) == ids(by_get)
    # The Link of a POST keeps its query string; the body is sent again.
    second = client.post(empty.links["next"]["url"])
    assert ids(second) == ids(client.get(by_get.links["next"]["url"]))


def test_around_has_distances(client: LocalClient) -> None:
    for spelled in ("43.7384,7.4246", '{"type":"Point","coordinates":[7.4246,43.7384]}'):
        found = get(client, near=spelled, radius=200, tags="amenity", limit=1000).json()["features"]
        assert found
        assert all(feature["properties"]["distance_m"] <= 200 for feature in found)
    assert ids(get(client, around="43.7384,7.4246", tags="shop")) == ids(
        get(client, around="43.7384,7.4246", tags="shop", radius=500)
    )


def test_sorting(client: LocalClient) -> None:
    query = {"around": "43.7384,7.4246", "tags": "shop", "limit": 30}
    answer = get(client, **query, **{"output[sort]": "distance"})
    distances = [f["properties"]["distance_m"] for f in answer.json()["features"]]
    assert distances == sorted(distances)
    assert answer.headers["X-Next-Offset"] == "30"


def test_predicates_with_bodies(client: LocalClient) -> None:
    body = {"tags": {"amenity": ["cafe", "bar"]}, "limit": 1000}
    inside = set(ids(client.post(FEATURES, json={**body, "within": SQUARE})))
    wider = set(ids(client.post(FEATURES, json={**body, "within": SQUARE, "radius": 200})))
    outside = set(ids(client.post(FEATURES, json={**body, "not_within": SQUARE})))
    everything = set(ids(client.post(FEATURES, json=body)))
    assert inside < wider
    assert inside | outside == everything
    assert not inside & outside


def test_output_options(client: LocalClient) -> None:
    answer = get(
        client,
        bbox=BOX,
        type="relation",
        limit=1,
        **{
            "output[fields]": "name,type", "output[include]": "bbox,center,meta",
            "output[precision]": 3, "output[centroid]": "true",
        },
    ).json()["features"][0]  # fmt: skip
    assert answer["geometry"]["type"] == "Point"
    assert all(abs(x * 1000 - round(x * 1000)) < 1e-6 for x in answer["geometry"]["coordinates"])
    assert len(answer["bbox"]) == 4
    assert {"@type", "@id", "@center", "@version"} <= set(answer["properties"])
    assert not {"admin_level", "boundary"} & set(answer["properties"])


def test_streams(client: LocalClient) -> None:
    query = {"tags[amenity]": "cafe"}
    whole = get(client, **query, format="geojson").json()
    assert len(whole["features"]) > 20
    capped = get(client, **query, format="csv", limit=3, **{"output[fields]": "name"})
    assert capped.headers["content-type"].startswith("text/csv")
    table = list(csv.DictReader(io.StringIO(capped.text)))
    assert [line["name"] for line in table] == [
        feature["properties"].get("name", "") for feature in whole["features"][:3]
    ]
    rest = get(client, **query, format="ndjson", offset=3).text.splitlines()
    assert [json.loads(line) for line in rest] == whole["features"][3:]
    page = get(client, **query, limit=5)
    behind = get(client, **query, format="ndjson", cursor=page.headers["X-Next-Cursor"])
    assert [json.loads(line) for line in behind.text.splitlines()] == whole["features"][5:]


def test_by_id(client: LocalClient) -> None:
    way = get(client, f"{FEATURES}/way/94400040").json()
    assert way["id"] == "way/94400040"
    assert way == get(client, "/api/v1/elements/way/94400040").json()
    assert way == client.post(f"{FEATURES}/lookup", json={"type": "way", "id": 94400040}).json()
    assert way == client.post(f"{FEATURES}/lookup?type=way&id=94400040").json()
    error = problem(client.get(f"{FEATURES}/node/1"), 404, "not_found")
    assert error["details"] == {"id": "node/1"}
    problem(client.get(f"{FEATURES}/street/1"), 400, "invalid_request")
    problem(client.get(f"{FEATURES}/node/abc"), 400, "invalid_request")
    problem(client.post(f"{FEATURES}/lookup", json={}), 400, "invalid_request")


def test_batch_keeps_the_order_and_lists_what_is_missing(client: LocalClient) -> None:
    asked = [("relation", 1124039), ("node", 1), ("way", 94400040), ("way", 94400040)]
    answer = client.post(
        f"{FEATURES}/batch", json={"elements": [{"type": t, "id": i} for t, i in asked]}
    )
    assert ids(answer) == ["relation/1124039", "way/94400040", "way/94400040"]
    assert answer.json()["missing"] == [{"type": "node", "id": 1}]
    many = [{"type": "node", "id": i} for i in range(101)]
    error = problem(client.post(f"{FEATURES}/batch", json={"elements": many}), 413, "too_large")
    assert error["details"]["limit"] == 100
    problem(client.post(f"{FEATURES}/batch", json={"elements": []}), 400, "invalid_request")


def test_nearby(client: LocalClient) -> None:
    answer = get(
        client, f"{FEATURES}/nearby", lat=43.7384, lng=7.4246, tags="amenity=cafe", limit=4
    )
    assert follow(client, answer) == follow(
        client,
        client.get(
            f"{FEATURES}/nearby?near=43.7384,7.4246&tags[amenity]=cafe&limit=3&offset=0&radius=500"
        ),
    )
    body = {"near": {"lat": 43.7384, "lng": 7.4246}, "tags": {"amenity": "cafe"}, "limit": 4}
    assert client.post(f"{FEATURES}/nearby", json=body).json() == answer.json()
    distances = [f["properties"]["distance_m"] for f in answer.json()["features"]]
    assert distances == sorted(distances)


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("limit=1001", "limit"),
        ("limit=0", "limit"),
        ("offset=-1", "offset"),
        ("radius=5", "radius"),
        (f"bbox={BOX}&radius=5", "radius"),
        ("near=43,7&radius=100001", "radius"),
        (f"bbox={BOX}&h3=8839691955fffff", "bbox"),
        ("bbox=44,7,43,8", "bbox"),
        ("bbox=1,2,3", "bbox"),
        ("around=95,7", "around"),
        ("h3=nothing", "h3"),
        ("within=%7B%22type%22:%22Circle%22%7D", "within"),
        ("within=POINT(1 1)", "within"),
        ("type=street", "type"),
        ("format=xml", "format"),
        ("tags[name]=a|", "tags[name]"),
        ("output[sort]=size", "output[sort]"),
        ("output[sort]=distance", "output[sort]"),
        ("output[include]=distance", "output[include]"),
        ("output[precision]=0", "output[precision]"),
        ("output[sort]=name&format=csv", "output[sort]"),
        ("output[sort]=name&cursor=x", "output[sort]"),
    ],
)
def test_bad_parameters_are_named(client: LocalClient, query: str, parameter: str) -> None:
    error = problem(client.get(f"{FEATURES}?{query}"), 400, "invalid_request")
    assert parameter in error["details"]


def test_other_refusals(client: LocalClient) -> None:
    problem(client.get(f"{FEATURES}?cursor=nonsense"), 400, "invalid_cursor")
    problem(client.get(f"{FEATURES}?tags[name]=~(?=a)"), 422, "validation_failed")
    bowtie = {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}
    error = problem(client.post(FEATURES, json={"within": bowtie}), 400, "invalid_request")
    assert "0.5 0.5" in error["message"]
    error = problem(client.get(f"{FEATURES}/nearby?lat=43.7"), 400, "invalid_request")
    assert "lng" in error["details"]
    problem(client.get(f"{FEATURES}/nearby?lat=1&lng=1&limit=2000"), 400, "invalid_request")


def test_nearest_named(client: LocalClient) -> None:
    feature = get(client, "/api/v1/reverse-geocode", lat=43.7384, lng=7.4246).json()
    assert feature["properties"]["name"]
    problem(client.get("/api/v1/reverse-geocode?lat=0&lng=0"), 404, "not_found")


def test_a_suffix_is_a_format(client: LocalClient) -> None:
    asked = {"tags[amenity]": "cafe"}
    for suffix, kind in (
        ("csv", "text/csv"), ("ndjson", "application/jsonl"), ("geojson", "application/geo+json"),
    ):  # fmt: skip
        short = get(client, f"{FEATURES}.{suffix}", **asked)
        assert short.headers["content-type"].startswith(kind)
        assert short.text == get(client, format=suffix, **asked).text
    problem(client.get(f"{FEATURES}.gpx"), 404, "not_found")


def test_clients_take_no_lines_for_json(client: LocalClient) -> None:
    """The published clients parse what has a type that ends with json."""
    for suffix in ("csv", "ndjson"):
        kind = get(client, f"{FEATURES}.{suffix}", limit=2).headers["content-type"]
        assert not kind.partition(";")[0].strip().endswith("json")


def test_head_tells_the_length_where_it_is_known(client: LocalClient) -> None:
    whole = get(client, limit=3)
    head = client.request("HEAD", FEATURES, params={"limit": 3})
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert not head.content
    assert "content-length" not in client.request("HEAD", f"{FEATURES}.csv").headers
