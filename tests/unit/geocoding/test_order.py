"""What comes first where several things have one name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mapyard.geocoding.geocoder import Geocoder

pytestmark = pytest.mark.topic("order")

OpenOsm = Callable[..., Geocoder]
Tags = dict[str, str]

#: What comes first, what comes behind it.
PAIRS: list[tuple[str, Tags, Tags]] = [
    ("Adlon", {"place": "city"}, {"place": "town"}),
    ("Bruska", {"place": "town"}, {"place": "village"}),
    ("Cemlin", {"place": "village"}, {"place": "hamlet"}),
    ("Dortal", {"place": "hamlet"}, {"place": "isolated_dwelling"}),
    ("Elvram", {"place": "city"}, {"place": "suburb"}),
    ("Fostig", {"place": "town"}, {"place": "neighbourhood"}),
    ("Gralup", {"place": "city"}, {"shop": "books"}),
    ("Hemlot", {"place": "village"}, {"amenity": "restaurant"}),
    ("Iskram", {"place": "town", "population": "90000"}, {"place": "town", "population": "900"}),
    ("Jentow", {"place": "village", "population": "4000"}, {"place": "village"}),
    ("Kulbar", {"place": "village", "wikidata": "Q1", "wikipedia": "de:X"}, {"place": "village"}),
    ("Lundop", {"place": "city", "capital": "yes"}, {"place": "city"}),
    ("Mertoc", {"place": "town", "capital": "4"}, {"place": "town"}),
    ("Nodrup", {"place": "city"}, {"railway": "station"}),
    ("Oblast", {"tourism": "museum", "wikidata": "Q2"}, {"tourism": "museum"}),
    ("Pirvan", {"railway": "station"}, {"highway": "bus_stop"}),
    ("Quondo", {"aeroway": "aerodrome", "iata": "QQQ"}, {"amenity": "parking"}),
    ("Rustik", {"historic": "castle"}, {"amenity": "bench"}),
    ("Sombra", {"amenity": "university"}, {"amenity": "parking"}),
    ("Tulvik", {"amenity": "hospital"}, {"shop": "hairdresser"}),
    ("Ulmast", {"natural": "peak", "wikidata": "Q3"}, {"tourism": "information"}),
    ("Vostor", {"place": "island"}, {"place": "islet"}),
    ("Wexlin", {"place": "town"}, {"natural": "peak"}),
    ("Yarmok", {"place": "village"}, {"leisure": "playground"}),
    ("Zemlan", {"natural": "peak", "wikidata": "Q4", "wikipedia": "ca:Z"},
     {"waterway": "river", "wikidata": "Q5"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def world(open_osm: OpenOsm) -> Geocoder:
    nodes: dict[int, Any] = {}
    for i, (name, better, worse) in enumerate(PAIRS):
        # In the order of ids and from west to east the lesser comes first.
        nodes[10 * i + 1] = (10.0, 50 + i / 10, {"name": name, **worse})
        nodes[10 * i + 2] = (10.05, 50 + i / 10, {"name": name, **better})
    nodes |= {900: (10.02, 49.9), 901: (10.03, 49.9), 902: (10.02, 49.8), 903: (10.03, 49.8)}
    nodes[904] = (10.025, 49.85, {"place": "hamlet", "name": "Zarbin"})
    nodes[905] = (10.4, 49.85, {"place": "village", "name": "Grosszarbin"})
    ways = {
        1: ([900, 901], {"highway": "residential", "name": "Zarbin"}),
        2: ([902, 903], {"highway": "residential", "name": "Zarbinweg"}),
    }
    return open_osm("order", nodes, ways)


@pytest.mark.parametrize(("name", "better", "worse"), PAIRS)
def test_what_matters_more_comes_first(
    world: Geocoder, name: str, better: Tags, worse: Tags
) -> None:
    first, second = [feature["id"] for feature in world.forward(name, 2)]
    i = [pair[0] for pair in PAIRS].index(name)
    assert (first, second) == (f"node/{10 * i + 2}", f"node/{10 * i + 1}")


def test_hamlets_before_streets_and_whole_words_before_parts(world: Geocoder) -> None:
    found = [f["properties"]["name"] + f["id"][:4] for f in world.forward("Zarbin", 5)]
    assert found[:2] == ["Zarbinnode", "Zarbinway/"]
    assert "Grosszarbinnode" not in found[:2]
