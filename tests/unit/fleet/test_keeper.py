"""The keeper starts silent processes anew, but not those that begin or are slow."""

from __future__ import annotations

import asyncio
import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from mapyard.fleet import cluster
from mapyard.fleet.cluster import CopyState, Keeper

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed"
)
INFO = {"node": "n", "address": "127.0.0.1", "folder": "f", "asked": 0, "pid": 1}


class Copy:
    """A process that answers after `delay_s`; None for never."""

    def __init__(self, delay_s: float | None) -> None:
        self.delay_s = delay_s
        self.kills = 0
        self.info = SimpleNamespace(remote=self._answer)

    async def _answer(self) -> dict[str, Any]:
        if self.delay_s is None:
            await asyncio.Event().wait()
        await asyncio.sleep(self.delay_s or 0)
        return INFO


class DiedError(Exception):
    pass


def end(handle: Copy, *, no_restart: bool) -> None:
    assert not no_restart
    handle.kills += 1


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> Keeper:
    monkeypatch.setattr(cluster, "_kv_get", lambda key: None)
    monkeypatch.setattr(cluster, "SILENT_S", 0.05)
    monkeypatch.setattr(cluster, "RESTART_S", 0.2)
    made = Keeper()
    made.ray = SimpleNamespace(exceptions=SimpleNamespace(ActorDiedError=DiedError), kill=end)
    return made


def add(keeper: Keeper, name: str, delay_s: float | None, *, starting: bool = False) -> Copy:
    copy = Copy(delay_s)
    keeper.copies[name] = CopyState(name, "region", "dataset")
    keeper.handles[name] = copy
    if starting:
        keeper.starting.add(name)
    return copy


async def look(keeper: Keeper, seconds: float) -> None:
    """Look at all copies again and again, as the keeper does."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while loop.time() < ends:
        await asyncio.gather(*(keeper._look(state) for state in list(keeper.copies.values())))
        await asyncio.sleep(0.01)


def test_a_silent_process_is_started_anew_once(keeper: Keeper) -> None:
    async def check() -> None:
        add(keeper, "well", 0)
        copy = add(keeper, "stopped", 0)
        await look(keeper, 0.1)
        assert keeper.copies["stopped"].ready
        copy.delay_s = None
        await look(keeper, 0.15)
        assert not keeper.copies["stopped"].ready and copy.kills == 0
        await look(keeper, 1.0)
        assert copy.kills == 1  # its next process has not answered yet, and is waited for
        copy.delay_s = 0
        keeper._forget_silence("stopped")  # Ray ends what the old process was asked
        await look(keeper, 0.1)
        assert keeper.copies["stopped"].ready

    asyncio.run(check())


def test_a_process_that_begins_may_take_its_time(keeper: Keeper) -> None:
    async def check() -> None:
        add(keeper, "well", 0)
        copy = add(keeper, "fresh", 0.8, starting=True)
        await look(keeper, 0.5)
        assert copy.kills == 0 and not keeper.copies["fresh"].ready
        copy.delay_s = 0
        await look(keeper, 0.5)
        assert copy.kills == 0 and keeper.copies["fresh"].ready

    asyncio.run(check())


def test_a_slow_answer_is_a_sign_of_life(keeper: Keeper) -> None:
    async def check() -> None:
        add(keeper, "well", 0)
        copy = add(keeper, "slow", 0.12)  # later than SILENT_S, sooner than RESTART_S
        await look(keeper, 1.0)
        assert copy.kills == 0
        assert "slow" not in keeper.starting

    asyncio.run(check())


def test_where_both_copies_are_silent_none_is_ended(keeper: Keeper) -> None:
    async def check() -> None:
        copies = [add(keeper, name, None) for name in ("one", "two")]
        await look(keeper, 0.6)
        assert [copy.kills for copy in copies] == [0, 0]

    asyncio.run(check())
