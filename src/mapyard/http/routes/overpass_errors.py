"""Errors as an Overpass server writes them: a page, whose texts its clients look for.

overpy takes the messages out of paragraphs that begin with a strong word; overpass turbo and others
look for `rate_limited`, `Dispatcher_Client::request_read_and_idx::timeout` and `Query timed out`.
"""

from __future__ import annotations

import html
from typing import Final

from mapyard.errors import MapyardError
from mapyard.http.answer import JSON, Answer
from mapyard.http.endpoints import Asked
from mapyard.http.errors import encode_error

HTML: Final = "text/html; charset=utf-8"
#: Clients of the original know 504 for what took too long and for a busy server: overpy names it,
#: osmnx asks again after 429 and 504 only.
STATUSES: Final = {"timeout": 504, "overloaded": 504}
_BUSY: Final = "open64: 0 Success /osm3s Dispatcher_Client::request_read_and_idx::"
_PAGE: Final = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"
    "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">
<head>
  <meta http-equiv="content-type" content="text/html; charset=utf-8" lang="en"/>
  <title>OSM3S Response</title>
</head>
<body>

<p>The data included in this document is from www.openstreetmap.org. The data is made available under ODbL.</p>
<p><strong style="color:#FF0000">Error</strong>: {text} </p>

</body>
</html>
"""  # noqa: E501


def write_error(error: MapyardError, asked: Asked) -> Answer:
    """Return an error as a page, or as JSON where the Accept header names it."""
    status = STATUSES.get(error.code, error.status)
    if "json" in asked.headers.get("accept", ""):
        return Answer(encode_error(error), JSON, status, headers=error.headers)
    page = _PAGE.format(text=html.escape(_explain(error), quote=False))
    return Answer(page.encode(), HTML, status, headers=error.headers)


def _explain(error: MapyardError) -> str:
    details = error.details or {}
    if error.code == "timeout":
        return f"runtime error: Query timed out: {error.message}"
    if error.code == "overloaded":
        return (
            f"runtime error: {_BUSY}timeout. The server is probably too busy to handle your "
            f"request. {error.message}"
        )
    if error.status == 429:
        return f"runtime error: {_BUSY}rate_limited. Please check /api/status. {error.message}"
    if error.code == "invalid_query" and "line" in details:
        return f"line {details['line']}: parse error: {error.message}"
    return error.message
