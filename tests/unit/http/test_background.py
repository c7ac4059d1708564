from __future__ import annotations

import threading
from pathlib import Path
from types import ModuleType

import pytest

from mapyard.http.background import COMMON_JOBS, Job, JobContext, collect_jobs, run_jobs
from mapyard.http.routes import load_modules
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshots
from mapyard.settings import Settings


@pytest.fixture
def services(tmp_path: Path) -> Services:
    settings = Settings(data=tmp_path)
    return Services(settings, Snapshots(settings))


def test_jobs_repeat_and_survive_failures(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    stop = threading.Event()
    runs: list[str] = []

    def good(ctx: JobContext) -> None:
        runs.append("good")
        # Each has a thread of its own, which may begin late on a busy machine.
        if runs.count("good") >= 3 and {"bad", "before"} <= set(runs):
            ctx.stop.set()

    def bad(ctx: JobContext) -> None:
        runs.append("bad")
        raise ValueError("no luck")

    def at_end(ctx: JobContext) -> None:
        runs.append("end" if ctx.stop.is_set() else "before")

    jobs = (Job("good", 0.01, good), Job("bad", 0.01, bad), Job("end", 60, at_end, at_end=True))
    run_jobs(jobs, services, stop)
    assert runs.count("good") >= 3
    assert runs.count("bad") >= 1
    assert runs.count("before") == 1
    assert runs[-1] == "end"
    assert "the background job bad failed" in caplog.text


def test_common_jobs_need_no_database(services: Services) -> None:
    stop = threading.Event()
    stop.set()
    for job in COMMON_JOBS:
        job.run(JobContext(services, stop))


def test_modules_add_jobs_and_names_are_unique() -> None:
    module = ModuleType("routes")
    module.BACKGROUND_JOBS = (Job("more", 1, lambda ctx: None),)  # type: ignore[attr-defined]
    assert [job.name for job in collect_jobs([module])][-1] == "more"
    names = [job.name for job in collect_jobs(load_modules())]
    assert len(names) == len(set(names))
