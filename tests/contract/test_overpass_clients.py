"""overpy and osmnx, unchanged, against a running server; and many queries at once."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import overpy
import plaza
import pytest

from osm_files import EXAMPLES
from servers import copy_data

#: One process for all: what they share is slow to make.
pytestmark = pytest.mark.xdist_group("overpass-clients")
COMMAND = Path(sys.executable).with_name("mapyard")
#: West, south, east, north.
BBOX = (7.415, 43.735, 7.425, 43.74)


def run(*arguments: str, data: Path) -> str:
    done = subprocess.run(
        [COMMAND, *arguments, "--data", str(data)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Path]]:
    """Address, key and log of a server on a copy of Monaco's elements."""
    monaco = build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])
    folder = tmp_path_factory.mktemp("overpass")
    data = folder / "data"
    copy_data(monaco, data)
    run("accounts", "create", "me@example.org", "--plan", "enterprise", data=data)
    key = run("keys", "create", "me@example.org", data=data).strip()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with (folder / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [COMMAND, "serve", "--port", str(port), "--workers", "1", "--data", str(data)],
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if httpx.get(f"{address}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        assert process.poll() is None
        yield address, key, folder / "serve.log"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def api(server: tuple[str, str, Path]) -> overpy.Overpass:
    address, key, _ = server
    return overpy.Overpass(url=f"{address}/api/interpreter?api_key={key}")


@pytest.mark.parametrize("setting", ["[out:json];", "[out:xml][timeout:25];"])
def test_overpy_reads_relations_with_members(api: overpy.Overpass, setting: str) -> None:
    result = api.query(f'{setting}rel["route"="bus"];out body;>;out skel;')
    assert len(result.relations) == 56
    assert len(result.ways) > 400
    relation = result.relations[0]
    assert {type(member).__name__ for member in relation.members} == {"RelationNode", "RelationWay"}
    way = next(m for m in relation.members if isinstance(m, overpy.RelationWay)).resolve()
    nodes = way.get_nodes(resolve_missing=False)
    assert all(43 < float(node.lat) < 44 for node in nodes)


def test_overpy_reads_centers_and_tags(api: overpy.Overpass) -> None:
    result = api.query("[out:json];(way[building][name];rel[type=multipolygon];);out center;")
    assert all(way.tags["name"] for way in result.ways)
    assert 43 < float(result.ways[0].center_lat) < 44
    assert result.relations[0].center_lon


def test_overpy_reports_a_bad_query(api: overpy.Overpass) -> None:
    with pytest.raises(overpy.exception.OverpassBadRequest):
        api.query("[out:json];node[;out;")


@pytest.fixture(scope="module")
def ox(server: tuple[str, str, Path]) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import osmnx
    address, key, _ = server
    ours = {
        "overpass_url": f"{address}/api", "requests_kwargs": {"params": {"api_key": key}},
        "use_cache": False, "overpass_rate_limit": True,
    }  # fmt: skip
    before = {name: getattr(osmnx.settings, name) for name in ours}
    for name, value in ours.items():
        setattr(osmnx.settings, name, value)
    yield osmnx
    for name, value in before.items():
        setattr(osmnx.settings, name, value)


@pytest.mark.filterwarnings("ignore")
def test_osmnx_downloads_a_street_network(ox: Any) -> None:
    drive = ox.graph_from_bbox(BBOX, network_type="drive")
    assert len(drive.nodes) > 40
    assert {"length", "highway", "osmid"} <= set(next(iter(drive.edges(data=True)))[2])


@pytest.mark.filterwarnings("ignore")
def test_osmnx_downloads_features(ox: Any) -> None:
    found = ox.features_from_bbox(BBOX, tags={"building": True, "amenity": ["cafe", "bar"]})
    kinds = set(found.geom_type)
    assert {"Polygon", "Point"} <= kinds
    assert len(found) > 100


def test_the_published_python_client_gets_pages(server: tuple[str, str, Path]) -> None:
    address, key, _ = server
    with plaza.Plaza(
        base_url=address, api_key=key, max_retries=0, _strict_response_validation=True
    ) as client:
        page = client.v1.execute_overpass(
            data="[out:json];nwr[amenity=cafe](around:500,43.7384,7.4246);out body;"
        )
        assert len(page.features) > 5
        assert page.pagination is not None
        assert page.pagination.has_more is False
        with pytest.raises(plaza.BadRequestError) as caught:
            client.v1.execute_overpass(data="node[")
    assert caught.value.body["error"]["code"] == "invalid_query"  # type: ignore[index]


def test_fifty_queries_at_once_are_all_answered(server: tuple[str, str, Path]) -> None:
    address, key, log = server
    query = "[out:json];nwr(around:{},43.7384,7.4246)[shop];out center;"

    def ask(index: int) -> int:
        return httpx.post(
            f"{address}/api/v1/overpass",
            json={"data": query.format(100 + index)},
            headers={"X-API-Key": key},
            timeout=30,
        ).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(50))) == {200}
    assert '"level":"error"' not in log.read_text()


def test_overpy_knows_what_took_too_long(api: overpy.Overpass) -> None:
    with pytest.raises(overpy.exception.OverpassGatewayTimeout):
        api.query("[timeout:0.01];nwr(43.7,7.3,43.8,7.5);(._;>>;<<;);out geom;")


def test_an_account_stops_its_own_queries(server: tuple[str, str, Path]) -> None:
    address, key, _ = server
    slow = "[out:json][timeout:25];nwr(43.7,7.3,43.8,7.5);foreach(nwr(around:2000)[name];out ids;);"
    headers = {"X-API-Key": key, "Accept": "application/json"}

    def ask() -> httpx.Response:
        return httpx.post(f"{address}/api/interpreter", content=slow, headers=headers, timeout=60)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ask)
        ends_s = time.monotonic() + 20
        while not running.done() and time.monotonic() < ends_s:
            stopped = httpx.get(f"{address}/api/kill_my_queries", headers=headers)
            assert stopped.status_code == 200
            time.sleep(0.3)
        answer = running.result()
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "stopped")
    quick = httpx.get(
        f"{address}/api/interpreter", params={"data": "[out:json];node(1);out;"}, headers=headers
    )
    assert quick.status_code == 200
