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


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path]) -> Path:
    return build_once("monaco-text", EXAMPLES / "monaco.osm.pbf", ["text"])


def run(*arguments: str, text: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(build_app(["geocode"]), ["geocode", *arguments], input=text)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_one_address(data: Path) -> None:
    code, out, _ = run("25 boulevard de suisse", "--data", str(data), "--limit", "1", "--json")
    assert code == 0
    assert json.loads(out)["features"][0]["properties"]["osm_id"] == 94399747
    code, out, _ = run("25 boulevard de suisse", "--data", str(data), "--limit", "1")
    assert code == 0
    assert "25 Boulevard de Suisse" in out
    code, out, err = run("xyzzyplugh", "--data", str(data))
    assert (code, out, err.strip()) == (1, "", "nothing found")


def test_standard_input(data: Path) -> None:
    code, out, err = run("-", "--data", str(data), text="id,q\n1,rue grimaldi\n2,xyzzyplugh\n")
    assert code == 0
    one, two = csv.DictReader(io.StringIO(out))
    assert one["match_display_name"].startswith("Rue Grimaldi")
    assert two["match_error"] == "nothing found"
    assert "2 rows, 1 found" in err


def test_file_with_two_processes_keeps_the_order(data: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    lines = [f"{i},rue grimaldi" for i in range(700)]
    source.write_text("\n".join(["id,address", *lines, ""]))
    code, _, _ = run(str(source), "-o", str(target), "--data", str(data), "--workers", "2")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(target.read_text())))
    assert [int(row["id"]) for row in rows] == list(range(700))
    assert {row["match_osm_type"] for row in rows} == {"way"}
