"""Datasets of people's own: made, filled by a file, asked like the map, drawn as tiles."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta

from mapyard.accounts import datasets as accounts
from mapyard.accounts.database import Database
from mapyard.accounts.models import UserDataset
from mapyard.errors import InvalidRequest, NotFound
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.http.errors import NotOffered
from mapyard.http.imports import IMPORT_JOBS
from mapyard.http.paging import PAGE_HEADERS, answer_page, stream_elements
from mapyard.http.services import Services
from mapyard.library.own_datasets import open_dataset, open_version, read_problems
from mapyard.library.questions import elements as library
from mapyard.library.questions.tiles import read_address
from mapyard.params.parser import Params
from mapyard.results.features import write_features
from mapyard.tiles.own import LAYER, render_own_tile
from mapyard.userdata.folders import incoming_folder
from mapyard.userdata.read.detect import BY_MEDIA_TYPE

TAG: Final = "Datasets"
MAX_LIMIT: Final = 1_000
DEFAULT_LIMIT: Final = 20
MVT: Final = "application/vnd.mapbox-vector-tile"
#: The map itself among the datasets: the same id on every server.
MAP_ID: Final = str(uuid.uuid5(uuid.NAMESPACE_URL, "https://www.openstreetmap.org/"))
_NO_TYPE: Final = {"type": "rows of datasets have no type of element; leave it out"}

DatasetId = Annotated[str, Meta(description="id or slug of the dataset", max_length=64)]
Text = Annotated[str | None, Meta(description="what is known of it, free text")]


class ScopeParams(Params):
    """Which datasets."""

    scope: Annotated[
        Literal["plaza", "user"] | None,
        Meta(description="plaza: the map; user: your own; both without it"),
    ] = None


class NewDataset(Params, kw_only=True):
    """A dataset to be made."""

    name: Annotated[str, Meta(description="what people call it")]
    slug: Annotated[
        str, Meta(description="its name in queries: lower-case letters, digits, - and _")
    ]
    attribution: Text = None
    description: Text = None
    license: Text = None
    source_url: Text = None
    strict_mode: Annotated[
        bool,
        Meta(description="the first row that is wrong fails an upload, instead of being listed"),
    ] = False
    is_public: Annotated[bool, Meta(description="other accounts may read it, by its id")] = False


class DatasetChange(Params, kw_only=True):
    """What is to be said of a dataset from now on."""

    id: DatasetId
    name: Text = None
    attribution: Text = None
    description: Text = None
    license: Text = None
    source_url: Text = None
    strict_mode: Annotated[bool | None, Meta(description="of the next uploads")] = None
    is_public: Annotated[bool | None, Meta(description="other accounts may read it")] = None


class DatasetParams(Params):
    """Which dataset."""

    id: DatasetId


class SourceParams(Params, kw_only=True):
    """How the file is to be read; what is left out is found out."""

    id: DatasetId
    name: Annotated[
        str, Meta(description="the file's name, whose ending tells the format", max_length=255)
    ] = ""
    format: Annotated[
        Literal["csv", "geojson", "ndjson", "geoparquet", "gpkg", "shapefile"] | None,
        Meta(description="of the file; a Shapefile comes as .zip"),
    ] = None
    encoding: Annotated[
        str, Meta(description="of a CSV or Shapefile, such as windows-1252", max_length=40)
    ] = ""
    delimiter: Annotated[str, Meta(description="between the fields of a CSV", max_length=1)] = ""
    layer: Annotated[
        str, Meta(description="of a GeoPackage, or the Shapefile in a .zip", max_length=255)
    ] = ""
    lat_column: Annotated[str, Meta(description="latitude, degrees", max_length=255)] = ""
    lon_column: Annotated[str, Meta(description="longitude, degrees", max_length=255)] = ""
    geometry_column: Annotated[
        str, Meta(description="geometry as WKT, GeoJSON or WKB", max_length=255)
    ] = ""
    address_column: Annotated[
        str, Meta(description="address, which is geocoded", max_length=255)
    ] = ""


class RowsParams(library.FeatureFilter, kw_only=True):
    """Which rows of a dataset, and which part of the list."""

    id: DatasetId
    format: Annotated[
        Literal["json", "geojson", "csv", "ndjson"],
        Meta(description="json is a page; geojson, csv and ndjson stream the whole result"),
    ] = "json"


class RowParams(Params):
    """Which row of which dataset."""

    id: DatasetId
    row: Annotated[int, Meta(ge=1, description="number of the row, its feature's id")]


class TileParams(Params):
    """Which tile of which dataset."""

    id: DatasetId
    z: Annotated[int, Meta(ge=0, le=22, description="zoom")]
    x: Annotated[int, Meta(ge=0, description="column, from the west")]
    y: Annotated[str, Meta(description="row from the north, with or without .mvt", max_length=16)]


def _database(ctx: Context) -> Database:
    database = ctx.services.database
    if database is None:
        raise NotOffered("datasets belong to accounts, and this server asks for no keys")
    return database


def _write_time(unix_s: int) -> str:
    return dt.datetime.fromtimestamp(unix_s, dt.UTC).isoformat().replace("+00:00", "Z")


def _describe(found: UserDataset) -> dict[str, Any]:
    described = found.described or {}
    return {
        "id": found.id,
        "name": found.name,
        "slug": found.slug,
        "scope": "user",
        "status": found.status,
        "error_message": found.error_message,
        "description": found.description,
        "attribution": found.attribution,
        "license": found.license,
        "source_url": found.source_url,
        "source_format": found.source_format,
        "strict_mode": found.strict_mode,
        "is_public": found.is_public,
        "feature_count": found.feature_count,
        "address_count": None,
        "edge_count": None,
        "storage_bytes": found.storage_bytes,
        "bbox": described.get("bbox"),
        "schema_definition": described.get("schema"),
        "problem_count": found.problem_count,
        "problems": described.get("problems", []),
        "inserted_at": _write_time(found.inserted_at),
        "updated_at": _write_time(found.updated_at),
    }


def _describe_map(ctx: Context) -> dict[str, Any]:
    """Return the operator's map as a dataset of scope plaza."""
    manifest = ctx.snapshot.manifest
    time = manifest.osm_timestamp or manifest.created
    return {
        "id": MAP_ID,
        "name": "OpenStreetMap",
        "slug": accounts.MAP_SLUG,
        "scope": "plaza",
        "status": "ready",
        "error_message": None,
        "description": "The map that this server serves, out of OpenStreetMap",
        "attribution": "© OpenStreetMap contributors (ODbL)",
        "license": "ODbL-1.0",
        "source_url": "https://www.openstreetmap.org/copyright",
        "source_format": "osm.pbf",
        "strict_mode": False,
        "is_public": True,
        "feature_count": ctx.store.info["listed"],
        "address_count": None,
        "edge_count": None,
        "storage_bytes": manifest.size_bytes,
        "bbox": manifest.bbox,
        "schema_definition": None,
        "problem_count": 0,
        "problems": [],
        "inserted_at": time,
        "updated_at": time,
    }


