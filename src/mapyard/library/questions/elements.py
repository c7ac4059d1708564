"""Elements as features: lists by filter and place, by id, several by id, nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.errors import InvalidRequest, NotFound
from mapyard.features.conditions import Condition, Every, split
from mapyard.features.listing import Listing, find_center, list_features
from mapyard.features.nearby import list_nearby
from mapyard.features.query import ALL_TYPES, FeatureQuery, iter_rows
from mapyard.features.regions import AroundRegion, BoxRegion, Region, ShapeRegion, read_h3
from mapyard.features.tags import TagFilter, parse_tag_filters
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.results.elements import Elements
from mapyard.library.results.feature import Feature, Features
from mapyard.osm.elements import NODE, TYPE_BY_NAME, WAY
from mapyard.params.parser import Bbox, Geometry, Params, Position, Tags, spelled
from mapyard.results.cursor import decode_cursor
from mapyard.results.features import write_feature, write_features
from mapyard.results.output import Output
from mapyard.results.pages import ATTRIBUTION, PageRequest
from mapyard.results.streams import Chunk
from mapyard.store.reader import Store

MAX_RADIUS_M = 100_000.0
DEFAULT_RADIUS_M = 500.0
DEFAULT_NEARBY = 20
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

Lang = Annotated[
    tuple[
        Annotated[str, Meta(pattern="^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,3}$", max_length=32)],
        ...,
    ],
    spelled("languages of names, the preferred first: de, or pt-BR,pt,en", "language", "langs"),
]


class FeatureFilter(Params, kw_only=True):
    """Which elements, and which part of the list."""

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
    lang: Lang = ()
    output: Output = Output()


@question(
    "features",
    path="/api/v1/features",
    fixed={"format": "ndjson"},
    renamed={"around": "near"},
    result=Features,
)
def features(call: Call, params: FeatureFilter) -> Elements:
    """List elements by type, tags and place.

    Filters are ANDed; at most one of the spatial predicates may be given. The order is by
    (osm_id, type), or as `output[sort]` says.
    """
    return list_elements(call, params)


class Source(NamedTuple):
    """What a list is of, where it is not the map: a store, and for what its cursors hold."""

    store: Store
    version: str
    attribution: str


def list_elements(
    call: Call,
    params: FeatureFilter,
    where: Condition | None = None,
    source: Source | None = None,
) -> Elements:
    """Return the elements of a filter for which a condition holds besides."""
    if source is None:
        source = Source(call.store, call.snapshot.id, ATTRIBUTION)
    store = source.store
    tags, region, rest = split(where)
    own = read_region(params)
    if own is not None and region is not None:
        rest = region if rest is None else Every((region, rest))
    query = FeatureQuery(
        read_types(params.type), (*read_tags(store, params.tags), *tags), own or region, rest
    )
    if "distance" in params.output.include and find_center(query) is None:
        raise InvalidRequest.of("output[include]", "distance needs around or near to measure from")

    def find_page(limit: int) -> Listing:
        page = PageRequest(limit, params.cursor, params.offset)
        order = params.output.sort
        if page.cursor is None and page.offset is None and order != "osm_id":
            page = page._replace(offset=0)
        return list_features(store, source.version, query, page, call.deadline, order=order)

    def iter_chunks() -> Iterator[Chunk]:
        if params.output.sort != "osm_id":
            return _iter_sorted(find_page, params.limit)
        after_eid = None
        if params.cursor is not None:
            (after_eid,) = decode_cursor(
                params.cursor, source.version, query.hash("features"), tuple[int]
            )
        skip = params.offset or 0 if params.cursor is None else 0
        return _iter_chunks(store, query, after_eid, skip, params.limit, call.deadline)

    return Elements(
        call, read_output(params), find_page, iter_chunks, store=store,
        attribution=source.attribution,
    )  # fmt: skip


def _iter_sorted(find_page: Any, limit: int | None) -> Iterator[Chunk]:
    """Yield the whole result in an order that needs all of it at once."""
    found: Listing = find_page(2**31 if limit is None else limit)
    yield found.rows, found.distances_m


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


def read_output(params: Any) -> Output:
    """Return the output options of a question, with the languages of its `lang`."""
    output: Output = params.output
    if not params.lang or params.lang == output.lang:
        return output
    if output.lang:
        raise InvalidRequest.of("lang", "lang and output[lang] name different languages")
    return msgspec.structs.replace(output, lang=params.lang)


def find_rows_in(
    call: Call, types: tuple[ElementType, ...], tags: Tags, box: Bbox
) -> NDArray[np.int64]:
    """Return the sorted rows of the map that meet the filters in a box."""
    query = FeatureQuery(read_types(types), read_tags(call.store, tags), BoxRegion(box))
    found = [rows.astype(np.int64) for rows in iter_rows(call.store, query, call.deadline)]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


def read_types(names: tuple[ElementType, ...]) -> tuple[int, ...]:
    """Return element types by number, all where none is named."""
    return tuple(sorted({TYPE_BY_NAME[name] for name in names})) or ALL_TYPES


def read_tags(store: Store, tags: Tags) -> tuple[TagFilter, ...]:
    """Return tag filters in any of their spellings."""
    return parse_tag_filters(tags.pairs, tags.texts, lambda key: store.find_key(key) >= 0)


_RELATIONS = ("within", "intersects", "contains", "crosses", "touches")
_NEGATIONS = ("not_within", "not_intersects", "not_contains")


def read_region(params: FeatureFilter) -> Region | None:
    """Return the place that a filter names, None for everywhere; raise for two of them."""
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


class Element(Params):
    """Which element."""

    type: Annotated[ElementType, Meta(description="element type")]
    id: Annotated[int, Meta(description="OpenStreetMap id")]
    lang: Lang = ()
    output: Output = Output()


@question("feature", path="/api/v1/features/lookup", leading=("type", "id"))
def feature(call: Call, params: Element) -> Feature:
    """Return one element by type and id, untagged nodes included."""
    store = call.store
    row = store.find_row(TYPE_BY_NAME[params.type], params.id)
    if row < 0:
        name = f"{params.type}/{params.id}"
        raise NotFound(f"{name} is not in this dataset", details={"id": name})
    return Feature(write_feature(store, row, read_output(params)))


class ElementRef(msgspec.Struct, frozen=True):
    """One of several elements."""

    type: ElementType
    id: int


class ElementRefs(Params):
    """Which elements."""

    elements: Annotated[
        list[ElementRef],
        Meta(min_length=1, max_length=100, description='[{"type": "node", "id": 1}, …]'),
    ]
    lang: Lang = ()
    output: Output = Output()


@question("lookup", path="/api/v1/features/batch", leading=("elements",))
def lookup(call: Call, params: ElementRefs) -> Features:
    """Return up to 100 elements in the order asked; those not in the dataset are in `missing`."""
    store = call.store
    rows = np.array(
        [store.find_row(TYPE_BY_NAME[ref.type], ref.id) for ref in params.elements], np.int64
    )
    missing = [
        {"type": ref.type, "id": ref.id}
        for ref, row in zip(params.elements, rows.tolist(), strict=True)
        if row < 0
    ]
    written = write_features(store, rows[rows >= 0], read_output(params), deadline=call.deadline)
    return Features(written, {"attribution": ATTRIBUTION, "missing": missing})


class Nearby(Params, kw_only=True):
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
    lang: Lang = ()
    output: Output = Output()


@question("nearby", path="/api/v1/features/nearby", leading=("at",), result=Features)
def nearby(call: Call, params: Nearby) -> Elements:
    """Return ways, relations and tagged nodes within `radius`, nearest first, with `distance_m`.

    An area that holds the position is at distance 0.
    """
    if params.output.sort == "name":
        raise InvalidRequest.of(
            "output[sort]", "nearby sorts by distance; use /features with around"
        )
    store = call.store

    def find_page(limit: int) -> Listing:
        return list_nearby(
            store,
            call.snapshot.id,
            params.at.lon,
            params.at.lat,
            params.radius,
            PageRequest(limit, params.cursor, params.offset),
            call.deadline,
            types=read_types(params.type),
            tags=read_tags(store, params.tags),
        )

    def iter_chunks() -> Iterator[Chunk]:
        found = find_page(params.limit or DEFAULT_NEARBY)
        yield found.rows, found.distances_m

    return Elements(call, read_output(params), find_page, iter_chunks)


def find_named(call: Call, at: Position, radius_m: float, output: Output) -> Feature:
    """Return the nearest node or way that has a name, with `distance_m`; raise NotFound."""
    found = list_nearby(
        call.store,
        call.snapshot.id,
        at.lon,
        at.lat,
        radius_m,
        PageRequest(1),
        call.deadline,
        types=(NODE, WAY),
        tags=(TagFilter("name", "exists"),),
    )
    if not len(found.rows):
        raise NotFound(f"nothing with a name lies within {radius_m:g} m")
    return Feature(write_features(call.store, found.rows, output, distances_m=found.distances_m)[0])
