"""SPARQL: GeoJSON by default, the W3C formats by Accept, the W3C protocol beside plain JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Final

from msgspec import Meta

from mapyard.errors import InvalidCursor
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.paging import PAGE_HEADERS, answer_page
from mapyard.http.routes.overpass import answer_plan
from mapyard.library.questions import sparql as library
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd, write_collection
from mapyard.sparql.engine import Result, Solutions, Triples, Truth
from mapyard.sparql.run.table import slice_tables
from mapyard.sparql.write.solutions import CSV_TYPE, JSON_TYPE, TSV_TYPE, XML_TYPE
from mapyard.sparql.write.triples import N_TRIPLES_TYPE, TURTLE_TYPE

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 1_000
#: An answer is only streamed beyond this: until then an error can still be told as one.
_BUFFER_BYTES: Final = 4 << 20


class SparqlParams(library.SparqlQuestion, kw_only=True):
    """A query, and which page of its solutions."""

    limit: (
        Annotated[
            int,
            Meta(ge=1, le=MAX_LIMIT, description="page size; without limit, cursor and offset "
                 "the answer is whole"),
        ]
        | None
    ) = None  # fmt: skip
    cursor: (
        Annotated[str, Meta(description="cursor of the page before", max_length=1_024)] | None
    ) = None
    offset: (
        Annotated[
            int, Meta(ge=0, description="how many to skip, instead of a cursor; a cursor wins")
        ]
        | None
    ) = None
    explain: Annotated[
        bool,
        Meta(description="answer the steps of the query instead: rows, estimates, time"),
    ] = False


@endpoint(
    "/api/v1/sparql",
    methods=("GET", "POST"),
    summary="Run a SPARQL query",
    tag="Query languages",
    heavy=True,
    apart=True,
    texts={"application/sparql-query": "query", "text/plain": "query", "*": "query"},
    schema="FeatureCollection",
    media_types=(
        GEOJSON, JSON_TYPE, XML_TYPE, CSV_TYPE, TSV_TYPE, TURTLE_TYPE, N_TRIPLES_TYPE,
    ),
    headers={**PAGE_HEADERS, "X-Query-Warning": "predicates that no triple has, in ASCII"},
    errors=(
        "invalid_query", "invalid_cursor", "stale_cursor", "timeout", "too_large", "service_failed",
    ),
    examples=[
        Example(
            {"query": 'SELECT ?s ?name WHERE { ?s osm:name ?name . ?s osm:amenity "cafe" } LIMIT 2'}
        ),
        Example(
            {
                "query": "SELECT ?park (COUNT(?bench) AS ?benches) WHERE { "
                "?p osmkey:leisure 'park'; osmkey:name ?park; ogc:sfContains ?bench . "
                "?bench osmkey:amenity 'bench' } GROUP BY ?park ORDER BY DESC(?benches) LIMIT 3"
            }
        ),
    ],
)  # fmt: skip
def sparql(ctx: Context, params: SparqlParams) -> Answer:
    """Return the solutions as features, or as the Accept header asks.

    The geometry is the first variable that holds WKT, else that of the first OpenStreetMap
    element; the other variables become properties. See docs/sparql.md.
    """
    if params.explain:
        return answer_plan(library.explain_sparql(ctx, params))
    result = library.run(ctx, params.query)
    answer = _answer_in_form(ctx, params, result)
    answer.headers = {**(answer.headers or {}), **warning_headers(ctx, params.query)}
    return answer


def warning_headers(ctx: Context, query: str) -> dict[str, str]:
    """Return the header that names what the query's author should know, if anything."""
    text = " | ".join(library.warnings(ctx, query))
    return {"X-Query-Warning": text.encode("ascii", "replace").decode()[:2000]} if text else {}


def _answer_in_form(ctx: Context, params: SparqlParams, result: Result) -> Answer:
    if isinstance(result, Truth):
        media_type = choose_type(ctx.accept, tuple(library.BOOLEAN_WRITERS)) or JSON_TYPE
        return answer_whole(library.write(ctx, result, media_type), media_type)
    if isinstance(result, Triples):
        media_type = choose_type(ctx.accept, tuple(library.TRIPLE_WRITERS)) or TURTLE_TYPE
        return answer_whole(library.write(ctx, result, media_type), media_type)
    if params.limit is not None or params.cursor is not None or params.offset is not None:
        return _page(ctx, params, result)
    media_type = (
        choose_type(ctx.accept, (GEOJSON, "application/json", *library.SOLUTION_WRITERS)) or GEOJSON
    )
    if ctx.is_client_library and media_type not in library.SOLUTION_WRITERS:
        features = library.write_solution_features(ctx, result)
        members = [("results", b"[" + b",".join(features) + b"]")]
        return Answer(write_collection(features, members=members), GEOJSON)
    if media_type not in library.SOLUTION_WRITERS:
        media_type = GEOJSON
    return answer_whole(library.write(ctx, result, media_type), media_type)


def _page(ctx: Context, params: SparqlParams, result: Solutions) -> Answer:
    key = hash_query("sparql", params.query)
    limit = params.limit or DEFAULT_LIMIT
    start = params.offset or 0
    if params.cursor is not None:
        (start,) = decode_cursor(params.cursor, ctx.snapshot.id, key, tuple[int])
        if start < 0:
            raise InvalidCursor("the cursor points before the result")
    media_type = choose_type(ctx.accept, (GEOJSON, "application/json", *library.SOLUTION_WRITERS))
    if media_type in library.SOLUTION_WRITERS:
        result.tables = slice_tables(result.tables, start, limit)
        return answer_whole(library.write(ctx, result, media_type), media_type)
    features = library.write_solution_features(ctx, result, start, limit + 1)
    has_more = len(features) > limit
    del features[limit:]
    by_offset = params.cursor is None and params.offset is not None
    end = PageEnd(
        limit,
        has_more,
        next_cursor=encode_cursor(ctx.snapshot.id, key, (start + limit,))
        if has_more and not by_offset
        else None,
        next_offset=start + limit if has_more and by_offset else None,
    )
    members = []
    if ctx.is_client_library:
        members.append(("results", b"[" + b",".join(features) + b"]"))
    return answer_page(ctx, features, end, members)


def answer_whole(parts: Iterator[bytes], media_type: str) -> Answer:
    """Return a whole answer when it is small, so that a late error is still told as one."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size > _BUFFER_BYTES:
            return Answer(chain(held, parts), media_type)
    return Answer(b"".join(held), media_type)


def choose_type(accept: str, offered: tuple[str, ...]) -> str:
    """Return the offered media type that an Accept header likes best; "" when it names none."""
    best, best_quality = "", 0.0
    for item in accept.lower().split(","):
        name, _, rest = item.partition(";")
        name = name.strip()
        quality = 1.0
        for parameter in rest.split(";"):
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        if name in offered and quality > best_quality:
            best, best_quality = name, quality
    return best
