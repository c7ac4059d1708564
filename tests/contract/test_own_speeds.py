"""Own speeds on a running server: switched without a failed request; what they refuse, by 422."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from osm_files import EXAMPLES
from servers import COMMAND, Server, copy_data, running

pytestmark = pytest.mark.xdist_group("serving")
CASINO, STADIUM = [7.4281, 43.7392], [7.4155, 43.7276]
ROUTE = {"origin": CASINO, "destination": STADIUM, "mode": "auto"}


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    folder = tmp_path_factory.mktemp("own-speeds")
    data = copy_data(built, folder / "data")
    with running(data, folder / "serve.log", workers=2) as started:
        yield started


def run(server: Server, *words: str) -> str:
    done = subprocess.run(
        [COMMAND, "speeds", *words, "--data", str(server.log.parent / "data")],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout


def write_slow(server: Server, tmp_path: Path, kmh: int) -> Path:
    """Write a table with all ways of a route."""
    answer = server.post("/api/v1/route", json=ROUTE | {"annotations": True}).json()
    ways = sorted(set(answer["properties"]["annotations"]["way_ids"]))
    file = tmp_path / "slow.csv"
    file.write_text("way_id,speed_kmh\n" + "".join(f"{way},{kmh}\n" for way in ways))
    return file


def measure_s(server: Server) -> float:
    answer = server.post("/api/v1/route", json=ROUTE)
    assert answer.status_code == 200, answer.text
    return float(answer.json()["properties"]["duration_s"])


def test_a_server_under_load_switches_without_a_failed_request(
    server: Server, tmp_path: Path
) -> None:
    usual_s = measure_s(server)
    slow = write_slow(server, tmp_path, 3)
    statuses: list[int] = []
    durations: set[float] = set()
    ends = threading.Event()

    def ask() -> None:
        while not ends.is_set():
            answer = server.post("/api/v1/route", json=ROUTE)
            statuses.append(answer.status_code)
            durations.add(answer.json().get("properties", {}).get("duration_s"))

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(2):
            run(server, "import", str(slow), "--skip-unknown")
            slow_s = measure_s(server)
            run(server, "remove")
            assert measure_s(server) == usual_s
    finally:
        time.sleep(0.2)
        ends.set()
        for asker in askers:
            asker.join()
    assert set(statuses) == {200}
    assert slow_s > usual_s
    assert durations == {usual_s, slow_s}  # nothing in between


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/route", ROUTE | {"alternatives": 1}),
    ("/api/v1/route", ROUTE | {"costing": {"top_speed_kmh": 90}}),
    ("/api/v1/route", ROUTE | {"exclude": ["motorway"]}),
    ("/api/v1/route", ROUTE | {"depart_at": "2026-06-17T08:30"}),
    ("/api/v1/matrix", {"origins": [CASINO], "destinations": [STADIUM], "exclude": ["toll"]}),
    ("/api/v1/isochrone", {"geometry": CASINO, "time": [300], "exclude": ["motorway"]}),
]


@pytest.fixture(scope="module")
def slowed(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    run(server, "import", str(write_slow(server, tmp_path_factory.mktemp("slow"), 3)))
    yield server
    run(server, "remove")


@pytest.mark.parametrize(("path", "body"), REFUSED)
def test_what_only_the_engine_answers_is_refused(
    slowed: Server, path: str, body: dict[str, Any]
) -> None:
    answer = slowed.post(path, json=body)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert "own speeds are on for mode auto" in error["message"]
    assert error["details"]["mode"] == ["own speeds are on for auto"]
    other = slowed.post(path, json=body | {"mode": "motorcycle"})
    assert "own speeds" not in other.text


def test_steps_matrix_and_area_are_at_own_speeds(slowed: Server) -> None:
    whole = slowed.post("/api/v1/route", json=ROUTE | {"steps": True})
    assert whole.status_code == 200, whole.text
    properties = whole.json()["properties"]
    assert sum(step["duration_s"] for step in properties["steps"]) == pytest.approx(
        properties["duration_s"], abs=1
    )
    body = {"origins": [CASINO], "destinations": [STADIUM]}
    cells = slowed.post("/api/v1/matrix", json=body).json()
    assert cells["durations"][0][0] == pytest.approx(properties["duration_s"], abs=1)
    area = slowed.post("/api/v1/isochrone", json={"geometry": CASINO, "time": [300]})
    assert area.status_code == 200, area.text
    plan = slowed.post("/api/v1/optimize", json={"waypoints": [CASINO, STADIUM, [7.42, 43.7314]]})
    assert plan.status_code == 200, plan.text
