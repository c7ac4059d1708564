"""Geocoding: forward, reverse, autocomplete, batch."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

import orjson
from msgspec import Meta

from mapyard.errors import InvalidRequest, NotInstalled, TooLarge
from mapyard.features.query import FeatureQuery, test_rows
from mapyard.features.tags import parse_tag_filters
from mapyard.geocoding.batch import ADDED, Options, added_values, answer_rows, read_csv
from mapyard.geocoding.forward import Focus
from mapyard.geocoding.geocoder import Address, Feature, Geocoder, open_geocoder
from mapyard.geocoding.matching import Filters, Keep
from mapyard.geocoding.reverse import Layer
from mapyard.http.answer import GEOJSON, JSON, Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.snapshot import Snapshot, register_part
from mapyard.params.parser import Bbox, Params, Position, Tags, spelled
from mapyard.results.pages import ATTRIBUTION

MAX_BATCH: Final = 1_000
#: Longer texts are refused; shorter ones that no address can be find nothing.
MAX_TEXT: Final = 20_000
CSV: Final = "text/csv; charset=utf-8; header=present"
NDJSON: Final = "application/x-ndjson"
#: Layers of documents by the names that clients use.
_LAYERS: Final = {
    "": "", "address": "address", "house": "address", "poi": "poi", "admin": "admin",
    "place": "admin", "street": "street", "postcode": "postcode",
}  # fmt: skip
_REVERSE_LAYERS: Final[dict[str, Layer]] = {
    "": "", "house": "address", "address": "address", "poi": "poi", "street": "street",
    "admin": "admin", "place": "admin",
}  # fmt: skip
_COLUMNS: Final = (
    "lat", "lon", "display_name", "name", "house_number", "street", "postcode", "city", "county",
    "state", "country", "country_code", "category", "subcategory", "source", "score", "confidence",
    "distance_m", "osm_type", "osm_id",
)  # fmt: skip


def _open_geocoder(snapshot: Snapshot) -> Geocoder:
    try:
        return open_geocoder(snapshot.folder / "text", snapshot.store)
    except FileNotFoundError:
        raise NotInstalled.part("text") from None


register_part("geocoder", _open_geocoder)

ForwardLayer = Literal["address", "poi", "admin", "place", "street", "postcode"]
Countries = Annotated[
    tuple[Annotated[str, Meta(pattern="^[A-Za-z]{2}$", max_length=2)], ...],
    spelled("ISO 3166-1 alpha-2 codes, one or several", "country_codes", "countrycodes"),
]
Lang = Annotated[
    tuple[
        Annotated[str, Meta(pattern="^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8}){0,3}$", max_length=32)],
        ...,
    ],
    spelled("languages of names, the preferred first: de, or pt-BR,pt,en", "language", "langs"),
]
FocusAt = Annotated[Position | None, spelled("results near to it come first", pair=True)]
Format = Annotated[
    Literal["json", "geojson", "csv", "ndjson"],
    Meta(description="json and geojson are a FeatureCollection; csv and ndjson a row per result"),
]
TagsFilter = Annotated[
    Tags,
    spelled("only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent"),
]
Text = Annotated[str, Meta(max_length=2_000)]


class _Where(Params, kw_only=True):
    """What forward geocoding and autocomplete have in common."""

    focus: FocusAt = None
    country_code: Countries = ()
    lang: Lang = ()
    layer: (
        Annotated[
            ForwardLayer,
            Meta(description="address (houses, streets, postcodes), poi, or admin (places)"),
        ]
        | None
    ) = None
    tags: TagsFilter = Tags()
    bbox: Annotated[Bbox | None, Meta(description="south,west,north,east")] = None
    bounded: Annotated[
        bool, Meta(description="false: results in bbox are only preferred, not required")
    ] = True
    format: Format = "json"


class GeocodeParams(_Where, kw_only=True):
    """What is looked for: a text, or an address in parts."""

    q: Annotated[
        str,
        spelled(
            "address or name in any order and spelling, a kind with a place (pizzeria vaduz), "
            "coordinates or a plus code",
            max_length=MAX_TEXT,
            examples=["Rue Grimaldi 5, Monaco"],
        ),
    ] = ""
    street: Annotated[
        Text, Meta(description="street, instead of q; its number may stand with it")
    ] = ""
    housenumber: Annotated[Text, spelled("house number", "house_number")] = ""
    postcode: Annotated[Text, spelled("postcode", "postalcode", "postal_code")] = ""
    city: Annotated[Text, Meta(description="town or village")] = ""
    county: Annotated[Text, Meta(description="county or district")] = ""
    state: Annotated[Text, Meta(description="state or region")] = ""
    country: Annotated[Text, Meta(description="name or ISO 3166-1 alpha-2 code")] = ""
    limit: Annotated[int, Meta(ge=1, le=100, description="largest number of results")] = 20


class AutocompleteParams(_Where, kw_only=True):
    """What has been typed so far."""

    q: Annotated[
        str,
        Meta(
            description="text whose last word may be unfinished",
            max_length=MAX_TEXT,
            examples=["rue grim"],
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=20, description="largest number of results")] = 10


class ReverseParams(Params):
    """Where to look."""

    at: Annotated[Position, spelled("the position", "near", "geometry", pair=True)]
    radius: Annotated[float, Meta(gt=0, le=5_000, description="largest distance, meters")] = 200.0
    limit: Annotated[int, Meta(ge=1, le=20, description="largest number of results")] = 1
    layer: (
        Annotated[
            Literal["house", "address", "poi", "street", "admin", "place"],
            Meta(description="only houses (house, address), poi, street, or areas (admin)"),
        ]
        | None
    ) = None
    tags: TagsFilter = Tags()
    lang: Lang = ()
    format: Format = "json"


class BatchParams(Params):
    """Many rows at once."""

    addresses: Annotated[
        tuple[Any, ...],
        spelled(
            "1 to 1000 rows: texts, address parts ({street, housenumber, postcode, city, state, "
            "country}), or positions ({lat, lng}, [lng, lat], Point) for reverse",
            "queries", "rows", "locations",
            split=False, max_length=MAX_BATCH,
            examples=[["Rue Grimaldi 5, Monaco", {"lat": 43.7384, "lng": 7.4246}]],
        ),
    ] = ()  # fmt: skip
    csv: Annotated[
        str, Meta(description="the rows as CSV with a header line; or send the body as text/csv")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=10, description="results per row")] = 1
    focus: FocusAt = None
    country_code: Countries = ()
    lang: Lang = ()
    layer: Annotated[ForwardLayer | None, Meta(description="as of /geocode, for texts")] = None
    radius: Annotated[
        float, Meta(gt=0, le=5_000, description="largest distance for positions, meters")
    ] = 200.0
    format: Annotated[
        Literal["json", "csv"] | None,
        Meta(description="csv: one line per row with its own columns and the match behind them"),
    ] = None


@endpoint(
    "/api/v1/geocode",
    methods=("GET", "POST"),
    summary="Find a place, address or point of interest by text",
    tag="Geocoding",
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
    geocoder: Geocoder = ctx.snapshot.part("geocoder")
    filters, focus, langs = _read_where(ctx, params)
    address = Address(
        params.street, params.housenumber, params.postcode, params.city, params.county,
        params.state, params.country,
    )  # fmt: skip
    if params.q.strip():
        features = geocoder.forward(
            params.q, params.limit, filters=filters, focus=focus, langs=langs
        )
    elif address.text:
        features = geocoder.structured(
            address, params.limit, filters=filters, focus=focus, langs=langs
        )
    else:
        raise InvalidRequest(
            "q: is required (or street, housenumber, postcode, city, county, state, country)",
            details={"q": ["is required"]},
        )
    return _answer(ctx, features, params.format)


@endpoint(
    "/api/v1/geocode/autocomplete",
    methods=("GET", "POST"),
    summary="Complete a text while it is typed",
    tag="Geocoding",
    schema="AutocompleteResult",
    media_types=(GEOJSON, "text/csv", NDJSON),
    examples=[Example({"q": "rue grim", "limit": 3})],
)
def autocomplete(ctx: Context, params: AutocompleteParams) -> Answer:
    """Return what an unfinished text may become.

    House numbers are offered once a digit is typed, or when a street is typed in full.
    """
    if not params.q.strip():
        raise InvalidRequest.of("q", "must not be blank")
    geocoder: Geocoder = ctx.snapshot.part("geocoder")
    filters, focus, langs = _read_where(ctx, params)
    features = geocoder.autocomplete(
        params.q, params.limit, filters=filters, focus=focus, langs=langs
    )
    return _answer(ctx, features, params.format)


@endpoint(
    "/api/v1/geocode/reverse",
    methods=("GET", "POST"),
    summary="Find what is at a position",
    tag="Geocoding",
    schema="ReverseGeocodeResult",
    media_types=(GEOJSON, "text/csv", NDJSON),
    examples=[Example({"lat": 43.7384, "lng": 7.4246})],
)
def reverse(ctx: Context, params: ReverseParams) -> Answer:
    """Return the address, street or area at a position, with its distance to the real outline.

    The building that the position is in comes first, then houses of the nearest street, then other
    houses, interpolated numbers, the street, and the areas around.
    """
    geocoder: Geocoder = ctx.snapshot.part("geocoder")
    keep = _read_tags(ctx, params.tags)
    # What has certain tags is a thing, unless houses or streets are asked for.
    layer = _REVERSE_LAYERS[params.layer or ("" if keep is None else "poi")]
    features = geocoder.reverse(
        params.at.lon, params.at.lat, params.radius, params.limit,
        layer=layer, keep=keep, langs=params.lang,
    )  # fmt: skip
    return _answer(ctx, features, params.format, reverse=True)


@endpoint(
    "/api/v1/geocode/batch",
    methods=("POST",),
    summary="Geocode up to 1000 rows at once",
    tag="Geocoding",
    schema="BatchGeocodeResult",
    heavy=True,
    texts={"text/csv": "csv"},
    media_types=(JSON, "text/csv"),
    examples=[Example({"addresses": ["Rue Grimaldi 5, Monaco", {"lat": 43.7384, "lng": 7.4246}]})],
)
def batch(ctx: Context, params: BatchParams) -> Answer:
    """Return one FeatureCollection per row, in input order; a bad row has `error` and no features.

    CSV in (text/csv with a header line) gives CSV out: the rows as they came, and the best match in
    columns behind them.
    """
    geocoder: Geocoder = ctx.snapshot.part("geocoder")
    columns: list[str] = []
    rows: Sequence[Any] = params.addresses
    delimiter = ","
    if params.csv:
        columns, rows, delimiter = read_csv(params.csv)
    if not rows:
        raise InvalidRequest.of("addresses", "must have 1 to 1000 rows")
    if len(rows) > MAX_BATCH:
        raise TooLarge(
            f"addresses: {len(rows)} rows, at most {MAX_BATCH}",
            details={"parameter": "addresses", "limit": MAX_BATCH, "count": len(rows)},
        )
    focus = Focus(params.focus.lon, params.focus.lat) if params.focus else None
    options = Options(
        params.limit,
        Filters(_LAYERS[params.layer or ""], tuple(c.upper() for c in params.country_code)),
        focus,
        params.lang,
        params.radius,
    )
    answers = answer_rows(geocoder, rows, options, ctx.deadline)
    if params.format == "csv" or (params.format is None and columns):
        return Answer(_stream_csv(columns, rows, answers, delimiter), CSV)
    results: list[dict[str, Any]] = []
    for answer in answers:
        collection: dict[str, Any] = {"type": "FeatureCollection", "features": answer.features}
        if answer.error:
            collection["error"] = {"code": "invalid_request", "message": answer.error}
        results.append(collection)
    return Answer.json({"attribution": ATTRIBUTION, "count": len(results), "results": results})


def _read_tags(ctx: Context, tags: Tags) -> Keep | None:
    """Return the test of rows that tag filters ask for, None without any."""
    store = ctx.snapshot.store
    filters = parse_tag_filters(tags.pairs, tags.texts, lambda key: store.find_key(key) >= 0)
    if not filters:
        return None
    query = FeatureQuery(tags=filters)
    return lambda rows: test_rows(store, query, rows)


def _read_where(ctx: Context, params: _Where) -> tuple[Filters, Focus | None, tuple[str, ...]]:
    focus = Focus(params.focus.lon, params.focus.lat) if params.focus else None
    bbox = params.bbox
    if bbox is not None and not params.bounded:
        east = bbox.east + 360 if bbox.crosses_antimeridian else bbox.east
        middle = ((bbox.west + east) / 2 + 180) % 360 - 180
        if focus is None:
            half_m = max(1_000.0, (bbox.north - bbox.south) * 111_195.0 / 2)
            focus = Focus(middle, (bbox.south + bbox.north) / 2, half_m)
        bbox = None
    countries = tuple(code.upper() for code in params.country_code)
    keep = _read_tags(ctx, params.tags)
    return Filters(_LAYERS[params.layer or ""], countries, bbox, keep), focus, params.lang


def _answer(
    ctx: Context, features: list[Feature], answer_format: str, *, reverse: bool = False
) -> Answer:
    if answer_format == "ndjson":
        return Answer(b"".join(orjson.dumps(f) + b"\n" for f in features), NDJSON)
    if answer_format == "csv":
        return Answer(_write_csv(features), CSV)
    body: dict[str, Any] = {"type": "FeatureCollection", "attribution": ATTRIBUTION}
    if ctx.is_client_library:
        body |= _early_members(features, reverse=reverse)
    body["features"] = features
    return Answer.geojson(body)


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


def _stream_csv(
    columns: list[str], rows: Sequence[Any], answers: Iterator[Any], delimiter: str
) -> Iterator[bytes]:
    """Yield the lines of a CSV answer; rows that came as JSON have their text in `q`."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow([*(columns or ["q"]), *ADDED])
    for row, answer in zip(rows, answers, strict=True):
        own = [row.get(name, "") for name in columns] if columns else [_as_text(row)]
        writer.writerow([*own, *added_values(answer)])
        if text.tell() > 65_536:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def _as_text(row: Any) -> str:
    return row if isinstance(row, str) else orjson.dumps(row).decode()
