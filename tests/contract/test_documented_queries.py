"""The SPARQL and PlazaQL of the docs is answered as it is printed, on Monaco.

Before a query that cannot run here its page has the comment `<!-- not run: why -->`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mapyard
from code_blocks import DOCS, Block, read_blocks, read_page
from servers import COMMAND, copy_data

QUERIES = [block for block in read_blocks("sparql", "plazaql") if block.is_run]


@pytest.fixture(scope="module")
def m(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[mapyard.Map]:
    """Monaco, and the dataset of one's own that docs/datasets.md imports."""
    folder = tmp_path_factory.mktemp("documented-queries")
    data = copy_data(monaco, folder / "data")
    (shops,) = (block for block in read_page(DOCS / "datasets.md") if block.kind == "csv")
    (folder / "shops.csv").write_text(shops.text)
    for words in (
        ("accounts", "create", "me@example.org", "--operator"),
        ("datasets", "import", "shops.csv", "--slug", "my-shops"),
    ):
        subprocess.run([COMMAND, *words, "--data", data], cwd=folder, check=True)
    with mapyard.open(data) as opened:
        yield opened


def test_there_are_queries_to_run() -> None:
    assert len(QUERIES) > 15


@pytest.mark.parametrize("block", QUERIES, ids=str)
def test_documented_queries_find_something(m: mapyard.Map, block: Block) -> None:
    if block.kind == "sparql":
        assert len(m.sparql(block.text)) > 0
        return
    found = m.plazaql(block.text)
    assert len(found) > 0 or found.members.get("result") or found.members.get("outputs")
