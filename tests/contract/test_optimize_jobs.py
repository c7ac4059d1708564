"""Large tours are jobs: queued, done in the background, polled, kept from other accounts."""

from __future__ import annotations

import importlib
import os
import shutil
import threading
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
    shutil.copytree(built, data, symlinks=True, copy_function=os.link)
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
    assert waiting.json() == {"job_id": job["job_id"], "status": "processing"}
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
