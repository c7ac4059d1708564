"""OGC API Features 1.0, part 1: elements as collections by kind, for desktop programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import urlencode

import orjson
from msgspec import Meta

from mapyard.errors import InvalidRequest, MapyardError, NotFound
from mapyard.geo.bbox import Bbox
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked, Example, Handler, endpoint
from mapyard.library.questions import elements as library
from mapyard.osm.elements import TYPE_BY_NAME
from mapyard.params.parser import Params, Tags
from mapyard.results.pages import ATTRIBUTION

_TAG: Final = "OGC API"
_BASE: Final = "/ogc"
_MOST: Final = 1_000
_CRS: Final = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_NUMBER: Final = re.compile(rb',"@id":-?\d+')
_CONFORMS: Final = (
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson",
)


class Collection(NamedTuple):
    """A kind of elements: those with all of these tags."""

    title: str
    description: str
    tags: tuple[tuple[str, str], ...]


#: By the name in the path.
COLLECTIONS: Final = {
    "elements": Collection("Everything", "All ways, relations and tagged nodes", ()),
    "buildings": Collection("Buildings", "building=*", (("building", "*"),)),
    "addresses": Collection("Addresses", "addr:housenumber=*", (("addr:housenumber", "*"),)),
    "roads": Collection("Roads and paths", "highway=*", (("highway", "*"),)),
    "railways": Collection("Railways", "railway=*", (("railway", "*"),)),
    "amenities": Collection("Amenities", "amenity=*", (("amenity", "*"),)),
    "shops": Collection("Shops", "shop=*", (("shop", "*"),)),
    "tourism": Collection("Sights and lodging", "tourism=*", (("tourism", "*"),)),
    "leisure": Collection("Parks and sports", "leisure=*", (("leisure", "*"),)),
    "places": Collection("Settlements", "place=*", (("place", "*"),)),
    "landuse": Collection("Land use", "landuse=*", (("landuse", "*"),)),
    "nature": Collection("Nature", "natural=*", (("natural", "*"),)),
    "waterways": Collection("Rivers and streams", "waterway=*", (("waterway", "*"),)),
    "boundaries": Collection("Boundaries", "boundary=*", (("boundary", "*"),)),
}


def write_error(error: MapyardError, _asked: Asked) -> Answer:
    """Return an error as a problem (RFC 9457)."""
    body = {"title": error.code, "status": error.status, "detail": error.message}
    problem = "application/problem+json"
    return Answer(orjson.dumps(body), problem, error.status, headers=error.headers)


class NoParams(Params):
    """No parameters."""


class OfCollection(Params):
    """Which collection."""

    collection: Annotated[str, Meta(description="name of a collection", max_length=40)]


class Items(Params, kw_only=True):
    """Which features of a collection."""

    collection: Annotated[str, Meta(description="name of a collection", max_length=40)]
    bbox: Annotated[
        str, Meta(max_length=200, description="west,south,east,north, or with heights, six numbers")
    ] = ""
    limit: Annotated[int, Meta(ge=1, description="at most 1000; more is taken for 1000")] = 10
    datetime: Annotated[
        str, Meta(max_length=100, description="features have no time: all of them match")
    ] = ""
    cursor: Annotated[str | None, Meta(max_length=1_024, description="of the link `next`")] = None


class Item(Params):
    """Which feature."""

    collection: Annotated[str, Meta(description="name of a collection", max_length=40)]
    item: Annotated[str, Meta(description="node-1, way-2 or relation-3", max_length=40)]


def _declare(
    path: str, summary: str, example: dict[str, Any], media_type: str = JSON
) -> Callable[[Handler], Handler]:
    return endpoint(
        _BASE + path, summary=summary, tag=_TAG, media_types=(media_type,),
        write_error=write_error, examples=[Example(example)],
    )  # fmt: skip


@_declare("", "Landing page of OGC API Features", {})
def landing(ctx: Context, params: NoParams) -> Answer:
    """Return links to all that is offered."""
    return Answer.json(
        {
            "title": "Mapyard",
            "description": "OpenStreetMap as features",
            "attribution": ATTRIBUTION,
            "links": [
                _link(ctx, "", "self", JSON, "This page"),
                _link(ctx, "/conformance", "conformance", JSON, "What is conformed to"),
                _link(ctx, "/collections", "data", JSON, "Collections"),
                {
                    "href": f"{ctx.base_url}/openapi.json", "rel": "service-desc",
                    "type": "application/vnd.oai.openapi+json;version=3.0", "title": "OpenAPI",
                },
                {
                    "href": f"{ctx.base_url}/docs", "rel": "service-doc", "type": "text/html",
                    "title": "Documentation",
                },
            ],
        }
    )  # fmt: skip


@_declare("/conformance", "What is conformed to", {})
def conformance(ctx: Context, params: NoParams) -> Answer:
    """Return the classes of the standard that are served."""
    return Answer.json({"conformsTo": list(_CONFORMS)})


@_declare("/collections", "Collections", {})
def collections(ctx: Context, params: NoParams) -> Answer:
    """Return all collections."""
    return Answer.json(
        {
            "links": [_link(ctx, "/collections", "self", JSON, "Collections")],
            "collections": [_describe(ctx, name) for name in COLLECTIONS],
        }
    )


@_declare("/collections/{collection}", "One collection", {"collection": "buildings"})
def collection(ctx: Context, params: OfCollection) -> Answer:
    """Return one collection."""
    _find(params.collection)
    return Answer.json(_describe(ctx, params.collection))


@_declare(
    "/collections/{collection}/items", "Features of a collection",
    {"collection": "amenities", "limit": 1, "bbox": "7.41,43.73,7.43,43.74"}, GEOJSON,
)  # fmt: skip
def items(ctx: Context, params: Items) -> Answer:
    """Return a page of features; the link `next` leads to the following one."""
    found = library.features(
        ctx,
        library.FeatureFilter(
            tags=Tags(_find(params.collection).tags),
            bbox=_read_box(params.bbox),
            cursor=params.cursor,
        ),
    )
    limit = min(params.limit, _MOST)
    page = found.page(limit)
    path = f"/collections/{params.collection}/items"
    asked: dict[str, Any] = {"limit": limit}
    if params.bbox:
        asked["bbox"] = params.bbox
    own = asked | ({"cursor": params.cursor} if params.cursor else {})
    links = [_link(ctx, f"{path}?{urlencode(own)}", "self", GEOJSON, "This page")]
    if page.end.next_cursor:
        following = urlencode(asked | {"cursor": page.end.next_cursor})
        links.append(_link(ctx, f"{path}?{following}", "next", GEOJSON, "Next page"))
    links.append(
        _link(ctx, f"/collections/{params.collection}", "collection", JSON, "The collection")
    )
    head = {
        "type": "FeatureCollection",
        "attribution": ATTRIBUTION,
        "timeStamp": ctx.snapshot.timestamp,
        "numberReturned": len(page.written),
        "links": links,
    }
    features = b",".join(_with_own_id(written) for written in page.written)
    body = orjson.dumps(head)[:-1] + b',"features":[' + features + b"]}"
    return Answer(body, GEOJSON, headers={"Content-Crs": f"<{_CRS}>"})


@_declare(
    "/collections/{collection}/items/{item}", "One feature of a collection",
    {"collection": "buildings", "item": "way-94399684"}, GEOJSON,
)  # fmt: skip
def item(ctx: Context, params: Item) -> Answer:
    """Return one feature."""
    tags = _find(params.collection).tags
    kind, _, number = params.item.partition("-")
    if kind not in TYPE_BY_NAME or not number.isdigit() or int(number) >= 2**53:
        raise NotFound(f"'{params.item}' is no feature; ids are such as way-5")
    row = ctx.store.find_row(TYPE_BY_NAME[kind], int(number))
    if row < 0 or not all(key in ctx.store.tags(row) for key, _ in tags):
        raise NotFound(f"{params.item} is not in the collection {params.collection}")
    element = library.Element(type=kind, id=int(number))  # type: ignore[arg-type] # looked up above
    written = library.feature(ctx, element).written
    assert isinstance(written, bytes)
    path = f"/collections/{params.collection}"
    links = [
        _link(ctx, f"{path}/items/{params.item}", "self", GEOJSON, "This feature"),
        _link(ctx, path, "collection", JSON, "The collection"),
    ]
    body = _with_own_id(written)[:-1] + b',"links":' + orjson.dumps(links) + b"}"
    return Answer(body, GEOJSON, headers={"Content-Crs": f"<{_CRS}>"})


def _find(name: str) -> Collection:
    found = COLLECTIONS.get(name)
    if found is None:
        raise NotFound(f"there is no collection '{name}'; there are {', '.join(COLLECTIONS)}")
    return found


def _describe(ctx: Context, name: str) -> dict[str, Any]:
    found = COLLECTIONS[name]
    path = f"/collections/{name}"
    box = ctx.snapshot.manifest.bbox or [-180.0, -90.0, 180.0, 90.0]
    return {
        "id": name,
        "title": found.title,
        "description": found.description,
        "itemType": "feature",
        "extent": {"spatial": {"bbox": [box], "crs": _CRS}},
        "crs": [_CRS],
        "storageCrs": _CRS,
        "links": [
            _link(ctx, path, "self", JSON, found.title),
            _link(ctx, f"{path}/items", "items", GEOJSON, found.title),
        ],
    }


def _link(ctx: Context, path: str, rel: str, media_type: str, title: str) -> dict[str, str]:
    return {
        "href": f"{ctx.base_url}{_BASE}{path}", "rel": rel, "type": media_type, "title": title,
    }  # fmt: skip


def _with_own_id(written: Any) -> bytes:
    """Return a feature whose id fits into a path: way-5 for way/5.

    The number alone is left out: GDAL takes its type from the first page, 32 bits often.
    """
    text: bytes = written if isinstance(written, bytes) else orjson.dumps(written)
    at = text.index(b'"id":"')
    stop = text.index(b'"', at + 6)
    return text[:at] + text[at:stop].replace(b"/", b"-") + _NUMBER.sub(b"", text[stop:], count=1)


def _read_box(text: str) -> Bbox | None:
    if not text:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 6:
        del numbers[5], numbers[2]
    if len(numbers) != 4:
        raise InvalidRequest.of("bbox", "must be four or six numbers: west,south,east,north")
    west, south, east, north = numbers
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90):
        raise InvalidRequest.of("bbox", "must be west,south,east,north in degrees")
    return Bbox(west, south, east, north)
