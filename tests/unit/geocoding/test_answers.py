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


@pytest.mark.topic("addresses")
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


@pytest.mark.topic("addresses")
@pytest.mark.parametrize("code", ["LI", "US", "GB", "TW", "RU", "CA"])
def test_what_is_missing_leaves_no_marks(code: str) -> None:
    lines = format_lines({"city": "Town", "country": "Land"}, code)
    assert set(lines) <= {"Town", "Land", "Town, Land"}
    assert format_lines({}, code) == []


def properties(geocoder: Geocoder, text: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = geocoder.forward(text, 1, **options)[0]["properties"]
    return found


@pytest.mark.topic("addresses")
def test_labels_short_and_full(geocoder: Geocoder) -> None:
    found = properties(geocoder, "Hauptstrasse 9, Neustadt")
    assert found["label"] == "Hauptstrasse 9, Neustadt"
    assert (
        found["display_name"] == found["full_address"] == "Hauptstrasse 9, 9490 Neustadt, Testland"
    )
    assert properties(geocoder, "Café Größe")["label"] == "Café Größe, Neustadt"
    assert properties(geocoder, "Neustadt")["label"] == "Neustadt"


@pytest.mark.topic("addresses")
def test_nothing_is_said_twice(monaco_geocoder: Geocoder) -> None:
    for text in ("Monte-Carlo", "Fontvieille", "La Condamine", "Beausoleil", "Larvotto"):
        parts = properties(monaco_geocoder, text)["display_name"].split(", ")
        assert len(parts) == len(set(parts)), text


@pytest.mark.topic("answers")
def test_states_and_their_codes(open_map: OpenMap) -> None:
    found = properties(open_map("baltimore-cut"), "1926B Fleet Street")
    assert (found["state"], found["iso3166_2"]) == ("Maryland", "US-MD")
    assert "Baltimore, MD 21231" in found["display_name"]


@pytest.mark.topic("answers")
def test_class_and_type_are_those_of_the_element(geocoder: Geocoder) -> None:
    found = properties(geocoder, "Da Gino")
    assert (found["class"], found["type"]) == ("amenity", "restaurant")


@pytest.mark.topic("answers")
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


@pytest.mark.topic("answers")
def test_full_geometries(geocoder: Geocoder) -> None:
    found = geocoder.forward("Neustadt", 1, output=Output(full_geometry=True))[0]
    assert found["geometry"]["type"] in ("Polygon", "MultiPolygon")
    assert (found["properties"]["lon"], found["properties"]["lat"]) == (9.51, 47.21)
    assert geocoder.forward("Neustadt", 1)[0]["geometry"]["type"] == "Point"


@pytest.mark.topic("answers")
def test_excluded_elements_give_way_to_the_next(geocoder: Geocoder) -> None:
    first, second = geocoder.forward("restaurant", 2)
    found = geocoder.forward("restaurant", 1, output=Output(frozenset([first["id"]])))
    assert found[0]["id"] == second["id"]


@pytest.mark.topic("answers")
def test_several_layers(geocoder: Geocoder) -> None:
    both = geocoder.forward("Neustadt", 10, filters=Filters("admin,poi"))
    kinds = {feature["properties"]["category"] for feature in both}
    assert {"place", "aeroway"} <= kinds
    assert geocoder.forward("Neustadt", 10, filters=Filters("street,postcode")) == []


@pytest.mark.topic("answers")
def test_the_parts_of_a_score(geocoder: Geocoder) -> None:
    found = properties(geocoder, "Hauptstrasse 9, Neustadt", filters=Filters(explain=True))
    parts = found["explain"]
    total = parts["text"] + parts["name"] + parts["importance"] + parts["house"]
    assert total == pytest.approx(found["score"], abs=1e-3)
    assert [word["word"] for word in parts["words"]] == ["hauptstrasse", "9", "neustadt"]
    assert "explain" not in properties(geocoder, "Hauptstrasse 9, Neustadt")


# ---- on maps of the world ---------------------------------------------------------------------

VADUZ, LEEDS, QUEENS = "vaduz-cut", "leeds-cut", "queens-cut"
TAIPEI, MOSCOW, FILAIDHOO, BALTIMORE = (
    "taipei-2024-03", "moscow-2013-11", "filaidhoo-cut", "baltimore-cut",
)  # fmt: skip
#: Where, what is asked, languages; display name, label.
SHOWN = [
    (VADUZ, "Städtle 32", "", "Kunstmuseum Liechtenstein, Städtle 32, 9490 Vaduz, Liechtenstein",
     "Kunstmuseum Liechtenstein, Vaduz"),
    (VADUZ, "Schloss Vaduz", "",
     "Schloss Vaduz, Fürst-Franz-Josef-Strasse 150, 9490 Vaduz, Liechtenstein", "Schloss Vaduz"),
    (VADUZ, "Tre Cavalli", "", "Tre Cavalli, Städtle, 9490 Vaduz, Liechtenstein",
     "Tre Cavalli, Vaduz"),
    (VADUZ, "Känzile", "", "Känzile, Schlossweg, 9490 Vaduz, Liechtenstein", "Känzile, Vaduz"),
    (VADUZ, "Bettenhaus Quader", "",
     "Bettenhaus Quader, Äulestrasse, 9490 Vaduz, Liechtenstein", "Bettenhaus Quader, Vaduz"),
    (VADUZ, "Hotel Engel", "", "Hotel Engel, Städtle 13, 9490 Vaduz, Liechtenstein",
     "Hotel Engel, Vaduz"),
    (VADUZ, "Herrengasse", "", "Herrengasse, 9490 Vaduz, Liechtenstein", "Herrengasse, Vaduz"),
    (VADUZ, "Giessen", "", "Giessen, 9490 Vaduz, Liechtenstein", "Giessen, Vaduz"),
    (VADUZ, "9490", "", "9490 Vaduz, Liechtenstein", "9490, Vaduz"),
    (VADUZ, "Vaduz", "ru", "Вадуц, Лихтенштейн", "Вадуц"),
    (VADUZ, "Vaduz", "ja,de", "ファドゥーツ, リヒテンシュタイン", "ファドゥーツ"),
    (VADUZ, "Städtle 32", "xx,ru",
     "Kunstmuseum Liechtenstein, Städtle 32, 9490 Вадуц, Лихтенштейн",
     "Kunstmuseum Liechtenstein, Вадуц"),
    (VADUZ, "Städtle 32", "zh-Hant,en",
     "Kunstmuseum Liechtenstein, Städtle 32, 9490 瓦杜茲, 列支敦斯登",
     "Kunstmuseum Liechtenstein, 瓦杜茲"),
    (VADUZ, "Landtag", "en-GB",
     "Landtag of the Principality of Liechtenstein, Peter-Kaiser-Platz 3, 9490 Vaduz, "
     "Liechtenstein",
     "Landtag of the Principality of Liechtenstein, Vaduz"),
    (LEEDS, "29 Eastgate", "", "29 Eastgate, Leeds, LS2 7LY, United Kingdom", "29 Eastgate, Leeds"),
    (LEEDS, "Arthur Louis Aaron", "",
     "Arthur Louis Aaron, Eastgate, Leeds, LS2 7QX, United Kingdom", "Arthur Louis Aaron, Leeds"),
    (LEEDS, "Leeds Conservatoire", "",
     "Leeds Conservatoire, 3 Quarry Hill, Leeds, LS2 7PD, United Kingdom", "Leeds Conservatoire"),
    (LEEDS, "Aagrah", "de",
     "Aagrah, 1 St. Peter's Square, Leeds, LS9 8AH, Vereinigtes Königreich", "Aagrah, Leeds"),
    (QUEENS, "89-63 220th Street", "", "89-63 220th Street, NY 11427, United States",
     "89-63 220th Street"),
    (MOSCOW, "Гончарова 5", "", "улица Гончарова, 5, Москва, Россия, 127254",
     "улица Гончарова, 5, Москва"),
    (MOSCOW, "Гончарова 5", "en", "улица Гончарова, 5, Москва, Russia, 127254",
     "улица Гончарова, 5, Москва"),
    (MOSCOW, "Школа №1236", "", "Школа №1236, улица Яблочкова, 10, Москва, Россия, 127254",
     "Школа №1236, Москва"),
    (TAIPEI, "南京西路8號", "", "台灣, 104, 臺北市 南京西路 8號", "臺北市 南京西路 8號"),
    # The town that is written stays where the map has another area of that language.
    (TAIPEI, "南京西路8號", "en", "Taiwan, 104, 臺北市 Nanjing West Road 8號",
     "臺北市 Nanjing West Road 8號"),
    (TAIPEI, "臺灣銀行", "", "台灣, 104, 臺北市 中山北路一段 148;150, 臺灣銀行",
     "臺灣銀行, 臺北市"),
    # A street is not said twice, nor is a village without streets.
    (TAIPEI, "南京西路", "", "台灣, 104, 南西商圈 南京西路", "南京西路, 南西商圈"),
    (FILAIDHOO, "334/335 Filaidhoo", "", "334/335 Filaidhoo, ދިވެހި ރާއްޖެ", "334/335 Filaidhoo"),
]  # fmt: skip


@pytest.mark.topic("addresses")
@pytest.mark.parametrize(("where", "text", "langs", "shown", "label"), SHOWN)
def test_how_addresses_are_shown(
    open_map: OpenMap, where: str, text: str, langs: str, shown: str, label: str
) -> None:
    found = properties(open_map(where), text, langs=tuple(langs.split(",")) if langs else ())
    assert (found["display_name"], found["label"]) == (shown, label)


#: Class, type and code of the state.
CLASSES = [
    (VADUZ, "Kunstmuseum Liechtenstein", "tourism", "museum", None),
    (VADUZ, "Schloss Vaduz", "historic", "castle", None),
    (VADUZ, "Vaduz", "place", "town", None),
    (VADUZ, "Rathausgasse", "highway", "service", None),
    (VADUZ, "9490", "place", "postcode", None),
    (LEEDS, "Lady Beck", "waterway", "stream", None),
    (LEEDS, "Playhouse Gardens", "leisure", "park", None),
    (QUEENS, "89-63 220th Street", "place", "house", "US-NY"),
    (QUEENS, "Hillside Avenue", "highway", "primary", "US-NY"),
    (BALTIMORE, "South Wolfe Street", "highway", "primary", "US-MD"),
    (MOSCOW, "Школа №1236", "amenity", "school", None),
    (TAIPEI, "臺灣銀行", "amenity", "bank", None),
    (FILAIDHOO, "Filaidhoo", "place", "islet", None),
]


@pytest.mark.topic("answers")
@pytest.mark.parametrize(("where", "text", "main", "kind", "state"), CLASSES)
def test_class_type_and_state(
    open_map: OpenMap, where: str, text: str, main: str, kind: str, state: str | None
) -> None:
    found = properties(open_map(where), text)
    assert (found["class"], found["type"], found.get("iso3166_2")) == (main, kind, state)


@pytest.mark.topic("answers")
@pytest.mark.parametrize(
    ("text", "code"), [("Monaco", None), ("Monte-Carlo", "MC-MC"), ("Fontvieille", "MC-FO")]
)
def test_codes_are_those_of_areas_no_smaller(
    monaco_geocoder: Geocoder, text: str, code: str | None
) -> None:
    assert properties(monaco_geocoder, text).get("iso3166_2") == code


#: Layers, what is asked; kinds of what is found, none of others.
LAYERS = [
    ("address", "Clematisweg 2", {"house", "residential"}),
    ("poi", "Da Gino", {"restaurant"}),
    ("admin", "Neustadt", {"town"}),
    ("street", "Hauptstrasse", {"primary"}),
    ("postcode", "9490", {"postcode"}),
    ("street,poi", "Neustadt", {"helipad", "primary", "residential"}),
    ("poi,admin", "Neustadt", {"helipad", "town"}),
    ("poi", "Clematisweg", set()),
    ("admin", "Da Gino", set()),
    ("street", "Da Gino", set()),
    ("postcode", "Neustadt", set()),
]


@pytest.mark.topic("answers")
@pytest.mark.parametrize(("layers", "text", "kinds"), LAYERS)
def test_layers_hold(geocoder: Geocoder, layers: str, text: str, kinds: set[str]) -> None:
    found = geocoder.forward(text, 20, filters=Filters(layers))
    assert {feature["properties"]["type"] for feature in found} <= kinds
    assert bool(found) == bool(kinds)


@pytest.mark.topic("answers")
@pytest.mark.parametrize(
    ("where", "text"),
    [(VADUZ, "Herrengasse"), (VADUZ, "Kunstmuseum Liechtenstein"), (LEEDS, "Lady Beck"),
     (QUEENS, "Hillside Avenue"), (MOSCOW, "улица Руставели"), (TAIPEI, "南京西路")],
)  # fmt: skip
def test_extents_hold_the_point(open_map: OpenMap, where: str, text: str) -> None:
    found = open_map(where).forward(text, 1)[0]
    west, south, east, north = found["bbox"]
    lon, lat = found["geometry"]["coordinates"]
    assert west <= lon <= east
    assert south <= lat <= north
