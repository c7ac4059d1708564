"""The keeper starts silent processes anew, but not those that begin or are slow."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from mapyard.fleet import cluster
from mapyard.fleet.cluster import CopyState, Keeper, Served

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed"
)
INFO = {"node": "n", "address": "127.0.0.1", "folder": "f", "asked": 0, "pid": 1}


class DiedError(Exception):
    pass


class Clock:
    """The time that the keeper sees: it looks once a second."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Copy:
    """A process that answers after `delay_s`, None for never; or is dead."""

    def __init__(self, clock: Clock, delay_s: float | None, *, is_dead: bool = False) -> None:
        self.clock = clock
        self.delay_s = delay_s
        self.is_dead = is_dead
        self.is_starting = False
        self.kills = 0
        self.info = SimpleNamespace(remote=self._answer)

    async def _answer(self) -> dict[str, Any]:
        if self.is_dead:
            raise DiedError
        asked_s = self.clock.now_s
        while self.delay_s is None or self.clock.now_s < asked_s + self.delay_s:
            await asyncio.sleep(0.001)
        return INFO


def end(handle: Copy, *, no_restart: bool) -> None:
    assert not no_restart
    handle.kills += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(cluster, "time", made)
    return made


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> Keeper:
    monkeypatch.setattr(cluster, "_kv_get", lambda key: None)
    monkeypatch.setattr(cluster, "SILENT_S", 0.01)
    monkeypatch.setattr(cluster, "_is_starting", lambda handle: handle.is_starting)
    made = Keeper()
    made.ray = SimpleNamespace(exceptions=SimpleNamespace(ActorDiedError=DiedError), kill=end)
    return made


def add(keeper: Keeper, clock: Clock, name: str, delay_s: float | None) -> Copy:
    copy = Copy(clock, delay_s)
    keeper.copies[name] = CopyState(name, "region", "dataset")
    keeper.handles[name] = copy
    return copy


async def look(keeper: Keeper, clock: Clock, seconds: int) -> None:
    """Look at all copies once a second, as the keeper does."""
    for _ in range(seconds):
        clock.now_s += 1
        await asyncio.gather(*(keeper._look(state) for state in list(keeper.copies.values())))


def test_a_silent_process_is_started_anew_once(keeper: Keeper, clock: Clock) -> None:
    async def check() -> None:
        add(keeper, clock, "well", 0)
        copy = add(keeper, clock, "stopped", 0)
        await look(keeper, clock, 2)
        assert keeper.copies["stopped"].ready
        copy.delay_s = None
        await look(keeper, clock, 9)
        assert not keeper.copies["stopped"].ready and copy.kills == 0
        await look(keeper, clock, 60)
        assert copy.kills == 1  # its next process has not answered yet, and is waited for
        copy.delay_s = 0
        await look(keeper, clock, 2)
        assert keeper.copies["stopped"].ready and copy.kills == 1
        copy.delay_s = None
        await look(keeper, clock, 20)
        assert copy.kills == 2

    asyncio.run(check())


def test_a_process_that_begins_may_take_its_time(keeper: Keeper, clock: Clock) -> None:
    async def check() -> None:
        add(keeper, clock, "well", 0)
        copy = add(keeper, clock, "fresh", None)
        keeper.starting.add("fresh")
        await look(keeper, clock, 90)
        assert copy.kills == 0 and not keeper.copies["fresh"].ready
        copy.delay_s = 0
        await look(keeper, clock, 2)
        assert copy.kills == 0 and keeper.copies["fresh"].ready

    asyncio.run(check())


def test_a_process_that_ray_has_started_anew_is_left_alone(keeper: Keeper, clock: Clock) -> None:
    async def check() -> None:
        add(keeper, clock, "well", 0)
        copy = add(keeper, clock, "killed", 0)
        await look(keeper, clock, 2)
        copy.delay_s, copy.is_starting = None, True  # it ended, nobody asked for that
        await look(keeper, clock, 60)
        assert copy.kills == 0 and not keeper.copies["killed"].ready
        copy.delay_s, copy.is_starting = 0, False
        await look(keeper, clock, 2)
        assert keeper.copies["killed"].ready

    asyncio.run(check())


def test_a_slow_answer_is_a_sign_of_life(keeper: Keeper, clock: Clock) -> None:
    async def check() -> None:
        add(keeper, clock, "well", 0)
        copy = add(keeper, clock, "slow", 7)  # later than SILENT_S, sooner than RESTART_S
        await look(keeper, clock, 60)
        assert copy.kills == 0

    asyncio.run(check())


def test_where_both_copies_are_silent_none_is_ended(keeper: Keeper, clock: Clock) -> None:
    async def check() -> None:
        copies = [add(keeper, clock, name, None) for name in ("one", "two")]
        await look(keeper, clock, 60)
        assert [copy.kills for copy in copies] == [0, 0]

    asyncio.run(check())


def test_what_cannot_start_is_tried_less_and_less_often(
    keeper: Keeper, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the data cannot be had, all processes end in their beginning."""
    made: list[Copy] = []

    def start(*_: Any) -> tuple[CopyState, Copy]:
        name = f"next {len(made)}"
        made.append(Copy(clock, 0, is_dead=len(made) < 3))
        keeper.starting.add(name)
        return CopyState(name, "region", "dataset"), made[-1]

    monkeypatch.setattr(keeper, "_start", start)
    keeper.served = Served("", "", 1)
    generation = SimpleNamespace(get_region=lambda name: name)
    monkeypatch.setattr(keeper, "generation", generation)

    async def check() -> None:
        add(keeper, clock, "well", 0)
        add(keeper, clock, "first", 0).is_dead = True
        await look(keeper, clock, 5)
        assert len(made) == 1  # one that has answered before is replaced at once
        await look(keeper, clock, 10)
        assert len(made) == 2  # after 10 s
        await look(keeper, clock, 15)
        assert len(made) == 2
        await look(keeper, clock, 10)
        assert len(made) == 3  # after 20 s more
        await look(keeper, clock, 60)
        assert len(made) == 4  # after 40 s more; that one lives
        assert [state.ready for state in keeper.copies.values()] == [True, True]
        assert keeper.failures == {} == keeper.resumes_s

    asyncio.run(check())


ON_RAY = """
import time
from mapyard.fleet.cluster import _is_starting
from mapyard.fleet.ray import load_ray

ray = load_ray()

class Slow:
    def __init__(self):
        time.sleep(4)
    def ping(self):
        return 1

def wait(copy):
    while True:
        try:
            return ray.get(copy.ping.remote())
        except ray.exceptions.ActorUnavailableError:
            time.sleep(0.2)

copy = ray.remote(Slow).options(num_cpus=0.01, max_restarts=-1).remote()
found = [_is_starting(copy)]
wait(copy)
found.append(_is_starting(copy))
ray.kill(copy, no_restart=False)
ends = time.monotonic() + 30
while not _is_starting(copy) and time.monotonic() < ends:
    time.sleep(0.05)
found.append(_is_starting(copy))
wait(copy)
print(found + [_is_starting(copy)])
"""


def test_ray_tells_which_process_begins() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ON_RAY], capture_output=True, text=True, timeout=300
    )
    assert "[True, False, True, False]" in done.stdout, done.stderr[-2_000:]
