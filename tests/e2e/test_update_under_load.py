"""Updates while requests run: no failed request, fresher data, stale cursors."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from mapyard.dataset.catalog import Catalog
from osm_files import TEST_DATA
from servers import Server, copy_data, running

PATHS = (
    "/api/v1/features?tags=amenity=cafe&limit=5",
    "/api/v1/search?q=casino&limit=5",
    "/api/v1/geocode?q=Rue%20Grimaldi&limit=2",
    "/api/v1/features/node/1703488741",
    "/api/v1/nearest?lat=43.7384&lng=7.4246&radius=500",
)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def source() -> Iterator[str]:
    handler = functools.partial(QuietHandler, directory=str(TEST_DATA / "monaco-updates"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def old_monaco(tmp_path: Path, build_once: Callable[..., Path]) -> Path:
    data = build_once("monaco-2025", TEST_DATA / "monaco-2025-11-08.osm.pbf", None)
    return copy_data(data, tmp_path / "data")


class Load:
    """Threads that ask again and again, and count the answers by status."""

    def __init__(self, server: Server, threads: int) -> None:
        self.statuses: Counter[int | str] = Counter()
        self.datasets: Counter[str] = Counter()
        self._server = server
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(threads)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number: int) -> None:
        with httpx.Client(
            base_url=self._server.address, headers={"X-API-Key": self._server.key}, timeout=30
        ) as client:
            while not self._stop.is_set():
                try:
                    answer = client.get(PATHS[number % len(PATHS)])
                    self.statuses[answer.status_code] += 1
                    self.datasets[answer.headers.get("x-dataset-timestamp", "")] += 1
                except httpx.TransportError as error:
                    self.statuses[type(error).__name__] += 1
                time.sleep(0.2)


@pytest.mark.slow
def test_nobody_notices_an_update_but_by_fresher_answers(
    old_monaco: Path, source: str, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    with running(old_monaco, log, workers=2) as server:
        page = server.get("/api/v1/features?tags=building&limit=2")
        cursor = page.headers["x-next-cursor"]
        assert page.headers["x-dataset-timestamp"] == "2025-11-08T21:20:57Z"
        with Load(server, 50) as load:
            time.sleep(1)
            done = subprocess.run(
                [sys.executable, "-m", "mapyard", "update", "--data", str(old_monaco),
                 "--source", source],
                capture_output=True, timeout=120, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            time.sleep(1)
        assert set(load.statuses) <= {200, 404}, load.statuses
        assert load.statuses[200] > 20
        assert set(load.datasets) == {"2025-11-08T21:20:57Z", "2026-04-06T20:21:15Z"}
        for _ in range(8):  # any worker may answer
            stale = server.get(f"/api/v1/features?tags=building&limit=2&cursor={cursor}")
            assert (stale.status_code, stale.json()["error"]["code"]) == (400, "stale_cursor")
    assert Catalog(old_monaco).manifest("current").replication.sequence == 4612
