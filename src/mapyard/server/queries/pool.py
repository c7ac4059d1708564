"""A worker's query processes: some run, others wait their turn, and what goes wrong is killed.

A query whose process does not answer within its time and a grace, or takes too much memory, is
killed with its process, and nothing else is: each process has one query. Another process is forked
in milliseconds. A process whose client takes its answer slowly gives its slot back, so that such a
client holds up nobody; how many may do so is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import msgspec

from mapyard.deadline import Cancelled, Deadline
from mapyard.errors import MapyardError, Overloaded, Timeout
from mapyard.http import metrics
from mapyard.http.apart import ApartReply
from mapyard.http.errors import internal_error
from mapyard.http.pool import take_outcome, wait_until_gone
from mapyard.http.request import Request
from mapyard.http.stops import Stopped, last_stop_ns
from mapyard.server.queries import wire
from mapyard.server.queries.fair import FairQueue
from mapyard.server.queries.process import data_limit_bytes, too_much_memory
from mapyard.settings import Settings

log = logging.getLogger(__name__)

#: How long after its deadline, or after its client left, a query is waited for, seconds.
GRACE_S: Final = 1.0
#: How often a running query's memory is looked at, seconds.
LOOK_S: Final = 0.1
#: A process that kept more private memory than this after a query is not used again, bytes.
KEPT_BYTES: Final = 384 << 20
#: A client that does not take a part of its answer for so long reads slowly, seconds.
SLOW_S: Final = 0.25
#: Processes that wait for slow clients, for each slot.
STREAMS_PER_SLOT: Final = 4
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Process:
    """One query process."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pid: int
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.pid = pid
        try:
            self._pidfd = os.pidfd_open(pid)
        except OSError:  # it has died already
            self._pidfd = -1
        self.has_answered = True
        #: The dataset of its last query.
        self.dataset = ""
        self._reading: asyncio.Task[tuple[int, bytes]] | None = None

    def send(self, data: bytes) -> None:
        """Send a question."""
        self.has_answered = False
        self.writer.write(data)

    def reading(self) -> asyncio.Task[tuple[int, bytes]]:
        """Return the task that reads the next frame, which may wait for it longer than we do."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
            self._reading.add_done_callback(take_outcome)
        return self._reading

    def take(self) -> tuple[int, bytes]:
        """Return the frame that was read; raise IncompleteReadError when the process has died."""
        assert self._reading is not None
        reading, self._reading = self._reading, None
        kind, content = reading.result()
        self.has_answered = kind in (wire.END, wire.ERROR, wire.CRASH)
        return kind, content

    async def _read(self) -> tuple[int, bytes]:
        length, kind = wire.LENGTH.unpack(await self.reader.readexactly(wire.LENGTH.size))
        return kind, await self.reader.readexactly(length)

    def signal(self, number: int) -> None:
        """Send a signal, if the process still lives."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def private_bytes(self) -> int:
        """Return the memory that is the process's own."""
        try:
            fields = Path(f"/proc/{self.pid}/statm").read_bytes().split()
        except OSError:
            return 0
        return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES

    def end(self) -> None:
        """Kill the process."""
        self.signal(signal.SIGKILL)
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        self.writer.close()


