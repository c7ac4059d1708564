"""The one error shape: {"error": {"code", "message", "details"?}}."""

from __future__ import annotations

import orjson

from mapyard.errors import MapyardError


class MethodNotAllowed(MapyardError):  # noqa: N818
    """The path exists, the method does not."""

    status, code = 405, "method_not_allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        names = ", ".join(allowed)
        super().__init__(
            f"{method} is not served here; use {names}",
            details={"allowed": list(allowed)},
            headers={"Allow": names},
        )


class NotOffered(MapyardError):  # noqa: N818
    """A path that clients know and this service does not offer."""

    status, code = 501, "not_implemented"


def encode_error(error: MapyardError) -> bytes:
    """Return the JSON body of an error."""
    inner: dict[str, object] = {"code": error.code, "message": error.message}
    if error.details:
        inner["details"] = error.details
    return orjson.dumps({"error": inner}, default=str, option=orjson.OPT_NON_STR_KEYS)


def internal_error(request_id: str) -> MapyardError:
    """Return what the client sees of a crash: the request id, under which the log has the rest."""
    return MapyardError(
        "the server failed on this request; the operator finds the reason in the log under the "
        f"request id {request_id}",
        details={"request_id": request_id},
    )
