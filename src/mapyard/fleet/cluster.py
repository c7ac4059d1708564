"""The fleet's processes in Ray: an actor for each copy of a region, and one that keeps them.

Ray places actors, restarts them and says who is alive; nothing of that is ours. The keeper asks Ray
for copies, knows which generation is served, and tells the nodes who holds what. What it must not
forget (address of the data, generation, number of copies) is one entry in Ray's store.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import time
from typing import Any, Final

import msgspec

from mapyard.errors import MapyardError
from mapyard.fleet.generation import Generation, Raster, Region, read_generation
from mapyard.fleet.objects import Objects
from mapyard.fleet.ray import NAMESPACE, load_ray

log = logging.getLogger(__name__)

KEEPER: Final = "keeper"
_ENTRY: Final = b"mapyard/served"
_PREFIX: Final = "region/"
#: How often copies are looked at, how long they may be silent, and when they are started anew.
LOOK_S: Final = 1.0
SILENT_S: Final = 3.0
RESTART_S: Final = 10.0
#: How long a process that was started may be silent: it first fetches its region's dataset.
START_S: Final = 3600.0
#: At most so long nothing is tried where processes of a region end before they answer: at first it
#: is RESTART_S, and twice as long each time.
PAUSE_S: Final = 300.0
#: How long copies of the generation before stay for requests that have begun with it.
GRACE_S: Final = float(os.environ.get("MAPYARD_FLEET_GRACE_S", "60"))


class Served(msgspec.Struct):
    """The entry in Ray's store: flipping it switches the fleet."""

    url: str
    generation: str
    copies: int


class CopyState(msgspec.Struct):
    """A copy of a region, as the keeper saw it last."""

    name: str
    region: str
    dataset: str
    node: str = ""
    address: str = ""
    folder: str = ""
    asked: int = 0
    ready: bool = False


class TableState(msgspec.Struct):
    """What nodes are told; `version` changes with it."""

    version: int
    generation: Generation | None
    copies: list[CopyState]


class RegionActor:
    """Holds one copy of a region: pulls its dataset to this node's disk, opens it, answers."""

    def __init__(self, url: str, region: bytes, rasters: bytes) -> None:
        from mapyard.fleet.heights import fetch_rasters
        from mapyard.fleet.host import Host
        from mapyard.fleet.pull import pull_region
        from mapyard.http.access_log import set_up_logging
        from mapyard.library.snapshot import Snapshot
        from mapyard.server.assembly import load_endpoints
        from mapyard.settings import get_settings

        settings = get_settings()
        set_up_logging(settings.log_level)
        self.region = msgspec.json.decode(region, type=Region)
        objects = Objects(url)
        self.url = objects.url
        self.folder = pull_region(objects, self.region, settings.data)
        fetch_rasters(objects, msgspec.json.decode(rasters, type=list[Raster]), settings.data)
        snapshot = Snapshot(self.folder, settings)
        endpoints = load_endpoints()
        snapshot.open_all()
        self.host = Host(snapshot, settings, endpoints)

    async def ask(self, question: bytes) -> bytes:
        """Answer a request."""
        from mapyard.fleet.wire import decode_question, encode

        return encode(await self.host.ask(decode_question(question)))

    async def tidy(self, kept: list[str]) -> list[str]:
        """Remove the datasets of other generations from this node's disk; return their names."""
        from mapyard.fleet.pull import remove_fetched

        data = self.host.services.settings.data
        return await asyncio.to_thread(remove_fetched, data, self.url, kept)

    async def info(self) -> dict[str, Any]:
        """Return where this copy is, and how often it was asked."""
        ray: Any = importlib.import_module("ray")
        return {
            "node": ray.get_runtime_context().get_node_id(),
            "address": ray.util.get_node_ip_address(),
            "folder": str(self.folder), "asked": self.host.asked, "pid": os.getpid(),
        }  # fmt: skip


