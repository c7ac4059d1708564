"""The SPARQL of the docs is answered as it is printed, on Monaco (PlazaQL: tests/unit/plazaql).

Before a query that cannot run here its page has the comment `<!-- not run: why -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mapyard
from osm_files import ROOT

PAGE = ROOT / "docs" / "sparql.md"
BLOCK = re.compile(r"(<!-- not run: \S[^\n]* -->\n+)?```sparql\n(.*?)```", re.DOTALL)
QUERIES = BLOCK.findall(PAGE.read_text())


@pytest.fixture(scope="module")
def m(monaco: Path) -> Iterator[mapyard.Map]:
    with mapyard.open(monaco) as opened:
        yield opened


def test_the_queries_that_are_not_run_are_few() -> None:
    left_out = sum(bool(mark) for mark, _ in QUERIES)
    print(f"{left_out} of {len(QUERIES)} SPARQL queries are not run")  # noqa: T201
    assert len(QUERIES) > 5
    assert left_out <= 1


@pytest.mark.parametrize("text", [text for mark, text in QUERIES if not mark])
def test_documented_sparql_finds_something(m: mapyard.Map, text: str) -> None:
    assert len(m.sparql(text)) > 0
