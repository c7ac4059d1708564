"""Every part of the language on a small map (conformance.py), and that none is left out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mapyard.errors import Unsupported
from mapyard.features.by_place import PlacedWriter
from mapyard.features.search import add_documents, find_searchable_rows
from mapyard.osm.source import prepare_source
from mapyard.sparql.engine import Engine, Triples, Truth
from mapyard.sparql.osm.ids import KEY_PREFIXES, SYNONYMS, VOCABULARY_IRIS
from mapyard.sparql.osm.source import OsmSource
from mapyard.sparql.parse.expression import AGGREGATES, BUILTINS, SHAPE_AGGREGATES
from mapyard.sparql.run.expressions import KERNELS
from mapyard.sparql.run.functions import SCALAR
from mapyard.sparql.terms.prefixes import GEOMETRY_TEXT, OSM, shorten_iri
from mapyard.sparql.terms.terms import BlankNode, Iri, Term, TripleTerm
from mapyard.store.reader import open_store
from mapyard.store.writer import write_store
from mapyard.text.index import IndexWriter, TextIndex
from osm_files import ROOT, write_osm

UNIT = Path(__file__).parent.parent


def _load(folder: str) -> dict[str, object]:
    """Return what a table of conformance holds: two modules have one name."""
    path = UNIT / folder / "conformance.py"
    held: dict[str, object] = {"__name__": f"{folder}_conformance", "__file__": str(path)}
    sys.modules[str(held["__name__"])] = type(sys)(str(held["__name__"]))
    exec(compile(path.read_text(), path, "exec"), held)
    return held


MAP, TABLE = _load("overpass"), _load("sparql")
FEATURES: list[tuple[str, ...]] = TABLE["FEATURES"]  # type: ignore[assignment] # of Feature


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("town")
    source = folder / "source.osm.pbf"
    drawn = write_osm(
        folder / "town.osm",
        MAP["NODES"],
        MAP["WAYS"],
        MAP["RELATIONS"],
        MAP["META"],  # type: ignore[arg-type] # as there
    )
    prepare_source([drawn], source)
    write_store(folder / "elements", source)
    store = open_store(folder / "elements")
    writer = IndexWriter(folder / "index")
    placed = PlacedWriter(folder / "placed")
    add_documents(writer, placed, store, find_searchable_rows(store))
    writer.close()
    placed.close()
    index = TextIndex(folder / "index")
    return Engine(OsmSource(store, lambda: index))


def show(term: Term | None) -> str:
    """Return a term in short."""
    if term is None:
        return "–"
    if isinstance(term, Iri):
        return shorten_iri(term.value)
    if isinstance(term, BlankNode):
        return "_:"
    if isinstance(term, TripleTerm):
        return f"<<( {' '.join(map(show, term))} )>>"
    return term.lexical + (f"@{term.language}" if term.language else "")


def ask(engine: Engine, query: str) -> str:
    result = engine.query(query)
    if isinstance(result, Truth):
        return str(result.value).lower()
    if isinstance(result, Triples):
        rows = [" ".join(map(show, triple)) for triple in result.triples]
    else:
        rows = []
        for table in result.tables:
            pool = result.runtime.pool
            columns = [result.runtime.decode(table.ids(n, pool)) for n in result.variables]
            rows += [" ".join(map(show, row)) for row in zip(*columns, strict=True)]
    return "; ".join(rows if "ORDER BY" in query else sorted(rows))


@pytest.mark.parametrize("feature", FEATURES, ids=lambda f: f"{f[0]}: {f[1]}")
def test_part_of_the_language(feature: tuple[str, ...], engine: Engine) -> None:
    _, _, query, expected, served, _ = feature
    if served == "refused":
        with pytest.raises(Unsupported, match=expected):
            ask(engine, query)
        return
    assert ask(engine, query) == expected


def test_names_are_unique() -> None:
    names = [feature[:2] for feature in FEATURES]
    assert len(set(names)) == len(names)


def test_every_function_and_predicate_has_its_row() -> None:
    rows = {feature[1].strip("`").lower() for feature in FEATURES}
    operators = {"+", "-", "*", "/", "negate", "plus"}
    functions = {name for name in (*BUILTINS, *SCALAR, *KERNELS) if name not in operators}
    functions |= {f"geof:{name}" for name in SHAPE_AGGREGATES} | set(AGGREGATES)
    predicates = {*VOCABULARY_IRIS, *SYNONYMS} - {GEOMETRY_TEXT}
    predicates |= {space + "KEY" for space in KEY_PREFIXES}
    predicates -= {OSM + name for name in ("way", "relation")}  # classes, as osm:node
    wanted = {shorten_iri(name) if "://" in name else name for name in functions | predicates}
    assert sorted(name for name in wanted if name.lower() not in rows) == []


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "sparql-conformance.md").read_text()
    render = TABLE["render"]
    assert callable(render)
    assert page == render(), "run: python tests/unit/sparql/conformance.py > docs/…"
