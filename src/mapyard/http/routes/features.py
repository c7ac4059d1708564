"""Elements as features: lists by filter and place, by id, in batches, nearest first."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.http.answer import GEOJSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.paging import PAGE_HEADERS, answer_page, is_early_path, stream_elements
from mapyard.library.questions import elements as library
from mapyard.params.parser import Params, Position, spelled
from mapyard.results.output import Output
from mapyard.results.pages import write_collection

MAX_LIMIT = 1_000
DEFAULT_LIMIT = 20
DEFAULT_EARLY_LIMIT = 100


class FeaturesParams(library.FeatureFilter, kw_only=True):
    """What a feature list is asked for."""

    format: Annotated[
        Literal["json", "geojson", "csv", "ndjson"],
        Meta(description="json is a page; geojson, csv and ndjson stream the whole result"),
    ] = "json"


@endpoint(
    "/api/v1/features",
    methods=("GET", "POST"),
    aliases=("/api/v1/elements",),
    summary="List elements by type, tags and place",
    tag="Features",
    languages=True,
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    media_types=(GEOJSON, "text/csv", "application/jsonl"),
    errors=("invalid_cursor", "stale_cursor"),
    examples=[
        Example({"bbox": "43.73,7.41,43.75,7.43", "tags[amenity]": "cafe", "limit": 2}),
        Example({"around": "43.7384,7.4246", "radius": 300, "tags": "shop"}),
    ],
)
def features(ctx: Context, params: FeaturesParams) -> Answer:
    """Return elements (ways, relations, tagged nodes) in the order of (osm_id, type).

    Filters are ANDed; at most one of the spatial predicates may be given.
    """
    found = library.features(ctx, params)
    if params.format != "json":
        if params.output.sort != "osm_id":
            raise InvalidRequest.of("output[sort]", "streams come in the order of osm_id")
        return stream_elements(ctx, found, params.format)
    page = found.page(read_limit(ctx, params.limit))
    return answer_page(ctx, page.written, page.end)


def read_limit(ctx: Context, limit: int | None) -> int:
    """Return how many rows a page has; raise for more than there may be."""
    if is_early_path(ctx):
        return min(limit or DEFAULT_EARLY_LIMIT, MAX_LIMIT)
    if limit is not None and limit > MAX_LIMIT:
        raise InvalidRequest.of(
            "limit",
            f"must be at most {MAX_LIMIT}, got {limit}; for more follow the pages or stream "
            "/features with format=ndjson, geojson or csv",
        )
    return limit or DEFAULT_LIMIT


@endpoint(
    "/api/v1/features/{type}/{id}",
    aliases=("/api/v1/elements/{type}/{id}",),
    summary="One element by type and id",
    tag="Features",
    languages=True,
    inline=True,
    schema="GeoJsonFeature",
    errors=("not_found",),
    examples=[Example({"type": "way", "id": 94399684})],
)
def feature(ctx: Context, params: library.Element) -> Answer:
    """Return any element of the dataset, untagged nodes included."""
    written = library.feature(ctx, params).written
    assert isinstance(written, bytes)
    return Answer(written, GEOJSON)


@endpoint(
    "/api/v1/features/lookup",
    methods=("GET", "POST"),
    summary="One element, named by parameters",
    tag="Features",
    languages=True,
    inline=True,
    schema="GeoJsonFeature",
    errors=("not_found",),
    examples=[Example({"type": "way", "id": 94399684})],
)
def lookup(ctx: Context, params: library.Element) -> Answer:
    """Return the same as /features/{type}/{id}, with type and id as parameters."""
    return feature(ctx, params)


@endpoint(
    "/api/v1/features/batch",
    methods=("POST",),
    aliases=("/api/v1/elements/batch",),
    summary="Up to 100 elements by type and id",
    tag="Features",
    languages=True,
    schema="FeatureCollection",
    examples=[Example({"elements": [{"type": "way", "id": 94399684}]})],
)
def batch(ctx: Context, params: library.ElementRefs) -> Answer:
    """Return the elements in the order asked; those not in the dataset are listed in `missing`."""
    found = library.lookup(ctx, params)
    members = [("missing", orjson.dumps(found.members["missing"]))]
    return Answer(write_collection(list(found.iter_written()), members=members), GEOJSON)  # type: ignore[arg-type] # bytes, from the store


@endpoint(
    "/api/v1/features/nearby",
    methods=("GET", "POST"),
    aliases=("/api/v1/nearby",),
    summary="Elements nearest to a position",
    tag="Features",
    languages=True,
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    errors=("invalid_cursor", "stale_cursor"),
    examples=[Example({"lat": 43.7384, "lng": 7.4246, "tags[amenity]": "cafe", "limit": 3})],
)
def nearby(ctx: Context, params: library.Nearby) -> Answer:
    """Return ways, relations and tagged nodes within `radius`, nearest first, with `distance_m`.

    An area that holds the position is at distance 0.
    """
    page = library.nearby(ctx, params).page(read_limit(ctx, params.limit))
    return answer_page(ctx, page.written, page.end)


class NearestNamedParams(Params):
    """Where."""

    at: Annotated[Position, spelled("position", "near", "geometry", pair=True)]
    radius: Annotated[float, Meta(gt=0, le=5_000, description="search radius in meters")] = 5_000.0
    lang: library.Lang = ()
    output: Output = Output()


@endpoint(
    "/api/v1/reverse-geocode",
    summary="Nearest named feature (early path)",
    tag="Features",
    languages=True,
    schema="GeoJsonFeature",
    errors=("not_found",),
    examples=[Example({"lat": 43.7384, "lng": 7.4246})],
)
def nearest_named(ctx: Context, params: NearestNamedParams) -> Answer:
    """Return the nearest node or way that has a name, with `distance_m`.

    Kept for early clients; /geocode/reverse answers with addresses.
    """
    found = library.find_named(ctx, params.at, params.radius, library.read_output(params))
    return Answer(found.written, GEOJSON)  # type: ignore[arg-type] # bytes, from the store
