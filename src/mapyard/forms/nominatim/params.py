"""Nominatim's parameters, and what they mean for our questions."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from mapyard.errors import InvalidRequest
from mapyard.geo.bbox import Bbox
from mapyard.params.parser import Params, spelled

MAX_LIMIT: Final = 40
Format = Literal["xml", "json", "jsonv2", "geojson", "geocodejson"]
FormatField = Annotated[Format, Meta(description="form of the answer")]
LAYERS: Final = ("address", "poi", "railway", "natural", "manmade")

REFUSED: Final = {
    "debug": "the steps of a search are not shown in this form; leave it out",
    "entrances": "entrances are not listed; leave it out",
}


class Shown(Params, kw_only=True):
    """How places are written; all calls have these."""

    addressdetails: Annotated[
        bool | None, Meta(description="1: the address in its parts (reverse and lookup: default)")
    ] = None
    extratags: Annotated[bool, Meta(description="1: further tags of the element")] = False
    namedetails: Annotated[bool, Meta(description="1: all names of the element")] = False
    accept_language: Annotated[
        str, spelled("languages of names, as in the header", "accept-language", max_length=500)
    ] = ""
    layer: Annotated[
        tuple[Literal["address", "poi", "railway", "natural", "manmade"], ...],
        Meta(description="kinds of places, one or several, comma-separated"),
    ] = ()
    polygon_geojson: Annotated[bool, Meta(description="1: the outline as GeoJSON")] = False
    polygon_kml: Annotated[bool, Meta(description="1: the outline as KML")] = False
    polygon_svg: Annotated[bool, Meta(description="1: the outline as an SVG path")] = False
    polygon_text: Annotated[bool, Meta(description="1: the outline as WKT")] = False
    polygon_threshold: Annotated[
        float, Meta(ge=0, le=90, description="how far a simplified outline may be off, degrees")
    ] = 0.0
    json_callback: Annotated[
        str, Meta(pattern=r"^([A-Za-z_$][\w$.]*)?$", max_length=100, description="JSONP")
    ] = ""
    email: Annotated[str, Meta(description="of the operator of the client; not looked at")] = ""

    def __post_init__(self) -> None:
        """Check that one form of outlines is asked for at most."""
        if len(self.outlines()) > 1:
            raise InvalidRequest(f"send one of {' and '.join(self.outlines())}, not several")

    def outlines(self) -> list[str]:
        """Return the names of the forms of outlines that are asked for."""
        names = ("polygon_geojson", "polygon_kml", "polygon_svg", "polygon_text")
        return [name for name in names if getattr(self, name)]


class Search(Shown, kw_only=True):
    """What is looked for."""

    q: Annotated[str, Meta(max_length=2_000, description="free text")] = ""
    amenity: Annotated[str, Meta(max_length=500, description="name or kind of a thing")] = ""
    street: Annotated[str, Meta(max_length=500, description="house number and street")] = ""
    city: Annotated[str, Meta(max_length=500, description="town or village")] = ""
    county: Annotated[str, Meta(max_length=500, description="county")] = ""
    state: Annotated[str, Meta(max_length=500, description="state")] = ""
    country: Annotated[str, Meta(max_length=500, description="name or code of the country")] = ""
    postalcode: Annotated[str, Meta(max_length=100, description="postcode")] = ""
    format: FormatField = "jsonv2"
    limit: Annotated[int, Meta(ge=1, description="at most 40; more is taken for 40")] = 10
    countrycodes: Annotated[
        tuple[Annotated[str, Meta(pattern="^[A-Za-z]{2}$")], ...], Meta(description="ISO 3166-1")
    ] = ()
    feature_type: Annotated[
        Literal["country", "state", "city", "settlement"] | None,
        spelled("places of this kind only", "featureType", "featuretype"),
    ] = None
    viewbox: Annotated[str, Meta(max_length=200, description="x1,y1,x2,y2: lon and lat")] = ""
    bounded: Annotated[bool, Meta(description="1: only what is inside of viewbox")] = False
    exclude_place_ids: Annotated[
        tuple[str, ...], Meta(max_length=200, description="place_id or N123, W123, R123")
    ] = ()
    dedupe: Annotated[bool, Meta(description="0: not offered; the same place comes once")] = True

    @property
    def parts(self) -> dict[str, str]:
        """The parts of a structured query that are given."""
        names = ("amenity", "street", "city", "county", "state", "country", "postalcode")
        return {name: getattr(self, name) for name in names if getattr(self, name).strip()}


class Reverse(Shown, kw_only=True):
    """Where to look."""

    lat: Annotated[float, Meta(ge=-90, le=90, description="degrees")]
    lon: Annotated[float, spelled("degrees", "lng", ge=-180, le=180)]
    zoom: Annotated[
        int, Meta(ge=0, le=18, description="3 country, 10 city, 16 street, 18 house")
    ] = 18
    format: FormatField = "xml"


class Lookup(Shown, kw_only=True):
    """Which elements."""

    osm_ids: Annotated[
        tuple[str, ...],
        Meta(min_length=1, max_length=50, description="N107775,W5013364,R62422"),
    ]
    format: FormatField = "xml"


class Status(Params, kw_only=True):
    """How the state is written."""

    format: Annotated[Literal["text", "json"], Meta(description="form of the answer")] = "text"


def read_viewbox(text: str) -> Bbox | None:
    """Return the box of two corners in any order."""
    if not text.strip():
        return None
    try:
        x1, y1, x2, y2 = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest.of("viewbox", "must be four numbers: x1,y1,x2,y2") from None
    west, east = sorted((x1, x2))
    south, north = sorted((y1, y2))
    if west < -180 or east > 180 or south < -90 or north > 90:
        raise InvalidRequest.of("viewbox", "must lie within 180 and 90 degrees: lon,lat,lon,lat")
    return Bbox(west, south, east, north)


def read_element(text: str) -> tuple[str, int]:
    """Return type and id of N123, W123 or R123."""
    kind = {"N": "node", "W": "way", "R": "relation"}.get(text[:1].upper())
    if kind is None or not text[1:].isdigit():
        raise InvalidRequest.of("osm_ids", f"'{text[:40]}' is not an element; write N1, W2 or R3")
    return kind, int(text[1:])


def read_languages(parameter: str, header: str) -> tuple[str, ...]:
    """Return languages by preference, of the parameter or else of the header Accept-Language."""
    weighted = []
    for place, entry in enumerate((parameter or header)[:500].split(",")):
        name, _, options = entry.strip().partition(";")
        quality = 1.0
        if options.strip().startswith("q="):
            try:
                quality = float(options.strip()[2:])
            except ValueError:
                quality = 0.0
        if name and name != "*" and name.replace("-", "").replace("_", "").isalnum() and quality:
            weighted.append((-quality, place, name))
    return tuple(name for _, _, name in sorted(weighted))[:10]
