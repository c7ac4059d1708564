"""A small country of two towns, made by hand, and Monaco; each built once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mapyard.geocoding.geocoder import Geocoder, open_geocoder
from mapyard.store.reader import open_store
from osm_files import EXAMPLES, square, write_osm

#: Cases by topic, where all of this folder are collected.
TOPICS = pytest.StashKey[Counter[str]]()

# One thousandth of a degree is about 111 m north-south and 75 m east-west here.
WEST, SOUTH = 9.5, 47.2


def at(x: float, y: float) -> tuple[float, float]:
    """Return lon, lat of a point x, y in thousandths of a degree from the south-west corner."""
    return WEST + x / 1000, SOUTH + y / 1000


def _houses(first: int, street: str, city: str, numbers: dict[str, tuple[float, float]]) -> Any:
    return {
        first + i: (
            *at(*place),
            {
                "addr:street": street,
                "addr:housenumber": number,
                "addr:city": city,
                "addr:postcode": {"Neustadt": "9490", "Altdorf": "9494"}[city],
            },
        )
        for i, (number, place) in enumerate(numbers.items())
    }


def write_country(path: Path) -> Path:
    """Neustadt (x 0–20) and Altdorf (x 20–40), each 20 high, in a country around both.

    y 5: the Hauptstrasse through both towns. y 10: Clematisweg in Neustadt only.
    """
    nodes: dict[int, Any] = {}
    ways: dict[int, Any] = {}
    relations: dict[int, Any] = {}
    for number, (name, level, corner, size) in enumerate(
        [("Neustadt", 8, (0, 0), 20), ("Altdorf", 8, (20, 0), 20), ("Testland", 2, (-5, -5), 50)]
    ):
        corners = square(1000 + number * 10, *at(*corner), size / 1000)
        nodes |= corners
        ways[100 + number] = ([*corners, next(iter(corners))], {})
        tags = {
            "type": "boundary", "boundary": "administrative", "admin_level": str(level),
            "name": name,
        }  # fmt: skip
        members = [("way", 100 + number, "outer")]
        if level == 8:
            nodes[2000 + number] = (
                *at(corner[0] + 10, 10),
                {"place": "town", "name": name, "population": str(9000 - 4000 * number),
                 "name:ja": ["新町", "古村"][number]},
            )  # fmt: skip
            members.append(("node", 2000 + number, "label"))
        else:
            tags |= {"ISO3166-1:alpha2": "LI", "name:fr": "Testlande"}
        relations[200 + number] = (members, tags)
    # The Hauptstrasse: three pieces; and three other streets.
    for i, x in enumerate((1, 10, 20, 30)):
        nodes[3000 + i] = at(x, 5)
    for i in range(3):
        ways[300 + i] = (
            [3000 + i, 3001 + i],
            {"highway": "primary", "name": "Hauptstrasse", "old_name": "Reichsstrasse"},
        )
    for i, (name, y) in enumerate(
        [("Clematisweg", 10), ("Kardinal Stefan Gasse", 12), ("Avenue Albert II", 14)]
    ):
        nodes[3100 + 2 * i], nodes[3101 + 2 * i] = at(2, y), at(18, y)
        ways[310 + i] = ([3100 + 2 * i, 3101 + 2 * i], {"highway": "residential", "name": name})
    nodes |= _houses(4000, "Hauptstrasse", "Neustadt", {
        "1": (2, 5.2), "3": (3, 5.2), "9": (6, 5.2), "10": (6, 4.8), "12a": (7, 4.8),
        "83a": (8, 5.2), "83": (8.5, 5.2), "29;31": (10, 5.2), "39A/B": (12, 5.2),
    })  # fmt: skip
    nodes |= _houses(4100, "Hauptstr.", "Altdorf", {"1": (22, 5.2), "5": (24, 5.2)})
    # A house just behind the border, that the post counts to the other town.
    nodes |= _houses(4200, "Hauptstrasse", "Altdorf", {"99": (19.5, 5.2)})
    nodes |= _houses(4300, "Clematis Weg", "Neustadt", {"2": (4, 10.3), "4-6": (6, 10.3)})
    nodes |= _houses(4400, "Avenue Albert II", "Neustadt", {"2": (5, 14.3)})
    # Interpolation: 2 … 10 … 20 with a node of its own in between, not in the middle.
    nodes |= _houses(4500, "Kardinal Stefan Gasse", "Neustadt", {
        "2": (4, 12.3), "10": (5, 12.3), "20": (15, 12.3),
    })  # fmt: skip
    ways[400] = ([4500, 4501, 4502], {"addr:interpolation": "even"})
    nodes |= _houses(4600, "Unmapped Lane", "Neustadt", {"7": (3, 16)})
    # A building with an address, a cafe in it, and an address-only building over two streets.
    corners = square(5000, *at(10, 10.2), 0.0005)
    nodes |= corners
    ways[500] = (
        [*corners, 5000],
        {"building": "yes", "addr:street": "Clematisweg", "addr:housenumber": "14"},
    )
    nodes[5100] = (*at(10.2, 10.4), {"amenity": "cafe", "name": "Café Größe", "wikidata": "Q1"})
    nodes[5101] = (
        *at(30, 12),
        {"tourism": "museum", "name": "Heimatmuseum", "name:ja": "郷土博物館", "name:en": "Local"},
    )
    nodes[5102] = (*at(12, 12), {"amenity": "restaurant", "cuisine": "pizza", "name": "Da Gino"})
    nodes[5103] = (*at(32, 12), {"amenity": "restaurant", "cuisine": "pizza", "name": "Vesuvio"})
    nodes[5104] = (*at(14, 12), {"amenity": "toilets"})
    nodes[5105] = (*at(9, 9), {"aeroway": "helipad", "name": "Neustadt"})
    nodes[5106] = (*at(35, 15), {"amenity": "school", "name": "މާލެ ސްކޫލް", "name:en": "Male School"})
    nodes[5107] = (*at(36, 15), {"shop": "books", "name": "مكتبة الإسكندرية"})
    # A ground with a number, and a house of another number on it.
    corners = square(5200, *at(36, 1), 0.002)
    nodes |= corners
    ways[510] = (
        [*corners, 5200],
        {"landuse": "residential", "addr:street": "Schulweg", "addr:housenumber": "40"},
    )
    nodes |= _houses(5300, "Schulweg", "Altdorf", {"41": (37, 2)})
    # Names of one another: a village, a hamlet, a street; whole words and parts of words.
    nodes[6100] = (*at(45, 5), {"place": "village", "name": "Steg"})
    nodes[6101] = (*at(-3, 40), {"place": "hamlet", "name": "Steg"})
    for i, (name, y) in enumerate([("Steg", 42), ("Grosssteg", 43), ("Stegweg", 44)]):
        nodes[6110 + 2 * i], nodes[6111 + 2 * i] = at(-2, y), at(8, y)
        ways[520 + i] = ([6110 + 2 * i, 6111 + 2 * i], {"highway": "residential", "name": name})
    nodes[6000] = (*at(13, 18), {"place": "hamlet", "name": "Weiler"})
    nodes[6001] = (*at(13.2, 18), {"addr:place": "Weiler", "addr:housenumber": "3"})
    return write_osm(path, nodes, ways, relations)


@pytest.fixture
def topics(request: pytest.FixtureRequest) -> Counter[str]:
    """How many cases each topic has."""
    found = request.config.stash.get(TOPICS, None)
    if found is None:
        pytest.skip("only where all of the folder is collected")
    return found


@pytest.fixture(scope="session")
def country(build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data folder of the country."""
    source = write_country(tmp_path_factory.mktemp("country") / "country.osm")
    return build_once("country", source, ["text"])


