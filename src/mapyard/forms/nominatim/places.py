"""Our places as Nominatim describes them: one mapping each, whatever they are written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import shapely
from shapely.geometry import mapping

from mapyard.forms import places
from mapyard.forms.nominatim.params import Shown
from mapyard.geocoding.answer.answers import Area
from mapyard.library.call import Call
from mapyard.osm.elements import TYPE_BY_NAME

LICENCE: Final = "Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright"
Properties = Mapping[str, Any]

#: Keys of settlements, counties and states in an address.
_SETTLEMENTS: Final = {"city", "town", "village", "hamlet", "municipality"}
_COUNTIES: Final = {"county", "state_district", "district"}
_STATES: Final = {"state", "province", "region"}
#: Keys of boundaries without a kind of place, by their level.
_LABELS: Final = {
    3: "region", 4: "state", 5: "state_district", 6: "county", 7: "municipality", 8: "city",
    9: "city_district", 10: "suburb", 11: "neighbourhood",
}  # fmt: skip
_COUNTRY_LEVEL: Final = 2
_NAME_KEYS: Final = frozenset(
    (
        "name", "alt_name", "old_name", "official_name", "short_name", "loc_name", "int_name",
        "reg_name", "nat_name", "sorting_name", "ref", "brand", "operator",
    )
)  # fmt: skip
#: Tags of the main place that are no extra tags.
_NO_EXTRA: Final = frozenset(("type",))
#: Decimals of an outline.
_PRECISION: Final = 7


def describe(
    call: Call,
    features: Sequence[Mapping[str, Any]],
    params: Shown,
    *,
    addressdetails: bool,
    needs_ref: bool,
) -> list[dict[str, Any]]:
    """Return the members of each place: Nominatim's names, `box` and `shape` as we have them.

    `ref` is given where it is needed: in XML.
    """
    needs_tags = params.extratags or params.namedetails or needs_ref
    rows = places.find_rows(call, features) if needs_tags else [-1] * len(features)
    shapes: list[Any] = [None] * len(features)
    if params.outlines():
        shapes = places.find_shapes(call, features, params.polygon_threshold)
    found = []
    for feature, row, shape in zip(features, rows, shapes, strict=True):
        properties = feature["properties"]
        lon, lat = feature["geometry"]["coordinates"]
        tags = call.store.tags(row) if row >= 0 else {}
        rank = places.find_rank(properties)
        category, kind = _find_main_tag(call, properties)
        place: dict[str, Any] = {
            "place_id": places.find_place_id(properties, lon, lat),
            "osm_type": properties.get("osm_type"),
            "osm_id": properties.get("osm_id"),
            "lat": lat,
            "lon": lon,
            "category": category,
            "type": kind,
            "place_rank": rank,
            "importance": properties.get("score", 0.0),
            "addresstype": find_address_type(properties, category, kind),
            "name": properties.get("name") or properties.get("street", "") if rank != 30
            else properties.get("name", ""),
            "display_name": properties["display_name"],
            "ref": tags.get("ref", ""),
            "box": places.find_box(feature),
            "shape": shape,
        }  # fmt: skip
        if addressdetails:
            place["address"] = find_address(properties, category, kind)
            place["levels"] = find_levels(properties)
        if params.extratags:
            place["extratags"] = {
                key: value
                for key, value in tags.items()
                if key not in _NO_EXTRA and key != category
                and not is_name(key) and not key.startswith("addr:")
            } or None  # fmt: skip
        if params.namedetails:
            place["namedetails"] = {k: v for k, v in tags.items() if is_name(k)} or None
        found.append(place)
    return found


def _find_main_tag(call: Call, properties: Properties) -> tuple[str, str]:
    """Return key and value of what a place is there: boundaries and buildings by these tags."""
    if places.is_boundary(properties):
        return "boundary", "administrative"
    category = str(properties.get("category") or "place")
    kind = str(properties.get("subcategory") or "yes")
    if (category, kind) == ("place", "house") and properties.get("osm_type") in TYPE_BY_NAME:
        row = call.store.find_row(TYPE_BY_NAME[properties["osm_type"]], properties["osm_id"])
        building = call.store.tags(row).get("building") if row >= 0 else None
        if building:
            return "building", building
    return category, kind


def find_address_type(properties: Properties, category: str, kind: str) -> str:
    """Return the part of an address that a place with a main tag is."""
    areas = properties.get("areas")
    if is_area(properties):
        return label_area(areas[-1]) if areas else str(properties.get("subcategory") or "place")
    if category == "highway":
        return "road"
    return kind if (category, kind) == ("place", "postcode") else category


def is_area(properties: Properties) -> bool:
    """Return whether a place is one that others lie in."""
    return (
        properties.get("category") in ("place", "boundary")
        and not properties.get("house_number")
        and properties.get("subcategory") not in ("house", "postcode")
    )


def label_area(area: Area) -> str:
    """Return the key of an area in an address: its kind of place, else that of its level."""
    level = area.get("admin_level", 0)
    if level == _COUNTRY_LEVEL:
        return "country"
    return area.get("place") or _LABELS.get(level, "administrative")


def find_address(properties: Properties, category: str, kind: str) -> dict[str, str]:
    """Return the parts of an address in Nominatim's names and order, small to large.

    `category` and `kind` are the main tag of the place, under which its name stands.
    """
    parts: dict[str, str] = {}

    def put(key: str, value: Any) -> None:
        if value and key not in parts:
            parts[key] = str(value)

    name = properties.get("name")
    if name and properties.get("category") not in (None, "highway") and not is_area(properties):
        put(category if category != "place" else kind, name)
    put("house_number", properties.get("house_number"))
    put("road", properties.get("street") or (name if category == "highway" else None))
    country = properties.get("country")
    for area in reversed(properties.get("areas") or ()):
        label = label_area(area)
        if label == "country":
            country = area["name"]
            continue
        put(label, area["name"])
        put(f"ISO3166-2-lvl{area.get('admin_level')}", area.get("iso3166_2"))
    # What is written in addresses alone, without an area of that name.
    if not _SETTLEMENTS & set(parts):
        put("city", properties.get("city"))
    put("county", properties.get("county") if not _COUNTIES & set(parts) else None)
    put("state", properties.get("state") if not _STATES & set(parts) else None)
    put("postcode", properties.get("postcode"))
    put("country", country)
    put("country_code", str(properties.get("country_code") or "").lower())
    return parts


def find_levels(properties: Properties) -> dict[str, str]:
    """Return the names of the boundaries around a place by their level: level2, level8, …."""
    return {
        f"level{area['admin_level']}": area["name"]
        for area in reversed(properties.get("areas") or ())
        if "admin_level" in area
    }


def is_name(key: str) -> bool:
    """Return whether a tag is a name."""
    return key in _NAME_KEYS or key.partition(":")[0] in _NAME_KEYS


def write_outline(shape: Any, form: str) -> Any:
    """Return an outline as GeoJSON, KML, SVG path data or WKT."""
    if form == "polygon_geojson":
        return mapping(shapely.set_precision(shape, 10**-_PRECISION, mode="pointwise"))
    if form == "polygon_text":
        return shapely.to_wkt(shape, rounding_precision=_PRECISION)
    if form == "polygon_svg":
        return _write_svg(shape)
    return _write_kml(shape)


def _parts(shape: Any) -> list[Any]:
    return list(getattr(shape, "geoms", [shape]))


def _pairs(ring: Any, template: str, joint: str) -> str:
    return joint.join(template.format(x, y) for x, y in ring.coords)


def _write_svg(shape: Any) -> str:
    if shape.geom_type == "Point":
        return f'cx="{shape.x:g}" cy="{-shape.y:g}"'
    paths = []
    for part in _parts(shape):
        rings = [part.exterior, *part.interiors] if part.geom_type == "Polygon" else [part]
        for ring in rings:
            (x, y), *rest = [(x, -y) for x, y in ring.coords]
            line = " ".join(f"{px:.7g} {py:.7g}" for px, py in rest)
            end = " Z" if part.geom_type == "Polygon" else ""
            paths.append(f"M {x:.7g} {y:.7g} L {line}{end}")
    return " ".join(paths)


def _write_kml(shape: Any) -> str:
    def one(part: Any) -> str:
        if part.geom_type == "Point":
            return f"<Point><coordinates>{part.x:.7f},{part.y:.7f}</coordinates></Point>"
        if part.geom_type != "Polygon":
            line = _pairs(part, "{:.7f},{:.7f}", " ")
            return f"<LineString><coordinates>{line}</coordinates></LineString>"
        rings = []
        for name, ring in [("outer", part.exterior), *(("inner", r) for r in part.interiors)]:
            line = _pairs(ring, "{:.7f},{:.7f}", " ")
            ring_text = f"<LinearRing><coordinates>{line}</coordinates></LinearRing>"
            rings.append(f"<{name}BoundaryIs>{ring_text}</{name}BoundaryIs>")
        return f"<Polygon>{''.join(rings)}</Polygon>"

    parts = [one(part) for part in _parts(shape)]
    return parts[0] if len(parts) == 1 else f"<MultiGeometry>{''.join(parts)}</MultiGeometry>"
