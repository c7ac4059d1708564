"""Tiles over HTTP as contract.md §8 says."""

from __future__ import annotations

import datetime as dt
import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import mapbox_vector_tile
import pytest

from mapyard.accounts import registry
from mapyard.accounts.open import open_accounts
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from mapyard.tiles.mercator import TileId, tile_bounds_deg
from mapyard.tiles.own import find_box
from osm_files import EXAMPLES
from servers import copy_data
from visitors import serving

TILE = "/api/v1/tiles/14/8530/5973"


@pytest.fixture(scope="module")
def client(monaco: Path) -> Iterator[LocalClient]:
    with LocalClient(Settings(data=monaco, tile_cache_bytes=0)) as client:
        yield client


@pytest.mark.parametrize("ending", ["", ".mvt", ".pbf"])
def test_a_tile_is_one_under_all_its_names(client: LocalClient, ending: str) -> None:
    answer = client.get(TILE + ending, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/vnd.mapbox-vector-tile"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == "public, max-age=3600"
    tile = mapbox_vector_tile.decode(answer.content)
    assert {"streets", "buildings", "ocean", "pois"} <= set(tile)


def decode(answer: httpx.Response) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = mapbox_vector_tile.decode(answer.content)["features"]["features"]
    return found


def test_a_layer_of_ones_own(client: LocalClient) -> None:
    """A custom tile holds what /features lists in its box, with the same tags."""
    tile = TileId(14, 8529, 5974)

    def list_in(query: str, west: float, south: float, east: float, north: float) -> dict[int, Any]:
        box = f"{south},{west},{north},{east}"
        answer = client.get(f"/api/v1/features?{query}&limit=1000&bbox={box}").json()
        return {int(f["id"].partition("/")[2]): f["properties"] for f in answer["features"]}

    for query in ("tags[amenity]=cafe|bar", "tags=building&type=way", "tags[highway]=bus_stop"):
        answer = client.get(f"/api/v1/tiles/custom/14/8529/5974.mvt?{query}")
        assert answer.status_code == 200
        drawn = {feature["id"]: feature["properties"] for feature in decode(answer)}
        inside = list_in(query, *tile_bounds_deg(tile))
        assert len(inside) > 5
        assert inside.keys() <= drawn.keys() <= list_in(query, *find_box(tile)).keys()
        for number, listed in inside.items():
            assert drawn[number]
            assert all(listed.get(key) == value for key, value in drawn[number].items())


def test_a_layer_needs_tags(client: LocalClient) -> None:
    answer = client.get("/api/v1/tiles/custom/14/8529/5974")
    assert answer.status_code == 400
    assert "tags[amenity]=cafe" in answer.json()["error"]["message"]
    assert client.get("/api/v1/tiles/custom/14/1/1?tags=shop").status_code == 204
    assert client.get("/api/v1/tiles/custom/14/8529/5974?tags[shop]=~(").status_code == 422
    # All roads of a whole country in one tile: relations without a shape are left out.
    assert client.get("/api/v1/tiles/custom/0/0/0?tags=type").status_code == 200


def test_heights_for_maps_with_relief(monaco: Path, tmp_path: Path) -> None:
    data = copy_data(monaco, tmp_path / "data")
    with LocalClient(Settings(data=data)) as without:
        answer = without.get("/api/v1/terrain.json")
        assert answer.status_code == 501
        assert "no elevation data" in answer.json()["error"]["message"]
        style = without.get("/api/v1/tiles/style.json?relief=true").json()
        assert "heights" not in style["sources"]
    (data / "elevation").mkdir()
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with LocalClient(Settings(data=data)) as client:
        described = client.get("/api/v1/terrain.json").json()
        assert (described["encoding"], described["minzoom"]) == ("terrarium", 9)
        path = described["tiles"][0].partition("/api/")[2].format(z=11, x=1066, y=746)
        answer = client.get(f"/api/{path}")
        assert answer.content.startswith(b"\x89PNG")
        again = client.get(f"/api/{path}", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304
        assert client.get("/api/v1/terrain/11/5/5.png").status_code == 204
        for wrong in ("11/1066/746", "11/1066/746.jpg", "8/1/1.png", "11/1066/9999.png"):
            assert client.get(f"/api/v1/terrain/{wrong}").status_code == 400
        style = client.get("/api/v1/tiles/style.json?relief=true&buildings=3d").json()
        assert {"heights", "contours"} <= set(style["sources"])


def test_contour_lines(monaco: Path, tmp_path: Path) -> None:
    data = copy_data(monaco, tmp_path / "data")
    with LocalClient(Settings(data=data)) as without:
        assert without.get("/api/v1/contours.json").status_code == 501
    (data / "elevation").mkdir()
    shutil.copy(EXAMPLES / "N43E007.hgt.zip", data / "elevation")
    with LocalClient(Settings(data=data)) as client:
        described = client.get("/api/v1/contours.json").json()
        assert (described["minzoom"], described["maxzoom"]) == (9, 14)
        assert described["vector_layers"][0]["id"] == "contour"
        path = described["tiles"][0].partition("/api/")[2].format(z=12, x=2132, y=1493)
        answer = client.get(f"/api/{path}")
        layer = mapbox_vector_tile.decode(answer.content)["contour"]
        heights = {feature["properties"]["height"] for feature in layer["features"]}
        assert {50, 100, 500} <= heights
        assert all(height % 50 == 0 for height in heights)
        ranks = {f["properties"]["height"]: f["properties"]["nth_line"] for f in layer["features"]}
        assert (ranks[500], ranks[250], ranks[100], ranks[50]) == (10, 5, 2, 1)
        again = client.get(f"/api/{path}", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304
        assert client.get("/api/v1/contours/11/5/5").status_code == 204
        for wrong in ("8/1/1", "15/1/1", "12/2132/9999", "12/2132/a.mvt", "12/1/1?unit=yard"):
            assert client.get(f"/api/v1/contours/{wrong}").status_code == 400
        feet = client.get("/api/v1/contours.json?unit=ft").json()
        path = feet["tiles"][0].partition("/api/")[2].format(z=12, x=2132, y=1493)
        layer = mapbox_vector_tile.decode(client.get(f"/api/{path}").content)["contour_ft"]
        assert all(f["properties"]["height"] % 200 == 0 for f in layer["features"])


@pytest.mark.parametrize("accepted", ["identity", "", "deflate", "gzip;q=0"])
def test_clients_without_gzip_get_the_tile_plain(client: LocalClient, accepted: str) -> None:
    packed = client.get(TILE, headers={"Accept-Encoding": "gzip"})
    plain = client.get(TILE, headers={"Accept-Encoding": accepted})
    assert "content-encoding" not in plain.headers
    assert plain.content == packed.content  # httpx has unpacked the first
    assert plain.headers["etag"] != packed.headers["etag"]
    assert "Accept-Encoding" in plain.headers["vary"]


def test_a_known_tile_is_not_sent_again(client: LocalClient) -> None:
    etag = client.get(TILE).headers["etag"]
    answer = client.get(TILE, headers={"If-None-Match": etag})
    assert answer.status_code == 304
    assert answer.content == b""
    assert answer.headers["etag"] == etag
    other = client.get(TILE, headers={"If-None-Match": '"something"'})
    assert other.status_code == 200


def test_a_tile_without_data_is_204(client: LocalClient) -> None:
    answer = client.get("/api/v1/tiles/14/0/0.mvt")
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("15/0/0", "z"), ("-1/0/0", "z"), ("x/0/0", "z"), ("3/8/0", "x"), ("3/-1/0", "x"),
        ("3/0/8.mvt", "y"), ("3/0/1.png", "y"), ("3/0/-1", "y"), ("3/0/²", "y"),
        ("3/0/1.mvt.pbf.mvt", "y"),
    ],
)  # fmt: skip
def test_addresses_out_of_range_are_refused(client: LocalClient, path: str, parameter: str) -> None:
    answer = client.get(f"/api/v1/tiles/{path}")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_request"
    assert parameter in answer.json()["error"]["details"]


def test_tilejson_names_the_address_and_the_layers(client: LocalClient) -> None:
    answer = client.get("/api/v1/tiles.json?api_key=k%20y").json()
    assert answer["tilejson"] == "3.0.0"
    assert answer["tiles"] == ["http://localhost/api/v1/tiles/{z}/{x}/{y}.mvt?api_key=k%20y"]
    assert (answer["minzoom"], answer["maxzoom"]) == (0, 14)
    assert answer["bounds"] == [7.408583, 43.483817, 7.595671, 43.75293]
    layers = {layer["id"]: layer for layer in answer["vector_layers"]}
    assert len(layers) == 26
    assert layers["streets"]["fields"]["oneway"] == "Boolean"
    assert layers["place_labels"]["fields"]["name_en"] == "String"
    assert "© OpenStreetMap contributors" in answer["attribution"]


def test_addresses_follow_the_public_url(monaco: Path) -> None:
    settings = Settings(data=monaco, public_url="https://maps.example.org/")
    with LocalClient(settings) as client:
        answer = client.get("/api/v1/tiles.json").json()
        style = client.get("/api/v1/tiles/style.json").json()
    assert answer["tiles"] == ["https://maps.example.org/api/v1/tiles/{z}/{x}/{y}.mvt"]
    assert style["glyphs"].startswith("https://maps.example.org/api/v1/tiles/glyphs/")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_style_and_all_that_it_names_are_there(client: LocalClient, theme: str) -> None:
    style = client.get(f"/api/v1/tiles/style.json?theme={theme}").json()
    assert style["version"] == 8
    assert client.get(style["sources"]["osm"]["url"]).status_code == 200
    for ending in (".json", ".png", "@2x.json", "@2x.png"):
        assert client.get(style["sprite"] + ending).status_code == 200
    glyphs = style["glyphs"].replace("{fontstack}", "Noto Sans Bold").replace("{range}", "0-255")
    answer = client.get(glyphs)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-protobuf"
    assert len(answer.content) > 10_000


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/tiles/style.json?theme=pink", 400),
        ("/api/v1/tiles/glyphs/Comic Sans/0-255.pbf", 404),
        ("/api/v1/tiles/glyphs/Noto Sans Bold/1-256.pbf", 400),
        ("/api/v1/tiles/glyphs/Noto Sans Bold/65536-65791.pbf", 400),
        ("/api/v1/tiles/glyphs/Noto Sans Bold/a-b.pbf", 400),
        ("/api/v1/tiles/sprites/sprite@3x.png", 404),
        ("/api/v1/tiles/sprites/..%2f__init__.py", 400),
    ],
)
def test_wrong_assets_are_refused(client: LocalClient, path: str, status: int) -> None:
    assert client.get(path).status_code == status


