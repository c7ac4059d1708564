"""Name search: elements by name, ref, operator or brand."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.paging import PAGE_HEADERS, answer_page, stream_elements
from mapyard.library.questions import search as library

DEFAULT_LIMIT: Final = 25


class SearchParams(library.Search, kw_only=True):
    """What is searched, and how it is written."""

    format: Annotated[
        Literal["json", "geojson", "csv", "ndjson"],
        Meta(description="json is a page; geojson, csv and ndjson stream the whole result"),
    ] = "json"


@endpoint(
    "/api/v1/search",
    methods=("GET", "POST"),
    summary="Find elements by name",
    tag="Search",
    languages=True,
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    media_types=(GEOJSON, "text/csv", "application/jsonl"),
    errors=("invalid_cursor", "stale_cursor"),
    examples=[
        Example({"q": "monte carlo", "limit": 2}),
        Example({"q": "carrefour", "tags[shop]": "supermarket"}),
    ],
)
def search(ctx: Context, params: SearchParams) -> Answer:
    """Return elements whose names, ref, operator or brand hold all words of `q`.

    Order: whole names of places, whole names, all words, beginnings of words, then ref, operator
    and brand; within each by (osm_id, type). See docs/search.md.
    """
    found = library.search(ctx, params)
    if params.format != "json":
        return stream_elements(ctx, found, params.format)
    page = found.page(params.limit or DEFAULT_LIMIT)
    return answer_page(ctx, page.written, page.end)
