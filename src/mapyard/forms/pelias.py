"""Pelias' API, version 1: search, autocomplete, structured, reverse, place (github.com/pelias)."""

from __future__ import annotations

import math
import time
from typing import Annotated, Any, Final, Literal

import orjson
from msgspec import Meta

from mapyard.errors import InvalidRequest, MapyardError
from mapyard.forms import places
from mapyard.forms.elements import find_element
from mapyard.geo.bbox import Bbox
from mapyard.geocoding.answer.answers import Area
from mapyard.geocoding.words.country_names import read_long_codes, read_short_codes
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Asked, Example, endpoint
from mapyard.library.questions import geocoding as library
from mapyard.params.parser import Params, Position, spelled
from mapyard.results.pages import ATTRIBUTION
from mapyard.version import __version__

Feature = dict[str, Any]
JSON: Final = "application/json; charset=utf-8"
_TAG: Final = "Pelias"
_MOST: Final = 40
_KM_PER_DEG: Final = 111.195
Layer = Literal[
    "venue", "address", "street", "neighbourhood", "borough", "localadmin", "locality", "county",
    "macrocounty", "region", "macroregion", "country", "coarse", "postalcode", "empire",
    "dependency", "marinearea", "continent", "ocean",
]  # fmt: skip
#: Most local rank of each layer of areas.
_LAYERS_BY_RANK: Final = ((4, "country"), (9, "region"), (13, "county"), (19, "locality"))
_COARSE: Final = frozenset(
    ("neighbourhood", "borough", "localadmin", "locality", "county", "macrocounty", "region",
     "macroregion", "country", "coarse", "postalcode")
)  # fmt: skip
#: Layers of areas by their kind of place, else by their level.
_LAYERS_BY_KIND: Final = {
    "country": "country", "state": "region", "province": "region", "county": "county",
    "municipality": "localadmin", "city": "locality", "town": "locality", "village": "locality",
    "hamlet": "locality", "borough": "borough", "suburb": "neighbourhood",
    "quarter": "neighbourhood", "neighbourhood": "neighbourhood",
}  # fmt: skip
_LAYERS_BY_LEVEL: Final = {
    2: "country", 3: "macroregion", 4: "region", 5: "macrocounty", 6: "county", 7: "localadmin",
    8: "localadmin", 9: "borough",
}  # fmt: skip
#: Confidence of what is nearer than so many meters.
_SURE_WITHIN_M: Final = ((1.0, 1.0), (10.0, 0.9), (100.0, 0.8), (250.0, 0.7), (1_000.0, 0.6))
_REFUSED: Final = {
    "boundary.gid": "not served; use boundary.country or boundary.rect",
    "categories": "not served; use layers=venue and the kind in text",
}


def write_error(error: MapyardError, _asked: Asked) -> Answer:
    """Return an error as Pelias writes it."""
    body = {
        "geocoding": {"version": "0.2", "attribution": ATTRIBUTION, "errors": [error.message]},
        "type": "FeatureCollection",
        "features": [],
    }
    return Answer(orjson.dumps(body), JSON, error.status, headers=error.headers)


class Common(Params, kw_only=True):
    """What all calls have."""

    size: Annotated[int, Meta(ge=1, description="at most 40; more is taken for 40")] = 10
    layers: Annotated[tuple[Layer, ...], Meta(description="kinds of places")] = ()
    sources: Annotated[
        tuple[Literal["osm", "openstreetmap"], ...], Meta(description="osm is all there is")
    ] = ()
    boundary_country: Annotated[
        tuple[Annotated[str, Meta(pattern="^[A-Za-z]{2,3}$")], ...],
        spelled("ISO 3166-1 codes of two or three letters", "boundary.country"),
    ] = ()
    lang: Annotated[str, Meta(max_length=100, description="languages of names")] = ""


class Forward(Common, kw_only=True):
    """What the searches have besides."""

    focus_lat: Annotated[
        float | None, spelled("prefer what is near", "focus.point.lat", ge=-90, le=90)
    ] = None
    focus_lon: Annotated[
        float | None, spelled("with its latitude", "focus.point.lon", ge=-180, le=180)
    ] = None
    min_lat: Annotated[
        float | None, spelled("only within", "boundary.rect.min_lat", ge=-90, le=90)
    ] = None
    min_lon: Annotated[
        float | None, spelled("only within", "boundary.rect.min_lon", ge=-180, le=180)
    ] = None
    max_lat: Annotated[
        float | None, spelled("only within", "boundary.rect.max_lat", ge=-90, le=90)
    ] = None
    max_lon: Annotated[
        float | None, spelled("only within", "boundary.rect.max_lon", ge=-180, le=180)
    ] = None
    circle_lat: Annotated[
        float | None, spelled("only around", "boundary.circle.lat", ge=-90, le=90)
    ] = None
    circle_lon: Annotated[
        float | None, spelled("only around", "boundary.circle.lon", ge=-180, le=180)
    ] = None
    circle_km: Annotated[
        float, spelled("radius, kilometers", "boundary.circle.radius", gt=0, le=500)
    ] = 50.0


