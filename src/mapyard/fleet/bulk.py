"""Bulk work on a Ray cluster, as a pipeline of Ray Data: blocks read here, answered on all nodes.

    one task that reads the input  →  a pool of actors that answer blocks  →  parts kept here

Ray Data places the actors, starts them anew, holds the reader back when blocks wait, and answers
blocks of a node that went on others. What makes a stopped run go on is the parts (bulk/run.py):
blocks that have one are not read into the pipeline again.
"""

from __future__ import annotations

import logging
import os
import pickle
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from mapyard.bulk.blocks import BulkFailed
from mapyard.bulk.read import open_source
from mapyard.bulk.run import Answered, Datasets, Job, OneDataset, Part, Plan, Worker
from mapyard.errors import MapyardError
from mapyard.fleet.cluster import read_served
from mapyard.fleet.ray import load_ray
from mapyard.fleet.rows import find_regions
from mapyard.library.results.tables import need

#: How long no core may be free before the run gives up, seconds.
_PATIENCE_S: Final = 120.0
#: In how many processes a block is tried that ends each of them. A node that is lost may end it in
#: each of its own, before Ray knows.
_TRIES: Final = 6
#: Of a core, what a process asks for: copies of regions on the same node ask for a hundredth each.
_CORE: Final = 0.9
#: Blocks that a process has: one that it answers, and the next one.
_AHEAD: Final = 2


def find_datasets(url: str, address: str, data: Path) -> Datasets:
    """Return what is asked: the regions of a URL, else a data folder's, else what is served.

    With an address of Ray nodes fetch regions to their own data folders; else into `data`.
    """
    fetched_to = None if address else data
    if url:
        return find_regions(url, fetched_to)
    served = read_served(address)
    if served is None:
        raise BulkFailed(
            f"there is no dataset in {data}, and the fleet at {address} serves none; name where "
            "regions are: --from URL"
        )
    return find_regions(f"{served.url}/generations/{served.generation}.json", fetched_to)


def find_data(dataset: OneDataset) -> str:
    """Return the data folder of this node that has a dataset, "" where none has."""
    for folder in (os.environ.get("MAPYARD_DATA", ""), str(dataset.data)):
        if folder and (Path(folder) / "datasets" / dataset.name / "manifest.json").is_file():
            return folder
    return ""


