"""The W3C test suite for SPARQL 1.0 and 1.1 queries, through the same compiler.

Set MAPYARD_W3C_TESTS to the folder `sparql` of https://github.com/w3c/rdf-tests; the suite is not
part of this project. See docs/sparql-w3c.md.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from w3c_sparql import Case, iter_cases, run_case

FOLDER = os.environ.get("MAPYARD_W3C_TESTS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="MAPYARD_W3C_TESTS names no folder")
CASES = list(iter_cases(Path(FOLDER))) if FOLDER else []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case) -> None:
    problem = run_case(case)
    assert not problem, problem
