"""Errors that a user can cause or must know of; http/errors.py maps them to the JSON envelope.

Raise the most specific class with a message that says what was wrong, where, and what to do.
`details` is a JSON-ready mapping, shown to the client as it is: no paths, no secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: Statuses that client libraries take for passing ones, which they are not here.
_FINAL: Final = (408, 501)


class MapyardError(Exception):
    """Base of all reported errors: HTTP status, stable code, message, details, headers."""

    status = 500
    code = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.status = status or type(self).status
        self.details = dict(details) if details else None
        self.headers = dict(headers) if headers else {}
        if self.status in _FINAL:
            self.headers.setdefault("x-should-retry", "false")


class InvalidRequest(MapyardError):  # noqa: N818 - named after its code
    """A parameter is missing, malformed or out of bounds."""

    status, code = 400, "invalid_request"

    @classmethod
    def of(cls, parameter: str, problem: str) -> InvalidRequest:
        """Return the error for one parameter, in the shape `details: {parameter: [problem]}`."""
        return cls(f"{parameter}: {problem}", details={parameter: [problem]})


class InvalidQuery(MapyardError):  # noqa: N818
    """A query language text that does not parse."""

    status, code = 400, "invalid_query"

    @classmethod
    def at(cls, message: str, line: int, column: int, hint: str = "") -> InvalidQuery:
        """Return the error for a position, 1-based line and column."""
        text = f"line {line}, column {column}: {message}" + (f" ({hint})" if hint else "")
        return cls(text, details={"line": line, "column": column, "hint": hint})


class InvalidCursor(MapyardError):  # noqa: N818
    """A cursor that this server did not make for this query."""

    status, code = 400, "invalid_cursor"


class StaleCursor(MapyardError):  # noqa: N818
    """A cursor from before the latest data update."""

    status, code = 400, "stale_cursor"


class NotFound(MapyardError):  # noqa: N818
    """What was asked for by name does not exist; subcodes no_route_found, no_road_found, …"""

    status, code = 404, "not_found"


class NotAcceptable(MapyardError):  # noqa: N818
    """The Accept header names no form that this answer has; the message lists those it has."""

    status, code = 406, "not_acceptable"


class Timeout(MapyardError):  # noqa: N818
    """The request's own time limit passed."""

    status, code = 408, "timeout"


class TooLarge(MapyardError):  # noqa: N818
    """Body, points, rows, pairs or memory over the limit; details give limit and count."""

    status, code = 413, "too_large"


class Unsupported(MapyardError):  # noqa: N818
    """Well-formed, but not to be served; details say what and what to use instead."""

    status, code = 422, "validation_failed"


class NotInstalled(MapyardError):  # noqa: N818
    """This dataset was built without the part that would answer."""

    status, code = 501, "not_installed"

    @classmethod
    def part(cls, part: str) -> NotInstalled:
        """Return the error for a missing part, with the command that builds it."""
        return cls(
            f"this dataset was built without its part '{part}'; build it again with that part: "
            "mapyard build SOURCE (all parts), or name it in --only",
            details={"part": part},
        )


class Overloaded(MapyardError):  # noqa: N818
    """A bounded queue is full: refused at once instead of slowing down for all."""

    status, code = 503, "overloaded"

    def __init__(self, message: str, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.headers.setdefault("Retry-After", "1")