class Keeper:
    """Asks Ray for copies of regions and tells where they are."""

    def __init__(self) -> None:
        self.ray: Any = importlib.import_module("ray")
        self.version = 0
        self.served: Served | None = None
        self.generation: Generation | None = None
        self.copies: dict[str, CopyState] = {}
        self.handles: dict[str, Any] = {}
        self.silent_since: dict[str, float] = {}
        #: Copies whose process has not answered yet.
        self.starting: set[str] = set()
        #: How often the last processes of a region ended before they answered.
        self.failures: dict[str, int] = {}
        #: When another process takes the place of a copy that ended so.
        self.resumes_s: dict[str, float] = {}
        #: What copies were asked and have not answered: a late answer is a sign of life.
        self.looks: dict[str, asyncio.Task[Any]] = {}
        self._watching: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._number = 0
        self._restore()

    # What nodes and the command line ask.

    async def table(self) -> bytes:
        """Return who holds what."""
        self._watch_once()
        copies = list(self.copies.values())
        return msgspec.json.encode(TableState(self.version, self.generation, copies))

    async def open(self, url: str, generation_id: str, copies: int) -> str:
        """Open a generation on all nodes, then serve it; return its id."""
        self._watch_once()
        async with self._opening:
            generation = await asyncio.to_thread(
                lambda: read_generation(Objects(url), generation_id)
            )
            made: dict[str, CopyState] = {}
            handles: dict[str, Any] = {}
            try:
                for region in generation.regions:
                    for _ in range(copies):
                        state, handle = self._start(url, generation, region)
                        made[state.name], handles[state.name] = state, handle
                for name, handle in handles.items():
                    self._note(made[name], await handle.info.remote())
            except Exception as error:
                for name in handles:
                    self._end(name, handles[name])
                cause = getattr(error, "cause", None) or error
                raise MapyardError(f"the generation cannot be opened: {cause}") from None
            before = dict(self.handles)
            served = Served(url, generation.id, copies)
            # From here on it is served: by this entry, and by the table that nodes ask for.
            _kv_put(_ENTRY, msgspec.json.encode(served))
            self.served, self.generation = served, generation
            self.copies, self.handles = made, handles
            self.version += 1
            asyncio.get_running_loop().create_task(self._end_later(before, tidies=True))
            return generation.id

    async def close(self) -> None:
        """Stop serving: end all copies, forget the entry."""
        _kv_del(_ENTRY)
        for name, handle in list(self.handles.items()):
            self._end(name, handle)
        self.copies, self.handles, self.generation, self.served = {}, {}, None, None
        self.version += 1

    # Copies.

    def _start(
        self, url: str, generation: Generation, region: Region, node: str = ""
    ) -> tuple[CopyState, Any]:
        """Ask Ray for a copy, on another node than the other copies as far as there are some."""
        self._number += 1
        stamp = f"{time.time_ns():x}-{self._number}"
        name = f"{_PREFIX}{generation.id}/{region.name}/{stamp}"
        strategy: Any = "SPREAD"
        if node:
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            strategy = NodeAffinitySchedulingStrategy(node, soft=True)
        elif others := self._nodes_without(region.name):
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            strategy = NodeAffinitySchedulingStrategy(others, soft=True)
        actor = self.ray.remote(RegionActor).options(
            name=name, namespace=NAMESPACE, lifetime="detached", max_restarts=-1,
            max_concurrency=256, num_cpus=0.01, scheduling_strategy=strategy,
        )  # fmt: skip
        handle = actor.remote(
            url, msgspec.json.encode(region), msgspec.json.encode(generation.rasters)
        )
        self._planned[name] = (region.name, self._chosen)
        self.starting.add(name)
        return CopyState(name, region.name, region.dataset), handle

    def _nodes_without(self, region: str) -> str:
        """Return the node with the fewest copies among those without this region, "" for none."""
        nodes = [node["NodeID"] for node in self.ray.nodes() if node["Alive"]]
        load = dict.fromkeys(nodes, 0)
        has = set()
        for of_region, node in self._planned.values():
            if node in load:
                load[node] += 1
                if of_region == region:
                    has.add(node)
        free = [node for node in nodes if node not in has] or nodes
        self._chosen = min(free, key=load.__getitem__) if free else ""
        return self._chosen

    def _end(self, name: str, handle: Any) -> None:
        self._forget(name)
        with contextlib.suppress(Exception):
            self.ray.kill(handle, no_restart=True)

    async def _end_later(self, handles: dict[str, Any], *, tidies: bool = False) -> None:
        await asyncio.sleep(GRACE_S)
        for name, handle in handles.items():
            self._end(name, handle)
        if tidies:
            async with self._opening:  # nobody fetches the next generation meanwhile
                await self._tidy()

    async def _tidy(self) -> None:
        """Let a copy on each node remove the datasets of generations before."""
        if self.generation is None:
            return
        kept = [region.dataset for region in self.generation.regions]
        one_of_node = {state.node: name for name, state in self.copies.items() if state.ready}
        for name in one_of_node.values():
            try:
                removed = await _result(self.handles[name].tidy.remote(kept))
            except Exception as error:
                log.warning("datasets of before stay on a node: %s", error)
                continue
            if removed:
                log.info("removed of generations before: %s", ", ".join(removed))

    def _note(self, state: CopyState, info: dict[str, Any]) -> None:
        place = (state.node, state.folder, state.ready)
        state.node, state.address, state.folder = info["node"], info["address"], info["folder"]
        state.asked, state.ready = info["asked"], True
        self._planned[state.name] = (state.region, state.node)
        self._forget_silence(state.name)
        if state.name in self.starting:  # only one that has begun tells that the data can be had
            self.starting.discard(state.name)
            self.failures.pop(state.region, None)
        if place != (state.node, state.folder, True):
            self.version += 1

    # Watching.

    def _watch_once(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            states = list(self.copies.values())
            await asyncio.gather(*(self._look(state) for state in states))
            if self._moving is None or self._moving.done():
                self._moving = asyncio.get_running_loop().create_task(self._share())
            await asyncio.sleep(LOOK_S)

    async def _look(self, state: CopyState) -> None:
        handle = self.handles.get(state.name)
        if handle is None or time.monotonic() < self.resumes_s.get(state.name, 0.0):
            return
        look = self.looks.get(state.name)
        if look is None:
            look = self.looks[state.name] = asyncio.ensure_future(_result(handle.info.remote()))
            self.silent_since.setdefault(state.name, time.monotonic())
        await asyncio.wait({look}, timeout=SILENT_S)
        if self.looks.get(state.name) is not look:  # it was ended meanwhile
            return
        error: BaseException | None = None
        if look.done():
            del self.looks[state.name]
            error = look.exception()
            if error is None:
                self._note(state, look.result())
                return
        if state.ready:
            state.ready = False
            self.version += 1
        await self._mend(
            state, handle, is_gone=isinstance(error, self.ray.exceptions.ActorDiedError)
        )

    async def _mend(self, state: CopyState, handle: Any, *, is_gone: bool) -> None:
        """Replace a copy that is gone, or was silent for too long."""
        if not is_gone:
            silent_s = time.monotonic() - self.silent_since[state.name]
            patience_s = START_S if state.name in self.starting else RESTART_S
            # Where its other copy is silent too, it is no fault of one process.
            has_other = any(
                other.ready for other in self.copies.values() if other.region == state.region
            )
            if silent_s <= patience_s or not has_other:
                return
            if state.name not in self.starting and await asyncio.to_thread(_is_starting, handle):
                # Its process has ended by itself, and Ray has begun the next one.
                self.starting.add(state.name)
                return
            if self.handles.get(state.name) is not handle:  # it was ended meanwhile
                return
        self._replace(state, is_gone=is_gone)

    def _replace(self, state: CopyState, *, is_gone: bool) -> None:
        """Let Ray start a silent process anew; ask for another copy where it is gone for good."""
        self._forget_silence(state.name)
        if not is_gone:
            log.warning("%s is silent: its process is started anew", state.name)
            self.starting.add(state.name)
            with contextlib.suppress(Exception):
                self.ray.kill(self.handles[state.name], no_restart=False)
            return
        if self.served is None or self.generation is None or self._pauses(state):
            return
        log.warning("%s is gone: another copy takes its place", state.name)
        self._forget(state.name)
        region = self.generation.get_region(state.region)
        fresh, handle = self._start(self.served.url, self.generation, region)
        self.copies[fresh.name], self.handles[fresh.name] = fresh, handle
        self.version += 1

    def _pauses(self, state: CopyState) -> bool:
        """Return whether the next process waits: where the data cannot be had, each one ends."""
        if state.name not in self.starting or state.name in self.resumes_s:
            return False
        failures = self.failures[state.region] = self.failures.get(state.region, 0) + 1
        pause_s = min(PAUSE_S, RESTART_S * 2 ** min(failures - 1, 16))
        self.resumes_s[state.name] = time.monotonic() + pause_s
        log.warning("%s does not start; the next process begins in %d s", state.name, pause_s)
        return True

    def _forget(self, name: str) -> None:
        self.resumes_s.pop(name, None)
        self.copies.pop(name, None)
        self.handles.pop(name, None)
        self._planned.pop(name, None)
        self._forget_silence(name)
        self.starting.discard(name)

    def _forget_silence(self, name: str) -> None:
        self.silent_since.pop(name, None)
        if look := self.looks.pop(name, None):
            look.cancel()

    async def _share(self) -> None:
        """Move a copy to a node that has much fewer than another one: one that has just joined."""
        served, generation = self.served, self.generation
        if served is None or generation is None or self._opening.locked():
            return
        nodes = {node["NodeID"] for node in self.ray.nodes() if node["Alive"]}
        by_node: dict[str, list[CopyState]] = {node: [] for node in nodes}
        for state in self.copies.values():
            if not state.ready or state.node not in by_node:
                return  # first let everything be well
            by_node[state.node].append(state)
        if len(by_node) < 2:
            return
        few = min(by_node, key=lambda node: len(by_node[node]))
        many = max(by_node, key=lambda node: len(by_node[node]))
        has = {state.region for state in by_node[few]}
        movable = [state for state in by_node[many] if state.region not in has]
        crowd = self._find_doubled(by_node)
        if crowd is not None:
            state, few = crowd
        elif len(by_node[many]) - len(by_node[few]) >= 2 and movable:
            state = movable[0]
        else:
            return
        region = generation.get_region(state.region)
        fresh, handle = self._start(served.url, generation, region, few)
        try:
            info = await handle.info.remote()
        except Exception as error:
            log.warning("%s cannot be opened on another node: %s", state.region, error)
            self._end(fresh.name, handle)
            return
        if generation is not self.generation:
            self._end(fresh.name, handle)
            return
        self._note(fresh, info)
        self.copies[fresh.name], self.handles[fresh.name] = fresh, handle
        old = self.handles.get(state.name)
        self._forget(state.name)
        self.version += 1
        if old is not None:
            asyncio.get_running_loop().create_task(self._end_later({state.name: old}))

    def _find_doubled(self, by_node: dict[str, list[CopyState]]) -> tuple[CopyState, str] | None:
        """Return a copy that lies beside another one of its region, and a node without any."""
        for states in by_node.values():
            seen = set()
            for state in states:
                if state.region in seen:
                    free = [
                        node for node, others in by_node.items()
                        if all(other.region != state.region for other in others)
                    ]  # fmt: skip
                    if free:
                        return state, min(free, key=lambda node: len(by_node[node]))
                seen.add(state.region)
        return None

    # The entry.

    _planned: dict[str, tuple[str, str]]
    _chosen = ""

    def _restore(self) -> None:
        """Take up what a keeper before this one had: the entry, and the copies that live."""
        self._planned = {}
        text = _kv_get(_ENTRY)
        if text is None:
            return
        self.served = msgspec.json.decode(text, type=Served)
        self.generation = read_generation(Objects(self.served.url), self.served.generation)
        for entry in self.ray.util.list_named_actors(all_namespaces=True):
            name = entry["name"]
            if entry["namespace"] != NAMESPACE or not name.startswith(_PREFIX):
                continue
            _, generation, region, _ = name.split("/")
            handle = self.ray.get_actor(name, namespace=NAMESPACE)
            if generation != self.generation.id:
                self._end(name, handle)
                continue
            dataset = self.generation.get_region(region).dataset
            self.copies[name] = CopyState(name, region, dataset)
            self.handles[name] = handle
        for region in self.generation.regions:
            held = sum(state.region == region.name for state in self.copies.values())
            for _ in range(self.served.copies - held):
                state, handle = self._start(self.served.url, self.generation, region)
                self.copies[state.name], self.handles[state.name] = state, handle
        # Nodes that know the table of before take this one as newer.
        self.version = int(time.time())


async def _result(reference: Any) -> Any:
    return await reference


def _is_starting(handle: Any) -> bool:
    """Return whether a copy's process has not begun to take questions, as far as Ray tells."""
    from ray._private.state import actors

    try:
        state = actors(handle._actor_id.hex()).get("State", "")
    except Exception as error:
        log.warning("Ray does not tell the state of a copy: %s", error)
        return False
    return state in ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "RESTARTING")


