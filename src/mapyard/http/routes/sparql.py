"""SPARQL: GeoJSON by default, the W3C formats by Accept, the W3C protocol beside plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Annotated, Final

from msgspec import Meta

from mapyard.errors import InvalidCursor
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.paging import PAGE_HEADERS, answer_page
from mapyard.library.snapshot import Snapshot, register_part
from mapyard.params.parser import Params
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd, open_collection, write_collection
from mapyard.sparql.engine import Engine, Solutions, Triples, Truth
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.run.runtime import Limits
from mapyard.sparql.run.table import slice_tables
from mapyard.sparql.write.features import FeatureWriter
from mapyard.sparql.write.solutions import (
    CSV_TYPE,
    JSON_TYPE,
    TSV_TYPE,
    XML_TYPE,
    write_csv,
    write_json,
    write_json_boolean,
    write_tsv,
    write_xml,
    write_xml_boolean,
)
from mapyard.sparql.write.triples import (
    N_TRIPLES_TYPE,
    TURTLE_TYPE,
    write_n_triples,
    write_turtle,
)

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 1_000
#: An answer is only streamed beyond this: until then an error can still be told as one.
_BUFFER_BYTES: Final = 4 << 20

_SOLUTION_WRITERS: Final[dict[str, Callable[[Solutions], Iterator[bytes]]]] = {
    JSON_TYPE: write_json,
    XML_TYPE: write_xml,
    CSV_TYPE: write_csv,
    TSV_TYPE: write_tsv,
}
_BOOLEAN_WRITERS: Final[dict[str, Callable[[bool], bytes]]] = {
    JSON_TYPE: write_json_boolean,
    XML_TYPE: write_xml_boolean,
}
_TRIPLE_WRITERS: Final[dict[str, Callable[[Triples], Iterator[bytes]]]] = {
    TURTLE_TYPE: write_turtle,
    N_TRIPLES_TYPE: write_n_triples,
}


def open_engine(snapshot: Snapshot) -> Engine:
    """Return the engine of a snapshot, which keeps its plans."""
    limits = Limits(max_bytes=snapshot.settings.query_bytes)
    return Engine(OsmSource(snapshot.store), limits)


register_part("sparql", open_engine)


class SparqlParams(Params):
    """A query, and which page of its solutions."""

    query: Annotated[
        str,
        Meta(
            description="SPARQL 1.1 query; the prefixes of osm2rdf/QLever and Sophox are declared",
            examples=['SELECT ?s ?name WHERE { ?s osm:amenity "cafe" . ?s osm:name ?name }'],
        ),
    ]
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


@endpoint(
    "/api/v1/sparql",
    methods=("GET", "POST"),
    summary="Run a SPARQL query",
    tag="Query languages",
    heavy=True,
    texts={"application/sparql-query": "query", "text/plain": "query", "*": "query"},
    schema="FeatureCollection",
    media_types=(
        GEOJSON, JSON_TYPE, XML_TYPE, CSV_TYPE, TSV_TYPE, TURTLE_TYPE, N_TRIPLES_TYPE,
    ),
    headers=PAGE_HEADERS,
    errors=("invalid_query", "invalid_cursor", "stale_cursor", "timeout", "too_large"),
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
    engine: Engine = ctx.snapshot.part("sparql")
    result = engine.query(params.query, ctx.deadline)
    if isinstance(result, Truth):
        media_type = choose_type(ctx.accept, tuple(_BOOLEAN_WRITERS)) or JSON_TYPE
        return Answer(_BOOLEAN_WRITERS[media_type](result.value), media_type)
    if isinstance(result, Triples):
        media_type = choose_type(ctx.accept, tuple(_TRIPLE_WRITERS)) or TURTLE_TYPE
        return _answer(_TRIPLE_WRITERS[media_type](result), media_type)
    if params.limit is not None or params.cursor is not None or params.offset is not None:
        return _page(ctx, params, result)
    media_type = (
        choose_type(ctx.accept, (GEOJSON, "application/json", *_SOLUTION_WRITERS)) or GEOJSON
    )
    if media_type in _SOLUTION_WRITERS:
        return _answer(_SOLUTION_WRITERS[media_type](result), media_type)
    writer = FeatureWriter(result, ctx.snapshot.store)
    if ctx.is_client_library:
        features = [feature for chunk in writer.write() for feature in chunk]
        members = [("results", b"[" + b",".join(features) + b"]")]
        return Answer(write_collection(features, members=members), GEOJSON)
    return _answer(_stream(writer), GEOJSON)


def _page(ctx: Context, params: SparqlParams, result: Solutions) -> Answer:
    key = hash_query("sparql", params.query)
    limit = params.limit or DEFAULT_LIMIT
    start = params.offset or 0
    if params.cursor is not None:
        (start,) = decode_cursor(params.cursor, ctx.snapshot.id, key, tuple[int])
        if start < 0:
            raise InvalidCursor("the cursor points before the result")
    result.tables = slice_tables(result.tables, start, limit + 1)
    media_type = choose_type(ctx.accept, (GEOJSON, "application/json", *_SOLUTION_WRITERS))
    if media_type in _SOLUTION_WRITERS:
        result.tables = slice_tables(result.tables, 0, limit)
        return _answer(_SOLUTION_WRITERS[media_type](result), media_type)
    writer = FeatureWriter(result, ctx.snapshot.store)
    features = [feature for chunk in writer.write() for feature in chunk]
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


def _stream(writer: FeatureWriter) -> Iterator[bytes]:
    yield open_collection()
    separator = b""
    for features in writer.write():
        yield separator + b",".join(features)
        separator = b","
    yield b"]}"


def _answer(parts: Iterator[bytes], media_type: str) -> Answer:
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
