"""`mapyard query` writes features, tables and native formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from mapyard.cli.overpass import Form, convert_file
from mapyard.cli.query import Format, command
from mapyard.cli.sparql import command as sparql
from mapyard.errors import InvalidQuery, InvalidRequest
from osm_files import EXAMPLES

QUERY = "nwr[amenity=cafe]({{bbox}});out center 3;node[shop];out count;"
BOX = "43.73,7.41,43.74,7.425"


@pytest.fixture(scope="module")
def data(build_once: Callable[..., Path]) -> Path:
    return build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"])


@pytest.fixture
def ask(
    data: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., str]:
    def run(output: Format, query: str = QUERY) -> str:
        file = tmp_path / "query.ql"
        file.write_text(query)
        command(str(file), data, output, BOX)
        return capsysbinary.readouterr().out.decode()

    return run


def test_writes_features(ask: Callable[..., str]) -> None:
    assert len(orjson.loads(ask(Format.GEOJSON))["features"]) == 3
    lines = ask(Format.NDJSON).splitlines()
    assert [orjson.loads(line)["geometry"]["type"] for line in lines] == ["Point"] * 3


def test_writes_native_formats(ask: Callable[..., str]) -> None:
    elements = orjson.loads(ask(Format.JSON))["elements"]
    assert [element["type"] for element in elements] == ["node"] * 3 + ["count"]
    assert ask(Format.XML).startswith("<?xml")


def test_writes_csv_with_the_columns_asked_for_or_all(ask: Callable[..., str]) -> None:
    rows = list(csv.DictReader(io.StringIO(ask(Format.CSV))))
    assert {row["amenity"] for row in rows[:3]} == {"cafe"}
    assert "total" not in rows[0]
    assert ask(Format.CSV, "[out:csv(::id;false)];node[shop];out 1;").strip().isdecimal()


def test_prints_a_table(ask: Callable[..., str]) -> None:
    assert "3 found" in ask(Format.TABLE)


def test_says_what_is_wrong(data: Path, tmp_path: Path, ask: Callable[..., str]) -> None:
    with pytest.raises(InvalidQuery):
        ask(Format.JSON, "node[;")
    with pytest.raises(InvalidRequest):
        command(str(tmp_path / "none.ql"), data)
    with pytest.raises(InvalidRequest):
        command(str(tmp_path / "query.ql"), data, bbox="1,2,3")


def test_converts_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "query.ql"
    file.write_text("node[amenity=cafe](1,2,3,4);out ids;")
    convert_file(str(file), Form.XML)
    xml = capsys.readouterr().out
    assert xml.startswith("<osm-script>")
    file.write_text(xml)
    convert_file(str(file), Form.COMPACT)
    assert capsys.readouterr().out == 'node["amenity"="cafe"](1,2,3,4);out ids;\n'


def test_explains_queries(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "query"
    file.write_text("node[amenity=cafe];out;")
    command(str(file), data, explain=True)
    assert "start by tag" in capsys.readouterr().out
    file.write_text('SELECT ?s { ?s osmkey:amenity "cafe" }')
    sparql(str(file), data, explain=True)
    assert 'triple ?s osmkey:amenity "cafe"' in capsys.readouterr().out
