"""QGIS without a window loads an OGC API Features layer and our tiles, and draws them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from osm_files import ROOT
from servers import Server, copy_data, running

PYTHON = "/usr/bin/python3"
SCRIPT = Path(__file__).with_name("qgis_project.py")


def has_qgis() -> bool:
    """Whether the system's Python has QGIS (Debian: python3-qgis)."""
    if not Path(PYTHON).exists():
        return False
    command = [PYTHON, "-c", "import qgis.core"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def server(monaco: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not has_qgis():
        pytest.skip("needs QGIS: apt-get install python3-qgis")
    folder = tmp_path_factory.mktemp("qgis")
    with running(copy_data(monaco, folder / "data"), folder / "serve.log") as started:
        yield started


def test_layers_and_pictures(server: Server, tmp_path: Path) -> None:
    tiles = f"{server.address}/key/{server.key}/api/v1/tiles/{{z}}/{{x}}/{{y}}.mvt"
    done = subprocess.run(
        [PYTHON, SCRIPT, f"{server.address}/key/{server.key}", tiles, tmp_path / "shot"],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
    assert said, (done.stdout, done.stderr)
    found = json.loads(said[0].removeprefix("FOUND"))
    assert found["features"], done.stderr
    assert found["tiles"]
    assert "name" in found["fields"]
    box = "/api/v1/features?bbox=43.735,7.420,43.741,7.427&tags[building]=*&format=geojson"
    assert found["count"] == len(server.get(box).json()["features"]) > 100
    assert found["colors of features"] > 3
    assert found["colors of tiles"] > 3


def test_the_project_of_the_examples_opens_and_draws(server: Server, tmp_path: Path) -> None:
    project = tmp_path / "mapyard.qgs"
    script = ROOT / "examples" / "qgis" / "make_project.py"
    command = [sys.executable, script, server.key, server.address, "--out", project]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert project.stat().st_mode & 0o077 == 0  # the key is in it
    done = subprocess.run(
        [PYTHON, Path(__file__).with_name("qgis_open.py"), project, tmp_path / "shot.png"],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
    assert said, (done.stdout, done.stderr)
    found = json.loads(said[0].removeprefix("FOUND"))
    assert found["opened"]
    assert found["layers"] == {"Map": True, "Buildings near by": True, "Roads near by": True}
    assert found["colors"] > 10


@pytest.mark.parametrize(
    ("words", "says"), [(["x"], "begin with pk_"), (["pk_x", "a b"], "address")]
)
def test_a_wrong_key_or_address_makes_no_project(
    words: list[str], says: str, tmp_path: Path
) -> None:
    script = ROOT / "examples" / "qgis" / "make_project.py"
    done = subprocess.run(
        [sys.executable, script, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert says in done.stderr
    assert not list(tmp_path.iterdir())
