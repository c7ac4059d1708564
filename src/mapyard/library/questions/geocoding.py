"""Addresses and places: forward, unfinished, reverse, many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from mapyard.errors import InvalidRequest, TooLarge
from mapyard.features.query import FeatureQuery, test_rows
from mapyard.geocoding.answer.batch import Answer, Options, answer_rows, read_csv, read_ndjson
from mapyard.geocoding.geocoder import Geocoder, Output
from mapyard.geocoding.order.ranking import Focus
from mapyard.geocoding.order.reverse import Layer
from mapyard.geocoding.order.structured import Address
from mapyard.geocoding.search.matching import Filters, Keep
from mapyard.library.call import Call
from mapyard.library.question import question
from mapyard.library.questions.elements import Lang, read_tags
from mapyard.library.results.places import PlaceBatch, Places
from mapyard.params.parser import Bbox, Params, Position, Tags, spelled

MAX_BATCH: Final = 1_000
#: Longer texts are refused; shorter ones that no address can be find nothing.
MAX_TEXT: Final = 20_000
#: Layers of documents by the names that clients use.
_LAYERS: Final = {
    "": "", "address": "address", "house": "address", "poi": "poi", "admin": "admin",
    "place": "admin", "street": "street", "postcode": "postcode",
}  # fmt: skip
_KINDS: Final = ("place", "street", "poi", "house", "postcode")
_REVERSE_LAYERS: Final[dict[str, Layer]] = {
    "": "", "house": "address", "address": "address", "poi": "poi", "street": "street",
    "admin": "admin", "place": "admin", "natural": "natural",
}  # fmt: skip


ForwardLayer = Literal[
    "address", "poi", "admin", "place", "street", "postcode", "house",
    "!address", "!poi", "!admin", "!place", "!street", "!postcode", "!house",
]  # fmt: skip
ReverseLayer = Literal["house", "address", "poi", "street", "admin", "place", "natural"]
Countries = Annotated[
    tuple[Annotated[str, Meta(pattern="^[A-Za-z]{2}$", max_length=2)], ...],
    spelled("ISO 3166-1 alpha-2 codes, one or several", "country_codes", "countrycodes"),
]
FocusAt = Annotated[Position | None, spelled("results near to it come first", pair=True)]
TagsFilter = Annotated[
    Tags,
    spelled("only elements with these tags, as in /features: tags[amenity]=pharmacy, ! for absent"),
]
Text = Annotated[str, Meta(max_length=2_000)]


Exclude = Annotated[
    tuple[Annotated[str, Meta(pattern=r"^(node|way|relation)/\d{1,18}$")], ...],
    spelled("elements that are left out: way/5,node/7", "exclude_ids", max_length=100),
]
Areas = Annotated[
    bool,
    Meta(
        description="true: each result has `areas`, those around it from the country to the quarter"
    ),
]
Shape = Annotated[
    Literal["point", "full"],
    Meta(description="full: the geometry of the element, with its point in the properties"),
]


class Where(Params, kw_only=True):
    """What forward geocoding and autocomplete have in common."""

    focus: FocusAt = None
    country_code: Countries = ()
    lang: Lang = ()
    layer: Annotated[
        tuple[ForwardLayer, ...],
        spelled(
            "one or several of address (houses, streets, postcodes), poi, admin (places), street, "
            "postcode; with ! before them all others",
            "layers",
        ),
    ] = ()
    exclude: Exclude = ()
    shape: Shape = "point"
    areas: Areas = False
    debug: Annotated[bool, Meta(description="true: results say what their score is made of")] = (
        False
    )
    tags: TagsFilter = Tags()
    bbox: Annotated[Bbox | None, Meta(description="south,west,north,east")] = None
    bounded: Annotated[
        bool, Meta(description="false: results in bbox are only preferred, not required")
    ] = True


class Geocode(Where, kw_only=True):
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
    country: Annotated[Text, Meta(description="name or ISO 3166-1 alpha-2 code; alone, too")] = ""
    amenity: Annotated[Text, spelled("name or kind of a point of interest", "name")] = ""
    neighbourhood: Annotated[
        Text, spelled("quarter, suburb or district", "suburb", "district", "quarter")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=100, description="largest number of results")] = 20


class Autocomplete(Where, kw_only=True):
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


class Reverse(Params, kw_only=True):
    """Where to look."""

    at: Annotated[Position, spelled("the position", "near", "geometry", pair=True)]
    radius: Annotated[float, Meta(gt=0, le=5_000, description="largest distance, meters")] = 200.0
    limit: Annotated[int, Meta(ge=1, le=20, description="largest number of results")] = 1
    layer: Annotated[
        tuple[ReverseLayer, ...],
        spelled(
            "one or several of house (address), poi, street, natural, and admin (areas), together "
            "by distance",
            "layers",
        ),
    ] = ()
    zoom: Annotated[
        int | None,
        Meta(
            ge=0,
            le=22,
            description="as of a map: 3 the country, 5 the state, 8 the county, 10 the town, 14 a "
            "part of it, 16 the street, 18 the house",
        ),
    ] = None
    exclude: Exclude = ()
    shape: Shape = "point"
    areas: Areas = False
    tags: TagsFilter = Tags()
    lang: Lang = ()


class Batch(Params, kw_only=True):
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
    ndjson: Annotated[
        str, Meta(description="the rows as NDJSON; or send the body as application/jsonl")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=10, description="results per row")] = 1
    focus: FocusAt = None
    country_code: Countries = ()
    lang: Lang = ()
    layer: Annotated[tuple[ForwardLayer, ...], spelled("as of /geocode, for texts", "layers")] = ()
    radius: Annotated[
        float, Meta(gt=0, le=5_000, description="largest distance for positions, meters")
    ] = 200.0


@question("geocode", path="/api/v1/geocode", leading=("q",))
def geocode(call: Call, params: Geocode) -> Places:
    """Find a place, address or point of interest by text, or by an address in parts.

    `match` in the properties says which words were matched, how, and which were not; `confidence`
    (0-1) is how much of the query the result answers. A house number that is not mapped is placed
    between its neighbors (`source: interpolation`), or the street is returned.
    """
    geocoder: Geocoder = call.part("geocoder")
    filters, focus, langs = _read_where(call, params)
    address = _read_address(params)
    if params.q.strip():
        found = geocoder.forward(
            params.q, params.limit, filters=filters, focus=focus, langs=langs,
            output=_read_output(params),
        )  # fmt: skip
    elif address.text:
        found = geocoder.structured(
            address, params.limit, filters=filters, focus=focus, langs=langs,
            output=_read_output(params),
        )  # fmt: skip
    else:
        raise InvalidRequest(
            "q: is required (or street, housenumber, postcode, city, county, state, country, "
            "amenity, neighbourhood)",
            details={"q": ["is required"]},
        )
    return Places(found)


def has_parts(params: Geocode) -> bool:
    """Return whether an address in parts is looked for."""
    return not params.q.strip() and bool(_read_address(params).text)


def _read_address(params: Geocode) -> Address:
    return Address(
        params.street, params.housenumber, params.postcode, params.city, params.county,
        params.state, params.country, params.amenity, params.neighbourhood,
    )  # fmt: skip


@question("autocomplete", path="/api/v1/geocode/autocomplete", leading=("q",))
def autocomplete(call: Call, params: Autocomplete) -> Places:
    """Return what an unfinished text may become.

    House numbers are offered once a digit is typed, or when a street is typed in full.
    """
    if not params.q.strip():
        raise InvalidRequest.of("q", "must not be blank")
    geocoder: Geocoder = call.part("geocoder")
    filters, focus, langs = _read_where(call, params)
    return Places(
        geocoder.autocomplete(
            params.q,
            params.limit,
            filters=filters,
            focus=focus,
            langs=langs,
            output=_read_output(params),
        )
    )


@question("reverse", path="/api/v1/geocode/reverse", leading=("at",))
def reverse(call: Call, params: Reverse) -> Places:
    """Return the address, street or area at a position, with its distance to the real outline.

    The building that the position is in comes first, then houses of the nearest street, then other
    houses, interpolated numbers, the street, and the areas around.
    """
    geocoder: Geocoder = call.part("geocoder")
    keep = _read_keep(call, params.tags)
    # What has certain tags is a thing, unless houses or streets are asked for.
    names = params.layer or (() if keep is None else ("poi",))
    layers = tuple(dict.fromkeys(_REVERSE_LAYERS[name] for name in names))
    found = geocoder.reverse(
        params.at.lon, params.at.lat, params.radius, params.limit,
        layer=layers, keep=keep, zoom=params.zoom, langs=params.lang, output=_read_output(params),
    )  # fmt: skip
    return Places(found)


@question("geocode_batch", path="/api/v1/geocode/batch", leading=("addresses",))
def geocode_batch(call: Call, params: Batch) -> PlaceBatch:
    """Geocode up to 1000 rows; one collection of places per row, in input order.

    A row that cannot be read has an `error` and no places; the others are answered.
    """
    geocoder: Geocoder = call.part("geocoder")
    columns: list[str] = []
    rows: Sequence[Any] = params.addresses
    delimiter = ","
    if params.csv:
        columns, rows, delimiter = read_csv(params.csv)
    elif params.ndjson:
        rows = read_ndjson(params.ndjson)
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
        Filters(_read_layers(params.layer), tuple(c.upper() for c in params.country_code)),
        focus,
        params.lang,
        params.radius,
        strict=not columns,
    )
    answers: Iterator[Answer] = answer_rows(geocoder, rows, options, call.deadline)
    return PlaceBatch(answers, rows, columns, delimiter)


def _read_keep(call: Call, tags: Tags) -> Keep | None:
    """Return the test of rows that tag filters ask for, None without any."""
    store = call.store
    filters = read_tags(store, tags)
    if not filters:
        return None
    query = FeatureQuery(tags=filters)
    return lambda rows: test_rows(store, query, rows)


def _read_where(call: Call, params: Where) -> tuple[Filters, Focus | None, tuple[str, ...]]:
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
    keep = _read_keep(call, params.tags)
    layer = _read_layers(params.layer)
    return Filters(layer, countries, bbox, keep, params.debug), focus, params.lang


def _read_layers(names: tuple[str, ...]) -> str:
    """Return layers of documents by comma; those behind ! leave the others."""
    wanted = [_LAYERS[name] for name in names if not name.startswith("!")]
    unwanted = {
        "house" if name == "!house" else _LAYERS[name[1:]] for name in names if name.startswith("!")
    }
    if not unwanted:
        return ",".join(dict.fromkeys(wanted))
    # A document is of a layer and of a kind in it, so that what is left is named by its kinds.
    kinds = {"address": ("street", "house", "postcode"), "admin": ("place",)}
    gone = {kind for name in unwanted for kind in kinds.get(name, (name,))}
    among = {kind for name in wanted for kind in kinds.get(name, (name,))} or set(_KINDS)
    left = [kind for kind in _KINDS if kind in among - gone]
    if not left:
        raise InvalidRequest.of("layer", "leaves nothing that could be found")
    return ",".join(left)


def _read_output(params: Where | Reverse) -> Output:
    return Output(frozenset(params.exclude), params.shape == "full", params.areas)