class QueryPool:
    """Answers requests in processes; of one event loop."""

    def __init__(self, settings: Settings, asked: socket.socket) -> None:
        """Processes are asked for over `asked`; other event loops may use the same socket."""
        self.settings = settings
        self.queue: FairQueue[asyncio.Future[None]] = FairQueue(
            settings.query_processes, settings.queue
        )
        self._asked = asked
        self._idle: list[Process] = []
        self._all: weakref.WeakSet[Process] = weakref.WeakSet()
        self._streaming = 0
        self._loop = asyncio.get_running_loop()
        self._dataset = ""
        self._background: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> int:
        """Return the queries running, waiting or streaming."""
        return self.queue.running + self.queue.waiting + self._streaming

    async def close(self) -> None:
        """End all processes."""
        for process in list(self._all):
            process.end()
        await asyncio.sleep(0)  # the connections are closed by the loop
        self._asked.close()

    def note_dataset(self, dataset: str) -> None:
        """Let idle processes that hold another dataset go; called from any thread."""
        self._loop.call_soon_threadsafe(self._end_others, dataset)

    def _end_others(self, dataset: str) -> None:
        self._dataset = dataset
        for process in [item for item in self._idle if item.dataset not in ("", dataset)]:
            self._idle.remove(process)
            process.end()

    @contextlib.asynccontextmanager
    async def ask(
        self, request: Request, body: bytes, dataset: str, deadline: Deadline
    ) -> AsyncIterator[ApartReply]:
        """Give the reply of a process; see http/apart.py."""
        account = request.admission.account_id
        gone = asyncio.ensure_future(wait_until_gone(request.receive))
        try:
            await self._wait_for_turn(account, deadline, gone)
            turn = _Turn(self, account)
            try:
                process = await self._take(deadline)
                run = _Run(self, process, request, deadline, gone)
                try:
                    process.dataset = dataset
                    process.send(_encode(request, body, dataset, deadline))
                    yield await run.reply(turn)
                finally:
                    self._put_back(process, run)
            finally:
                turn.end()
        finally:
            gone.cancel()

    async def _wait_for_turn(
        self, account: int, deadline: Deadline, gone: asyncio.Future[None]
    ) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.queue.add(account, turn)
        self.let_begin()
        if turn.done():
            return
        try:
            await asyncio.wait(
                (turn, gone), timeout=deadline.remaining_s(), return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            if turn.done():
                self.queue.done(account, 0.0)
                self.let_begin()
            raise
        finally:
            self.queue.drop(account, turn)
        if turn.done():
            return
        if gone.done():
            raise Cancelled
        raise Overloaded(
            f"no query process was free within the request's limit of {deadline.limit_s:g} s; "
            "try again in a moment"
        )

    def let_begin(self) -> None:
        """Tell those whose turn it is."""
        while (found := self.queue.next()) is not None:
            account, turn = found
            if turn.done():  # it was cancelled
                self.queue.done(account, 0.0)
            else:
                turn.set_result(None)

    async def _take(self, deadline: Deadline) -> Process:
        while self._idle:
            process = self._idle.pop()
            if not process.reader.at_eof():
                return process
            process.end()
        try:
            async with asyncio.timeout(deadline.remaining_s()):
                return await self._fork()
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            raise Overloaded("no query process could be started; try again in a moment") from None

    async def _fork(self) -> Process:
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._asked, [b"f"], [theirs.fileno()], socket.MSG_DONTWAIT)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=1 << 20)
        try:
            length, _ = wire.LENGTH.unpack(await reader.readexactly(wire.LENGTH.size))
            pid = msgspec.msgpack.decode(await reader.readexactly(length), type=int)
        except BaseException:
            writer.close()
            raise
        process = Process(reader, writer, pid)
        self._all.add(process)
        return process

    def _put_back(self, process: Process, run: _Run) -> None:
        """Keep a process that is through with its query; kill the others, perhaps after a grace."""
        if process.has_answered:
            is_fit = (
                process.private_bytes() <= KEPT_BYTES
                and process.dataset == (self._dataset or process.dataset)
                and len(self._idle) < self.settings.query_processes
            )
            if is_fit:
                self._idle.append(process)
            else:
                process.end()
        elif run.is_killed or run.has_begun:
            process.end()  # a stream that nobody reads to its end
        else:  # the client left: most queries look at their deadline soon
            process.signal(signal.SIGUSR1)
            task = asyncio.ensure_future(self._wait_for_end(process, run))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _wait_for_end(self, process: Process, run: _Run) -> None:
        with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError, OSError):
            async with asyncio.timeout(GRACE_S):
                while not process.has_answered:
                    await asyncio.shield(process.reading())
                    kind, content = process.take()
                    if kind == wire.HEAD:
                        head = msgspec.msgpack.decode(content, type=wire.Head)
                        process.has_answered = head.is_whole
        if not process.has_answered:
            metrics.QUERIES_KILLED.labels("left").inc()
            process.end()
            return
        self._put_back(process, run)


class _Turn:
    """A slot: given back once, when a stream begins or at the end."""

    def __init__(self, pool: QueryPool, account: int) -> None:
        self._pool = pool
        self._account = account
        self._began_s = time.monotonic()
        self._is_streaming = False
        self._has_slot = True

    def stream(self) -> None:
        """Give the slot back for the rest of the answer."""
        if not self._is_streaming:
            self._pool._streaming += 1
            self._is_streaming = True
            self._give_back()

    @property
    def has_room(self) -> bool:
        """Whether another slow client can be borne."""
        pool = self._pool
        most = STREAMS_PER_SLOT * pool.settings.query_processes
        return self._is_streaming or pool._streaming < most

    def end(self) -> None:
        """Give back what is left."""
        if self._is_streaming:
            self._pool._streaming -= 1
            self._is_streaming = False
        self._give_back()

    def _give_back(self) -> None:
        if self._has_slot:
            self._has_slot = False
            self._pool.queue.done(self._account, time.monotonic() - self._began_s)
            self._pool.let_begin()


