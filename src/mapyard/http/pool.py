"""Bounded thread pools for what takes longer than the event loop may be held.

A full queue refuses at once. A client that goes away cancels the request's deadline, which the
work looks at between its steps; work that ignores its deadline is answered 408 after a grace.
Both are looked at for work that takes longer than most: what is done in a few milliseconds costs a
thread's turn and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from mapyard.deadline import Cancelled, Deadline
from mapyard.errors import Overloaded, Timeout

T = TypeVar("T")
Receive = Callable[[], Awaitable[Any]]

#: How long after its deadline a thread that did not look at it is waited for, seconds.
GRACE_S: Final = 2.0
#: A queue that was never empty for so long is no burst: the server gets more than it can do.
STANDING_S: Final = 0.2
#: For how long the queue is kept short then, seconds; anew with each refusal.
SHORT_S: Final = 3.0
#: Until then nobody looks whether the client of a job has gone, seconds.
_PATIENCE_S: Final = 0.02
#: How long a thread without work waits for some before it goes back to the executor, which
#: takes longer to call it; also how long a process that ends may wait for it, seconds.
_LINGER_S: Final = 1.0
#: A thread so long past its job's deadline is not going to look at it, seconds.
STUCK_S: Final = 15.0


class RequestDeadline(Deadline):
    """A deadline that begins anew for a stream, where the client sets the pace."""

    __slots__ = ()

    def extend(self, limit_s: float) -> None:
        """Let `limit_s` more seconds pass from now on."""
        self.limit_s = limit_s
        self._ends_s = time.monotonic() + limit_s


class WorkPool:
    """Threads with a bounded queue before them."""

    def __init__(self, name: str, threads: int, queue: int) -> None:
        self.name = name
        self.threads = threads
        self.queue = queue
        #: Jobs running or waiting; a job whose client went away counts until its thread is free.
        self.busy = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        #: Threads at work, or called to it, and threads that wait to be called.
        self._active = 0
        self._idle = 0
        #: Calls a thread to work, or, with False, back to the executor.
        self._calls: SimpleQueue[bool] = SimpleQueue()
        self._is_closed = False
        #: When last nobody waited, and until when the queue is kept short.
        self._clear_s = time.monotonic()
        self._short_until_s = 0.0
        #: How many threads work while the queue is kept short: as many as there are cores. More
        #: would do no more, and the event loop would come too late to refuse anybody in time.
        self._lanes = min(threads, len(os.sched_getaffinity(0)))
        #: Deadlines of the jobs that threads work on.
        self._running: set[Deadline] = set()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    def submit(
        self,
        job: Callable[[], T],
        on_done: Callable[[], None] | None = None,
        *,
        always: bool = False,
    ) -> Future[T]:
        """Return the future of a job; raise Overloaded when the queue is full and not `always`.

        A burst may fill the whole queue. Where it is full and was never empty for a while, requests
        come faster than they are answered, and a long queue would only make all of them late. So
        it is kept short then: what is admitted is answered nearly as fast as ever, the rest is
        refused at once.

        `on_done` is called once, from any thread, when the job has ended or will never begin.
        """
        future: Future[T] = Future()

        def done(_: Future[T]) -> None:
            with self._lock:
                self.busy -= 1
            if on_done is not None:
                on_done()

        with self._lock:
            if not always:
                self._check_room()
            self.busy += 1
            self._waiting.append((future, job))
            starts = self._active < self._most_active()
            self._active += starts
            calls = starts and self._idle > 0
            self._idle -= calls
        future.add_done_callback(done)
        if calls:
            self._calls.put(True)
        elif starts:
            self._executor.submit(self._serve)
        return future

    def check_room(self) -> None:
        """Raise Overloaded if a job would be refused now."""
        with self._lock:
            self._check_room()

    def _check_room(self) -> None:
        if self.busy >= self._room():
            raise Overloaded(
                "the server has more requests waiting than it can answer in time; "
                "try again in a moment",
                details={"waiting": self.busy - self._active, "limit": self.queue},
            )

    def _room(self) -> int:
        """Return how many jobs may run and wait now."""
        now_s = time.monotonic()
        long, short = self.threads + self.queue, self._lanes + min(self.queue, self._lanes)
        if self.busy <= self.threads:
            self._clear_s = now_s
        if now_s >= self._short_until_s and (
            self.busy < long or now_s - self._clear_s <= STANDING_S
        ):
            return long
        if self.busy >= short:
            self._short_until_s = now_s + SHORT_S
        return short

    def _most_active(self) -> int:
        return self._lanes if time.monotonic() < self._short_until_s else self.threads

    def _serve(self) -> None:
        """Work whenever this thread is called to, until it was not for a while."""
        while self._work():
            while True:
                with suppress(Empty):
                    if self._calls.get(timeout=_LINGER_S):
                        break
                    return
                with self._lock:
                    if self._idle:  # else somebody is calling just now
                        self._idle -= 1
                        return

    def _work(self) -> bool:
        """Do waiting jobs, one after the other, until there are none for this thread.

        Returns whether it may be called again.
        """
        while True:
            with self._lock:
                if not self._waiting or self._active > self._most_active():
                    self._active -= 1
                    self._idle += not self._is_closed
                    return not self._is_closed
                future, job = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = job()
            except BaseException as error:  # the future's owner gets it
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, job

    async def run(
        self,
        job: Callable[[], T],
        deadline: Deadline,
        receive: Receive,
        on_done: Callable[[], None] | None = None,
        *,
        always: bool = False,
        gone: asyncio.Future[None] | None = None,
    ) -> T:
        """Run a job in the pool; raise Cancelled when the client goes away, Timeout when late.

        `gone`, of `wait_until_gone`, is for those that run one job after the other.
        """

        def timed() -> T:
            self._running.add(deadline)
            try:
                return job()
            finally:
                self._running.discard(deadline)

        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        watch = gone
        timer: asyncio.TimerHandle

        def wake(_: object = None) -> None:
            if not turn.done():
                turn.set_result(None)

        def tell(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(wake)

        def look() -> None:
            nonlocal watch, timer
            if watch is None:
                watch = asyncio.ensure_future(wait_until_gone(receive))
            watch.add_done_callback(wake)
            timer = loop.call_later(max(0.0, deadline.remaining_s() + GRACE_S), wake)

        work = self.submit(timed, on_done, always=always)
        timer = loop.call_later(_PATIENCE_S, look)
        work.add_done_callback(tell)
        try:
            await turn
            if work.done():
                return work.result()
            deadline.cancel()
            if watch is not None and watch.done():
                raise Cancelled
            raise Timeout(f"the request took longer than its limit of {deadline.limit_s:g} s")
        finally:
            timer.cancel()
            if watch is not None and watch is not gone:
                watch.cancel()
            elif watch is not None:
                watch.remove_done_callback(wake)
            work.cancel()  # a job still waiting for a thread need not begin

    @property
    def is_stuck(self) -> bool:
        """Whether no thread will be free: all are long past the deadlines of their jobs."""
        late = sum(deadline.late_s() > STUCK_S for deadline in list(self._running))
        return late >= self.threads

    def warm(self, job: Callable[[], object]) -> None:
        """Run a job some time, if there is room; its errors do not matter."""
        if self.busy < self.threads:
            self.submit(job)

    def close(self) -> None:
        """Begin nothing more."""
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
            self._is_closed = True
            idle, self._idle = self._idle, 0
        for _ in range(idle):
            self._calls.put(False)
        for future, _ in waiting:
            future.cancel()
        self._executor.shutdown(wait=False, cancel_futures=True)


def take_outcome(future: asyncio.Future[Any]) -> None:
    """Look at the outcome of a job for which nobody waits any more, or asyncio would log it."""
    if not future.cancelled():
        future.exception()


async def wait_until_gone(receive: Receive) -> None:
    """Return when the client has gone away; what it still sends is passed over."""
    while (await receive())["type"] != "http.disconnect":
        pass
