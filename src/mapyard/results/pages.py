"""Pages of lists: what was asked, what comes next, and how an answer says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import orjson

ATTRIBUTION: Final = "© OpenStreetMap contributors (ODbL)"
GEOJSON: Final = "application/geo+json; charset=utf-8"

#: Parameters that a Link never repeats: secrets, and what it sets itself.
_NOT_IN_LINK: Final = frozenset(("api_key", "cursor", "offset", "limit"))


class PageRequest(NamedTuple):
    """A page as asked for; a cursor takes precedence over an offset."""

    limit: int
    cursor: str | None = None
    offset: int | None = None

    @property
    def by_offset(self) -> bool:
        """Return whether the page is counted by offset."""
        return self.cursor is None and self.offset is not None


class PageEnd(NamedTuple):
    """How a page ended: whether more follows, and from where in the mode that was asked."""

    limit: int
    has_more: bool
    next_cursor: str | None = None
    next_offset: int | None = None


def page_headers(end: PageEnd, path: str, query: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Return the paging headers of interface.md.

    `path` and `query` are those of the request, for the Link to the next page: a GET hands its
    decoded query parameters; a POST none, because its client sends the body again. The Link is
    relative (RFC 8288 resolves it against the request), so it holds behind any proxy.
    """
    headers = {"X-Limit": str(end.limit), "X-Has-More": "true" if end.has_more else "false"}
    if not end.has_more:
        return headers
    if end.next_cursor is not None:
        headers["X-Next-Cursor"] = end.next_cursor
        place = ("cursor", end.next_cursor)
    else:
        headers["X-Next-Offset"] = str(end.next_offset)
        place = ("offset", str(end.next_offset))
    kept = [(name, value) for name, value in query if name not in _NOT_IN_LINK]
    target = urlencode([*kept, ("limit", str(end.limit)), place], quote_via=quote, safe="[]:,*~")
    headers["Link"] = f'<{path}?{target}>; rel="next"'
    return headers


def write_collection(
    features: Sequence[bytes],
    *,
    pagination: PageEnd | None = None,
    members: Sequence[tuple[str, bytes]] = (),
    attribution: str = ATTRIBUTION,
) -> bytes:
    """Return a FeatureCollection with attribution, where there is one.

    `features` are JSON; `pagination` adds the body member that early client libraries read;
    `members` are further top-level members as (name, JSON).
    """
    if pagination is not None:
        members = [*members, ("pagination", orjson.dumps(pagination._asdict()))]
    head = open_collection(members, attribution)
    if not features:
        return head + b"]}"
    # One join and nothing behind it: the features of a page may be megabytes.
    parts = list(features)
    parts[0] = head + parts[0]
    parts[-1] += b"]}"
    return b",".join(parts)


def open_collection(
    members: Sequence[tuple[str, bytes]] = (), attribution: str = ATTRIBUTION
) -> bytes:
    """Return the start of a FeatureCollection, up to its first feature; members as (name, JSON)."""
    extra = [b'"' + name.encode() + b'":' + value for name, value in members]
    return b",".join([_make_head(attribution), *extra]) + b',"features":['


@lru_cache(maxsize=256)
def _make_head(attribution: str) -> bytes:
    head = b'{"type":"FeatureCollection"'
    return head + b',"attribution":' + orjson.dumps(attribution) if attribution else head
