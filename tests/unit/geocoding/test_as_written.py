"""Places as people write them, on small maps of the world: what must come first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mapyard.geocoding.geocoder import Geocoder
from mapyard.geocoding.order.structured import Address

OpenMap = Callable[[str], Geocoder]
OpenOsm = Callable[..., Geocoder]
VADUZ, BALTIMORE, QUEENS = "vaduz-cut", "baltimore-cut", "queens-cut"
TAIPEI, MOSCOW = "taipei-2024-03", "moscow-2013-11"
LEEDS, FILAIDHOO = "leeds-cut", "filaidhoo-cut"


def ask(geocoder: Geocoder, text: str) -> dict[str, Any]:
    """Return the properties of the first answer."""
    found = geocoder.forward(text, 3)
    assert found, text
    properties: dict[str, Any] = found[0]["properties"]
    return properties


COUNTRIES = [
    (VADUZ, "Städtle 32, Vaduz, LI"),
    (VADUZ, "Städtle 32, Vaduz, li"),
    (VADUZ, "Städtle 32, Vaduz, Liechtenstein"),
    (VADUZ, "Städtle 32 Vaduz Fürstentum Liechtenstein"),
    (VADUZ, "Städtle 32, Vaduz, Principality of Liechtenstein"),
    (VADUZ, "Städtle 32, Vaduz, Principauté de Liechtenstein"),
    (VADUZ, "Städtle 32, Vaduz, Лихтенштейн"),
    (VADUZ, "Städtle 32, Vaduz, リヒテンシュタイン"),
    (VADUZ, "Liechtenstein, 9490 Vaduz, Städtle 32"),
    (VADUZ, "Städtle 32, LI-9490 Vaduz"),
    (VADUZ, "Städtle 32, FL-9490 Vaduz"),
    (VADUZ, "Städtle 32, 9490 Vaduz, LIE"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, US"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, USA"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, U.S.A."),
    (BALTIMORE, "1926B Fleet Street, Baltimore, United States of America"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, Vereinigte Staaten"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, Estados Unidos"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, Maryland"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, MD"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, MD 21231"),
    (BALTIMORE, "1926B Fleet St, Baltimore, Maryland 21231, USA"),
    (QUEENS, "89-63 220th Street, NY"),
    (QUEENS, "89-63 220th Street, New York, USA"),
    (MOSCOW, "улица Гончарова 5, Москва, Россия"),
    (MOSCOW, "Россия, Москва, улица Гончарова, 5"),
    (MOSCOW, "улица Гончарова 5, Москва, Российская Федерация"),
    (MOSCOW, "улица Гончарова 5, Russia"),
    (TAIPEI, "南京西路 8號, 臺北市, Taiwan"),
    (TAIPEI, "台灣台北市中山區南京西路8號"),
    (VADUZ, "9490 Vaduz FL, Städtle 32"),
    (VADUZ, "LIECHTENSTEIN - 9490 VADUZ - STÄDTLE 32"),
    (VADUZ, "Städtle 32, Vaduz, Lichtenštejnsko"),
    (VADUZ, "Städtle 32, Vaduz, Λιχτενστάιν"),
    (VADUZ, "Städtle 32, Vaduz, 列支敦斯登"),
    (VADUZ, "Städtle 32 Vaduz Principato del Liechtenstein"),
    (VADUZ, "Vaduz, Principado de Liechtenstein, Städtle 32"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, Estados Unidos de América"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, 美国"),
    (BALTIMORE, "1926B Fleet Street, 21231, United States"),
    (QUEENS, "89-63 220th Street, New York 11427, U.S."),
    (MOSCOW, "улица Гончарова 5, РФ, Москва"),
    (TAIPEI, "台灣 臺北市 南京西路 8號"),
    (TAIPEI, "8號 南京西路, 台湾"),
    (TAIPEI, "南京西路8號, Republic of China"),
]


@pytest.mark.topic("countries")
@pytest.mark.parametrize(("where", "text"), COUNTRIES)
def test_countries_and_states_are_no_lost_words(open_map: OpenMap, where: str, text: str) -> None:
    found = ask(open_map(where), text)
    assert found["source"] == "address"
    assert found["match"]["unmatched"] == []
    assert found["confidence"] > 0.9


@pytest.mark.topic("countries")
def test_a_country_elsewhere_is_said(open_map: OpenMap) -> None:
    found = ask(open_map(VADUZ), "Städtle 32, Vaduz, Austria")
    assert found["match"]["unmatched"] == ["austria"]
    assert found["confidence"] <= 0.7


@pytest.mark.topic("countries")
@pytest.mark.parametrize("text", ["9490, li", "9490 LI", "LI-9490", "9490, Liechtenstein"])
def test_a_postcode_and_its_country(open_map: OpenMap, text: str) -> None:
    found = ask(open_map(VADUZ), text)
    assert found["postcode"] == "9490"
    assert found["match"]["unmatched"] == []


FILLERS = [
    (VADUZ, "c/o Meier, Städtle 32, 9490 Vaduz", "32", ["c/o Meier"]),
    (VADUZ, "Städtle 32, c/o Meier, 9490 Vaduz", "32", ["c/o Meier"]),
    (VADUZ, "z.Hd. Frau Müller, Städtle 32, Vaduz", "32", ["z.Hd. Frau Müller"]),
    (VADUZ, "Städtle Nr. 32, Vaduz", "32", ["nr"]),
    (VADUZ, "Städtle No. 32, Vaduz", "32", ["no"]),
    (VADUZ, "Städtle № 32, Vaduz", "32", []),
    (VADUZ, "Städtle n° 32, Vaduz", "32", []),
    (VADUZ, "Städtle 32, 3. Stock, Vaduz", "32", ["3", "stock"]),
    (VADUZ, "Städtle 32, 2nd floor, Vaduz", "32", ["2nd", "floor"]),
    (VADUZ, "Flat 3, Städtle 32, Vaduz", "32", ["flat", "3"]),
    (VADUZ, "Städtle 32, Top 5, Vaduz", "32", ["top", "5"]),
    (VADUZ, "Städtle 32, Whg. 7, Vaduz", "32", ["whg", "7"]),
    (VADUZ, "Städtle 32, Postfach 12, Vaduz", "32", ["postfach", "12"]),
    (VADUZ, "Städtle 32, P.O. Box 12, Vaduz", "32", None),
    (VADUZ, "Adresse: Städtle 32, Vaduz", "32", ["adresse"]),
    (VADUZ, "gegenüber Städtle 32, Vaduz", "32", ["gegenuber"]),
    (BALTIMORE, "Attn: Bob, 1926B Fleet Street, Baltimore", "1926B", ["Attn: Bob"]),
    (BALTIMORE, "1926B Fleet Street Apt 3, Baltimore", "1926B", ["apt", "3"]),
    (BALTIMORE, "#2 1926B Fleet Street, Baltimore", "1926B", ["#2"]),
    (BALTIMORE, "Suite 400, 1926B Fleet Street", "1926B", ["suite", "400"]),
    (MOSCOW, "улица Гончарова, 5, кв. 12", "5", ["кв", "12"]),
    (MOSCOW, "улица Гончарова 5, офис 3", "5", ["офис", "3"]),
    (TAIPEI, "南京西路8號5樓", "8號", ["5樓"]),
    (TAIPEI, "中山北路二段27巷2號四樓之8", "2號", ["四樓之8"]),
    (VADUZ, "Familie Ospelt c/o Meier, Städtle 32, Vaduz", "32", None),
    (VADUZ, "Städtle 32, 1. OG links, Vaduz", "32", None),
    (VADUZ, "Städtle 32, Erdgeschoss, Vaduz", "32", None),
    (VADUZ, "Städtle 32, EG, 9490 Vaduz", "32", None),
    (VADUZ, "Städtle 32 Büro 12, Vaduz", "32", None),
    (VADUZ, "Appartement 4, Städtle 32, Vaduz", "32", None),
    (VADUZ, "Städtle 32, étage 2, Vaduz", "32", None),
    (VADUZ, "Städtle 32, piso 3, Vaduz", "32", None),
    (VADUZ, "Städtle 32, interno 5, Vaduz", "32", None),
    (VADUZ, "Städtle 32, byt 7, Vaduz", "32", None),
    (VADUZ, "Städtle 32, daire 4, Vaduz", "32", None),
    (VADUZ, "Städtle 32, Eingang B, Vaduz", "32", None),
    (VADUZ, "à l'attention de M. Dupont, Städtle 32, Vaduz", "32", None),
    (VADUZ, "t.a.v. Jan, Städtle 32, Vaduz", "32", None),
    (BALTIMORE, "1926B Fleet Street, Unit 12, Baltimore", "1926B", None),
    (BALTIMORE, "1926B Fleet Street, Floor 2, Baltimore", "1926B", None),
    (BALTIMORE, "1926B Fleet St, Rm 5, Baltimore, MD", "1926B", None),
    (BALTIMORE, "Bldg 3, 1926B Fleet Street, Baltimore", "1926B", None),
    (BALTIMORE, "ATTN Accounts, 1926B Fleet Street, Baltimore", "1926B", None),
    (QUEENS, "89-63 220th Street, 2nd Floor", "89-63", None),
    (MOSCOW, "улица Гончарова 5, подъезд 2, этаж 3", "5", None),
    (MOSCOW, "для Иванова, улица Гончарова 5", "5", None),
    (MOSCOW, "улица Гончарова, д.5, помещение 4", "5", None),
    (TAIPEI, "南京西路8號3樓之1", "8號", None),
    (TAIPEI, "臺北市南京西路8號地下1樓", "8號", None),
]


@pytest.mark.topic("fillers")
@pytest.mark.parametrize(("where", "text", "number", "ignored"), FILLERS)
def test_what_says_nothing_about_where_is_left_out(
    open_map: OpenMap, where: str, text: str, number: str, ignored: list[str] | None
) -> None:
    found = ask(open_map(where), text)
    assert found["house_number"] == number
    assert found["match"]["unmatched"] == []
    assert found["confidence"] > 0.9
    if ignored is not None:
        assert found["match"].get("ignored", []) == ignored


@pytest.mark.topic("fillers")
@pytest.mark.parametrize(
    "text",
    ["asdf qwer zxcv", "asdfghjkl", "lorem ipsum dolor sit", "x7q9 zzkw", "Vaduz foo baz qux"],
)
def test_garbage_finds_nothing(open_map: OpenMap, text: str) -> None:
    assert open_map(VADUZ).forward(text, 3) == []


@pytest.mark.topic("fillers")
def test_each_lost_word_lowers_the_confidence(open_map: OpenMap) -> None:
    geocoder = open_map(VADUZ)
    texts = ["Städtle 32 Vaduz", "Städtle 32 Vaduz qwv", "Städtle 32 Vaduz qwv zxk"]
    sure = [ask(geocoder, text)["confidence"] for text in texts]
    assert sure[0] > 0.9 > sure[1] >= sure[2] + 0.05


NUMBERS = [
    (VADUZ, "Städtle32", "32"),
    (VADUZ, "32Städtle", "32"),
    (VADUZ, "Städtle ３２", "32"),
    (VADUZ, "Städtle ٣٢", "32"),
    (VADUZ, "Städtle 32-34", "32"),
    (BALTIMORE, "1926 B Fleet Street", "1926B"),
    (BALTIMORE, "1926b fleet st", "1926B"),
    (QUEENS, "8963 220th Street", "89-63"),
    (QUEENS, "89 63 220th Street", "89-63"),
    (QUEENS, "89–63 220th St", "89-63"),
    (MOSCOW, "ул. Руставели, д. 3, корп. 7", "3 к7"),
    (MOSCOW, "ул Руставели 3к7", "3 к7"),
    (MOSCOW, "Руставели дом 3 корпус 7", "3 к7"),
    (MOSCOW, "улица Руставели, 3 к. 7", "3 к7"),
    (MOSCOW, "Rustaveli 3k7", "3 к7"),
    (MOSCOW, "улица Фонвизина 4а", "4А"),
    (MOSCOW, "Fonvizina 4a", "4А"),
    (MOSCOW, "улица Гончарова дом 5", "5"),
    (TAIPEI, "中山北路二段27巷2-2號", "2之2號"),
    (TAIPEI, "中山北路二段27巷2之2號", "2之2號"),
    (TAIPEI, "中山北路2段27巷2號之2", "2之2號"),
    (TAIPEI, "中山北路二段２７巷２號", "2號"),
    (VADUZ, "Städtle, 32, Vaduz", "32"),
    (VADUZ, "32, Städtle", "32"),
    (VADUZ, "Städtle/32", "32"),
    (VADUZ, "Städtle Hausnummer 32", "32"),
    (VADUZ, "Städtle Haus 32", "32"),
    (VADUZ, "Städtle ३२", "32"),
    (VADUZ, "Städtle nr.32", "32"),
    (BALTIMORE, "1926-B Fleet Street", "1926B"),
    (BALTIMORE, "Fleet Street 1926B", "1926B"),
    (BALTIMORE, "1926b, fleet", "1926B"),
    (QUEENS, "220th Street 89-63", "89-63"),
    (QUEENS, "89/63 220th Street", "89-63"),
    (QUEENS, "220 St 8963", "89-63"),
    (QUEENS, "No. 89-63, 220th Street", "89-63"),
    (MOSCOW, "Руставели, 3, к7", "3 к7"),
    (MOSCOW, "Руставели 3 корп.7", "3 к7"),
    (MOSCOW, "улица Руставели д.3к7", "3 к7"),
    (MOSCOW, "ulitsa Rustaveli 3 korpus 7", "3 к7"),
    (MOSCOW, "Фонвизина, 4 А", "4А"),
    (MOSCOW, "5 улица Гончарова", "5"),
    (TAIPEI, "中山北路二段27巷 2之2", "2之2號"),
    (TAIPEI, "2號 中山北路二段27巷", "2號"),
    (TAIPEI, "中山北路二段27巷 No. 2", "2號"),
    (TAIPEI, "中山北路2段27巷2号之2", "2之2號"),
    (TAIPEI, "南京西路八號", "8號"),
    (TAIPEI, "中山北路二段二十七巷二號", "2號"),
    # One of two numbers of a house.
    (FILAIDHOO, "334 Filaidhoo", "334"),
    (FILAIDHOO, "335 Filaidhoo", "335"),
    (FILAIDHOO, "334/335 Filaidhoo", "334/335"),
    (FILAIDHOO, "Filaidhoo 220", "220"),
    # A corpus with a stroke, and a number of which only the structures are mapped.
    (MOSCOW, "Руставели 3/7", "3 к7"),
    (MOSCOW, "улица Руставели, 3 / 7", "3 к7"),
    (MOSCOW, "улица Руставели 9/11", "9/11"),
    (MOSCOW, "улица Руставели 13/12", "13/12 к2"),
    (MOSCOW, "Новомосковская 10/16", "10/16 c1"),
    (MOSCOW, "Новомосковская 10/16 стр. 1", "10/16 c1"),
]


@pytest.mark.topic("numbers")
@pytest.mark.parametrize(("where", "text", "number"), NUMBERS)
def test_house_numbers_of_the_world(open_map: OpenMap, where: str, text: str, number: str) -> None:
    found = ask(open_map(where), text)
    assert (found["house_number"], found["match"]["unmatched"]) == (number, [])


SCRIPTS = [
    (TAIPEI, "台北市中山區南京西路8號", "南京西路 8"),
    (TAIPEI, "台北市中山区南京西路8号", "南京西路 8"),
    (TAIPEI, "臺北市南京西路8號", "南京西路 8"),
    (TAIPEI, "104臺北市中山區康樂里2鄰中山北路二段27巷2號", "中山北路二段27巷 2號"),
    (TAIPEI, "台湾银行", "臺灣銀行"),
    (TAIPEI, "nanjing xi lu 8", "南京西路 8"),
    (TAIPEI, "Nanjing xilu 8", "南京西路 8"),
    (MOSCOW, "ulitsa Rustaveli 3", "Руставели"),
    (MOSCOW, "Rustaveli street", "Руставели"),
    (MOSCOW, "ul. Rustaveli 3", "Руставели"),
    (MOSCOW, "ulica Goncharova 5", "Гончарова, 5"),
    (MOSCOW, "Gončarova 5", "Гончарова, 5"),
    (MOSCOW, "Ogorodnyj projezd", "Огородный"),
    (MOSCOW, "Ogorodny proezd", "Огородный"),
    (MOSCOW, "Akademika Koroleva 12", "Королёва, 12"),
    (MOSCOW, "улица Академика Королева 12", "Королёва, 12"),
    (MOSCOW, "Akademika Korolyova street 12", "Королёва, 12"),
    (MOSCOW, "Dobrolyubova", "Добролюбова"),
    (MOSCOW, "Dobroljubova ulica", "Добролюбова"),
    (MOSCOW, "Milashenkova street", "Милашенкова"),
    (VADUZ, "Штедтле 32", "Städtle 32"),
    (VADUZ, "Фадуц", "Vaduz"),
    (VADUZ, "Вадуц", "Vaduz"),
    (VADUZ, "ファドゥーツ", "Vaduz"),
    (VADUZ, "Staedtle 32", "Städtle 32"),
    (VADUZ, "STADTLE 32", "Städtle 32"),
    (TAIPEI, "南京西路", "南京西路"),
    (TAIPEI, "南京西路八號", "南京西路 8"),
    (TAIPEI, "Taibei, Nanjing Xi Lu 8", "南京西路 8"),
    (TAIPEI, "Zhongshan North Road Section 2", "中山北路二段"),
    (TAIPEI, "Zhongshan N Rd Sec 2", "中山北路二段"),
    (TAIPEI, "zhongshan bei lu er duan 2 hao", "中山北路二段 2號"),
    (TAIPEI, "Zhongshan beilu erduan 2", "中山北路二段 2號"),
    (TAIPEI, "zhongshanbei lu 2 duan 27 xiang 2", "中山北路二段27巷 2號"),
    (TAIPEI, "Nanjing Dong Lu Yi Duan 2", "南京東路一段 2號"),
    (TAIPEI, "nanjingdong lu yiduan 2 hao", "南京東路一段 2號"),
    (TAIPEI, "Nánjīng Xīlù 8", "南京西路 8"),
    (MOSCOW, "Ул. Королева 12", "Корол"),
    (MOSCOW, "Goncharova 5, Moskva", "Гончарова, 5"),
    (MOSCOW, "GONCHAROVA 5 MOSCOW", "Гончарова, 5"),
    (MOSCOW, "Gontcharova 5", "Гончарова, 5"),
    (MOSCOW, "улица Гoнчарова 5", "Гончарова, 5"),
    (MOSCOW, "Фонвизина", "Фонвизина"),
    (MOSCOW, "Fonvisina", "Фонвизина"),
    (VADUZ, "Städtle 32, ვადუცი", "Städtle 32"),
    (VADUZ, "瓦都茲", "Vaduz"),
    (VADUZ, "瓦杜兹", "Vaduz"),
    (VADUZ, "ואדוץ", "Vaduz"),
    (VADUZ, "فادوتس", "Vaduz"),
    (VADUZ, "Βαντούζ", "Vaduz"),
    (VADUZ, "stÄdtle 32", "Städtle 32"),
    (VADUZ, "Stadtle 32, Vadutz", "Städtle 32"),
]


@pytest.mark.topic("scripts")
@pytest.mark.parametrize(("where", "text", "shown"), SCRIPTS)
def test_names_in_other_scripts(open_map: OpenMap, where: str, text: str, shown: str) -> None:
    assert shown in ask(open_map(where), text)["display_name"]


KINDS = [
    (VADUZ, "Post", "post_office"),
    (VADUZ, "Postamt", "post_office"),
    (VADUZ, "correos", "post_office"),
    (VADUZ, "Schloss", "castle"),
    (VADUZ, "castle", "castle"),
    (VADUZ, "château", "castle"),
    (VADUZ, "zamek", "castle"),
    (VADUZ, "Museum", "museum"),
    (VADUZ, "Museen", "museum"),
    (VADUZ, "muzeum vaduz", "museum"),
    (VADUZ, "Apotheke", "pharmacy"),
    (VADUZ, "pharmacie", "pharmacy"),
    (VADUZ, "farmacia", "pharmacy"),
    (VADUZ, "apteka", "pharmacy"),
    (VADUZ, "eczane vaduz", "pharmacy"),
    (VADUZ, "аптека", "pharmacy"),
    (VADUZ, "薬局", "pharmacy"),
    (VADUZ, "صيدلية", "pharmacy"),
    (VADUZ, "약국", "pharmacy"),
    (VADUZ, "ร้านขายยา", "pharmacy"),
    (VADUZ, "בית מרקחת", "pharmacy"),
    (VADUZ, "gyógyszertár", "pharmacy"),
    (VADUZ, "φαρμακείο", "pharmacy"),
    (VADUZ, "nhà thuốc", "pharmacy"),
    (VADUZ, "restaurante", "restaurant"),
    (VADUZ, "レストラン", "restaurant"),
    (VADUZ, "étterem", "restaurant"),
    (VADUZ, "banque", "bank"),
    (VADUZ, "银行", "bank"),
    (VADUZ, "Bankomat", "atm"),
    (VADUZ, "Geldautomat vaduz", "atm"),
    (VADUZ, "cash machine", "atm"),
    (VADUZ, "supermercado", "supermarket"),
    (VADUZ, "スーパーマーケット", "supermarket"),
    (VADUZ, "coiffeur", "hairdresser"),
    (VADUZ, "kadeřnictví", "hairdresser"),
    (VADUZ, "Bäckerei", "bakery"),
    (VADUZ, "bäcker", "bakery"),
    (VADUZ, "boulangerie", "bakery"),
    (VADUZ, "Eisdiele", "ice_cream"),
    (VADUZ, "WC", "toilets"),
    (VADUZ, "Rathaus", "townhall"),
    (VADUZ, "mairie", "townhall"),
    (VADUZ, "parliament", "parliament"),
    (VADUZ, "Polizei", "police"),
    (VADUZ, "Spielplatz vaduz", "playground"),
    (MOSCOW, "школа", "school"),
    (MOSCOW, "pharmacy", "pharmacy"),
    (MOSCOW, "банк", "bank"),
]


@pytest.mark.topic("kinds")
@pytest.mark.parametrize(("where", "text", "kind"), KINDS)
def test_words_for_kinds_in_many_languages(
    open_map: OpenMap, where: str, text: str, kind: str
) -> None:
    assert ask(open_map(where), text)["subcategory"] == kind


NEAR = [
    "Restaurant near Kunstmuseum Liechtenstein",
    "restaurant nahe Kunstmuseum Liechtenstein",
    "restaurant près de Kunstmuseum Liechtenstein",
    "restaurante cerca de Kunstmuseum Liechtenstein",
    "ristorante vicino a Kunstmuseum Liechtenstein",
    "restaurant a prop de Kunstmuseum Liechtenstein",
    "restaurace u Kunstmuseum Liechtenstein",
    "restauracja obok Kunstmuseum Liechtenstein",
    "ресторан рядом с Kunstmuseum Liechtenstein",
    "ravintola lähellä Kunstmuseum Liechtenstein",
]


@pytest.mark.topic("kinds")
@pytest.mark.parametrize("text", NEAR)
def test_what_is_near_comes_by_distance(open_map: OpenMap, text: str) -> None:
    geocoder = open_map(VADUZ)
    found = geocoder.forward(text, 3)
    assert [f["properties"]["match"]["near"] for f in found] == ["kunstmuseum liechtenstein"] * 3
    assert found[0]["properties"]["name"] == "CAFE im kunstmuseum"
    assert found[0]["properties"]["match"]["unmatched"] == []


CROSSINGS = [
    (VADUZ, "Städtle und Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "Städtle und Herrengasse Kreuzung", "Städtle & Herrengasse"),
    (VADUZ, "Ecke Städtle / Rathausgasse", "Städtle & Rathausgasse"),
    (VADUZ, "Städtle / Rathausgasse, Vaduz", "Städtle & Rathausgasse"),
    (VADUZ, "Äulestrasse & Städtle", "Äulestrasse & Städtle"),
    (VADUZ, "Aeulestr. & Städtle", "Äulestrasse & Städtle"),
    (VADUZ, "corner of Städtle and Rathausgasse", "Städtle & Rathausgasse"),
    (VADUZ, "angle de Städtle et Rathausgasse", "Städtle & Rathausgasse"),
    (VADUZ, "esquina de Städtle y Rathausgasse", "Städtle & Rathausgasse"),
    (QUEENS, "Hillside Ave and Winchester Blvd", "Hillside Avenue & Winchester Boulevard"),
    (QUEENS, "intersection of 222nd Street and Braddock Avenue", "222nd Street & Braddock Avenue"),
    (QUEENS, "222nd St @ Braddock Ave", "222nd Street & Braddock Avenue"),
    (QUEENS, "Braddock / 222nd", "Braddock Avenue & 222nd Street"),
    (QUEENS, "220th Street & Hillside Avenue", "220th Street & Hillside Avenue"),
    (QUEENS, "220th & Hillside", "220th Street & Hillside Avenue"),
    (BALTIMORE, "S Wolfe St at Fleet St", "South Wolfe Street & Fleet Street"),
    (BALTIMORE, "corner of Aliceanna Street and South Ann Street, Baltimore",
     "Aliceanna Street & South Ann Street"),
    (MOSCOW, "улица Руставели и улица Яблочкова", "улица Руставели & улица Яблочкова"),
    (TAIPEI, "南京西路與中山北路二段", "南京西路 & 中山北路二段"),
    (VADUZ, "Herrengasse Ecke Städtle", "Herrengasse & Städtle"),
    (VADUZ, "Städtle x Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "Städtle con Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "Städtle e Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "Kreuzung Städtle und Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "Städtle + Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "hoek van Städtle en Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "róg Städtle i Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "Städtle och Herrengasse", "Städtle & Herrengasse"),
    (VADUZ, "incrocio Städtle e Rathausgasse", "Städtle & Rathausgasse"),
    (BALTIMORE, "Fleet Street and South Wolfe Street, Baltimore, MD",
     "Fleet Street & South Wolfe Street"),
    (BALTIMORE, "Fleet & Wolfe", "Fleet Street & South Wolfe Street"),
    (BALTIMORE, "junction of Fleet Street and South Wolfe Street",
     "Fleet Street & South Wolfe Street"),
    (BALTIMORE, "Aliceanna St / S Ann St", "Aliceanna Street & South Ann Street"),
    (QUEENS, "Hillside Avenue at 220th Street, Queens", "Hillside Avenue & 220th Street"),
    (QUEENS, "220 St + Hillside Av", "220th Street & Hillside Avenue"),
    (QUEENS, "Winchester Boulevard corner Hillside Avenue",
     "Winchester Boulevard & Hillside Avenue"),
    (MOSCOW, "угол улицы Руставели и улицы Яблочкова", "улица Руставели & улица Яблочкова"),
    (MOSCOW, "Руставели / Яблочкова", "улица Руставели & улица Яблочкова"),
    (MOSCOW, "перекресток Руставели и Яблочкова", "улица Руставели & улица Яблочкова"),
    (MOSCOW, "Rustaveli & Yablochkova", "улица Руставели & улица Яблочкова"),
    (TAIPEI, "中山北路二段 & 南京西路", "中山北路二段 & 南京西路"),
    (TAIPEI, "南京西路和中山北路二段路口", "南京西路 & 中山北路二段"),
]  # fmt: skip


@pytest.mark.topic("crossings")
@pytest.mark.parametrize(("where", "text", "shown"), CROSSINGS)
def test_crossings_of_two_streets(open_map: OpenMap, where: str, text: str, shown: str) -> None:
    found = ask(open_map(where), text)
    assert (found["name"], found["subcategory"]) == (shown, "intersection")
    assert found["source"] == "place"


@pytest.mark.topic("crossings")
def test_a_crossing_lies_on_both_streets(open_map: OpenMap) -> None:
    geocoder = open_map(QUEENS)
    lon, lat = geocoder.forward("Hillside Ave & Winchester Blvd", 1)[0]["geometry"]["coordinates"]
    streets = geocoder.reverse(lon, lat, 15, 10, layer="street")
    assert {"Hillside Avenue", "Winchester Boulevard"} <= {s["properties"]["name"] for s in streets}


@pytest.mark.topic("crossings")
@pytest.mark.parametrize("text", ["Fritsch & Co", "Städtle 32 und 34", "Post und Bank"])
def test_an_and_is_not_always_a_crossing(open_map: OpenMap, text: str) -> None:
    assert ask(open_map(VADUZ), text)["subcategory"] != "intersection"


TYPED = [
    (VADUZ, "Städtle 32, 9490 Vaduz"),
    (VADUZ, "9490 Vaduz, Städtle 32"),
    (VADUZ, "Städtle 32, Vaduz, Liechtenstein"),
    (BALTIMORE, "1926B Fleet Street, Baltimore, MD 21231"),
    (QUEENS, "89-63 220th Street, NY 11427"),
    (MOSCOW, "улица Гончарова 5, Москва"),
    (VADUZ, "Rathausgasse, Vaduz"),
    (VADUZ, "Vaduz, Herrengasse"),
    (VADUZ, "Kunstmuseum Liechtenstein"),
    (VADUZ, "Regierungsgebäude Vaduz"),
    (VADUZ, "staedtle 32 vaduz"),
    (VADUZ, "32 Städtle, Vaduz"),
    (VADUZ, "Schloss Vaduz"),
    (VADUZ, "FL-9490 Vaduz, Städtle 32"),
    (VADUZ, "Postmuseum Vaduz"),
    (BALTIMORE, "Aliceanna Street, Baltimore"),
    (BALTIMORE, "South Wolfe Street, Baltimore"),
    (BALTIMORE, "1926B Fleet St, 21231"),
    (BALTIMORE, "Baltimore, Fleet Street 1926B"),
    (QUEENS, "220th Street 89-63, Queens"),
    (QUEENS, "Hillside Avenue, Queens Village"),
    (QUEENS, "Winchester Boulevard 11427"),
    (QUEENS, "89-63 220 St"),
    (QUEENS, "222nd Street & Braddock Avenue"),
    (MOSCOW, "Москва, улица Гончарова 5"),
    (MOSCOW, "5 улица Гончарова"),
    (MOSCOW, "ulitsa Goncharova 5"),
    (MOSCOW, "Академика Королёва 12"),
    (MOSCOW, "127254 Москва, улица Гончарова 5"),
    (TAIPEI, "南京西路 8號, 104 臺北市"),
    (TAIPEI, "臺北市南京西路8號"),
    (TAIPEI, "8號 南京西路"),
    (TAIPEI, "nanjing west road"),
    (LEEDS, "29 Eastgate, Leeds, LS2 7LY"),
    (LEEDS, "3 Quarry Hill, LS2 7PD"),
    (LEEDS, "Kendells Bistro"),
    (LEEDS, "LS9 8AB, 59 Brussels Street"),
    (FILAIDHOO, "Filaidhoo 334/335"),
    (QUEENS, "89-63 220th Street, Queens"),
    (TAIPEI, "天津街 65號, 臺北市"),
]


@pytest.mark.topic("typing")
@pytest.mark.parametrize(("where", "text"), TYPED)
def test_what_is_found_while_typing_stays(open_map: OpenMap, where: str, text: str) -> None:
    geocoder = open_map(where)
    wanted = geocoder.forward(text, 1)[0]["id"]
    seen = False
    for length in range(4, len(text) + 1):
        is_there = wanted in [f.get("id") for f in geocoder.autocomplete(text[:length], 10)]
        assert is_there or not seen, text[:length]
        seen = is_there
    assert seen


@pytest.mark.topic("typing")
@pytest.mark.parametrize("begin", ["Schlo", "Apoth", "Restaur", "Museu", "pharm"])
def test_kinds_are_completed(open_map: OpenMap, begin: str) -> None:
    kinds = {f["properties"]["subcategory"] for f in open_map(VADUZ).autocomplete(begin, 5)}
    assert kinds & {"castle", "pharmacy", "restaurant", "museum"}


@pytest.mark.topic("order")
def test_a_street_in_another_town_has_a_low_confidence(geocoder: Geocoder) -> None:
    found = geocoder.structured(Address("Clematisweg", "2", city="Altdorf"), 5)
    first, *others = [feature["properties"] for feature in found]
    assert (first["name"], first["match"]["unmatched"]) == ("Altdorf", ["Clematisweg", "2"])
    assert first["confidence"] <= 0.5
    elsewhere = [p for p in others if p.get("street") == "Clematisweg"]
    assert elsewhere
    assert all(p["confidence"] <= 0.4 for p in elsewhere)
    assert all("altdorf" in p["match"]["unmatched"] for p in elsewhere)


@pytest.mark.topic("order")
@pytest.mark.parametrize(
    "written", ["LI", "Liechtenstein", "Fürstentum Liechtenstein", "liechtenstein"]
)
def test_a_country_alone(geocoder: Geocoder, written: str) -> None:
    found = geocoder.structured(Address(country=written), 1)
    assert found[0]["properties"]["name"] == "Testland"
    assert geocoder.structured(Address(country="AT"), 1) == []


@pytest.mark.topic("order")
def test_names_and_kinds_in_fields(geocoder: Geocoder) -> None:
    found = geocoder.structured(Address(name="restaurant", city="Altdorf"), 1)
    assert found[0]["properties"]["name"] == "Vesuvio"
    found = geocoder.structured(Address(name="Vesuvio", country="LI"), 1)
    assert found[0]["properties"]["name"] == "Vesuvio"
    lost = geocoder.structured(Address(name="Nirgendwo", city="Altdorf"), 1)[0]["properties"]
    assert (lost["name"], lost["match"]["unmatched"]) == ("Altdorf", ["Nirgendwo"])


POSTCODES = [
    (BALTIMORE, "1926B Fleet Street, 21231-1234", "1926B"),
    (BALTIMORE, "1926B Fleet Street, Baltimore MD 21231-0001, USA", "1926B"),
    (BALTIMORE, "1926B Fleet Street, 2123", "1926B"),
    (BALTIMORE, "21231 1926B Fleet Street", "1926B"),
    (TAIPEI, "南京西路 3號, 104002", "3"),
    (TAIPEI, "南京西路8號, 10441", "8號"),
    (MOSCOW, "127254, улица Гончарова 5", "5"),
    (MOSCOW, "улица Гончарова 5, 127", "5"),
    (VADUZ, "9490 Städtle 32", "32"),
    (VADUZ, "Städtle 32, FL 9490", "32"),
    (VADUZ, "Städtle 32, CH-9490", "32"),
    (VADUZ, "9490, Städtle 32, Vaduz", "32"),
    (VADUZ, "Städtle 32 9490", "32"),
    (VADUZ, "Städtle 32, 949", "32"),
    (BALTIMORE, "1926B Fleet Street MD21231", "1926B"),
    (BALTIMORE, "1926B Fleet Street, 212311234", "1926B"),
    (BALTIMORE, "21231-4321, 1926B Fleet Street", "1926B"),
    (BALTIMORE, "1926B Fleet Street, 212", "1926B"),
    (BALTIMORE, "1926B Fleet Street, zip 21231", "1926B"),
    (QUEENS, "89-63 220th Street 11427-2001", "89-63"),
    (QUEENS, "89-63 220th Street, NY 11427", "89-63"),
    (QUEENS, "11427, 89-63 220th Street", "89-63"),
    (MOSCOW, "127254 улица Гончарова 5", "5"),
    (MOSCOW, "Москва 127254, улица Гончарова 5", "5"),
    (MOSCOW, "улица Гончарова 5, индекс 127254", "5"),
    (TAIPEI, "104 南京西路8號", "8號"),
    (TAIPEI, "10441 臺北市南京西路8號", "8號"),
    (TAIPEI, "南京西路8號 104", "8號"),
    # Of three figures and two more; the house has the shorter one, others the longer.
    (TAIPEI, "南京西路8號, 104-41", "8號"),
    (TAIPEI, "中山北路二段 2號, 104-50", "2號"),
    (TAIPEI, "10450 中山北路二段2號", "2號"),
    (LEEDS, "29 Eastgate, Leeds LS2 7LY", "29"),
    (LEEDS, "29 Eastgate, LS27LY", "29"),
    (LEEDS, "29 eastgate ls2 7ly", "29"),
    (LEEDS, "LS2 7LY, 29 Eastgate", "29"),
    (LEEDS, "LS27LY 29 Eastgate", "29"),
    (LEEDS, "29 Eastgate, LS2-7LY", "29"),
    (LEEDS, "29 Eastgate, LS2", "29"),
    (LEEDS, "29 Eastgate, Leeds, LS2 7", "29"),
    (LEEDS, "59 Brussels Street LS9 8AB, UK", "59"),
    (LEEDS, "1 Lady Beck Close, ls2 7qx, United Kingdom", "1"),
]


@pytest.mark.topic("postcodes")
@pytest.mark.parametrize(("where", "text", "number"), POSTCODES)
def test_postcodes_longer_and_shorter(
    open_map: OpenMap, where: str, text: str, number: str
) -> None:
    found = ask(open_map(where), text)
    assert (found["house_number"], found["match"]["unmatched"]) == (number, [])


TYPOS = [
    # One character of the name is another, lost, doubled, swapped, or written twice.
    (TAIPEI, "南路东路一段 2號", "南京東路一段", "2號"),
    (TAIPEI, "中北路二段 2號, 臺北市", "中山北路二段", "2號"),
    (TAIPEI, "中山北中路二段 2號, 臺北市", "中山北路二段", "2號"),
    (TAIPEI, "中山北路二二段 2號, 臺北市", "中山北路二段", "2號"),
    (TAIPEI, "中山山北路二段 2號", "中山北路二段", "2號"),
    (TAIPEI, "中山北中二段 2號, 臺北市", "中山北路二段", "2號"),
    (TAIPEI, "中二北路二段 2號, 臺北市", "中山北路二段", "2號"),
    (TAIPEI, "山中北路二段 9號, 臺北市", "中山北路二段", "9號"),
    (TAIPEI, "南京東一路段 2號, 臺北市", "南京東路一段", "2號"),
    (TAIPEI, "南京路東一段 2號, 臺北市", "南京東路一段", "2號"),
    (TAIPEI, "南東路一段 2號, 臺北市", "南京東路一段", "2號"),
    (TAIPEI, "京南東路一段 2號", "南京東路一段", "2號"),
    (TAIPEI, "南京束路一段 2號, 臺北市", "南京東路一段", "2號"),
    (MOSCOW, "улица Рустваели 3", "улица Руставели", "3"),
    (MOSCOW, "улица Гончровa 5", "улица Гончарова", "5"),
]


@pytest.mark.topic("scripts")
@pytest.mark.parametrize(("where", "text", "street", "number"), TYPOS)
def test_typos_in_other_scripts(
    open_map: OpenMap, where: str, text: str, street: str, number: str
) -> None:
    found = ask(open_map(where), text)
    assert (found["street"], found["house_number"]) == (street, number)


HAN = [
    # Not the subway that the street has in common with its stations.
    ("南京西路 3號, 104 臺北市", "南京西路", "3號"),
    ("104 臺北市, 3號 南京西路", "南京西路", "3號"),
    ("台灣台北市南京西路8號", "南京西路", "8號"),
    ("臺灣臺北市中山區南京西路8號", "南京西路", "8號"),
    ("台湾台北市中山北路2段2号", "中山北路二段", "2號"),
    ("臺北市中山北路二段16巷3號", "中山北路二段16巷", "3號"),
    # A number that is in the name, too.
    ("中山北路二段 2號", "中山北路二段", "2號"),
    ("中山北路2段 2", "中山北路二段", "2號"),
    # What stands behind a comma is no part of the number.
    ("中山北路二段27巷 4號, 1", "中山北路二段27巷", "4號"),
]


@pytest.mark.topic("scripts")
@pytest.mark.parametrize(("text", "street", "number"), HAN)
def test_addresses_in_han(open_map: OpenMap, text: str, street: str, number: str) -> None:
    found = ask(open_map(TAIPEI), text)
    assert (found["street"], found["house_number"]) == (street, number)


@pytest.mark.topic("typing")
@pytest.mark.parametrize("begin", ["中山北路二", "9號 中山北路二", "南京東路一"])
def test_a_numeral_that_is_no_number_yet(open_map: OpenMap, begin: str) -> None:
    streets = [f["properties"].get("street", "") for f in open_map(TAIPEI).autocomplete(begin, 10)]
    assert any(street.startswith((begin[-5:], begin[:5])) for street in streets)


def test_one_sound_is_not_a_name(open_map: OpenMap) -> None:
    # Every road has the sound of 路, and every north that of 北.
    for feature in open_map(TAIPEI).forward("南京西路", 10):
        assert "南京" in str(feature["properties"])


@pytest.mark.topic("order")
@pytest.mark.parametrize("town", ["Incles", "Soldeu"])
def test_the_same_number_in_two_towns_of_a_street(open_osm: OpenOsm, town: str) -> None:
    nodes: dict[int, Any] = {1: (1.65, 42.58), 2: (1.67, 42.58)}
    for i, name in enumerate(["Incles", "Soldeu", "Ransol"]):
        tags = {"addr:street": "Carretera General", "addr:housenumber": "2", "addr:city": name}
        nodes[10 + i] = (1.655 + 0.004 * i, 42.5801, tags)
    ways = {5: ([1, 2], {"highway": "primary", "name": "Carretera General"})}
    found = ask(open_osm("two-towns", nodes, ways), f"Carretera General 2, {town}")
    assert (found["city"], found["match"]["unmatched"]) == (town, [])


@pytest.mark.topic("numbers")
def test_blocks_of_queens(open_osm: OpenOsm) -> None:
    """A number between two of its block; no range, and no number of another street's ends."""
    numbers = ["89-61", "89-65", "91-03", "21-31", "33-40", "93-12", "93-30"]
    nodes: dict[int, Any] = {1: (-73.74, 40.73), 2: (-73.73, 40.73)}
    for i, number in enumerate(numbers):
        tags = {"addr:street": "220th Street", "addr:housenumber": number}
        nodes[10 + i] = (-73.739 + 0.0005 * i, 40.7301, tags)
    ways = {5: ([1, 2], {"highway": "residential", "name": "220th Street"})}
    geocoder = open_osm("blocks", nodes, ways)
    found = ask(geocoder, "89-63 220th Street")
    assert (found["house_number"], found["source"]) == ("89-63", "interpolation")
    lon = geocoder.forward("89-63 220th Street", 1)[0]["geometry"]["coordinates"][0]
    assert -73.739 < lon < -73.7385
    assert ask(geocoder, "93-20 220th Street")["source"] == "interpolation"
    # Of another block, another side, not between, no number of that kind.
    for number in ("90-63", "93-21", "93-50", "25", "90"):
        assert "house_number" not in ask(geocoder, f"{number} 220th Street"), number


