from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.cli import build_app
from mapyard.cli.geocode_files import Rows, find_form
from mapyard.errors import InvalidRequest
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


ROWS = [
    "rue grimaldi",
    {"id": 7, "street": "Boulevard de Suisse", "housenumber": "25"},
    [7.424, 43.738],
    {"q": "xyzzyplugh"},
    {"unknown": 1},
]


@pytest.fixture
def ndjson(tmp_path: Path) -> Path:
    path = tmp_path / "rows.ndjson"
    path.write_text("\n".join([*map(json.dumps, ROWS), "{no json", "", '"quai antoine"']))
    return path


def test_ndjson_gives_ndjson(data: Path, ndjson: Path) -> None:
    code, out, err = run(str(ndjson), "--data", str(data))
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert "7 rows, 4 found" in err
    assert [len(answer["features"]) for answer in answers] == [1, 1, 1, 0, 0, 0, 1]
    assert answers[1]["id"] == 7
    assert answers[1]["features"][0]["properties"]["house_number"] == "25"
    assert "has no address" in answers[4]["error"]["message"]
    assert "line 6 is not JSON" in answers[5]["error"]["message"]


def test_ndjson_from_standard_input_in_two_processes(data: Path, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"id": i, "q": "rue grimaldi"}) for i in range(600))
    target = tmp_path / "out.jsonl"
    code, _, _ = run("-", "-o", str(target), "--data", str(data), "--workers", "2", text=lines)
    assert code == 0
    answers = [json.loads(line) for line in target.read_text().splitlines()]
    assert [answer["id"] for answer in answers] == list(range(600))


def test_forms_are_told_by_the_name_and_by_the_option(
    data: Path, ndjson: Path, tmp_path: Path
) -> None:
    target = tmp_path / "out.csv"
    assert run(str(ndjson), "-o", str(target), "--data", str(data))[0] == 0
    rows = list(csv.DictReader(io.StringIO(target.read_text())))
    assert rows[0]["q"] == "rue grimaldi"
    assert json.loads(rows[1]["q"]) == ROWS[1]
    assert rows[1]["match_level"] == "house"
    source = tmp_path / "in.csv"
    source.write_text("id,q\n1,rue grimaldi\n")
    code, out, _ = run(str(source), "--data", str(data), "-f", "ndjson")
    assert (code, json.loads(out)["id"]) == (0, "1")
    with pytest.raises(InvalidRequest, match="not csv, ndjson or table"):
        run(str(source), "--data", str(data), "-f", "xml")


def test_a_table_for_people(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    source = tmp_path / "in.csv"
    lines = ["id,q,note", "1,[rue] grimaldi,x", "2,xyzzyplugh,", "3,rue grimaldi foobarquux,"]
    source.write_text("\n".join(lines + ["4,monaco,"] * 100))
    code, out, err = run(str(source), "--data", str(data), "-f", "table")
    assert code == 0
    head, first, second, third, *_ = out.splitlines()
    assert head.split() == ["Asked", "Found", "Level", "Sure", "Position"]
    assert first.startswith("[rue] grimaldi ")
    assert "Rue Grimaldi" in first
    assert "street" in first
    assert "43.7" in first
    assert "nothing found" in second
    assert "(not: foobarquux)" in third
    assert "100 of 103 rows shown; -o FILE.csv has all" in out
    assert "not used: note" in err


def test_a_terminal_gets_a_table_and_a_pipe_the_rows(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("q\nrue grimaldi\n")
    with source.open() as file:
        rows = Rows(file, str(source))
    assert find_form("", None, rows) == "csv"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert find_form("", None, rows) == "table"
    assert find_form("", Path("placed.csv"), rows) == "csv"
    assert find_form("", Path("placed.NDJSON"), rows) == "ndjson"
    assert find_form("csv", None, rows) == "csv"
