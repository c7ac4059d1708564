"""/query: PlazaQL, Overpass QL for those who send it here, and the early list of elements."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

import orjson
from msgspec import Meta

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.paging import PAGE_HEADERS, answer_page
from mapyard.http.routes.features import FeaturesParams, features
from mapyard.http.routes.overpass import DEFAULT_LIMIT, MAX_LIMIT, NDJSON, OverpassParams, overpass
from mapyard.library import pipeline as pipelines
from mapyard.library.questions import plazaql as library
from mapyard.library.results.plaza import PlazaResult
from mapyard.params.parser import Params, spelled
from mapyard.plazaql.plan.check import find_calls, read_program
from mapyard.plazaql.run.calls import PREMIUM
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd

#: What only PlazaQL has.
_PLAZAQL: Final = re.compile(
    r"(?:^|[=(,;+&\s-])(?:search|text_search|boundary|route|isochrone|matrix|map_match|optimize|"
    r"ev_route|geocode|reverse_geocode|autocomplete|nearest|elevation|elevation_profile|dataset|"
    r"point|linestring|polygon|circle)\s*\(|^[ \t]*(?:\$|\#\w+\()",
    re.MULTILINE,
)
#: A look that costs nothing, before a query is read for what it calls.
_MAY_BE_PREMIUM: Final = re.compile("|".join(PREMIUM))
#: Texts and comments, which say nothing of the language; one without an end goes to the end, so
#: that each character is looked at once.
_TEXTS: Final = re.compile(
    r'"(?:[^"\\]|\\.?)*+"?|\'(?:[^\'\\]|\\.?)*+\'?|/\*.*?(?:\*/|\Z)|//[^\n]*+', re.DOTALL
)


#: Premium calls that one query may hold.
MAX_PREMIUM_CALLS: Final = 10


class QueryParams(Params, kw_only=True):
    """A query, under the names that clients use."""

    data: Annotated[
        str,
        spelled(
            "PlazaQL (docs/plazaql.md), or Overpass QL", "query",
            examples=['search(node, amenity: "cafe").limit(10);'],
        ),
    ] = ""  # fmt: skip
    steps: Annotated[
        list[dict[str, Any]] | None,
        Meta(
            max_length=pipelines.MAX_STEPS,
            description="a pipeline instead of a query: steps of type overpass, sparql, filter, "
            "transform (docs/plazaql.md)",
        ),
    ] = None
    limit: Annotated[
        int | None,
        Meta(ge=1, le=MAX_LIMIT, description="page size: 1,000 of PlazaQL, 20 of Overpass QL"),
    ] = None
    cursor: Annotated[
        str | None, Meta(description="cursor of the page before", max_length=1_024)
    ] = None
    offset: Annotated[
        int | None, Meta(ge=0, description="how many to skip, instead of a cursor; a cursor wins")
    ] = None
    format: Annotated[
        Literal["json", "geojson", "ndjson"],
        Meta(description="json is a page; geojson and ndjson stream all features"),
    ] = "json"


def is_plazaql(text: str) -> bool:
    """Return whether a query is written in PlazaQL; what is in neither language is Overpass QL."""
    return _PLAZAQL.search(_TEXTS.sub(" ", text)) is not None


def count_premium(params: QueryParams) -> int:
    """Return the calls in a query that cost what a request to the service's own endpoint does."""
    if not _MAY_BE_PREMIUM.search(params.data) or not is_plazaql(params.data):
        return 0
    calls = [call for call in find_calls(read_program(params.data)) if call.name in PREMIUM]
    if len(calls) > MAX_PREMIUM_CALLS:
        at = calls[MAX_PREMIUM_CALLS].at
        raise TooLarge(
            f"line {at.line}, column {at.column}: {calls[MAX_PREMIUM_CALLS].name}() is one call of "
            f"a premium service too many: a query may hold {MAX_PREMIUM_CALLS}; send several",
            details={"limit": MAX_PREMIUM_CALLS, "count": len(calls)},
        )
    return len(calls)


@endpoint(
    "/api/v1/query",
    methods=("POST",),
    count_premium=count_premium,
    summary="Run a query in PlazaQL or Overpass QL",
    tag="Query languages",
    heavy=True,
    apart=True,
    texts={"text/plain": "data", "*": "data"},
    schema="FeatureCollection",
    media_types=(GEOJSON, NDJSON),
    headers=PAGE_HEADERS,
    errors=(
        "invalid_query", "invalid_cursor", "stale_cursor", "timeout", "too_large",
        "not_implemented",
    ),
    examples=[
        Example({"data": 'search(node, amenity: "cafe").within(boundary(name: "Monaco-Ville"));'}),
        Example({"data": 'search(way, highway: *).group_by(t["highway"]).sum(length());'}),
        Example({"data": "node[amenity=cafe](43.73,7.41,43.75,7.43);out;", "limit": 2}),
    ],
)  # fmt: skip
def query(ctx: Context, params: QueryParams) -> Answer:
    """Return the features of all outputs of a query; of several each with `@output`.

    A value (`.count()`) is in `result`, or by the name of its output in `outputs`. What is written
    in Overpass QL is answered as by /api/v1/overpass. A query with calls of premium services
    (route, isochrone, matrix, elevation, …) counts as one premium request per call, at most 10;
    any other as a standard request. `steps` run as a pipeline: the answer is `{"steps": […]}`, a
    FeatureCollection each. See docs/plazaql.md.
    """
    if params.steps is not None:
        if params.data:
            raise InvalidRequest.of("steps", "and data exclude each other")
        return Answer.json(pipelines.run_pipeline(ctx, params.steps))
    if not params.data:
        raise InvalidRequest.of("data", "is required (or steps)")
    if not is_plazaql(params.data):
        asked = OverpassParams(
            data=params.data, limit=params.limit or DEFAULT_LIMIT, cursor=params.cursor,
            offset=params.offset, format=params.format,
        )  # fmt: skip
        return overpass(ctx, asked)
    found = library.plazaql(ctx, library.PlazaQuestion(data=params.data))
    if params.format != "json":
        as_lines = params.format == "ndjson"
        return Answer(found.stream(as_lines=as_lines), NDJSON if as_lines else GEOJSON)
    return _page(ctx, params, found)


def _page(ctx: Context, params: QueryParams, found: PlazaResult) -> Answer:
    limit = params.limit or MAX_LIMIT
    key = hash_query("plazaql", params.data)
    skip = params.offset or 0
    if params.cursor is not None:
        (skip,) = decode_cursor(params.cursor, ctx.snapshot.id, key, tuple[int])
    written = found.outputs.take(skip, limit + 1)
    end = PageEnd(limit, False)
    if len(written) > limit:
        if params.cursor is None and params.offset is not None:
            end = PageEnd(limit, True, next_offset=skip + limit)
        else:
            end = PageEnd(limit, True, encode_cursor(ctx.snapshot.id, key, (skip + limit,)))
    members = [
        (name, orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
        for name, value in found.outputs.members().items()
    ]
    return answer_page(ctx, written[:limit], end, members, found.attribution)


@endpoint(
    "/api/v1/query",
    methods=("GET",),
    summary="List elements, as early client libraries ask",
    tag="Query languages",
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    errors=("invalid_cursor", "stale_cursor"),
    examples=[Example({"bbox": "43.73,7.41,43.75,7.43", "limit": 2})],
)
def query_features(ctx: Context, params: FeaturesParams) -> Answer:
    """Return what GET /api/v1/features does: the early path of the first client libraries."""
    return features(ctx, params)
