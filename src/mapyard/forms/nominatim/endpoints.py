"""Nominatim's calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from mapyard.errors import InvalidRequest
from mapyard.forms import places
from mapyard.forms.elements import find_element
from mapyard.forms.nominatim.params import (
    MAX_LIMIT,
    REFUSED,
    Lookup,
    Reverse,
    Search,
    Shown,
    Status,
    read_element,
    read_languages,
    read_viewbox,
)
from mapyard.forms.nominatim.places import describe
from mapyard.forms.nominatim.writers import JSON, XML, answer_list, answer_one, write_error
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.library.questions import geocoding as library
from mapyard.params.parser import Position
from mapyard.version import __version__

Feature = dict[str, Any]
_TAG: Final = "Nominatim"
#: Parameters of a search that its more_url does not repeat; a key never goes into an answer.
_NOT_IN_MORE: Final = ("exclude_place_ids", "api_key", "key")
#: How far a place may be, meters: where zoom asks for streets or houses, as there.
_RADIUS_M: Final = 1_000.0
#: Ranks of what `featureType` asks for, least and most.
_RANKS_OF_TYPE: Final = {
    "country": (4, 4), "state": (5, 9), "city": (10, 18), "settlement": (4, 25),
}  # fmt: skip
#: Our layers that hold what is in each of Nominatim's.
_REVERSE_LAYERS: Final[dict[str, tuple[library.ReverseLayer, ...]]] = {
    "address": ("house", "street", "admin"), "poi": ("poi",), "railway": ("poi",),
    "natural": ("natural",), "manmade": ("poi",),
}  # fmt: skip


@endpoint(
    "/nominatim/search",
    aliases=("/nominatim/search.php",),
    summary="Search as of Nominatim",
    tag=_TAG,
    languages=True,
    refused=REFUSED,
    media_types=(JSON, XML),
    write_error=write_error,
    examples=[Example({"q": "Rue Grimaldi, Monaco", "format": "jsonv2", "limit": 1})],
)
def search(ctx: Context, params: Search) -> Answer:
    """Find places by free text `q` or by parts of an address.

    Results are ours: typing errors are borne, and `importance` is our score.
    """
    if params.q.strip() and params.parts:
        named = ", ".join(params.parts)
        raise InvalidRequest(f"send q or parts of an address, not both: {named} beside q")
    if not params.q.strip() and not params.parts:
        raise InvalidRequest.of("q", "nothing to search for; send q, or parts of an address")
    excluded = {text.strip().upper() for text in params.exclude_place_ids}
    limit = min(params.limit, MAX_LIMIT)
    question = _make_question(ctx, params, min(100, 2 * limit + len(excluded)))
    found = library.geocode(ctx, question).features
    kept = [
        feature
        for feature in found
        if not _is_excluded(feature, excluded)
        and _is_of_layer(feature, params.layer)
        and _is_of_type(feature, params.feature_type)
    ]
    placed = describe(
        ctx, kept[:limit], params, addressdetails=_details(params, of_search=True),
        needs_ref=params.format == "xml",
    )  # fmt: skip
    query = params.q or ", ".join(params.parts.values())
    more_url = _write_more_url(ctx) if params.format == "xml" else ""
    return answer_list(placed, params, params.format, query, more_url)


@endpoint(
    "/nominatim/reverse",
    aliases=("/nominatim/reverse.php",),
    summary="Reverse search as of Nominatim",
    tag=_TAG,
    languages=True,
    refused=REFUSED,
    media_types=(XML, JSON),
    write_error=write_error,
    examples=[Example({"lat": 43.7384, "lon": 7.4246, "format": "jsonv2"})],
)
def reverse(ctx: Context, params: Reverse) -> Answer:
    """Find the place at a position; `zoom` says how local it is to be."""
    question = library.Reverse(
        at=Position(params.lon, params.lat),
        radius=_RADIUS_M,
        limit=20 if params.layer else 1,
        layer=tuple(name for layer in params.layer for name in _REVERSE_LAYERS[layer]),
        zoom=params.zoom,
        areas=True,
        lang=read_languages(params.accept_language, ctx.headers.get("accept-language", "")),
    )
    found = library.reverse(ctx, question).features
    found = [feature for feature in found if _is_of_layer(feature, params.layer)]
    placed = describe(
        ctx, found[:1], params, addressdetails=_details(params),
        needs_ref=params.format == "xml",
    )  # fmt: skip
    return answer_one(placed, params, params.format, f"lat={params.lat}&lon={params.lon}")


@endpoint(
    "/nominatim/lookup",
    aliases=("/nominatim/lookup.php",),
    summary="Elements as of Nominatim",
    tag=_TAG,
    languages=True,
    refused=REFUSED,
    media_types=(XML, JSON),
    write_error=write_error,
    examples=[Example({"osm_ids": "R2220322", "format": "jsonv2"})],
)
def lookup(ctx: Context, params: Lookup) -> Answer:
    """Return the address of elements by id; ids that are not in the dataset are left out."""
    langs = read_languages(params.accept_language, ctx.headers.get("accept-language", ""))
    found = []
    for text in params.osm_ids:
        ctx.deadline.check()
        feature = find_element(ctx, *read_element(text.strip()), langs)
        if feature is not None:
            found.append(feature)
    placed = describe(
        ctx, found, params, addressdetails=_details(params),
        needs_ref=params.format == "xml",
    )  # fmt: skip
    return answer_list(placed, params, params.format, ",".join(params.osm_ids))


@endpoint(
    "/nominatim/status",
    aliases=("/nominatim/status.php",),
    summary="State as of Nominatim",
    tag=_TAG,
    public=True,
    media_types=("text/plain", JSON),
    write_error=write_error,
    examples=[Example({"format": "json"})],
)
def status(ctx: Context, params: Status) -> Answer:
    """Say OK, and of when the data is."""
    if params.format == "text":
        return Answer(b"OK", "text/plain; charset=utf-8")
    state = {
        "status": 0,
        "message": "OK",
        "data_updated": ctx.snapshot.timestamp.replace("Z", "+00:00"),
        "software_version": __version__,
        "database_version": __version__,
    }
    return Answer.json(state, JSON)


def _write_more_url(ctx: Context) -> str:
    """Return the address of a search without what it left out."""
    asked = parse_qsl(ctx.query_string.decode("utf-8", "replace"), keep_blank_values=True)
    kept = [(name, value) for name, value in asked if name not in _NOT_IN_MORE]
    return f"{ctx.base_url}{ctx.path}?{urlencode(kept)}"


def _details(params: Shown, *, of_search: bool = False) -> bool:
    """Whether the address is given in parts; geocodejson always has them."""
    if params.format == "geocodejson":  # type: ignore[attr-defined] # each call has a format
        return True
    return params.addressdetails if params.addressdetails is not None else not of_search


def _make_question(ctx: Context, params: Search, limit: int) -> library.Geocode:
    layers = set(params.layer)
    ours: tuple[library.ForwardLayer, ...] = ()
    if params.feature_type is not None:
        ours = ("admin",)
    elif layers == {"address"}:
        ours = ("address", "admin")
    elif layers and "address" not in layers:
        ours = ("poi",)
    return library.Geocode(
        q=params.q,
        amenity=params.amenity,
        street=params.street,
        city=params.city,
        county=params.county,
        state=params.state,
        country=params.country,
        postcode=params.postalcode,
        country_code=params.countrycodes,
        lang=read_languages(params.accept_language, ctx.headers.get("accept-language", "")),
        layer=ours,
        bbox=read_viewbox(params.viewbox),
        bounded=params.bounded,
        limit=limit,
        areas=True,
    )


def _is_excluded(feature: Feature, excluded: set[str]) -> bool:
    if not excluded:
        return False
    properties = feature["properties"]
    lon, lat = feature["geometry"]["coordinates"]
    letter = str(properties.get("osm_type") or " ")[0].upper()
    number = str(places.find_place_id(properties, lon, lat))
    return number in excluded or f"{letter}{properties.get('osm_id')}" in excluded


def _layer_of(feature: Feature) -> str:
    properties = feature["properties"]
    category = properties.get("category")
    if category in ("place", "boundary", "highway") or properties.get("source") == "interpolation":
        return "address"
    if category == "railway":
        return "railway"
    if category in ("natural", "water", "waterway", "mountain_pass"):
        return "natural"
    return "manmade" if category in ("man_made", "bridge", "barrier", "power") else "poi"


def _is_of_layer(feature: Feature, layers: Iterable[str]) -> bool:
    wanted = tuple(layers)
    has_number = bool(feature["properties"].get("house_number"))
    return not wanted or _layer_of(feature) in wanted or (has_number and "address" in wanted)


def _is_of_type(feature: Feature, kind: str | None) -> bool:
    if kind is None:
        return True
    least, most = _RANKS_OF_TYPE[kind]
    return least <= places.find_address_rank(feature["properties"]) <= most
