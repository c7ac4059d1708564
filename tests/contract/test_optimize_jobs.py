"""Large tours are jobs: queued, done in the background, polled, kept from other accounts."""

from __future__ import annotations

import importlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mapyard.accounts import registry
from mapyard.accounts.gate import AccountsGate
from mapyard.accounts.open import open_accounts
from mapyard.http.app import Application
from mapyard.http.background import JobContext
from mapyard.http.endpoints import collect
from mapyard.http.routes.optimize import run_optimize_jobs
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES
from servers import copy_data

pytestmark = pytest.mark.xdist_group("routing-forms")

STOPS = [[7.4281, 43.7392], [7.4203, 43.7312], [7.4235, 43.7350], [7.4156, 43.7277]]
SEA = [7.46, 43.68]


class Desk(NamedTuple):
    client: LocalClient
    services: Services
    other_key: str

    def work(self) -> None:
        run_optimize_jobs(JobContext(self.services, threading.Event()))

    def post(self, **body: Any) -> Any:
        return self.client.post("/api/v1/optimize", json={"mode": "foot"} | body)


@pytest.fixture
def desk(build_once: Callable[..., Path], tmp_path: Path) -> Iterator[Desk]:
    built = build_once("monaco-routing", EXAMPLES / "monaco.osm.pbf", ["routing"])
    data = tmp_path / "data"
    copy_data(built, data)
    settings = Settings(data=data, optimize_inline_stops=3)
    endpoints = collect([importlib.import_module("mapyard.http.routes.optimize")])
    services = Services(settings, Snapshots(settings), endpoints=endpoints)
    services.database = database = open_accounts(data)
    keys = []
    for name in ("a", "b"):
        account = registry.create_account(database, f"{name}@example.org", "enterprise")
        keys.append(registry.create_key(database, account.id)[1])
    services.accounts = AccountsGate(database, data, anonymous_per_minute=60)
    application = Application(services, endpoints)
    with LocalClient(application=application, headers={"X-API-Key": keys[0]}) as client:
        yield Desk(client, services, keys[1])
    services.accounts.close()
    database.close()


def test_small_tours_are_answered_at_once(desk: Desk) -> None:
    assert desk.post(waypoints=STOPS[:3]).status_code == 200


def test_a_large_tour_is_a_job_that_any_process_can_finish(desk: Desk) -> None:
    queued = desk.post(waypoints=STOPS)
    assert queued.status_code == 202
    job = queued.json()
    assert job["status"] == "processing"
    path = f"/api/v1/optimize/{job['job_id']}"
    assert queued.headers["location"] == path

    waiting = desk.client.get(path)
    body = waiting.json()
    assert body.pop("queued_at") > 1_700_000_000
    assert body == {"job_id": job["job_id"], "status": "processing", "state": "queued"}
    desk.work()
    done = desk.client.get(path).json()
    assert done["status"] == "completed"
    assert sorted(done["result"]["waypoint_order"]) == [0, 1, 2, 3]
    assert done["result"]["route"]["geometry"]["type"] == "LineString"


def test_a_failed_job_answers_422_with_its_reason(desk: Desk) -> None:
    job = desk.post(waypoints=[*STOPS, SEA]).json()
    desk.work()
    answer = desk.client.get(f"/api/v1/optimize/{job['job_id']}")
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "no_road_found"
    assert error["details"]["index"] == 4


def test_jobs_are_their_accounts_own(desk: Desk) -> None:
    job = desk.post(waypoints=STOPS).json()
    path = f"/api/v1/optimize/{job['job_id']}"
    answer = desk.client.get(path, headers={"X-API-Key": desk.other_key})
    assert answer.status_code == 404
    assert desk.client.get("/api/v1/optimize/none").status_code == 404


def problem(count: int) -> dict[str, Any]:
    return {
        "vehicles": [{"id": 1, "profile": "foot", "start": STOPS[0]}],
        "jobs": [{"id": n, "location": STOPS[n % 4], "priority": n} for n in range(1, count + 1)],
    }


def test_a_problem_of_vroom_is_taken_as_it_is(desk: Desk) -> None:
    for path in ("/api/v1/tours", "/api/v1/optimize"):
        answer = desk.client.post(path, json=problem(3))
        assert answer.status_code == 200, answer.text
        assert answer.json()["summary"]["routes"] == 1
        assert answer.json()["unassigned"] == []


def test_what_a_problem_is_not_understood_by_is_named(desk: Desk) -> None:
    asked = problem(2)
    asked["vehicles"][0]["wings"] = 2
    answer = desk.client.post("/api/v1/optimize", json=asked)
    assert answer.status_code == 422
    assert list(answer.json()["error"]["details"]) == ["vehicles[0].wings"]
    answer = desk.client.post("/api/v1/optimize", json=problem(2) | {"waypoints": STOPS})
    assert answer.status_code == 400
    for wish in ("priorities", "skills", "vehicle_count"):
        answer = desk.post(waypoints=STOPS, **{wish: [1]})
        assert answer.status_code == 422
        assert list(answer.json()["error"]["details"]) == [wish]


def test_many_stops_of_a_problem_make_a_job(desk: Desk) -> None:
    queued = desk.client.post("/api/v1/tours", json=problem(6))
    assert queued.status_code == 202
    desk.work()
    done = desk.client.get(queued.headers["location"]).json()
    assert done["status"] == "completed"
    steps = done["result"]["routes"][0]["steps"]
    assert sum(step["type"] == "job" for step in steps) == 6


def test_a_job_that_waits_is_cancelled(desk: Desk) -> None:
    path = desk.post(waypoints=STOPS).headers["location"]
    other = desk.client.request("DELETE", path, headers={"X-API-Key": desk.other_key})
    assert other.status_code == 404
    assert desk.client.request("DELETE", path).json()["cancelled"] is True
    desk.work()
    answer = desk.client.get(path)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "cancelled"
    assert desk.client.request("DELETE", path).json()["cancelled"] is False


def test_a_job_that_runs_tells_since_when_and_is_cancelled(desk: Desk) -> None:
    rng = random.Random(1)
    places = [[7.414 + 0.016 * rng.random(), 43.728 + 0.01 * rng.random()] for _ in range(400)]
    asked = {
        "vehicles": [{"id": 1, "profile": "foot", "start": STOPS[0]}],
        "jobs": [{"id": n, "location": place} for n, place in enumerate(places, 1)],
    }
    path = desk.client.post("/api/v1/tours", json=asked).headers["location"]
    worker = threading.Thread(target=desk.work)
    worker.start()
    while "running_since" not in (body := desk.client.get(path).json()):
        time.sleep(0.05)
    assert body["state"] == "running"
    assert body["running_since"] >= body["queued_at"]
    assert desk.client.request("DELETE", path).json()["cancelled"] is True
    worker.join(timeout=30)
    assert not worker.is_alive()
    assert desk.client.get(path).json()["error"]["code"] == "cancelled"
