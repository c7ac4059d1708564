"""Three nodes on loopback, four regions in two copies, PostgreSQL and Redis of their own.

The tests run in their order on one fleet: what one does to it, the next ones begin with.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import osmium
import pytest

from databases import POSTGRESQL, REDIS, running_postgresql, running_redis
from fleet_nodes import BIN, RayNode, free_port, wait_for
from fleets import ask, exact_requests, make_single, normalize
from mapyard.accounts import registry
from mapyard.accounts.open import open_accounts
from osm_files import EXAMPLES

pytestmark = [
    pytest.mark.xdist_group("fleet"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.skipif(POSTGRESQL is None, reason="PostgreSQL is not installed"),
    pytest.mark.skipif(REDIS is None, reason="Redis is not installed"),
]


class Fleet:
    """The nodes, the store of datasets, and a key."""

    def __init__(self, folder: Path, accounts_url: str, redis_port: int) -> None:
        self.folder = folder
        self.head = f"127.0.0.2:{free_port()}"
        self.settings = {
            "MAPYARD_ACCOUNTS_URL": accounts_url,
            "MAPYARD_REDIS_URL": f"redis://127.0.0.1:{redis_port}",
            "MAPYARD_SECRET": "0123456789abcdef" * 4,
        }
        self.store = folder / "store"
        self.nodes: list[RayNode] = []
        self.database = open_accounts(folder, accounts_url)
        account = registry.create_account(self.database, "fleet@example.org", "enterprise")
        _, self.key = registry.create_key(self.database, account.id)

    def add_node(self) -> RayNode:
        node = RayNode(self.folder, len(self.nodes) + 1, self.head, self.settings)
        self.nodes.append(node)
        return node

    def run(self, *words: object) -> str:
        done = subprocess.run(
            [str(BIN / "mapyard"), *map(str, words)], capture_output=True, text=True,
            env=self.nodes[0].environment, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2_000:]
        return done.stdout + done.stderr

    def status(self) -> dict[str, Any]:
        ray = ("--ray", f"{self.head}@{self.nodes[0].ip}")
        done = subprocess.run(
            [str(BIN / "mapyard"), "fleet", "status", "--json", *ray], capture_output=True,
            env=self.nodes[0].environment, timeout=60,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout or b'{"copies": []}')
        return found

    def open(self, *options: object) -> None:
        self.run("fleet", "open", self.store, "--ray", f"{self.head}@{self.nodes[0].ip}", *options)

    def get(
        self, node: RayNode, path: str, params: Any = None, body: Any = None, key: str = ""
    ) -> httpx.Response:
        headers = {"X-API-Key": key or self.key}
        if body is None:
            return httpx.get(node.url + path, params=params, headers=headers, timeout=30)
        return httpx.post(node.url + path, params=params, json=body, headers=headers, timeout=30)

    def is_whole(self) -> bool:
        """Whether each region has two copies that answer, on two nodes."""
        nodes: dict[str, set[str]] = {}
        copies = self.status()["copies"]
        for copy in copies:
            if copy["ready"]:
                nodes.setdefault(copy["region"], set()).add(copy["node"])
        # Four regions, and the places and the roads of all.
        return len(nodes) == 6 and all(len(of) == 2 for of in nodes.values()) and len(copies) == 12

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()
        self.database.close()


def write_diff(target: Path) -> None:
    """Write a diff that gives everything in Monaco that is an amenity another tag."""
    with osmium.SimpleWriter(str(target), overwrite=True) as writer:
        for item in osmium.FileProcessor(str(EXAMPLES / "monaco.osm.pbf")):
            tags = dict(item.tags)
            if "amenity" in tags:
                changed = {"tags": {**tags, "edition": "two"}, "version": item.version + 1}
                writer.add(item.replace(**changed))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    with running_postgresql() as accounts_url, running_redis(folder) as redis_port:
        made = Fleet(folder, accounts_url, redis_port)
        try:
            for _ in range(3):
                made.add_node()
            ray = ("--ray", f"{made.head}@127.0.0.2")
            made.run("regions", "split", EXAMPLES / "monaco.osm.pbf", "--regions", 4,
                     "--out", folder / "split", "--margin", 200, "--roads", 1)  # fmt: skip
            made.run(
                "fleet",
                "build",
                folder / "split",
                "--to",
                made.store,
                "--only",
                "text,routing",
                *ray,
            )
            made.open("--copies", 2)
            for node in made.nodes:
                node.serve(**made.settings)
            for node in made.nodes:
                wait_for(node.is_ready)
            yield made
        finally:
            made.stop()


class Load:
    """Requests to all living nodes, without a pause; each may be tried again once."""

    def __init__(self, fleet: Fleet, check: Callable[[httpx.Response], None]) -> None:
        self.fleet, self.check = fleet, check
        self.count = 0
        self.failures: list[str] = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(at,)) for at in range(2)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, at: int) -> None:
        number = at
        while not self._stop.is_set():
            number += 1
            nodes = [node for node in self.fleet.nodes if node.server is not None]
            problem = ""
            for attempt in (0, 1):
                try:
                    answer = self.fleet.get(
                        nodes[(number + attempt) % len(nodes)], "/api/v1/features",
                        {"tags": "amenity", "limit": 100 + number % 7},
                    )  # fmt: skip
                    if answer.status_code == 200:
                        self.check(answer)
                        problem = ""
                        break
                    problem = f"{answer.status_code} {answer.text[:200]}"
                except httpx.TransportError as error:
                    problem = repr(error)
                except AssertionError as error:  # a wrong answer is not asked again
                    problem = str(error)
                    break
            self.count += 1
            if problem:
                self.failures.append(problem)


def check_against(expected: dict[int, list[str]]) -> Callable[[httpx.Response], None]:
    """Return the check that a page is the one of the whole map, by its limit."""

    def check(answer: httpx.Response) -> None:
        limit = int(answer.headers["x-limit"])
        ids = [feature["id"] for feature in answer.json()["features"]]
        assert ids == expected[limit][:limit], "a wrong answer"

    return check


@pytest.fixture(scope="module")
def amenities(monaco: Path) -> dict[int, list[str]]:
    page = ask(make_single(monaco), "/api/v1/features", {"tags": "amenity", "limit": 200})
    ids = [feature["id"] for feature in page.json()["features"]]
    return dict.fromkeys(range(100, 107), ids)


def test_all_nodes_answer_as_one_machine(fleet: Fleet, monaco: Path) -> None:
    assert fleet.is_whole()
    single = make_single(monaco)
    requests = (r for r in exact_requests(7) if "tiles" not in r[0])
    asked = {node.ip: 0 for node in fleet.nodes}
    for number in range(120):
        path, params, body = next(requests)
        node = fleet.nodes[number % 3]
        expected, found = ask(single, path, params, body), fleet.get(node, path, params, body)
        assert found.status_code == expected.status_code, (path, params, found.text[:300])
        assert normalize(found.content) == normalize(expected.content), (path, params)
        assert found.headers["x-dataset-timestamp"] == expected.headers["x-dataset-timestamp"]
        asked[node.ip] += 1
    assert sum(copy["asked"] for copy in fleet.status()["copies"]) > 20  # over Ray, too
    trip = {"origin": "43.7255,7.4100", "destination": "43.7500,7.4380"}  # over all regions
    expected = ask(single, "/api/v1/route", trip)
    assert expected.status_code == 200
    for node in fleet.nodes:
        found = fleet.get(node, "/api/v1/route", trip)
        assert normalize(found.content) == normalize(expected.content)


def test_pages_are_walked_over_nodes_and_regions(fleet: Fleet, monaco: Path) -> None:
    single = make_single(monaco)
    whole = ask(single, "/api/v1/features", {"tags": "building", "limit": 1000}).json()["features"]
    ids: list[str] = []
    cursor: dict[str, str] = {}
    for number in range(40):
        node = fleet.nodes[number % 3]
        page = fleet.get(node, "/api/v1/features", {"tags": "building", "limit": 90, **cursor})
        ids += [feature["id"] for feature in page.json()["features"]]
        if "x-next-cursor" not in page.headers or len(ids) >= 900:
            break
        cursor = {"cursor": page.headers["x-next-cursor"]}
    assert ids == [feature["id"] for feature in whole][: len(ids)] and len(ids) >= 900


def test_bulk_work_asks_what_is_served(fleet: Fleet, monaco: Path, tmp_path: Path) -> None:
    """On a node that has no whole map, --ray alone is enough."""
    rows = tmp_path / "rows.csv"
    lines = [f"{n},{43.73 + n * 1e-4:.4f},7.42,43.74,7.43" for n in range(100)]
    rows.write_text("\n".join(["id,from_lat,from_lon,to_lat,to_lon", *lines, "x,1,200,2,3", ""]))
    ray = ("--ray", f"{fleet.head}@{fleet.nodes[0].ip}")
    for name in ("reverse", "route"):
        one, many = tmp_path / f"{name}-one.csv", tmp_path / f"{name}.csv"
        columns = ("--lat", "from_lat", "--lon", "from_lon") if name == "reverse" else ()
        fleet.run("bulk", name, rows, one, "--data", monaco, "--workers", 1, *columns)
        fleet.run("bulk", name, rows, many, "--block", 20, *columns, *ray)
        assert many.read_bytes() == one.read_bytes()
        assert one.read_text().count("not on Earth") == 1


def test_limits_keys_and_usage_are_those_of_the_fleet(fleet: Fleet) -> None:
    limit = 60  # a minute
    account = registry.create_account(
        fleet.database, "limited@example.org", "enterprise", per_minute_override=limit
    )
    key_row, key = registry.create_key(fleet.database, account.id)
    begun_s = time.monotonic()

    def call(number: int) -> int:
        answer = fleet.get(fleet.nodes[number % 3], "/api/v1/features/way/94399747", key=key)
        return answer.status_code

    with ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(call, range(limit + 30)))
    assert time.monotonic() - begun_s < 55
    assert (codes.count(200), codes.count(429)) == (limit, 30)
    registry.revoke_key(fleet.database, account.id, key_row.id)
    time.sleep(2.0)
    for node in fleet.nodes:
        assert fleet.get(node, "/api/v1/limits", key=key).status_code == 401


def find_actors(node: RayNode) -> list[int]:
    """Processes of copies of regions on a node."""
    found = []
    for pid in node.pids():
        with contextlib.suppress(OSError):
            if b"RegionActor" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def is_alive(pid: int) -> bool:
    """Return whether a process is there and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_a_killed_process_is_not_felt(fleet: Fleet, amenities: dict[int, list[str]]) -> None:
    with Load(fleet, check_against(amenities)) as load:
        time.sleep(1)
        for number, node in enumerate(fleet.nodes[:2], 1):
            os.kill(find_actors(node)[0], signal.SIGKILL)
            time.sleep(4)
            wait_for(lambda least=15 * number: load.count > least)
    assert load.failures == []
    wait_for(fleet.is_whole)


