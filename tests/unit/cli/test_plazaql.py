"""`mapyard plazaql` in its formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.cli import build_app
from osm_files import EXAMPLES

CAFES = 'search(node, amenity: "cafe").limit(3);'
COUNT = "search(node, shop: *).group_by(type()).count();"


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path]) -> Path:
    return build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])


def run(data: Path, *arguments: str, text: str | None = None) -> tuple[str, str]:
    asked = ["plazaql", *arguments, "--data", str(data)]
    done = CliRunner().invoke(build_app(["plazaql"]), asked, input=text, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout, done.stderr


def test_geojson_from_text_file_and_standard_input(data: Path, tmp_path: Path) -> None:
    out, _ = run(data, CAFES)
    found = json.loads(out)
    assert len(found["features"]) == 3
    (tmp_path / "cafes.pql").write_text(CAFES)
    assert run(data, str(tmp_path / "cafes.pql"))[0] == out
    assert run(data, "-", text=CAFES)[0] == out
    assert json.loads(run(data, COUNT)[0])["result"]["node"] > 100


def test_lines_csv_and_table(data: Path) -> None:
    out, _ = run(data, CAFES, "-f", "ndjson")
    ids = [json.loads(line)["id"] for line in out.splitlines()]
    assert len(ids) == 3
    out, _ = run(data, CAFES, "-f", "csv")
    assert [row["id"] for row in csv.DictReader(io.StringIO(out))] == ids
    assert ids[0] in run(data, CAFES, "-f", "table")[0]
    out, _ = run(data, COUNT, "-f", "table")
    assert json.loads(out)["node"] > 100
    out, said = run(data, COUNT, "-f", "ndjson")
    assert (out, json.loads(said)["node"] > 100) == ("", True)
