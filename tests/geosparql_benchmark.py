"""Runs the GeoSPARQL Compliance Benchmark on its own data set, through the same compiler.

    python tests/geosparql_benchmark.py FOLDER     # prints what differs, and the count

FOLDER is `src/main/resources` of https://github.com/OpenLinkSoftware/GeoSPARQLBenchmark; it is not
part of this project.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from mapyard.deadline import Deadline
from mapyard.errors import MapyardError
from mapyard.sparql.engine import Engine, Solutions, Truth
from mapyard.sparql.run.geometry_text import GML_LITERAL, parse_geometry
from mapyard.sparql.sources.graph import TripleGraph
from mapyard.sparql.terms.terms import WKT_LITERAL, XSD_STRING, BlankNode, Iri, Literal, Term
from mapyard.sparql.terms.values import ExpressionError, find_number
from w3c_sparql import read_graph


def iter_queries(folder: Path) -> list[Path]:
    return sorted((folder / "gsb_queries").glob("query-r*.rq"))


def answers_of(folder: Path, query: Path) -> list[Path]:
    found = sorted((folder / "gsb_answers").glob(f"{query.stem}.srx"))
    return found + sorted((folder / "gsb_answers").glob(f"{query.stem}-alternative-*.srx"))


def run_query(engine: Engine, folder: Path, query: Path) -> str:
    """Return what is wrong, "" where an answer or one of its alternatives is given."""
    try:
        got = rows_of(engine.query(query.read_text(), Deadline(30)))
    except MapyardError as error:
        return f"{type(error).__name__}: {error.message[:150]}"
    wanted: Any = None
    for path in answers_of(folder, query):
        wanted = read_answer(path)
        if sorted(map(str, got)) == sorted(map(str, wanted)):
            return ""
    return f"got {str(got)[:200]}, wanted {str(wanted)[:200]}"


def rows_of(result: Any) -> list[Any]:
    if isinstance(result, Truth):
        return [(result.value,)]
    assert isinstance(result, Solutions)
    rows: list[Any] = []
    for table in result.tables:
        columns = [
            result.runtime.decode(table.ids(v, result.runtime.pool)) for v in result.variables
        ]
        rows += [tuple(map(plain, row)) for row in zip(*columns, strict=True)]
    return rows


def plain(term: Term | None) -> Any:
    """Return a value that is equal for equal numbers and equal shapes."""
    if isinstance(term, Literal):
        number = find_number(term)
        if number is not None:
            return round(float(number[0]), 6)
        if term.datatype in (WKT_LITERAL, GML_LITERAL):
            try:
                shape = parse_geometry(term).normalize()
            except ExpressionError:
                return term.lexical
            return (term.datatype, shape.wkt)
        return term.lexical.strip()
    return None if term is None else term[0]


def read_answer(path: Path) -> list[Any]:
    space = "{http://www.w3.org/2005/sparql-results#}"
    root = ElementTree.parse(path).getroot()
    truth = root.find(f"{space}boolean")
    if truth is not None:
        return [(truth.text == "true",)]
    names = [v.get("name", "") for v in root.iter(f"{space}variable")]
    rows = []
    for result in root.iter(f"{space}result"):
        found = {b.get("name", ""): plain(read_term(b[0])) for b in result}
        rows.append(tuple(found.get(name) for name in names))
    return rows


def read_term(node: ElementTree.Element) -> Term:
    text = node.text or ""
    if node.tag.endswith("uri"):
        return Iri(text)
    if node.tag.endswith("bnode"):
        return BlankNode(text)
    return Literal(text, node.get("datatype", XSD_STRING))


def main() -> None:
    folder = Path(sys.argv[1])
    engine = Engine(TripleGraph(read_graph(folder / "gsb_dataset" / "dataset.rdf"), {}))
    queries = iter_queries(folder)
    passed = 0
    for query in queries:
        problem = run_query(engine, folder, query)
        passed += not problem
        if problem:
            sys.stdout.write(f"{query.stem}: {problem}\n")
    sys.stdout.write(f"{passed} of {len(queries)}\n")


if __name__ == "__main__":
    main()
