from __future__ import annotations

import pytest

from mapyard.errors import Overloaded
from mapyard.server.queries.fair import FairQueue


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_an_account_never_holds_all_slots() -> None:
    queue: FairQueue[str] = FairQueue(3, 100)
    for i in range(5):
        queue.add("a", f"a{i}")
    assert [queue.next(), queue.next(), queue.next()] == [("a", "a0"), ("a", "a1"), None]
    queue.add("b", "b0")
    assert queue.next() == ("b", "b0")
    assert queue.next() is None
    queue.done("a", 1.0)
    assert queue.next() == ("a", "a2")


def test_with_one_slot_everybody_has_it_in_turn() -> None:
    queue: FairQueue[str] = FairQueue(1, 100)
    queue.add("a", "a0")
    queue.add("a", "a1")
    assert queue.next() == ("a", "a0")
    queue.add("b", "b0")
    queue.done("a", 5.0)
    assert queue.next() == ("b", "b0")
    queue.done("b", 1.0)
    assert queue.next() == ("a", "a1")


def test_who_used_less_time_lately_goes_first() -> None:
    clock = Clock()
    queue: FairQueue[str] = FairQueue(2, 100, monotonic=clock)
    for account, took_s in (("a", 10.0), ("b", 1.0)):
        queue.add(account, "x")
        assert queue.next() is not None
        queue.done(account, took_s)
    queue.add("a", "a1")
    queue.add("b", "b1")
    assert queue.next() == ("b", "b1")
    clock.now_s += 60
    assert queue.used_s("a") == pytest.approx(5.0)


def test_too_many_wait() -> None:
    queue: FairQueue[int] = FairQueue(1, 4)
    queue.add("a", 1)
    queue.add("a", 2)
    with pytest.raises(Overloaded):
        queue.add("a", 3)  # half of the places are others'
    queue.add("b", 4)
    queue.add("c", 5)
    with pytest.raises(Overloaded):
        queue.add("d", 6)
    queue.drop("a", 2)
    queue.add("d", 6)
    assert queue.waiting == 4
