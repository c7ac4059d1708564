"""What a worker and a query process say to each other: frames on a socket.

A frame is its length (4 bytes), its kind (1 byte), and its content. The worker sends one question;
the process answers with a head (and the whole body), chunks and an end, or with an error.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

from mapyard.errors import MapyardError

LENGTH: Final = struct.Struct(">IB")

#: Kinds of frames.
QUESTION, HELLO, HEAD, CHUNK, END, ERROR, CRASH = range(7)
#: A body larger than this comes in chunks.
CHUNK_BYTES: Final = 262_144


class Question(msgspec.Struct, array_like=True):
    """A request, whole."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    scheme: str
    client: str
    account_id: int
    key_id: int
    request_id: str
    body: bytes
    dataset: str
    remaining_s: float


class Head(msgspec.Struct, array_like=True):
    """The begin of a reply; `is_whole` when nothing follows."""

    status: int
    headers: list[tuple[bytes, bytes]]
    ignored: tuple[str, ...]
    body: bytes
    is_whole: bool


class Error(msgspec.Struct, array_like=True):
    """A MapyardError."""

    status: int
    code: str
    message: str
    details: dict[str, Any] | None
    headers: dict[str, str]

    @classmethod
    def of(cls, error: MapyardError) -> Error:
        """Return what is sent of an error."""
        details = msgspec.to_builtins(error.details, enc_hook=str) if error.details else None
        return cls(error.status, error.code, error.message, details, error.headers)

    def to_error(self) -> MapyardError:
        """Return the error again."""
        return MapyardError(
            self.message,
            code=self.code,
            status=self.status,
            details=self.details,
            headers=self.headers,
        )


def frame(kind: int, content: bytes = b"") -> bytes:
    """Return a frame."""
    return LENGTH.pack(len(content), kind) + content


def encode(kind: int, value: Any) -> bytes:
    """Return a frame with a struct in it."""
    return frame(kind, msgspec.msgpack.encode(value))