def test_tiles_are_kept_on_disk_within_a_bound(monaco: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "datasets").symlink_to(monaco / "datasets")
    target = (monaco / "current").readlink()
    (data / "current").symlink_to(target)
    with LocalClient(Settings(data=data, tile_cache_bytes=10_000_000)) as client:
        first: httpx.Response = client.get(TILE)
        kept = list((data / "cache").rglob("5973"))
        assert len(kept) == 1
        assert gzip.decompress(kept[0].read_bytes()) == first.content
        assert client.get(TILE).content == first.content


@pytest.fixture(scope="module")
def free(
    monaco: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LocalClient, str]]:
    """A server with keys, and the key of a free account."""
    data = copy_data(monaco, tmp_path_factory.mktemp("free") / "data")
    database = open_accounts(data)
    account = registry.create_account(database, "free@example.org", "free")
    key = registry.create_key(database, account.id)[1]
    database.close()
    with serving(data, tile_cache_bytes=0) as client:
        yield client, key


def test_a_free_key_draws_a_map(free: tuple[LocalClient, str]) -> None:
    """Style, sprite, glyphs and a screen of tiles are far more than ten requests a minute."""
    client, key = free
    begun = client.post("/api/v1/tiles/session", headers={"X-API-Key": key})
    session = begun.json()
    assert (begun.status_code, session["tiles"]) == (200, 500)
    assert begun.headers["cache-control"] == "no-store"
    ends = dt.datetime.fromisoformat(session["expires_at"])
    assert 890 < (ends - dt.datetime.now(dt.UTC)).total_seconds() <= 900
    style = client.get(f"/api/v1/tiles/style.json?session={session['token']}")
    assert style.headers["x-ratelimit-limit"] == "300"
    assert "x-ignored-parameters" not in style.headers
    source = style.json()["sources"]["osm"]
    tilejson = client.get(source["url"]).json() if "url" in source else source
    wanted = [
        style.json()["sprite"].replace("?", ".json?", 1),
        style.json()["glyphs"]
        .replace("{fontstack}", "Noto Sans Regular")
        .replace("{range}", "0-255"),
        *(
            tilejson["tiles"][0].format(z=14, x=x, y=y)
            for x in range(8520, 8535)
            for y in range(5970, 5976)
        ),
    ]
    assert all("session=ms_" in address for address in wanted)
    answers = [client.get(address) for address in wanted]
    assert {answer.status_code for answer in answers} == {200, 204}
    gate = client.application.services.accounts
    assert gate is not None
    assert gate._limiter.used(1)[:2] == (1, 0)  # the session itself, and nothing else


