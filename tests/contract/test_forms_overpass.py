"""Clients of Overpass and Nominatim servers, unchanged, against this server, end to end."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import osmium
import overpy
import pytest

from servers import Server, copy_data, running


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("forms-overpass")
    with running(copy_data(monaco, folder / "data"), folder / "serve.log") as started:
        yield started


def address(server: Server, form: str) -> str:
    return f"{server.address}/key/{server.key}/{form}"


# -- osmnx ---------------------------------------------------------------------------------------


@pytest.fixture
def ox(server: Server) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import osmnx
    names = ("overpass_url", "nominatim_url", "use_cache", "overpass_rate_limit")
    before = {name: getattr(osmnx.settings, name) for name in names}
    osmnx.settings.overpass_url = address(server, "overpass/api")
    osmnx.settings.nominatim_url = address(server, "nominatim")
    osmnx.settings.use_cache = False
    osmnx.settings.overpass_rate_limit = True
    osmnx._nominatim.time.sleep, slept = lambda seconds: None, osmnx._nominatim.time.sleep
    yield osmnx
    osmnx._nominatim.time.sleep = slept
    for name, value in before.items():
        setattr(osmnx.settings, name, value)


@pytest.mark.filterwarnings("ignore")
def test_osmnx_end_to_end(ox: Any) -> None:
    lat, lon = ox.geocode("Rue Grimaldi, Monaco")
    assert (lat, lon) == pytest.approx((43.7345, 7.4193), abs=3e-3)
    outline = ox.geocode_to_gdf("Monaco").geometry.iloc[0]
    assert outline.geom_type in ("Polygon", "MultiPolygon")
    streets = ox.graph_from_place("Monaco", network_type="drive")
    assert 300 < len(streets.nodes) < 3_000
    for _, node in streets.nodes(data=True):
        assert 7.40 < node["x"] < 7.45
        assert 43.72 < node["y"] < 43.76
    found = ox.features_from_place("Monaco", tags={"amenity": ["cafe", "bar"]})
    assert len(found) > 20
    assert set(found["amenity"]) <= {"cafe", "bar"}
    with pytest.raises(ox._errors.InsufficientResponseError):
        ox.geocode("Xyzzyplugh 1234567")


# -- OSMPythonTools ------------------------------------------------------------------------------


def test_osm_python_tools(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # it keeps its cache in the working folder
    from OSMPythonTools.nominatim import Nominatim
    from OSMPythonTools.overpass import Overpass, overpassQueryBuilder

    places = Nominatim(endpoint=address(server, "nominatim/"))
    monaco = places.query("Monaco")
    assert monaco.areaId() == 3_600_000_000 + 1_124_039
    assert "Monaco" in places.query(43.7384, 7.4246, reverse=True, zoom=10).displayName()
    overpass = Overpass(endpoint=address(server, "overpass/api/"))
    query = overpassQueryBuilder(
        area=monaco.areaId(), elementType=["node", "way"], selector='"amenity"="cafe"', out="body"
    )
    found = overpass.query(query)
    assert found.countElements() > 20
    assert {element.tag("amenity") for element in found.elements()} == {"cafe"}
    assert found.timestamp_osm_base().year > 2000
    counted = overpass.query(overpassQueryBuilder(
        area=monaco.areaId(), elementType="node", selector='"amenity"="cafe"', out="count"
    ))  # fmt: skip
    assert counted.countElements() == found.countNodes()


# -- overpy --------------------------------------------------------------------------------------


@pytest.fixture
def api(server: Server) -> overpy.Overpass:
    return overpy.Overpass(url=address(server, "overpass/api/interpreter"), max_retry_count=0)


def test_overpy_reads_what_was_wrong(api: overpy.Overpass, server: Server) -> None:
    with pytest.raises(overpy.exception.OverpassBadRequest) as caught:
        api.query("[out:json];\nnode[;out;")
    (message,) = caught.value.msgs
    assert message.startswith("Error: line 2: parse error: ")
    with pytest.raises(overpy.exception.OverpassGatewayTimeout):
        api.query("[timeout:0.01];nwr(43.7,7.3,43.8,7.5);(._;>>;<<;);out geom;")
    stranger = overpy.Overpass(url=f"{server.address}/overpass/api/interpreter")
    with pytest.raises(overpy.exception.OverpassUnknownHTTPStatusCode):
        stranger.query("node(1);out;")


def test_json_is_answered_where_it_is_asked_for(server: Server) -> None:
    answer = httpx.get(
        address(server, "overpass/api/interpreter"), params={"data": "node[;out;"},
        headers={"Accept": "application/json"}, timeout=20,
    )  # fmt: skip
    assert answer.json()["error"]["code"] == "invalid_query"


# -- JOSM, osmium --------------------------------------------------------------------------------


def test_the_map_call_is_a_file_that_osmium_reads(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "map.osm"
    with httpx.stream(
        "GET", address(server, "overpass/api/map"), timeout=60,
        params={"bbox": "7.415,43.73,7.425,43.735"},
    ) as answer:  # fmt: skip
        file.write_bytes(answer.read())
    kinds = {"n": 0, "w": 0, "r": 0}
    nodes, wanted = set(), set()
    for entity in osmium.FileProcessor(str(file)):
        kinds[entity.type_str()] += 1
        if entity.is_node():
            nodes.add(entity.id)
            assert entity.location.valid()
        elif entity.is_way():
            wanted |= {node.ref for node in entity.nodes}
        assert entity.version > 0  # what an editor must send back
    assert min(kinds.values()) > 5
    assert wanted <= nodes


def test_curl_posts_a_query_of_a_file(server: Server, tmp_path: Path) -> None:
    """`--data-binary @file` and `-F data=@file`, as in the documentation of the original."""
    file = tmp_path / "query.ql"
    file.write_text("[out:json];node[amenity=cafe](43.73,7.41,43.75,7.43);out ids 2;")
    for option in ("--data-binary", "--data-urlencode", "-F"):
        value = f"@{file}" if option == "--data-binary" else f"data@{file}"
        value = f"data=<{file}" if option == "-F" else value
        done = subprocess.run(
            ["curl", "-sS", option, value, address(server, "overpass/api/interpreter")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.count('"type":"node"') == 2, (option, done.stdout)


def test_status_is_that_of_the_original(server: Server) -> None:
    lines = httpx.get(address(server, "overpass/api/status"), timeout=20).text.split("\n")
    assert lines[0].startswith("Connected as: ")
    assert lines[3] == "Rate limit: 0"
    assert lines[4].endswith(" slots available now.")
    stopped = httpx.get(address(server, "overpass/api/kill_my_queries"), timeout=20)
    assert stopped.status_code == 200
