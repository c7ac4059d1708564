"""What a handler returns: bytes or a stream of bytes, with media type, status and headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

JSON: Final = "application/json"
GEOJSON: Final = "application/geo+json"

_JSON_OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class Answer:
    """What a handler returns.

    `body` is bytes, or an iterator of bytes: then it is streamed, each step runs in the pool, and
    an exception midway breaks the connection off.
    """

    __slots__ = ("body", "encoded", "headers", "media_type", "status")

    def __init__(
        self,
        body: bytes | Iterator[bytes],
        media_type: str = JSON,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body = body
        self.media_type = media_type
        self.status = status
        self.headers = headers
        #: The reply, once made, where it is the same for all who ask: for handlers that return
        #: one Answer many times.
        self.encoded: Any = None

    @classmethod
    def json(
        cls,
        value: Any,
        media_type: str = JSON,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer of a JSON value; numpy arrays are fine."""
        return cls(orjson.dumps(value, option=_JSON_OPTIONS), media_type, status, headers)

    @classmethod
    def geojson(
        cls, value: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer of a GeoJSON value."""
        return cls.json(value, GEOJSON, status, headers)