@endpoint(
    "/api/v1/datasets",
    summary="List the map and your own datasets",
    tag=TAG,
    media_types=(JSON,),
    schema="Datasets",
    examples=[Example({})],
)
def list_datasets(ctx: Context, params: ScopeParams) -> Answer:
    """Return `{"datasets": […]}`: the map (scope plaza), then yours, the oldest first."""
    found = [_describe_map(ctx)] if params.scope != "user" else []
    if params.scope != "plaza" and ctx.services.database is not None:
        found += map(_describe, accounts.list_datasets(ctx.services.database, ctx.account_id))
    return Answer.json({"datasets": found})


@endpoint(
    "/api/v1/datasets",
    methods=("POST",),
    summary="Make a dataset of your own",
    tag=TAG,
    needs_dataset=False,
    strict=True,
    media_types=(JSON,),
    schema="Dataset",
    errors=("validation_failed",),
    examples=[Example({"name": "My shops", "slug": "my-shops"})],
)
def create_dataset(ctx: Context, params: NewDataset) -> Answer:
    """Make a dataset that waits for its file; 201. Then: PUT /api/v1/datasets/{id}/source.

    The slug is its name in queries, such as `search(dataset("my-shops"))` in PlazaQL, and may be
    used in place of the id wherever you ask yourself.
    """
    fields = {name: getattr(params, name) for name in accounts.FIELDS}
    made = accounts.create_dataset(_database(ctx), ctx.account_id, params.slug, fields)
    return Answer.json(
        _describe(made), status=201, headers={"Location": f"/api/v1/datasets/{made.id}"}
    )


def _is_map(name: str) -> bool:
    return name in (MAP_ID, accounts.MAP_SLUG)


@endpoint(
    "/api/v1/datasets/{id}",
    summary="One dataset: its state, size and columns",
    tag=TAG,
    media_types=(JSON,),
    schema="Dataset",
    errors=("not_found",),
    examples=[Example({"id": accounts.MAP_SLUG})],
)
def dataset(ctx: Context, params: DatasetParams) -> Answer:
    """Return a dataset by id, or by its slug.

    `status` is pending (no file yet), processing, ready or error (`error_message` says why, and
    what was served before still is). `problems` are the first rows that could not be read whole.
    """
    if _is_map(params.id):
        return Answer.json(_describe_map(ctx))
    found = accounts.find_dataset(_database(ctx), ctx.account_id, params.id)
    return Answer.json(_describe(found))


