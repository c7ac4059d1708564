"""Answers of list endpoints: a FeatureCollection with its paging headers and body member."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qsl

from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.library.results.elements import Elements
from mapyard.results.pages import ATTRIBUTION, PageEnd, page_headers, write_collection
from mapyard.results.streams import MEDIA_TYPES, Format, stream_features

#: Headers of list answers, for the reference.
PAGE_HEADERS = {
    "X-Limit": "page size used",
    "X-Has-More": "true when more results follow, false on the last page",
    "X-Next-Cursor": "cursor of the next page, in cursor mode",
    "X-Next-Offset": "offset of the next page, in offset mode",
    "Link": 'the next page, rel="next" (RFC 8288); absent on the last page',
}
#: Early paths, whose clients read the body member `pagination`.
_EARLY_PATHS = frozenset(("/api/v1/elements", "/api/v1/nearby"))


def is_early_path(ctx: Context) -> bool:
    """Return whether the request came by one of the early paths /elements and /nearby."""
    return ctx.path.rstrip("/") in _EARLY_PATHS


def answer_page(
    ctx: Context,
    features: Sequence[bytes],
    end: PageEnd,
    members: Sequence[tuple[str, bytes]] = (),
    attribution: str = ATTRIBUTION,
) -> Answer:
    """Return a page of features (JSON each) with its headers; `members` as in write_collection."""
    in_body = ctx.is_client_library or is_early_path(ctx)
    pagination = end if in_body else None
    body = write_collection(
        features, pagination=pagination, members=members, attribution=attribution
    )
    return Answer(body, GEOJSON, headers=page_headers(end, ctx.path, _read_query(ctx)))


def _read_query(ctx: Context) -> list[tuple[str, str]]:
    """Return the query string's parameters, which a Link repeats; a body is sent again."""
    return parse_qsl(ctx.query_string.decode("utf-8", "replace"))


def stream_elements(ctx: Context, found: Elements, stream_format: Format) -> Answer:
    """Return all elements of a list as a stream."""
    chunks = found.iter_chunks()
    body = stream_features(
        found.store, chunks, found.output, stream_format, ctx.deadline, found.attribution
    )
    return Answer(body, MEDIA_TYPES[stream_format])