class Text(Forward, kw_only=True):
    """A text."""

    text: Annotated[str, Meta(max_length=2_000, description="what is looked for")]


class Structured(Forward, kw_only=True):
    """An address in parts."""

    venue: Annotated[str, Meta(max_length=500, description="name of a thing")] = ""
    address: Annotated[str, Meta(max_length=500, description="house number and street")] = ""
    neighbourhood: Annotated[str, spelled("quarter or suburb", "borough", max_length=500)] = ""
    locality: Annotated[str, Meta(max_length=500, description="town or village")] = ""
    county: Annotated[str, Meta(max_length=500, description="county")] = ""
    region: Annotated[str, Meta(max_length=500, description="state")] = ""
    postalcode: Annotated[str, Meta(max_length=100, description="postcode")] = ""
    country: Annotated[str, Meta(max_length=500, description="name or code")] = ""


class Reverse(Common, kw_only=True):
    """Where to look."""

    lat: Annotated[float, spelled("degrees", "point.lat", ge=-90, le=90)]
    lon: Annotated[float, spelled("degrees", "point.lon", ge=-180, le=180)]
    radius_km: Annotated[
        float, spelled("at most 5 are looked at, km", "boundary.circle.radius", gt=0, le=5)
    ] = 1.0


class Ids(Params, kw_only=True):
    """Which places."""

    ids: Annotated[
        tuple[str, ...],
        Meta(min_length=1, max_length=40, description="gids: openstreetmap:venue:way/5"),
    ]
    lang: Annotated[str, Meta(max_length=100, description="languages of names")] = ""


@endpoint(
    "/pelias/v1/search",
    aliases=("/ors/geocode/search",),
    summary="Search as of Pelias",
    tag=_TAG,
    refused=_REFUSED,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"text": "Rue Grimaldi, Monaco", "size": 1})],
)
def search(ctx: Context, params: Text) -> Answer:
    """Find places by a text."""
    question = library.Geocode(q=params.text, limit=_most(params), **_where(params))
    found = library.geocode(ctx, question).features
    return _answer(ctx, found, params, {"text": params.text}, says_match=True)


@endpoint(
    "/pelias/v1/autocomplete",
    aliases=("/ors/geocode/autocomplete",),
    summary="Search as you type as of Pelias",
    tag=_TAG,
    refused=_REFUSED,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"text": "rue grim", "size": 2})],
)
def autocomplete(ctx: Context, params: Text) -> Answer:
    """Find places by a text that may be unfinished."""
    question = library.Autocomplete(q=params.text, limit=20, **_where(params))
    return _answer(ctx, library.autocomplete(ctx, question).features, params, {"text": params.text})


@endpoint(
    "/pelias/v1/search/structured",
    aliases=("/ors/geocode/search/structured",),
    summary="An address in parts as of Pelias",
    tag=_TAG,
    refused=_REFUSED,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"address": "Rue Grimaldi", "locality": "Monaco", "size": 1})],
)
def structured(ctx: Context, params: Structured) -> Answer:
    """Find an address by its parts."""
    question = library.Geocode(
        amenity=params.venue, street=params.address, neighbourhood=params.neighbourhood,
        city=params.locality, county=params.county, state=params.region,
        postcode=params.postalcode, country=params.country, limit=_most(params), **_where(params),
    )  # fmt: skip
    return _answer(ctx, library.geocode(ctx, question).features, params, {}, says_match=True)


