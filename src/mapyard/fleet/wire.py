"""What travels between nodes: a request, and its answer."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from mapyard.errors import MapyardError


class Question(msgspec.Struct, array_like=True):
    """A request to a region; `raw` are its parameters where they are others than those sent."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""
    raw: dict[str, Any] | None = None
    request_id: str = ""
    scheme: str = "http"


class Reply(msgspec.Struct, array_like=True):
    """Its answer."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def encode(value: Question | Reply) -> bytes:
    """Return the bytes."""
    return msgspec.msgpack.encode(value)


def decode_question(data: bytes) -> Question:
    """Return a request."""
    return msgspec.msgpack.decode(data, type=Question)


def decode_reply(data: bytes) -> Reply:
    """Return an answer."""
    return msgspec.msgpack.decode(data, type=Reply)


def read_error(reply: Reply) -> MapyardError:
    """Return the error that an answer tells of."""
    told = orjson.loads(reply.body)["error"]
    error = MapyardError(told["message"], code=told["code"], details=told.get("details"))
    error.status = reply.status
    return error
