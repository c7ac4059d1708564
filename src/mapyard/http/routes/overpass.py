"""Overpass QL: GeoJSON pages, and the drop-in paths of the original for existing clients."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import orjson
from msgspec import Meta

from mapyard.errors import InvalidQuery, InvalidRequest, NotInstalled
from mapyard.geocoding.geocoder import Geocoder
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.errors import NotOffered
from mapyard.http.macro_places import make_geocode
from mapyard.http.paging import PAGE_HEADERS, answer_page
from mapyard.http.routes.features import FeaturesParams, features
from mapyard.overpass.engine import Result, run_text
from mapyard.overpass.parse.macros import Geocode, Place, Surroundings
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.entries import Entries, list_entries
from mapyard.overpass.write.geojson import stream_features, write_page
from mapyard.overpass.write.native import MEDIA_TYPES, write_native
from mapyard.overpass.write.results import ResultCache
from mapyard.params.parser import Bbox, Params, Position, spelled
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 1_000
NDJSON: Final = "application/x-ndjson"
TEXT: Final = "text/plain; charset=utf-8"
_ANY_TEXT: Final = {"text/plain": "data", "*": "data"}
_WARNING_HEADER: Final = {"X-Query-Warning": "what the query's author should know, in ASCII"}


class OverpassParams(Params):
    """A query and what its macros may refer to."""

    data: Annotated[
        str,
        spelled(
            "Overpass QL; macros such as {{bbox}} and {{geocodeArea:…}} are expanded",
            "query",
            examples=["node[amenity=cafe](43.73,7.41,43.75,7.43);out;"],
        ),
    ]
    bbox: Annotated[
        Bbox | None, Meta(description="south,west,north,east: what {{bbox}} stands for")
    ] = None
    center: Annotated[Position | None, Meta(description="lat,lng: what {{center}} stands for")] = (
        None
    )
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, description="page size")] = DEFAULT_LIMIT
    cursor: Annotated[
        str | None, Meta(description="cursor of the page before", max_length=1_024)
    ] = None
    offset: Annotated[
        int | None, Meta(ge=0, description="how many to skip, instead of a cursor; a cursor wins")
    ] = None
    format: Annotated[
        Literal["json", "geojson", "ndjson", "osmjson"],
        Meta(
            description="json is a GeoJSON page; geojson and ndjson stream all features; osmjson "
            "is native Overpass JSON, whole"
        ),
    ] = "json"


class InterpreterParams(Params):
    """A query as clients of the original send it."""

    data: Annotated[str, Meta(description="Overpass QL")]
    bbox: Annotated[
        Bbox | None, Meta(description="south,west,north,east: what {{bbox}} stands for")
    ] = None


class NoParams(Params):
    """No parameters."""


@endpoint(
    "/api/v1/overpass",
    methods=("GET", "POST"),
    summary="Run an Overpass QL query",
    tag="Query languages",
    heavy=True,
    texts=_ANY_TEXT,
    schema="FeatureCollection",
    media_types=(GEOJSON, JSON, NDJSON, MEDIA_TYPES["csv"]),
    headers={**PAGE_HEADERS, **_WARNING_HEADER},
    errors=("invalid_query", "invalid_cursor", "stale_cursor", "timeout", "too_large"),
    examples=[
        Example({"data": "node[amenity=cafe](43.73,7.41,43.75,7.43);out;", "limit": 2}),
        Example({"data": 'area["name"="Monaco"];way(area)[leisure=park];out center;'}),
    ],
)
def overpass(ctx: Context, params: OverpassParams) -> Answer:
    """Return the result as pages of GeoJSON features, each element once.

    The order is that of the out statements, then what they ask for. See docs/overpass.md.
    """
    if params.format == "osmjson":
        return _native(ctx, _run(ctx, params), "json")
    key = hash_query("overpass", params.data, params.bbox, params.center)
    cache: ResultCache = ctx.services.get(
        "overpass results", lambda services: ResultCache(services.settings.data / "cache")
    )
    name = f"{ctx.snapshot.id}-{key.hex()}"
    is_first = params.cursor is None and not params.offset
    # What a query found relative to the clock is for its further pages only.
    entries = None if is_first and "{{date" in params.data else cache.find(name)
    if entries is None:
        result = _run(ctx, params)
        if result.settings.output == "csv":
            return _native(ctx, result, "csv")
        entries = list_entries(ctx.snapshot.store, result.outs, _warnings(result), _budget(ctx))
        cache.keep(name, entries)
    headers = _warning_headers(entries.warnings)
    if params.format != "json":
        as_lines = params.format == "ndjson"
        body = stream_features(ctx.snapshot.store, entries, ctx.deadline, as_lines=as_lines)
        return Answer(body, NDJSON if as_lines else GEOJSON, headers=headers)
    return _page(ctx, params, entries, key, headers)


def _page(
    ctx: Context, params: OverpassParams, entries: Entries, key: bytes, headers: dict[str, str]
) -> Answer:
    start = params.offset or 0
    if params.cursor is not None:
        (start,) = decode_cursor(params.cursor, ctx.snapshot.id, key, tuple[int])
        if not 0 <= start <= len(entries):
            raise InvalidRequest.of("cursor", "points outside of the result")
    stop = min(start + params.limit, len(entries))
    features = write_page(ctx.snapshot.store, entries, start, stop)
    has_more = stop < len(entries)
    by_offset = params.cursor is None and params.offset is not None
    end = PageEnd(
        params.limit,
        has_more,
        next_cursor=encode_cursor(ctx.snapshot.id, key, (stop,))
        if has_more and not by_offset
        else None,
        next_offset=stop if has_more and by_offset else None,
    )
    members = _members(ctx, entries)
    answer = answer_page(ctx, features, end, members)
    answer.headers = {**(answer.headers or {}), **headers}
    return answer


def _members(ctx: Context, entries: Entries) -> list[tuple[str, bytes]]:
    """Return the further members of the collection: data time, counts, warnings."""
    members = [("timestamp", orjson.dumps(ctx.snapshot.timestamp or None))]
    if entries.counts:
        counts = [{name: int(text) for name, text in tags.items()} for tags in entries.counts]
        members.append(("count", orjson.dumps(counts[0] if len(counts) == 1 else counts)))
    if entries.warnings:
        members.append(("warnings", orjson.dumps(entries.warnings)))
    return members


def _run(ctx: Context, params: OverpassParams | InterpreterParams) -> Result:
    box, center = params.bbox, getattr(params, "center", None)
    surroundings = Surroundings(
        box=None if box is None else (box.south, box.west, box.north, box.east),
        center=None if center is None else (center.lat, center.lon),
        geocode=_geocoder(ctx),
    )
    return run_text(
        ctx.snapshot.store,
        params.data,
        deadline=ctx.deadline,
        surroundings=surroundings,
        max_bytes=ctx.settings.query_bytes,
    )


def _budget(ctx: Context) -> Budget:
    return Budget(ctx.deadline, ctx.settings.query_bytes)


def _geocoder(ctx: Context) -> Geocode:
    """Return the geocoder of macros; without a built one, the elements' own names."""

    def geocode(name: str, want_area: bool) -> Place | None:
        try:
            geocoder: Geocoder | None = ctx.snapshot.part("geocoder")
        except NotInstalled:
            geocoder = None
        return make_geocode(ctx.snapshot.store, geocoder)(name, want_area)

    return geocode