@endpoint(
    "/pelias/v1/reverse",
    aliases=("/ors/geocode/reverse",),
    summary="Reverse search as of Pelias",
    tag=_TAG,
    refused=_REFUSED,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"point.lat": 43.7384, "point.lon": 7.4246, "size": 1})],
)
def reverse(ctx: Context, params: Reverse) -> Answer:
    """Find what is at a position."""
    layers: dict[library.ReverseLayer, None] = {}
    for layer in params.layers:
        names: dict[str, library.ReverseLayer] = {
            "venue": "poi", "address": "house", "street": "street",
        }  # fmt: skip
        layers[names.get(layer, "admin")] = None
    question = library.Reverse(
        at=Position(params.lon, params.lat), radius=params.radius_km * 1_000,
        limit=min(20, _most(params)), layer=tuple(layers), lang=_languages(params.lang), areas=True,
    )  # fmt: skip
    found = library.reverse(ctx, question).features
    wanted = set(_countries(params))
    kept = [f for f in found if not wanted or f["properties"].get("country_code") in wanted]
    query = {"point.lat": params.lat, "point.lon": params.lon}
    return _answer(ctx, kept, params, query)


@endpoint(
    "/pelias/v1/place",
    summary="Places by id as of Pelias",
    tag=_TAG,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"ids": "openstreetmap:locality:relation/2220322"})],
)
def place(ctx: Context, params: Ids) -> Answer:
    """Return places by their gid; those that are not in the dataset are left out."""
    found = []
    for gid in params.ids:
        source, _, rest = gid.partition(":")
        kind, _, number = rest.rpartition(":")[2].partition("/")
        if source not in ("openstreetmap", "osm") or not number.isdigit():
            raise InvalidRequest.of("ids", f"'{gid[:80]}' is not an id of this server")
        feature = find_element(ctx, kind, int(number), _languages(params.lang))
        if feature is not None:
            found.append(feature)
    return _answer(ctx, found, Common(size=_MOST), {"ids": list(params.ids)})


def _most(params: Common) -> int:
    size = min(params.size, _MOST)
    return size if not params.layers else min(100, 3 * size)


def _languages(text: str) -> tuple[str, ...]:
    names = [entry.partition(";")[0].strip() for entry in text.split(",")]
    return tuple(name for name in names if name.replace("-", "").isalpha())[:10]


def _countries(params: Common) -> tuple[str, ...]:
    """Return the codes of two letters."""
    codes = [code.upper() for code in params.boundary_country]
    short = [code if len(code) == 2 else read_short_codes().get(code, "") for code in codes]
    if "" in short:
        unknown = codes[short.index("")]
        raise InvalidRequest.of("boundary.country", f"'{unknown}' is not a code of ISO 3166-1")
    return tuple(short)


def _where(params: Forward) -> dict[str, Any]:
    focus = _pair(params.focus_lon, params.focus_lat, "focus.point")
    rect = [params.min_lon, params.min_lat, params.max_lon, params.max_lat]
    bbox: Bbox | None = None
    if any(value is not None for value in rect):
        if None in rect:
            raise InvalidRequest.of("boundary.rect", "needs min_lat, min_lon, max_lat and max_lon")
        bbox = Bbox(*(value for value in rect if value is not None))
    circle = _pair(params.circle_lon, params.circle_lat, "boundary.circle")
    if circle is not None and bbox is None:
        bbox = _box_around(circle, params.circle_km)
    layers: dict[library.ForwardLayer, None] = {}
    for layer in params.layers:
        names: dict[str, library.ForwardLayer] = {
            "venue": "poi", "address": "address", "street": "street", "postalcode": "postcode",
        }  # fmt: skip
        layers[names.get(layer, "admin")] = None
    return {
        "focus": focus, "bbox": bbox, "country_code": _countries(params),
        "lang": _languages(params.lang), "layer": tuple(layers), "areas": True,
    }  # fmt: skip


def _box_around(at: Position, radius_km: float) -> Bbox:
    height = radius_km / _KM_PER_DEG
    width = min(180.0, height / max(0.01, math.cos(math.radians(at.lat))))
    return Bbox(
        max(-180.0, at.lon - width), max(-90.0, at.lat - height),
        min(180.0, at.lon + width), min(90.0, at.lat + height),
    )  # fmt: skip


def _pair(lon: float | None, lat: float | None, name: str) -> Position | None:
    if (lon is None) != (lat is None):
        raise InvalidRequest.of(f"{name}.lat", "and lon are given together or not at all")
    return None if lon is None or lat is None else Position(lon, lat)


def _layer_of(properties: dict[str, Any]) -> str:
    category = properties.get("category")
    if properties.get("house_number") and not properties.get("name"):
        return "address"
    if category == "highway":
        return "street"
    if category == "place" and properties.get("subcategory") == "postcode":
        return "postalcode"
    if category not in ("place", "boundary") or properties.get("house_number"):
        return "venue"
    if areas := properties.get("areas"):
        return _layer_of_area(areas[-1])
    rank = places.find_rank(properties)
    return next((name for most, name in _LAYERS_BY_RANK if rank <= most), "neighbourhood")


