"""Datasets of people's own against a running server: filled, asked, joined, drawn, replaced."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import mapbox_vector_tile
import plaza
import pytest

from mapyard.accounts import registry
from mapyard.accounts.datasets import InvalidDataset, create_dataset, find_in_use
from mapyard.accounts.open import ensure_visitors, open_accounts
from mapyard.accounts.privacy import delete_account, export_account
from mapyard.accounts.restrictions import make_restrictions
from mapyard.accounts.secret import read_secret
from mapyard.http.session import make_session_cookie
from servers import copy_data, running

SHOPS = b"""name,kind,lat,lon,price
Un,cafe,43.7384,7.4246,3.5
Deux,bar,43.7314,7.4197,4
Trois,bar,43.7402,7.4273,
Nowhere,shop,x,y,1
"""


class Api:
    """The datasets of one account."""

    def __init__(self, address: str, key: str) -> None:
        self.http = httpx.Client(
            base_url=f"{address}/api/v1", headers={"X-API-Key": key}, timeout=30
        )

    def make(self, slug: str, **fields: Any) -> dict[str, Any]:
        answer = self.http.post("/datasets", json={"name": slug.title(), "slug": slug, **fields})
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def put(self, slug: str, content: Any, **params: Any) -> httpx.Response:
        return self.http.put(f"/datasets/{slug}/source", content=content, params=params)

    def fill(self, slug: str, content: Any, **params: Any) -> dict[str, Any]:
        """Send a file and wait until it is read."""
        answer = self.put(slug, content, **params)
        assert answer.status_code == 202, answer.text
        assert answer.json()["status"] == "processing"
        for _ in range(600):
            found: dict[str, Any] = self.http.get(f"/datasets/{slug}").json()
            if found["status"] != "processing":
                return found
            time.sleep(0.05)
        raise AssertionError("the import does not end")

    def names(self, slug: str, **params: Any) -> list[str]:
        answer = self.http.get(f"/datasets/{slug}/features", params=params)
        assert answer.status_code == 200, answer.text
        return [f["properties"]["name"] for f in answer.json()["features"]]

    def query(self, text: str) -> dict[str, Any]:
        answer = self.http.post("/query", json={"data": text})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture(scope="module")
def folder(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_data(monaco, tmp_path_factory.mktemp("datasets") / "data")


@pytest.fixture(scope="module")
def keys(folder: Path) -> Callable[[str, str], str]:
    def make(email: str, plan: str) -> str:
        database = open_accounts(folder)
        account = registry.create_account(database, email, plan, per_minute_override=9_999)
        _, key = registry.create_key(database, account.id)
        database.close()
        return key

    return make


@pytest.fixture(scope="module")
def address(folder: Path, keys: Callable[[str, str], str]) -> Iterator[str]:
    keys("first@example.org", "enterprise")
    with running(folder, folder.parent / "serve.log") as server:
        yield server.address


MakeApi = Callable[[str, str], Api]


@pytest.fixture(scope="module")
def make_api(address: str, keys: Callable[[str, str], str]) -> Iterator[MakeApi]:
    made: list[Api] = []

    def make(email: str, plan: str) -> Api:
        made.append(Api(address, keys(email, plan)))
        return made[-1]

    yield make
    for one in made:
        one.http.close()


@pytest.fixture(scope="module")
def api(make_api: MakeApi) -> Api:
    return make_api("me@example.org", "enterprise")


def error(answer: httpx.Response, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    found = answer.json()["error"]
    assert found["code"] == code
    return str(found["message"])


@pytest.fixture(scope="module")
def shops(api: Api) -> dict[str, Any]:
    made = api.make("shops", attribution="© Me", license="CC0-1.0")
    assert (made["status"], made["scope"], made["feature_count"]) == ("pending", "user", None)
    empty = api.http.get("/datasets/shops/features")
    assert "holds nothing yet" in error(empty, 404, "not_found")
    return api.fill("shops", SHOPS, name="shops.csv")


def test_a_file_becomes_a_dataset(api: Api, shops: dict[str, Any]) -> None:
    assert (shops["status"], shops["feature_count"], shops["source_format"]) == ("ready", 4, "csv")
    assert shops["schema_definition"]["price"] == {"type": "number", "count": 3}
    assert [problem["row"] for problem in shops["problems"]] == [4]
    assert api.http.get("/datasets/shops/problems").json()["problem_count"] == 1
    assert api.http.get(f"/datasets/{shops['id']}").json() == shops
    listed = api.http.get("/datasets").json()["datasets"]
    assert [(d["slug"], d["scope"]) for d in listed] == [("osm", "plaza"), ("shops", "user")]
    only = api.http.get("/datasets", params={"scope": "user"}).json()["datasets"]
    assert [d["slug"] for d in only] == ["shops"]


def test_rows_are_asked_as_the_map_is(api: Api, shops: dict[str, Any]) -> None:
    assert api.names("shops") == ["Un", "Deux", "Trois", "Nowhere"]
    assert api.names("shops", **{"tags[kind]": "bar"}) == ["Deux", "Trois"]
    assert api.names("shops", tags="price=4") == ["Deux"]
    assert api.names("shops", bbox="43.735,7.42,43.739,7.425") == ["Un"]
    near = {"near": "43.7384,7.4246", "radius": 400, "output[sort]": "distance"}
    assert api.names("shops", **near) == ["Un", "Trois"]
    one = api.http.get("/datasets/shops/features/2").json()
    assert one == {
        "type": "Feature", "id": "2",
        "geometry": {"type": "Point", "coordinates": [7.4197, 43.7314]},
        "properties": {"name": "Deux", "kind": "bar", "price": 4.0},
    }  # fmt: skip
    error(api.http.get("/datasets/shops/features/9"), 404, "not_found")
    assert "no type" in error(
        api.http.get("/datasets/shops/features", params={"type": "node"}), 422, "validation_failed"
    )


def test_pages_and_streams(api: Api, shops: dict[str, Any]) -> None:
    first = api.http.get("/datasets/shops/features", params={"limit": 3})
    assert first.json()["attribution"] == "© Me"
    cursor = first.headers["x-next-cursor"]
    rest = {"limit": 3, "cursor": cursor}
    assert api.names("shops", **rest) == ["Nowhere"]
    whole = api.http.get("/datasets/shops/features", params={"format": "geojson"}).json()
    assert (len(whole["features"]), whole["attribution"]) == (4, "© Me")
    lines = api.http.get("/datasets/shops/features", params={"format": "ndjson"}).text
    assert [json.loads(line) for line in lines.splitlines()] == whole["features"]
    table = api.http.get("/datasets/shops/features", params={"format": "csv"}).text
    assert table.splitlines()[0] == "@id,lon,lat,name,tags,geometry"


def test_the_map_is_a_dataset_too(api: Api) -> None:
    found = api.http.get("/datasets/osm/features", params={"tags": "amenity=cafe", "limit": 3})
    same = api.http.get("/features", params={"tags": "amenity=cafe", "limit": 3})
    assert found.json() == same.json()
    for answer in (api.http.delete("/datasets/osm"), api.put("osm", SHOPS),
                   api.http.patch("/datasets/osm", json={"name": "x"})):  # fmt: skip
        assert "is the map itself" in error(answer, 400, "invalid_request")


def test_joins_with_the_map(api: Api, shops: dict[str, Any]) -> None:
    found = api.query('search(dataset("shops"), kind: "bar");')
    assert [f["properties"]["name"] for f in found["features"]] == ["Deux", "Trois"]
    assert found["attribution"] == "© OpenStreetMap contributors (ODbL) | © Me"
    near = api.query('search(dataset("shops")).around(150, search(node, highway: "bus_stop"));')
    stops = api.http.get(
        "/features",
        params={"type": "node", "tags": "highway=bus_stop", "format": "ndjson", "limit": 999},
    ).text
    expected = []
    for name, lat, lon in (("Un", 43.7384, 7.4246), ("Deux", 43.7314, 7.4197),
                           ("Trois", 43.7402, 7.4273)):  # fmt: skip
        params = {"near": f"{lat},{lon}", "radius": 150, "tags": "highway=bus_stop",
                  "type": "node"}  # fmt: skip
        if api.http.get("/features", params=params).json()["features"]:
            expected.append(name)
    assert [f["properties"]["name"] for f in near["features"]] == expected
    assert stops and expected
    other = api.query('$s = search(dataset("shops"), kind: "cafe");'
                      'search(node, highway: "bus_stop").around(300, $s).count();')  # fmt: skip
    assert other["result"] > 0
    grouped = api.query('search(dataset("shops")).group_by(t["kind"]).count();')
    assert grouped["result"] == {"bar": 2, "cafe": 1, "shop": 1}
    priced = api.query('search(dataset("shops")).filter(number(t["price"]) > 3.6);')
    assert [f["properties"]["name"] for f in priced["features"]] == ["Deux"]
    for text, message in (
        ('search(dataset("nope"));', "there is no dataset nope"),
        ('search(dataset("shops")) + search(node, shop: *);', "two sets of one dataset"),
        ('search(dataset("shops")).expand(:up);', ".expand() is for elements"),
        ('search(dataset("shops")).member_of(search(relation, type: *));', "is for elements"),
        ('dataset("shops");', "dataset() is searched"),
    ):
        answer = api.http.post("/query", json={"data": text})
        assert answer.status_code in (400, 404), answer.text
        assert message in answer.json()["error"]["message"]


def test_tiles(api: Api, shops: dict[str, Any]) -> None:
    described = api.http.get("/datasets/shops/tiles.json").json()
    assert described["bounds"] == [7.4197, 43.7314, 7.4273, 43.7402]
    assert described["vector_layers"][0]["fields"]["price"] == "Number"
    tile = api.http.get("/datasets/shops/tiles/10/533/373.mvt")
    layer = mapbox_vector_tile.decode(tile.content)["features"]
    assert sorted(f["properties"]["name"] for f in layer["features"]) == ["Deux", "Trois", "Un"]
    again = api.http.get(
        "/datasets/shops/tiles/10/533/373", headers={"If-None-Match": tile.headers["etag"]}
    )
    assert again.status_code == 304
    assert api.http.get("/datasets/shops/tiles/10/0/0").status_code == 204
    error(api.http.get("/datasets/shops/tiles/3/99/0"), 400, "invalid_request")


def test_a_new_file_replaces_the_old_one_at_once(api: Api) -> None:
    api.make("versions")
    api.fill("versions", SHOPS)
    cursor = api.http.get("/datasets/versions/features", params={"limit": 1}).headers[
        "x-next-cursor"
    ]
    failed = api.fill("versions", b"a,b\n1,2\n", name="x.csv")
    assert failed["status"] == "error"
    assert "no column says where a row lies" in failed["error_message"]
    assert len(api.names("versions")) == 4  # what was served before still is
    filled = api.fill("versions", b'{"type":"Feature","geometry":null,"properties":{"name":"new"}}')
    assert (filled["status"], filled["error_message"], filled["source_format"]) == (
        "ready", None, "geojson",
    )  # fmt: skip
    assert api.names("versions") == ["new"]
    stale = api.http.get("/datasets/versions/features", params={"limit": 1, "cursor": cursor})
    error(stale, 400, "stale_cursor")


def test_strict_and_geocoded(api: Api) -> None:
    api.make("strict", strict_mode=True)
    assert "row 4: lat 'x'" in api.fill("strict", SHOPS)["error_message"]
    api.http.patch("/datasets/strict", json={"strict_mode": False})
    assert api.fill("strict", SHOPS)["status"] == "ready"
    rows = b"name,address\na,25 Boulevard de Suisse Monaco\nb,qwertz asdfgh\n"
    found = api.fill("strict", rows, name="a.csv")
    assert [problem["row"] for problem in found["problems"]] == [2]
    assert api.names("strict", near="43.7405,7.4226", radius=500) == ["a"]


def test_what_cannot_be_made(api: Api) -> None:
    def refused(**body: Any) -> dict[str, Any]:
        answer = api.http.post("/datasets", json=body)
        error(answer, 422, "validation_failed")
        details: dict[str, Any] = answer.json()["error"]["details"]
        return details

    api.make("taken")
    assert refused(name="x", slug="taken") == {"slug": ["has already been taken"]}
    assert "slug" in refused(name="x", slug="Not A Slug")
    assert "slug" in refused(name="x", slug="osm")
    assert refused(name=" ", slug="blank") == {"name": ["can't be blank"]}
    assert "source_url" in refused(name="x", slug="url", source_url="javascript:alert(1)")
    assert "colour" in refused(name="x", slug="more", colour="red")
    error(api.http.post("/datasets", json={"slug": "x"}), 400, "invalid_request")
    error(api.put("nothing", SHOPS), 404, "not_found")
    error(api.http.delete("/datasets/nothing"), 404, "not_found")


def test_who_sees_what(api: Api, make_api: MakeApi, shops: dict[str, Any]) -> None:
    other = make_api("other@example.org", "free")
    assert [d["slug"] for d in other.http.get("/datasets").json()["datasets"]] == ["osm"]
    for name in ("shops", shops["id"]):
        error(other.http.get(f"/datasets/{name}"), 404, "not_found")
    secret = other.http.post("/query", json={"data": f'search(dataset("{shops["id"]}"));'})
    error(secret, 404, "not_found")
    api.http.patch("/datasets/shops", json={"is_public": True})
    assert other.names(shops["id"], limit=1) == ["Un"]
    error(other.http.patch(f"/datasets/{shops['id']}", json={"name": "mine"}), 404, "not_found")
    api.http.patch("/datasets/shops", json={"is_public": False})
    error(other.http.delete(f"/datasets/{shops['id']}"), 404, "not_found")


def test_a_map_s_token_shows_what_is_public(
    address: str, api: Api, folder: Path, shops: dict[str, Any]
) -> None:
    """A token that a key has begun lies open in a page; one of this server's own map does not."""
    base = f"/datasets/{shops['id']}"
    by_key = api.http.post("/tiles/session").json()["token"]
    guest = httpx.Client(base_url=f"{address}/api/v1")
    for path in ("/datasets/shops/tiles.json", f"{base}/tiles.json", f"{base}/tiles/10/533/373"):
        error(guest.get(path, params={"session": by_key}), 404, "not_found")
    api.http.patch("/datasets/shops", json={"is_public": True})
    described = guest.get(f"{base}/tiles.json", params={"session": by_key, "theme": "x"}).json()
    assert described["tiles"][0].endswith(f"{base}/tiles/{{z}}/{{x}}/{{y}}.mvt?session={by_key}")
    assert guest.get(described["tiles"][0].format(z=10, x=533, y=373)).status_code == 200
    api.http.patch("/datasets/shops", json={"is_public": False})
    database = open_accounts(folder)
    account = registry.get_account(database, "me@example.org")
    database.close()
    cookie = make_session_cookie(read_secret(folder, ""), account.id, is_https=False)
    headers = {"Cookie": cookie.partition(";")[0], "Sec-Fetch-Site": "same-origin"}
    by_page = guest.post("/tiles/session", headers=headers).json()["token"]
    for path in (f"{base}/tiles.json", f"{base}/tiles/10/533/373"):
        assert guest.get(path, params={"session": by_page}).status_code == 200
    guest.close()


