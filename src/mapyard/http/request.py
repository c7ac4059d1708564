"""One request of the application, from its first byte to its log line."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, Final

from mapyard.deadline import Cancelled
from mapyard.errors import InvalidRequest, Overloaded, Timeout, TooLarge
from mapyard.http.admission import Admission
from mapyard.http.endpoints import ErrorWriter
from mapyard.params.raw import Raw
from mapyard.settings import Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
#: Bytes of bodies that all requests of this process hold; one event loop, no lock.
_held: Final = {"bytes": 0}
#: Longest time of an upload and longest pause in it, seconds.
_UPLOAD_S: Final = 3_600.0
_UPLOAD_PAUSE_S: Final = 60.0
#: Bytes of it that are held until they are written.
_UPLOAD_BYTES: Final = 1 << 20
#: Bytes of a body that are kept until the answer is sent, for who looks into slow requests.
SAMPLE_BYTES: Final = 2_000
_HOST: Final = re.compile(r"[A-Za-z0-9._\[\]:-]{1,255}")


def _write_all(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[file.write(view) :]
    except OSError as error:
        raise Overloaded(f"the server cannot keep the file: {error.strerror}") from None


class Request:
    """What is known of a request while it is answered, and of its answer."""

    __slots__ = (
        "admission", "asks_for_ways", "body_bytes", "bytes_sent", "client", "code", "data_time",
        "engine_calls", "headers", "id", "ignored", "method", "must_close", "read", "receive",
        "route", "sample", "scope", "send", "started_s", "status", "statuses", "took_s",
        "upload", "vary", "write_error",
    )  # fmt: skip

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.started_s = time.perf_counter()
        self.scope = scope
        self.receive = receive
        self.send = send
        self.method: str = scope["method"]
        #: Names in lower case.
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        client = scope.get("client")
        self.client: str = client[0] if client else ""
        given = self.headers.get("x-request-id")
        self.id = given if given and _REQUEST_ID.fullmatch(given) else os.urandom(8).hex()
        #: Template of the route: what log, metrics and usage name, never the path itself.
        self.route = "unknown"
        self.admission = Admission()
        #: Parameters that mean nothing at this endpoint.
        self.ignored: tuple[str, ...] = ()
        #: Raw and parsed parameters, ignored names, where they were read before the handler.
        self.read: tuple[Raw, Any, tuple[str, ...]] | None = None
        self.status = 0
        #: How long it took until its usage was noted, just before the last byte; 0 before that.
        self.took_s = 0.0
        #: The oldest time of the parts that the answer was made of, "" for that of the dataset.
        self.data_time = ""
        #: Whether the handler has opened the road graph, and how often the engine was asked.
        self.asks_for_ways = False
        self.engine_calls = 0
        #: Code of an error → the status that this path answers instead of the common one.
        self.statuses: Mapping[str, int] = {}
        self.write_error: ErrorWriter | None = None
        #: Whether the answer depends on the languages that a client prefers.
        self.vary = False
        self.code = ""
        self.bytes_sent = 0
        #: What is held of the body, in bytes, and its begin.
        self.body_bytes = 0
        self.sample = b""
        #: The file that took the body, of an upload.
        self.upload: Path | None = None
        #: The connection cannot be used again: a body was left unread.
        self.must_close = False

    def note_data_time(self, timestamp: str) -> None:
        """Note of when the data of a part is that the answer was made of."""
        if timestamp and (not self.data_time or timestamp < self.data_time):
            self.data_time = timestamp

    @property
    def base_url(self) -> str:
        """Return scheme and host as the client named them."""
        host = self.headers.get("host", "")
        if not _HOST.fullmatch(host):
            host = "localhost"
        return f"{self.scope.get('scheme', 'http')}://{host}"

    async def read_body(self, settings: Settings) -> bytes:
        """Return the whole body, held until `let_go`.

        Raises TooLarge, Overloaded when all bodies together are too many bytes, Timeout, or
        Cancelled when the client leaves.
        """
        limit = settings.max_body_bytes
        encoding = self.headers.get("content-encoding", "identity")
        if encoding != "identity":
            self.must_close = True
            raise InvalidRequest.of(
                "body", f"content-encoding {encoding} is not read; send it plain"
            )
        length = self.headers.get("content-length", "")
        if length.isdigit() and int(length) > limit:
            raise self._too_large(limit, int(length))
        message = await self.receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            body: bytes = message.get("body", b"")
            if len(body) > limit:
                raise self._too_large(limit, len(body))
            self._hold(len(body), settings)
            self.sample = body[:SAMPLE_BYTES]
            return body
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(settings.timeout_s):
                while True:
                    if message["type"] == "http.disconnect":
                        raise Cancelled
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if size > limit:
                        raise self._too_large(limit, size)
                    self._hold(len(chunk), settings)
                    chunks.append(chunk)
                    if not message.get("more_body"):
                        body = b"".join(chunks)
                        self.sample = body[:SAMPLE_BYTES]
                        return body
                    message = await self.receive()
        except TimeoutError:
            self.must_close = True
            raise Timeout(f"the body did not arrive within {settings.timeout_s:g} s") from None

    async def save_body(
        self, path: Path, limit: int, run: Callable[[Callable[[], object]], Awaitable[object]]
    ) -> None:
        """Write the body to a new file as it comes; `run` runs what touches the disk.

        Raises TooLarge, Timeout when nothing comes for a minute or it takes more than an hour,
        Cancelled when the client leaves.
        """
        encoding = self.headers.get("content-encoding", "identity")
        length = self.headers.get("content-length", "")
        if encoding != "identity":
            self.must_close = True
            raise InvalidRequest.of(
                "body", f"content-encoding {encoding} is not read; send it plain, or as .zip"
            )
        if length.isdigit() and int(length) > limit:
            raise self._too_large(limit, int(length))
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        size = 0
        waiting: list[bytes] = []
        waiting_bytes = 0
        self.upload = path
        ends_s = time.monotonic() + _UPLOAD_S
        with os.fdopen(fd, "wb", buffering=0) as file:
            while True:
                if time.monotonic() > ends_s:
                    self.must_close = True
                    raise Timeout(f"the upload took more than {_UPLOAD_S:g} s; send a smaller file")
                try:
                    async with asyncio.timeout(_UPLOAD_PAUSE_S):
                        message = await self.receive()
                except TimeoutError:
                    self.must_close = True
                    raise Timeout(f"nothing of the body came for {_UPLOAD_PAUSE_S:g} s") from None
                if message["type"] == "http.disconnect":
                    raise Cancelled
                chunk = message.get("body", b"")
                size += len(chunk)
                waiting_bytes += len(chunk)
                if size > limit:
                    raise self._too_large(limit, size)
                waiting.append(chunk)
                is_last = not message.get("more_body")
                if waiting_bytes >= _UPLOAD_BYTES or is_last:
                    await run(partial(_write_all, file, b"".join(waiting)))
                    waiting, waiting_bytes = [], 0
                if is_last:
                    return

    def let_go(self) -> None:
        """The body is not held any more."""
        _held["bytes"] -= self.body_bytes
        self.body_bytes = 0

    def _hold(self, count: int, settings: Settings) -> None:
        if _held["bytes"] + count > max(settings.bodies_bytes, settings.max_body_bytes):
            self.must_close = True
            raise Overloaded("the server holds too many request bodies; try again in a moment")
        _held["bytes"] += count
        self.body_bytes += count

    def _too_large(self, limit: int, count: int) -> TooLarge:
        self.must_close = True
        return TooLarge(
            f"the body has {count} bytes or more, at most {limit} are read; send less at once",
            details={"parameter": "body", "limit": limit, "count": count},
        )
