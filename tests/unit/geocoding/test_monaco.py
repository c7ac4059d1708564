"""Queries that people would type about Monaco, and what they expect to see first."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mapyard.geocoding.geocoder import Geocoder

#: Query → what the first result's display name must begin with, and its kind.
FIRST = [
    ("Monaco", "Monaco", "place"),
    ("monaco ville", "Monaco-Ville", "place"),
    ("Monte Carlo", "Monte-Carlo", "place"),
    ("montecarlo", "Monte-Carlo", "place"),
    ("モナコ", "Monaco", "place"),
    ("موناكو", "Monaco", "place"),
    ("la condamine", "La Condamine", "place"),
    ("fontvieille", "Fontvieille", "place"),
    ("rue grimaldi", "Rue Grimaldi", "highway"),
    ("r. grimaldi monaco", "Rue Grimaldi", "highway"),
    ("rue grimadli", "Rue Grimaldi", "highway"),
    ("avenue de la costa", "Avenue de la Costa", "highway"),
    ("av costa", "Avenue de la Costa", "highway"),
    ("bd des moulins", "Boulevard des Moulins", "highway"),
    ("boulevard moulins monte-carlo", "Boulevard des Moulins", "highway"),
    ("Boulevard d'Italie", "Boulevard d'Italie", "highway"),
    ("bd italie monaco", "Boulevard d'Italie", "highway"),
    ("boulevard albert ier", "Boulevard Albert 1er", "highway"),
    ("place du casino", "Place du Casino", None),
    ("casino de monte carlo", "Casino de Monte Carlo", "amenity"),
    ("musée océanographique", "Musée Océanographique", "tourism"),
    ("musee oceanographique", "Musée Océanographique", "tourism"),
    ("mussee oceanographique monaco", "Musée Océanographique", "tourism"),
    ("gare de monaco", "Monaco - Monte Carlo", "railway"),
    ("palais princier", "Palais princier", None),
    ("hotel hermitage", "Hermitage", "tourism"),
    ("pharmacie monaco", None, "amenity"),
    ("apotheke monaco", None, "amenity"),
    ("25 boulevard de suisse", "Monaco Telecom, 25 Boulevard de Suisse", "place"),
    ("Boulevard de Suisse 25, 98000 Monaco", "Monaco Telecom, 25 Boulevard de Suisse", "place"),
]


@pytest.mark.topic("order")
@pytest.mark.parametrize(("text", "name", "category"), FIRST)
def test_first_result(
    monaco_geocoder: Geocoder, text: str, name: str | None, category: str | None
) -> None:
    features = monaco_geocoder.forward(text, 3)
    assert features
    properties = features[0]["properties"]
    if name is not None:
        assert properties["display_name"].startswith(name)
    if category is not None:
        assert properties["category"] == category
    assert properties["country_code"] in ("MC", "FR")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mon", "Monaco"),
        ("rue gri", "Rue Grimaldi"),
        ("rue grimaldi m", "Rue Grimaldi"),
        ("musee oce", "Musée Océanographique"),
        ("avenue de la cos", "Avenue de la Costa"),
        ("grimladi", "Rue Grimaldi"),
        ("boulevard de suisse 2", "25 Boulevard de Suisse"),
        ("fontv", "Fontvieille"),
    ],
)
def test_autocomplete_top_five(monaco_geocoder: Geocoder, text: str, name: str) -> None:
    features = monaco_geocoder.autocomplete(text, 5)
    assert any(name in feature["properties"]["display_name"] for feature in features)


def test_houses_are_offered_from_the_first_digit(monaco_geocoder: Geocoder) -> None:
    def sources(text: str) -> list[str]:
        found = monaco_geocoder.autocomplete(text, 10)
        return [feature["properties"]["source"] for feature in found]

    assert "address" not in sources("boulevard de suis")
    assert sources("boulevard de suisse 2")[0] == "address"
    numbers = [
        feature["properties"]["house_number"]
        for feature in monaco_geocoder.autocomplete("boulevard de suisse 1", 10)
        if feature["properties"]["source"] == "address"
    ]
    assert numbers
    assert all("1" in number for number in numbers)
    assert "address" in sources("boulevard de suisse")


def test_every_address_is_found_in_four_spellings(monaco_geocoder: Geocoder) -> None:
    g = monaco_geocoder.gazetteer
    entries = [
        entry
        for entry in range(len(g.address_row))
        if g.store.tags(int(g.address_row[entry])).get("addr:street")
    ]
    entries = random.Random(1).sample(entries, 150)
    missed: list[str] = []
    asked = 0
    for entry in entries:
        tags = g.store.tags(int(g.address_row[entry]))
        street, number = tags["addr:street"], tags["addr:housenumber"]
        town = f"{tags.get('addr:postcode', '')} {tags.get('addr:city', '')}".strip()
        for text in (
            f"{street} {number}, {town}",
            f"{town} {number} {street}",
            f"{number} {street}".lower(),
            f"{street.replace('Avenue', 'Av.').replace('Boulevard', 'Bd')} {number}",
        ):
            asked += 1
            features = monaco_geocoder.forward(text, 1)
            if not features or not _is_house(features[0]["properties"], street, number):
                missed.append(text)
    assert len(missed) / asked <= 0.01, missed


def _is_house(properties: dict[str, Any], street: str, number: str) -> bool:
    return properties.get("street", "").lower() == street.lower() and (
        properties.get("house_number", "").lower() == number.lower()
    )


def test_reverse_batch_and_forward_agree(monaco_geocoder: Geocoder) -> None:
    (found,) = monaco_geocoder.forward("25 boulevard de suisse", 1)
    lon, lat = found["geometry"]["coordinates"]
    (back,) = monaco_geocoder.reverse(lon, lat)
    assert back["properties"]["display_name"] == found["properties"]["display_name"]


def test_of_and_in_are_no_nearness(monaco_geocoder: Geocoder) -> None:
    (found,) = monaco_geocoder.forward("hotel de paris", 1)
    assert found["properties"]["name"] == "Hôtel de Paris"
    (found,) = monaco_geocoder.forward("école de danse", 1)
    assert "Danse" in found["properties"]["name"]
    for feature in monaco_geocoder.forward("restaurant in Fontvieille", 5):
        assert feature["properties"]["subcategory"] == "restaurant"
        lng, lat = feature["geometry"]["coordinates"]
        assert 7.40 < lng < 7.425
        assert 43.72 < lat < 43.74
