"""Running a job: blocks handed to processes, their answers kept as parts, at last one file.

Each block's answers are a file in `OUT.parts`, so that a job goes on where it was stopped. A window
of blocks under way keeps memory bounded, whatever the length of the file.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import orjson

from mapyard.bulk.blocks import Answers, Block, BulkFailed
from mapyard.bulk.read import Source, open_source
from mapyard.bulk.tasks import Task, Wishes, answer_block, find_task
from mapyard.bulk.write import Layout, join_parts, make_layout, write_block
from mapyard.dataset.catalog import Catalog
from mapyard.deadline import no_deadline
from mapyard.library.call import Call
from mapyard.library.question import find_question
from mapyard.library.resources import Resources
from mapyard.library.snapshot import Snapshot
from mapyard.settings import Settings, get_settings

BLOCK: Final = 1_000
#: Blocks under way per worker.
_AHEAD: Final = 3
_STATE: Final = "job.json"


class Datasets(Protocol):
    """What rows are asked of; handed to every worker."""

    @property
    def name(self) -> str:
        """Return what tells them from others."""

    def check(self, task: Task) -> None:
        """Raise where no row can be answered."""

    def open(self, task: Task) -> Callable[[Block], Answers]:
        """Open them in this process; return what answers a block."""


class OneDataset(NamedTuple):
    """A dataset of the whole map in a data folder."""

    data: Path
    name: str

    def check(self, task: Task) -> None:
        """Raise where the dataset cannot answer any row."""
        task.check(self._open(task, None))

    def open(self, task: Task, settings: Settings | None = None) -> Callable[[Block], Answers]:
        """Return what answers a block."""
        return partial(answer_block, task, self._open(task, settings))

    def _open(self, task: Task, settings: Settings | None) -> Call:
        chosen = (settings or get_settings()).replace(data=self.data)
        snapshot = Snapshot(self.data / "datasets" / self.name, chosen)
        find_question(task.question)  # it says how the parts that it asks are opened
        return Call(snapshot, no_deadline(), Resources(chosen))


def find_current(data: Path) -> OneDataset:
    """Return the current dataset of a data folder; raise where there is none."""
    return OneDataset(data, Catalog(data).get_current().name)


class Job(NamedTuple):
    """What a worker needs."""

    task: Task
    layout: Layout
    datasets: Datasets


class Part(NamedTuple):
    """The answers of a block, as a part of the output file."""

    text: bytes
    rows: int
    failed: int


class Progress(NamedTuple):
    """How far a job is."""

    rows: int
    failed: int
    #: Rows that an earlier run had answered.
    kept: int
    #: Share of the input that was read, 0 to 1.
    share: float
    seconds: float

    @property
    def rate(self) -> float:
        """Return the rows of this run per second."""
        return (self.rows - self.kept) / max(1e-6, self.seconds)


class Answered(NamedTuple):
    """A block's answers."""

    number: int
    #: Share of the input that was read up to it.
    share: float
    part: Part


class Plan(NamedTuple):
    """A job ready to run."""

    source: Source
    target: Path
    job: Job
    #: What tells this job from another one with the same output file.
    identity: dict[str, Any]
    size: int

    def iter_blocks(self, done: Collection[int]) -> Iterator[tuple[Block, float]]:
        """Yield the blocks that are not done, with the share of the input read up to each."""
        for block in self.source.iter_blocks(self.size, self.job.task.group):
            if block.number not in done:
                yield block, self.source.share_read()


class Cluster(Protocol):
    """Where all blocks of a plan are answered."""

    def answer(self, plan: Plan, done: Collection[int]) -> Iterator[Answered]:
        """Yield the answers of blocks that are not done, in any order."""


class Pool(ABC):
    """Processes that are handed one block after the other."""

    #: How many blocks are answered at once.
    workers: int

    @abstractmethod
    def submit(self, block: Block) -> Callable[[], Part]:
        """Begin with a block; the call that is returned waits for its answers."""

    def answer(self, plan: Plan, done: Collection[int]) -> Iterator[Answered]:
        """Yield the answers of blocks that are not done; a window of them is under way."""
        window: deque[tuple[int, float, Callable[[], Part]]] = deque()
        for block, share in plan.iter_blocks(done):
            window.append((block.number, share, self.submit(block)))
            if len(window) >= _AHEAD * self.workers:
                number, share, wait = window.popleft()
                yield Answered(number, share, wait())
        for number, share, wait in window:
            yield Answered(number, share, wait())


def plan_bulk(
    name: str,
    source_path: Path,
    target: Path,
    wishes: Wishes,
    datasets: Datasets,
    *,
    encoding: str = "",
    size: int = BLOCK,
) -> Plan:
    """Return the job; raise for wrong columns, options or datasets before anything is read."""
    if not source_path.is_file():
        raise BulkFailed(f"there is no file {source_path}")
    if target.exists() and target.samefile(source_path):
        raise BulkFailed(f"{target} is the input; name another file to write")
    source = open_source(source_path, encoding)
    task = find_task(name)(source, wishes)
    datasets.check(task)
    layout = make_layout(source, target, task.added)
    stat = source_path.stat()
    identity = {
        "command": name, "options": msgspec.to_builtins(wishes), "dataset": datasets.name,
        "input": [str(source_path.resolve()), stat.st_size, stat.st_mtime_ns],
        "file of destinations": _stamp(wishes.to), "--block": size, "format": 1,
    }  # fmt: skip
    return Plan(source, target, Job(task, layout, datasets), identity, size)


