"""From a handler's answer to status, headers and bytes: compression, ETag, HEAD."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from mapyard.http.admission import HeaderList
from mapyard.http.answer import Answer
from mapyard.http.compression import (
    BIG_BYTES,
    MIN_BYTES,
    choose_encoding,
    compress,
    compress_stream,
    gather,
    is_compressible,
)

_NO_BODY = (204, 304)


class Reply:
    """What is sent: `body`, or `stream` where it is not None."""

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(
        self,
        status: int,
        headers: HeaderList,
        body: bytes = b"",
        stream: Iterator[bytes] | None = None,
    ) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.stream = stream


class Later(Exception):  # noqa: N818 - a signal: no failure
    """Raised by an inline handler whose answer needs work after all: `make` runs in the pool.

    So a cached answer goes out at once, and only one that must be made costs a thread.
    """

    def __init__(self, make: Callable[[], Answer]) -> None:
        super().__init__()
        self.make = make


_types: dict[str, bytes] = {}


def _encode_type(media_type: str) -> bytes:
    """Return the header's bytes; texts name their charset."""
    encoded = _types.get(media_type)
    if encoded is None:
        text = media_type
        if media_type.startswith("text/") and "charset" not in media_type:
            text = f"{media_type}; charset=utf-8"
        encoded = _types[media_type] = text.encode("latin-1")
    return encoded


def encode_answer(answer: Answer, request_headers: Mapping[str, str], *, head: bool) -> Reply:
    """Return the reply to a handler's answer. May be called in any thread."""
    if answer.encoded is not None and "if-none-match" not in request_headers:
        made: Reply = answer.encoded
        return made
    headers: HeaderList = []
    encoded = False
    if answer.headers:
        for name, value in answer.headers.items():
            lower = name.lower()
            encoded = encoded or lower == "content-encoding"
            headers.append((lower.encode("latin-1"), value.encode("latin-1", "replace")))
        etag = answer.headers.get("ETag")
        if etag and answer.status == 200 and _matches(request_headers.get("if-none-match"), etag):
            kept = {b"etag", b"cache-control", b"vary", b"expires"}
            return Reply(304, [header for header in headers if header[0] in kept])
    body = answer.body
    if answer.status in _NO_BODY:
        return Reply(answer.status, headers)
    headers.append((b"content-type", _encode_type(answer.media_type)))
    stream: Iterator[bytes] | None = None
    if not isinstance(body, bytes):
        stream, body = body, b""
    if not encoded and is_compressible(answer.media_type):
        headers.append((b"vary", b"Accept-Encoding"))
        encoding = choose_encoding(request_headers.get("accept-encoding", ""))
        if encoding and (stream is not None or len(body) > MIN_BYTES):
            headers.append((b"content-encoding", encoding.encode()))
            if stream is not None:
                stream = compress_stream(gather(stream), encoding)
            else:
                body = compress(body, encoding)
        elif stream is not None:
            stream = gather(stream)
            if not head:
                body, stream = _take_short(stream)
    if stream is None:
        headers.append((b"content-length", b"%d" % len(body)))
    elif head:  # what a stream would hold is not made for a HEAD
        stream = None
    reply = Reply(answer.status, headers, body, stream)
    if encoded and isinstance(answer.body, bytes):
        answer.encoded = reply
    return reply


def _take_short(stream: Iterator[bytes]) -> tuple[bytes, Iterator[bytes] | None]:
    """Return the whole of a stream of one chunk, whose length is known so; or the stream.

    GDAL's /vsicurl/ reads only what has a length.
    """
    first = next(stream, b"")
    second = next(stream, None)
    if second is None:
        return first, None
    return b"", chain((first, second), stream)


def is_long_to_encode(answer: Answer) -> bool:
    """Return whether compressing the body would hold the event loop."""
    if not isinstance(answer.body, bytes) or len(answer.body) <= BIG_BYTES:
        return False
    return is_compressible(answer.media_type) and "Content-Encoding" not in (answer.headers or ())


def _matches(if_none_match: str | None, etag: str) -> bool:
    """Return whether a client holds this version already (weak comparison, RFC 9110)."""
    if not if_none_match:
        return False
    if if_none_match.strip() == "*":
        return True
    wanted = etag.removeprefix("W/")
    return any(tag.strip().removeprefix("W/") == wanted for tag in if_none_match.split(","))