@endpoint(
    "/api/v1/datasets/{id}",
    methods=("PATCH",),
    summary="Change what is said of a dataset",
    tag=TAG,
    needs_dataset=False,
    strict=True,
    media_types=(JSON,),
    schema="Dataset",
    errors=("not_found", "validation_failed"),
    examples=[Example({"name": "Our shops"})],
)
def change_dataset(ctx: Context, params: DatasetChange) -> Answer:
    """Change the fields that are sent; the others stay, and the rows too."""
    fields = {
        name: getattr(params, name) for name in accounts.FIELDS if getattr(params, name) is not None
    }
    _refuse_map(params.id, "changed")
    changed = accounts.change_dataset(_database(ctx), ctx.account_id, params.id, fields)
    return Answer.json(_describe(changed))


def _refuse_map(name: str, what: str) -> None:
    if _is_map(name):
        raise InvalidRequest.of("id", f"is the map itself, which cannot be {what} here")


@endpoint(
    "/api/v1/datasets/{id}",
    methods=("DELETE",),
    summary="Delete a dataset",
    tag=TAG,
    needs_dataset=False,
    media_types=(JSON,),
    schema={"type": "null"},
    errors=("not_found",),
)
def delete_dataset(ctx: Context, params: DatasetParams) -> Answer:
    """Delete a dataset of yours and all its rows; 204."""
    _refuse_map(params.id, "deleted")
    accounts.delete_dataset(_database(ctx), ctx.account_id, params.id)
    return Answer(b"", JSON, 204)


def _upload_bounds(
    services: Services, account_id: int, values: Mapping[str, str]
) -> tuple[int, Path]:
    if services.database is None:
        raise NotOffered("datasets belong to accounts, and this server asks for no keys")
    _refuse_map(values["id"], "filled")
    accounts.check_own(services.database, account_id, values["id"])
    limits = accounts.limits_of(services.database, account_id)
    return limits.upload_bytes, incoming_folder(services.settings.data)


@endpoint(
    "/api/v1/datasets/{id}/source",
    methods=("PUT",),
    upload=_upload_bounds,
    summary="Fill a dataset with a file",
    tag=TAG,
    needs_dataset=False,
    media_types=(JSON,),
    schema="Dataset",
    errors=("not_found", "validation_failed", "too_large"),
)
def put_source(ctx: Context, params: SourceParams) -> Answer:
    """Take a file and read it in the background; 202. What is served is replaced when it is read.

    CSV, GeoJSON, GeoJSON by lines, GeoParquet, GeoPackage, and Shapefiles in a .zip. Rows of a
    table lie where lat and lon, a geometry column, or else an address column says, which is
    geocoded (50,000 rows at most). Other coordinate systems are transformed. Poll the dataset
    until its `status` is ready or error.
    """
    media_type = ctx.headers.get("content-type", "").partition(";")[0].strip().lower()
    options = {
        "format": params.format or BY_MEDIA_TYPE.get(media_type, ""),
        "name": params.name, "encoding": params.encoding, "delimiter": params.delimiter,
        "layer": params.layer, "lat": params.lat_column, "lon": params.lon_column,
        "geometry": params.geometry_column, "address": params.address_column,
    }  # fmt: skip
    database, upload = _database(ctx), ctx.upload
    found, before = accounts.begin_import(database, ctx.account_id, params.id, upload.name, options)
    ctx.keep_upload()
    if before is not None:  # so that a dataset has one file waiting, however often it is sent
        upload.with_name(before).unlink(missing_ok=True)
    return Answer.json(
        _describe(found), status=202,
        headers={"Location": f"/api/v1/datasets/{found.id}", "Retry-After": "1"},
    )  # fmt: skip


@endpoint(
    "/api/v1/datasets/{id}/problems",
    summary="Rows of a dataset that could not be read whole",
    tag=TAG,
    needs_dataset=False,
    media_types=(JSON,),
    schema="DatasetProblems",
    errors=("not_found",),
)
def dataset_problems(ctx: Context, params: DatasetParams) -> Answer:
    """Return row and message of the first 1,000 problems of the last import, and their number."""
    found = accounts.find_dataset(_database(ctx), ctx.account_id, params.id)
    problems = read_problems(ctx.resources, found)
    return Answer.json({"problem_count": found.problem_count, "problems": problems})


