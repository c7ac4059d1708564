"""The keys of Nominatim's addresses, and where Photon and Pelias have the same areas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mapyard.geocoding.words.country_names import read_country_names, read_long_codes
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import square, write_osm

#: Boundaries of the country, each in the one before: level, name, code of ISO 3166-2.
LEVELS = [
    (2, "Landia", ""), (3, "Norden", ""), (4, "Staat", "DE-XX"), (5, "Bezirk", ""),
    (6, "Kreis", "DE-XX-K"), (7, "Gemeinde", ""), (8, "Grossstadt", ""), (9, "Mitte", ""),
    (10, "Altstadt", ""), (11, "Hafen", ""),
]  # fmt: skip


def write_map(path: Path) -> Path:
    """Boundaries of all levels around 10.5, 50.5, and four settlements beside them."""
    nodes: dict[int, Any] = {}
    ways: dict[int, Any] = {}
    relations: dict[int, Any] = {}

    def add(number: int, west: float, south: float, size: float, **tags: str) -> None:
        corners = square(1_000 + 10 * number, west, south, size)
        nodes.update(corners)
        ways[100 + number] = ([*corners, next(iter(corners))], {})
        tags |= {"type": "boundary", "boundary": "administrative"}
        relations[200 + number] = ([("way", 100 + number, "outer")], tags)

    for number, (level, name, iso) in enumerate(LEVELS):
        margin = 0.001 * (12 - level)
        tags = {"admin_level": str(level), "name": name, "name:en": f"{name} EN"}
        if iso:
            tags["ISO3166-2"] = iso
        if level == 2:
            tags["ISO3166-1:alpha2"] = "DE"
        if level == 8:
            tags["place"] = "city"
        add(number, 10.5 - margin, 50.5 - margin, 0.05 + 2 * margin, **tags)
    nodes[10] = (10.51, 50.51, {"place": "quarter", "name": "Speicher"})
    nodes[11] = (10.5102, 50.5102, {"place": "neighbourhood", "name": "Kai"})
    for index, kind in enumerate(("town", "village", "hamlet", "isolated_dwelling")):
        nodes[20 + index] = (10.7 + index, 50.7, {"place": kind, "name": f"Ort {index}"})
        nodes[30 + index] = (10.699 + index, 50.7)
        nodes[40 + index] = (10.701 + index, 50.7)
        name = {"highway": "residential", "name": f"Weg {index}"}
        ways[20 + index] = ([30 + index, 20 + index, 40 + index], name)
    nodes[50], nodes[51] = (10.508, 50.5101), (10.512, 50.5101)
    ways[50] = ([50, 51], {"highway": "residential", "name": "Kaistrasse"})
    house = {"addr:street": "Kaistrasse", "addr:housenumber": "7", "addr:postcode": "20457"}
    nodes[52] = (10.51, 50.5102, house)
    cafe = {**house, "addr:housenumber": "9", "amenity": "cafe", "name": "Zum Anker"}
    nodes[53] = (10.511, 50.5102, cafe)
    nodes[54] = (10.509, 50.5102, {"tourism": "museum", "name": "Fischmuseum"})
    return write_osm(path, nodes, ways, relations)


@pytest.fixture(scope="module")
def client(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalClient]:
    source = write_map(tmp_path_factory.mktemp("levels") / "levels.osm")
    with LocalClient(Settings(data=build_once("levels", source, ["text"]))) as made:
        yield made


def find(client: LocalClient, text: str, **more: Any) -> dict[str, Any]:
    params = {"q": text, "format": "jsonv2", "addressdetails": 1, "limit": 1, **more}
    answer = client.get("/nominatim/search", params=params)
    assert answer.status_code == 200, answer.text
    (place,) = answer.json()
    found: dict[str, Any] = place
    return found


AROUND = {
    "neighbourhood": "Kai",
    "suburb": "Altstadt", "city_district": "Mitte", "city": "Grossstadt",
    "municipality": "Gemeinde", "county": "Kreis", "ISO3166-2-lvl6": "DE-XX-K",
    "state_district": "Bezirk", "state": "Staat", "ISO3166-2-lvl4": "DE-XX",
    "region": "Norden", "country": "Landia", "country_code": "de",
}  # fmt: skip


def test_a_house_has_every_part(client: LocalClient) -> None:
    address = find(client, "Kaistrasse 7")["address"]
    expected = {"house_number": "7", "road": "Kaistrasse", "postcode": "20457", **AROUND}
    # The boundary of level 11 and the node are both neighbourhoods: the smaller one counts.
    assert {**address, "neighbourhood": "Kai"} == expected
    assert address["neighbourhood"] in ("Kai", "Hafen")
    assert list(address)[:3] == ["house_number", "road", "neighbourhood"]
    assert list(address)[-3:] == ["postcode", "country", "country_code"]


def test_a_thing_comes_under_its_own_class(client: LocalClient) -> None:
    cafe = find(client, "Zum Anker")
    assert cafe["addresstype"] == "amenity"
    assert list(cafe["address"].items())[:3] == [
        ("amenity", "Zum Anker"), ("house_number", "9"), ("road", "Kaistrasse"),
    ]  # fmt: skip
    museum = find(client, "Fischmuseum")
    assert museum["address"]["tourism"] == "Fischmuseum"
    assert "tourism" not in find(client, "Kaistrasse")["address"]


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("Landia", "country", ["country", "country_code"]),
        ("Staat", "state", ["state", "ISO3166-2-lvl4", "region", "country", "country_code"]),
        ("Kreis", "county", ["county", "ISO3166-2-lvl6", "state_district", "state"]),
        ("Gemeinde", "municipality", ["municipality", "county"]),
        ("Grossstadt", "city", ["city", "municipality"]),
        ("Mitte", "city_district", ["city_district", "city"]),
        ("Altstadt", "suburb", ["suburb", "city_district"]),
        ("Ort 0", "town", ["town"]),
        ("Ort 1", "village", ["village"]),
        ("Ort 2", "hamlet", ["hamlet"]),
        ("Ort 3", "isolated_dwelling", ["isolated_dwelling"]),
        ("Kaistrasse", "road", ["road", "neighbourhood"]),
    ],
)
def test_an_area_comes_first_and_knows_what_is_around(
    client: LocalClient, text: str, kind: str, parts: list[str]
) -> None:
    place = find(client, text)
    assert place["name"] == text
    assert place["addresstype"] == kind
    assert list(place["address"])[: len(parts)] == parts
    assert place["address"][kind] == text


@pytest.mark.parametrize(("index", "kind"), [(0, "town"), (1, "village"), (2, "hamlet")])
def test_a_street_has_its_settlement_by_its_kind(
    client: LocalClient, index: int, kind: str
) -> None:
    address = find(client, f"Weg {index}")["address"]
    assert address["road"] == f"Weg {index}"
    assert address[kind] == f"Ort {index}"


def test_reverse_and_lookup_have_the_same_parts(client: LocalClient) -> None:
    params: dict[str, Any] = {"lat": 50.5102, "lon": 10.51, "format": "jsonv2"}
    there = client.get("/nominatim/reverse", params=params).json()
    found = find(client, "Kaistrasse 7")
    assert there["address"] == found["address"]
    params = {"osm_ids": "N52,R204", "format": "jsonv2"}
    house, county = client.get("/nominatim/lookup", params=params).json()
    assert house["address"] == found["address"]
    assert list(county["address"])[:2] == ["county", "ISO3166-2-lvl6"]
    params = {"lat": 50.5102, "lon": 10.51, "format": "jsonv2", "accept-language": "en"}
    there = client.get("/nominatim/reverse", params=params).json()
    assert there["address"]["state_district"] == "Bezirk EN"


def test_geocodejson_has_the_boundaries_by_their_level(client: LocalClient) -> None:
    params: dict[str, Any] = {"q": "Kaistrasse 7", "format": "geocodejson", "limit": 1}
    (feature,) = client.get("/nominatim/search", params=params).json()["features"]
    inner = feature["properties"]["geocoding"]
    assert inner["admin"] == {f"level{level}": name for level, name, _ in reversed(LEVELS)}
    assert (inner["district"], inner["city"]) == ("Mitte", "Grossstadt")


def test_pelias_names_the_areas_with_their_ids(client: LocalClient) -> None:
    answer = client.get("/pelias/v1/search", params={"text": "Kaistrasse 7", "size": 1}).json()
    properties = answer["features"][0]["properties"]
    assert properties["layer"] == "address"
    areas = {
        "country": "Landia", "macroregion": "Norden", "region": "Staat", "macrocounty": "Bezirk",
        "county": "Kreis", "localadmin": "Gemeinde", "locality": "Grossstadt", "borough": "Mitte",
    }  # fmt: skip
    assert {layer: properties[layer] for layer in areas} == areas
    assert (properties["country_a"], properties["region_a"]) == ("DEU", "XX")
    for layer, name in areas.items():
        params = {"ids": properties[f"{layer}_gid"]}
        (found,) = client.get("/pelias/v1/place", params=params).json()["features"]
        assert found["properties"]["name"] == name
        assert found["properties"]["layer"] == layer
    for code in ("DEU", "DE", "deu"):
        params = {"text": "Kaistrasse 7", "boundary.country": code}
        assert client.get("/pelias/v1/search", params=params).json()["features"]
    params = {"text": "Kaistrasse 7", "boundary.country": "XXX"}
    assert client.get("/pelias/v1/search", params=params).status_code == 400


def test_photon_has_locality_and_district(client: LocalClient) -> None:
    answer = client.get("/photon/api", params={"q": "Kaistrasse 7", "limit": 1}).json()
    properties = answer["features"][0]["properties"]
    assert properties["city"] == "Grossstadt"
    assert {"locality", "district"} <= set(properties)


def test_our_own_answer_lists_the_areas_on_request(client: LocalClient) -> None:
    (plain,) = client.get("/api/v1/geocode", params={"q": "Kaistrasse 7"}).json()["features"]
    assert "areas" not in plain["properties"]
    (house,) = client.get(
        "/api/v1/geocode", params={"q": "Kaistrasse 7", "areas": "true"}
    ).json()["features"]  # fmt: skip
    areas = house["properties"]["areas"]
    assert [area["name"] for area in areas if "admin_level" in area] == [n for _, n, _ in LEVELS]
    assert areas[2] == {
        "name": "Staat", "osm_type": "relation", "osm_id": 202, "admin_level": 4,
        "iso3166_2": "DE-XX",
    }  # fmt: skip


def test_codes_of_countries() -> None:
    codes = read_long_codes()
    assert len(codes) == 249
    for code in ("AD", "DE", "GB", "US", "TL", "ZW"):
        assert (codes[code].lower(),) in read_country_names((code,))