class BlockWorker:
    """A process of the pool, with its datasets open."""

    def __init__(self, job: Job) -> None:
        if isinstance(job.datasets, OneDataset):
            here = job.datasets._replace(data=Path(find_data(job.datasets)))
            job = job._replace(datasets=here)
        self._worker = Worker(job)

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return the part of the output that a block makes."""
        block = pickle.loads(batch["block"][0])  # noqa: S301 - it comes of _read_blocks
        text, rows, failed = self._worker.answer(block)
        told = {name: list(batch[name]) for name in ("number", "share")}
        return {**told, "text": [text], "rows": [rows], "failed": [failed]}


class RayPool:
    """Answers on the nodes of a cluster."""

    def __init__(self, job: Job, address: str, most: int | None = None) -> None:
        """Find the nodes that can work; at most `most` processes will.

        Raises BulkFailed where no node can, MapyardError where Ray is not reached.
        """
        # It says of each pool that arguments of its actors are held by this process: so they are.
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        self._ray = load_ray(address)
        self._data = need("ray.data", "fleet")
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        able = alive
        if isinstance(job.datasets, OneDataset):
            able = self._find_nodes(alive, job.datasets)
        #: How many nodes work, and how many lack the dataset.
        self.nodes, self.without = len(able), len(alive) - len(able)
        if not able:
            raise BulkFailed(
                f"no node of the cluster has the dataset {job.datasets.name} in its data folder "
                "(MAPYARD_DATA of ray start); copy the folder to each node first, or let nodes "
                "fetch regions: --from URL"
            )
        cores = sum(int(node["Resources"].get("CPU", 0)) for node in able)
        self.workers = min(cores, most or cores)
        self._able = [node["NodeID"] for node in able]
        self._wait_for_core()

    def answer(self, plan: Plan, done: Collection[int]) -> Iterator[Answered]:
        """Yield the answers of blocks that are not done, as they come."""
        self._set_up()
        own = self._ray.get_runtime_context().get_node_id()
        source = self._make_source(plan, done)
        read = self._data.read_datasource(
            source, override_num_blocks=1, num_cpus=0, label_selector={_NODE: own}
        )
        with warnings.catch_warnings(action="ignore"):  # that max_task_retries goes with Ray 2.64
            answered = read.map_batches(
                BlockWorker, fn_constructor_args=(plan.job,), batch_size=None,
                batch_format="numpy",
                compute=self._data.ActorPoolStrategy(
                    min_size=1, max_size=self.workers, initial_size=self.workers,
                    max_tasks_in_flight_per_actor=_AHEAD,
                ),
                num_cpus=_CORE, max_task_retries=_TRIES - 1,
                label_selector={_NODE: f"in({','.join(self._able)})"},
            )  # fmt: skip
        came = set(done)
        try:
            for table in answered.iter_batches(
                batch_size=None, batch_format="pyarrow", prefetch_batches=0
            ):
                for row in table.to_pylist():
                    came.add(row["number"])
                    part = Part(row["text"], row["rows"], row["failed"])
                    yield Answered(row["number"], row["share"], part)
        except self._ray.exceptions.RayError as error:
            raise _explain(error, came, self._ray.exceptions) from None

    def close(self) -> None:
        """Leave the cluster: the processes of this run end with it."""
        self._ray.shutdown()

    def _set_up(self) -> None:
        """Let each of our blocks be one of Ray Data's, and let it say nothing by itself."""
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        context = self._data.DataContext.get_current()
        context.target_max_block_size = context.target_min_block_size = 1
        context.enable_progress_bars = context.print_on_execution_start = False
        # Blocks are answered in any order, and kept by their numbers.
        context.execution_options.preserve_order = False

    def _make_source(self, plan: Plan, done: Collection[int]) -> Any:
        """Return the input as a source of Ray Data with one task, which reads on this node."""
        source: Any = need("ray.data.datasource", "fleet")
        block: Any = need("ray.data.block", "fleet")
        read = partial(
            _read_blocks, plan.source.path, getattr(plan.source, "encoding", ""), plan.size,
            plan.job.task.group, frozenset(done),
        )  # fmt: skip

        class Blocks(source.Datasource):  # type: ignore[misc]
            def estimate_inmemory_data_size(self) -> int | None:
                return None

            def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
                return [source.ReadTask(read, block.BlockMetadata(None, None, None, None))]

        return Blocks()

    def _wait_for_core(self) -> None:
        ends_s = time.monotonic() + _PATIENCE_S
        while self._ray.available_resources().get("CPU", 0.0) < _CORE:
            if time.monotonic() > ends_s:
                raise BulkFailed("no core of the cluster is free: others work on it; try later")
            time.sleep(0.5)

    def _find_nodes(
        self, alive: Sequence[dict[str, Any]], dataset: OneDataset
    ) -> list[dict[str, Any]]:
        """Return the nodes that have a dataset."""
        look = self._ray.remote(find_data)
        asked = {
            look.options(num_cpus=0, label_selector={_NODE: node["NodeID"]}).remote(dataset): node
            for node in alive
        }
        done, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=_PATIENCE_S)
        having = []
        for answer in done:
            try:
                having += [asked[answer]] if self._ray.get(answer) else []
            except self._ray.exceptions.RayError:
                continue  # the node went meanwhile
        return having


#: Ray's own label of a node, its id.
_NODE: Final = "ray.io/node-id"


def _read_blocks(
    path: Path, encoding: str, size: int, group: str, done: Collection[int]
) -> Iterator[Any]:
    """Yield the blocks of the input that are not done, a table of one row each."""
    arrow = need("pyarrow", "fleet")
    try:
        source = open_source(path, encoding)
    except PermissionError:
        raise BulkFailed(f"{path} cannot be read by the user that Ray runs as") from None
    for block in source.iter_blocks(size, group):
        if block.number not in done:
            data = arrow.array([pickle.dumps(block)], arrow.large_binary())
            columns = {"number": [block.number], "share": [source.share_read()], "block": data}
            yield arrow.table(columns)


def _explain(error: BaseException, came: Collection[int], exceptions: Any) -> MapyardError:
    """Return what an error of the pipeline means."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, MapyardError):
            return inner
        inner = getattr(inner, "cause", None) or inner.__cause__
    if isinstance(error, (exceptions.RayActorError, exceptions.ActorUnavailableError)):
        first = next(number for number in range(len(came) + 1) if number not in came)
        return BulkFailed(
            f"a block ended {_TRIES} processes that worked on it, perhaps for want of memory; it "
            f"is block {first + 1} of the input or one soon after it. What is done is kept: run "
            "the same command again, with a smaller --block, or without these rows"
        )
    return BulkFailed(
        f"the cluster could not go on: {str(error).strip().splitlines()[0]}; what is done is "
        "kept: run the same command again"
    )
