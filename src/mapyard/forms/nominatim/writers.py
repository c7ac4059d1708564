"""The five forms of Nominatim's answers: json, jsonv2, geojson, geocodejson, xml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Any, Final
from urllib.parse import parse_qs
from xml.etree import ElementTree as ET

import orjson

from mapyard.errors import MapyardError
from mapyard.forms.nominatim.params import Shown
from mapyard.forms.nominatim.places import LICENCE, write_outline
from mapyard.http.answer import Answer
from mapyard.http.endpoints import Asked

JSON: Final = "application/json; charset=utf-8"
JAVASCRIPT: Final = "application/javascript; charset=utf-8"
XML: Final = "text/xml; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
Place = dict[str, Any]
_DETAILS: Final = ("address", "extratags", "namedetails")
_NOTHING: Final = "Unable to geocode"
#: Keys of an address for each part in geocodejson.
_CITIES: Final = ("city", "town", "village", "municipality")
_DISTRICTS: Final = ("city_district", "borough", "suburb", "district")
_LOCALITIES: Final = ("neighbourhood", "quarter", "allotments", "city_block")
#: Members of a place in XML that reverse search does not have.
_OF_LISTS: Final = ("class", "type", "importance")


def answer_list(
    found: Sequence[Place], params: Shown, form: str, query: str, more_url: str = ""
) -> Answer:
    """Return the answer of a search, with the address that asks for more places, or of a lookup."""
    if form == "xml":
        root = ET.Element("searchresults", _root(query))
        root.set("polygon", "true" if params.outlines() else "false")
        if more_url and found:
            ids = ",".join(_name_place(place) for place in found)
            root.set("exclude_place_ids", ids)
            root.set("more_url", f"{more_url}&exclude_place_ids={ids}")
        for place in found:
            _add_result(ET.SubElement(root, "place"), place, params)
        return _xml(root)
    if form == "geojson":
        return answer_value(_geojson(found, params), params)
    if form == "geocodejson":
        return answer_value(_geocodejson(found, params, query), params)
    return answer_value([_plain(place, params, form) for place in found], params)


def answer_one(found: Sequence[Place], params: Shown, form: str, query: str) -> Answer:
    """Return the answer of a reverse search: one place, or the words that there is none."""
    if form == "xml":
        root = ET.Element("reversegeocode", _root(query))
        if not found:
            ET.SubElement(root, "error").text = _NOTHING
        for place in found[:1]:
            result = ET.SubElement(root, "result")
            _add_result(result, place, params, outside=root)
            result.text = result.attrib.pop("display_name")
            for name in _OF_LISTS:
                del result.attrib[name]
        return _xml(root)
    if not found:
        return answer_value({"error": _NOTHING}, params)
    if form == "geojson":
        return answer_value(_geojson(found[:1], params), params)
    if form == "geocodejson":
        return answer_value(_geocodejson(found[:1], params, query), params)
    return answer_value(_plain(found[0], params, form), params)


def write_error(error: MapyardError, asked: Asked) -> Answer:
    """Return an error as Nominatim writes it: JSON, XML or, where no form was asked for, text."""
    form = parse_qs(asked.query.decode("utf-8", "replace")).get("format", [""])[-1]
    status = error.status
    if form == "xml":
        root = ET.Element("error")
        ET.SubElement(root, "code").text = str(status)
        ET.SubElement(root, "message").text = error.message
        return Answer(_xml(root).body, XML, status, headers=error.headers)
    inner = {"code": status, "message": error.message}
    return Answer(orjson.dumps({"error": inner}), JSON, status, headers=error.headers)


def _root(query: str) -> dict[str, str]:
    return {
        "timestamp": formatdate(usegmt=True), "attribution": LICENCE, "querystring": query,
    }  # fmt: skip


def _name_place(place: Place) -> str:
    """Return what leaves a place out of the next search: N, W or R and the id, else place_id."""
    kind = place["osm_type"]
    return f"{kind[0].upper()}{place['osm_id']}" if kind else str(place["place_id"])


def _box(place: Place) -> list[str]:
    west, south, east, north = place["box"]
    return [f"{value:.7f}" for value in (south, north, west, east)]


def _plain(place: Place, params: Shown, form: str) -> dict[str, Any]:
    written: dict[str, Any] = {
        "place_id": place["place_id"],
        "licence": LICENCE,
        "osm_type": place["osm_type"],
        "osm_id": place["osm_id"],
        "lat": f"{place['lat']:.7f}",
        "lon": f"{place['lon']:.7f}",
        "category" if form == "jsonv2" else "class": place["category"],
        "type": place["type"],
        "place_rank": place["place_rank"],
        "importance": place["importance"],
        "addresstype": place["addresstype"],
        "name": place["name"],
        "display_name": place["display_name"],
        **{name: place[name] for name in _DETAILS if name in place},
        "boundingbox": _box(place),
    }
    if place["osm_type"] is None:
        del written["osm_type"], written["osm_id"]
    names = {
        "polygon_geojson": "geojson", "polygon_kml": "geokml", "polygon_svg": "svg",
        "polygon_text": "geotext",
    }  # fmt: skip
    for outline in params.outlines():
        written[names[outline]] = write_outline(place["shape"], outline)
    return written


def _geometry(place: Place, params: Shown) -> Any:
    if params.polygon_geojson:
        return write_outline(place["shape"], "polygon_geojson")
    return {"type": "Point", "coordinates": [place["lon"], place["lat"]]}


def _geojson(found: Sequence[Place], params: Shown) -> dict[str, Any]:
    names = (
        "place_id", "osm_type", "osm_id", "place_rank", "category", "type", "importance",
        "addresstype", "name", "display_name", *_DETAILS,
    )  # fmt: skip
    return {
        "type": "FeatureCollection",
        "licence": LICENCE,
        "features": [
            {
                "type": "Feature",
                "properties": {name: place[name] for name in names if name in place},
                "bbox": list(place["box"]),
                "geometry": _geometry(place, params),
            }
            for place in found
        ],
    }


def _geocodejson(found: Sequence[Place], params: Shown, query: str) -> dict[str, Any]:
    features = []
    for place in found:
        address: Mapping[str, str] = place.get("address") or {}
        settlement = find_first(address, (*_CITIES, "hamlet"))
        inner: dict[str, Any] = {
            "place_id": place["place_id"],
            "osm_type": place["osm_type"],
            "osm_id": place["osm_id"],
            "osm_key": place["category"],
            "osm_value": place["type"],
            "type": _layer_of(place),
            "label": place["display_name"],
            "name": place["name"] or None,
            "housenumber": address.get("house_number"),
            "street": address.get("road"),
            "locality": find_first(address, _LOCALITIES),
            "district": find_first(address, _DISTRICTS),
            "postcode": address.get("postcode"),
            "city": settlement,
            "county": address.get("county"),
            "state": address.get("state"),
            "country": address.get("country"),
            "country_code": address.get("country_code"),
            "admin": place.get("levels") or None,
        }
        inner = {name: value for name, value in inner.items() if value is not None}
        if place.get("extratags"):
            inner["extra"] = place["extratags"]
        features.append(
            {
                "type": "Feature",
                "properties": {"geocoding": inner},
                "geometry": _geometry(place, params),
            }
        )
    return {
        "type": "FeatureCollection",
        "geocoding": {
            "version": "0.1.0",
            "attribution": LICENCE,
            "licence": "ODbL",
            "query": query,
        },
        "features": features,
    }


def find_first(address: Mapping[str, str], keys: Sequence[str]) -> str | None:
    """Return the first part of an address that there is."""
    return next((address[key] for key in keys if key in address), None)


def _layer_of(place: Place) -> str:
    if place["addresstype"] in _CITIES:
        return "city"
    rank: int = place["place_rank"]
    levels = (
        (4, "country"), (9, "state"), (12, "county"), (16, "city"), (21, "district"),
        (25, "locality"), (27, "street"),
    )  # fmt: skip
    return next((name for most, name in levels if rank <= most), "house")


def _add_result(
    element: ET.Element, place: Place, params: Shown, outside: ET.Element | None = None
) -> None:
    """Write a place; what has elements of its own goes into it, or into `outside`."""
    parent = element if outside is None else outside
    element.attrib.update(
        {
            "place_id": str(place["place_id"]),
            "osm_type": str(place["osm_type"] or ""),
            "osm_id": str(place["osm_id"] or ""),
            "ref": place["ref"] or place["name"],
            "lat": f"{place['lat']:.7f}",
            "lon": f"{place['lon']:.7f}",
            "boundingbox": ",".join(_box(place)),
            "place_rank": str(place["place_rank"]),
            "address_rank": str(place["place_rank"]),
            "display_name": place["display_name"],
            "class": place["category"],
            "type": place["type"],
            "importance": str(place["importance"]),
        }
    )
    if place["osm_type"] is None:
        del element.attrib["osm_type"], element.attrib["osm_id"]
    if not element.attrib["ref"]:
        del element.attrib["ref"]
    for outline in params.outlines():
        name = {
            "polygon_geojson": "geojson", "polygon_svg": "geosvg", "polygon_text": "geotext",
        }.get(outline)  # fmt: skip
        written = write_outline(place["shape"], outline)
        if name is None:
            ET.SubElement(parent, "geokml").append(ET.fromstring(written))  # noqa: S314 - our own
        elif name == "geojson":
            element.set(name, orjson.dumps(written).decode())
        else:
            element.set(name, written)
    if place.get("address"):
        inner = element if outside is None else ET.SubElement(outside, "addressparts")
        for key, value in place["address"].items():
            ET.SubElement(inner, key).text = value
    for member in ("extratags", "namedetails"):
        if place.get(member):
            box = ET.SubElement(parent, member)
            for key, value in place[member].items():
                if member == "extratags":
                    ET.SubElement(box, "tag", {"key": key, "value": value})
                else:
                    base, _, lang = key.partition(":")
                    ET.SubElement(box, "name", {"desc": base + (f":{lang}" if lang else "")})
                    box[-1].text = value


def _xml(root: ET.Element) -> Answer:
    return Answer(ET.tostring(root, encoding="UTF-8", xml_declaration=True), XML)


def answer_value(value: Any, params: Shown) -> Answer:
    """Return a value as JSON, within `json_callback` if there is one."""
    body = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    if params.json_callback:
        return Answer(b"%s(%s)" % (params.json_callback.encode(), body), JAVASCRIPT)
    return Answer(body, JSON)
