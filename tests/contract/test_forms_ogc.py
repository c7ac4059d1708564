"""OGC API Features: GDAL reads it as it comes, and every link leads somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyogrio
import pytest

from osm_files import EXAMPLES
from servers import Server, copy_data, running

BOX = (7.41, 43.73, 7.43, 43.74)


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    built = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    folder = tmp_path_factory.mktemp("ogc")
    with running(copy_data(built, folder / "data"), folder / "serve.log") as started:
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
    assert some.geometry.intersects(_box(*BOX)).all()


def _box(*corners: float) -> Any:
    import shapely

    return shapely.box(*corners)


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