class _Run:
    """One query in one process: waits for frames, and looks at time, memory and client."""

    def __init__(
        self,
        pool: QueryPool,
        process: Process,
        request: Request,
        deadline: Deadline,
        gone: asyncio.Future[None],
    ) -> None:
        self._pool = pool
        self._process = process
        self._request = request
        self._deadline = deadline
        self._gone = gone
        self._base_bytes = process.private_bytes()
        self._peak_bytes = 0
        self._began_ns = time.time_ns()
        self.is_killed = False
        #: The reply's head has come.
        self.has_begun = False

    async def reply(self, turn: _Turn) -> ApartReply:
        """Return the head with what belongs to it; raise what the process says."""
        kind, content = await self._frame(self._deadline.remaining_s() + GRACE_S)
        if kind != wire.HEAD:
            self._raise(kind, content)
        head = msgspec.msgpack.decode(content, type=wire.Head)
        self.has_begun = True
        if head.is_whole:
            self._process.has_answered = True
            return ApartReply(head.status, head.headers, head.ignored, head.body, None)
        return ApartReply(head.status, head.headers, head.ignored, b"", self._chunks(turn))

    async def _chunks(self, turn: _Turn) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()

        def note_slow() -> None:
            if turn.has_room:
                turn.stream()
            else:  # the answer breaks off when the client takes this part
                self._kill("slow")

        while True:
            kind, content = await self._frame(self._pool.settings.timeout_s + GRACE_S)
            if kind == wire.END:
                return
            if kind != wire.CHUNK:
                self._raise(kind, content)
            slow = loop.call_later(SLOW_S, note_slow)
            try:
                yield content
            finally:
                slow.cancel()

    async def _frame(self, limit_s: float) -> tuple[int, bytes]:
        """Return the next frame, or kill the process and raise why."""
        reading = self._process.reading()
        ends_s = time.monotonic() + limit_s
        try:
            while True:
                left_s = ends_s - time.monotonic()
                if left_s <= 0:
                    self._kill("time")
                    raise Timeout(
                        f"the request took longer than its limit of {self._deadline.limit_s:g} s"
                    )
                waits: list[asyncio.Future[Any]] = [reading, self._gone]
                await asyncio.wait(
                    waits, timeout=min(LOOK_S, left_s), return_when=asyncio.FIRST_COMPLETED
                )
                if reading.done():
                    return self._process.take()
                if self._gone.done():
                    raise Cancelled
                self._look_at_memory()
                self._look_at_stops()
        except (asyncio.IncompleteReadError, ConnectionError):
            raise self._explain_death() from None

    def _look_at_memory(self) -> None:
        used = self._process.private_bytes() - self._base_bytes
        self._peak_bytes = max(self._peak_bytes, used)
        if used > 2 * self._pool.settings.query_bytes:
            self._kill("memory")
            raise too_much_memory(self._pool.settings)

    def _look_at_stops(self) -> None:
        account = self._request.admission.account_id
        if last_stop_ns(self._pool.settings, account) > self._began_ns:
            self._kill("stopped")
            raise Stopped

    def _explain_death(self) -> MapyardError:
        """Return the error for a process that ended without an answer."""
        self.is_killed = True
        limit = data_limit_bytes(self._pool.settings)
        if self._peak_bytes > self._pool.settings.query_bytes // 2 or self._peak_bytes > limit // 4:
            metrics.QUERIES_KILLED.labels("memory").inc()
            return too_much_memory(self._pool.settings)
        metrics.QUERIES_KILLED.labels("died").inc()
        log.error(
            "%s: a query process died", self._request.route, extra={"request_id": self._request.id}
        )
        return internal_error(self._request.id)

    def _kill(self, reason: str) -> None:
        self.is_killed = True
        metrics.QUERIES_KILLED.labels(reason).inc()
        self._process.end()

    def _raise(self, kind: int, content: bytes) -> None:
        if kind == wire.ERROR:
            raise msgspec.msgpack.decode(content, type=wire.Error).to_error()
        if kind == wire.CRASH:
            log.error(
                "%s crashed", self._request.route,
                extra={"request_id": self._request.id, "trace": content.decode()},
            )  # fmt: skip
            raise internal_error(self._request.id)
        raise Cancelled


def _encode(request: Request, body: bytes, dataset: str, deadline: Deadline) -> bytes:
    question = wire.Question(
        method=request.method,
        path=request.scope["path"],
        query=request.scope["query_string"],
        headers=[(bytes(name), bytes(value)) for name, value in request.scope["headers"]],
        scheme=request.scope.get("scheme", "http"),
        client=request.client,
        account_id=request.admission.account_id,
        key_id=request.admission.key_id,
        request_id=request.id,
        body=body,
        dataset=dataset,
        remaining_s=deadline.remaining_s(),
    )
    return wire.encode(wire.QUESTION, question)
