"""Points of interest without an address: the street that they stand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mapyard.geocoding.geocoder import Geocoder

pytestmark = pytest.mark.topic("addresses")

OpenOsm = Callable[..., Geocoder]

# One thousandth of a degree is 111 m to the north and 55 m to the east here.
_LON, _LAT = 10.0, 60.0


def _at(east_m: float, north_m: float) -> tuple[float, float]:
    return _LON + east_m / 55_600, _LAT + north_m / 111_195


STANDS: list[tuple[str, tuple[float, float], dict[str, str], str | None]] = [
    ("On the pavement", (200, 6), {"amenity": "cafe"}, "Storgata"),
    ("South of it", (200, -30), {"shop": "books"}, "Storgata"),
    ("East of the lane", (420, 150), {"shop": "books"}, "Sidegate"),
    ("At the corner", (390, 20), {"amenity": "bank"}, "Sidegate"),
    # 50 m to the east are nearer than 60 m to the south, though they are more degrees.
    ("Between two", (350, 60), {"amenity": "pub"}, "Sidegate"),
    ("Beside a house", (100, 62), {"shop": "bakery"}, "Bakgata"),
    ("At a house of the street", (300, 40), {"shop": "shoes"}, "Storgata"),
    ("Far away", (200, 600), {"tourism": "viewpoint"}, None),
    ("Just too far", (900, 102), {"amenity": "cafe"}, None),
    ("Just near enough", (950, 96), {"amenity": "cafe"}, "Storgata"),
    ("A hill", (210, 5), {"natural": "peak"}, None),
    ("A forest", (220, 5), {"landuse": "forest"}, None),
    ("An exit", (230, 5), {"highway": "motorway_junction"}, None),
    ("A stop", (240, 4), {"highway": "bus_stop"}, "Storgata"),
    ("With a street", (250, 5), {"shop": "tea", "addr:street": "Sidegate"}, "Sidegate"),
    ("With a lost street", (260, 5), {"shop": "tea", "addr:street": "Nygata"}, "Nygata"),
    ("With a place", (270, 5), {"shop": "tea", "addr:place": "Holmen"}, None),
    ("With an address", (280, 5),
     {"shop": "tea", "addr:street": "Bakgata", "addr:housenumber": "9"}, "Bakgata"),
    ("In a house", (120.3, 150), {"shop": "wine"}, "Bakgata"),
]  # fmt: skip


@pytest.fixture(scope="module")
def town(open_osm: OpenOsm) -> Geocoder:
    nodes: dict[int, Any] = {
        1: _at(0, 0), 2: _at(1000, 0), 3: _at(400, 10), 4: _at(400, 300),
        # Houses of a street that nobody mapped, and one of the Storgata that stands back.
        10: (*_at(100, 66), {"addr:street": "Bakgata", "addr:housenumber": "1"}),
        11: (*_at(300, 45), {"addr:street": "Storgata", "addr:housenumber": "30"}),
        20: _at(115, 145), 21: _at(125, 145), 22: _at(125, 155), 23: _at(115, 155),
        30: (*_at(500, 300), {"place": "town", "name": "Nyby"}),
    }  # fmt: skip
    ways = {
        1: ([1, 2], {"highway": "primary", "name": "Storgata", "name:en": "Main Street"}),
        2: ([3, 4], {"highway": "service", "name": "Sidegate"}),
        3: ([20, 21, 22, 23, 20],
            {"building": "yes", "addr:street": "Bakgata", "addr:housenumber": "7"}),
    }  # fmt: skip
    nodes |= {40: _at(130, 2), 41: _at(170, 2), 42: _at(130, 3), 43: _at(170, 3)}
    ways[4] = ([40, 41], {"railway": "tram", "name": "Line 1"})
    ways[5] = ([42, 43], {"public_transport": "platform", "name": "Torvet"})
    for number, (name, where, tags, _) in enumerate(STANDS, start=100):
        nodes[number] = (*_at(*where), {"name": name, **tags})
    return open_osm("streets-of-pois", nodes, ways)


def _find(town: Geocoder, name: str, **options: Any) -> dict[str, Any]:
    found = [f["properties"] for f in town.forward(name, 5, **options)]
    properties: dict[str, Any] = next(p for p in found if p.get("name") == name)
    return properties


@pytest.mark.parametrize(("name", "where", "tags", "street"), STANDS)
def test_the_street_that_it_stands_on(
    town: Geocoder, name: str, where: tuple[float, float], tags: dict[str, str], street: str | None
) -> None:
    found = _find(town, name)
    assert found.get("street") == street
    assert (street or "Nyby") in found["display_name"]
    assert (street or "Nyby") in found["full_address"]


def test_lines_pass_by_but_for_platforms(town: Geocoder) -> None:
    assert "street" not in _find(town, "Line 1")
    assert _find(town, "Torvet")["street"] == "Storgata"


@pytest.mark.parametrize("text", ["On the pavement, Storgata", "On the pavement Main Street Nyby"])
def test_it_is_found_with_its_street(town: Geocoder, text: str) -> None:
    found = town.forward(text, 1)[0]["properties"]
    assert found["name"] == "On the pavement"
    assert found["match"]["unmatched"] == []


def test_the_street_has_the_language_of_the_answer(town: Geocoder) -> None:
    assert _find(town, "On the pavement", langs=("en",))["street"] == "Main Street"


def test_the_same_in_reverse(town: Geocoder) -> None:
    found = town.reverse(*_at(200, 6), 20, layer="poi")[0]["properties"]
    assert (found["name"], found["street"]) == ("On the pavement", "Storgata")


def test_both_platforms_of_a_stop_are_one_result(open_osm: OpenOsm) -> None:
    nodes: dict[int, Any] = {
        1: _at(0, 0), 2: _at(100, 0), 3: _at(0, 20), 4: _at(100, 20),
        5: (*_at(50, 2), {"highway": "bus_stop", "name": "Torget"}),
        6: (*_at(50, 18), {"highway": "bus_stop", "name": "Torget"}),
    }  # fmt: skip
    ways = {
        1: ([1, 2], {"highway": "primary", "name": "Nordsiden"}),
        2: ([3, 4], {"highway": "primary", "name": "Sørsiden"}),
    }
    assert len(open_osm("platforms", nodes, ways).forward("Torget", 5)) == 1
