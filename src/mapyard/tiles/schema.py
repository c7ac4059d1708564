"""The Shortbread 1.1 schema as data: layers, which features they hold from which zoom, attributes.

https://shortbread-tiles.org/schema/1.1/ (CC0). A feature takes the first rule of a layer that it
meets. `classify.py` turns the rules into rows, `attributes.py` the attributes into values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mapyard.tiles.shapes import LINE, POINT, POLYGON

VERSION: Final = "1.1"


class Rule(NamedTuple):
    """Elements with one of the values of each key of `tags` (and none of `without`).

    No values mean any value. `areas` says whether an area may become a point.
    """

    kind: str
    minzoom: int
    tags: Mapping[str, tuple[str, ...]]
    without: Mapping[str, tuple[str, ...]] = {}
    areas: bool = True


class Attribute(NamedTuple):
    """An attribute of a layer; `minzoom` where it begins later than its feature."""

    name: str
    type: str  # String, Number or Boolean, for TileJSON
    minzoom: int = 0


class Layer(NamedTuple):
    """A layer: `kind` of geometry, rules (empty: made by its own function), attributes.

    `names` adds name_xx of the configured languages; features need one of the keys in `needs`;
    points come from areas, and from nodes unless `nodes` is false; `minzoom` is for layers
    without rules.
    """

    name: str
    kind: int
    rules: tuple[Rule, ...]
    attributes: tuple[Attribute, ...]
    names: bool = False
    needs: tuple[str, ...] = ()
    nodes: bool = True
    minzoom: int = 14


def _rules(minzoom: int, key: str, values: str) -> tuple[Rule, ...]:
    """Return one rule per value, the value being the kind."""
    areas = key != "place"
    return tuple(Rule(v, minzoom, {key: (v,)}, areas=areas) for v in values.split())


def _strings(*names: str, minzoom: int = 0) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, "String", minzoom) for name in names)


def _booleans(*names: str, minzoom: int = 0) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, "Boolean", minzoom) for name in names)


KIND: Final = _strings("kind")
NAME: Final = _strings("name")
WAY_AREA: Final = (Attribute("way_area", "Number"),)
TUNNEL_BRIDGE: Final = _booleans("tunnel", "bridge")
#: Beyond Shortbread: meters above the ground, where the building says so.
BUILDING_HEIGHTS: Final = (Attribute("height", "Number"), Attribute("min_height", "Number"))

WATER_POLYGONS: Final = (
    Rule("glacier", 4, {"natural": ("glacier",)}),
    Rule("river", 4, {"natural": ("water",), "water": ("river",)}),
    Rule("river", 4, {"waterway": ("riverbank",)}),
    Rule("water", 4, {"natural": ("water",)}, {"water": ("river",)}),
    Rule("reservoir", 4, {"landuse": ("reservoir",)}),
    Rule("basin", 4, {"landuse": ("basin",)}),
    Rule("dock", 10, {"waterway": ("dock",)}),
    Rule("canal", 10, {"waterway": ("canal",)}),
)
WATER_LINES: Final = _rules(9, "waterway", "canal river") + _rules(
    14, "waterway", "stream drain ditch"
)
WATER_LINES_LABELS: Final = _rules(12, "waterway", "canal river") + _rules(
    14, "waterway", "stream drain ditch"
)
PIERS: Final = _rules(12, "man_made", "pier breakwater groyne")

CAPITAL_PLACES: Final = ("city", "town", "village", "hamlet")
#: Populated places are nodes; their areas would label them twice. Islands are mostly areas.
PLACES: Final = (
    Rule("capital", 4, {"place": CAPITAL_PLACES, "capital": ("yes",)}, areas=False),
    Rule("state_capital", 4, {"place": CAPITAL_PLACES, "capital": ("4",)}, areas=False),
    *_rules(6, "place", "city"),
    *_rules(7, "place", "town"),
    *_rules(10, "place", "village hamlet suburb quarter neighbourhood isolated_dwelling farm"),
    *_rules(10, "place", "locality"),
    Rule("island", 10, {"place": ("island",)}, areas=True),
)
#: Where the element has no population of its own.
DEFAULT_POPULATION: Final = {
    "city": 100_000, "town": 5_000, "village": 100, "hamlet": 50, "suburb": 1_000, "quarter": 500,
    "neighbourhood": 100, "isolated_dwelling": 5, "farm": 5, "island": 0, "locality": 0,
}  # fmt: skip

LAND: Final = (
    Rule("forest", 7, {"landuse": ("forest",)}),
    Rule("forest", 7, {"natural": ("wood",)}),
    *_rules(11, "landuse", "grass meadow orchard vineyard allotments village_green"),
    *_rules(11, "landuse", "recreation_ground greenhouse_horticulture plant_nursery quarry"),
    *_rules(13, "landuse", "cemetery"),
    *_rules(13, "amenity", "grave_yard"),
    *_rules(10, "natural", "sand beach"),
    *_rules(11, "natural", "heath scrub grassland bare_rock scree shingle"),
    *_rules(11, "wetland", "swamp bog string_bog wet_meadow marsh"),
    *_rules(11, "leisure", "golf_course park garden playground miniature_golf"),
    *_rules(10, "landuse", "residential industrial commercial garages retail railway"),
    *_rules(10, "landuse", "landfill brownfield greenfield farmyard farmland"),
)
SITES: Final = (
    *_rules(14, "military", "danger_area"),
    *_rules(14, "leisure", "sports_centre"),
    *_rules(14, "amenity", "university college school hospital prison parking bicycle_parking"),
    *_rules(14, "landuse", "construction"),
)


def _road(kind: str, minzoom: int, link: bool = True) -> Rule:
    values = (kind, f"{kind}_link") if link else (kind,)
    return Rule(kind, minzoom, {"highway": values})


#: In the order of importance, which is the drawing order within one level.
STREETS: Final = (
    _road("motorway", 5),
    _road("trunk", 6),
    _road("primary", 8),
    _road("secondary", 9),
    _road("tertiary", 10),
    *_rules(12, "highway", "unclassified residential busway bus_guideway"),
    *_rules(13, "highway", "living_street pedestrian service track cycleway path footway steps"),
    *_rules(11, "aeroway", "runway"),
    *_rules(13, "aeroway", "taxiway"),
    Rule("rail", 8, {"railway": ("rail",)}, {"service": ()}),
    Rule("narrow_gauge", 8, {"railway": ("narrow_gauge",)}, {"service": ()}),
    *_rules(10, "railway", "rail narrow_gauge tram light_rail funicular subway monorail"),
)
STREET_POLYGONS: Final = (
    *_rules(14, "highway", "pedestrian service"),
    *_rules(11, "aeroway", "runway"),
    *_rules(11, "area:aeroway", "runway"),
    *_rules(13, "aeroway", "taxiway"),
    *_rules(13, "area:aeroway", "taxiway"),
)
STREET_LABELS: Final = (
    *_rules(10, "highway", "motorway"),
    *_rules(12, "highway", "trunk primary"),
    *_rules(13, "highway", "motorway_link trunk_link primary_link secondary_link"),
    *_rules(13, "highway", "secondary tertiary"),
    *_rules(14, "highway", "tertiary_link unclassified residential living_street busway"),
    *_rules(14, "highway", "bus_guideway service pedestrian track footway steps path cycleway"),
    *_rules(11, "aeroway", "runway"),
    *_rules(13, "aeroway", "taxiway"),
    *_rules(10, "railway", "rail narrow_gauge tram light_rail funicular subway monorail"),
)
AERIALWAYS: Final = tuple(
    Rule(value.replace("rope_tow", "rope-tow"), 12, {"aerialway": (value,)})
    for value in (
        "cable_car",
        "gondola",
        "goods",
        "chair_lift",
        "drag_lift",
        "t-bar",
        "j-bar",
        "platter",
        "rope_tow",
    )
)
PUBLIC_TRANSPORT: Final = (
    *_rules(11, "aeroway", "aerodrome"),
    *_rules(12, "amenity", "ferry_terminal"),
    *_rules(13, "railway", "station halt"),
    *_rules(13, "amenity", "bus_station"),
    *_rules(13, "aeroway", "helipad"),
    Rule("aerialway_station", 13, {"aerialway": ("station",)}),
    *_rules(14, "railway", "tram_stop"),
    *_rules(14, "highway", "bus_stop"),
)

#: Values of each key that make a point of interest.
POIS: Final[Mapping[str, tuple[str, ...]]] = {
    key: tuple(values.split())
    for key, values in {
        "amenity": (
            "arts_centre atm bank bar bench bicycle_rental biergarten cafe car_rental car_sharing "
            "car_wash cinema clinic college community_centre courthouse dentist doctors "
            "drinking_water embassy fast_food fire_station food_court fountain fuel grave_yard "
            "hospital hunting_stand library marketplace nightclub nursing_home pharmacy "
            "place_of_worship police post_box post_office prison pub public_building recycling "
            "restaurant school shelter telephone theatre toilets townhall university "
            "vending_machine veterinary waste_basket"
        ),
        "leisure": (
            "dog_park golf_course ice_rink park pitch playground sports_centre stadium "
            "swimming_pool water_park"
        ),
        "tourism": (
            "artwork alpine_hut bed_and_breakfast camp_site caravan_site chalet guest_house hostel "
            "hotel information motel picnic_site theme_park viewpoint zoo"
        ),
        "shop": (
            "alcohol bakery beauty beverages bicycle books butcher car chemist clothes computer "
            "convenience department_store doityourself dry_cleaning florist furniture "
            "garden_centre general gift greengrocer hairdresser hardware jewelry kiosk laundry "
            "mall mobile_phone newsagent optician outdoor shoes sports stationery supermarket toys "
            "travel_agency video"
        ),
        "man_made": (
            "lighthouse surveillance tower wastewater_plant water_well water_works watermill "
            "windmill"
        ),
        "historic": (
            "archaeological_site battlefield castle fort memorial monument ruins wayside_cross "
            "wayside_shrine"
        ),
        "emergency": "defibrillator fire_hydrant phone",
        "highway": "emergency_access_point",
        "office": "diplomatic",
    }.items()
}
#: Attributes of some points of interest: name → (key, values that it needs).
POI_DETAILS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "cuisine": ("amenity", ("restaurant", "fast_food", "pub", "bar", "cafe")),
    "sport": ("leisure", ("pitch", "sports_centre")),
    "vending": ("amenity", ("vending_machine",)),
    "information": ("tourism", ("information",)),
    "tower:type": ("man_made", ("tower",)),
    "religion": ("amenity", ("place_of_worship",)),
    "denomination": ("amenity", ("place_of_worship",)),
}
POI_FLAGS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "recycling:glass_bottles": ("amenity", ("recycling",)),
    "recycling:paper": ("amenity", ("recycling",)),
    "recycling:clothes": ("amenity", ("recycling",)),
    "recycling:scrap_metal": ("amenity", ("recycling",)),
    "atm": ("amenity", ("bank",)),
}

TUNNEL_VALUES: Final = ("yes", "building_passage")
BRIDGE_VALUES: Final = (
    "yes", "viaduct", "boardwalk", "cantilever", "covered", "low_water_crossing", "movable",
    "trestle",
)  # fmt: skip
ONEWAY_VALUES: Final = ("yes", "1", "true", "-1")
#: Access attribute → keys, the first one with a value of ACCESS_VALUES counts.
ACCESS_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "motorcar": ("motorcar", "motor_vehicle", "vehicle", "access"),
    "bicycle": ("bicycle", "vehicle", "access"),
    "foot": ("foot", "access"),
    "horse": ("horse", "access"),
}
ACCESS_VALUES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("yes", "designated", "permissive"), "yes"),
    **dict.fromkeys(
        ("customers", "destination", "agricultural", "forestry", "delivery", "discouraged",
         "permit"), "limited",
    ),
    **dict.fromkeys(("dismount", "military", "private", "no"), "no"),
}  # fmt: skip
#: (minimum area km², minzoom) of boundary labels of each admin_level, largest first.
BOUNDARY_LABEL_ZOOMS: Final[Mapping[str, tuple[tuple[float, int], ...]]] = {
    "2": ((2e6, 2), (7e5, 3), (1e5, 4), (0.0, 5)),
    "4": ((7e5, 3), (1e5, 4), (0.0, 5)),
}
BOUNDARY_ZOOMS: Final[Mapping[str, int]] = {"2": 0, "4": 7}

#: In drawing order, which is the order in a tile.
LAYERS: Final = (
    Layer("ocean", POLYGON, (), (), minzoom=0),
    Layer("land", POLYGON, LAND, KIND),
    Layer("water_polygons", POLYGON, WATER_POLYGONS, KIND + WAY_AREA),
    Layer("sites", POLYGON, SITES, KIND),
    Layer("dam_polygons", POLYGON, _rules(12, "waterway", "dam"), KIND),
    Layer("pier_polygons", POLYGON, PIERS, KIND),
    Layer("street_polygons", POLYGON, STREET_POLYGONS,
          KIND + _booleans("rail", "tunnel", "bridge") + _strings("service", "surface")),
    Layer("bridges", POLYGON, _rules(12, "man_made", "bridge"), KIND),
    Layer("buildings", POLYGON, (Rule("", 14, {"building": ()}, {"building": ("no",)}),),
          (Attribute("dummy", "Number"), *BUILDING_HEIGHTS)),
    Layer("water_lines", LINE, WATER_LINES, KIND + TUNNEL_BRIDGE),
    Layer("dam_lines", LINE, _rules(12, "waterway", "dam"), KIND),
    Layer("pier_lines", LINE, PIERS, KIND),
    Layer("streets", LINE, STREETS, (
        *KIND, *_booleans("rail"), *_booleans("link", "tunnel", "bridge", minzoom=11),
        *_booleans("oneway", "oneway_reverse", minzoom=14),
        *_strings("tracktype", "surface", "service", minzoom=11),
        *_strings(*ACCESS_KEYS, minzoom=13),
    )),
    Layer("aerialways", LINE, AERIALWAYS, KIND),
    Layer("ferries", LINE, (
        Rule("ferry", 10, {"route": ("ferry",)}, {"motor_vehicle": ("no",)}),
        Rule("ferry", 12, {"route": ("ferry",)}),
    ), KIND + NAME, names=True),
    Layer("boundaries", LINE, (), (
        Attribute("admin_level", "Number"), *_booleans("maritime", "disputed"),
    ), minzoom=0),
    Layer("boundary_labels", POINT, (), (
        Attribute("admin_level", "Number"), *WAY_AREA, *NAME,
    ), names=True, minzoom=2),
    Layer("place_labels", POINT, PLACES, (*KIND, *NAME, Attribute("population", "Number")),
          names=True, needs=("name",)),
    Layer("water_polygons_labels", POINT, WATER_POLYGONS, KIND + WAY_AREA + NAME,
          names=True, needs=("name",), nodes=False),
    Layer("water_lines_labels", LINE, WATER_LINES_LABELS, KIND + TUNNEL_BRIDGE + NAME,
          names=True, needs=("name",)),
    Layer("streets_polygons_labels", POINT,
          tuple(rule._replace(minzoom=14) for rule in STREET_POLYGONS), KIND + NAME,
          names=True, needs=("name",), nodes=False),
    Layer("street_labels", LINE, STREET_LABELS, (
        *KIND, *NAME, *_strings("ref"), Attribute("ref_rows", "Number"),
        Attribute("ref_cols", "Number"), *_booleans("tunnel"),
    ), names=True, needs=("name", "ref")),
    Layer("street_labels_points", POINT, _rules(12, "highway", "motorway_junction"),
          KIND + _strings("ref") + NAME, names=True, needs=("ref", "name")),
    Layer("public_transport", POINT, PUBLIC_TRANSPORT, KIND + NAME + _strings("iata"), names=True),
    Layer("pois", POINT, tuple(Rule("", 14, {key: values}) for key, values in POIS.items()), (
        *_strings(*POIS), *NAME, *_strings("housename", "housenumber"), *_strings(*POI_DETAILS),
        *_booleans(*POI_FLAGS),
    ), names=True),
    Layer("addresses", POINT, (
        Rule("", 14, {"addr:housenumber": ()}), Rule("", 14, {"addr:housename": ()}),
    ), _strings("housename", "housenumber")),
)  # fmt: skip
LAYER_INDEX: Final = {layer.name: index for index, layer in enumerate(LAYERS)}
