"""The published Python client, unchanged, against a running server: elements, nearby, search."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import h3
import httpx
import plaza
import pytest

from servers import copy_data

COMMAND = Path(sys.executable).with_name("mapyard")
BBOX = "43.73,7.41,43.745,7.43"


def run(*arguments: str, data: Path) -> str:
    done = subprocess.run(
        [COMMAND, *arguments, "--data", str(data)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], monaco: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """Address and key of a server on a copy of Monaco's data folder."""
    data = tmp_path_factory.mktemp("contract") / "data"
    copy_data(monaco, data)
    run("accounts", "create", "me@example.org", "--plan", "enterprise", data=data)
    key = run("keys", "create", "me@example.org", data=data).strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    log = (data.parent / "serve.log").open("w+")
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", str(port), "--workers", "1", "--data", str(data)],
        stdout=log,
        stderr=log,
    )
    try:
        for _ in range(300):
            if process.poll() is not None:
                break
            try:
                if httpx.get(f"{address}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        assert process.poll() is None, log.seek(0) or log.read()
        yield address, key
    finally:
        process.terminate()
        process.wait(30)
        log.close()


@pytest.fixture(scope="module")
def client(server: tuple[str, str]) -> Iterator[plaza.Plaza]:
    address, key = server
    with plaza.Plaza(
        base_url=address, api_key=key, max_retries=0, _strict_response_validation=True
    ) as opened:
        yield opened


def test_retrieve(client: plaza.Plaza) -> None:
    feature = client.v1.elements.retrieve(1124039, type="relation")
    assert feature.id == "relation/1124039"
    assert feature.osm_id == 1124039
    assert feature.properties["name"] == "Monaco"
    assert feature.properties["@type"] == "relation"
    assert feature.geometry.type in ("Polygon", "MultiPolygon")


def test_what_is_not_there_raises_the_client_s_error(client: plaza.Plaza) -> None:
    with pytest.raises(plaza.NotFoundError) as caught:
        client.v1.elements.retrieve(1, type="node")
    assert caught.value.body["error"]["code"] == "not_found"  # type: ignore[index]
    with pytest.raises(plaza.BadRequestError):
        client.v1.elements.retrieve(1, type="street")


def test_query_by_box_and_its_pages(client: plaza.Plaza) -> None:
    first = client.v1.elements.query(bbox=BBOX, limit=700, type="node,way")
    assert first.type == "FeatureCollection"
    assert len(first.features) == 700
    assert first.pagination is not None
    assert first.pagination.has_more is True
    assert first.pagination.limit == 700
    seen = [feature.id for feature in first.features]
    page = first
    while page.pagination is not None and page.pagination.next_cursor:
        page = client.v1.elements.query(
            bbox=BBOX, limit=700, type="node,way", cursor=page.pagination.next_cursor
        )
        seen += [feature.id for feature in page.features]
    assert len(seen) == len(set(seen)) > 1400
    assert not any(str(name).startswith("relation") for name in seen)


def test_query_limits_of_the_early_path(client: plaza.Plaza) -> None:
    assert len(client.v1.elements.query(bbox=BBOX).features) == 100
    cut = client.v1.elements.with_raw_response.query(bbox=BBOX, limit=5000, type="node")
    assert cut.headers["X-Limit"] == "1000"
    assert len(cut.parse().features) == 1000


def test_query_with_tags_by_extra_query(client: plaza.Plaza) -> None:
    for extra in ({"tags[amenity]": "cafe"}, {"tags": "amenity=cafe"}, {"tags": "amenity:cafe"}):
        found = client.v1.elements.query(bbox=BBOX, extra_query=extra)
        assert found.features
        assert {f.properties["amenity"] for f in found.features} == {"cafe"}


def test_query_by_h3_cell(client: plaza.Plaza) -> None:
    cell = h3.latlng_to_cell(43.7384, 7.4246, 9)
    found = client.v1.elements.query(h3=cell, type="node", limit=3)
    assert len(found.features) == 3
    for feature in found.features:
        lng, lat = cast("list[float]", feature.geometry.coordinates)
        assert h3.latlng_to_cell(lat, lng, 9) == cell
    with pytest.raises(plaza.BadRequestError, match="H3"):
        client.v1.elements.query(h3="not a cell")


def test_a_cursor_of_another_query_is_refused(client: plaza.Plaza) -> None:
    page = client.v1.elements.query(bbox=BBOX, limit=1).pagination
    assert page is not None
    assert page.next_cursor is not None
    with pytest.raises(plaza.BadRequestError, match="invalid_cursor"):
        client.v1.elements.query(bbox="43.7,7.4,43.8,7.5", cursor=page.next_cursor)


def test_fetch_batch(client: plaza.Plaza) -> None:
    found = client.v1.elements.fetch_batch(
        elements=[
            {"type": "way", "id": 94400040},
            {"type": "node", "id": 1},
            {"type": "relation", "id": 1124039},
        ]
    )
    assert [f.id for f in found.features] == ["way/94400040", "relation/1124039"]
    assert found.model_extra is not None
    assert found.model_extra["missing"] == [{"type": "node", "id": 1}]


def test_find_nearby(client: plaza.Plaza) -> None:
    found = client.v1.find_nearby(
        lat=43.7384, lng=7.4246, radius=500, limit=5, extra_query={"tags[amenity]": "cafe"}
    )
    distances = [float(str(f.properties["distance_m"])) for f in found.features]
    assert len(distances) == 5
    assert distances == sorted(distances)
    assert distances[-1] <= 500
    assert found.pagination is not None
    assert found.pagination.has_more is True


def test_reverse_geocode(client: plaza.Plaza) -> None:
    feature = client.v1.reverse_geocode(lat=43.7384, lng=7.4246)
    assert feature.properties["name"]
    assert float(str(feature.properties["distance_m"])) < 200
    with pytest.raises(plaza.NotFoundError):
        client.v1.reverse_geocode(lat=0.0, lng=0.0)


def test_search_features(client: plaza.Plaza) -> None:
    found = client.v1.search_features(q="Casino de Monte-Carlo", limit=3)
    assert found.features
    assert "asino" in str(found.features[0].properties["name"])


def test_execute_sparql(client: plaza.Plaza) -> None:
    query = 'SELECT ?s ?name WHERE { ?s osm:name ?name . ?s osm:amenity "cafe" } LIMIT 10'
    answer = client.v1.execute_sparql(query=query)
    assert len(answer.results) == 10
    assert all(feature.properties["name"] for feature in answer.results)
    assert answer.results[0].geometry.type == "Point"
    with pytest.raises(plaza.BadRequestError) as caught:
        client.v1.execute_sparql(query="SELECT ?s WHERE { ?s osm:amenity cafe }")
    assert caught.value.body["error"]["code"] == "invalid_query"  # type: ignore[index]


def test_async_client(server: tuple[str, str]) -> None:
    import asyncio

    async def ask() -> str | None:
        async with plaza.AsyncPlaza(base_url=server[0], api_key=server[1]) as opened:
            return (await opened.v1.elements.retrieve(1124039, type="relation")).id

    assert asyncio.run(ask()) == "relation/1124039"
