"""Nominatim's /details: all that is known of one element, for looking into it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import numpy as np
import shapely
from msgspec import Meta
from shapely.geometry import mapping

from mapyard.errors import InvalidRequest, NotFound
from mapyard.forms import places
from mapyard.forms.elements import find_element
from mapyard.forms.nominatim.params import Shown, read_languages
from mapyard.forms.nominatim.places import describe, is_name
from mapyard.forms.nominatim.writers import JSON, answer_value, write_error
from mapyard.geocoding.answer.answers import Area
from mapyard.http.answer import Answer
from mapyard.http.context import Context
from mapyard.http.endpoints import Example, endpoint
from mapyard.osm.elements import TYPE_BY_NAME

_LETTERS: Final = {"N": "node", "W": "way", "R": "relation"}
_REFUSED: Final = {
    "keywords": "not served: the words of the index mean nothing outside of it",
    "hierarchy": "not served; ask /overpass/api/interpreter for what lies in an area",
    "group_hierarchy": "goes with hierarchy, which is not served",
    "postcode": "not served; ask /nominatim/search for it",
    "entrances": "not served; ask /api/v1/features for entrance=*",
}


class Details(Shown, kw_only=True):
    """Which element."""

    osmtype: Annotated[
        str | None, Meta(pattern="^[NWRnwr]$", description="N, W or R, with osmid")
    ] = None
    osmid: Annotated[int | None, Meta(ge=1, le=2**53, description="id of the element")] = None
    osmclass: Annotated[str, Meta(max_length=100, description="not looked at")] = ""
    place_id: Annotated[
        int | None, Meta(ge=1, le=2**53, description="as other answers have it, of an element")
    ] = None
    linkedplaces: Annotated[bool, Meta(description="not looked at: a place is one here")] = True
    format: Annotated[Literal["json"], Meta(description="json is all there is")] = "json"


@endpoint(
    "/nominatim/details",
    aliases=("/nominatim/details.php",),
    summary="One element in full as of Nominatim",
    tag="Nominatim",
    languages=True,
    refused=_REFUSED,
    media_types=(JSON,),
    write_error=write_error,
    examples=[Example({"osmtype": "R", "osmid": 2220322, "addressdetails": 1})],
)
def details(ctx: Context, params: Details) -> Answer:
    """Return names, tags, ranks and place of an element, with the areas around on request."""
    kind, osm_id = _read_id(params)
    langs = read_languages(params.accept_language, ctx.headers.get("accept-language", ""))
    feature = find_element(ctx, kind, osm_id, langs)
    if feature is None:
        raise NotFound("no place with that OSM ID found")
    (place,) = describe(ctx, [feature], params, addressdetails=False, needs_ref=False)
    row = ctx.store.find_row(TYPE_BY_NAME[kind], osm_id)
    tags, shape = ctx.store.tags(row), ctx.store.geometries(np.array([row]))[0]
    properties = feature["properties"]
    point = mapping(shapely.Point(place["lon"], place["lat"]))
    level = tags.get("admin_level", "")
    body: dict[str, Any] = {
        "place_id": place["place_id"],
        "osm_type": kind[0].upper(),
        "osm_id": osm_id,
        "category": place["category"],
        "type": place["type"],
        "admin_level": int(level) if level.isdigit() else 15,
        "localname": place["name"],
        "names": {key: value for key, value in tags.items() if is_name(key)},
        "addresstags": {
            key.removeprefix("addr:"): value
            for key, value in tags.items()
            if key.startswith("addr:")
        },
        "housenumber": properties.get("house_number"),
        "calculated_postcode": properties.get("postcode"),
        "country_code": str(properties.get("country_code") or "").lower() or None,
        "indexed_date": ctx.snapshot.manifest.created,
        "importance": place["importance"],
        "calculated_importance": place["importance"],
        "extratags": {
            key: value
            for key, value in tags.items()
            if not is_name(key) and not key.startswith("addr:") and key != place["category"]
        },
        "calculated_wikipedia": tags.get("wikipedia"),
        "rank_address": places.find_address_rank(properties),
        "rank_search": place["place_rank"],
        "isarea": shape.geom_type in ("Polygon", "MultiPolygon"),
        "centroid": point,
        "geometry": mapping(shape) if params.polygon_geojson else point,
    }
    body = {name: value for name, value in body.items() if value is not None}
    if params.addressdetails:
        around = reversed(properties.get("areas") or ())
        body["address"] = [_write_area(area) for area in around]
    return answer_value(body, params)


def _read_id(params: Details) -> tuple[str, int]:
    if params.osmtype and params.osmid is not None:
        return _LETTERS[params.osmtype.upper()], params.osmid
    if params.place_id is None:
        raise InvalidRequest("send osmtype and osmid, or place_id")
    found = places.read_place_id(params.place_id)
    if found is None:
        raise NotFound("no place with that place ID found")
    return found


def _write_area(area: Area) -> dict[str, Any]:
    kind = area.get("place")
    is_boundary = "admin_level" in area
    return {
        "localname": area["name"],
        "place_id": places.make_place_id(area["osm_type"], area["osm_id"]),
        "osm_id": area["osm_id"],
        "osm_type": area["osm_type"][0].upper(),
        "place_type": kind,
        "class": "boundary" if is_boundary else "place",
        "type": "administrative" if is_boundary else kind,
        "admin_level": area.get("admin_level", 15),
        "rank_address": places.find_area_rank(area),
        "distance": 0,
        "isaddress": True,
    }