def test_visitors_of_the_map_page_keep_nothing(folder: Path, address: str) -> None:
    database = open_accounts(folder)
    visitors = ensure_visitors(database, 30)
    with pytest.raises(InvalidDataset, match="sign in"):
        create_dataset(database, visitors, "mine", {"name": "Mine"})
    database.close()


def test_a_restricted_key_may_be_for_datasets(api: Api, address: str, folder: Path) -> None:
    database = open_accounts(folder)
    account = registry.get_account(database, "me@example.org")
    statuses = []
    for group in ("datasets", "tiles"):
        held = make_restrictions(endpoints=[group])
        _, key = registry.create_key(database, account.id, restrictions=held)
        answer = httpx.get(f"{address}/api/v1/datasets", headers={"X-API-Key": key})
        statuses.append(answer.status_code)
    database.close()
    assert statuses == [200, 403]


def test_uploads_are_refused_before_they_are_sent(api: Api, folder: Path) -> None:
    api.make("slow")
    incoming = folder / "userdata" / "incoming"
    go_on = threading.Event()

    def parts() -> Iterator[bytes]:
        yield SHOPS
        go_on.wait(30)

    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(api.put, "slow", parts()) for _ in range(2)]
        for _ in range(200):
            if len(list(incoming.iterdir())) == 2:
                break
            time.sleep(0.05)
        third = api.put("slow", SHOPS)
        go_on.set()
        assert [answer.result().status_code for answer in waiting] == [202, 202]
    assert "one after the other" in error(third, 503, "overloaded")

    headers = {"X-API-Key": str(api.http.headers["X-API-Key"]), "Content-Length": "5000000"}
    with socket.create_connection((api.http.base_url.host, api.http.base_url.port or 80)) as line:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        line.sendall(
            f"PUT /api/v1/datasets/nothing/source HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode()
        )
        assert line.recv(1_000).startswith(b"HTTP/1.1 404")  # nothing of the body was sent


