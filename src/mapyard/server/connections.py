"""Connections as they come from anybody: how many, how large their requests' heads, how slow.

All of this is before a key is known. A worker holds a bounded number of connections, in all and of
one address; a head has a bounded size; what is silent too long ends. One look a second at all
connections serves for every time limit, so a request costs no timer.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Iterable
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mapyard.errors import InvalidRequest, MapyardError, Overloaded, Timeout, TooLarge
from mapyard.http import metrics
from mapyard.http.errors import encode_error
from mapyard.server.files import OWN_FILES, raise_file_limit
from mapyard.settings import Settings

log = logging.getLogger(__name__)

#: The whole head: request line and headers. A query string may have 65,536 bytes.
MAX_HEAD_BYTES: Final = 131_072
MAX_HEADERS: Final = 100
#: Requests that one connection may have sent ahead of their answers.
MAX_AHEAD: Final = 64
#: A connection between two requests is kept this long, seconds.
KEEP_ALIVE_S: Final = 75.0
#: A client that takes nothing of its answer for so long has gone, seconds.
WRITE_S: Final = 60.0
#: How long a client that was refused may still send, so that it gets to read why, seconds.
LINGER_S: Final = 5.0
_MOST_LINGERING: Final = 64
SWEEP_S: Final = 1.0

_BAD_ADDRESS: Final = (
    "the request's address holds characters that HTTP does not allow there: percent-encode them, "
    "as UTF-8: %20 for a space, %C3%A4 for ä (curl does it with -G --data-urlencode 'q=…')"
)
_RAW: Final = re.compile(rb"[\x80-\xff]+")

# What the parser is at.
_BETWEEN, _HEAD, _BODY = range(3)

Network = IPv4Network | IPv6Network


_NO_REQUEST: Final = "this is not an HTTP/1.1 request; a space in an address is written %20"


class HeadTooLarge(TooLarge):
    """Request line and headers are over their limit."""

    status = 431


class Connections:
    """All connections of a worker, and what they may do."""

    def __init__(
        self, limit: int, per_address: int, read_s: float, trusted: Iterable[str] = ()
    ) -> None:
        self.limit = limit
        self.per_address = per_address
        self.read_s = read_s
        self.open: set[Connection] = set()
        self.lingering = 0
        self._by_address: Counter[str] = Counter()
        self._trusted = _read_networks(trusted)
        self._exempt: dict[str, bool] = {}

    @classmethod
    def of(cls, settings: Settings) -> Connections:
        """Return the limits of the settings, within what the system lets this process open."""
        limit = min(settings.connections, max(1, raise_file_limit() - OWN_FILES))
        return cls(
            limit, settings.connections_per_address, settings.read_s, settings.trusted_proxies
        )

    def add(self, connection: Connection) -> MapyardError | None:
        """Count a new connection; return why it is refused, or None."""
        error: MapyardError | None = None
        if len(self.open) >= self.limit and not self._close_quietest():
            error = Overloaded("the server has no room for another connection; try again soon")
        self.open.add(connection)
        address = connection.address
        self._by_address[address] += 1
        if self._by_address[address] > self.per_address and not self._is_exempt(address):
            error = Overloaded(
                f"more than {self.per_address} connections are open from this address; "
                "use them again instead of opening others",
                details={"limit": self.per_address},
            )
        return error

    def remove(self, connection: Connection) -> None:
        """Count one less."""
        if connection in self.open:
            self.open.remove(connection)
            self._by_address[connection.address] -= 1
            if not self._by_address[connection.address]:
                del self._by_address[connection.address]

    def sweep(self, now_s: float) -> None:
        """End what was silent too long."""
        for connection in list(self.open):
            connection.end_if_silent(now_s)

    async def keep_sweeping(self) -> None:
        """Look at all connections once a second, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_S)
            self.sweep(loop.time())

    def _close_quietest(self) -> bool:
        """Make room: close the connection that has waited longest without a request."""
        idle = [connection for connection in self.open if connection.is_idle]
        if not idle:
            return False
        quietest = min(idle, key=lambda connection: connection.since_s)
        quietest.transport.abort()
        self.remove(quietest)
        metrics.CLOSED.labels("room").inc()
        return True

    def _is_exempt(self, address: str) -> bool:
        """Return whether this is a proxy of ours, behind which are many clients."""
        known = self._exempt.get(address)
        if known is None:
            try:
                parsed = ip_address(address)
            except ValueError:  # a Unix socket
                known = True
            else:
                known = any(parsed in network for network in self._trusted)
            if len(self._exempt) >= 10_000:
                self._exempt.clear()
            self._exempt[address] = known
        return known


