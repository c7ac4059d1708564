"""`mapyard serve` as processes: workers, stop, restart, switch of the dataset, metrics, logs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from mapyard.accounts.models import UsageDay
from mapyard.accounts.open import open_accounts
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import read_manifest, write_manifest
from mapyard.server.supervisor import HEARTBEAT_S
from servers import COMMAND, Server, copy_data, running

pytestmark = pytest.mark.xdist_group("serving")
FEATURE = "/api/v1/features/way/94399684"


@pytest.fixture(scope="module")
def store_data(build_once: Callable[..., Path]) -> Path:
    from osm_files import EXAMPLES

    return build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])


@pytest.fixture(scope="module")
def server(store_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("serving")
    data = copy_data(store_data, folder / "data")
    with running(data, folder / "serve.log", workers=2) as started:
        yield started


def log_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_answers_on_both_loopback_addresses(server: Server) -> None:
    headers = {"X-API-Key": server.key}
    for host in ("127.0.0.1", "[::1]"):
        answer = httpx.get(f"http://{host}:{server.port}{FEATURE}", headers=headers)
        assert answer.status_code == 200
        assert answer.json()["id"] == "way/94399684"
        assert answer.headers["x-dataset-timestamp"] == "2026-04-06T20:21:15Z"
    missing = server.get("/api/v1/features/node/1")
    assert missing.status_code == 404
    assert missing.headers["x-dataset-timestamp"] == "2026-04-06T20:21:15Z"


def test_busy_port_names_the_setting(server: Server, store_data: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "serve", "--port", str(server.port), "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"port {server.port} of 127.0.0.1 is in use" in done.stderr
    assert "--port or MAPYARD_PORT" in done.stderr
    assert "Traceback" not in done.stderr


def test_metrics_are_those_of_all_workers(server: Server) -> None:
    for _ in range(20):
        assert server.get("/api/v1/features/node/x").status_code == 400
    time.sleep(0.8)
    pattern = (
        r"mapyard_http_request_duration_seconds_count\{"
        r'method="GET",route="/api/v1/features/\{type\}/\{id\}",status="400"\} ([\d.]+)'
    )
    counts = set()
    for _ in range(6):  # either worker answers with the same sum
        found = re.search(pattern, server.metrics())
        assert found is not None
        counts.add(float(found[1]))
    assert counts == {20.0}
    assert server.get("/metrics").status_code == 404  # no address is believed, only the token


def test_a_worker_that_dies_is_started_again(server: Server) -> None:
    before = {worker.pid for worker in server.workers()}
    victim = server.workers()[0]
    victim.kill()
    ends_s = time.monotonic() + 30
    while time.monotonic() < ends_s:
        pids = {worker.pid for worker in server.workers()}
        if len(pids) == 2 and victim.pid not in pids:
            break
        time.sleep(0.05)
    assert len(pids - before) == 1
    for _ in range(10):
        assert server.get(FEATURE).status_code == 200
    (line,) = [line for line in log_lines(server.log) if line["level"] == "error"]
    assert f"web process {victim.pid} died (signal SIGKILL)" in str(line["message"])
    assert 'mapyard_worker_restarts_total{process="web"} 1.0' in server.metrics()


def test_dataset_is_switched_without_a_failed_request(server: Server) -> None:
    data = Path(psutil.Process(server.process.pid).environ()["MAPYARD_DATA"])
    catalog = Catalog(data)
    old = catalog.find_current()
    assert old is not None
    new = f"{old[:-6]}ffffff"
    shutil.copytree(catalog.folder / old, catalog.folder / new, copy_function=os.link)
    (catalog.folder / new / "manifest.json").unlink()
    manifest = read_manifest(catalog.folder / old)
    manifest.id = new
    write_manifest(catalog.folder / new, manifest)
    cursor = server.get("/api/v1/features?limit=5").headers["x-next-cursor"]
    assert server.get(f"/api/v1/features?limit=5&cursor={cursor}").status_code == 200

    statuses: list[int] = []
    stop = threading.Event()

    def hammer() -> None:
        with httpx.Client(headers={"X-API-Key": server.key}) as client:
            while not stop.is_set():
                for path in (FEATURE, "/api/v1/features?bbox=43.73,7.41,43.75,7.43&limit=50"):
                    statuses.append(client.get(server.address + path).status_code)

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    ends_s = time.monotonic() + 20
    switches = 0
    while (switches < 20 or len(statuses) < 200) and time.monotonic() < ends_s:
        catalog.use((new, old)[switches % 2])
        switches += 1
        time.sleep(0.02)
    catalog.use(new)
    stop.set()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200}
    assert len(statuses) >= 200

    for _ in range(12):  # in every worker
        answer = server.get(f"/api/v1/features?limit=5&cursor={cursor}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "stale_cursor")
        assert server.get("/version").json()["dataset"] == new


def test_stop_finishes_what_runs_and_enters_the_usage(store_data: Path, tmp_path: Path) -> None:
    data = copy_data(store_data, tmp_path / "data")
    log = tmp_path / "serve.log"
    with running(data, log, workers=1, MAPYARD_DRAIN_S="1.5") as server:
        url = f"{server.address}/api/v1/features?format=ndjson&tags=building"
        with httpx.stream("GET", url, headers={"X-API-Key": server.key}, timeout=30) as answer:
            chunks = answer.iter_bytes()
            body = next(chunks)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            ready = server.get("/readyz")
            assert (ready.status_code, ready.json()) == (503, {"status": "stopping"})
            late = server.get(FEATURE)
            assert late.status_code == 200
            assert late.headers["connection"] == "close"
            time.sleep(1.5)
            body += b"".join(chunks)
        assert server.process.wait(30) == 0
    names = [json.loads(line)["id"] for line in body.splitlines()]
    assert len(names) == len(set(names)) > 1_000
    assert [line for line in log_lines(log) if line["level"] != "info"] == []
    database = open_accounts(data)
    with database.read() as session:
        used = {row.endpoint: row.requests for row in session.query(UsageDay)}
    database.close()
    assert used == {"/api/v1/features": 1, "/api/v1/features/{type}/{id}": 1}


def test_workers_end_when_the_supervisor_is_killed(store_data: Path, tmp_path: Path) -> None:
    data = copy_data(store_data, tmp_path / "data")
    with running(data, tmp_path / "serve.log", workers=1) as server:
        family = psutil.Process(server.process.pid).children()
        assert len(family) == 3  # the nursery, a worker and the background jobs
        # What the family says is not read any more: the sockets end with a reset, not with an end.
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(2 * HEARTBEAT_S)
        server.process.kill()
        _, alive = psutil.wait_procs(family, timeout=30)
        assert alive == []


def test_no_key_and_no_secret_in_any_log(server: Server) -> None:
    server.get(f"/api/v1/features?api_key={server.key}&tags=name=topsecret")
    time.sleep(0.6)
    text = server.log.read_text() + server.log.with_suffix(".access").read_text()
    assert server.key not in text
    assert "topsecret" not in text
    for line in log_lines(server.log.with_suffix(".access")):
        assert {"ts", "level", "request_id", "route", "status", "ms", "account", "key"} <= set(line)
