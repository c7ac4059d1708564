"""Datasets of another format are named and left alone by every command."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.cli import build_app
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import FORMAT_VERSION, read_manifest
from mapyard.errors import MapyardError
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from osm_files import EXAMPLES


@pytest.fixture
def old(build_once: Callable[..., Path], tmp_path: Path) -> Path:
    """A data folder whose dataset an older version made."""
    data = tmp_path / "data"
    shutil.copytree(
        build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"]), data, symlinks=True
    )
    path = data / "current" / "manifest.json"
    text = path.read_text()
    path.write_text(text.replace(f'"format": {FORMAT_VERSION}', '"format": 0'))
    return data


def test_the_message_says_how_to_go_on(old: Path) -> None:
    folder = (old / "current").resolve()
    expected = re.escape(
        f"{folder.name} has format 0, this Mapyard reads {FORMAT_VERSION}: "
        f"build it anew with: mapyard datasets upgrade {folder.name}"
    )
    with pytest.raises(MapyardError, match=expected):
        read_manifest(folder)
    with pytest.raises(MapyardError, match=expected):
        Catalog(old).get_current()
    assert (folder / "source.osm.pbf").is_file()


@pytest.mark.parametrize(
    "arguments",
    [
        ["geocode", "rue grimaldi"],
        ["query", "-"],
        ["sparql", "-"],
        ["tiles", "export"],
        ["datasets", "verify"],
    ],
)
def test_no_command_reads_it(
    old: Path, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        build_app([arguments[0]]), [*arguments, "--data", str(old)], input="ASK { ?s ?p ?o }"
    )
    assert isinstance(done.exception, MapyardError)
    assert "has format 0" in str(done.exception)


def test_the_list_marks_it(old: Path) -> None:
    done = CliRunner().invoke(build_app(["datasets"]), ["datasets", "list", "--data", str(old)])
    assert done.exit_code == 0
    name = (old / "current").resolve().name
    assert f"{name} is of another format: mapyard datasets upgrade {name}" in done.stdout
    assert "other format" in done.stdout.splitlines()[1]


def test_the_server_has_nothing_to_serve_and_says_why_in_its_log_only(
    old: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with LocalClient(Settings(data=old)) as client:
        answers = [client.get("/api/v1/features/node/1") for _ in range(3)]
    assert {answer.status_code for answer in answers} == {503}
    assert not any(str(old) in answer.text for answer in answers)
    assert caplog.text.count("has format 0") == 1


def test_no_dataset_at_all(tmp_path: Path) -> None:
    with pytest.raises(MapyardError, match="there is no dataset in"):
        Catalog(tmp_path).get_current()
