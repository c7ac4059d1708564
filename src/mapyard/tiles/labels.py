"""The labels of the map styles: places, water, streets, points of interest, in drawing order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from mapyard.tiles.palette import Palette

Layer = dict[str, Any]
REGULAR: Final = ["Noto Sans Regular"]
BOLD: Final = ["Noto Sans Bold"]
ITALIC: Final = ["Noto Sans Italic"]

#: Value of a key → icon; the first key of a point that is listed counts.
_ICONS: Final[dict[str, dict[str, str]]] = {
    "amenity": {
        "restaurant": "restaurant", "food_court": "restaurant", "cafe": "cafe",
        "fast_food": "fast-food", "bar": "bar", "nightclub": "bar", "pub": "beer",
        "biergarten": "beer", "hospital": "hospital", "clinic": "hospital", "doctors": "doctor",
        "dentist": "dentist", "pharmacy": "pharmacy", "veterinary": "veterinary",
        "nursing_home": "doctor", "fire_station": "fire-station", "police": "police",
        "post_office": "post", "post_box": "post", "bank": "bank", "atm": "bank",
        "townhall": "town-hall", "courthouse": "town-hall", "public_building": "building",
        "community_centre": "building", "embassy": "embassy", "prison": "prison",
        "school": "school", "college": "college", "university": "college", "library": "library",
        "theatre": "theatre", "arts_centre": "art-gallery", "cinema": "cinema",
        "place_of_worship": "place-of-worship", "grave_yard": "cemetery", "fuel": "fuel",
        "car_rental": "car-rental", "car_sharing": "car-rental", "car_wash": "car-rental",
        "bicycle_rental": "bicycle-share", "marketplace": "grocery", "shelter": "shelter",
        "hunting_stand": "viewpoint", "toilets": "toilet", "drinking_water": "drinking-water",
        "fountain": "water", "telephone": "telephone", "recycling": "recycling",
        "waste_basket": "waste-basket", "vending_machine": "shop",
    },
    "tourism": {
        "hotel": "lodging", "motel": "lodging", "hostel": "lodging", "guest_house": "lodging",
        "bed_and_breakfast": "lodging", "chalet": "lodging", "alpine_hut": "shelter",
        "camp_site": "campsite", "caravan_site": "campsite", "picnic_site": "picnic-site",
        "viewpoint": "viewpoint", "artwork": "art-gallery", "information": "information",
        "theme_park": "amusement-park", "zoo": "zoo",
    },
    "leisure": {
        "park": "park", "playground": "playground", "golf_course": "golf", "stadium": "stadium",
        "sports_centre": "fitness-centre", "swimming_pool": "swimming", "water_park": "swimming",
        "dog_park": "dog-park", "ice_rink": "skiing", "pitch": "pitch",
    },
    "shop": {
        "supermarket": "grocery", "convenience": "convenience", "department_store": "commercial",
        "mall": "commercial", "bakery": "bakery", "alcohol": "alcohol-shop",
        "beverages": "alcohol-shop", "clothes": "clothing-store", "hairdresser": "hairdresser",
        "beauty": "hairdresser", "jewelry": "jewelry-store", "florist": "florist",
        "furniture": "furniture", "garden_centre": "garden-centre", "gift": "gift",
        "toys": "gift", "hardware": "hardware", "doityourself": "hardware",
        "laundry": "laundry", "dry_cleaning": "laundry", "mobile_phone": "mobile-phone",
        "optician": "optician", "shoes": "shoe", "bicycle": "bicycle", "car": "car",
        "travel_agency": "suitcase", "chemist": "pharmacy",
    },
    "historic": {
        "castle": "castle", "fort": "castle", "monument": "monument", "memorial": "monument",
        "ruins": "historic", "archaeological_site": "historic", "battlefield": "historic",
        "wayside_cross": "religious-christian", "wayside_shrine": "religious-christian",
    },
    "man_made": {
        "lighthouse": "lighthouse", "windmill": "windmill", "watermill": "watermill",
        "tower": "communications-tower", "water_well": "drinking-water",
    },
    "emergency": {"defibrillator": "defibrillator", "phone": "emergency-phone"},
    "office": {"diplomatic": "embassy"},
    "highway": {"emergency_access_point": "emergency-phone"},
}  # fmt: skip
_RELIGIONS: Final = {
    "christian": "religious-christian", "muslim": "religious-muslim", "jewish": "religious-jewish",
    "buddhist": "religious-buddhist", "shinto": "religious-shinto",
}  # fmt: skip

#: (layer, from zoom, key → values): what is worth a label early.
_RANKS: Final[tuple[tuple[str, float, dict[str, str]], ...]] = (
    ("poi-major", 14, {
        "amenity": "hospital university townhall theatre",
        "tourism": "zoo theme_park alpine_hut",
        "leisure": "stadium golf_course water_park",
        "historic": "castle fort",
        "man_made": "lighthouse",
    }),
    ("poi-medium", 15.2, {
        "amenity": "restaurant cafe fast_food bar pub biergarten nightclub clinic pharmacy "
                   "fire_station police post_office bank courthouse embassy school college library "
                   "arts_centre cinema place_of_worship fuel marketplace community_centre",
        "tourism": "hotel motel hostel guest_house camp_site caravan_site viewpoint",
        "leisure": "park sports_centre swimming_pool ice_rink",
        "shop": "supermarket department_store mall",
        "historic": "monument ruins archaeological_site",
        "man_made": "windmill watermill tower",
        "office": "diplomatic",
    }),
    ("poi-minor", 16.4, {
        "amenity": "food_court doctors dentist veterinary nursing_home public_building "
                   "car_rental car_sharing bicycle_rental atm grave_yard shelter toilets",
        "tourism": "bed_and_breakfast chalet picnic_site artwork information",
        "leisure": "playground dog_park pitch",
        "shop": "*",
        "historic": "memorial battlefield",
    }),
    ("poi-tiny", 17.4, {
        "amenity": "drinking_water fountain telephone recycling waste_basket post_box "
                   "vending_machine hunting_stand car_wash",
        "historic": "wayside_cross wayside_shrine",
        "emergency": "defibrillator phone",
        "highway": "emergency_access_point",
        "man_made": "water_well",
    }),
)  # fmt: skip


def label_layers(p: Palette, name: Any) -> Iterable[Layer]:
    """Return the label layers; `name` is the expression of the text."""
    yield from _water_labels(p, name)
    yield from _street_labels(p, name)
    yield _symbol(
        "house-number", "addresses", minzoom=17,
        layout={"text-field": ["coalesce", ["get", "housenumber"], ["get", "housename"]],
                "text-font": REGULAR, "text-size": 10, "text-padding": 3},
        paint={"text-color": p.house_number, "text-halo-color": p.label_halo,
               "text-halo-width": 0.8},
    )  # fmt: skip
    for rank in reversed(_RANKS):
        yield _poi_layer(p, name, *rank)
    yield from _transport_labels(p, name)
    yield from _place_labels(p, name)


def _symbol(
    id_: str,
    source_layer: str,
    *,
    layout: dict[str, Any],
    paint: dict[str, Any],
    where: Any = None,
    minzoom: float = 0,
    maxzoom: float = 0,
) -> Layer:
    layer: Layer = {"id": id_, "type": "symbol", "source": "osm", "source-layer": source_layer}
    if where is not None:
        layer["filter"] = where
    if minzoom:
        layer["minzoom"] = minzoom
    if maxzoom:
        layer["maxzoom"] = maxzoom
    return {**layer, "layout": layout, "paint": paint}


def _kinds(*kinds: str) -> list[Any]:
    return ["match", ["get", "kind"], list(kinds), True, False]


def _sizes(*stops: float) -> list[Any]:
    return ["interpolate", ["linear"], ["zoom"], *stops]


def _halo(color: str, halo: str, width: float = 1.4) -> dict[str, Any]:
    return {"text-color": color, "text-halo-color": halo, "text-halo-width": width,
            "text-halo-blur": 0.4}  # fmt: skip


def _water_labels(p: Palette, name: Any) -> Iterable[Layer]:
    yield _symbol(
        "water-line-label", "water_lines_labels", minzoom=12,
        where=["all", ["!=", ["get", "tunnel"], True]],
        layout={"text-field": name, "text-font": ITALIC, "symbol-placement": "line",
                "text-size": _sizes(12, 10.5, 18, 15), "text-letter-spacing": 0.08,
                "symbol-spacing": 380, "text-max-angle": 30},
        paint=_halo(p.water_label, p.label_halo, 1.1),
    )  # fmt: skip
    least_m2 = [
        "step",
        ["zoom"],
        1e10,
        5,
        3e9,
        7,
        3e8,
        9,
        3e7,
        11,
        2e6,
        12,
        3e5,
        13,
        6e4,
        14,
        1e4,
        15,
        2e3,
        16,
        0,
    ]
    yield _symbol(
        "water-label", "water_polygons_labels", where=[">=", ["get", "way_area"], least_m2],
        layout={"text-field": name, "text-font": ITALIC, "text-max-width": 7,
                "text-size": _sizes(8, 10.5, 14, 12.5, 18, 16), "text-letter-spacing": 0.04},
        paint=_halo(p.water_label, p.label_halo, 1.1),
    )  # fmt: skip


def _street_labels(p: Palette, name: Any) -> Iterable[Layer]:
    big = ("motorway", "trunk", "primary", "secondary", "tertiary")
    small = ("unclassified", "residential", "living_street", "pedestrian", "busway")
    ways = ("service", "track", "footway", "path", "steps", "cycleway", "motorway_link",
            "trunk_link", "primary_link", "secondary_link", "tertiary_link")  # fmt: skip
    levels: tuple[tuple[str, tuple[str, ...], float, list[Any]], ...] = (
        ("street-label-way", ways, 16, _sizes(16, 10, 18, 12.5)),
        ("street-label-small", small, 14.6, _sizes(14, 9.5, 16, 12, 18, 15)),
        ("street-label-big", big, 13, _sizes(13, 10.5, 16, 13, 18, 16)),
    )
    for id_, kinds, minzoom, size in levels:
        yield _symbol(
            id_, "street_labels", minzoom=minzoom, where=_kinds(*kinds),
            layout={"text-field": name, "text-font": REGULAR, "symbol-placement": "line",
                    "text-size": size, "symbol-spacing": 320, "text-max-angle": 35,
                    "text-rotation-alignment": "map", "text-padding": 4},
            paint=_halo(p.street_label, p.label_halo, 1.5),
        )  # fmt: skip
    yield _symbol(
        "rail-label", "street_labels", minzoom=15.5,
        where=_kinds("rail", "narrow_gauge", "tram", "light_rail", "funicular", "monorail"),
        layout={"text-field": name, "text-font": ITALIC, "symbol-placement": "line",
                "text-size": 10.5, "symbol-spacing": 500},
        paint=_halo(p.label_soft, p.label_halo, 1.2),
    )  # fmt: skip
    yield _symbol(
        "street-area-label", "streets_polygons_labels", minzoom=15.5,
        layout={"text-field": name, "text-font": REGULAR, "text-size": _sizes(15, 10.5, 18, 13),
                "text-max-width": 8},
        paint=_halo(p.street_label, p.label_halo, 1.4),
    )  # fmt: skip
    shields = (
        ("motorway", ("motorway",), p.shield_light_text, 10),
        ("trunk", ("trunk",), p.shield_light_text, 12),
        ("primary", ("primary",), p.shield_dark_text, 12),
        ("other", ("secondary", "tertiary"), p.label_soft, 13.5),
    )
    for icon, classes, color, from_zoom in shields:
        yield _symbol(
            f"shield-{icon}", "street_labels", minzoom=from_zoom,
            where=["all", _kinds(*classes), ["has", "ref"], ["<=", ["get", "ref_rows"], 2],
                   ["<=", ["get", "ref_cols"], 8]],
            layout={"text-field": ["get", "ref"], "text-font": BOLD, "text-size": 9.5,
                    "symbol-placement": ["step", ["zoom"], "point", 11, "line"],
                    "symbol-spacing": 420, "text-rotation-alignment": "viewport",
                    "icon-rotation-alignment": "viewport", "icon-image": f"shield-{icon}",
                    "icon-text-fit": "both", "icon-text-fit-padding": [1, 3, 1, 3],
                    "text-padding": 20},
            paint={"text-color": color},
        )  # fmt: skip
    yield _symbol(
        "junction", "street_labels_points", minzoom=13.5, where=["has", "ref"],
        layout={"text-field": ["get", "ref"], "text-font": BOLD, "text-size": 9,
                "icon-image": "shield-other", "icon-text-fit": "both",
                "icon-text-fit-padding": [1, 3, 1, 3]},
        paint={"text-color": p.label_soft},
    )  # fmt: skip


def _icon_expression() -> list[Any]:
    by_religion = [item for pair in _RELIGIONS.items() for item in pair]
    worship = ["match", ["get", "religion"], *by_religion, "place-of-worship"]
    cases: list[Any] = ["case", ["has", "religion"], worship]
    for key, icons in _ICONS.items():
        by_icon: dict[str, list[str]] = {}
        for value, icon in icons.items():
            by_icon.setdefault(icon, []).append(value)
        matched = [item for icon, values in by_icon.items() for item in (values, icon)]
        default = "shop" if key == "shop" else ""
        cases += [["has", key], ["match", ["get", key], *matched, default]]
    return [*cases, ""]


def _color_expression(p: Palette) -> list[Any]:
    food = ["restaurant", "cafe", "fast_food", "bar", "pub", "biergarten", "nightclub",
            "food_court"]  # fmt: skip
    health = ["hospital", "clinic", "doctors", "dentist", "pharmacy", "veterinary",
              "nursing_home", "fire_station"]  # fmt: skip
    culture = ["theatre", "arts_centre", "cinema", "library"]
    transport = ["fuel", "car_rental", "car_sharing", "bicycle_rental"]
    beds = ["hotel", "motel", "hostel", "guest_house", "bed_and_breakfast", "chalet", "alpine_hut"]
    return [
        "case",
        ["has", "shop"], p.shop,
        ["has", "amenity"],
        ["match", ["get", "amenity"], food, p.food, health, p.health, culture, p.culture,
         transport, p.transport, p.civic],
        ["has", "tourism"], ["match", ["get", "tourism"], beds, p.lodging, p.leisure],
        ["has", "leisure"], p.leisure,
        ["has", "historic"], p.culture,
        p.civic,
    ]  # fmt: skip


def _poi_layer(p: Palette, name: Any, id_: str, minzoom: float, wanted: dict[str, str]) -> Layer:
    tests: list[Any] = [
        ["has", key] if values == "*" else ["match", ["get", key], values.split(), True, False]
        for key, values in wanted.items()
    ]
    return _symbol(
        id_, "pois", minzoom=minzoom, where=["any", *tests],
        layout={"icon-image": _icon_expression(), "icon-size": 0.95,
                "text-field": name, "text-font": REGULAR, "text-size": _sizes(14, 10.5, 18, 12.5),
                "text-anchor": "top", "text-offset": [0, 0.85], "text-max-width": 8,
                "text-optional": True, "icon-padding": 1, "text-padding": 2},
        paint=_halo(_color_expression(p), p.label_halo, 1.4),  # type: ignore[arg-type]
    )  # fmt: skip


def _transport_labels(p: Palette, name: Any) -> Iterable[Layer]:
    icon = ["match", ["get", "kind"], "aerodrome", "airport", "helipad", "heliport",
            "station", "rail", "halt", "rail", "tram_stop", "rail-light",
            ["bus_station", "bus_stop"], "bus", "ferry_terminal", "ferry",
            "aerialway_station", "aerialway", ""]  # fmt: skip
    for id_, kinds, minzoom, size in (
        ("transport-stop", ("bus_stop", "tram_stop", "helipad"), 15.8, 0.8),
        ("transport", ("station", "halt", "bus_station", "ferry_terminal",
                       "aerialway_station"), 12.5, 1.0),
        ("airport", ("aerodrome",), 10, 1.05),
    ):  # fmt: skip
        yield _symbol(
            id_, "public_transport", minzoom=minzoom, where=_kinds(*kinds),
            layout={"icon-image": icon, "icon-size": size, "text-field": name,
                    "text-font": REGULAR, "text-size": _sizes(12, 10.5, 18, 12.5),
                    "text-anchor": "top", "text-offset": [0, 0.85], "text-max-width": 8,
                    "text-optional": True, "icon-padding": 1},
            paint=_halo(p.transport, p.label_halo, 1.4),
        )  # fmt: skip


def _place_labels(p: Palette, name: Any) -> Iterable[Layer]:
    soft = _halo(p.label_soft, p.label_halo)
    strong = _halo(p.label, p.label_halo, 1.6)
    yield _symbol(
        "place-locality", "place_labels", minzoom=13.5, maxzoom=17,
        where=_kinds("locality", "farm", "isolated_dwelling"),
        layout={"text-field": name, "text-font": ITALIC, "text-size": _sizes(13, 10, 16, 12),
                "text-max-width": 7},
        paint=soft,
    )  # fmt: skip
    yield _symbol(
        "place-island", "place_labels", minzoom=10, where=_kinds("island"),
        layout={"text-field": name, "text-font": ITALIC, "text-size": _sizes(10, 10.5, 16, 14),
                "text-max-width": 7},
        paint=soft,
    )  # fmt: skip
    yield _symbol(
        "place-quarter", "place_labels", minzoom=12.5, maxzoom=17,
        where=_kinds("suburb", "quarter", "neighbourhood"),
        layout={"text-field": name, "text-font": BOLD, "text-transform": "uppercase",
                "text-letter-spacing": 0.09, "text-size": _sizes(12, 9.5, 16, 13),
                "text-max-width": 7},
        paint=soft,
    )  # fmt: skip
    yield _symbol(
        "place-village", "place_labels", minzoom=10, maxzoom=17,
        where=_kinds("village", "hamlet"),
        layout={"text-field": name, "text-font": REGULAR, "text-max-width": 8,
                "text-size": _sizes(10, 11, 14, ["match", ["get", "kind"], "village", 16, 13]),  # type: ignore[arg-type]
                "symbol-sort-key": ["-", ["get", "population"]]},
        paint=strong,
    )  # fmt: skip
    dot = {"icon-image": ["step", ["zoom"], "place-dot", 10.5, ""],
           "text-variable-anchor": ["left", "right", "top", "bottom"], "text-radial-offset": 0.55,
           "text-justify": "auto"}  # fmt: skip
    yield _symbol(
        "place-town", "place_labels", minzoom=7, maxzoom=17, where=_kinds("town"),
        layout={"text-field": name, "text-font": REGULAR, "text-max-width": 8,
                "text-size": _sizes(7, 11.5, 14, 19), **dot,
                "symbol-sort-key": ["-", ["get", "population"]]},
        paint=strong,
    )  # fmt: skip
    yield _symbol(
        "place-city", "place_labels", minzoom=5, maxzoom=17, where=_kinds("city", "state_capital"),
        layout={"text-field": name, "text-font": BOLD, "text-max-width": 8,
                "text-size": _sizes(5, 12, 14, 23), **dot,
                "symbol-sort-key": ["-", ["get", "population"]]},
        paint=strong,
    )  # fmt: skip
    yield _symbol(
        "place-capital", "place_labels", minzoom=4, maxzoom=17, where=_kinds("capital"),
        layout={"text-field": name, "text-font": BOLD, "text-max-width": 8,
                "text-size": _sizes(4, 12, 14, 24), **dot,
                "icon-image": ["step", ["zoom"], "place-capital", 10.5, ""]},
        paint=strong,
    )  # fmt: skip
    for id_, level, minzoom, maxzoom in (("state-label", 4, 5, 9), ("country-label", 2, 2, 9)):
        yield _symbol(
            id_, "boundary_labels", minzoom=minzoom, maxzoom=maxzoom,
            where=["==", ["get", "admin_level"], level],
            layout={"text-field": name, "text-font": BOLD, "text-transform": "uppercase",
                    "text-letter-spacing": 0.12, "text-max-width": 8,
                    "text-size": _sizes(2, 11, 8, 17) if level == 2 else _sizes(5, 10, 9, 14)},
            paint=soft if level == 4 else _halo(p.label, p.label_halo, 1.6),
        )  # fmt: skip