def _is_wanted(layer: str, params: Common) -> bool:
    wanted = set(params.layers)
    return not wanted or layer in wanted or ("coarse" in wanted and layer in _COARSE)


def _layer_of_area(area: Area) -> str:
    kind, level = area.get("place", ""), area.get("admin_level", 0)
    return _LAYERS_BY_KIND.get(kind) or _LAYERS_BY_LEVEL.get(level, "neighbourhood")


def _find_areas(properties: dict[str, Any]) -> dict[str, str | None]:
    """Return the areas around a place by their layer, with gid and code."""
    own = (properties.get("osm_type"), properties.get("osm_id"))
    found: dict[str, str | None] = {}
    for area in properties.get("areas") or ():
        layer = _layer_of_area(area)
        if layer == "locality" and layer in found and own != (area["osm_type"], area["osm_id"]):
            continue  # a hamlet of a town
        found[layer] = area["name"]
        found[f"{layer}_gid"] = f"openstreetmap:{layer}:{area['osm_type']}/{area['osm_id']}"
        if layer == "region" and "iso3166_2" in area:
            found["region_a"] = area["iso3166_2"].partition("-")[2]
    return found


def _match_type(properties: dict[str, Any]) -> str:
    if properties.get("interpolated"):
        return "interpolated"
    return "fallback" if (properties.get("match") or {}).get("unmatched") else "exact"


def _confidence(properties: dict[str, Any]) -> float | None:
    """Return how sure a result is: of its words, or by its distance in steps."""
    if "distance_m" in properties:
        distance_m = properties["distance_m"]
        return next((sure for most_m, sure in _SURE_WITHIN_M if distance_m < most_m), 0.5)
    found: float | None = properties.get("confidence", properties.get("score"))
    return found


def _answer(
    ctx: Context,
    found: list[Feature],
    params: Common,
    query: dict[str, Any],
    *,
    says_match: bool = False,
) -> Answer:
    kept = [f for f in found if _is_wanted(_layer_of(f["properties"]), params)]
    kept = kept[: min(params.size, _MOST)]
    boxes = [places.find_box(feature) for feature in kept]
    features, long_codes = [], read_long_codes()
    for feature, box in zip(kept, boxes, strict=True):
        ours = feature["properties"]
        layer = _layer_of(ours)
        source_id = f"{ours['osm_type']}/{ours['osm_id']}" if ours.get("osm_id") else ""
        properties = {
            "id": source_id,
            "gid": f"openstreetmap:{layer}:{source_id}",
            "layer": layer,
            "source": "openstreetmap",
            "source_id": source_id,
            "country_code": ours.get("country_code"),
            "name": ours.get("name") or ours["display_name"].partition(",")[0],
            "housenumber": ours.get("house_number"),
            "street": ours.get("street"),
            "postalcode": ours.get("postcode"),
            "confidence": _confidence(ours),
            "distance": round(ours["distance_m"] / 1_000, 3) if "distance_m" in ours else None,
            "match_type": _match_type(ours) if says_match else None,
            "accuracy": "centroid" if layer in _COARSE or layer == "street" else "point",
            "country": ours.get("country"),
            "country_a": long_codes.get(str(ours.get("country_code"))),
            "region": ours.get("state"),
            "county": ours.get("county"),
            "locality": ours.get("city"),
            "neighbourhood": ours.get("suburb"),
            "label": ours["display_name"],
            **_find_areas(ours),
        }
        written: Feature = {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": feature["geometry"]["coordinates"]},
            "properties": {key: value for key, value in properties.items() if value is not None},
        }
        if "bbox" in feature:
            written["bbox"] = list(box)
        features.append(written)
    body: dict[str, Any] = {
        "geocoding": {
            "version": "0.2",
            "attribution": ATTRIBUTION,
            "query": {**query, "size": min(params.size, _MOST)},
            "engine": {"name": "Mapyard", "author": "Mapyard", "version": __version__},
            "timestamp": int(time.time() * 1_000),
        },
        "type": "FeatureCollection",
        "features": features,
    }
    if boxes:
        west, south, east, north = zip(*boxes, strict=True)
        body["bbox"] = [min(west), min(south), max(east), max(north)]
    return Answer.json(body, JSON)