def _stamp(path: str) -> list[int]:
    if not path:
        return []
    stat = Path(path).stat()
    return [stat.st_size, stat.st_mtime_ns]


def run_plan(
    plan: Plan,
    pool: Cluster,
    show: Callable[[Progress], None] = lambda progress: None,
    *,
    restart: bool = False,
) -> Progress:
    """Answer all rows and write the file; return how many rows there were and failed."""
    parts = plan.target.with_name(plan.target.name + ".parts")
    with _hold(parts, plan, restart=restart) as done:
        progress = _answer(plan, pool, parts, done, show)
        joined = parts / "joined"
        paths = sorted(parts.glob("*.part"))
        join_parts(plan.job.layout, paths, joined)
        with joined.open("rb") as file:
            os.fsync(file.fileno())
        joined.replace(plan.target)
        shutil.rmtree(parts)
    return progress


def _answer(
    plan: Plan,
    pool: Cluster,
    parts: Path,
    done: dict[int, tuple[int, int]],
    show: Callable[[Progress], None],
) -> Progress:
    begun_s = time.monotonic()
    kept = rows = sum(of_rows for of_rows, _ in done.values())
    failed = sum(of_failed for _, of_failed in done.values())
    share = 0.0
    for number, read, part in pool.answer(plan, done):
        rows, failed, share = rows + part.rows, failed + part.failed, max(share, read)
        _keep(parts, number, part)
        show(Progress(rows, failed, kept, share, time.monotonic() - begun_s))
    return Progress(rows, failed, kept, 1.0, time.monotonic() - begun_s)


def _keep(parts: Path, number: int, part: Part) -> None:
    """Write a part; it is there whole, or not at all."""
    target = parts / f"{number:08}-{part.rows}-{part.failed}.part"
    fresh = parts / "fresh"
    fresh.write_bytes(part.text)
    fresh.replace(target)


@contextmanager
def _hold(parts: Path, plan: Plan, *, restart: bool) -> Iterator[dict[int, tuple[int, int]]]:
    """Yield the blocks that are answered already, with their rows and errors."""
    if restart and parts.exists():
        shutil.rmtree(parts)
    parts.mkdir(exist_ok=True)
    state = parts / _STATE
    with state.open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BulkFailed(f"another run is writing {plan.target}; wait for it") from None
        file.seek(0)
        text = file.read()
        if text and any(parts.glob("*.part")):
            _check_same(orjson.loads(text), plan, parts)
        else:
            file.truncate(0)
            file.write(orjson.dumps(plan.identity))
            file.flush()
        done = {}
        for path in parts.glob("*.part"):
            number, rows, failed = map(int, path.stem.split("-"))
            done[number] = (rows, failed)
        yield done


def _check_same(before: dict[str, Any], plan: Plan, parts: Path) -> None:
    now = orjson.loads(orjson.dumps(plan.identity))
    changed = [name for name in now if now[name] != before.get(name)]
    if changed:
        raise BulkFailed(
            f"{parts} is of an unfinished run with another {', '.join(changed)}; finish that one, "
            "or begin anew with --restart"
        )


# ---- workers ----------------------------------------------------------------------------------


class Worker:
    """The open datasets of a process, and what they are asked."""

    def __init__(self, job: Job) -> None:
        self._layout = job.layout
        self._answer = job.datasets.open(job.task)

    def answer(self, block: Block) -> Part:
        """Return the part of the output that a block makes."""
        answers = self._answer(block)
        return Part(write_block(self._layout, block, answers), len(block), answers.failed)


class OwnPool(Pool):
    """Answers in this process."""

    workers = 1

    def __init__(self, job: Job) -> None:
        self._worker = Worker(job)

    def submit(self, block: Block) -> Callable[[], Part]:
        """Answer a block when it is waited for."""
        return lambda: self._worker.answer(block)


class ProcessPool(Pool):
    """Answers in processes of this machine."""

    def __init__(self, job: Job, workers: int) -> None:
        self.workers = workers
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(workers, context, _start, (job,))

    def submit(self, block: Block) -> Callable[[], Part]:
        """Hand a block to a process."""
        future: Future[Part] = self._pool.submit(_work, block)

        def wait() -> Part:
            try:
                return future.result()
            except BrokenProcessPool:
                raise BulkFailed(
                    "a process was killed, perhaps for want of memory; what is done is kept: run "
                    "the same command again, with fewer --workers"
                ) from None

        return wait

    def close(self) -> None:
        """End the processes; blocks that nobody waits for are dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


_worker: Worker | None = None


def _start(job: Job) -> None:
    import signal

    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its processes itself
    _worker = Worker(job)


def _work(block: Block) -> Part:
    assert _worker is not None
    return _worker.answer(block)
