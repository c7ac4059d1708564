"""Every part of the language on a small map (conformance.py)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from shapely.geometry import shape

from mapyard.deadline import no_deadline
from mapyard.errors import Unsupported
from mapyard.osm.source import prepare_source
from mapyard.overpass.engine import run_text
from mapyard.overpass.osm.places import find_place
from mapyard.overpass.parse.criteria import _CRITERIA
from mapyard.overpass.parse.macros import _EXPANDERS, Surroundings
from mapyard.overpass.parse.parser import _BLOCKS, _OUT_MODES, _STATEMENTS, QUERY_KINDS
from mapyard.overpass.parse.settings import _NAMES
from mapyard.overpass.parse.values import FUNCTIONS
from mapyard.overpass.run.budget import Budget
from mapyard.overpass.write.osmjson import write_document
from mapyard.store.reader import Store, open_store
from mapyard.store.writer import write_store
from osm_files import ROOT, write_osm

sys.path.insert(0, str(Path(__file__).parent))

from conformance import FEATURES, META, NODES, REFUSED, RELATIONS, WAYS, Feature, render


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("town")
    source = folder / "source.osm.pbf"
    prepare_source([write_osm(folder / "town.osm", NODES, WAYS, RELATIONS, META)], source)
    write_store(folder / "elements", source)
    return open_store(folder / "elements")


def ask(store: Store, query: str) -> list[dict[str, Any]]:
    surroundings = Surroundings(
        box=(0.0, 0.0, 0.01, 0.025),
        center=(0.005, 0.005),
        geocode=lambda name, area: find_place(store, name, area),
    )
    result = run_text(store, query, surroundings=surroundings)
    document = write_document(store, result.outs, "", Budget(no_deadline()))
    elements: list[dict[str, Any]] = orjson.loads(document)["elements"]
    return elements


def show(element: dict[str, Any]) -> str:
    """Return an element in short: n5@v3{key=value}[geometry]."""
    kind = element["type"]
    tags = element.get("tags", {})
    if kind == "count":
        return "count" + tags["total"]
    known = {"node": "n", "way": "w", "relation": "r", "area": "a"}
    text = known.get(kind, kind) + str(element.get("id", ""))
    text += "@" if "lat" in element else ""
    text += f"v{element['version']}" if "version" in element else ""
    if tags or kind not in known:
        text += "{" + ",".join(f"{k}={v}" for k, v in sorted(tags.items())) + "}"
    if "center" in element:
        text += f"c{element['center']['lat']} {element['center']['lon']}"
    if "geometry" not in element:
        bounds = element.get("bounds")
        return (
            text
            if bounds is None
            else text
            + "b"
            + " ".join(str(bounds[side]) for side in ("minlon", "minlat", "maxlon", "maxlat"))
        )
    geometry = element["geometry"]
    if isinstance(geometry, dict):
        return text + shape(geometry).wkt
    points = ["null" if p is None else f"{p['lon']} {p['lat']}" for p in geometry]
    return text + "[" + ",".join(points) + "]"


def _name(feature: Feature) -> str:
    return f"{feature.group}: {feature.syntax}"


@pytest.mark.parametrize("feature", FEATURES, ids=_name)
def test_part_of_the_language(feature: Feature, town: Store) -> None:
    if feature.served == REFUSED:
        with pytest.raises(Unsupported) as caught:
            ask(town, feature.query)
        assert feature.expected in str(caught.value)
        assert caught.value.details is not None
        assert caught.value.details["line"] == 1
        return
    assert " ".join(map(show, ask(town, feature.query))) == feature.expected


def test_names_are_unique() -> None:
    assert len({_name(feature) for feature in FEATURES}) == len(FEATURES)


def test_every_statement_filter_and_function_has_its_row() -> None:
    tested = " ".join(feature.query for feature in FEATURES)
    words = {*QUERY_KINDS, *_STATEMENTS, *_BLOCKS, *_CRITERIA, *FUNCTIONS, *_OUT_MODES, *_EXPANDERS}
    settings = {f"[{name}:" for name in _NAMES}
    missing = [
        word
        for word in words
        if word.isidentifier() and not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", tested)
    ]
    missing += [word for word in words | settings if not word.isidentifier() and word not in tested]
    assert sorted(missing) == []


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "overpass-conformance.md").read_text()
    assert page == render(), "run: python tests/unit/overpass/conformance.py > docs/…"
