"""OGC API Features 1.0, parts 1 to 3: elements as collections by kind, for desktop programs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, NamedTuple
from urllib.parse import urlencode

import msgspec
import numpy as np
import orjson
import shapely
from msgspec import Meta

from mapyard.errors import InvalidRequest, MapyardError, NotFound
from mapyard.features.tags import escape_value
from mapyard.forms.ogc.cql2 import GEOMETRY, MAX_TEXT, read_filter
from mapyard.forms.ogc.crs import ALL, CRS84, check_crs, from_crs, rewrite
from mapyard.forms.ogc.html import (
    HTML,
    page,
    wants_html,
    write_facts,
    write_link,
    write_links,
    write_table,
    write_value,
)
from mapyard.geo.bbox import Bbox
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked, Example, Handler, endpoint
from mapyard.library.questions import elements as library
from mapyard.osm.elements import TYPE_BY_NAME
from mapyard.params.parser import Params, Tags
from mapyard.results.pages import ATTRIBUTION

_TAG: Final = "OGC API"
BASE: Final = "/ogc"
_MOST: Final = 1_000
SCHEMA_JSON: Final = "application/schema+json"
TILESETS: Final = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector"
QUERYABLES: Final = "http://www.opengis.net/def/rel/ogc/1.0/queryables"
#: Parameters that say who asks.
_KEY_NAMES: Final = ("api_key", "session", "key")
_NUMBER: Final = re.compile(rb',"@id":-?\d+')
_INSTANT: Final = r"\d{4}-\d\d-\d\d(?:[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d))?"
#: One instant, or an interval that may be open.
_DATETIME: Final = re.compile(
    rf"{_INSTANT}|{_INSTANT}/(?:{_INSTANT}|\.\.)?|(?:\.\.)?/{_INSTANT}", re.ASCII
)
_FEATURES: Final = "http://www.opengis.net/spec/ogcapi-features"
_TILES: Final = "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf"
_CQL2: Final = "http://www.opengis.net/spec/cql2/1.0/conf"
_CONFORMS: Final = (
    "http://www.opengis.net/spec/ogcapi-common-1/1.0/conf/core",
    f"{_FEATURES}-1/1.0/conf/core",
    f"{_FEATURES}-1/1.0/conf/geojson",
    f"{_FEATURES}-1/1.0/conf/html",
    f"{_FEATURES}-2/1.0/conf/crs",
    f"{_FEATURES}-3/1.0/conf/queryables",
    f"{_FEATURES}-3/1.0/conf/queryables-query-parameters",
    f"{_FEATURES}-3/1.0/conf/filter",
    f"{_FEATURES}-3/1.0/conf/features-filter",
    f"{_CQL2}/cql2-text",
    f"{_CQL2}/cql2-json",
    f"{_CQL2}/basic-cql2",
    f"{_CQL2}/advanced-comparison-operators",
    f"{_CQL2}/case-insensitive-comparison",
    f"{_CQL2}/basic-spatial-functions",
    f"{_CQL2}/basic-spatial-functions-plus",
    f"{_CQL2}/spatial-functions",
    f"{_TILES}/core",
    f"{_TILES}/tileset",
    f"{_TILES}/tilesets-list",
    f"{_TILES}/dataset-tilesets",
    f"{_TILES}/mvt",
)
#: Keys that are named as queryable; any other may be asked for too.
_KEYS: Final = (
    "name", "amenity", "shop", "highway", "building", "railway", "tourism", "leisure", "place",
    "landuse", "natural", "waterway", "boundary", "cuisine", "operator", "brand", "surface",
    "opening_hours", "wheelchair", "addr:street", "addr:housenumber", "addr:city", "addr:postcode",
)  # fmt: skip
Form = Annotated[
    Literal["", "json", "html"], Meta(description="html: a page; else as the Accept header says")
]


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


class Written(Params):
    """How the answer is written."""

    f: Form = ""


class OfCollection(Params, kw_only=True):
    """Which collection."""

    f: Form = ""
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
    filter: Annotated[str, Meta(max_length=MAX_TEXT, description="CQL2")] = ""
    filter_lang: Annotated[Literal["cql2-text", "cql2-json"], Meta(description="of the filter")] = (
        msgspec.field(name="filter-lang", default="cql2-text")
    )
    filter_crs: Annotated[
        str, Meta(max_length=100, description="of shapes in the filter: CRS84 alone")
    ] = msgspec.field(name="filter-crs", default="")
    bbox_crs: Annotated[
        str, Meta(max_length=100, description="of bbox: CRS84, EPSG 4326 or 3857, as URI")
    ] = msgspec.field(name="bbox-crs", default="")
    crs: Annotated[
        str, Meta(max_length=100, description="of the answer: CRS84, EPSG 4326 or 3857, as URI")
    ] = ""
    f: Form = ""


class Item(Params, kw_only=True):
    """Which feature."""

    crs: Annotated[str, Meta(max_length=100, description="of the answer, as URI")] = ""
    f: Form = ""
    collection: Annotated[str, Meta(description="name of a collection", max_length=40)]
    item: Annotated[str, Meta(description="node-1, way-2 or relation-3", max_length=40)]


def declare(
    path: str, summary: str, example: dict[str, Any], media_type: str = JSON
) -> Callable[[Handler], Handler]:
    """Declare an endpoint below the base."""
    return endpoint(
        BASE + path, summary=summary, tag=_TAG, media_types=(media_type, HTML),
        write_error=write_error, examples=[Example(example)],
    )  # fmt: skip


@declare("", "Landing page of OGC API", {})
def landing(ctx: Context, params: Written) -> Answer:
    """Return links to all that is offered."""
    base = ctx.base_url
    links = [
        link(ctx, "", "self", JSON, "This page"),
        link(ctx, "/conformance", "conformance", JSON, "What is conformed to"),
        link(ctx, "/collections", "data", JSON, "Collections"),
        link(ctx, "/tiles", TILESETS, JSON, "Vector tiles"),
        {"href": f"{base}/openapi.json", "rel": "service-desc",
         "type": "application/vnd.oai.openapi+json;version=3.1", "title": "OpenAPI"},
        {"href": f"{base}/docs", "rel": "service-doc", "type": "text/html", "title": "Reference"},
    ]  # fmt: skip
    about = "OpenStreetMap as features and tiles"
    if wants_html(ctx, params.f):
        return page(ctx, BASE, "Mapyard", f"<p>{about}.</p>{write_links(links)}")
    body = {"title": "Mapyard", "description": about, "attribution": ATTRIBUTION, "links": links}
    return Answer.json(body, headers={"Vary": "Accept"})


@declare("/conformance", "What is conformed to", {})
def conformance(ctx: Context, params: Written) -> Answer:
    """Return the classes of the standards that are served."""
    if wants_html(ctx, params.f):
        rows = [[write_value(name)] for name in _CONFORMS]
        return page(ctx, BASE, "Conformance", write_table(["Class"], rows))
    return Answer.json({"conformsTo": list(_CONFORMS)})


@declare("/collections", "Collections", {})
def collections(ctx: Context, params: Written) -> Answer:
    """Return all collections."""
    found = [_describe(ctx, name) for name in COLLECTIONS]
    if wants_html(ctx, params.f):
        rows = [
            [write_link(f"{ctx.base_url}{BASE}/collections/{one['id']}", one["title"]),
             write_value(one["description"])]
            for one in found
        ]  # fmt: skip
        return page(ctx, BASE, "Collections", write_table(["Collection", "Elements"], rows))
    links = [link(ctx, "/collections", "self", JSON, "Collections")]
    body = {"links": links, "collections": found, "crs": list(ALL)}
    return Answer.json(body, headers={"Vary": "Accept"})


@declare("/collections/{collection}", "One collection", {"collection": "buildings"})
def collection(ctx: Context, params: OfCollection) -> Answer:
    """Return one collection."""
    _find(params.collection)
    found = _describe(ctx, params.collection)
    if wants_html(ctx, params.f):
        body = f"<p>{write_value(found['description'])}</p>{write_links(found['links'])}"
        return page(ctx, BASE, found["title"], body)
    return Answer.json(found, headers={"Vary": "Accept"})


@declare(
    "/collections/{collection}/queryables", "What a collection can be filtered by",
    {"collection": "amenities"}, SCHEMA_JSON,
)  # fmt: skip
def queryables(ctx: Context, params: OfCollection) -> Answer:
    """Return properties that filters and parameters may name: keys of tags, any of them."""
    found = _find(params.collection)
    keys = dict.fromkeys((*(key for key, _ in found.tags), *_KEYS))
    if wants_html(ctx, params.f):
        rows = [[write_value(key)] for key in (GEOMETRY, *keys)]
        return page(ctx, BASE, f"Queryables of {found.title}", write_table(["Property"], rows))
    body = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ctx.base_url}{BASE}/collections/{params.collection}/queryables",
        "type": "object",
        "title": found.title,
        "properties": {
            GEOMETRY: {"title": GEOMETRY, "format": "geometry-any",
                       "x-ogc-role": "primary-geometry"},
            **{key: {"title": key, "type": "string"} for key in keys},
        },
        "additionalProperties": True,
    }  # fmt: skip
    return Answer.json(body, SCHEMA_JSON)


@declare(
    "/collections/{collection}/items", "Features of a collection",
    {"collection": "amenities", "limit": 1, "bbox": "7.41,43.73,7.43,43.74"}, GEOJSON,
)  # fmt: skip
def items(ctx: Context, params: Items) -> Answer:
    """Return a page of features; the link `next` leads to the following one."""
    kind, crs = _find(params.collection), check_crs("crs", params.crs)
    if params.datetime and not _DATETIME.fullmatch(params.datetime):
        raise InvalidRequest.of("datetime", "is written 2026-01-31, 2026-01-31T10:00:00Z, or A/B")
    if check_crs("filter-crs", params.filter_crs) != CRS84:
        raise InvalidRequest.of("filter-crs", f"shapes in a filter are in {CRS84}")
    where = read_filter(params.filter, params.filter_lang)
    own = _read_own(ctx, kind)
    box = _read_box(params.bbox, check_crs("bbox-crs", params.bbox_crs))
    wanted = library.FeatureFilter(tags=Tags((*kind.tags, *own)), bbox=box, cursor=params.cursor)
    found = library.list_elements(ctx, wanted, where)
    limit = min(params.limit, _MOST)
    features = found.page(limit)
    path = f"/collections/{params.collection}/items"
    asked = {"limit": str(limit)} | {
        name: value
        for name, value in ctx.raw.items()
        if name not in ("limit", "cursor", "collection", *_KEY_NAMES) and isinstance(value, str)
    }
    now = asked | ({"cursor": params.cursor} if params.cursor else {})
    links = [link(ctx, f"{path}?{urlencode(now)}", "self", GEOJSON, "This page")]
    if features.end.next_cursor:
        following = urlencode(asked | {"cursor": features.end.next_cursor})
        links.append(link(ctx, f"{path}?{following}", "next", GEOJSON, "Next page"))
    links.append(
        link(ctx, f"/collections/{params.collection}", "collection", JSON, "The collection")
    )
    written = [_with_own_id(one) for one in features.written]
    if wants_html(ctx, params.f):
        return _show_items(ctx, path, kind.title, written, links)
    head = {
        "type": "FeatureCollection",
        "attribution": ATTRIBUTION,
        "timeStamp": ctx.snapshot.timestamp,
        "numberReturned": len(written),
        "links": links,
    }
    inner = b",".join(rewrite(one, crs) for one in written)
    body = orjson.dumps(head)[:-1] + b',"features":[' + inner + b"]}"
    return Answer(body, GEOJSON, headers={"Content-Crs": f"<{crs}>", "Vary": "Accept"})


def _read_own(ctx: Context, kind: Collection) -> list[tuple[str, str]]:
    """Return the conditions of parameters that name a property; others are refused."""
    known = {*_KEYS, *(key for key, _ in kind.tags)}
    own = []
    for name in ctx.ignored:
        if name in _KEY_NAMES:
            continue
        value = ctx.raw.get(name)
        if name not in known or not isinstance(value, str):
            raise InvalidRequest.of(
                name[:60], "is not known here; conditions on other tags go into filter"
            )
        own.append((name, escape_value(value)))
    return own


def _show_items(
    ctx: Context, path: str, title: str, written: list[bytes], links: list[dict[str, str]]
) -> Answer:
    rows = []
    for one in written:
        feature = orjson.loads(one)
        tags = {k: v for k, v in feature["properties"].items() if not k.startswith("@")}
        shape = (feature["geometry"] or {}).get("type", "")
        rows.append([
            write_link(f"{ctx.base_url}{BASE}{path}/{feature['id']}", feature["id"]),
            write_value(tags.get("name", "")), write_value(shape),
            write_value(", ".join(f"{k}={v}" for k, v in tags.items() if k != "name")),
        ])  # fmt: skip
    table = write_table(["Feature", "Name", "Shape", "Tags"], rows)
    ahead = [one for one in links if one["rel"] in ("next", "collection")]
    return page(ctx, BASE, title, table + write_links(ahead))


@declare(
    "/collections/{collection}/items/{item}", "One feature of a collection",
    {"collection": "buildings", "item": "way-94399684"}, GEOJSON,
)  # fmt: skip
def item(ctx: Context, params: Item) -> Answer:
    """Return one feature."""
    tags = _find(params.collection).tags
    kind, _, number = params.item.partition("-")
    if kind not in TYPE_BY_NAME or not number.isdigit() or int(number) >= 2**53:
        raise NotFound(f"'{params.item}' is not a feature; ids are such as way-5")
    row = ctx.store.find_row(TYPE_BY_NAME[kind], int(number))
    if row < 0 or not all(key in ctx.store.tags(row) for key, _ in tags):
        raise NotFound(f"{params.item} is not in the collection {params.collection}")
    element = library.Element(type=kind, id=int(number))  # type: ignore[arg-type] # looked up above
    written = library.feature(ctx, element).written
    assert isinstance(written, bytes)
    crs = check_crs("crs", params.crs)
    path = f"/collections/{params.collection}"
    links = [
        link(ctx, f"{path}/items/{params.item}", "self", GEOJSON, "This feature"),
        link(ctx, path, "collection", JSON, "The collection"),
    ]
    own = _with_own_id(written)
    if wants_html(ctx, params.f):
        feature = orjson.loads(own)
        shape = shapely.from_geojson(orjson.dumps(feature["geometry"]))
        facts = {
            **{k: v for k, v in feature["properties"].items() if not k.startswith("@")},
            "shape": f"{shape.geom_type}, bounds {', '.join(map(str, shape.bounds))}",
        }
        title = feature["properties"].get("name") or params.item
        here = f"https://www.openstreetmap.org/{kind}/{number}"
        more = f'<p><a href="{here}">At OpenStreetMap</a></p>{write_links(links[1:])}'
        return page(ctx, BASE, title, write_facts(facts) + more)
    body = rewrite(own, crs)[:-1] + b',"links":' + orjson.dumps(links) + b"}"
    return Answer(body, GEOJSON, headers={"Content-Crs": f"<{crs}>", "Vary": "Accept"})


def _find(name: str) -> Collection:
    found = COLLECTIONS.get(name)
    if found is None:
        raise NotFound(f"there is no collection '{name}'; there are {', '.join(COLLECTIONS)}")
    return found


def _describe(ctx: Context, name: str) -> dict[str, Any]:
    found = COLLECTIONS[name]
    path = f"/collections/{name}"
    return {
        "id": name,
        "title": found.title,
        "description": found.description,
        "itemType": "feature",
        "extent": {
            "spatial": {
                "bbox": [ctx.snapshot.manifest.bbox or [-180, -90, 180, 90]], "crs": CRS84,
            }
        },
        "crs": list(ALL),
        "storageCrs": CRS84,
        "links": [
            link(ctx, path, "self", JSON, found.title),
            link(ctx, f"{path}/items", "items", GEOJSON, "Features"),
            link(ctx, f"{path}/queryables", QUERYABLES, SCHEMA_JSON, "Queryables"),
        ],
    }  # fmt: skip


def link(ctx: Context, path: str, rel: str, media_type: str, title: str) -> dict[str, str]:
    """Return a link to a path below the base."""
    return {
        "href": f"{ctx.base_url}{BASE}{path}", "rel": rel, "type": media_type, "title": title,
    }  # fmt: skip


def _with_own_id(written: Any) -> bytes:
    """Return a feature whose id fits into a path: way-5 for way/5.

    The number alone is left out: GDAL takes its type from the first page, 32 bits often.
    """
    text: bytes = written if isinstance(written, bytes) else orjson.dumps(written)
    at = text.index(b'"id":"')
    stop = text.index(b'"', at + 6)
    return text[:at] + text[at:stop].replace(b"/", b"-") + _NUMBER.sub(b"", text[stop:], count=1)


def _read_box(text: str, crs: str) -> Bbox | None:
    if not text:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 6:
        del numbers[5], numbers[2]
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
        raise InvalidRequest.of("bbox", "must be four or six numbers, the lower corner first")
    corners = from_crs(np.array(numbers).reshape(2, 2), crs).tolist()
    (west, south), (east, north) = corners
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90):
        raise InvalidRequest.of("bbox", "must be west,south,east,north in degrees, or as bbox-crs")
    return Bbox(west, south, east, north)