def _warnings(result: Result) -> list[str]:
    if result.settings.output == "xml":
        return [*result.warnings, "[out:xml]: answered as GeoJSON; XML is at /api/interpreter"]
    return result.warnings


def _warning_headers(warnings: list[str]) -> dict[str, str]:
    if not warnings:
        return {}
    text = " | ".join(warnings).replace("…", "...").encode("ascii", "replace").decode()
    return {"X-Query-Warning": text[:2000]}


def _native(ctx: Context, result: Result, output: str) -> Answer:
    """Return the whole result as the original writes it."""
    timestamp = ctx.snapshot.timestamp or ""
    body = write_native(ctx.snapshot.store, result, output, timestamp, _budget(ctx))
    return Answer(body, MEDIA_TYPES[output], headers=_warning_headers(result.warnings))


@endpoint(
    "/api/interpreter",
    methods=("GET", "POST"),
    summary="Run an Overpass QL query, answered like the original",
    tag="Query languages",
    heavy=True,
    texts=_ANY_TEXT,
    media_types=tuple(MEDIA_TYPES.values()),
    headers=_WARNING_HEADER,
    errors=("invalid_query", "timeout", "too_large"),
    examples=[Example({"data": "[out:json];node[amenity=cafe](43.73,7.41,43.75,7.43);out;"})],
)
def interpreter(ctx: Context, params: InterpreterParams) -> Answer:
    """Return native Overpass JSON, CSV or, as the original does by default, XML.

    For clients made for the original: overpy, osmnx, osmdata, QuickOSM. The key comes as a header
    or as `?api_key=`.
    """
    result = _run(ctx, params)
    return _native(ctx, result, result.settings.output or "xml")