@pytest.mark.topic("numbers")
def test_a_number_of_many_words(open_osm: OpenOsm) -> None:
    """Of a street whose name is the number of another house."""
    numbers = ["Ferry Terminal First Floor", "G.E.K.A.M Building 9th Floor", "H. Marine Dream"]
    nodes: dict[int, Any] = {1: (73.51, 4.17), 2: (73.52, 4.17)}
    nodes[9] = (73.53, 4.17, {"addr:street": "Majeedhee", "addr:housenumber": "Boduthakuru Magu"})
    for i, number in enumerate(numbers):
        tags = {"addr:street": "Boduthakuru Magu", "addr:housenumber": number, "addr:city": "Male"}
        nodes[10 + i] = (73.511 + 0.002 * i, 4.1701, tags)
    for i in range(400):  # more than are looked at
        nodes[50 + i] = (73.5 + i / 1e4, 4.18, {"shop": "tea", "name": f"Male {i}"})
    ways = {5: ([1, 2], {"highway": "primary", "name": "Boduthakuru Magu"})}
    geocoder = open_osm("many-words", nodes, ways)
    for number in numbers:
        found = ask(geocoder, f"Boduthakuru Magu {number}, Male")
        assert (found["house_number"], found["match"]["unmatched"]) == (number, [])


