"""Bulk work on a Ray cluster: a process per core of each node that has the dataset."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mapyard.bulk.blocks import Block, BulkFailed
from mapyard.bulk.run import Job, Part, Worker
from mapyard.fleet.ray import load_ray

#: How long nobody may be ready before the run gives up, seconds.
_PATIENCE_S: Final = 120.0
#: In how many processes a block is tried that ends each of them.
_TRIES: Final = 3


def find_data(job: Job) -> str:
    """Return the data folder of this node that has the dataset of a job, "" where none has."""
    for folder in (os.environ.get("MAPYARD_DATA", ""), str(job.data)):
        if folder and (Path(folder) / "datasets" / job.dataset / "manifest.json").is_file():
            return folder
    return ""


class BlockWorker:
    """An actor of Ray: one process with the dataset open."""

    def __init__(self, job: Job) -> None:
        self._worker = Worker(job._replace(data=Path(find_data(job))))

    def ready(self) -> bool:
        """Answer as soon as the dataset is open."""
        return True

    def answer(self, block: Block) -> Part:
        """Return the part of the output that a block makes."""
        return self._worker.answer(block)


class RayPool:
    """Answers on the nodes of a cluster; blocks of a node that goes are answered by the others."""

    def __init__(self, job: Job, address: str, most: int | None = None) -> None:
        """Start the processes: as many as there are cores, at most `most`.

        Raises BulkFailed where no node has the dataset, MapyardError where Ray is not reached.
        """
        self._ray = load_ray(address)
        cores, self.without = self._find_nodes(job)
        # One of each node after the other, so that a few processes are spread over all nodes.
        turns = itertools.zip_longest(*([node] * count for node, count in cores.items()))
        nodes = [node for turn in turns for node in turn if node][:most]
        if not nodes:
            raise BulkFailed(
                f"no node of the cluster has the dataset {job.dataset} in its data folder "
                "(MAPYARD_DATA of ray start), and cores; copy the folder to each node first"
            )
        self.nodes = len(set(nodes))
        sent = self._ray.put(job)
        #: Process → blocks that it was given; those that are not ready yet, by their first answer.
        self._given: dict[Any, int] = {}
        self._coming: dict[Any, Any] = {}
        for node in nodes:
            process = self._ray.remote(BlockWorker).options(
                num_cpus=1, scheduling_strategy=self._on(node)
            )
            handle = process.remote(sent)
            self._coming[handle.ready.remote()] = handle
        self._welcome(_PATIENCE_S)

    @property
    def workers(self) -> int:
        """How many processes there are, those included that still open the dataset."""
        return len(self._given) + len(self._coming)

    def submit(self, block: Block) -> Callable[[], Part]:
        """Hand a block to the process with the fewest."""
        handle, answer = self._give(block)

        def wait() -> Part:
            nonlocal handle, answer
            ended = 0
            while True:
                try:
                    part: Part = self._ray.get(answer)
                except self._ray.exceptions.RayActorError:
                    # Who waits first for a process that ended has the block that it worked on.
                    ended += self._given.pop(handle, None) is not None
                    if ended == _TRIES:
                        raise BulkFailed(
                            f"block {block.number + 1} of the input, {len(block):,} rows, ended "
                            f"{_TRIES} processes that worked on it, perhaps for want of memory; "
                            "what is done is kept: run the same command again, with a smaller "
                            "--block, or without these rows"
                        ) from None
                    handle, answer = self._give(block)
                    continue
                except self._ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                if handle in self._given:
                    self._given[handle] -= 1
                return part

        return wait

    def close(self) -> None:
        """End all processes."""
        for handle in [*self._given, *self._coming.values()]:
            self._ray.kill(handle)

    def _give(self, block: Block) -> tuple[Any, Any]:
        self._welcome(0.0 if self._given else _PATIENCE_S)
        handle = min(self._given, key=self._given.__getitem__)
        self._given[handle] += 1
        return handle, handle.answer.remote(block)

    def _welcome(self, patience_s: float) -> None:
        """Take in the processes that have become ready; wait for one where patience is given."""
        while self._coming:
            done, _ = self._ray.wait(list(self._coming), timeout=patience_s)
            if not done:
                break
            handle = self._coming.pop(done[0])
            try:
                self._ray.get(done[0])
            except self._ray.exceptions.RayError:
                continue  # its node went, or the dataset did not open there
            self._given[handle] = 0
            patience_s = 0.0
        if not self._given:
            raise BulkFailed(
                "no process of the cluster is left; what is done is kept: run the same command "
                "again"
            )

    def _find_nodes(self, job: Job) -> tuple[dict[str, int], int]:
        """Return node → cores of those that have the dataset, and how many have not."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        ask = self._ray.remote(find_data)
        asked = {
            ask.options(num_cpus=0, scheduling_strategy=self._on(node["NodeID"])).remote(job): node
            for node in alive
        }
        done, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=_PATIENCE_S)
        having = []
        for answer in done:
            try:
                having += [asked[answer]] if self._ray.get(answer) else []
            except self._ray.exceptions.RayError:
                continue  # the node went meanwhile
        cores = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in having}
        return cores, len(alive) - len(having)

    @staticmethod
    def _on(node: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(node, soft=False)
