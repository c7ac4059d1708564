from __future__ import annotations

from mapyard.tiles.attributes import attribute_names, read_population
from mapyard.tiles.mercator import MAX_ZOOM
from mapyard.tiles.schema import LAYER_INDEX, LAYERS, POIS

#: Layers and attributes of https://shortbread-tiles.org/schema/1.1/, names aside.
SPECIFIED = {
    "ocean": "",
    "water_polygons": "kind way_area",
    "water_polygons_labels": "kind way_area name",
    "water_lines": "kind tunnel bridge",
    "water_lines_labels": "kind name tunnel bridge",
    "dam_lines": "kind",
    "dam_polygons": "kind",
    "pier_lines": "kind",
    "pier_polygons": "kind",
    "boundaries": "admin_level maritime disputed",
    "boundary_labels": "admin_level way_area name",
    "place_labels": "kind name population",
    "land": "kind",
    "sites": "kind",
    "buildings": "dummy height min_height",  # the heights are ours
    "addresses": "housename housenumber",
    "streets": (
        "kind link rail tunnel bridge oneway oneway_reverse tracktype surface service motorcar "
        "bicycle foot horse"
    ),
    "street_polygons": "kind bridge rail service surface tunnel",
    "street_labels": "kind ref ref_rows ref_cols name tunnel",
    "streets_polygons_labels": "kind name",
    "street_labels_points": "kind ref name",
    "bridges": "kind",
    "aerialways": "kind",
    "ferries": "kind name",
    "public_transport": "kind name iata",
    "pois": (
        "amenity leisure tourism shop man_made historic emergency highway office name housename "
        "housenumber cuisine sport vending information tower:type religion denomination "
        "recycling:glass_bottles recycling:paper recycling:clothes recycling:scrap_metal atm"
    ),
}


def test_layers_and_attributes_are_those_of_the_schema() -> None:
    found = {layer.name: {a.name for a in layer.attributes} for layer in LAYERS}
    assert found == {name: set(text.split()) for name, text in SPECIFIED.items()}


def test_named_layers_have_names_of_the_configured_languages() -> None:
    for layer in LAYERS:
        names = {a.name for a in attribute_names(layer, ["de", "nan-Latn-tailo"])}
        has_names = {"name_de", "name_nan-Latn-tailo"} <= names
        assert has_names == ("name" in names), layer.name


def test_attributes_begin_where_the_schema_says() -> None:
    streets = {a.name: a.minzoom for a in LAYERS[LAYER_INDEX["streets"]].attributes}
    assert [streets[name] for name in ("kind", "rail", "link", "tunnel", "surface")] == [
        0, 0, 11, 11, 11,
    ]  # fmt: skip
    assert (streets["oneway"], streets["motorcar"], streets["horse"]) == (14, 13, 13)


def test_zooms_are_in_range_and_kinds_once() -> None:
    for layer in LAYERS:
        for rule in layer.rules:
            assert 0 <= rule.minzoom <= MAX_ZOOM
    assert sum(map(len, POIS.values())) == 137
    assert len({rule.kind for rule in LAYERS[LAYER_INDEX["land"]].rules}) == 42


def test_populations_are_read_with_care() -> None:
    assert read_population("12345") == 12345
    assert read_population("12,345") == 12345
    assert read_population("900 (2019)") == 900
    assert read_population("~ 1.200") == 1200
    assert read_population("some hundred") is None
    assert read_population("10;20") is None
    assert read_population("") is None
    assert read_population("99999999999999999999") is None