def test_all_problems_have_an_address(api: Api) -> None:
    api.make("wrong")
    rows = b"name,lat,lon\n" + b"".join(b"r%d,x,y\n" % number for number in range(25))
    found = api.fill("wrong", rows)
    assert (found["problem_count"], len(found["problems"])) == (25, 10)
    answer = api.http.get("/datasets/wrong/problems").json()
    assert answer["problem_count"] == 25
    assert [problem["row"] for problem in answer["problems"]] == list(range(1, 26))
    api.make("empty")
    assert api.http.get("/datasets/empty/problems").json()["problems"] == []


def test_limits_of_a_plan(make_api: MakeApi) -> None:
    free = make_api("free@example.org", "free")
    for slug in ("one", "two", "three"):
        free.make(slug)
    answer = free.http.post("/datasets", json={"name": "x", "slug": "four"})
    assert "the plan allows 3 datasets" in error(answer, 422, "validation_failed")
    large = free.put("one", b"x" * 20_000_001)
    assert "at most 20000000" in error(large, 413, "too_large")
    many = free.fill("one", b"lat,lon\n" + b"43.7,7.4\n" * 10_001)
    assert "more than 10,000 rows" in many["error_message"]


def test_a_stream_without_a_length_is_taken(api: Api, folder: Path) -> None:
    api.make("streamed")

    def parts() -> Iterator[bytes]:
        yield b"name,lat,lon\n"
        for number in range(20_000):
            yield b"row %d,43.7%05d,7.42\n" % (number, number)

    assert api.fill("streamed", parts())["feature_count"] == 20_000
    assert list((folder / "userdata" / "incoming").iterdir()) == []


