"""Blocks of bulk work whose process ends: tried elsewhere, a few times. Ray is played here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mapyard.bulk.blocks import Block, BulkFailed
from mapyard.fleet.bulk import RayPool


class EndedError(Exception):
    """A process has ended."""


class Process:
    """Works on blocks one after the other, and ends at one that it cannot bear."""

    def __init__(self, deadly: set[int]) -> None:
        self.deadly, self.has_ended = deadly, False
        self.answer = SimpleNamespace(remote=self._work)

    def _work(self, block: Block) -> str | None:
        self.has_ended = self.has_ended or block.number in self.deadly
        return None if self.has_ended else f"part {block.number}"


class Played:
    """As much of Ray as the pool asks of it."""

    exceptions = SimpleNamespace(RayActorError=EndedError, RayTaskError=ZeroDivisionError)

    @staticmethod
    def get(answer: str | None) -> str:
        if answer is None:
            raise EndedError
        return answer


def make_pool(processes: list[Process]) -> Any:
    pool: Any = RayPool.__new__(RayPool)
    pool._ray, pool._coming = Played(), {}
    pool._given = dict.fromkeys(processes, 0)
    return pool


def test_a_block_that_ends_its_processes_is_given_up() -> None:
    processes = [Process({4}) for _ in range(10)]
    pool = make_pool(processes)
    waits = [pool.submit(Block(number, [{}])) for number in range(8)]
    assert [wait() for wait in waits[:4]] == [f"part {number}" for number in range(4)]
    with pytest.raises(BulkFailed, match="block 5 of the input, 1 rows, ended 3 processes"):
        waits[4]()
    assert sum(process.has_ended for process in processes) == 3


def test_blocks_beside_it_are_not_blamed() -> None:
    """Six blocks wait for a process that ends under the first of them."""
    first, second = Process({0}), Process(set())
    pool = make_pool([first])
    waits = [pool.submit(Block(number, [{}])) for number in range(6)]
    pool._given[second] = 0
    assert [wait() for wait in waits] == [f"part {number}" for number in range(6)]
    assert pool._given == {second: 0}
