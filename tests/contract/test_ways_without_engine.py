"""Questions about ways at default costs are answered without the engine: header and metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.settings import Settings
from osm_files import EXAMPLES
from servers import Server, copy_data, running

MODES = ("auto", "foot", "bicycle")
SEA = [7.46, 43.60]


@pytest.fixture(scope="module")
def server(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    folder = tmp_path_factory.mktemp("ways-without-engine")
    with running(copy_data(built, folder / "data"), folder / "serve.log") as started:
        yield started


def make_questions() -> list[tuple[str, dict[str, Any]]]:
    """Return requests at default costs, of all kinds and modes, over random places."""
    rng = np.random.default_rng(5)
    questions: list[tuple[str, dict[str, Any]]] = []
    for number in range(25):
        for mode in MODES:
            places = np.column_stack(
                [rng.uniform(7.414, 7.431, 5), rng.uniform(43.729, 43.743, 5)]
            ).tolist()
            ends = {"origin": places[0], "destination": places[1], "mode": mode}
            place = {"geometry": places[0], "mode": mode}
            questions += [
                ("/api/v1/route", ends),
                ("/api/v1/route", ends | {"waypoints": [places[2]], "annotations": True}),
                ("/api/v1/nearest", place | {"number": 1 + number % 4}),
                ("/api/v1/matrix", {"origins": places[:2], "destinations": places, "mode": mode}),
                ("/api/v1/isochrone", place | {"time": [120, 300], "reverse": bool(number % 2)}),
                ("/api/v1/isochrone", place | {"distance": [600]}),
                ("/api/v1/optimize", {"waypoints": places, "mode": mode}),
            ]
    return questions


def test_99_of_100_requests_do_not_call_the_engine(server: Server) -> None:
    asked = answered = 0
    called = []
    for path, body in make_questions():
        answer = server.post(path, json=body)
        asked += 1
        if answer.json().get("error", {}).get("code") == "no_route_found":
            continue  # the engine has a second look before that is said
        assert answer.status_code in (200, 404), answer.text
        answered += 1
        if answer.headers["x-engine-calls"] != "0":
            called.append((path, body))
    assert answered > 0.9 * asked
    assert len(called) <= 0.01 * answered, called[:5]


def test_metrics_tell_the_same(server: Server) -> None:
    def read(by: str) -> float:
        text = server.metrics()
        name = f'mapyard_ways_answered_total{{by="{by}",route="/api/v1/nearest"}}'
        other = f'mapyard_ways_answered_total{{route="/api/v1/nearest",by="{by}"}}'
        lines = [line for line in text.splitlines() if line.startswith((name, other))]
        return sum(float(line.split()[-1]) for line in lines)

    before = read("prepared"), read("engine")
    for mode in (*MODES, "wheelchair"):
        answer = server.post("/api/v1/nearest", json={"geometry": [7.4246, 43.7384], "mode": mode})
        assert answer.headers["x-engine-calls"] == ("1" if mode == "wheelchair" else "0")
    for _ in range(100):  # counts are handed over from time to time
        if read("engine") > before[1]:
            break
        time.sleep(0.1)
    assert read("engine") - before[1] == 1
    assert read("prepared") - before[0] >= 3  # and those of the tests before


def test_that_there_is_no_road_is_told_without_the_engine(server: Server) -> None:
    for path, body in (
        ("/api/v1/nearest", {"geometry": SEA}),
        ("/api/v1/isochrone", {"geometry": SEA, "time": 300}),
        ("/api/v1/route", {"origin": [7.4246, 43.7384], "destination": SEA}),
        ("/api/v1/matrix", {"origins": [[7.4246, 43.7384]], "destinations": [SEA]}),
    ):
        answer = server.post(path, json=body)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "no_road_found"
        assert answer.headers["x-engine-calls"] == "0"


def test_prepared_profiles_are_answered_without_the_engine(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    settings = Settings(data=data, prepared_profiles=["auto-shortest", "auto-no-tolls", "truck"])
    steps = select_steps(["routing"])
    source = EXAMPLES / "monaco.osm.pbf"
    build_dataset([source], data, steps, Reporter(quiet=True), settings=settings)
    ends = {"origin": [7.4246, 43.7384], "destination": [7.4197, 43.7314]}
    places = [ends["origin"], ends["destination"], [7.4281, 43.7392]]
    with running(data, tmp_path / "serve.log") as server:
        for options in (
            {"costing": {"shortest": True}}, {"exclude": ["toll"]}, {"mode": "truck"}, {},
        ):  # fmt: skip
            for path, body in (
                ("/api/v1/route", ends),
                ("/api/v1/matrix", {"origins": places, "destinations": places}),
                ("/api/v1/isochrone", {"geometry": places[0], "time": [120]}),
            ):
                answer = server.post(path, json=body | options)
                assert answer.status_code == 200, answer.text
                assert answer.headers["x-engine-calls"] == "0", (path, options)
        for options in ({"exclude": ["motorway"]}, {"costing": {"height_m": 3.0}}):
            answer = server.post("/api/v1/route", json=ends | options)
            assert answer.headers["x-engine-calls"] != "0"
        stops = {"waypoints": places, "mode": "truck"}
        assert server.post("/api/v1/optimize", json=stops).headers["x-engine-calls"] == "0"


@pytest.mark.parametrize(
    "options",
    [{"exclude": ["toll"]}, {"alternatives": 1}, {"mode": "truck"}, {"steps": True}],
)
def test_what_only_the_engine_does_is_counted(server: Server, options: dict[str, Any]) -> None:
    body = {"origin": [7.4246, 43.7384], "destination": [7.4197, 43.7314]} | options
    answer = server.post("/api/v1/route", json=body)
    assert answer.status_code == 200
    assert int(answer.headers["x-engine-calls"]) >= 1