@endpoint(
    "/api/v1/datasets/{id}/features",
    methods=("GET", "POST"),
    summary="List rows of a dataset by properties and place",
    tag=TAG,
    refused=_NO_TYPE,
    languages=True,
    schema="FeatureCollection",
    headers=PAGE_HEADERS,
    media_types=(GEOJSON, "text/csv", "application/jsonl"),
    errors=("not_found", "invalid_cursor", "stale_cursor"),
    examples=[Example({"id": accounts.MAP_SLUG, "tags[amenity]": "cafe", "limit": 2})],
)
def dataset_features(ctx: Context, params: RowsParams) -> Answer:
    """Return rows as features in the order of the file, with all filters of /api/v1/features.

    Tag filters ask for properties: `tags[kind]=bar`, compared as texts. A cursor holds until the
    dataset gets a new file. Of the dataset `osm` the elements of the map are listed.
    """
    if params.type:
        raise InvalidRequest.of("type", _NO_TYPE["type"])
    if _is_map(params.id):
        found = library.features(ctx, params)
    else:
        own = open_dataset(ctx, params.id)
        source = library.Source(own.store, own.version, own.attribution)
        found = library.list_elements(ctx, params, source=source)
    if params.format != "json":
        if params.output.sort != "osm_id":
            raise InvalidRequest.of("output[sort]", "streams come in the order of the rows")
        return stream_elements(ctx, found, params.format)
    if params.limit is not None and params.limit > MAX_LIMIT:
        raise InvalidRequest.of("limit", f"must be at most {MAX_LIMIT}, got {params.limit}")
    page = found.page(params.limit or DEFAULT_LIMIT)
    return answer_page(ctx, page.written, page.end, attribution=found.attribution)


@endpoint(
    "/api/v1/datasets/{id}/features/{row}",
    summary="One row of a dataset",
    tag=TAG,
    schema="GeoJsonFeature",
    errors=("not_found",),
)
def dataset_feature(ctx: Context, params: RowParams) -> Answer:
    """Return a row by its number, which is its feature's id."""
    own = open_dataset(ctx, params.id)
    store = own.store
    found = [row for kind in (0, 2) if (row := store.find_row(kind, params.row)) >= 0]
    if not found:
        raise NotFound(f"the dataset {own.slug} has no row {params.row}")
    return Answer(write_features(store, np.array(found))[0], GEOJSON)


@endpoint(
    "/api/v1/datasets/{id}/tiles.json",
    summary="TileJSON 3.0 of a dataset",
    tag=TAG,
    map_session="open",
    media_types=(JSON,),
    schema={"type": "object", "required": ["tilejson", "tiles", "vector_layers"]},
    errors=("not_found",),
)
def dataset_tilejson(ctx: Context, params: DatasetParams) -> Answer:
    """Describe the dataset's tiles: one layer, `features`, with all properties as attributes.

    The token of a map session that a key has begun opens public datasets only, by their ids:
    whoever looks at the map may read it out of the page.
    """
    found = accounts.find_dataset(_database(ctx), ctx.reader_id, params.id)
    own = open_version(ctx.resources, found)
    described = found.described or {}
    base = f"{ctx.base_url}/api/v1/datasets/{found.id}"
    address = f"{base}/tiles/{{z}}/{{x}}/{{y}}.mvt{ctx.key_suffix}"
    fields = {
        name: {"integer": "Number", "number": "Number", "boolean": "Boolean"}.get(
            entry["type"], "String"
        )
        for name, entry in (described.get("schema") or {}).items()
    }
    layer = {"id": LAYER, "fields": fields, "minzoom": 0, "maxzoom": 14}
    made = {
        "tilejson": "3.0.0", "tiles": [address], "name": found.name, "version": "1.0.0",
        "attribution": own.attribution, "minzoom": 0, "maxzoom": 14, "scheme": "xyz",
        "bounds": described.get("bbox") or [-180, -85, 180, 85], "vector_layers": [layer],
    }  # fmt: skip
    return Answer.json(made, headers={"Cache-Control": "no-cache"})


@endpoint(
    "/api/v1/datasets/{id}/tiles/{z}/{x}/{y}",
    summary="A vector tile of a dataset",
    tag=TAG,
    map_session="tile",
    media_types=(MVT,),
    schema={"type": "string", "format": "binary"},
    errors=("not_found",),
)
def dataset_tile(ctx: Context, params: TileParams) -> Answer:
    """Return the tile as Mapbox Vector Tile 2.1; 204 when nothing is in it.

    A tile shows at most 20,000 rows; where there are more, an even share of them.
    """
    wanted = read_address(params.z, params.x, params.y)
    own = open_dataset(ctx, params.id)
    etag = f'W/"{own.version}"'
    headers = {"Cache-Control": "private, max-age=60", "ETag": etag}
    if ctx.headers.get("if-none-match") == etag:
        return Answer(b"", MVT, 304, headers)
    data = render_own_tile(own.store, wanted, ctx.deadline)
    return Answer(data, MVT, 200, headers) if data else Answer(b"", MVT, 204, headers)


BACKGROUND_JOBS = IMPORT_JOBS
