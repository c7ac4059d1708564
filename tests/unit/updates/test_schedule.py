from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mapyard.builder.pipeline import STORE_STEP, build_dataset
from mapyard.builder.progress import Reporter
from mapyard.settings import Settings
from mapyard.updates import schedule
from mapyard.updates.history import Run, add_run, read_runs
from mapyard.updates.schedule import FIRST_LOOK_S, Schedule, first_due_s, has_source
from osm_files import TEST_DATA

DAY_S = 86_400.0


class FakeProcess:
    """A process that ends when told so."""

    def __init__(self) -> None:
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[FakeProcess]:
    """The update processes that were started."""
    processes: list[FakeProcess] = []

    def start(_: Settings) -> FakeProcess:
        processes.append(FakeProcess())
        return processes[-1]

    monkeypatch.setattr(schedule, "start_update", start)
    return processes


def settings(data: Path, **values: object) -> Settings:
    return Settings(data=data, update_source="http://127.0.0.1:9", **values)  # type: ignore[arg-type]


def test_one_update_a_day_and_never_two_at_once(tmp_path: Path, started: list[FakeProcess]) -> None:
    plan = Schedule(settings(tmp_path))
    now = 1_000_000.0
    plan.tick(now)
    assert len(started) == 0
    plan.tick(now + FIRST_LOOK_S)
    assert len(started) == 1
    plan.tick(now + 2 * DAY_S)
    assert len(started) == 1
    started[0].returncode = 0
    plan.tick(now + 2 * DAY_S)
    assert len(started) == 2
    started[1].returncode = 0
    plan.tick(now + 2.5 * DAY_S)
    assert len(started) == 2
    plan.tick(now + 3.2 * DAY_S)
    assert len(started) == 3


def test_off_is_off(tmp_path: Path, started: list[FakeProcess]) -> None:
    plan = Schedule(settings(tmp_path, updates="off"))
    plan.tick(0)
    plan.tick(10 * DAY_S)
    assert started == []


def test_the_extract_or_a_setting_names_the_source(tmp_path: Path) -> None:
    assert not has_source(Settings(data=tmp_path))
    assert has_source(settings(tmp_path))
    source = TEST_DATA / "monaco-2025-11-08.osm.pbf"
    build_dataset([source], tmp_path, [STORE_STEP], Reporter(quiet=True))
    assert has_source(Settings(data=tmp_path))


def test_a_restarted_server_keeps_the_rhythm(tmp_path: Path) -> None:
    assert first_due_s(tmp_path, DAY_S, 5.0) == 5.0 + FIRST_LOOK_S
    add_run(tmp_path, Run("2026-01-01T00:00:00Z", outcome="current"))
    last = 1_767_225_600.0
    assert first_due_s(tmp_path, DAY_S, last + 3600) == last + DAY_S
    assert first_due_s(tmp_path, DAY_S, last + 9 * DAY_S) == last + 9 * DAY_S + FIRST_LOOK_S


def test_an_unreachable_source_is_one_warning_a_day(
    tmp_path: Path, started: list[FakeProcess], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    plan = Schedule(settings(tmp_path, updates="hourly"))
    now = 0.0
    for hour in range(30):
        now = hour * 3960.0 + FIRST_LOOK_S
        plan.tick(now)
        if started and started[-1].returncode is None:
            add_run(tmp_path, Run("2026-01-01T00:00:00Z", outcome="unreachable", message="gone"))
            started[-1].returncode = 5
    assert len(started) > 20
    warnings = [record.getMessage() for record in caplog.records]
    assert warnings == ["the update failed: gone"] * 2


def test_runs_are_kept_and_bounded(tmp_path: Path) -> None:
    for number in range(205):
        add_run(tmp_path, Run("2026-01-01T00:00:00Z", changed=number))
    assert [run.changed for run in read_runs(tmp_path)] == list(range(5, 205))
    (tmp_path / "updates" / "runs.json").write_text("{")
    assert read_runs(tmp_path) == []
