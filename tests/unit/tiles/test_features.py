"""From a hand-made extract to the features of its tiles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mapbox_vector_tile
import numpy as np
import pytest

from mapyard.builder.pipeline import build_dataset
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.tiles.attributes import read_height
from mapyard.tiles.build import find_bounds
from mapyard.tiles.mercator import GRID_BITS, TileId, project
from mapyard.tiles.render import render_tile
from mapyard.tiles.schema import LAYER_INDEX
from mapyard.tiles.source import TileSource
from mapyard.tiles.table import Table
from osm_files import square, write_osm

WEST, SOUTH = 9.5, 47.1

NODES: dict[int, Any] = {
    1: (9.5000, 47.1000),
    2: (9.5020, 47.1000),
    3: (9.5040, 47.1000),
    4: (9.5060, 47.1010),
    10: (9.5010, 47.1005, {"place": "town", "name": "Mitte", "name:de": "Mitte (de)",
                           "capital": "yes", "population": "5,300"}),
    11: (9.5015, 47.1005, {"amenity": "cafe", "name": "Eck", "addr:housenumber": "7",
                           "cuisine": "coffee"}),
    12: (9.5017, 47.1005, {"addr:housenumber": "9", "addr:street": "Gasse"}),
    13: (9.5018, 47.1006, {"amenity": "bank", "atm": "yes"}),
    14: (9.5019, 47.1006, {"amenity": "bank", "atm": "no", "shop": "kiosk"}),
    15: (9.5021, 47.1006, {"amenity": "swing", "name": "Nothing of the schema"}),
    16: (9.5022, 47.1006, {"highway": "motorway_junction", "ref": "12"}),
    17: (9.5023, 47.1006, {"place": "hamlet", "name": "Weiler"}),
    **square(100, 9.5030, 47.1020, 0.0006),
    **square(110, 9.5050, 47.1020, 0.000001),  # smaller than the grid
    **square(120, 9.5100, 47.1020, 0.004),
    **square(130, 9.5110, 47.1030, 0.001),
}  # fmt: skip
WAYS: dict[int, Any] = {
    20: ([1, 2], {"highway": "residential", "name": "Gasse", "oneway": "-1", "surface": "asphalt",
                  "motor_vehicle": "destination", "access": "yes", "bicycle": "unknown"}),
    21: ([2, 3], {"highway": "motorway_link", "tunnel": "yes", "layer": "-1", "ref": "A1;E 43"}),
    22: ([3, 4], {"railway": "rail", "bridge": "viaduct", "oneway": "yes"}),
    23: ([1, 4], {"route": "ferry", "motor_vehicle": "no", "name": "Fähre"}),
    24: ([1, 3], {"waterway": "stream", "name": "Bach", "covered": "yes"}),
    25: ([1, 2], {"admin_level": "4"}),
    26: ([2, 4], {"natural": "coastline", "disputed": "yes"}),
    30: ([100, 101, 102, 103, 100], {"building": "yes", "addr:housename": "Haus",
                                    "building:levels": "4", "min_height": "3 m"}),
    31: ([110, 111, 112, 113, 110], {"building": "shed", "height": "8'6\"",
                                    "building:levels": "9"}),
    32: ([120, 121, 122, 123, 120], {"natural": "water", "water": "river"}),
    33: ([130, 131, 132, 133, 130], {"natural": "wood", "name": "Wald"}),
    34: ([3, 4], {"building": "no", "highway": "track", "tracktype": "grade2", "foot": "permissive",
                  "vehicle": "forestry"}),
}  # fmt: skip
RELATIONS: dict[int, Any] = {
    50: ([("way", 25, "outer"), ("way", 26, "outer")],
         {"type": "boundary", "boundary": "administrative", "admin_level": "4"}),
    51: ([("way", 25, "outer")],
         {"type": "boundary", "boundary": "administrative", "admin_level": "2"}),
}  # fmt: skip


def build(folder: Path, *elements: Any) -> Table:
    source = write_osm(folder / "map.osm", *elements)
    build_dataset([source], folder / "data", select_steps(["tiles"]), Reporter(quiet=True))
    return TileSource(folder / "data" / "current").table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return build(tmp_path_factory.mktemp("tiles"), NODES, WAYS, RELATIONS)


Find = Callable[..., dict[int, dict[str, Any]]]


@pytest.fixture(scope="module")
def find(table: Table) -> Find:
    """Return id → properties of a layer at a zoom, over all tiles of that zoom."""

    def find(layer: str, zoom: int = 14) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for x, y in table.tiles(zoom).tolist():
            tile = mapbox_vector_tile.decode(render_tile(table, TileId(zoom, x, y)) or b"")
            for feature in tile.get(layer, {"features": []})["features"]:
                found[feature["id"]] = feature["properties"]
        return found

    return find


def test_streets_have_their_attributes(find: Find) -> None:
    streets = find("streets")
    assert streets[202] == {
        "kind": "residential", "rail": False, "link": False, "tunnel": False, "bridge": False,
        "oneway": True, "oneway_reverse": True, "surface": "asphalt", "motorcar": "limited",
        "bicycle": "yes", "foot": "yes", "horse": "yes",
    }  # fmt: skip
    assert streets[212]["kind"] == "motorway"
    assert streets[212]["link"] is True
    assert streets[212]["tunnel"] is True
    assert streets[212]["surface"] == ""
    assert "motorcar" not in streets[212]
    assert streets[222]["rail"] is True
    assert streets[222]["bridge"] is True
    assert streets[222]["oneway"] is False
    assert streets[342]["tracktype"] == "grade2"
    assert streets[342]["foot"] == "yes"
    assert streets[342]["motorcar"] == "limited"
    assert "horse" not in streets[342]


def test_streets_lie_tunnels_first(table: Table) -> None:
    layer = LAYER_INDEX["streets"]
    ids = table.ids[table.layer_offsets[layer] : table.layer_offsets[layer + 1]].tolist()
    assert ids == [212, 202, 342, 222]


def test_attributes_and_features_come_with_their_zoom(find: Find) -> None:
    assert set(find("streets", 13)) == {202, 212, 222, 342}
    assert set(find("streets", 12)) == {202, 212, 222}
    assert find("streets", 10)[212] == {"kind": "motorway", "rail": False}
    assert set(find("streets", 8)) == {212, 222}
    assert "oneway" not in find("streets", 13)[202]
    assert "motorcar" not in find("streets", 12)[202]
    assert set(find("water_lines", 13)) == set()


def test_street_labels_have_references_on_lines(find: Find) -> None:
    labels = find("street_labels")
    assert labels[212] == {
        "kind": "motorway_link", "ref": "A1\nE 43", "ref_rows": 2, "ref_cols": 4, "tunnel": True,
    }  # fmt: skip
    assert labels[202]["name"] == "Gasse"
    assert 342 not in labels  # neither name nor ref
    assert find("street_labels_points")[161] == {"kind": "motorway_junction", "ref": "12"}


def test_points_of_interest_are_no_addresses(find: Find) -> None:
    pois = find("pois")
    assert pois[111] == {
        "amenity": "cafe", "name": "Eck", "housenumber": "7", "cuisine": "coffee",
    }  # fmt: skip
    assert pois[131] == {"amenity": "bank", "atm": True}
    assert pois[141] == {"amenity": "bank", "shop": "kiosk", "atm": False}
    assert 151 not in pois
    assert find("addresses") == {121: {"housenumber": "9"}, 302: {"housename": "Haus"}}


def test_places_know_capitals_and_populations(find: Find) -> None:
    assert find("place_labels") == {
        101: {"kind": "capital", "name": "Mitte", "name_de": "Mitte (de)", "population": 5300},
        171: {"kind": "hamlet", "name": "Weiler", "population": 50},
    }
    assert set(find("place_labels", 6)) == {101}


def test_buildings_smaller_than_the_grid_are_there(find: Find) -> None:
    assert find("buildings") == {
        302: {"dummy": 1, "height": 12, "min_height": 3},
        312: {"dummy": 1, "height": 3},
    }
    assert find("buildings", 13) == {}


@pytest.mark.parametrize(
    ("text", "meters"),
    [("12", 12), ("12.5 m", 12), ("12,6m", 13), ("40 ft", 12), ("40'", 12), ("8'6\"", 3),
     ("30 Meters", 30), ("0", None), ("-3", None), ("tall", None), ("12;15", None),
     ("9000", None), ("1e3", None)],
)  # fmt: skip
def test_heights_as_people_write_them(text: str, meters: int | None) -> None:
    assert read_height(text) == meters


def test_water_and_land(find: Find) -> None:
    water = find("water_polygons")[322]
    assert water["kind"] == "river"
    assert water["way_area"] == pytest.approx(445.3 * 655, rel=0.02)
    assert find("land") == {332: {"kind": "forest"}}
    assert find("land", 12) == {332: {"kind": "forest"}}
    assert find("land", 7) == {}  # less than a pixel
    assert find("water_lines")[242] == {"kind": "stream", "tunnel": True, "bridge": False}
    assert find("water_lines_labels")[242]["name"] == "Bach"


def test_boundaries_take_the_lower_level_once(find: Find, table: Table) -> None:
    assert find("boundaries") == {
        252: {"admin_level": 2, "maritime": False, "disputed": False},
        262: {"admin_level": 4, "maritime": True, "disputed": True},
    }
    minzoom = dict(zip(table.ids.tolist(), table.minzoom.tolist(), strict=True))
    assert (minzoom[252], minzoom[262]) == (0, 7)


def test_ferries_without_cars_come_later(find: Find) -> None:
    assert find("ferries", 12)[232] == {"kind": "ferry", "name": "Fähre"}
    assert find("ferries", 11) == {}


def test_tiles_without_anything_are_empty(table: Table) -> None:
    assert render_tile(table, TileId(14, 0, 0)) == b""
    assert render_tile(table, TileId(3, 0, 0)) == b""


def test_both_sides_of_the_antimeridian_are_drawn(tmp_path: Path) -> None:
    nodes: dict[int, Any] = {
        1: (179.9995, -17.0), 2: (-179.9995, -17.0), 3: (-179.9990, -17.001),
        10: (179.999, -17.01), 11: (-179.999, -17.01), 12: (-179.999, -17.0), 13: (179.999, -17.0),
    }  # fmt: skip
    ways: dict[int, Any] = {
        20: ([1, 2, 3], {"highway": "primary"}),
        21: ([10, 11, 12, 13, 10], {"natural": "water"}),
    }
    table = build(tmp_path, nodes, ways)
    assert table.info.bounds[0] > 0 > table.info.bounds[2]
    x, y = (project(np.array([[179.9999, -17.0]]))[0].astype(int) >> (GRID_BITS - 14)).tolist()
    for column in (x, 0):
        tile = mapbox_vector_tile.decode(render_tile(table, TileId(14, column, y)))
        assert [f["id"] for f in tile["streets"]["features"]] == [202]
        assert [f["id"] for f in tile["water_polygons"]["features"]] == [212]
    assert sorted(set(table.tiles(14)[:, 0].tolist())) == [0, x]


def test_bounds_of_nodes_cross_where_that_is_narrower() -> None:
    class Nodes:
        lon = np.array([1_790_000_000, -1_790_000_000, 1_780_000_000])
        lat = np.array([-170_000_000, -180_000_000, 2**31 - 1])

    west, south, east, north = find_bounds(Nodes())  # type: ignore[arg-type] # two columns
    assert (west, south, east, north) == (179.0, -18.0, -179.0, -17.0)
