"""Photon's API: /api, /structured, /reverse, /status (github.com/komoot/photon, version 1)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import orjson
from msgspec import Meta
from shapely.geometry import mapping

from mapyard.errors import InvalidRequest, MapyardError
from mapyard.features.tags import escape_value
from mapyard.forms import places
from mapyard.geo.bbox import Bbox
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked, Example, endpoint
from mapyard.library.questions import geocoding as library
from mapyard.params.parser import NoParams, Params, Position, Tags, spelled

Feature = dict[str, Any]
JSON: Final = "application/json; charset=utf-8"
_TAG: Final = "Photon"
_NO_PARAM: Final = ("api_key",)
_MOST: Final = 50
#: Results of a text as it is typed.
_MOST_TYPED: Final = 20
Layer = Literal[
    "house", "street", "locality", "district", "city", "county", "state", "country", "other"
]
#: Our layer that holds all of a Photon layer.
_OUR_LAYERS: Final[dict[str, Literal["house", "street", "admin", "poi"]]] = {
    "house": "house", "street": "street", "locality": "admin", "district": "admin",
    "city": "admin", "county": "admin", "state": "admin", "country": "admin", "other": "poi",
}  # fmt: skip
#: Most local rank of each layer of areas.
_LAYERS_BY_RANK: Final = (
    (4, "country"), (9, "state"), (13, "county"), (16, "city"), (21, "district"), (25, "locality"),
    (27, "street"),
)  # fmt: skip


def write_error(error: MapyardError, _asked: Asked) -> Answer:
    """Return an error as Photon writes it."""
    body = orjson.dumps({"message": error.message})
    return Answer(body, JSON, error.status, headers=error.headers)


class Common(Params, kw_only=True):
    """What all calls have."""

    limit: Annotated[int, Meta(ge=1, description="at most 50; more is taken for 50")] = 15
    lang: Annotated[
        str, Meta(max_length=20, description="language of names; default: as they are there")
    ] = ""
    layer: Annotated[tuple[Layer, ...], Meta(description="kinds of places, may be repeated")] = ()
    osm_tag: Annotated[
        tuple[str, ...],
        spelled("key:value, key, :value, !key, !key:value, key:!value; repeated: all must hold",
                split=False, max_length=20),
    ] = ()  # fmt: skip
    include: Annotated[
        tuple[str, ...],
        spelled(
            "categories, osm.key or osm.key.value, by comma: one must hold; repeated: of each",
            split=False,
            max_length=20,
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        spelled("categories by comma: all must hold to leave a place out; repeated: of one",
                split=False, max_length=20),
    ] = ()  # fmt: skip
    dedupe: Annotated[bool, Meta(description="not offered; the same place comes once")] = True
    geometry: Annotated[bool, Meta(description="true: outlines instead of points")] = False


class Near(Common, kw_only=True):
    """What the searches have besides."""

    lat: Annotated[float | None, Meta(ge=-90, le=90, description="prefer what is near")] = None
    lon: Annotated[float | None, spelled("with lat", "lng", ge=-180, le=180)] = None
    zoom: Annotated[float | None, Meta(description="not looked at: ranking needs none")] = None
    location_bias_scale: Annotated[
        float | None, Meta(description="not looked at: ranking needs none")
    ] = None
    bbox: Annotated[str, Meta(max_length=200, description="only within west,south,east,north")] = ""
    countrycode: Annotated[
        tuple[Annotated[str, Meta(pattern="^[A-Za-z]{2}$")], ...], Meta(description="ISO 3166-1")
    ] = ()


class Search(Near, kw_only=True):
    """What is typed."""

    q: Annotated[str, Meta(max_length=2_000, description="text, may be unfinished")]
    suggest_addresses: Annotated[bool, Meta(description="not needed; looked over")] = False


class Structured(Near, kw_only=True):
    """An address in parts."""

    street: Annotated[str, Meta(max_length=500, description="street")] = ""
    housenumber: Annotated[str, Meta(max_length=100, description="house number")] = ""
    postcode: Annotated[str, Meta(max_length=100, description="postcode")] = ""
    district: Annotated[str, Meta(max_length=500, description="quarter or suburb")] = ""
    city: Annotated[str, Meta(max_length=500, description="town or village")] = ""
    county: Annotated[str, Meta(max_length=500, description="county")] = ""
    state: Annotated[str, Meta(max_length=500, description="state")] = ""


class Reverse(Common, kw_only=True):
    """Where to look."""

    lat: Annotated[float, Meta(ge=-90, le=90, description="degrees")]
    lon: Annotated[float, spelled("degrees", "lng", ge=-180, le=180)]
    radius: Annotated[float, Meta(gt=0, le=5_000, description="at most 5 are looked at, km")] = 1.0
    limit: Annotated[int, Meta(ge=1, description="at most 20; more is taken for 20")] = 1
    distance_sort: Annotated[bool, Meta(description="nearest first, always")] = True


@endpoint(
    "/photon/api",
    summary="Search as you type as of Photon",
    tag=_TAG,
    refused={"query_string_filter": "not served; use osm_tag or layer"},
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"q": "rue grim", "limit": 2})],
)
def search(ctx: Context, params: Search) -> Answer:
    """Find places by a text that may be unfinished."""
    _refuse_unknown(ctx)
    limit = min(params.limit, _MOST)
    enough = _enough(params, _MOST_TYPED)
    question = library.Autocomplete(q=params.q, limit=enough, **_where(params))
    found = library.autocomplete(ctx, question).features
    # What is typed is a beginning of all that its whole words name.
    if not found or len(found) == _MOST_TYPED < limit:
        whole = library.Geocode(q=params.q, limit=min(100, 2 * limit), **_where(params))
        known = {_identity(feature) for feature in found}
        found += [f for f in library.geocode(ctx, whole).features if _identity(f) not in known]
    return _answer(ctx, _keep(found, params)[:limit], params)


@endpoint(
    "/photon/structured",
    summary="An address in parts as of Photon",
    tag=_TAG,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"city": "Monaco", "street": "Rue Grimaldi", "limit": 1})],
)
def structured(ctx: Context, params: Structured) -> Answer:
    """Find an address by its parts."""
    _refuse_unknown(ctx)
    limit = min(params.limit, _MOST)
    question = library.Geocode(
        street=params.street, housenumber=params.housenumber, postcode=params.postcode,
        city=", ".join(part for part in (params.district, params.city) if part),
        county=params.county, state=params.state, limit=min(100, 2 * limit), **_where(params),
    )  # fmt: skip
    return _answer(ctx, _keep(library.geocode(ctx, question).features, params)[:limit], params)


@endpoint(
    "/photon/reverse",
    summary="Reverse search as of Photon",
    tag=_TAG,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"lat": 43.7384, "lon": 7.4246})],
)
def reverse(ctx: Context, params: Reverse) -> Answer:
    """Find what is at a position, nearest first."""
    _refuse_unknown(ctx)
    question = library.Reverse(
        at=Position(params.lon, params.lat),
        radius=min(params.radius * 1_000, 5_000.0),
        limit=_enough(params, 20),
        layer=tuple(dict.fromkeys(_OUR_LAYERS[layer] for layer in params.layer)),
        lang=_languages(params),
        areas=True,
        tags=_read_engine_tags(params),
    )
    found = library.reverse(ctx, question).features
    return _answer(ctx, _keep(found, params)[: min(params.limit, 20)], params)


@endpoint(
    "/photon/status",
    summary="State as of Photon",
    tag=_TAG,
    public=True,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({})],
)
def status(ctx: Context, params: NoParams) -> Answer:
    """Say OK, and of when the data is."""
    return Answer.json({"status": "Ok", "import_date": ctx.snapshot.timestamp}, JSON)


def _refuse_unknown(ctx: Context) -> None:
    """Photon refuses parameters that it does not know."""
    unknown = [name for name in ctx.ignored if name not in _NO_PARAM]
    if unknown:
        raise InvalidRequest(f"unknown query parameter '{unknown[0]}'; leave it out")


def _where(params: Near) -> dict[str, Any]:
    focus = None
    if (params.lat is None) != (params.lon is None):
        raise InvalidRequest.of("lat", "and lon are given together or not at all")
    if params.lat is not None and params.lon is not None:
        focus = Position(params.lon, params.lat)
    return {
        "focus": focus, "bbox": _read_box(params.bbox), "country_code": params.countrycode,
        "lang": _languages(params), "areas": True, "tags": _read_engine_tags(params),
        "layer": tuple(dict.fromkeys(_OUR_LAYERS[layer] for layer in params.layer)),
    }  # fmt: skip


def _languages(params: Common) -> tuple[str, ...]:
    return () if params.lang in ("", "default") else (params.lang,)


def _read_box(text: str) -> Bbox | None:
    if not text:
        return None
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest.of("bbox", "must be four numbers: west,south,east,north") from None
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90):
        raise InvalidRequest.of("bbox", "must be west,south,east,north in degrees")
    return Bbox(west, south, east, north)


def _identity(feature: Feature) -> tuple[Any, ...]:
    properties = feature["properties"]
    return properties.get("osm_type"), properties.get("osm_id"), properties["display_name"]


def _layer_of(properties: dict[str, Any]) -> str:
    if properties.get("category") not in ("place", "boundary", "highway"):
        return "house" if properties.get("house_number") else "other"
    rank = places.find_address_rank(properties)
    return next((name for most, name in _LAYERS_BY_RANK if rank <= most), "house")


def _enough(params: Near | Reverse, most: int) -> int:
    """Return how many results are asked for: more than are wanted where some will be dropped."""
    is_kept = params.osm_tag or params.layer or params.include or params.exclude
    return most if is_kept else min(params.limit, most)


def _keep(found: list[Feature], params: Common) -> list[Feature]:
    """Return what has the wanted layer and tags."""
    tests = [_read_tag(text) for text in params.osm_tag]
    included = [_read_categories("include", text) for text in params.include]
    excluded = [_read_categories("exclude", text) for text in params.exclude]
    return [
        feature
        for feature in found
        if (not params.layer or _layer_of(feature["properties"]) in params.layer)
        and all(_holds(test, feature["properties"]) for test in tests)
        and all(any(_is_of(feature, one) for one in names) for names in included)
        and not any(all(_is_of(feature, one) for one in names) for names in excluded)
    ]


def _find_tag(properties: dict[str, Any]) -> tuple[str, str]:
    """Return the main tag of a place, that of the original where there is none."""
    return properties.get("category") or "place", properties.get("subcategory") or "yes"


def _read_categories(name: str, text: str) -> list[list[str]]:
    """Return the labels of each category of a list."""
    found = [one.strip().split(".") for one in text.split(",")]
    if any(len(labels) < 2 or not all(labels) for labels in found):
        raise InvalidRequest.of(name, "is a list of categories such as osm.amenity.cafe")
    return found


def _is_of(feature: Feature, labels: list[str]) -> bool:
    """Return whether a place is of a category, or of one within it."""
    own = ["osm", *_find_tag(feature["properties"])]
    return own[: len(labels)] == labels


def _read_engine_tags(params: Common) -> Tags:
    """Return the tags that all results must have, so that the search is for them alone.

    Places are tested afterwards: their kind may be that of a label node.
    """
    pairs = []
    for text in params.osm_tag:
        key, value, all_negated, value_negated = _read_tag(text)
        if key and not all_negated and not value_negated:
            pairs.append((key, escape_value(value) if value else "*"))
    for text in params.include:
        categories = _read_categories("include", text)
        if len(categories) == 1 and categories[0][0] == "osm":
            _, key, *values = categories[0]
            pairs.append((key, escape_value(values[0]) if values else "*"))
    return Tags(tuple((key, value) for key, value in pairs if key not in ("place", "boundary")))


def _read_tag(text: str) -> tuple[str, str, bool, bool]:
    """Return key, value, and whether all or only the value is negated."""
    all_negated = text.startswith("!")
    key, _, value = text.lstrip("!").partition(":")
    value_negated = value.startswith("!")
    if not key and not value:
        raise InvalidRequest.of("osm_tag", "must be key:value, key or :value, perhaps with !")
    return key, value.lstrip("!"), all_negated, value_negated


def _holds(test: tuple[str, str, bool, bool], properties: dict[str, Any]) -> bool:
    key, value, all_negated, value_negated = test
    own_key, own_value = _find_tag(properties)
    has_key, has_value = key in ("", own_key), value in ("", own_value)
    if value_negated:
        return has_key and not has_value
    return (has_key and has_value) != all_negated


def _find_parts(properties: dict[str, Any]) -> dict[str, str]:
    """Return the locality and the district around a place, where they are not the place."""
    own = (properties.get("osm_type"), properties.get("osm_id"))
    found: dict[str, str] = {}
    for area in reversed(properties.get("areas") or ()):
        rank = places.find_area_rank(area)
        layer = next((name for most, name in _LAYERS_BY_RANK if rank <= most), "")
        if layer in ("locality", "district") and own != (area["osm_type"], area["osm_id"]):
            found.setdefault(layer, area["name"])
    return found


def _answer(ctx: Context, found: list[Feature], params: Common) -> Answer:
    shapes = places.find_shapes(ctx, found, 0.0) if params.geometry else [None] * len(found)
    features = []
    for feature, shape in zip(found, shapes, strict=True):
        ours = feature["properties"]
        around = _find_parts(ours)
        properties = {
            "osm_type": str(ours.get("osm_type") or " ")[0].upper().strip() or None,
            "osm_id": ours.get("osm_id"),
            "osm_key": _find_tag(ours)[0],
            "osm_value": _find_tag(ours)[1],
            "type": _layer_of(ours),
            "name": ours.get("name"),
            "housenumber": ours.get("house_number"),
            "street": ours.get("street") if ours.get("category") != "highway" else None,
            "locality": around.get("locality"),
            "district": around.get("district") or ours.get("suburb"),
            "city": ours.get("city"),
            "county": ours.get("county"),
            "state": ours.get("state"),
            "postcode": ours.get("postcode"),
            "country": ours.get("country"),
            "countrycode": ours.get("country_code"),
        }
        properties = {name: value for name, value in properties.items() if value}
        if "bbox" in feature:
            box = places.find_box(feature)
            properties["extent"] = [box.west, box.north, box.east, box.south]
        geometry = mapping(shape) if shape is not None else feature["geometry"]
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return Answer.json({"type": "FeatureCollection", "features": features}, JSON)
