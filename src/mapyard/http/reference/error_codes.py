"""Every error code that an answer can carry: for the OpenAPI document and the reference."""

from __future__ import annotations

from typing import Final, NamedTuple


class ErrorCode(NamedTuple):
    """A code, its status, when it comes and what to do."""

    status: int
    code: str
    when: str
    remedy: str


ERROR_CODES: Final = (
    ErrorCode(
        400, "invalid_request", "A parameter is missing, malformed or out of bounds.",
        "Read `details`: parameter → list of problems.",
    ),
    ErrorCode(
        400, "invalid_query", "Overpass QL or SPARQL does not parse.",
        "Read `details`: line, column, hint.",
    ),
    ErrorCode(
        400, "invalid_cursor", "The cursor is not one of this server for this query.",
        "Send the cursor as it came, with the same parameters.",
    ),
    ErrorCode(
        400, "stale_cursor", "The cursor was made before the latest data update.",
        "Start again from the first page.",
    ),
    ErrorCode(
        406, "not_acceptable", "The answer has no format that the Accept header names.",
        "Ask for one of the formats that the message lists.",
    ),
    ErrorCode(
        401, "missing_key", "No API key came with the request.",
        "Send it as X-API-Key or Authorization: Bearer.",
    ),
    ErrorCode(
        401, "invalid_key", "The key is not known or mistyped.", "Check that it is complete."
    ),
    ErrorCode(401, "revoked_key", "The key was revoked.", "Create a new one in the dashboard."),
    ErrorCode(401, "expired_key", "The key has expired.", "Create a new one in the dashboard."),
    ErrorCode(
        401, "invalid_map_session", "The token of a map session is not valid, or has expired.",
        "Start another by POST /api/v1/tiles/session.",
    ),
    ErrorCode(
        403, "key_not_allowed",
        "The key is restricted to other endpoints, to reading, or to networks or origins.",
        "The message says which; use another key, or have this one's restrictions changed.",
    ),
    ErrorCode(
        403, "account_suspended", "The account was suspended by the operator.", "Ask the operator."
    ),
    ErrorCode(404, "not_found", "Nothing is at this path or has this id.", "Check path and id."),
    ErrorCode(
        404, "no_route_found", "There is no way between the points in this mode.",
        "Move a point, or choose another mode.",
    ),
    ErrorCode(
        404, "no_road_found", "No road lies within the radius of a point.",
        "Read `details`: point index, distance of the nearest road; widen the radius.",
    ),
    ErrorCode(
        404, "no_elevation", "No elevation data covers any of the points.",
        "The operator adds DEM files to the folder elevation/.",
    ),
    ErrorCode(
        405, "method_not_allowed", "The path exists, the method does not.",
        "Use one of the header Allow.",
    ),
    ErrorCode(
        408, "timeout", "The request took longer than its time limit.",
        "Ask for less at once; trying again does not help.",
    ),
    ErrorCode(
        409, "stopped", "The account stopped its running queries at /api/kill_my_queries.",
        "Ask again, if it was somebody else's.",
    ),
    ErrorCode(
        409, "cancelled", "The job of /optimize was cancelled; its state says so.",
        "Send the problem again.",
    ),
    ErrorCode(
        413, "too_large", "A body, head (431), list, geometry or result is over its limit.",
        "Read `details`: limit and count; split the request.",
    ),
    ErrorCode(
        422, "validation_failed", "The request can be read, but not be served.",
        "Read `details`: what, and what to use instead.",
    ),
    ErrorCode(
        429, "rate_limited", "More requests a minute than the plan allows.",
        "Wait for the seconds in Retry-After.",
    ),
    ErrorCode(
        429, "daily_limit_exceeded", "The plan's requests of this UTC day are used up.",
        "Wait until midnight UTC, or choose a larger plan.",
    ),
    ErrorCode(
        429, "map_session_used_up", "The map session has used up its tiles.",
        "Start another by POST /api/v1/tiles/session.",
    ),
    ErrorCode(
        429, "monthly_limit_exceeded", "The account's allowance of this calendar month is used up.",
        "Wait until the month ends (UTC), or have the allowance raised.",
    ),
    ErrorCode(
        500, "internal_error", "The server failed.",
        "Tell the operator the request id, under which the log has the reason.",
    ),
    ErrorCode(
        501, "not_installed", "The dataset was built without the part that would answer.",
        "The operator builds it; the message has the command.",
    ),
    ErrorCode(
        501, "not_implemented", "A path that clients know and this service does not offer.",
        "Use what the message names.",
    ),
    ErrorCode(
        502, "service_failed", "Another SPARQL service, which a query names, failed to answer.",
        "Ask again, or write SERVICE SILENT to go on without it.",
    ),
    ErrorCode(
        503, "overloaded", "More requests wait than can be answered in time.",
        "Try again after the seconds in Retry-After.",
    ),
    ErrorCode(
        503, "accounts_unavailable", "The accounts database does not answer.",
        "Try again; the operator finds the reason in the log.",
    ),
)  # fmt: skip

CODES_BY_NAME: Final = {entry.code: entry for entry in ERROR_CODES}
#: What any endpoint that needs a key can answer; 404 and others come by endpoint.
COMMON_CODES: Final = (
    "invalid_request", "missing_key", "invalid_key", "revoked_key", "expired_key",
    "key_not_allowed", "account_suspended",
    "timeout", "too_large", "rate_limited", "daily_limit_exceeded", "monthly_limit_exceeded",
    "internal_error", "overloaded",
)  # fmt: skip
