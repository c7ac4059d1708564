"""What answers hold: the order of an address, extents, codes, geometries, the parts of a score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mapyard.geocoding.answer.formats import format_lines
from mapyard.geocoding.geocoder import Geocoder, Output
from mapyard.geocoding.search.matching import Filters

OpenMap = Callable[[str], Geocoder]
PARTS = {
    "name": "Café", "number": "5", "street": "Main", "postcode": "12345", "city": "Town",
    "suburb": "Part", "state": "State", "state_code": "ST", "country": "Land",
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("LI", ["Café", "Main 5", "12345 Town", "Land"]),
        ("DE", ["Café", "Main 5", "12345 Town", "Land"]),
        ("FR", ["Café", "5 Main", "12345 Town", "Land"]),
        ("MC", ["Café", "5 Main", "12345 Town", "Land"]),
        ("ES", ["Café", "Main, 5", "12345 Town", "Land"]),
        ("US", ["Café", "5 Main", "Town, ST 12345", "Land"]),
        ("CA", ["Café", "5 Main", "Town, ST 12345", "Land"]),
        ("GB", ["Café", "5 Main", "Part", "Town", "12345", "Land"]),
        ("RU", ["Café", "Main, 5", "Part", "Town", "State", "Land", "12345"]),
        ("HU", ["12345 Town", "Main 5", "Land"]),
        ("TW", ["Land", "12345", "Town Part Main 5", "Café"]),
        ("CN", ["12345 Land", "ST", "Town", "Part", "Main 5", "Café"]),
        ("KR", ["Land", "State Town Part Main 5", "12345"]),
        ("JP", ["Café", "5 Main", "Part", "Town, State 12345", "Land"]),
        ("XX", ["Café", "Main 5", "12345 Town", "Land"]),
    ],
)
def test_the_order_of_an_address_in_each_country(code: str, lines: list[str]) -> None:
    assert format_lines(PARTS, code) == lines


@pytest.mark.parametrize("code", ["LI", "US", "GB", "TW", "RU", "CA"])
def test_what_is_missing_leaves_no_marks(code: str) -> None:
    lines = format_lines({"city": "Town", "country": "Land"}, code)
    assert set(lines) <= {"Town", "Land", "Town, Land"}
    assert format_lines({}, code) == []


def properties(geocoder: Geocoder, text: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = geocoder.forward(text, 1, **options)[0]["properties"]
    return found


def test_labels_short_and_full(geocoder: Geocoder) -> None:
    found = properties(geocoder, "Hauptstrasse 9, Neustadt")
    assert found["label"] == "Hauptstrasse 9, Neustadt"
    assert (
        found["display_name"] == found["full_address"] == "Hauptstrasse 9, 9490 Neustadt, Testland"
    )
    assert properties(geocoder, "Café Größe")["label"] == "Café Größe, Neustadt"
    assert properties(geocoder, "Neustadt")["label"] == "Neustadt"


def test_nothing_is_said_twice(monaco_geocoder: Geocoder) -> None:
    for text in ("Monte-Carlo", "Fontvieille", "La Condamine", "Beausoleil", "Larvotto"):
        parts = properties(monaco_geocoder, text)["display_name"].split(", ")
        assert len(parts) == len(set(parts)), text


def test_states_and_their_codes(open_map: OpenMap) -> None:
    found = properties(open_map("baltimore-cut"), "1926B Fleet Street")
    assert (found["state"], found["iso3166_2"]) == ("Maryland", "US-MD")
    assert "Baltimore, MD 21231" in found["display_name"]


def test_class_and_type_are_those_of_the_element(geocoder: Geocoder) -> None:
    found = properties(geocoder, "Da Gino")
    assert (found["class"], found["type"]) == ("amenity", "restaurant")


def test_extents(geocoder: Geocoder) -> None:
    street = geocoder.forward("Hauptstrasse, Neustadt", 1)[0]
    west, south, east, north = street["bbox"]
    lon, lat = street["geometry"]["coordinates"]
    assert west <= lon <= east
    assert south <= lat <= north
    # All pieces of the street, not only the one that stands for it.
    assert east - west > 0.008
    assert "bbox" not in geocoder.forward("Da Gino", 1)[0]
    town = geocoder.forward("Neustadt", 1)[0]
    assert town["bbox"] == pytest.approx([9.5, 47.2, 9.52, 47.22])


def test_full_geometries(geocoder: Geocoder) -> None:
    found = geocoder.forward("Neustadt", 1, output=Output(full_geometry=True))[0]
    assert found["geometry"]["type"] in ("Polygon", "MultiPolygon")
    assert (found["properties"]["lon"], found["properties"]["lat"]) == (9.51, 47.21)
    assert geocoder.forward("Neustadt", 1)[0]["geometry"]["type"] == "Point"


def test_excluded_elements_give_way_to_the_next(geocoder: Geocoder) -> None:
    first, second = geocoder.forward("restaurant", 2)
    found = geocoder.forward("restaurant", 1, output=Output(frozenset([first["id"]])))
    assert found[0]["id"] == second["id"]


def test_several_layers(geocoder: Geocoder) -> None:
    both = geocoder.forward("Neustadt", 10, filters=Filters("admin,poi"))
    kinds = {feature["properties"]["category"] for feature in both}
    assert {"place", "aeroway"} <= kinds
    assert geocoder.forward("Neustadt", 10, filters=Filters("street,postcode")) == []


def test_the_parts_of_a_score(geocoder: Geocoder) -> None:
    found = properties(geocoder, "Hauptstrasse 9, Neustadt", filters=Filters(explain=True))
    parts = found["explain"]
    total = parts["text"] + parts["name"] + parts["importance"] + parts["house"]
    assert total == pytest.approx(found["score"], abs=1e-3)
    assert [word["word"] for word in parts["words"]] == ["hauptstrasse", "9", "neustadt"]
    assert "explain" not in properties(geocoder, "Hauptstrasse 9, Neustadt")
