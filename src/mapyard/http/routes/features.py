"""Elements as features: lists by filter and place, by id, in batches, nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
import numpy as np
import orjson
from msgspec import Meta

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, NotFound
from mapyard.features.listing import find_center, list_features
from mapyard.features.nearby import list_nearby
from mapyard.features.query import ALL_TYPES, FeatureQuery, iter_rows
from mapyard.features.regions import AroundRegion, BoxRegion, Region, ShapeRegion, read_h3
from mapyard.features.tags import TagFilter, parse_tag_filters
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.paging import PAGE_HEADERS, answer_page, is_early_path
from mapyard.osm.elements import NODE, TYPE_BY_NAME, WAY
from mapyard.params.parser import Bbox, Geometry, Params, Position, Tags, spelled
from mapyard.results.cursor import decode_cursor
from mapyard.results.features import write_feature, write_features
from mapyard.results.output import Output
from mapyard.results.pages import PageRequest, write_collection
from mapyard.results.streams import MEDIA_TYPES, Chunk, stream_features
from mapyard.store.reader import Store

MAX_LIMIT = 1_000
DEFAULT_LIMIT = 20
DEFAULT_EARLY_LIMIT = 100
MAX_RADIUS_M = 100_000.0
DEFAULT_RADIUS_M = 500.0
MAX_POINTS = 50_000

ElementType = Literal["node", "way", "relation"]
TypeFilter = Annotated[tuple[ElementType, ...], Meta(description="element types, all by default")]
TagsFilter = Annotated[
    Tags,
    spelled(
        "tag filters, all must hold: tags[amenity]=cafe, cafe|bar (one of), ~^Caf (regular "
        "expression, RE2), * (any value), ! (no such tag); or tags=amenity=cafe, "
        "tags=amenity:cafe, tags=amenity; a backslash escapes | * ! ~"
    ),
]
Shape = Annotated[Geometry | None, spelled("GeoJSON geometry", max_points=MAX_POINTS)]
Cursor = Annotated[str | None, Meta(description="cursor of the page before", max_length=1_024)]
Offset = Annotated[
    int | None, Meta(ge=0, description="how many to skip, instead of a cursor; a cursor wins")
]


class FeaturesParams(Params):
    """What a feature list is asked for."""

    type: TypeFilter = ()
    tags: TagsFilter = Tags()
    bbox: Annotated[
        Bbox | None,
        Meta(description="south,west,north,east; geometries that have a point in common with it"),
    ] = None
    around: Annotated[
        Geometry | None,
        spelled("within radius of lat,lng or of a GeoJSON geometry", "near", max_points=MAX_POINTS),
    ] = None
    radius: Annotated[
        float | None,
        Meta(
            ge=0,
            le=MAX_RADIUS_M,
            description="meters: of around (default 500), or by which the geometry of another "
            "predicate is widened",
        ),
    ] = None
    within: Shape = None
    intersects: Shape = None
    contains: Shape = None
    crosses: Shape = None
    touches: Shape = None
    not_within: Shape = None
    not_intersects: Shape = None
    not_contains: Shape = None
    h3: Annotated[str | None, Meta(description="H3 cell index", max_length=32)] = None
    limit: Annotated[
        int | None,
        Meta(
            ge=1,
            description="page size, 1 to 1000, default 20; a stream is whole unless given, and "
            "has no largest limit",
        ),
    ] = None
    cursor: Cursor = None
    offset: Offset = None
    format: Annotated[
        Literal["json", "geojson", "csv", "ndjson"],
        Meta(description="json is a page; geojson, csv and ndjson stream the whole result"),
    ] = "json"
    output: Output = Output()


@endpoint(
    "/api/v1/features",
    methods=("GET", "POST"),
    aliases=("/api/v1/elements",),
    summary="List elements by type, tags and place",
    tag="Features",
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    media_types=(GEOJSON, "text/csv", "application/x-ndjson"),
    errors=("invalid_cursor", "stale_cursor"),
    examples=[
        Example({"bbox": "43.73,7.41,43.75,7.43", "tags[amenity]": "cafe", "limit": 2}),
        Example({"around": "43.7384,7.4246", "radius": 300, "tags": "shop"}),
    ],
)
def features(ctx: Context, params: FeaturesParams) -> Answer:
    """Return listed elements (ways, relations, tagged nodes) in the order of (osm_id, type).

    Filters are ANDed; at most one of the spatial predicates may be given.
    """
    store = ctx.snapshot.store
    query = FeatureQuery(
        _read_types(params.type), _read_tags(store, params.tags), _read_region(params)
    )
    if params.format != "json":
        return _stream(ctx, params, query)
    page = PageRequest(_read_limit(ctx, params), params.cursor, params.offset)
    if page.cursor is None and page.offset is None and params.output.sort != "osm_id":
        page = page._replace(offset=0)
    _check_distance(params.output, query)
    found = list_features(
        store, ctx.snapshot.id, query, page, ctx.deadline, order=params.output.sort
    )
    written = write_features(
        store,
        found.rows,
        params.output,
        distances_m=found.distances_m,
        deadline=ctx.deadline,
    )
    return answer_page(ctx, written, found.end)


def _read_limit(ctx: Context, params: FeaturesParams) -> int:
    if is_early_path(ctx):
        return min(params.limit or DEFAULT_EARLY_LIMIT, MAX_LIMIT)
    limit = params.limit or DEFAULT_LIMIT
    if limit > MAX_LIMIT:
        raise InvalidRequest.of(
            "limit",
            f"must be at most {MAX_LIMIT}, got {limit}; for more follow the pages or stream with "
            "format=ndjson, geojson or csv",
        )
    return limit


def _stream(ctx: Context, params: FeaturesParams, query: FeatureQuery) -> Answer:
    assert params.format != "json"
    if params.output.sort != "osm_id":
        raise InvalidRequest.of("output[sort]", "streams come in the order of osm_id")
    _check_distance(params.output, query)
    store = ctx.snapshot.store
    after_eid = None
    if params.cursor is not None:
        (after_eid,) = decode_cursor(
            params.cursor, ctx.snapshot.id, query.hash("features"), tuple[int]
        )
    skip = params.offset or 0 if params.cursor is None else 0
    chunks = _iter_chunks(store, query, after_eid, skip, params.limit, ctx.deadline)
    return Answer(
        stream_features(store, chunks, params.output, params.format, ctx.deadline),
        MEDIA_TYPES[params.format],
    )


def _iter_chunks(
    store: Store,
    query: FeatureQuery,
    after_eid: int | None,
    skip: int,
    limit: int | None,
    deadline: Deadline,
) -> Iterator[Chunk]:
    """Yield the rows of a stream, and their distances in proximity queries."""
    center = find_center(query)
    wanted = None if limit is None else skip + limit
    for rows in iter_rows(store, query, deadline, after_eid=after_eid, wanted=wanted):
        taken = rows[skip:]
        skip = max(0, skip - len(rows))
        if limit is not None:
            taken = taken[:limit]
            limit -= len(taken)
        if len(taken):
            yield taken, None if center is None else center.distances_m(store, taken)
        if limit == 0:
            return


def _check_distance(output: Output, query: FeatureQuery) -> None:
    if "distance" in output.include and find_center(query) is None:
        raise InvalidRequest.of("output[include]", "distance needs around or near to measure from")


def _read_types(names: tuple[ElementType, ...]) -> tuple[int, ...]:
    return tuple(sorted({TYPE_BY_NAME[name] for name in names})) or ALL_TYPES


def _read_tags(store: Store, tags: Tags) -> tuple[TagFilter, ...]:
    return parse_tag_filters(tags.pairs, tags.texts, lambda key: store.find_key(key) >= 0)


_RELATIONS = ("within", "intersects", "contains", "crosses", "touches")
_NEGATIONS = ("not_within", "not_intersects", "not_contains")


def _read_region(params: FeaturesParams) -> Region | None:
    given = [
        name
        for name in ("bbox", "around", *_RELATIONS, *_NEGATIONS, "h3")
        if getattr(params, name) is not None
    ]
    if len(given) > 1:
        raise InvalidRequest(
            f"{' and '.join(given)} exclude each other: send one spatial predicate",
            details={name: ["only one spatial predicate may be given"] for name in given},
        )
    if not given or given[0] in ("bbox", "h3"):
        if params.radius is not None:
            raise InvalidRequest.of("radius", "needs around, near or a GeoJSON predicate")
        if params.bbox is not None:
            return BoxRegion(params.bbox)
        return None if params.h3 is None else read_h3(params.h3)
    name = given[0]
    shape = getattr(params, name).shape
    if name == "around":
        radius_m = DEFAULT_RADIUS_M if params.radius is None else params.radius
        return AroundRegion(shape, radius_m)
    relation = name.removeprefix("not_")
    return ShapeRegion(
        relation,  # type: ignore[arg-type] # one of _RELATIONS
        shape,
        radius_m=params.radius or None,
        negated=name.startswith("not_"),
    )


class ElementParams(Params):
    """Which element."""

    type: Annotated[ElementType, Meta(description="element type")]
    id: Annotated[int, Meta(description="OpenStreetMap id")]
    output: Output = Output()


@endpoint(
    "/api/v1/features/{type}/{id}",
    aliases=("/api/v1/elements/{type}/{id}",),
    summary="One element by type and id",
    tag="Features",
    inline=True,
    schema="GeoJsonFeature",
    errors=("not_found",),
    examples=[Example({"type": "way", "id": 94399684})],
)
def feature(ctx: Context, params: ElementParams) -> Answer:
    """Return any element of the dataset, untagged nodes included."""
    store = ctx.snapshot.store
    row = store.find_row(TYPE_BY_NAME[params.type], params.id)
    if row < 0:
        name = f"{params.type}/{params.id}"
        raise NotFound(f"{name} is not in this dataset", details={"id": name})
    return Answer(write_feature(store, row, params.output), GEOJSON)


@endpoint(
    "/api/v1/features/lookup",
    methods=("GET", "POST"),
    summary="One element, named by parameters",
    tag="Features",
    inline=True,
    schema="GeoJsonFeature",
    errors=("not_found",),
    examples=[Example({"type": "way", "id": 94399684})],
)
def lookup(ctx: Context, params: ElementParams) -> Answer:
    """Return the same as /features/{type}/{id}, with type and id as parameters."""
    return feature(ctx, params)


class ElementRef(msgspec.Struct, frozen=True):
    """One element of a batch."""

    type: ElementType
    id: int


class BatchParams(Params):
    """Which elements."""

    elements: Annotated[
        list[ElementRef],
        Meta(min_length=1, max_length=100, description='[{"type": "node", "id": 1}, …]'),
    ]
    output: Output = Output()


@endpoint(
    "/api/v1/features/batch",
    methods=("POST",),
    aliases=("/api/v1/elements/batch",),
    summary="Up to 100 elements by type and id",
    tag="Features",
    schema="FeatureCollection",
    examples=[Example({"elements": [{"type": "way", "id": 94399684}]})],
)
def batch(ctx: Context, params: BatchParams) -> Answer:
    """Return the elements in the order asked; those not in the dataset are listed in `missing`."""
    store = ctx.snapshot.store
    rows = np.array(
        [store.find_row(TYPE_BY_NAME[ref.type], ref.id) for ref in params.elements], np.int64
    )
    missing = [
        {"type": ref.type, "id": ref.id}
        for ref, row in zip(params.elements, rows.tolist(), strict=True)
        if row < 0
    ]
    written = write_features(store, rows[rows >= 0], params.output, deadline=ctx.deadline)
    return Answer(write_collection(written, members=[("missing", orjson.dumps(missing))]), GEOJSON)


class NearbyParams(Params):
    """What is searched for, and from where."""

    at: Annotated[
        Position, spelled("where to search from", "near", "around", "geometry", pair=True)
    ]
    radius: Annotated[float, Meta(gt=0, le=MAX_RADIUS_M, description="search radius in meters")] = (
        DEFAULT_RADIUS_M
    )
    type: TypeFilter = ()
    tags: TagsFilter = Tags()
    limit: Annotated[int | None, Meta(ge=1, description="page size, 1 to 1000, default 20")] = None
    cursor: Cursor = None
    offset: Offset = None
    output: Output = Output()


@endpoint(
    "/api/v1/features/nearby",
    methods=("GET", "POST"),
    aliases=("/api/v1/nearby",),
    summary="Elements nearest to a position",
    tag="Features",
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    errors=("invalid_cursor", "stale_cursor"),
    examples=[Example({"lat": 43.7384, "lng": 7.4246, "tags[amenity]": "cafe", "limit": 3})],
)
def nearby(ctx: Context, params: NearbyParams) -> Answer:
    """Return listed elements within `radius`, nearest first, with `distance_m`.

    An area that holds the position is at distance 0.
    """
    store = ctx.snapshot.store
    limit = params.limit or (DEFAULT_EARLY_LIMIT if is_early_path(ctx) else DEFAULT_LIMIT)
    if limit > MAX_LIMIT:
        if not is_early_path(ctx):
            raise InvalidRequest.of("limit", f"must be at most {MAX_LIMIT}, got {limit}")
        limit = MAX_LIMIT
    if params.output.sort == "name":
        raise InvalidRequest.of(
            "output[sort]", "nearby sorts by distance; use /features with around"
        )
    found = list_nearby(
        store,
        ctx.snapshot.id,
        params.at.lon,
        params.at.lat,
        params.radius,
        PageRequest(limit, params.cursor, params.offset),
        ctx.deadline,
        types=_read_types(params.type),
        tags=_read_tags(store, params.tags),
    )
    written = write_features(
        store,
        found.rows,
        params.output,
        distances_m=found.distances_m,
        deadline=ctx.deadline,
    )
    return answer_page(ctx, written, found.end)


class NearestNamedParams(Params):
    """Where."""

    at: Annotated[Position, spelled("position", "near", "geometry", pair=True)]
    radius: Annotated[float, Meta(gt=0, le=5_000, description="search radius in meters")] = 5_000.0
    output: Output = Output()


@endpoint(
    "/api/v1/reverse-geocode",
    summary="Nearest named feature (early path)",
    tag="Features",
    schema="GeoJsonFeature",
    errors=("not_found",),
    examples=[Example({"lat": 43.7384, "lng": 7.4246})],
)
def nearest_named(ctx: Context, params: NearestNamedParams) -> Answer:
    """Return the nearest node or way that has a name, with `distance_m`.

    Kept for early clients; /geocode/reverse answers with addresses.
    """
    store = ctx.snapshot.store
    found = list_nearby(
        store,
        ctx.snapshot.id,
        params.at.lon,
        params.at.lat,
        params.radius,
        PageRequest(1),
        ctx.deadline,
        types=(NODE, WAY),
        tags=(TagFilter("name", "exists"),),
    )
    if not len(found.rows):
        raise NotFound(f"nothing with a name lies within {params.radius:g} m")
    written = write_features(store, found.rows, params.output, distances_m=found.distances_m)
    return Answer(written[0], GEOJSON)
