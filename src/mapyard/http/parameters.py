"""From a request to the parameters of its endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mapyard.http.admission import KEY_PREFIX
from mapyard.http.body import merge, read_body, read_query
from mapyard.http.endpoints import Endpoint
from mapyard.http.request import Request
from mapyard.params.parser import refuse_unknown
from mapyard.params.raw import Raw

#: Names in a query string that say who asks.
_NO_PARAM: Final = frozenset(("api_key", "session"))


def read_params(
    endpoint: Endpoint, request: Request, values: Mapping[str, str], body: bytes
) -> tuple[Raw, Any, tuple[str, ...]]:
    """Return raw and parsed parameters, and the names of those that mean nothing here.

    The names are noted in the request too, so that an error about the others has them.
    """
    raw = read_query(request.scope["query_string"])
    if body:
        content_type = request.headers.get("content-type", "")
        sent = read_body(body, content_type, endpoint.texts, endpoint.parser.names)
        if endpoint.strict:
            refuse_unknown(endpoint.parser, sent, endpoint.refused)
        raw = merge(raw, sent)
    if values:
        raw.update(values)
    unknown = endpoint.parser.find_unknown(raw)
    request.ignored = tuple(
        name
        for name in unknown
        if name not in _NO_PARAM and not (name == "key" and str(raw[name]).startswith(KEY_PREFIX))
    )
    return raw, endpoint.parser.parse(raw, endpoint.refused), request.ignored