def _open(data: Path) -> Geocoder:
    dataset = data / "current"
    return open_geocoder(dataset / "text", open_store(dataset / "elements"))


@pytest.fixture(scope="session")
def open_osm(
    build_once: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Geocoder]:
    """Return the geocoder of a made-up map: its name, and what write_osm takes."""

    def open_it(name: str, *elements: object) -> Geocoder:
        source = write_osm(tmp_path_factory.mktemp(name) / "map.osm", *elements)
        return _open(build_once(f"{name}-text", source, ["text"]))

    return open_it


@pytest.fixture(scope="session")
def geocoder(country: Path) -> Geocoder:
    """The geocoder of the country."""
    return _open(country)


@pytest.fixture(scope="session")
def monaco_geocoder(build_once: Callable[..., Path]) -> Geocoder:
    """The geocoder of Monaco."""
    return _open(build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"]))


@pytest.fixture(scope="session")
def open_map(build_once: Callable[..., Path]) -> Callable[[str], Geocoder]:
    """Return the geocoder of a map of tests/data, built once."""
    data = Path(__file__).parents[2] / "data"

    @cache
    def open_it(name: str) -> Geocoder:
        return _open(build_once(f"{name}-text", data / f"{name}.osm.pbf", ["text"]))

    return open_it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the cases of each topic, for test_topics.py."""
    here = Path(__file__).parent
    files = {item.path for item in items if here in item.path.parents}
    is_whole = files >= set(here.glob("test_*.py")) and not any("::" in a for a in config.args)
    if is_whole:
        topics = [mark.args[0] for item in items for mark in item.iter_markers("topic")]
        config.stash[TOPICS] = Counter(topics)
