from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from mapyard.deadline import Cancelled
from mapyard.errors import Overloaded, Timeout
from mapyard.http import pool as pool_module
from mapyard.http.pool import RequestDeadline, WorkPool


@pytest.fixture
def pool() -> Iterator[WorkPool]:
    made = WorkPool("test", threads=1, queue=2)
    yield made
    made.close()


@pytest.fixture
def free(pool: WorkPool) -> Iterator[threading.Event]:
    """Work that waits for this ends with the test, also when it fails."""
    event = threading.Event()
    yield event
    event.set()


def client_that_leaves(after_s: float) -> Callable[[], Awaitable[Any]]:
    messages = iter([{"type": "http.request"}])

    async def receive() -> Any:
        message = next(messages, None)
        if message is not None:
            return message
        await asyncio.sleep(after_s)
        return {"type": "http.disconnect"}

    return receive


def test_result_and_error_come_back(pool: WorkPool) -> None:
    async def main() -> None:
        assert await pool.run(lambda: 5, RequestDeadline(1), client_that_leaves(9)) == 5
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 / 0, RequestDeadline(1), client_that_leaves(9))

    asyncio.run(main())
    assert pool.busy == 0


def test_full_queue_refuses_at_once(pool: WorkPool, free: threading.Event) -> None:

    async def main() -> None:
        runs = [
            asyncio.ensure_future(pool.run(free.wait, RequestDeadline(5), client_that_leaves(9)))
            for _ in range(3)
        ]
        await asyncio.sleep(0.05)
        started = time.perf_counter()
        with pytest.raises(Overloaded) as caught:
            await pool.run(free.wait, RequestDeadline(5), client_that_leaves(9))
        assert time.perf_counter() - started < 0.5
        assert caught.value.headers["Retry-After"] == "1"
        assert caught.value.details == {"waiting": 2, "limit": 2}
        always = asyncio.ensure_future(
            pool.run(lambda: 7, RequestDeadline(5), client_that_leaves(9), always=True)
        )
        await asyncio.sleep(0)
        free.set()
        assert await always == 7
        assert await asyncio.gather(*runs) == [True] * 3

    asyncio.run(main())
    assert pool.busy == 0


def test_client_that_leaves_cancels_running_work(pool: WorkPool) -> None:
    deadline = RequestDeadline(30)
    stopped = threading.Event()
    done = threading.Event()

    def work() -> None:
        try:
            while True:
                deadline.check()
                time.sleep(0.005)
        finally:
            stopped.set()

    async def main() -> None:
        with pytest.raises(Cancelled):
            await pool.run(work, deadline, client_that_leaves(0.05), done.set)

    asyncio.run(main())
    assert stopped.wait(2)
    assert done.wait(2)


def test_work_that_waits_is_not_begun_for_a_client_that_left(
    pool: WorkPool, free: threading.Event
) -> None:
    begun: list[int] = []
    released: list[int] = []

    async def main() -> None:
        first = asyncio.ensure_future(
            pool.run(free.wait, RequestDeadline(5), client_that_leaves(9))
        )
        await asyncio.sleep(0.02)
        with pytest.raises(Cancelled):
            await pool.run(
                lambda: begun.append(1),
                RequestDeadline(5),
                client_that_leaves(0.02),
                lambda: released.append(1),
            )
        assert released == [1]
        free.set()
        await first

    asyncio.run(main())
    assert begun == []
    assert pool.busy == 0


def test_work_that_ignores_its_deadline(
    pool: WorkPool, free: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "GRACE_S", 0.05)
    done = threading.Event()

    async def main() -> None:
        with pytest.raises(Timeout):
            await pool.run(free.wait, RequestDeadline(0.05), client_that_leaves(9), done.set)
        assert pool.busy == 1  # the thread is still taken, and counted
        free.set()

    asyncio.run(main())
    assert done.wait(2)
    assert pool.busy == 0


def test_deadline_of_a_stream_begins_anew() -> None:
    deadline = RequestDeadline(0.0)
    time.sleep(0.001)
    with pytest.raises(Timeout):
        deadline.check()
    deadline.extend(10)
    deadline.check()
    assert 9 < deadline.remaining_s() <= 10


def test_a_burst_may_fill_the_queue_but_a_standing_queue_is_kept_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 1_000.0
    monkeypatch.setattr("mapyard.http.pool.time.monotonic", lambda: now_s)
    monkeypatch.setattr("mapyard.http.pool.os.sched_getaffinity", lambda _: {0})
    pool = WorkPool("test", 2, 20)
    stop = threading.Event()
    at_once: list[int] = []  # of the jobs that began
    running = Counter[str]()

    def job() -> None:
        running["jobs"] += 1
        at_once.append(running["jobs"])
        stop.wait(30)
        running["jobs"] -= 1

    def fill() -> int:
        """Submit until the pool refuses; return how many run and wait then."""
        try:
            while True:
                pool.submit(job)
        except Overloaded:
            return pool.busy

    try:
        assert fill() == 22
        now_s += 0.1  # still a burst
        assert fill() == 22
        now_s += 0.11  # no longer
        assert fill() == 22  # those that wait are not sent away
        stop.set()
        while pool.busy:
            time.sleep(0.001)
        stop.clear()
        at_once.clear()
        assert fill() == 2  # kept short, for now
        with pytest.raises(Overloaded):
            pool.check_room()
        now_s += 2.9
        assert fill() == 2  # each refusal shows that it goes on
        stop.set()
        while pool.busy:
            time.sleep(0.001)
        assert at_once == [1, 1]  # one after the other: there is one core
        stop.clear()
        now_s += 3.1
        assert fill() == 22  # it is over
    finally:
        stop.set()
        pool.close()


@pytest.mark.parametrize("linger_s", [0.0, 0.001, 1.0])
def test_threads_are_called_again(linger_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_LINGER_S", linger_s)
    pool = WorkPool("again", threads=3, queue=1_000)
    names: Counter[str] = Counter()

    def work() -> int:
        names[threading.current_thread().name] += 1
        return 1

    async def main() -> None:
        for together in (1, 7, 2, 40, 1, 3) * 20:
            runs = [
                pool.run(work, RequestDeadline(5), client_that_leaves(9)) for _ in range(together)
            ]
            assert sum(await asyncio.wait_for(asyncio.gather(*runs), 10)) == together
            await asyncio.sleep(0.002 * (together == 1))

    asyncio.run(main())
    pool.close()
    assert sum(names.values()) == 54 * 20
    assert len(names) <= 3
    started_s = time.monotonic()
    for thread in threading.enumerate():
        if thread.name in names:
            thread.join(5)
    assert time.monotonic() - started_s < 0.5
    assert pool.busy == 0


def test_a_short_job_is_answered_though_nobody_looked_at_its_client(pool: WorkPool) -> None:
    asked: list[int] = []

    async def receive() -> Any:
        asked.append(1)
        return {"type": "http.disconnect"}

    async def main() -> None:
        assert await pool.run(lambda: 5, RequestDeadline(1), receive) == 5

    asyncio.run(main())
    assert asked == []


def test_work_after_work_has_one_look_at_its_client(pool: WorkPool) -> None:
    async def main() -> None:
        gone = asyncio.ensure_future(pool_module.wait_until_gone(client_that_leaves(0.05)))
        assert await pool.run(lambda: 5, RequestDeadline(1), client_that_leaves(0), gone=gone) == 5
        with pytest.raises(Cancelled):
            await pool.run(
                lambda: time.sleep(0.3), RequestDeadline(1), client_that_leaves(9), gone=gone
            )

    asyncio.run(main())
