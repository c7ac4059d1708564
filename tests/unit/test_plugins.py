"""The example plugin, installed as pip would: a question, an endpoint, a command, a build step."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mapyard import plugins
from osm_files import EXAMPLES

PLUGIN = EXAMPLES / "plugin"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder to put on the path, in which the plugin is installed."""
    site = tmp_path / "site"
    info = site / "mapyard_census-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mapyard-census\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[mapyard]\ncensus = mapyard_census\n")
    (site / "mapyard_census").symlink_to(PLUGIN / "mapyard_census")
    return site


def run(site: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{code}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_each_kind_of_addition_works(installed: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    code = f"""
import json, mapyard
from pathlib import Path
data = Path({str(data)!r})
m = mapyard.build({str(EXAMPLES / "monaco.osm.pbf")!r}, data=data, only=["store", "census"])
box = (43.73, 7.41, 43.74, 7.43)
mine = m.census("amenity", bbox=box)
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
with LocalClient(Settings(data=data)) as client:
    over_http = client.get("/api/v1/census?key=amenity&bbox=43.73,7.41,43.74,7.43").json()
    wrong = client.get("/api/v1/census").json()
    documented = "/api/v1/census" in client.get("/openapi.json").json()["paths"]
from typer.testing import CliRunner
from mapyard.cli import build_app, find_commands
done = CliRunner().invoke(build_app(["census"]), ["census", "amenity", "--bbox",
    "43.73,7.41,43.74,7.43", "--data", str(data), "--json"])
counts = {{row.value: row.count for row in mine}}
found = len(m.features(bbox=box, tags={{"amenity": "cafe"}}))
keys = json.loads((data / "current" / "census" / "keys.json").read_text())
print(json.dumps([mine.to_json() == over_http == json.loads(done.stdout),
    counts["cafe"] == found > 5, wrong["error"]["code"], documented,
    "census" in find_commands(), keys["amenity"] > 1000]))
"""
    assert json.loads(run(installed, code)) == [True, True, "invalid_request", True, True, True]


def test_a_plugin_that_fails_is_named(tmp_path: Path) -> None:
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mapyard]\nbroken = no_such_module\n")
    code = (
        "from mapyard.plugins import load_plugins, PluginFailed\n"
        "try: load_plugins()\n"
        "except PluginFailed as error: print(error)\n"
    )
    assert "the plugin broken (no_such_module) cannot be loaded" in run(tmp_path, code)


def test_none_are_installed_here() -> None:
    assert plugins.load_plugins() == {}
