"""The two ends of the pipeline that Ray Data runs, joined here without it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mapyard.bulk.blocks import BulkFailed
from mapyard.bulk.run import Answered, OwnPool, Part, Plan, find_current, plan_bulk, run_plan
from mapyard.bulk.tasks import Wishes
from mapyard.errors import MapyardError
from mapyard.fleet.bulk import BlockWorker, _explain, _read_blocks
from osm_files import EXAMPLES

pytest.importorskip("pyarrow")


class EndedError(Exception):
    """A process has ended."""


class Joined:
    """What is read goes to a worker as it comes, and comes back in another order."""

    def __init__(self, plan: Plan) -> None:
        self.worker = BlockWorker(plan.job)
        self.read: list[int] = []

    def answer(self, plan: Plan, done: Collection[int]) -> Iterator[Answered]:
        answered = []
        for table in _read_blocks(plan.source.path, "", plan.size, plan.job.task.group, done):
            self.read += table.column("number").to_pylist()
            told = self.worker(table.to_pydict())
            part = Part(told["text"][0], told["rows"][0], told["failed"][0])
            answered.append(Answered(told["number"][0], told["share"][0], part))
        yield from reversed(answered)


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path]) -> Path:
    return build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"]).resolve()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(
        "\n".join(["id,lat,lon", *(f"{n},{43.73 + n * 1e-4:.5f},7.42" for n in range(100)), ""])
    )
    return path


def test_blocks_that_come_in_any_order_are_written_in_theirs(data: Path, source: Path) -> None:
    plans = [
        plan_bulk("reverse", source, source.with_name(name), Wishes(), find_current(data), size=7)
        for name in ("one.csv", "many.csv")
    ]
    run_plan(plans[0], OwnPool(plans[0].job))
    joined = Joined(plans[1])
    shares: list[float] = []
    done = run_plan(plans[1], joined, lambda progress: shares.append(progress.share))
    assert done.rows == 100 and joined.read == list(range(15))
    assert shares == sorted(shares)
    assert plans[1].target.read_bytes() == plans[0].target.read_bytes()


def test_blocks_that_are_done_are_not_read_again(data: Path, source: Path) -> None:
    plan = plan_bulk(
        "reverse", source, source.with_name("x.csv"), Wishes(), find_current(data), size=7
    )
    tables = _read_blocks(source, "", 7, "", {0, 1, 5})
    numbers = [table.column("number")[0].as_py() for table in tables]
    assert numbers == [2, 3, 4, *range(6, 15)]
    assert plan.job.task.group == ""


def test_what_ended_the_pipeline_is_said() -> None:
    exceptions = SimpleNamespace(RayActorError=EndedError, ActorUnavailableError=EndedError)
    wrapped = RuntimeError("a task failed")
    wrapped.cause = MapyardError("the disk is full")  # type: ignore[attr-defined]
    assert str(_explain(wrapped, [], exceptions)) == "the disk is full"
    ended = _explain(EndedError(), [0, 1, 3, 4], exceptions)
    assert isinstance(ended, BulkFailed) and "is block 3 of the input" in str(ended)
    other = _explain(RuntimeError("no memory\nat line 5"), [], exceptions)
    assert "no memory; what is done is kept" in str(other)
