"""Forward geocoding on a country made by hand: what users of other geocoders ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mapyard.geo.bbox import Bbox
from mapyard.geocoding.geocoder import Geocoder
from mapyard.geocoding.order.ranking import Focus
from mapyard.geocoding.order.structured import Address
from mapyard.geocoding.search.matching import Filters


def first(geocoder: Geocoder, text: str, **options: Any) -> dict[str, Any]:
    features = geocoder.forward(text, 5, **options)
    assert features, text
    properties: dict[str, Any] = features[0]["properties"]
    return properties


def shown(geocoder: Geocoder, text: str, **options: Any) -> str:
    return str(first(geocoder, text, **options)["display_name"])


@pytest.mark.parametrize(
    "text",
    [
        "Hauptstrasse 9, 9490 Neustadt",
        "9490 Neustadt, Hauptstrasse 9",
        "9 Hauptstr. Neustadt",
        "neustadt hauptstraße 9",
        "Neustadt/Hauptstrasse 9",
        "Haupt Strasse 9, Neustadt, Testland",
        "Hauptstrasse 9, Neustadt, Liechtenstein",
        "Hauptstrase 9 Neustadt",
        "Hauptstrasse 9 Neustatd",
        "Reichsstrasse 9, Neustadt",
        "HAUPTSTRASSE 9 NEUSTADT",
        "Hauptstrasse 9, 3. Stock links, Neustadt",
    ],
)
def test_an_address_in_many_spellings(geocoder: Geocoder, text: str) -> None:
    found = first(geocoder, text)
    assert found["display_name"] == "Hauptstrasse 9, 9490 Neustadt, Testland"
    assert (found["source"], found["osm_type"], found["osm_id"]) == ("address", "node", 4002)


def test_unknown_words_are_said_and_lower_the_confidence(geocoder: Geocoder) -> None:
    sure = first(geocoder, "Hauptstrasse 9, Neustadt")
    found = first(geocoder, "Hauptstrasse 9, Penthouse, Neustadt")
    assert found["match"]["unmatched"] == ["penthouse"]
    assert found["confidence"] < sure["confidence"]
    assert {"word": "9", "as": "house_number", "by": "exact"} in found["match"]["matched"]


def test_fuzzy_matches_are_called_fuzzy(geocoder: Geocoder) -> None:
    found = first(geocoder, "Clemattisweg 2")
    assert found["display_name"] == "Clematisweg 2, 9490 Neustadt, Testland"
    assert {"word": "clemattisweg", "as": "name", "by": "fuzzy"} in found["match"]["matched"]
    assert found["confidence"] < 0.9


@pytest.mark.parametrize("text", ["Clematis Weg 2", "Clematisweg 2", "Clematis-Weg 2"])
def test_compounds_apart_and_joined(geocoder: Geocoder, text: str) -> None:
    assert first(geocoder, text)["osm_id"] == 4300


def test_a_street_of_two_towns_is_two_streets(geocoder: Geocoder) -> None:
    names = [f["properties"]["display_name"] for f in geocoder.forward("Hauptstrasse", 5)]
    assert names[:2] == [
        "Hauptstrasse, 9490 Neustadt, Testland",
        "Hauptstrasse, 9494 Altdorf, Testland",
    ] or set(names[:2]) == {
        "Hauptstrasse, 9490 Neustadt, Testland",
        "Hauptstrasse, 9494 Altdorf, Testland",
    }
    assert shown(geocoder, "Hauptstrasse 1 Altdorf") == "Hauptstrasse 1, 9494 Altdorf, Testland"
    assert shown(geocoder, "Hauptstrasse 1 Neustadt") == "Hauptstrasse 1, 9490 Neustadt, Testland"


def test_the_town_that_the_post_says_counts_at_the_border(geocoder: Geocoder) -> None:
    assert first(geocoder, "Hauptstrasse 99, 9494 Altdorf")["osm_id"] == 4200


def test_the_right_street_before_the_right_number_elsewhere(geocoder: Geocoder) -> None:
    found = first(geocoder, "Hauptstrasse 83 Altdorf")
    assert found["display_name"] == "Hauptstrasse, 9494 Altdorf, Testland"
    assert found["match"]["unmatched"] == ["83"]
    assert found["confidence"] <= 0.7


def test_exact_number_before_number_with_letter(geocoder: Geocoder) -> None:
    assert first(geocoder, "Hauptstrasse 83")["house_number"] == "83"
    assert first(geocoder, "Hauptstrasse 83a")["house_number"] == "83a"
    assert first(geocoder, "Hauptstrasse 12 a")["house_number"] == "12a"


@pytest.mark.parametrize(
    ("number", "osm_id"),
    [("29", 4007), ("31", 4007), ("39A", 4008), ("39 b", 4008), ("39a/b", 4008)],
)
def test_lists_of_numbers(geocoder: Geocoder, number: str, osm_id: int) -> None:
    assert first(geocoder, f"Hauptstrasse {number}, Neustadt")["osm_id"] == osm_id


@pytest.mark.parametrize("number", ["4", "6", "4-6"])
def test_ranges_of_numbers(geocoder: Geocoder, number: str) -> None:
    assert first(geocoder, f"Clematisweg {number}")["osm_id"] == 4301


def test_number_beside_a_numeral_of_the_name(geocoder: Geocoder) -> None:
    assert first(geocoder, "Avenue Albert II 2")["osm_id"] == 4400
    assert first(geocoder, "avenue albert 2 2")["osm_id"] == 4400
    assert first(geocoder, "Avenue Albert II")["source"] == "place"


def test_partial_street_name(geocoder: Geocoder) -> None:
    assert first(geocoder, "Stefan 10")["osm_id"] == 4501


def test_interpolation_uses_the_node_in_between(geocoder: Geocoder) -> None:
    features = geocoder.forward("Kardinal Stefan Gasse 6", 1)
    properties = features[0]["properties"]
    assert properties["source"] == "interpolation"
    assert properties["interpolated"] is True
    assert properties["osm_id"] is None
    assert properties["house_number"] == "6"
    assert properties["match"]["inferred"] == ["house_number"]
    lon, lat = features[0]["geometry"]["coordinates"]
    # 6 is half way from 2 (x 4) to 10 (x 5), not a quarter of the way to 20 (x 15).
    assert lon == pytest.approx(9.5045, abs=1e-5)
    assert lat == pytest.approx(47.2123, abs=1e-5)


def test_odd_number_is_not_on_an_even_line(geocoder: Geocoder) -> None:
    assert first(geocoder, "Kardinal Stefan Gasse 5")["source"] == "place"


def test_gap_between_known_numbers_of_one_side(geocoder: Geocoder) -> None:
    found = first(geocoder, "Hauptstrasse 5, Neustadt")
    assert found["source"] == "interpolation"
    assert 0 < found["confidence"] < 0.8


def test_street_known_from_addresses_only(geocoder: Geocoder) -> None:
    assert first(geocoder, "Unmapped Lane 7")["osm_id"] == 4600
    assert first(geocoder, "Unmapped Lane")["source"] == "place"


def test_address_of_a_place(geocoder: Geocoder) -> None:
    found = first(geocoder, "Weiler 3")
    assert (found["osm_id"], found["source"]) == (6001, "address")


def test_boundary_and_label_are_one_and_come_before_namesakes(geocoder: Geocoder) -> None:
    features = geocoder.forward("Neustadt", 10)
    kinds = [(f["properties"]["category"], f["properties"]["osm_type"]) for f in features]
    assert kinds[0] == ("place", "relation")
    assert kinds.count(("place", "node")) == 0
    assert ("aeroway", "node") in kinds


def test_poi_has_the_address_of_its_building(geocoder: Geocoder) -> None:
    found = first(geocoder, "cafe grosse")
    assert found["display_name"] == "Café Größe, Clematisweg 14, 9490 Neustadt, Testland"
    assert (found["category"], found["subcategory"]) == ("amenity", "cafe")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pizzeria neustadt", "Da Gino"),
        ("pizzeria Altdorf", "Vesuvio"),
        ("Altdorf pizza", "Vesuvio"),
        ("musée Altdorf", "Heimatmuseum"),
        ("museum near Neustadt", "Heimatmuseum"),
        ("toilets neustadt", None),
    ],
)
def test_kinds_with_a_place(geocoder: Geocoder, text: str, name: str | None) -> None:
    assert first(geocoder, text).get("name") == name


@pytest.mark.parametrize(
    ("text", "osm_id"),
    [
        ("郷土博物館", 5101),
        ("博物館", 5101),
        ("新町", 200),
        ("މާލެ ސްކޫލް", 5106),
        ("Male School", 5106),
        ("مكتبة الاسكندرية", 5107),
        ("الإسكندرية", 5107),
    ],
)
def test_names_in_other_scripts(geocoder: Geocoder, text: str, osm_id: int) -> None:
    assert first(geocoder, text)["osm_id"] == osm_id


def test_names_come_back_intact(geocoder: Geocoder) -> None:
    assert first(geocoder, "Male School")["name"] == "މާލެ ސްކޫލް"
    assert first(geocoder, "Male School", langs=("en",))["name"] == "Male School"


def test_language_of_the_answer_falls_back_to_the_local_name(geocoder: Geocoder) -> None:
    found = first(geocoder, "Hauptstrasse 9 Neustadt", langs=("ja", "fr"))
    assert (found["city"], found["country"]) == ("新町", "Testlande")
    # No Italian name: the local one, not the English.
    assert first(geocoder, "Heimatmuseum", langs=("it",))["name"] == "Heimatmuseum"


@pytest.mark.parametrize(
    "text",
    [
        "xyzzyplugh",
        "😀😀",
        "",
        "   ",
        "'; DROP TABLE users; --",
        "\x00\x01\x02",
        "a" * 10_000,
        "Hauptstrasse " * 1_000,
        "((((((",
        "%00%ff",
    ],
)
def test_nonsense_finds_nothing_and_harms_nothing(geocoder: Geocoder, text: str) -> None:
    assert geocoder.forward(text, 5) == []
    assert geocoder.autocomplete(text, 5) == []


def test_filters(geocoder: Geocoder) -> None:
    def kinds(**filters: Any) -> set[str]:
        found = geocoder.forward("Neustadt", 50, filters=Filters(**filters))
        return {feature["properties"]["category"] for feature in found}

    assert kinds(layer="admin") == {"place"}
    assert "place" not in kinds(layer="poi")
    assert kinds(countries=("FR",)) == set()
    assert kinds(countries=("FR", "LI")) == kinds()
    east = Filters(bbox=Bbox(9.521, 47.2, 9.54, 47.22))
    assert shown(geocoder, "Hauptstrasse", filters=east) == "Hauptstrasse, 9494 Altdorf, Testland"
    around = Filters(bbox=Bbox(179.0, 47.0, -179.0, 48.0))
    assert geocoder.forward("Hauptstrasse", 5, filters=around) == []


def test_focus_prefers_the_near_one(geocoder: Geocoder) -> None:
    for lon, name in ((9.505, "Da Gino"), (9.535, "Vesuvio")):
        assert first(geocoder, "pizzeria", focus=Focus(lon, 47.212))["name"] == name
    # A position behind the words is such a focus.
    assert first(geocoder, "pizza 47.212, 9.5321")["name"] == "Vesuvio"


def test_coordinates_and_plus_codes_are_looked_up(geocoder: Geocoder) -> None:
    found = first(geocoder, "47.2052, 9.502")
    assert found["display_name"] == "Hauptstrasse 1, 9490 Neustadt, Testland"
    assert first(geocoder, "47°12'18.72\"N 9°30'07.2\"E")["house_number"] == "1"


def test_structured(geocoder: Geocoder) -> None:
    found = geocoder.structured(Address("Hauptstr.", "9", "9490", "Neustadt", country="LI"), 5)
    assert found[0]["properties"]["osm_id"] == 4002
    # The wrong postcode is forgiven, a street that is not there is said.
    found = geocoder.structured(Address("Hauptstrasse", "9", "1234", "Neustadt"), 1)
    assert found[0]["properties"]["osm_id"] == 4002
    lost = geocoder.structured(Address("Nirgendwoweg", "9", city="Altdorf"), 1)[0]["properties"]
    assert (lost["name"], lost["match"]["unmatched"]) == ("Altdorf", ["Nirgendwoweg", "9"])
    assert lost["confidence"] <= 0.5
    assert geocoder.structured(Address(city="Neustadt", country="FR"), 1) == []


def test_postcode(geocoder: Geocoder) -> None:
    found = first(geocoder, "9494")
    assert (found["category"], found["subcategory"]) == ("place", "postcode")
    assert first(geocoder, "9490 Neustadt")["name"] == "Neustadt"


def test_a_street_word_alone_is_no_match(geocoder: Geocoder) -> None:
    assert geocoder.forward("Kingsgate Avenue", 5) == []
    assert geocoder.forward("Avenue", 5)


def test_kinds_are_split_off_names_without_spaces(geocoder: Geocoder) -> None:
    # 新町 is Neustadt, 学校 a school.
    assert first(geocoder, "古村学校")["osm_id"] == 5106


def test_near_says_around_what(geocoder: Geocoder) -> None:
    found = first(geocoder, "museum near Neustadt")
    assert found["match"]["near"] == "neustadt"
    assert found["match"]["unmatched"] == []


def test_country_before_a_postcode(geocoder: Geocoder) -> None:
    assert first(geocoder, "FL-9490 Neustadt")["name"] == "Neustadt"
    assert first(geocoder, "Hauptstrasse 9, FL-9490 Neustadt")["osm_id"] == 4002


def test_villages_come_before_hamlets_and_streets_and_whole_words_before_parts(
    geocoder: Geocoder,
) -> None:
    found = [f["properties"] for f in geocoder.forward("Steg", 10)]
    assert [(p["name"], p["subcategory"]) for p in found] == [
        ("Steg", "village"), ("Steg", "hamlet"), ("Steg", "residential"),
        *sorted(((p["name"], "residential") for p in found[3:]), key=lambda pair: pair),
    ]  # fmt: skip
    assert {p["name"] for p in found[3:]} == {"Grosssteg", "Stegweg"}


def test_a_typo_in_the_town_still_tells_the_towns_apart(geocoder: Geocoder) -> None:
    assert first(geocoder, "Hauptstrasse 1 Altdrof")["osm_id"] == 4100
    assert first(geocoder, "Hauptstrasse 1 Neustatd")["osm_id"] == 4000


@pytest.fixture(scope="module")
def many(open_osm: Callable[..., Geocoder]) -> Geocoder:
    """The same street in 2,500 places, behind as many that are called so and more."""
    nodes: dict[int, tuple[float, float]] = {}
    ways: dict[int, tuple[list[int], dict[str, str]]] = {}
    for number in range(5_000):
        row, column = divmod(number, 50)
        lon, lat = 9.0 + column * 0.05, 47.0 + row * 0.05
        nodes[2 * number + 1], nodes[2 * number + 2] = (lon, lat), (lon + 0.001, lat)
        name = "Alte Hauptgasse" if number < 2_500 else "Hauptgasse"
        tags = {"highway": "residential", "name": name}
        ways[number + 1] = [2 * number + 1, 2 * number + 2], tags
    return open_osm("many-streets", nodes, ways)


@pytest.mark.parametrize("number", [2_500, 3_777, 4_999])
@pytest.mark.parametrize("text", ["Hauptgasse", "Hauptgas"])
def test_of_many_equal_ones_the_near_one_is_found(many: Geocoder, number: int, text: str) -> None:
    row, column = divmod(number, 50)
    focus = Focus(9.0 + column * 0.05 + 0.002, 47.0 + row * 0.05)
    ask = many.forward if text == "Hauptgasse" else many.autocomplete
    found = ask(text, 1, focus=focus)[0]["properties"]
    assert (found["osm_type"], found["osm_id"]) == ("way", number + 1)


def test_of_many_the_one_that_is_called_so_is_found(many: Geocoder) -> None:
    names = {feature["properties"]["name"] for feature in many.forward("Hauptgasse", 10)}
    assert names == {"Hauptgasse"}


def test_of_equal_ones_the_nearest_is_first_however_far(open_osm: Callable[..., Geocoder]) -> None:
    nodes = {
        number: (lon, 47.0, {"place": "town", "name": "Neustadt"})
        for number, lon in enumerate((9.0, 11.0, 13.0, 15.0), 1)
    }
    geocoder = open_osm("new-towns", nodes)
    for lon, order in ((15.9, [4, 3, 2, 1]), (11.9, [2, 3, 1, 4])):
        for ask in (geocoder.forward, geocoder.autocomplete):
            found = ask("Neustadt", 4, focus=Focus(lon, 47.5))
            assert [feature["properties"]["osm_id"] for feature in found] == order