def test_a_stopped_process_is_not_felt(fleet: Fleet, amenities: dict[int, list[str]]) -> None:
    stopped = find_actors(fleet.nodes[1])[0]
    os.kill(stopped, signal.SIGSTOP)
    with Load(fleet, check_against(amenities)) as load:
        wait_for(lambda: not is_alive(stopped))
        wait_for(fleet.is_whole)  # another process has taken its place
        wait_for(lambda: load.count > 20)
    assert load.failures == []


def is_of_second(feature: dict[str, Any]) -> bool:
    return '"edition": "two"' in json.dumps(feature)


def test_a_generation_is_switched_under_load(fleet: Fleet) -> None:
    write_diff(fleet.folder / "two.osc")
    ray = ("--ray", f"{fleet.head}@127.0.0.2")
    fleet.run("regions", "update", fleet.folder / "split", fleet.folder / "two.osc")
    told = fleet.run(
        "fleet",
        "build",
        fleet.folder / "split",
        "--to",
        fleet.store,
        "--only",
        "text,routing",
        *ray,
    )
    assert told.count("updated ") == 6 and "built " not in told
    before = fleet.get(fleet.nodes[0], "/api/v1/features", {"tags": "amenity", "limit": 50})
    cursor = before.headers["x-next-cursor"]
    seen: set[bool] = set()

    def check(answer: httpx.Response) -> None:
        features = answer.json()["features"]
        is_new = {is_of_second(feature) for feature in features}
        assert len(is_new) == 1, "a page of two generations"
        seen.update(is_new)

    with Load(fleet, check) as load:
        fleet.open()
        time.sleep(2)
    assert load.failures == [] and seen == {False, True}
    for node in fleet.nodes:
        stale = fleet.get(node, "/api/v1/features", {"tags": "amenity", "cursor": cursor})
        assert (stale.status_code, stale.json()["error"]["code"]) == (400, "stale_cursor")
        page = fleet.get(node, "/api/v1/features", {"tags": "amenity", "limit": 3}).json()
        assert all(map(is_of_second, page["features"]))
    # A little later no node has the generation before on its disk.
    served = {copy["dataset"] for copy in fleet.status()["copies"]}
    wait_for(lambda: {path.name for node in fleet.nodes for path in node.datasets()} == served)


def test_a_lost_node_is_replaced_and_a_new_one_takes_its_share(
    fleet: Fleet, amenities: dict[int, list[str]]
) -> None:
    wait_for(fleet.is_whole)
    with Load(fleet, check_against(amenities)) as load:
        time.sleep(0.5)
        lost = fleet.nodes[2]
        lost.kill()
        wait_for(fleet.is_whole)
    assert load.failures == []
    node = fleet.add_node()
    node.serve(**fleet.settings)
    wait_for(node.is_ready)
    wait_for(lambda: len(find_actors(node)) >= 2)
    wait_for(fleet.is_whole)
    answer = fleet.get(node, "/api/v1/features", {"tags": "amenity", "limit": 100})
    check_against(amenities)(answer)
