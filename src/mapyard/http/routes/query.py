"""/query: PlazaQL, Overpass QL for those who send it here, and the early list of elements."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

import orjson
from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.errors import NotOffered
from mapyard.http.paging import PAGE_HEADERS, answer_page
from mapyard.http.routes.features import FeaturesParams, features
from mapyard.http.routes.overpass import DEFAULT_LIMIT, MAX_LIMIT, NDJSON, OverpassParams, overpass
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
#: Texts and comments, which say nothing of the language; one without an end goes to the end, so
#: that each character is looked at once.
_TEXTS: Final = re.compile(
    r'"(?:[^"\\]|\\.?)*+"?|\'(?:[^\'\\]|\\.?)*+\'?|/\*.*?(?:\*/|\Z)|//[^\n]*+', re.DOTALL
)


class QueryParams(Params, kw_only=True):
    """A query, under the names that clients use."""

    data: Annotated[
        str,
        spelled(
            "PlazaQL (docs/plazaql.md), or Overpass QL", "query",
            examples=['search(node, amenity: "cafe").limit(10);'],
        ),
    ] = ""  # fmt: skip
    steps: Annotated[list[dict[str, str]] | None, Meta(description="pipelines are not offered")] = (
        None
    )
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


@endpoint(
    "/api/v1/query",
    methods=("POST",),
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
    in Overpass QL is answered as by /api/v1/overpass. See docs/plazaql.md.
    """
    if params.steps is not None:
        raise NotOffered("pipelines of steps are not offered; send each query as `data`")
    if not params.data:
        raise InvalidRequest.of("data", "is required")
    if not is_plazaql(params.data):
        asked = OverpassParams(
            data=params.data, limit=params.limit or DEFAULT_LIMIT, cursor=params.cursor,
            offset=params.offset, format=params.format,
        )  # fmt: skip
        return overpass(ctx, asked)
    _refuse_premium(params.data)
    found = library.plazaql(ctx, library.PlazaQuestion(data=params.data))
    if params.format != "json":
        as_lines = params.format == "ndjson"
        return Answer(found.stream(as_lines=as_lines), NDJSON if as_lines else GEOJSON)
    return _page(ctx, params, found)


def is_plazaql(text: str) -> bool:
    """Return whether a query is written in PlazaQL; what is in neither language is Overpass QL."""
    return _PLAZAQL.search(_TEXTS.sub(" ", text)) is not None


def _refuse_premium(text: str) -> None:
    """Refuse what counts as a premium request, as long as a query counts as a standard one."""
    for call in find_calls(read_program(text)):
        if call.name in PREMIUM:
            raise NotOffered(
                f"line {call.at.line}, column {call.at.column}: {call.name}() is not offered in a "
                f"query over HTTP; ask its own endpoint, and give its answer as a geometry"
            )


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
    return answer_page(ctx, written[:limit], end, members)


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
