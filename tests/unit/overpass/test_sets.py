"""What queries find, against an independent computation (oracle.py) on Monaco."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mapyard.overpass.engine import run_text
from mapyard.overpass.osm.places import find_place
from mapyard.overpass.parse.macros import Surroundings
from mapyard.store.reader import Store
from osm_files import EXAMPLES

sys.path.insert(0, str(Path(__file__).parent))

from cases import CASES, MONACO, Extract
from oracle import Found, World

#: One process for all: what they share is slow to make.
pytestmark = pytest.mark.xdist_group("overpass-sets")


@pytest.fixture(scope="module")
def extract() -> Extract:
    return Extract(World(EXAMPLES / "monaco.osm.pbf"), MONACO)


def find(store: Store, query: str) -> Found:
    """Return the elements that the outs of a query show."""
    surroundings = Surroundings(geocode=lambda name, area: find_place(store, name, area))
    result = run_text(store, query, surroundings=surroundings)
    names = [store.name_of(row) for _, found in result.outs for row in found.rows.tolist()]
    return {(kind, int(number)) for kind, _, number in (name.partition("/") for name in names)}


@pytest.mark.parametrize("name", CASES)
def test_finds_what_plain_python_finds(name: str, monaco_store: Store, extract: Extract) -> None:
    query, expected = CASES[name]
    wanted = expected(extract)
    assert find(monaco_store, MONACO.fill(query)) == wanted
    assert wanted, "a case that finds nothing shows nothing"


def test_there_are_sixty_cases() -> None:
    assert len(CASES) >= 60
