"""OGC API Features: GDAL reads it as it comes, and every link leads somewhere."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyogrio
import pytest
import shapely
from owslib.ogcapi.features import Features

from servers import Server, copy_data, running

BOX = (7.41, 43.73, 7.43, 43.74)


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("ogc")
    with running(copy_data(monaco, folder / "data"), folder / "serve.log") as started:
        yield started


def test_gdal_reads_collections_and_pages(server: Server) -> None:
    source = f"OAPIF:{server.address}/key/{server.key}/ogc"
    layers = {name for name, _ in pyogrio.list_layers(source)}
    assert {"elements", "buildings", "roads", "addresses"} <= layers
    shops = pyogrio.read_dataframe(source, layer="shops")  # more than one page
    whole = server.get("/api/v1/features?tags=shop&format=geojson").json()["features"]
    assert len(shops) == len(whole) > 100
    some = pyogrio.read_dataframe(source, layer="amenities", bbox=BOX, max_features=50)
    assert len(some) == 50
    assert some.geometry.intersects(shapely.box(*BOX)).all()


def test_every_link_leads_somewhere(server: Server) -> None:
    base = f"{server.address}/key/{server.key}/ogc"
    waiting, seen, kinds = [base], set[str](), set[str]()
    while waiting and len(seen) < 80:
        url = waiting.pop()
        if url in seen:
            continue
        seen.add(url)
        answer = httpx.get(url, timeout=30)
        assert answer.status_code == 200, url
        if "json" not in answer.headers["content-type"] or "openapi" in url:
            continue
        body = answer.json()
        links = [*body.get("links", ())]
        links += [link for found in body.get("collections", ()) for link in found["links"]]
        for link in links:
            kinds.add(link["rel"])
            if link["rel"] != "next":
                waiting.append(link["href"])
    assert {"self", "data", "conformance", "items", "collection", "next", "service-desc"} <= kinds


def test_pages_items_and_errors(server: Server) -> None:
    path = "/ogc/collections/buildings/items"
    first = server.get(path, params={"limit": 3, "bbox": ",".join(map(str, BOX))}).json()
    assert first["numberReturned"] == len(first["features"]) == 3
    (following,) = [link["href"] for link in first["links"] if link["rel"] == "next"]
    second = httpx.get(following, headers={"X-API-Key": server.key}, timeout=20).json()
    ids = [feature["id"] for feature in first["features"] + second["features"]]
    assert len(set(ids)) == 6
    assert all("-" in name and "/" not in name for name in ids)
    one = server.get(f"{path}/{ids[0]}").json()
    assert one["id"] == ids[0]
    assert one["geometry"] == first["features"][0]["geometry"]
    bare = server.get("/ogc/collections/elements/items/node-25177418").json()
    assert bare["id"] == "node-25177418"
    assert "@id" not in bare["properties"]  # GDAL takes it for 32 bits
    heights = f"{BOX[0]},{BOX[1]},0,{BOX[2]},{BOX[3]},9"
    with_heights = server.get(path, params={"limit": 3, "bbox": heights}).json()
    assert with_heights["features"] == first["features"]
    for wrong, status in (
        ("/ogc/collections/none", 404), (f"{path}/way-1", 404), (f"{path}/x", 404),
        (f"{path}?bbox=1,2", 400), (f"{path}?bbox=1,2,3,400", 400),
    ):  # fmt: skip
        answer = server.get(wrong)
        assert answer.status_code == status, wrong
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]


def test_collections_say_where_they_are(server: Server) -> None:
    body = server.get("/ogc/collections/buildings").json()
    ((west, south, east, north),) = body["extent"]["spatial"]["bbox"]
    assert 7.3 < west < 7.43 < east < 7.7
    assert 43.3 < south < 43.73 < north < 43.8


def test_owslib_reads_it(server: Server) -> None:
    client = Features(f"{server.address}/key/{server.key}/ogc")
    assert (
        "http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/filter"
        in (client.conformance()["conformsTo"])
    )
    assert {"buildings", "amenities"} <= set(client.feature_collections())
    assert client.collection("buildings")["crs"]
    assert "name" in client.collection_queryables("amenities")["properties"]
    found = client.collection_items("amenities", bbox=list(BOX), limit=5)
    assert found["numberReturned"] == 5
    cafes = client.collection_items("amenities", limit=100, filter="amenity = 'cafe'")
    assert {one["properties"]["amenity"] for one in cafes["features"]} == {"cafe"}
    one = client.collection_item("amenities", found["features"][0]["id"])
    assert one["id"] == found["features"][0]["id"]


def ids(server: Server, collection: str, **params: Any) -> set[str]:
    answer = server.get(f"/ogc/collections/{collection}/items", params={"limit": 1_000, **params})
    assert answer.status_code == 200, answer.text
    return {one["id"].replace("-", "/") for one in answer.json()["features"]}


def plain(server: Server, **params: Any) -> set[str]:
    answer = server.get("/api/v1/features.geojson", params=params)
    return {one["id"] for one in answer.json()["features"]}


def test_filters_say_what_ours_do(server: Server) -> None:
    ring = "POLYGON((7.41 43.73, 7.43 43.73, 7.43 43.74, 7.41 43.74, 7.41 43.73))"
    shape = (
        '{"type":"Polygon","coordinates":[[[7.41,43.73],[7.43,43.73],[7.43,43.74],[7.41,43.74],'
        "[7.41,43.73]]]}"
    )
    for text, ours in (
        ("amenity = 'cafe'", {"tags[amenity]": "cafe"}),
        ("amenity IN ('cafe','bar') AND name IS NOT NULL",
         {"tags[amenity]": "cafe|bar", "tags[name]": "*"}),
        ("amenity = 'cafe' OR amenity = 'bar'", {"tags[amenity]": "cafe|bar"}),
        ("amenity = 'cafe' AND name IS NULL", {"tags[amenity]": "cafe", "tags[name]": "!"}),
        ("amenity LIKE 'ca%'", {"tags[amenity]": "~^ca"}),
        (f"amenity = 'cafe' AND S_WITHIN(geometry, {ring})",
         {"tags[amenity]": "cafe", "within": shape}),
        (f"NOT S_INTERSECTS(geometry, {ring}) AND amenity = 'cafe'",
         {"tags[amenity]": "cafe", "not_intersects": shape}),
        ("S_INTERSECTS(geometry, BBOX(7.41,43.73,7.43,43.74))",
         {"tags[amenity]": "*", "intersects": shape}),
    ):  # fmt: skip
        expected = plain(server, **ours)
        assert expected, text
        assert ids(server, "amenities", filter=text) == expected & plain(
            server, **{"tags[amenity]": "*"}
        ), text
    as_json = (
        '{"op":"and","args":[{"op":"=","args":[{"property":"amenity"},"cafe"]},'
        '{"op":"s_within","args":[{"property":"geometry"},' + shape + "]}]}"
    )
    asked = {"filter": as_json, "filter-lang": "cql2-json"}
    assert ids(server, "amenities", **asked) == plain(
        server, **{"tags[amenity]": "cafe", "within": shape}
    )
    assert ids(server, "amenities", amenity="cafe") == plain(server, **{"tags[amenity]": "cafe"})


def test_filters_of_any_logic_are_what_they_say(server: Server) -> None:
    def ask(text: str) -> set[str]:
        return ids(server, "amenities", filter=text)

    box = "BBOX(7.41,43.73,7.42,43.74)"
    in_box = {"bbox": "43.73,7.41,43.74,7.42", "tags[amenity]": "*"}
    everything, named = plain(server, **{"tags[amenity]": "*"}), ask("name IS NOT NULL")
    cafes, l_names = ask("amenity = 'cafe'"), ask("name LIKE 'L%'")
    there = plain(server, **in_box)
    assert min(map(len, (cafes, l_names, there, everything - named))) > 10
    assert ask(f"amenity <> 'cafe' AND S_INTERSECTS(geometry, {box})") == there - cafes
    assert ask("amenity = 'cafe' OR name LIKE 'L%'") == cafes | l_names
    assert ask("amenity = 'cafe' AND NOT name LIKE 'L%'") == (cafes - l_names) & named
    assert ask("NOT (amenity <> 'cafe' OR name LIKE 'L%')") == (cafes - l_names) & named
    assert ask(f"amenity = 'cafe' AND NOT S_INTERSECTS(geometry, {box})") == cafes - there
    assert ask(f"amenity = 'cafe' OR S_INTERSECTS(geometry, {box})") == cafes | there
    assert ask(f"amenity = 'cafe' AND S_DISJOINT(geometry, {box})") == cafes - there
    assert ask("CASEI(name) LIKE 'l%'") >= l_names
    capacity = ask("capacity > 10"), ask("capacity <= 10")
    assert all(capacity)
    assert not capacity[0] & capacity[1]
    assert ask("capacity BETWEEN 0 AND 10") == capacity[1]
    assert ask("capacity >= 0 AND NOT capacity BETWEEN 0 AND 10") == capacity[0]
    assert ask("FALSE OR amenity IN ('bar', 'cafe')") == cafes | ask("amenity = 'bar'")


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"filter": "amenity = "}, "ends where"),
        ({"filter": "amenity = name"}, "a property is compared with a text"),
        ({"filter": "S_FLIES(geometry, POINT(1 2))"}, "s_flies is not served"),
        ({"filter": "{"}, "character 1"),
        ({"filter": "{", "filter-lang": "cql2-json"}, "is not JSON"),
        ({"filter": "(" * 50}, "nested"),
        ({"colour": "red"}, "colour: is not known here"),
        ({"crs": "urn:moon"}, "crs: 'urn:moon' is not served"),
        ({"bbox": "1,2,3"}, "bbox: must be four or six numbers"),
        ({"limit": "0"}, "limit: must be at least 1"),
    ],
)
def test_wrong_questions_are_problems(server: Server, params: dict[str, str], text: str) -> None:
    answer = server.get("/ogc/collections/amenities/items", params=params)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert text in answer.json()["detail"]


def test_pages_keep_their_conditions(server: Server) -> None:
    whole = ids(server, "amenities", filter="amenity = 'cafe'", bbox=",".join(map(str, BOX)))
    url, found = "/ogc/collections/amenities/items", set[str]()
    params: dict[str, Any] | None = {
        "filter": "amenity = 'cafe'", "limit": 5, "bbox": ",".join(map(str, BOX)),
    }  # fmt: skip
    while url:
        body = server.get(url, params=params).json()
        found |= {one["id"].replace("-", "/") for one in body["features"]}
        following = [one["href"] for one in body["links"] if one["rel"] == "next"]
        url, params = (following[0].removeprefix(server.address) if following else ""), None
    assert found == whole
    assert len(whole) > 10


def test_other_coordinate_systems(server: Server) -> None:
    path = "/ogc/collections/buildings/items"
    base = "http://www.opengis.net/def/crs/EPSG/0/"
    box = ",".join(map(str, BOX))
    lonlat = server.get(path, params={"limit": 3, "bbox": box}).json()["features"]
    swapped = f"{BOX[1]},{BOX[0]},{BOX[3]},{BOX[2]}"
    asked = {"limit": 3, "bbox": swapped, "bbox-crs": base + "4326", "crs": base + "4326"}
    answer = server.get(path, params=asked)
    assert answer.headers["content-crs"] == f"<{base}4326>"
    for one, other in zip(lonlat, answer.json()["features"], strict=True):
        assert one["id"] == other["id"]
        first = one["geometry"]["coordinates"][0][0]
        assert other["geometry"]["coordinates"][0][0] == first[::-1]
    meters = server.get(path, params={"limit": 3, "bbox": box, "crs": base + "3857"}).json()
    x, y = meters["features"][0]["geometry"]["coordinates"][0][0]
    lon, lat = lonlat[0]["geometry"]["coordinates"][0][0]
    assert x == pytest.approx(lon * 111_319.490793, abs=0.01)
    assert 5_420_000 < y < 5_440_000
    assert lat == pytest.approx(43.73, abs=0.02)


def test_tiles_are_those_of_the_map(server: Server) -> None:
    tileset = server.get("/ogc/tiles/WebMercatorQuad").json()
    (template,) = [one["href"] for one in tileset["links"] if one.get("templated")]
    path = template.removeprefix(server.address)
    for name, value in (("{tileMatrix}", "14"), ("{tileRow}", "5974"), ("{tileCol}", "8529")):
        path = path.replace(name, value)
    tile = server.get(path)
    assert tile.headers["content-type"] == "application/vnd.mapbox-vector-tile"
    assert tile.content == server.get("/api/v1/tiles/14/8529/5974").content
    described = server.get("/ogc/tiles/WebMercatorQuad/tilejson").json()
    assert described["tilejson"].startswith("3.")
    matrices = server.get("/ogc/tileMatrixSets/WebMercatorQuad").json()["tileMatrices"]
    assert matrices[0]["scaleDenominator"] == pytest.approx(559_082_264.028, abs=0.01)
    assert server.get("/ogc/tiles/Moon").status_code == 404
    assert server.get("/ogc/tiles/WebMercatorQuad/14/x/y").status_code == 400


def test_browsers_get_pages(server: Server) -> None:
    base = f"{server.address}/key/{server.key}/ogc"
    accept = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    waiting, seen = [base], set[str]()
    while waiting and len(seen) < 60:
        url = waiting.pop(0)
        if url in seen:
            continue
        seen.add(url)
        answer = httpx.get(url, headers=accept, timeout=30)
        assert answer.status_code == 200, url
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        hrefs = [html.unescape(href) for href in re.findall(r'href="([^"]+)"', answer.text)]
        assert hrefs, url
        waiting += [
            href
            for href in hrefs
            if href.startswith(base)
            and "{" not in href
            and ("/collections/" not in href or "/shops" in href)
        ]
    assert any("/items/" in url for url in seen)
    shown = httpx.get(f"{base}/collections/shops/items?f=html&limit=2", timeout=20)
    assert shown.text.count("<tr>") == 3
    assert "<script" not in shown.text


def test_gdal_reads_what_browsers_do(server: Server, monaco: Path) -> None:
    keyed = f"{server.address}/key/{server.key}"
    asked = "api/v1/features.geojson?tags=amenity=cafe"
    for address in (f"{keyed}/{asked}", f"/vsicurl_streaming/{keyed}/{asked}"):
        cafes = pyogrio.read_dataframe(address)
        assert len(cafes) == len(plain(server, **{"tags[amenity]": "cafe"})) > 20
        assert set(cafes["amenity"]) == {"cafe"}
    page = pyogrio.read_dataframe(f"/vsicurl/{keyed}/api/v1/features?tags=amenity=cafe&limit=50")
    assert len(page) == len(cafes)
    tile = pyogrio.list_layers(f"MVT:/vsicurl/{keyed}/api/v1/tiles/14/8529/5974.mvt")
    assert {"buildings", "streets"} <= {name for name, _ in tile}
    archive = next((monaco / "current").resolve().glob("tiles.pmtiles"))
    assert {"boundaries", "place_labels"} & {name for name, _ in pyogrio.list_layers(archive)}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("2026-01-31", 200), ("2026-01-31T10:00:00Z", 200), ("2026-01-01/2026-01-31", 200),
        ("../2026-01-31", 200), ("2026-01-31/..", 200), ("2026-01-31/", 200),
        ("yesterday", 400), ("../..", 400), ("2026-01-31T10:00:00", 400),
    ],
)  # fmt: skip
def test_times_are_read_though_features_have_none(server: Server, text: str, status: int) -> None:
    path = "/ogc/collections/buildings/items?limit=1&datetime="
    assert server.get(path + text).status_code == status
