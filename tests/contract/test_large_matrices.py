"""A matrix of a million cells: streamed, in little memory, and stopped with who asked for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest

from osm_files import EXAMPLES
from servers import Server, copy_data, running

MIB = 1 << 20


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    return copy_data(built, tmp_path_factory.mktemp("large-matrices") / "data")


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[Server]:
    log = data.parent / "serve.log"
    with running(data, log, MAPYARD_MATRIX_PAIRS="1000000") as started:
        yield started


def make_body(count: int, mode: str = "auto") -> dict[str, Any]:
    rng = np.random.default_rng(7)
    places = np.column_stack(
        [rng.uniform(7.414, 7.431, 2 * count), rng.uniform(43.729, 43.743, 2 * count)]
    ).round(6)
    return {
        "origins": places[:count].tolist(), "destinations": places[count:].tolist(), "mode": mode,
        "snap_radius": 5000,
    }  # fmt: skip


def find_memory(worker: psutil.Process, name: str) -> int:
    for line in Path(f"/proc/{worker.pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise AssertionError(name)


def find_cpu_s(worker: psutil.Process) -> float:
    times = worker.cpu_times()
    return times.user + times.system


def test_a_million_cells_are_streamed_in_little_memory(server: Server) -> None:
    (worker,) = server.workers()
    small = make_body(100)
    assert server.post("/api/v1/matrix", json=small).status_code == 200
    body = make_body(1000)
    Path(f"/proc/{worker.pid}/clear_refs").write_text("5")  # the peak counts from now on
    before = find_memory(worker, "VmRSS")
    answer = server.post("/api/v1/matrix", json=body, headers={"Accept-Encoding": "identity"})
    assert answer.status_code == 200, answer.text
    assert "content-length" not in answer.headers
    assert answer.headers["x-engine-calls"] == "0"
    assert find_memory(worker, "VmHWM") - before < 64 * MIB
    found = {name: np.array(answer.json()[name], float) for name in ("distances", "durations")}
    assert found["distances"].shape == found["durations"].shape == (1000, 1000)
    assert answer.json()["mode"] == "auto"
    part = {
        "origins": body["origins"][700:740], "destinations": body["destinations"][:40],
        "snap_radius": 5000,
    }  # fmt: skip
    whole = server.post("/api/v1/matrix", json=part).json()
    for name, rows in found.items():
        assert np.array_equal(rows[700:740, :40], np.array(whole[name], float), equal_nan=True), (
            name
        )


def test_errors_come_before_the_answer_begins(server: Server) -> None:
    body = make_body(1000)
    body["origins"][950] = [7.46, 43.60]
    answer = server.post("/api/v1/matrix", json=body | {"snap_radius": 1000})
    assert answer.status_code == 404
    assert answer.json()["error"]["details"]["index"] == 950
    too_many = make_body(1000)
    too_many["origins"].append(too_many["origins"][0])
    answer = server.post("/api/v1/matrix", json=too_many)
    assert answer.status_code == 413
    assert answer.json()["error"]["details"]["limit"] == 1_000_000


def test_work_ends_with_the_client_that_asked_for_it(server: Server) -> None:
    (worker,) = server.workers()
    body = make_body(1000) | {"format": "csv"}
    started_s = find_cpu_s(worker)
    assert server.post("/api/v1/matrix", json=body).status_code == 200
    whole_s = find_cpu_s(worker) - started_s
    started_s = find_cpu_s(worker)
    with (
        httpx.Client(timeout=20) as client,
        client.stream(
            "POST", server.address + "/api/v1/matrix", json=body,
            headers={"X-API-Key": server.key, "Accept-Encoding": "identity"},
        ) as answer,
    ):  # fmt: skip
        next(answer.iter_raw(1000))
    time.sleep(2 * whole_s + 0.5)
    assert find_cpu_s(worker) - started_s < 0.7 * whole_s
    assert server.post("/api/v1/matrix", json=make_body(10)).status_code == 200


def test_the_deadline_ends_what_takes_too_long(data: Path) -> None:
    """A wheelchair's ways are the engine's, which takes seconds for so many."""
    log = data.parent / "short.log"
    with running(data, log, MAPYARD_MATRIX_PAIRS="1000000", MAPYARD_TIMEOUT_S="1") as server:
        started_s = time.monotonic()
        answer = server.post("/api/v1/matrix", json=make_body(400, "wheelchair"))
        assert answer.json()["error"]["code"] == "timeout", answer.text[:200]
        assert time.monotonic() - started_s < 8
        assert server.post("/api/v1/matrix", json=make_body(10)).status_code == 200


def test_without_the_setting_so_many_are_refused(data: Path) -> None:
    with running(data, data.parent / "usual.log") as server:
        answer = server.post("/api/v1/matrix", json=make_body(101))
        assert answer.status_code == 413
        assert json.loads(answer.text)["error"]["details"]["limit"] == 10_000
