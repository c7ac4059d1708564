"""Blocks, processes, and going on where a run was stopped."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mapyard.bulk.blocks import Block
from mapyard.bulk.run import (
    OwnPool,
    Part,
    Plan,
    Pool,
    ProcessPool,
    Progress,
    find_current,
    plan_bulk,
    run_plan,
)
from mapyard.bulk.tasks import Wishes
from mapyard.cli.bulk import write_progress
from mapyard.errors import MapyardError
from osm_files import EXAMPLES


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path]) -> Path:
    return build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"]).resolve()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    rows = [f"{n},{43.73 + n * 1e-4:.5f},7.42" for n in range(100)]
    path.write_text("\n".join(["id,lat,lon", *rows, ""]))
    return path


def make_plan(data: Path, source: Path, target: str = "out.csv", **wishes: Any) -> Plan:
    target_path = source.with_name(target)
    return plan_bulk("reverse", source, target_path, Wishes(**wishes), find_current(data), size=7)


class Stopping(Pool):
    """Answers so many blocks, then fails; counts what it was handed."""

    workers = 2

    def __init__(self, inner: OwnPool, blocks: int) -> None:
        self.inner, self.left, self.handed = inner, blocks, 0

    def submit(self, block: Block) -> Callable[[], Part]:
        self.handed += 1
        wait = self.inner.submit(block)

        def stop() -> Part:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return wait()

        return stop


def test_processes_answer_what_one_does_in_order(data: Path, source: Path) -> None:
    plan = make_plan(data, source)
    done = run_plan(plan, OwnPool(plan.job))
    assert (done.rows, done.kept) == (100, 0)
    alone = plan.target.read_bytes()
    assert [row["id"] for row in csv.DictReader(alone.decode().splitlines())] == list(
        map(str, range(100))
    )
    many = make_plan(data, source, "many.csv")
    pool = ProcessPool(many.job, 2)
    try:
        run_plan(many, pool)
    finally:
        pool.close()
    assert many.target.read_bytes() == alone


def test_a_stopped_run_goes_on(data: Path, source: Path) -> None:
    whole = make_plan(data, source, "whole.csv")
    run_plan(whole, OwnPool(whole.job))
    plan = make_plan(data, source)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, Stopping(OwnPool(plan.job), 4))
    assert not plan.target.exists()
    again = make_plan(data, source)
    pool = Stopping(OwnPool(again.job), 100)
    done = run_plan(again, pool)
    assert pool.handed == 15 - 4 and done.kept == 28 and done.rows == 100
    assert again.target.read_bytes() == whole.target.read_bytes()
    assert not again.target.with_name("out.csv.parts").exists()


def test_another_job_does_not_mix_in(data: Path, source: Path) -> None:
    plan = make_plan(data, source)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, Stopping(OwnPool(plan.job), 4))
    other = make_plan(data, source, radius_m=10.0)
    with pytest.raises(MapyardError, match=r"another options.*--restart"):
        run_plan(other, OwnPool(other.job))
    source.write_text(source.read_text() + "200,43.73,7.42\n")
    longer = make_plan(data, source)
    with pytest.raises(MapyardError, match="another input"):
        run_plan(longer, OwnPool(longer.job))
    done = run_plan(longer, OwnPool(longer.job), restart=True)
    assert (done.rows, done.kept) == (101, 0)


def test_two_runs_do_not_write_one_file(data: Path, source: Path) -> None:
    plan, second = make_plan(data, source), make_plan(data, source)

    class Meanwhile(OwnPool):
        def submit(self, block: Block) -> Callable[[], Part]:
            with pytest.raises(MapyardError, match="another run is writing"):
                run_plan(second, OwnPool(second.job))
            return super().submit(block)

    run_plan(plan, Meanwhile(plan.job))


def test_an_error_of_ours_costs_one_row(
    data: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(data, source)
    answer_row = type(plan.job.task).answer_row

    def fail_at_five(task: Any, call: Any, row: Any) -> Any:
        if row["id"] == "5":
            raise ZeroDivisionError("oops")
        return answer_row(task, call, row)

    monkeypatch.setattr(type(plan.job.task), "answer_row", fail_at_five)
    run_plan(plan, OwnPool(plan.job))
    rows = list(csv.DictReader(plan.target.read_text().splitlines()))
    assert [row["id"] for row in rows if "oops" in row["error"]] == ["5"]


def test_memory_is_bounded_by_a_window(data: Path, source: Path) -> None:
    plan = make_plan(data, source)
    handed = waited = most = 0

    class Counting(OwnPool):
        workers = 2

        def submit(self, block: Block) -> Callable[[], Part]:
            nonlocal handed, most
            handed += 1
            most = max(most, handed - waited)
            wait = super().submit(block)

            def take() -> Part:
                nonlocal waited
                waited += 1
                return wait()

            return take

    run_plan(plan, Counting(plan.job))
    assert handed == 15 and most <= 6


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (Progress(500, 0, 0, 0.25, 10.0), "500 rows, 50 rows/s, 0:30 left"),
        (Progress(1_000, 3, 500, 0.6, 50.0), "1,000 rows, 3 failed, 10 rows/s, 3:20 left"),
    ],
)
def test_progress_tells_rate_and_time_left(progress: Progress, line: str) -> None:
    begun = 0.5 if progress.kept else 0.0
    assert write_progress(progress, begun) == line