def _kv_put(key: bytes, value: bytes) -> None:
    from ray.experimental import internal_kv

    internal_kv._internal_kv_put(key, value, overwrite=True)


def _kv_get(key: bytes) -> bytes | None:
    from ray.experimental import internal_kv

    found: bytes | None = internal_kv._internal_kv_get(key)
    return found


def _kv_del(key: bytes) -> None:
    from ray.experimental import internal_kv

    internal_kv._internal_kv_del(key)


# ---- the command line's side ------------------------------------------------------------------


def get_keeper(ray: Any, *, make: bool = False) -> Any:
    """Return the keeper; make one where there is none, or raise."""
    if make:
        return ray.remote(Keeper).options(
            name=KEEPER, namespace=NAMESPACE, lifetime="detached", get_if_exists=True,
            max_restarts=-1, max_task_retries=-1, max_concurrency=64, num_cpus=0,
        ).remote()  # fmt: skip
    try:
        return ray.get_actor(KEEPER, namespace=NAMESPACE)
    except ValueError:
        raise MapyardError("no fleet is open; begin with: mapyard fleet open URL") from None


def open_fleet(address: str, url: str, generation: str, copies: int) -> str:
    """Open a generation for the whole fleet; return its id."""
    ray = load_ray(address)
    try:
        opened: str = ray.get(get_keeper(ray, make=True).open.remote(url, generation, copies))
    except ray.exceptions.RayTaskError as error:
        raise MapyardError(str(error.cause)) from None
    return opened


def read_table(address: str) -> TableState:
    """Return who holds what."""
    ray = load_ray(address)
    return msgspec.json.decode(ray.get(get_keeper(ray).table.remote()), type=TableState)


def read_served(address: str) -> Served | None:
    """Return what a fleet serves, None for nothing."""
    load_ray(address)
    text = _kv_get(_ENTRY)
    return msgspec.json.decode(text, type=Served) if text is not None else None


def close_fleet(address: str) -> None:
    """End all copies."""
    ray = load_ray(address)
    keeper = get_keeper(ray)
    ray.get(keeper.close.remote())
    ray.kill(keeper, no_restart=True)
