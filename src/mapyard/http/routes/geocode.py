"""Geocoding: forward, reverse, autocomplete, batch."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

import orjson
from msgspec import Meta

from mapyard.geocoding.answer.batch import ADDED, added_values, find_unused, kept_columns
from mapyard.geocoding.geocoder import Feature
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import geocoding as library
from mapyard.library.results.places import PlaceBatch, Places, write_row
from mapyard.params.parser import parser_of, refuse_unknown

CSV: Final = "text/csv; charset=utf-8; header=present"
NDJSON: Final = "application/jsonl"
_COLUMNS: Final = (
    "lat", "lon", "display_name", "name", "house_number", "street", "postcode", "city", "county",
    "state", "country", "country_code", "category", "subcategory", "source", "score", "confidence",
    "distance_m", "osm_type", "osm_id",
)  # fmt: skip

Format = Annotated[
    Literal["json", "geojson", "csv", "ndjson"],
    Meta(description="json and geojson are a FeatureCollection; csv and ndjson a row per result"),
]


class GeocodeParams(library.Geocode, kw_only=True):
    """What is looked for, and how it is written."""

    format: Format = "json"


_STRUCTURED: Final = parser_of(GeocodeParams)


class AutocompleteParams(library.Autocomplete, kw_only=True):
    """What has been typed so far."""

    format: Format = "json"


class ReverseParams(library.Reverse, kw_only=True):
    """Where to look."""

    format: Format = "json"


class BatchParams(library.Batch, kw_only=True):
    """Many rows at once."""

    format: Annotated[
        Literal["json", "csv", "ndjson"] | None,
        Meta(
            description="csv: one line per row with its own columns and the match behind them; "
            "ndjson: a collection per line"
        ),
    ] = None


@endpoint(
    "/api/v1/geocode",
    methods=("GET", "POST"),
    summary="Find a place, address or point of interest by text",
    tag="Geocoding",
    languages=True,
    schema="GeocodeResult",
    media_types=(GEOJSON, "text/csv", NDJSON),
    examples=[
        Example({"q": "Rue Grimaldi 5, Monaco", "limit": 1}),
        Example({"street": "Rue Grimaldi", "housenumber": "5", "city": "Monaco", "limit": 1}),
    ],
)
def geocode(ctx: Context, params: GeocodeParams) -> Answer:
    """Return the best matches for `q`, or for an address in parts.

    `match` in the properties says which words were matched, how, and which were not; `confidence`
    (0–1) is how much of the query the result answers. A house number that is not mapped is placed
    between its neighbors (`source: interpolation`), or the street is returned.
    """
    if ctx.ignored and ctx.method == "POST" and library.has_parts(params):
        refuse_unknown(_STRUCTURED, ctx.raw)  # an address in parts, of which one is not read
    return _answer(ctx, library.geocode(ctx, params), params.format)


@endpoint(
    "/api/v1/geocode/autocomplete",
    methods=("GET", "POST"),
    summary="Complete a text while it is typed",
    tag="Geocoding",
    languages=True,
    schema="AutocompleteResult",
    media_types=(GEOJSON, "text/csv", NDJSON),
    examples=[Example({"q": "rue grim", "limit": 3})],
)
def autocomplete(ctx: Context, params: AutocompleteParams) -> Answer:
    """Return what an unfinished text may become.

    House numbers are offered once a digit is typed, or when a street is typed in full.
    """
    return _answer(ctx, library.autocomplete(ctx, params), params.format)


@endpoint(
    "/api/v1/geocode/reverse",
    methods=("GET", "POST"),
    summary="Find what is at a position",
    tag="Geocoding",
    languages=True,
    schema="ReverseGeocodeResult",
    media_types=(GEOJSON, "text/csv", NDJSON),
    examples=[Example({"lat": 43.7384, "lng": 7.4246})],
)
def reverse(ctx: Context, params: ReverseParams) -> Answer:
    """Return the address, street or area at a position, with its distance to the real outline.

    The building that the position is in comes first, then houses of the nearest street, then other
    houses, interpolated numbers, the street, and the areas around.
    """
    return _answer(ctx, library.reverse(ctx, params), params.format, reverse=True)


@endpoint(
    "/api/v1/geocode/batch",
    methods=("POST",),
    summary="Geocode up to 1000 rows at once",
    tag="Geocoding",
    languages=True,
    schema="BatchGeocodeResult",
    heavy=True,
    texts={"text/csv": "csv", NDJSON: "ndjson", "application/x-ndjson": "ndjson"},
    media_types=(JSON, "text/csv", NDJSON),
    examples=[Example({"addresses": ["Rue Grimaldi 5, Monaco", {"lat": 43.7384, "lng": 7.4246}]})],
)
def batch(ctx: Context, params: BatchParams) -> Answer:
    """Return one FeatureCollection per row, in input order; a bad row has `error` and no features.

    CSV in (text/csv with a header line) gives CSV out: the rows as they came, and the best match in
    columns behind them. NDJSON in gives NDJSON out. Columns that mean nothing here are named in
    `X-Unused-Columns`.
    """
    found = library.geocode_batch(ctx, params)
    unused = find_unused(found.columns)
    headers = {"X-Unused-Columns": ", ".join(map(quote, unused))} if unused else None
    if params.format == "csv" or (params.format is None and found.columns):
        return Answer(_stream_csv(found), CSV, headers=headers)
    if params.format == "ndjson" or (params.format is None and params.ndjson):
        return Answer(_stream_ndjson(found), NDJSON, headers=headers)
    return Answer.json(found.to_json(), headers=headers)


def _answer(ctx: Context, found: Places, answer_format: str, *, reverse: bool = False) -> Answer:
    features: list[Feature] = found.features
    if answer_format == "ndjson":
        return Answer(b"".join(orjson.dumps(f) + b"\n" for f in features), NDJSON)
    if answer_format == "csv":
        return Answer(_write_csv(features), CSV)
    if ctx.is_client_library:
        found.members |= _early_members(features, reverse=reverse)
    return Answer.geojson(found.to_collection())


def _early_members(features: list[Feature], *, reverse: bool) -> dict[str, Any]:
    """Return the members that the first client libraries read instead of `features`."""
    results = [
        {
            "display_name": f["properties"]["display_name"],
            "lat": f["geometry"]["coordinates"][1],
            "lng": f["geometry"]["coordinates"][0],
            "osm_id": f["properties"].get("osm_id"),
            "osm_type": f["properties"].get("osm_type"),
            "score": f["properties"].get("score"),
        }
        for f in features
    ]
    if not reverse:
        return {"count": len(results), "results": results}
    if not results:
        return {}
    first = results[0]
    return {
        "address": first["display_name"],
        "distance": features[0]["properties"].get("distance_m"),
        "lat": first["lat"], "lng": first["lng"],
        "osm_id": first["osm_id"], "osm_type": first["osm_type"],
    }  # fmt: skip


def _write_csv(features: list[Feature]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for feature in features:
        lon, lat = feature["geometry"]["coordinates"]
        values = {**feature["properties"], "lon": lon, "lat": lat}
        writer.writerow(["" if (v := values.get(name)) is None else v for name in _COLUMNS])
    return text.getvalue().encode()


def _stream_csv(found: PlaceBatch) -> Iterator[bytes]:
    """Yield the lines of a CSV answer; rows that came as JSON have their text in `q`."""
    text = io.StringIO()
    columns = kept_columns(found.columns)
    writer = csv.writer(text, delimiter=found.delimiter)
    writer.writerow([*(columns or ["q"]), *ADDED])
    for row, answer in zip(found.rows, found.iter_answers(), strict=True):
        own = [row.get(name, "") for name in columns] if columns else [_as_text(row)]
        writer.writerow([*own, *added_values(answer)])
        if text.tell() > 65_536:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def _stream_ndjson(found: PlaceBatch) -> Iterator[bytes]:
    for row, answer in zip(found.rows, found.iter_answers(), strict=True):
        yield orjson.dumps(write_row(row, answer)) + b"\n"


def _as_text(row: Any) -> str:
    return row if isinstance(row, str) else orjson.dumps(row).decode()