def test_a_session_opens_maps_and_nothing_else(free: tuple[LocalClient, str]) -> None:
    client, key = free
    token = client.post("/api/v1/tiles/session", headers={"X-API-Key": key}).json()["token"]
    for path in ("/api/v1/features/node/1", "/api/v1/search?q=casino", "/api/v1/tags"):
        address = f"{path}{'&' if '?' in path else '?'}session={token}"
        assert client.get(address).json()["error"]["code"] == "missing_key"
    again = client.post(f"/api/v1/tiles/session?session={token}")
    assert again.json()["error"]["code"] == "missing_key"
    bad = client.get(f"{TILE}?session={token[:-1]}x")
    assert (bad.status_code, bad.json()["error"]["code"]) == (401, "invalid_map_session")
    assert "POST /api/v1/tiles/session" in bad.json()["error"]["message"]


def test_limits_tell_of_map_sessions(free: tuple[LocalClient, str]) -> None:
    client, _ = free
    answer = client.get("/limits").json()
    assert answer["map_session_seconds"] == 900
    tiles = {plan["id"]: (plan["map_tiles"], plan["map_per_minute"]) for plan in answer["plans"]}
    assert tiles == {
        "free": (500, 300), "pro-100k": (5_000, 3_000), "pro-300k": (5_000, 10_000),
        "pro-1m": (5_000, 20_000), "enterprise": (5_000, 100_000),
    }  # fmt: skip


def test_a_server_without_keys_needs_no_session(client: LocalClient) -> None:
    answer = client.post("/api/v1/tiles/session")
    assert (answer.status_code, answer.json()["error"]["code"]) == (501, "not_implemented")
    assert client.get(f"{TILE}?session=anything").status_code == 200