def _read_networks(names: Iterable[str]) -> list[Network]:
    networks: list[Network] = []
    for name in names:
        if name == "*":
            networks += [ip_network("0.0.0.0/0"), ip_network("::/0")]
            continue
        try:
            networks.append(ip_network(name, strict=False))
        except ValueError:
            continue  # uvicorn takes names of sockets too
    return networks


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits. To an answer it is also the transport: see `close`."""

    def __init__(self, guard: Connections, **options: Any) -> None:
        super().__init__(**options)
        self.guard = guard
        self.address = ""
        #: When the head, the last part of the body, or the wait for the next request began.
        self.since_s = 0.0
        self._phase = _HEAD
        self._is_lingering = False
        self._paused_s = 0.0  # when the client stopped taking its answer
        self._head_bytes = 0  # of a head that is not whole yet
        self._feed_bytes = 0
        self._got_body = False
        self._waste_bytes = 0  # in a body: chunk sizes and trailers
        self._error: MapyardError | None = None
        self._begun = False
        self._in_line = True  # the request line is not whole yet

    # What asyncio calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it; refuse what is over the limits."""
        super().connection_made(transport)
        #: The answer writes to the transport itself.
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.address = self.client[0] if self.client else ""
        self.since_s = self.loop.time()
        error = self.guard.add(self)
        if error is not None:
            self._refuse(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count one less."""
        self.guard.remove(self)
        if self._is_lingering:
            self.guard.lingering -= 1
            self._is_lingering = False
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse; refuse a head that is too large before it is whole."""
        if self._is_lingering:
            return
        before = self._phase
        if (before == _BETWEEN or self._in_line) and not data.isascii():
            data = _encode_line(data)
        self._feed_bytes = size = len(data)
        self._got_body = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # answered as if the client had not asked for another protocol
        except httptools.HttpParserInvalidURLError:
            self._refuse(InvalidRequest(_BAD_ADDRESS))
            return
        except httptools.HttpParserError:
            self._refuse(self._error or InvalidRequest(_NO_REQUEST))
            return
        if self._phase == _HEAD:
            self._begun = True
            if before == _BETWEEN or self._in_line:
                self._in_line = b"\n" not in data.lstrip(b"\r\n")
            if before == _HEAD:
                self._head_bytes += size
                if self._head_bytes > MAX_HEAD_BYTES:
                    self._refuse(_head_too_large())
        elif self._phase == _BODY and before == _BODY and not self._got_body:
            self._waste_bytes += size
            if self._waste_bytes > MAX_HEAD_BYTES:
                self._refuse(InvalidRequest("the body's chunks hold little but their own lengths"))

    def pause_writing(self) -> None:
        """Note since when the client takes nothing."""
        self._paused_s = self.loop.time()
        super().pause_writing()

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Begin the time limit of a head."""
        self._phase = _HEAD
        self.since_s = self.loop.time()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header."""
        if self._phase != _HEAD:
            return  # what follows a body in chunks is passed over
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Start the application, if the head is within its limits."""
        headers = self.headers
        if len(headers) > MAX_HEADERS:
            self._error = _head_too_large(len(headers))
            raise self._error
        if self._head_bytes + self._feed_bytes > MAX_HEAD_BYTES:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in headers)
            if size > MAX_HEAD_BYTES:
                self._error = _head_too_large()
                raise self._error
        if len(self.pipeline) >= MAX_AHEAD:
            self.transport.abort()
            return
        self._head_bytes = self._waste_bytes = 0
        self._phase = _BODY
        self._in_line = False
        super().on_headers_complete()
        # Closing is ours: a client that is still sending must get to read its answer.
        self.cycle.transport = cast(asyncio.Transport, self)

    def on_body(self, body: bytes) -> None:
        """Begin the time limit anew."""
        self._got_body = True
        if not self.cycle.response_complete:  # else the rest has one time limit in all
            self.since_s = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that all of the request is here."""
        self._phase = _BETWEEN
        super().on_message_complete()

    # What an answer calls.

    def on_response_complete(self) -> None:
        """Start the next request that was sent ahead, or wait for one."""
        self.server_state.total_requests += 1
        if self._is_lingering or self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self.since_s = self.loop.time()

    def close(self) -> None:
        """Close; where the client is still sending, after it had time to read the answer."""
        if self._phase == _BETWEEN:
            self.transport.close()
        else:
            self._linger()

    # Limits.

    @property
    def is_idle(self) -> bool:
        """Return whether no request is here whole, being read or answered."""
        return self._phase != _BODY and not self._is_busy and not self._is_lingering

    @property
    def _is_busy(self) -> bool:
        return bool(self.pipeline) or (self.cycle is not None and not self.cycle.response_complete)

    def end_if_silent(self, now_s: float) -> None:
        """Look at the time limits."""
        age_s = now_s - self.since_s
        if self._is_lingering:
            if age_s > LINGER_S:
                self.transport.abort()
        elif self.flow.write_paused:
            if now_s - self._paused_s > WRITE_S:
                self._give_up("write")
        elif self._phase == _BETWEEN:
            if age_s > KEEP_ALIVE_S and not self._is_busy:
                self.transport.close()
        elif age_s > self.guard.read_s and not self.flow.read_paused:
            if self._phase == _HEAD:
                self._end_head()
            elif self.cycle.response_complete or self.cycle.response_started or self.pipeline:
                self._give_up("body")
            else:
                metrics.CLOSED.labels("body").inc()
                self._refuse(Timeout(f"no byte of the body came for {self.guard.read_s:g} s"))

    def _end_head(self) -> None:
        if self._is_busy:
            return  # sent ahead of an answer that is being made
        if not self._begun:
            self._give_up("silent")
            return
        metrics.CLOSED.labels("head").inc()
        self._refuse(Timeout(f"the request's head did not come within {self.guard.read_s:g} s"))

    def _give_up(self, reason: str) -> None:
        metrics.CLOSED.labels(reason).inc()
        self.transport.abort()

    def _refuse(self, error: MapyardError) -> None:
        """Answer without the application, and close."""
        if self.pipeline:  # an earlier answer is due first
            self.transport.abort()
            return
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if cycle.response_started or self._phase != _BODY:
                self.transport.abort()
                return
            cycle.disconnected = True  # its application stops
            cycle.message_event.set()
        metrics.REFUSED.labels(error.code).inc()
        body = encode_error(error)
        lines = [
            b"HTTP/1.1 %d %s\r\n" % (error.status, HTTPStatus(error.status).phrase.encode()),
            *(name + b": " + value + b"\r\n" for name, value in self.server_state.default_headers),
            *(f"{name}: {value}\r\n".encode("latin-1") for name, value in error.headers.items()),
            b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body),
            b"connection: close\r\n\r\n",
            body,
        ]
        self.transport.write(b"".join(lines))
        self._linger()

    def _linger(self) -> None:
        """Send nothing more, and take for a while what comes: an answer not read is lost else."""
        if self._is_lingering or self.transport.is_closing():
            return
        if self.guard.lingering >= _MOST_LINGERING or not self.transport.can_write_eof():
            self.transport.close()
            return
        self._is_lingering = True
        self.guard.lingering += 1
        self.since_s = self.loop.time()
        self.flow.resume_reading()
        self.transport.write_eof()


def _encode_line(data: bytes) -> bytes:
    """Percent-encode what is not ASCII in the request line, as browsers do before they send it.

    A shell and curl send "?q=Städtle" as it is typed. Only the first line changes: in headers and
    bodies such bytes are in their place.
    """
    begin = len(data) - len(data.lstrip(b"\r\n"))
    end = data.find(b"\n", begin)
    line, rest = (data, b"") if end < 0 else (data[:end], data[end:])
    return _RAW.sub(lambda match: f"%{match[0].hex('%')}".upper().encode(), line) + rest


def _head_too_large(count: int = 0) -> HeadTooLarge:
    if count:
        return HeadTooLarge(
            f"the request has {count} headers, at most {MAX_HEADERS} are read",
            details={"limit": MAX_HEADERS, "count": count},
        )
    return HeadTooLarge(
        f"the request's head has more than {MAX_HEAD_BYTES} bytes: "
        "send the parameters in the body of a POST",
        details={"limit": MAX_HEAD_BYTES},
    )


def protocol_of(guard: Connections) -> type[asyncio.Protocol]:
    """Return what makes the protocol of a new connection, for uvicorn's configuration."""
    return cast("type[asyncio.Protocol]", partial(Connection, guard))
