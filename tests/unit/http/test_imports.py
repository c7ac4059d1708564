"""Imports in the background: leases that are lost, processes that died, a database that is away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mapyard.accounts import datasets, jobs, registry
from mapyard.accounts.database import Database
from mapyard.accounts.errors import AccountsUnavailable
from mapyard.accounts.open import open_accounts
from mapyard.http import imports, leases
from mapyard.http.background import JobContext
from mapyard.http.leases import keep_lease
from mapyard.library.import_process import Task
from mapyard.settings import Settings
from mapyard.userdata.folders import incoming_folder
from mapyard.userdata.importing import Imported
from mapyard.userdata.rows import ImportFailed

DONE = Imported("csv", 1, 10, {}, None, 0, [])


class Background:
    """An account with a dataset, and the background that reads its uploads."""

    def __init__(self, data: Path, database: Database) -> None:
        self.database, self.incoming = database, incoming_folder(data)
        self.account = registry.create_account(database, "me@example.org", "free").id
        self.dataset = datasets.create_dataset(database, self.account, "mine", {"name": "Mine"}).id
        services: Any = SimpleNamespace(database=database, settings=Settings(data=data))
        self.context = JobContext(services, threading.Event())

    def send(self, upload: str) -> Path:
        file = self.incoming / upload
        file.write_text("lat,lon\n1,2\n")
        datasets.begin_import(self.database, self.account, "mine", upload, {})
        return file

    def state(self) -> tuple[str, str | None]:
        found = datasets.find_dataset(self.database, self.account, "mine")
        return found.status, found.upload


@pytest.fixture
def background(tmp_path: Path) -> Iterator[Background]:
    database = open_accounts(tmp_path)
    yield Background(tmp_path, database)
    database.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Imported]], None]:
    def replace(work: Callable[..., Imported]) -> None:
        monkeypatch.setattr(imports, "run_import", work)

    return replace


def test_an_upload_and_its_job_come_together(background: Background, run: Any) -> None:
    file = background.send("one")
    assert background.state() == ("processing", "one")
    run(lambda task, is_stopped: DONE)
    imports.import_uploads(background.context)
    assert background.state() == ("ready", None)
    assert not file.exists()


def test_who_loses_the_lease_leaves_all_to_the_next(
    background: Background, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_RENEW_S", 0.02)
    file = background.send("one")

    def lose(task: Task, is_stopped: Callable[[], bool]) -> Imported:
        with background.database.write() as session:
            session.query(jobs.Job).update({"lease_owner": "another"})
        while not is_stopped():
            pass
        raise ImportFailed("the import was stopped")

    run(lose)
    imports.import_uploads(background.context)
    assert background.state() == ("processing", "one")
    assert file.exists()


def test_a_lease_outlives_a_silent_database(
    background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_RENEW_S", 0.02)
    background.send("one")
    job = jobs.lease_job(background.database, datasets.IMPORT_KIND, "me")
    assert job is not None
    asked = threading.Semaphore(0)

    def renew(*_: object) -> bool:
        asked.release()
        raise AccountsUnavailable("away")

    monkeypatch.setattr(leases, "renew_lease", renew)
    with keep_lease(background.database, job, "me") as lost:
        for _ in range(3):
            assert asked.acquire(timeout=10)
        assert not lost.is_set()


def test_an_import_that_nobody_does_any_more_ends(
    background: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    background.send("one")
    imports.sweep_versions(background.context)
    assert background.state() == ("processing", "one")
    now = datasets.now_s()
    monkeypatch.setattr(datasets, "now_s", lambda: now + 90_000)
    imports.sweep_versions(background.context)
    assert background.state() == ("error", None)
    found = datasets.find_dataset(background.database, background.account, "mine")
    assert found.error_message == "the import did not end; send the file again"
