"""The tables of parameters in docs/switch are those of the code: none forgotten, none made up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAliasType, get_args, get_type_hints

import msgspec
import pytest

from mapyard import forms
from mapyard.http.endpoints import Endpoint, collect
from osm_files import ROOT

PAGES = {
    "nominatim": "Nominatim", "photon": "Photon", "pelias": "Pelias", "osrm": "OSRM",
    "valhalla": "Valhalla", "openrouteservice": "openrouteservice", "graphhopper": "GraphHopper",
    "ogc": "OGC API",
}  # fmt: skip
#: Parts of a path, the request as text, and pages of our own.
NOT_IN_TABLES = {
    "collection", "item", "set", "z", "row", "column", "cursor", "json", "profile", "call", "part",
    "f", "coordinates", "lng", "tile",
}  # fmt: skip

#: Members of objects that are read by hand.
NESTED = {"restrictions", "weightings"}
#: What the first columns name besides: calls, methods, forms.
OTHER_NAMES = {
    "nominatim": {"Accept-Language"}, "photon": set(), "pelias": set(),
    "osrm": {".flatbuffers", "tile"}, "valhalla": {"centroid", "tile", "transit_available"},
    "openrouteservice": {"GET", "POST", "export", "match", "pois"}, "graphhopper": set(),
}  # fmt: skip


def endpoints_of(page: str) -> list[Endpoint]:
    found = [one for one in collect(forms.load_modules()) if one.tag == PAGES[page]]
    assert found
    return found


def iter_members(kind: Any) -> Iterator[str]:
    """Yield the names of members of structs within a type."""
    if isinstance(kind, TypeAliasType):
        kind = kind.__value__
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        types = get_type_hints(kind, include_extras=True)
        for field in msgspec.structs.fields(kind):
            yield field.encode_name
            yield from iter_members(types[field.name])
    for part in get_args(kind):
        yield from iter_members(part)


def read_tables(page: str) -> tuple[set[str], set[str]]:
    """Return the names in the first columns of the tables, and all words in code of the page."""
    text = (ROOT / "docs" / "switch" / f"{page}.md").read_text()
    text = re.sub(r"```.*?```", "", text.partition("## Members that are not given")[0], flags=re.S)
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]
    codes = [code for row in rows for code in re.findall(r"`([^`]+)`", row)]
    named = {word for code in codes for word in code.split()}
    words = {word for code in re.findall(r"`([^`]+)`", text) for word in code.split()}
    return named, words


def holds(words: set[str], name: str) -> bool:
    """Return whether words have a name, perhaps as one of `boundary.rect.*`."""
    return name in words or any(
        word.endswith("*") and name.startswith(word[:-1]) for word in words if "." in word
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_parameter_is_in_the_table(page: str) -> None:
    _, words = read_tables(page)
    words |= {word.rpartition(".")[2] for word in words}
    missing = []
    for endpoint in endpoints_of(page):
        for field in endpoint.parser.fields:
            spellings = {field.name, *field.names} - NOT_IN_TABLES
            if field.name not in NOT_IN_TABLES and not any(holds(words, s) for s in spellings):
                missing.append((endpoint.path, field.name))
        missing += [
            (endpoint.path, name)
            for name in endpoint.refused or {}
            if not holds(words, name) and not holds(words, name.rpartition(".")[2])
        ]
    assert missing == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != "ogc"])
def test_every_name_in_the_table_is_a_parameter(page: str) -> None:
    """OGC's page has tables of calls and of the filter language besides."""
    named, _ = read_tables(page)
    known: set[str] = set()
    for endpoint in endpoints_of(page):
        known |= endpoint.parser.names | set(endpoint.refused or {})
        known |= set(iter_members(endpoint.params))
    made_up = {
        name
        for name in named
        if name not in known
        and name.rpartition(".")[2] not in known | NESTED
        and not name.startswith("/")
        and not any(other.startswith(name.rstrip("*")) for other in known if "*" in name)
    }
    assert made_up <= OTHER_NAMES[page]
