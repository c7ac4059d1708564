"""The W3C test suite for SPARQL 1.0 and 1.1 queries, through the same compiler.

Set MAPYARD_W3C_TESTS to the folder `sparql` of https://github.com/w3c/rdf-tests; the suite is not
part of this project. See docs/sparql-w3c.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mapyard.sparql.engine import Engine, Solutions
from mapyard.sparql.sources.graph import TripleGraph
from w3c_sparql import Case, iter_cases, read_graph, run_case, written_rows

FOLDER = os.environ.get("MAPYARD_W3C_TESTS")
needs_suite = pytest.mark.skipif(not FOLDER, reason="MAPYARD_W3C_TESTS names no folder")
CASES = list(iter_cases(Path(FOLDER))) if FOLDER else []


@needs_suite
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case) -> None:
    problem = run_case(case)
    assert not problem, problem


DATA = "@prefix : <http://a/> . :a :p 1 . :b :p 2 . :c :p 3 ."
SRX = """<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#">
<head>{head}</head><results>{rows}</results></sparql>"""


def row(number: int, more: str = "") -> str:
    literal = f'<literal datatype="http://www.w3.org/2001/XMLSchema#integer">{number}</literal>'
    return f'<result><binding name="o">{literal}</binding>{more}</result>'


@pytest.mark.parametrize(
    ("numbers", "head", "problem"),
    [
        ((1, 2, 3), "o", ""),
        ((3, 2, 1), "o", "order"),
        ((1, 2, 3), "o extra", "columns"),
        ((1, 2), "o", "wanted 2"),
    ],
)
def test_the_harness_notices_order_and_columns(
    tmp_path: Path, numbers: tuple[int, ...], head: str, problem: str
) -> None:
    (tmp_path / "data.ttl").write_text(DATA)
    (tmp_path / "query.rq").write_text("SELECT ?o { ?s <http://a/p> ?o } ORDER BY ?o")
    names = "".join(f'<variable name="{name}"/>' for name in head.split())
    text = SRX.format(head=names, rows="".join(map(row, numbers)))
    (tmp_path / "result.srx").write_text(text)
    case = Case("x", "QueryEvaluationTest", tmp_path / "query.rq", tmp_path / "result.srx",
                [tmp_path / "data.ttl"])  # fmt: skip
    found = run_case(case)
    assert (problem in found) if problem else not found


@pytest.mark.parametrize("suffix", ["srx", "srj", "tsv", "csv"])
def test_the_harness_reads_our_own_writers(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "data.ttl").write_text(DATA)
    (tmp_path / "query.rq").write_text("SELECT ?s ?o { ?s <http://a/p> ?o } ORDER BY ?o")
    result = Engine(TripleGraph(read_graph(tmp_path / "data.ttl"), {})).query(
        (tmp_path / "query.rq").read_text()
    )
    assert isinstance(result, Solutions)
    rows = written_rows(result, f".{suffix}")
    assert [str(r[0][0]) for r in rows] == ["http://a/a", "http://a/b", "http://a/c"]
