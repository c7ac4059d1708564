"""A worker of `mapyard fleet serve`: the ordinary one, whose map is the fleet's."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from mapyard.errors import MapyardError
from mapyard.fleet.cluster import TableState, get_keeper
from mapyard.fleet.front import Front, ReplicaLost, Table
from mapyard.fleet.ray import load_ray
from mapyard.fleet.wire import Question, Reply, decode_reply, encode
from mapyard.http.app import Application
from mapyard.library.resources import Resources
from mapyard.library.snapshot import Snapshot
from mapyard.settings import Settings

log = logging.getLogger(__name__)

#: How often the keeper is asked for news, and how old they may be, seconds.
ASK_S: Final = 0.5
OLD_S: Final = 30.0
#: How long datasets of before stay open for requests that have begun with them.
KEPT_S: Final = 60.0


class RayReplica:
    """A copy of a region, asked over Ray."""

    def __init__(
        self, name: str, handle: Any, lost: tuple[type[BaseException], ...], *, ready: bool
    ) -> None:
        self.name = name
        self.ready = ready
        self._handle = handle
        self._lost = lost

    async def ask(self, question: Question) -> Reply:
        """Return the answer; raise ReplicaLost where the actor cannot be reached."""
        try:
            return decode_reply(await self._handle.ask.remote(encode(question)))
        except self._lost as error:
            raise ReplicaLost(str(error)) from None


class Node:
    """Keeps the front's table as new as the keeper's."""

    def __init__(self, front: Front, settings: Settings, resources: Resources) -> None:
        self.front = front
        self._resources = resources
        self.settings = settings
        self._ray: Any = None
        self._version = -1
        self._heard_s = 0.0
        self._handles: dict[str, Any] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to ask."""
        self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Stop asking."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._ray is not None:
            # Where Ray has gone before, saying goodbye waits for ever; it sees our end itself.
            atexit.unregister(self._ray.shutdown)

    async def _run(self) -> None:
        while True:
            try:
                if self._ray is None:
                    self._ray = await asyncio.to_thread(load_ray, self.settings.fleet)
                await self._refresh(self._ray)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # Ray has many; whatever it is, it is tried again
                log.warning("the fleet's keeper does not answer: %s", str(error).split("\n")[0])
            self.front.is_current = time.monotonic() - self._heard_s < OLD_S
            await asyncio.sleep(ASK_S)

    async def _refresh(self, ray: Any) -> None:
        keeper = get_keeper(ray)
        text = await asyncio.wait_for(_result(keeper.table.remote()), 5.0)
        state = msgspec.json.decode(text, type=TableState)
        self._heard_s = time.monotonic()
        if state.version == self._version and self.front.table is not None:
            return
        if state.generation is None:
            self.front.table, self._version = None, state.version
            return
        table = await asyncio.to_thread(self._make_table, ray, state)
        before = self.front.table
        if before is None or before.generation.rasters != table.generation.rasters:
            self._resources.forget("elevation")  # opened anew, with what has been fetched
        self.front.table = table
        if not self.front.is_current:
            log.info("serving generation %s", state.generation.id)
        self._version = state.version
        self._let_go({snapshot.id for snapshot in table.local.values()})

    def _make_table(self, ray: Any, state: TableState) -> Table:
        assert state.generation is not None
        own = ray.get_runtime_context().get_node_id()
        errors = ray.exceptions
        lost = (errors.RayActorError, errors.RaySystemError, errors.GetTimeoutError)
        replicas: dict[str, list[RayReplica]] = {}
        local: dict[str, Snapshot] = {}
        for copy in state.copies:
            if copy.node and copy.name not in self._handles:
                with contextlib.suppress(ValueError):  # it has just ended
                    self._handles[copy.name] = ray.get_actor(copy.name)
            if copy.name in self._handles:
                handle = self._handles[copy.name]
                replica = RayReplica(copy.name, handle, lost, ready=copy.ready)
                replicas.setdefault(copy.region, []).append(replica)
            if copy.ready and copy.node == own:
                snapshot = self._open(copy.dataset, Path(copy.folder))
                if snapshot is not None:
                    local[copy.region] = snapshot
        known = {copy.name for copy in state.copies}
        self._handles = {name: self._handles[name] for name in self._handles if name in known}
        return Table(state.generation, replicas, local)

    def _open(self, dataset: str, folder: Path) -> Snapshot | None:
        """Return a dataset of this machine, open; None where it cannot be read."""
        if dataset not in self._snapshots:
            try:
                snapshot = Snapshot(folder, self.settings)
                snapshot.part("store")
            except (OSError, MapyardError) as error:
                log.warning("dataset %s is asked of its actor: %s", dataset, error)
                return None
            self._snapshots[dataset] = snapshot
        return self._snapshots[dataset]

    def _let_go(self, kept: set[str]) -> None:
        for dataset in self._snapshots.keys() - kept:
            snapshot = self._snapshots.pop(dataset)
            asyncio.get_running_loop().call_later(KEPT_S, self.front.forget, snapshot)


async def _result(reference: Any) -> Any:
    return await reference


def attach(application: Application, settings: Settings) -> Node:
    """Let an application answer from the fleet; called in each worker, inside its loop."""
    front = Front(settings, application.services.endpoints)
    application.services.snapshots = front
    application.elsewhere = front
    node = Node(front, settings, application.services)
    node.start()
    return node
