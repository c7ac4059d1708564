"""Pages of web/ behind the same front: request id, limit headers and compression are added."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from mapyard.errors import NotFound
from mapyard.http.admission import HeaderList
from mapyard.http.compression import MIN_BYTES, choose_encoding, compress, is_compressible
from mapyard.http.request import ASGIApp, Request

Message = MutableMapping[str, Any]

log = logging.getLogger(__name__)


async def serve_web(web: ASGIApp, request: Request, common: HeaderList) -> None:
    """Let `web` answer; whole bodies of more than a kilobyte are compressed."""
    encoding = choose_encoding(request.headers.get("accept-encoding", ""))
    started: Message | None = None
    wants_page = "text/html" in request.headers.get("accept", "")
    is_missing = False

    async def send(message: Message) -> None:
        nonlocal started, is_missing
        if message["type"] == "http.response.start":
            is_missing = message["status"] == 404 and not wants_page
            if is_missing:
                return
            started = message
            request.status = message["status"]
            return
        if is_missing:
            return
        body: bytes = message.get("body", b"")
        if started is not None:
            headers: HeaderList = [*common, *started["headers"]]
            if not message.get("more_body"):
                names = dict(headers)
                media_type = names.get(b"content-type", b"").decode("latin-1")
                if is_compressible(media_type) and b"content-encoding" not in names:
                    headers.append((b"vary", b"Accept-Encoding"))
                    if encoding and len(body) > MIN_BYTES:
                        body = compress(body, encoding)
                        headers.append((b"content-encoding", encoding.encode()))
                        headers = [pair for pair in headers if pair[0] != b"content-length"]
                        headers.append((b"content-length", b"%d" % len(body)))
                message = {**message, "body": body}
            await request.send({**started, "headers": headers})
            started = None
        request.bytes_sent += len(body)
        await request.send(message)

    try:
        await web(request.scope, request.receive, send)
    except Exception:
        if not request.status:
            raise
        # Starlette has answered 500 already and raises for the log.
        log.exception("web crashed", extra={"request_id": request.id})
    if is_missing:  # programs get errors as JSON, browsers the page that says so
        raise NotFound("there is nothing at this path; /docs lists what there is")