def test_the_published_client(address: str, api: Api) -> None:
    key = api.http.headers["X-API-Key"]
    client = plaza.Plaza(api_key=key, base_url=address, _strict_response_validation=True)
    made = client.v1.datasets.create(name="Client", slug="client", license="CC0-1.0")
    api.fill("client", SHOPS)
    assert client.v1.datasets.retrieve(made.id).slug == "client"
    assert "client" in [d.slug for d in client.v1.datasets.list().datasets]
    page = client.v1.datasets.query_features(made.id, limit=2)
    assert [f.properties["name"] for f in page.features] == ["Un", "Deux"]
    assert page.pagination is not None
    assert page.pagination.has_more
    client.v1.datasets.delete(made.id)
    with pytest.raises(plaza.NotFoundError):
        client.v1.datasets.retrieve(made.id)
    client.close()


def test_a_file_that_was_replaced_before_it_was_read_is_gone(api: Api, folder: Path) -> None:
    api.make("often")
    rows = b"name,lat,lon\n" + b"".join(b"r,43.7,7.4\n" for _ in range(50_000))
    for _ in range(5):
        assert api.put("often", rows).status_code == 202
    assert len(list((folder / "userdata" / "incoming").iterdir())) <= 1
    assert api.fill("often", SHOPS)["feature_count"] == 4
    assert api.names("often", limit=1) == ["Un"]


def test_a_deleted_account_has_no_datasets(make_api: MakeApi, folder: Path) -> None:
    leaving = make_api("leaving@example.org", "free")
    made = leaving.make("mine", is_public=True)
    leaving.fill("mine", SHOPS)
    database = open_accounts(folder)
    account = registry.get_account(database, "leaving@example.org")
    told = export_account(database, account.id)
    assert [dataset["slug"] for dataset in told["datasets"]] == ["mine"]
    delete_account(database, account.id)
    assert not [name for name, _ in find_in_use(database).versions if name == made["id"]]
    database.close()


def test_deleting(api: Api) -> None:
    made = api.make("gone")
    api.fill("gone", SHOPS)
    assert api.http.delete("/datasets/gone").status_code == 204
    error(api.http.get(f"/datasets/{made['id']}/features"), 404, "not_found")
    assert api.make("gone")["status"] == "pending"