@pytest.fixture(scope="module")
def island(open_osm: OpenOsm) -> Geocoder:
    nodes: dict[int, Any] = {
        1: (73.51, 4.17), 2: (73.52, 4.17),
        3: (73.515, 4.171, {"place": "town", "name": "Malda"}),
        4: (73.515, 4.1701, {"shop": "travel_agency", "name": "Select", "addr:street": "Odi Magu",
                             "addr:housenumber": "H. Marine Dream"}),
        5: (73.6, 4.17, {"addr:street": "Odi Magu", "addr:housenumber": "1", "addr:city": "Elsen",
                         "addr:postcode": "10598"}),
    }  # fmt: skip
    nodes |= {100 + i: (73.5 + i / 1e3, 4.3, {"shop": "tea", "name": f"Malda {i}"})
              for i in range(60)}  # fmt: skip
    ways = {9: ([1, 2], {"highway": "primary", "name": "Odi Magu"})}
    return open_osm("island", nodes, ways)


@pytest.mark.topic("numbers")
@pytest.mark.parametrize("text", ["H. Marine Dream", "Marine Dream", "H. Marine Dream, Odi Magu"])
def test_a_house_name_in_place_of_a_number(island: Geocoder, text: str) -> None:
    assert island.forward(text, 1)[0]["id"] == "node/4"


@pytest.mark.topic("postcodes")
def test_a_town_with_the_postcode_of_another(island: Geocoder) -> None:
    found = ask(island, "Malda 10598")
    assert (found["name"], found["match"]["unmatched"]) == ("Malda", ["10598"])
    assert found["confidence"] <= 0.7


@pytest.mark.topic("numbers")
def test_a_house_that_says_its_street_before_one_that_is_near_it(open_osm: OpenOsm) -> None:
    nodes: dict[int, Any] = {
        1: (1.51, 42.5), 2: (1.52, 42.5),
        3: (1.512, 42.5001, {"addr:street": "Carrer Nou", "addr:housenumber": "2"}),
        4: (1.518, 42.5001, {"addr:housenumber": "2"}),
    }  # fmt: skip
    ways = {5: ([1, 2], {"highway": "residential", "name": "Carrer Nou"})}
    assert open_osm("says", nodes, ways).forward("Carrer Nou 2", 1)[0]["id"] == "node/3"