@endpoint(
    "/api/status",
    summary="Slots and limits in the original's text form",
    tag="Query languages",
    inline=True,
    media_types=(TEXT,),
)
def status(ctx: Context, params: NoParams) -> Answer:
    """Answer as clients of the original expect: a slot is always free, queues answer 503."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lines = [
        f"Connected as: {ctx.account_id}",
        f"Current time: {now}",
        "Announced endpoint: none",
        "Rate limit: 0",
        f"{ctx.settings.threads} slots available now.",
        "Currently running queries (pid, space limit, time limit, start time):",
    ]
    return Answer(("\n".join(lines) + "\n").encode(), TEXT)


@endpoint(
    "/api/timestamp",
    summary="Time of the data",
    tag="Query languages",
    inline=True,
    media_types=(TEXT,),
)
def timestamp(ctx: Context, params: NoParams) -> Answer:
    """Answer the time of the data in ISO 8601, as the original does."""
    return Answer(f"{ctx.snapshot.timestamp or ''}\n".encode(), TEXT)


class QueryParams(OverpassParams, kw_only=True):
    """A query in Overpass QL, under the names that clients use."""

    steps: Annotated[list[dict[str, str]] | None, Meta(description="pipelines are not offered")] = (
        None
    )
    data: Annotated[str, spelled("Overpass QL", "query")] = ""


#: What only the query language PlazaQL has.
_PLAZAQL: Final = re.compile(
    r"\b(?:search|boundary|route|isochrone|geocode|dataset)\s*\(|\$\w+\s*=|^\s*#\w+", re.MULTILINE
)


@endpoint(
    "/api/v1/query",
    methods=("POST",),
    summary="Run a query in Overpass QL",
    tag="Query languages",
    heavy=True,
    texts=_ANY_TEXT,
    schema="FeatureCollection",
    headers={**PAGE_HEADERS, **_WARNING_HEADER},
    errors=("invalid_query", "not_implemented"),
)
def query(ctx: Context, params: QueryParams) -> Answer:
    """Return what /api/v1/overpass does for Overpass QL; PlazaQL and pipelines answer 501."""
    if params.steps is not None:
        raise NotOffered(
            "pipelines of steps are not offered; send the query as `data` to /api/v1/overpass"
        )
    if not params.data:
        raise InvalidRequest.of("data", "is required")
    try:
        return overpass(ctx, params)
    except InvalidQuery:
        if _PLAZAQL.search(params.data):
            raise NotOffered(
                "PlazaQL is not offered; write the query in Overpass QL (docs/overpass.md)"
            ) from None
        raise


@endpoint(
    "/api/v1/query",
    methods=("GET",),
    summary="List elements, as early client libraries ask",
    tag="Query languages",
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    errors=("invalid_cursor", "stale_cursor"),
)
def query_features(ctx: Context, params: FeaturesParams) -> Answer:
    """Return what GET /api/v1/features does: the early path of the first client libraries."""
    return features(ctx, params)
