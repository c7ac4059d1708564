"""Pages of web/ behind the same front: request id, limit headers and compression are added."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect

from mapyard.deadline import Cancelled
from mapyard.errors import NotFound
from mapyard.http.admission import HeaderList
from mapyard.http.compression import (
    MIN_BYTES,
    Compressor,
    choose_encoding,
    compress,
    is_compressible,
)
from mapyard.http.request import ASGIApp, Request

Message = MutableMapping[str, Any]

log = logging.getLogger(__name__)


async def serve_web(web: ASGIApp, request: Request, common: HeaderList) -> None:
    """Let `web` answer; raise NotFound for a missing page unless the client wants pages."""
    front = _Front(request, common)
    try:
        await web(request.scope, request.receive, front.send)
    except ClientDisconnect:
        raise Cancelled from None
    except Exception:
        if not request.status:
            raise
        # Starlette has answered 500 already and raises for the log.
        log.exception("web crashed", extra={"request_id": request.id})
    if front.is_missing:  # programs get errors as JSON, browsers the page that says so
        raise NotFound("there is nothing at this path; /docs lists what there is")


class _Front:
    """Passes an answer's messages on, with common headers and compressed."""

    def __init__(self, request: Request, common: HeaderList) -> None:
        self._request = request
        self._common = common
        self._wants_pages = "text/html" in request.headers.get("accept", "")
        self._held: Message | None = None  # the start, until the first part of the body is there
        self._compressor: Compressor | None = None
        self.is_missing = False

    async def send(self, message: Message) -> None:
        """Take one message of the page."""
        if message["type"] == "http.response.start":
            self.is_missing = message["status"] == 404 and not self._wants_pages
            self._held = message
            self._request.status = 0 if self.is_missing else message["status"]
            return
        if self.is_missing:
            return
        body: bytes = message.get("body", b"")
        more = bool(message.get("more_body"))
        if self._held is not None:
            start, self._held = self._held, None
            body = await self._start(start, body, more=more)
        elif self._compressor is not None:
            body = self._compressor.add(body)
        if self._compressor is not None and not more:
            body += self._compressor.end()
        self._request.bytes_sent += len(body)
        await self._request.send({**message, "body": body})

    async def _start(self, start: Message, body: bytes, *, more: bool) -> bytes:
        """Send the headers; return the first part of the body as it is to be sent."""
        headers: HeaderList = [*self._common, *start["headers"]]
        names = dict(headers)
        media_type = names.get(b"content-type", b"").decode("latin-1")
        whole = start["status"] != 206 and b"content-encoding" not in names
        if whole and is_compressible(media_type):
            headers.append((b"vary", b"Accept-Encoding"))
            encoding = choose_encoding(self._request.headers.get("accept-encoding", ""))
            if encoding and (more or len(body) > MIN_BYTES):
                headers = [pair for pair in headers if pair[0] != b"content-length"]
                headers.append((b"content-encoding", encoding.encode()))
                if more:
                    self._compressor = Compressor(encoding)
                    body = self._compressor.add(body)
                else:
                    body = compress(body, encoding)
                    headers.append((b"content-length", b"%d" % len(body)))
        await self._request.send({**start, "headers": headers})
        return body
