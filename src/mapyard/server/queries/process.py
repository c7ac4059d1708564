"""The processes that answer queries: each asks nobody but the mapped dataset.

A child is forked in milliseconds for each socket that a worker sends. It answers one question after
the other, and ends with its socket, or by the system's timer when a query outlives its limit by
far and nobody is left to kill it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import socket
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from mapyard.dataset.own_speeds import find_own_speeds
from mapyard.deadline import Cancelled
from mapyard.errors import MapyardError, Overloaded, TooLarge
from mapyard.http.context import Context
from mapyard.http.endpoints import collect
from mapyard.http.parameters import read_params
from mapyard.http.pool import RequestDeadline
from mapyard.http.reply import Later, Reply, encode_answer
from mapyard.http.request import Request
from mapyard.http.router import Router
from mapyard.http.services import Services
from mapyard.library.snapshot import Snapshot, Snapshots
from mapyard.server.assembly import load_modules
from mapyard.server.names import set_process_name
from mapyard.server.queries import wire
from mapyard.settings import Settings

log = logging.getLogger(__name__)

#: Beside what queries may hold: what a child needs for itself, bytes.
OWN_BYTES: Final = 512 << 20
#: Where there are more queries than cores, the workers' loops go first.
NICENESS: Final = 10
#: A stream may take this long in all, seconds.
_STREAM_S: Final = 3_600.0
#: The worker kills a query that does not end; the system does where the worker is gone, so much
#: later, seconds.
_ORPHAN_S: Final = 10.0


def data_limit_bytes(settings: Settings) -> int:
    """Return the private memory that a child may have; the system gives it no more."""
    return 2 * settings.query_bytes + OWN_BYTES


class Forker:
    """Forks a child for each socket that comes over `asked`, which all workers share."""

    def __init__(
        self, settings: Settings, asked: socket.socket, modules: Iterable[ModuleType] = ()
    ) -> None:
        """Read all modules; `modules` have further endpoints."""
        self.settings = settings
        self._asked = asked
        self._router = Router(collect([*load_modules(), *modules]))

    def fork(self) -> bool:
        """Wait for a socket and fork the child that serves it; return False at the end."""
        data, fds, _, _ = socket.recv_fds(self._asked, 1, 1)
        if not data:
            return False
        for fd in fds:
            sock = socket.socket(fileno=fd)
            if os.fork() == 0:
                self._asked.close()
                set_process_name("mapyard-query")
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
                    Child(self.settings, self._router, sock).serve()
                os._exit(0)
            sock.close()
        return True


class Child:
    """Answers questions one after the other."""

    def __init__(self, settings: Settings, router: Router, sock: socket.socket) -> None:
        self.settings = settings
        self.router = router
        self.sock = sock
        self.services = Services(settings, Snapshots(settings))
        self.snapshot: Snapshot | None = None
        self.deadline: RequestDeadline | None = None

    def serve(self) -> None:
        """Answer until the socket ends."""
        limit = data_limit_bytes(self.settings)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        os.nice(NICENESS)
        signal.signal(signal.SIGUSR1, self._cancel)
        self.sock.sendall(wire.encode(wire.HELLO, os.getpid()))
        while (question := self._read()) is not None:
            signal.setitimer(signal.ITIMER_REAL, question.remaining_s + _ORPHAN_S)
            for part in self._answer(question):
                self.sock.sendall(part)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _cancel(self, *_: object) -> None:
        """The client went away: the query ends where it next looks at its deadline."""
        if self.deadline is not None:
            self.deadline.cancel()

    def _read(self) -> wire.Question | None:
        head = self._receive(wire.LENGTH.size)
        if head is None:
            return None
        length, _ = wire.LENGTH.unpack(head)
        content = self._receive(length)
        if content is None:
            return None
        return msgspec.msgpack.decode(content, type=wire.Question)

    def _receive(self, count: int) -> bytes | None:
        data = bytearray(count)
        view = memoryview(data)
        got = 0
        while got < count:
            size = self.sock.recv_into(view[got:])
            if not size:
                return None
            got += size
        return bytes(data)

    def _answer(self, question: wire.Question) -> Iterator[bytes]:
        try:
            yield from self._reply(question)
        except MapyardError as error:
            yield wire.encode(wire.ERROR, wire.Error.of(error))
        except Cancelled:
            yield wire.frame(wire.END)
        except MemoryError:
            yield wire.encode(wire.ERROR, wire.Error.of(too_much_memory(self.settings)))
        except (KeyboardInterrupt, GeneratorExit, BrokenPipeError, ConnectionResetError):
            raise
        except BaseException:
            yield wire.frame(wire.CRASH, traceback.format_exc().encode("utf-8", "replace"))
        finally:
            self.deadline = None

    def _reply(self, question: wire.Question) -> Iterator[bytes]:
        deadline = self.deadline = RequestDeadline(question.remaining_s)
        request = _make_request(question)
        reply = self._handle(request, question, deadline)
        head = wire.Head(reply.status, reply.headers, request.ignored, b"", is_whole=False)
        if reply.stream is None and len(reply.body) <= wire.CHUNK_BYTES:
            head.body, head.is_whole = reply.body, True
            yield wire.encode(wire.HEAD, head)
            return
        chunks: Iterator[bytes] = reply.stream if reply.stream is not None else _cut(reply.body)
        chunk = next(chunks, None)  # an error before the first part is still told as one
        deadline.extend(_STREAM_S)
        signal.setitimer(signal.ITIMER_REAL, _STREAM_S + _ORPHAN_S)
        yield wire.encode(wire.HEAD, head)
        while chunk is not None:
            for part in _cut(chunk):
                yield wire.frame(wire.CHUNK, part)
            deadline.check()
            chunk = next(chunks, None)
        yield wire.frame(wire.END)

    def _handle(
        self, request: Request, question: wire.Question, deadline: RequestDeadline
    ) -> Reply:
        found = self.router.find(question.path)
        assert found is not None, "the worker found it"
        route, values = found
        is_head = question.method == "HEAD"
        endpoint = route.by_method["GET" if is_head else question.method]
        raw, params, request.ignored = read_params(endpoint, request, values, question.body)
        ctx = Context(self.services, self._open(question.dataset), deadline, request, raw)
        try:
            answer = endpoint.handler(ctx, params)
        except Later as later:
            answer = later.make()
        return encode_answer(answer, request.headers, head=is_head)

    def _open(self, dataset: str) -> Snapshot:
        """Return the dataset that the worker has leased; the one before is let go.

        So is what was prepared at own speeds that are others now.
        """
        own_speeds = find_own_speeds(self.settings.data, dataset)
        if (
            self.snapshot is None
            or self.snapshot.id != dataset
            or self.snapshot.own_speeds != own_speeds
        ):
            if self.snapshot is not None:
                self.snapshot.retire()
                self.snapshot = None
            folder = self.settings.data / "datasets" / dataset
            try:
                self.snapshot = Snapshot(Path(folder), self.settings, check=False)
                self.snapshot.part("store")
            except (OSError, MapyardError) as error:
                self.snapshot = None
                log.error("a query found no dataset %s: %s", dataset, error)
                raise Overloaded("the dataset was just replaced; ask again") from None
        return self.snapshot


def _make_request(question: wire.Question) -> Request:
    scope: dict[str, Any] = {
        "type": "http",
        "method": question.method,
        "path": question.path,
        "query_string": question.query,
        "headers": question.headers,
        "scheme": question.scheme,
        "client": (question.client, 0),
    }
    request = Request(scope, _nothing, _nothing)
    request.id = question.request_id
    request.admission.account_id = question.account_id
    request.admission.key_id = question.key_id
    return request


async def _nothing(*_: Any) -> Any:
    raise RuntimeError("a query process reads and sends by frames only")


def _cut(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), wire.CHUNK_BYTES):
        yield body[start : start + wire.CHUNK_BYTES]


def too_much_memory(settings: Settings) -> TooLarge:
    """Return the error of a query that took more memory than it may."""
    return TooLarge(
        f"the query took more memory than the {settings.query_bytes:,} bytes that one may take; "
        "ask for less at once: a smaller area, fewer elements, a narrower filter",
        details={"limit": settings.query_bytes},
    )
