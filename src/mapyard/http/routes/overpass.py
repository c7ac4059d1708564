"""Overpass QL: GeoJSON pages, and the drop-in paths of the original for existing clients."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.geo.bbox import Bbox
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.paging import PAGE_HEADERS, answer_page
from mapyard.http.routes.overpass_errors import STATUSES, write_error
from mapyard.http.stops import stop_queries
from mapyard.library.questions import overpass as library
from mapyard.library.results.overpass import OverpassResult
from mapyard.overpass.convert.forms import convert
from mapyard.overpass.write.native import MEDIA_TYPES
from mapyard.params.parser import NoParams, Params
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query
from mapyard.results.pages import PageEnd
from mapyard.results.plan import QueryPlan

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 1_000
NDJSON: Final = "application/jsonl"
TEXT: Final = "text/plain; charset=utf-8"
SCRIPT: Final = "application/javascript; charset=utf-8"
_ANY_TEXT: Final = {"text/plain": "data", "*": "data"}
#: What the original's map call asks: nodes in a box, their ways with all nodes, and relations.
_MAP_QUERY: Final = (
    "[timeout:{timeout:g}];(node({box});way(bn);node(w););"
    "(._;(rel(bn)->.a;rel(bw)->.a;);rel(br););out meta;"
)
_WARNING_HEADER: Final = {"X-Query-Warning": "what the query's author should know, in ASCII"}


class OverpassParams(library.OverpassQuestion, kw_only=True):
    """A query, and how its answer is written."""

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
    explain: Annotated[
        bool,
        Meta(description="answer the steps of the query instead: rows, estimates, time"),
    ] = False


class InterpreterParams(Params):
    """A query as clients of the original send it."""

    data: Annotated[str, Meta(description="Overpass QL")]
    bbox: Annotated[
        str,
        Meta(
            max_length=200,
            description="west,south,east,north, longitudes first as in the original: what (bbox), "
            "[bbox] and {{bbox}} stand for",
        ),
    ] = ""
    jsonp: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_.]*$",
            max_length=100,
            description="JSON as a call of this function, for pages that load it as a script",
        ),
    ] = ""


@endpoint(
    "/api/v1/overpass",
    methods=("GET", "POST"),
    summary="Run an Overpass QL query",
    tag="Query languages",
    heavy=True,
    apart=True,
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
    if params.explain:
        return answer_plan(library.explain_overpass(ctx, params))
    if params.format == "osmjson":
        return _native(library.overpass(ctx, params), "json")
    found = library.find_kept(
        ctx, params, is_first_page=params.cursor is None and not params.offset
    )
    if found.is_csv:
        return _native(found, "csv")
    headers = warning_headers(found.warnings)
    if params.format != "json":
        as_lines = params.format == "ndjson"
        body = found.stream(as_lines=as_lines)
        return Answer(body, NDJSON if as_lines else GEOJSON, headers=headers)
    return _page(ctx, params, found, headers)


def answer_plan(plan: QueryPlan) -> Answer:
    """Return the steps of a query as JSON."""
    return Answer(msgspec.json.encode(plan), JSON)


def _page(
    ctx: Context, params: OverpassParams, found: OverpassResult, headers: dict[str, str]
) -> Answer:
    key = hash_query("overpass", params.data, params.bbox, params.center)
    size = len(found)
    start = params.offset or 0
    if params.cursor is not None:
        (start,) = decode_cursor(params.cursor, ctx.snapshot.id, key, tuple[int])
        if not 0 <= start <= size:
            raise InvalidRequest.of("cursor", "points outside of the result")
    stop = min(start + params.limit, size)
    features = found.page(start, stop)
    has_more = stop < size
    by_offset = params.cursor is None and params.offset is not None
    end = PageEnd(
        params.limit,
        has_more,
        next_cursor=encode_cursor(ctx.snapshot.id, key, (stop,))
        if has_more and not by_offset
        else None,
        next_offset=stop if has_more and by_offset else None,
    )
    answer = answer_page(ctx, features, end, found.written_members())
    answer.headers = {**(answer.headers or {}), **headers}
    return answer


def warning_headers(warnings: list[str]) -> dict[str, str]:
    """Return the header that tells what the author of a query should know."""
    if not warnings:
        return {}
    text = " | ".join(warnings).replace("…", "...").encode("ascii", "replace").decode()
    return {"X-Query-Warning": text[:2000]}


def _native(found: OverpassResult, output: str) -> Answer:
    """Return the whole result as the original writes it."""
    assert found.result is not None
    headers = warning_headers(found.result.warnings)
    return Answer(found.native(output), MEDIA_TYPES[output], headers=headers)


@endpoint(
    "/api/interpreter",
    aliases=("/overpass/api/interpreter",),
    methods=("GET", "POST"),
    summary="Run an Overpass QL query, answered like the original",
    tag="Query languages",
    heavy=True,
    apart=True,
    texts=_ANY_TEXT,
    schema="OverpassJson",
    media_types=tuple(MEDIA_TYPES.values()),
    headers=_WARNING_HEADER,
    errors=("invalid_query", "timeout", "too_large"),
    statuses=STATUSES,
    write_error=write_error,
    examples=[Example({"data": "[out:json];node[amenity=cafe](43.73,7.41,43.75,7.43);out;"})],
)
def interpreter(ctx: Context, params: InterpreterParams) -> Answer:
    """Return native Overpass JSON, CSV or, as the original does by default, XML.

    For clients made for the original: overpy, osmnx, osmdata, QuickOSM. The key comes as a header
    or as `?api_key=`.
    """
    result = library.run(ctx, *read_box(params))
    output = result.settings.output or "xml"
    answer = _native(OverpassResult(ctx, result), output)
    if params.jsonp and output == "json":
        return _as_script(answer, params.jsonp)
    return answer


def read_box(params: InterpreterParams) -> tuple[str, Bbox | None]:
    """Return the query with macros where the box of the request belongs, and the box."""
    if not params.bbox:
        return params.data, None
    # As the original does, which replaces these two in the text.
    data = params.data.replace("(bbox)", "({{bbox}})").replace("[bbox]", "[bbox:{{bbox}}]")
    return data, Bbox(*_read_sides(params.bbox))


def _as_script(answer: Answer, function: str) -> Answer:
    """Return an answer in JSON as a script that hands it to a function."""
    body = (answer.body,) if isinstance(answer.body, bytes) else answer.body
    head, tail = f"{function}(".encode(), b");"
    return Answer(chain((head,), body, (tail,)), SCRIPT, headers=answer.headers)


class MapParams(Params):
    """A box as the map call of the OpenStreetMap API takes it."""

    bbox: Annotated[str, Meta(description="west,south,east,north: longitudes come first here")]


@endpoint(
    "/api/map",
    aliases=("/overpass/api/map",),
    summary="All elements in a box, as the OpenStreetMap API's map call",
    tag="Query languages",
    heavy=True,
    apart=True,
    media_types=(MEDIA_TYPES["xml"],),
    errors=("timeout", "too_large"),
    statuses=STATUSES,
    write_error=write_error,
    examples=[Example({"bbox": "7.419,43.731,7.421,43.732"})],
)
def map_call(ctx: Context, params: MapParams) -> Answer:
    """Return the nodes of a box, their ways with all nodes, and the relations of these, as XML.

    What JOSM and others load for editing; relations of relations come along, their members do not.
    """
    west, south, east, north = _read_sides(params.bbox)
    box = f"{south!r},{west!r},{north!r},{east!r}"
    text = _MAP_QUERY.format(box=box, timeout=ctx.settings.timeout_s)
    return _native(OverpassResult(ctx, library.run(ctx, text, None)), "xml")


def _read_sides(text: str) -> tuple[float, float, float, float]:
    try:
        west, south, east, north = (float(side) for side in text.split(","))
    except ValueError:
        raise InvalidRequest.of("bbox", "is four numbers: west,south,east,north") from None
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90):
        raise InvalidRequest.of("bbox", "is west,south,east,north in degrees, south first of both")
    return west, south, east, north


class ConvertParams(Params):
    """A query, and the form that it is wanted in."""

    data: Annotated[str, Meta(description="Overpass QL or its XML form")]
    target: Annotated[
        Literal["xml", "mapql", "compact"],
        Meta(description="xml, Overpass QL with line breaks (mapql), or on one line (compact)"),
    ] = "mapql"


@endpoint(
    "/api/convert",
    aliases=("/overpass/api/convert",),
    methods=("GET", "POST"),
    summary="Write a query in another form: XML or Overpass QL",
    tag="Query languages",
    needs_dataset=False,
    texts=_ANY_TEXT,
    media_types=(TEXT,),
    errors=("invalid_query",),
    examples=[Example({"data": "node[amenity=cafe](43.73,7.41,43.75,7.43);out;", "target": "xml"})],
)
def convert_query(ctx: Context, params: ConvertParams) -> Answer:
    """Return the same query in the form that `target` names; nothing is run.

    What only Overpass QL can say is refused for the XML form, with its place (422).
    """
    return Answer(convert(params.data, params.target).encode(), TEXT)


@endpoint(
    "/api/kill_my_queries",
    aliases=("/overpass/api/kill_my_queries",),
    methods=("GET", "POST"),
    summary="Stop the account's running queries",
    tag="Query languages",
    needs_dataset=False,
    media_types=(TEXT,),
)
def kill_my_queries(ctx: Context, params: NoParams) -> Answer:
    """Stop the queries of the key's account that run now; they answer 409 `stopped`.

    In all workers of this machine, within tenths of a second. Those that wait for a turn stay.
    """
    stop_queries(ctx.settings, ctx.account_id)
    return Answer(b"Stopping the queries of your account that run now.\nDone!\n", TEXT)


@endpoint(
    "/api/status",
    aliases=("/overpass/api/status",),
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
    aliases=("/overpass/api/timestamp",),
    summary="Time of the data",
    tag="Query languages",
    inline=True,
    media_types=(TEXT,),
)
def timestamp(ctx: Context, params: NoParams) -> Answer:
    """Answer the time of the data in ISO 8601, as the original does."""
    return Answer(f"{ctx.snapshot.timestamp or ''}\n".encode(), TEXT)
