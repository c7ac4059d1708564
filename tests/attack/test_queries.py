"""Queries in processes of their own: what goes wrong is killed alone, and slots are shared."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

import attack.query_process as endpoints
from attack.doors import Door, open_door
from mapyard.accounts import registry
from mapyard.accounts.open import open_accounts
from mapyard.http.routes import overpass, sparql
from servers import copy_data

MODULE = "attack.query_process"
TESTS = Path(__file__).parent.parent


@pytest.fixture
def door(
    build_once: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Door]:
    from osm_files import EXAMPLES

    data = copy_data(
        build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"]), tmp_path / "data"
    )
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("MAPYARD_DATA", str(data))
    monkeypatch.setenv("MAPYARD_QUERY_BYTES", str(64 << 20))
    options: dict[str, Any] = {"timeout_s": 6.0, "query_bytes": 64 << 20, "query_processes": 3}
    modules = [endpoints, overpass, sparql]
    with open_door(data, modules=modules, queries=MODULE, read_s=30, **options) as opened:
        wait_until(lambda: ask(opened, "/api/v1/pid", 60).status_code == 200, 60)
        yield opened


def ask(door: Door, path: str, timeout: float = 20.0, key: str = "") -> httpx.Response:
    host, port = door.address
    headers = {"X-API-Key": key} if key else {}
    return httpx.get(f"http://{host}:{port}{path}", timeout=timeout, headers=headers)


def in_background(job: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=job)
    thread.start()
    return thread


def query_processes() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            if child.status() != psutil.STATUS_ZOMBIE and MODULE in child.cmdline():
                found.append(child)
    return found


def wait_until(what: Callable[[], bool], limit_s: float = 10.0) -> None:
    ends_s = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < ends_s
        time.sleep(0.05)


def test_native_code_that_never_looks_is_killed_and_nobody_else_suffers(door: Door) -> None:
    took: list[float] = []
    answers: list[httpx.Response] = []

    def attack() -> None:
        started_s = time.monotonic()
        answers.append(ask(door, "/api/v1/native"))
        took.append(time.monotonic() - started_s)

    threads = [in_background(attack)]
    time.sleep(0.3)
    for _ in range(10):
        started_s = time.monotonic()
        assert ask(door, "/api/v1/pid").status_code == 200
        assert door.is_well()
        assert time.monotonic() - started_s < 4.5
    for thread in threads:
        thread.join(20)
    assert [answer.status_code for answer in answers] == [408]
    assert max(took) < 12
    wait_until(lambda: len(query_processes()) <= 3)
    assert ask(door, "/api/v1/pid").status_code == 200


@pytest.mark.parametrize("pause_s", [0.0, 0.05])
def test_a_query_over_its_memory_is_413(door: Door, pause_s: float) -> None:
    answer = ask(door, f"/api/v1/memory?s={pause_s}")
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
    assert answer.json()["error"]["details"] == {"limit": 64 << 20}
    assert ask(door, "/api/v1/pid").status_code == 200


def test_a_process_that_dies_is_one_500(door: Door) -> None:
    assert ask(door, "/api/v1/crash").status_code == 500
    for _ in range(5):
        assert ask(door, "/api/v1/pid").status_code == 200


def test_errors_come_back_whole(door: Door) -> None:
    answer = ask(door, "/api/v1/refuse")
    assert answer.status_code == 413
    assert answer.headers["x-why"] == "because"
    error = {"code": "too_large", "message": "too much", "details": {"limit": 3}}
    assert answer.json() == {"error": error}
    assert ask(door, "/api/v1/fault").json()["error"]["code"] == "internal_error"
    assert ask(door, "/api/v1/obedient?s=x").status_code == 400


def test_a_client_that_leaves_ends_its_query(door: Door) -> None:
    before = ask(door, "/api/v1/pid").json()["pid"]
    with door.connect(b"GET /api/v1/obedient?s=9 HTTP/1.1\r\nHost: x\r\n\r\n"):
        time.sleep(0.3)
    wait_until(lambda: door.application.apart is not None and not door.application.apart.busy, 5)
    time.sleep(0.3)
    assert ask(door, "/api/v1/pid").json()["pid"] == before  # it looked: its process lives on
    with door.connect(b"GET /api/v1/native HTTP/1.1\r\nHost: x\r\n\r\n"):
        time.sleep(0.3)
    wait_until(lambda: not psutil.pid_exists(before), 5)
    assert ask(door, "/api/v1/pid").status_code == 200


def test_streams_pass_in_bounded_chunks(door: Door) -> None:
    answer = ask(door, "/api/v1/stream?n=500")
    assert answer.content == b"".join(b"%09d\n" % i * 10_000 for i in range(500))
    assert ask(door, "/api/v1/whole?n=5000000").content == b"a" * 5_000_000
    with pytest.raises(httpx.RemoteProtocolError):
        ask(door, "/api/v1/stream?n=50&s=1")
    held = [
        door.connect(b"GET /api/v1/stream?n=100000 HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(6)
    ]
    time.sleep(1.0)
    base = psutil.Process().memory_info().rss
    time.sleep(1.0)
    assert psutil.Process().memory_info().rss - base < 30 << 20
    started_s = time.monotonic()
    assert ask(door, "/api/v1/pid").status_code == 200  # who reads slowly holds no slot
    assert time.monotonic() - started_s < 4.5
    for connection in held:
        connection.close()
    wait_until(lambda: len(query_processes()) <= 4)


def test_one_account_leaves_room_for_others(door: Door, tmp_path: Path) -> None:
    database = open_accounts(tmp_path)
    keys = []
    for name in ("greedy", "modest"):
        account = registry.create_account(database, f"{name}@example.org", "enterprise")
        keys.append(registry.create_key(database, account.id)[1])
    data = door.application.services.settings.data
    options: dict[str, Any] = {"timeout_s": 20.0, "query_processes": 3, "data_folder": None}
    del options["data_folder"]
    with open_door(
        data, modules=[endpoints], queries=MODULE, database=database, read_s=30, **options
    ) as shared:
        wait_until(lambda: ask(shared, "/api/v1/pid", 60, keys[1]).status_code == 200, 60)
        greedy = [
            in_background(lambda: ask(shared, "/api/v1/obedient?s=5", 60, keys[0]))
            for _ in range(8)
        ]
        time.sleep(0.3)
        for _ in range(5):
            started_s = time.monotonic()
            assert ask(shared, "/api/v1/obedient?s=0.2", 20, keys[1]).status_code == 200
            assert time.monotonic() - started_s < 4.5
        for thread in greedy:
            thread.join(60)
    database.close()


def test_real_queries_answer_as_in_threads(door: Door) -> None:
    paths = (
        "/api/v1/sparql?query=SELECT%20(COUNT(*)%20AS%20%3Fn)%20%7B%3Fs%20osmkey:amenity%20%3Fo%7D",
        "/api/v1/overpass?data=node[amenity=cafe];out;&limit=3",
        "/api/v1/overpass?data=way[building];out;&format=ndjson",
        "/api/interpreter?data=[out:csv(name)];node[amenity=cafe];out;",
        "/api/v1/sparql?query=SELECT%20",
    )
    apart = [ask(door, path) for path in paths]
    door.application.apart = None
    for path, answer in zip(paths, apart, strict=True):
        other = ask(door, path)
        assert (other.status_code, other.content) == (answer.status_code, answer.content), path
        kept = {"content-type", "x-limit", "x-has-more", "x-next-cursor", "link", "vary"}
        assert {k: v for k, v in other.headers.items() if k in kept} == {
            k: v for k, v in answer.headers.items() if k in kept
        }
    assert [answer.status_code for answer in apart] == [200, 200, 200, 200, 400], apart[1].text
