"""Datasets of older formats, built anew out of their own source."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import osmium
import osmium.osm.mutable
import pytest
from typer.testing import CliRunner

from mapyard.builder.progress import Reporter
from mapyard.builder.upgrade import upgrade_dataset
from mapyard.cli import build_app
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import FORMAT_VERSION, describe_file, verify_files
from mapyard.errors import MapyardError
from mapyard.osm.elements import NODE
from mapyard.osm.pbf import Header
from mapyard.osm.waiting import list_files, update_source
from mapyard.settings import Settings
from mapyard.store.reader import open_store
from mapyard.store.tag_history import TagHistory, write_history
from osm_files import EXAMPLES, ROOT

runner = CliRunner()


@pytest.fixture
def data(build_once: Callable[..., Path], tmp_path: Path) -> Path:
    """A data folder with a dataset of this version, of the store only."""
    folder = tmp_path / "data"
    shutil.copytree(
        build_once("monaco-store", EXAMPLES / "monaco.osm.pbf", ["store"]), folder, symlinks=True
    )
    return folder


def change(data: Path, **members: Any) -> str:
    """Change the served dataset's manifest; return its id."""
    path = data / "current" / "manifest.json"
    manifest = {**json.loads(path.read_text()), **members}
    path.write_text(json.dumps(manifest))
    return str(manifest["id"])


def upgrade(data: Path, dataset_id: str = "current") -> Any:
    return upgrade_dataset(data, dataset_id, Reporter(quiet=True), Settings(data=data))


def test_an_older_one_is_built_anew_and_served(data: Path) -> None:
    sources = [{"name": "https://example.org/monaco-latest.osm.pbf", "bytes": 7}]
    before = Catalog(data).manifest("current")
    times = ("2026-03-01T00:00:00Z", before.osm_timestamp)
    write_history(data / "current", data, times, Counter(), Counter({("amenity", "cafe"): 2}))
    old = change(data, format=FORMAT_VERSION - 1, sources=sources, bbox=None, of_old="x")
    report = upgrade(data)
    catalog = Catalog(data)
    assert catalog.find_current() == report.dataset_id != old
    assert catalog.ids().count(old) == 1  # it is there until it is pruned
    after = catalog.manifest("current")
    assert after.format == FORMAT_VERSION
    history = TagHistory(catalog.path("current"), after.osm_timestamp)
    assert history.counts("amenity", "cafe", 9)[0] == ("2026-03-01", 7)
    assert after.sources == sources
    assert list(after.parts) == list(before.parts)
    assert after.replication == before.replication
    assert after.osm_timestamp == before.osm_timestamp
    assert verify_files(catalog.path("current"), after) == []
    assert open_store(catalog.path("current") / "elements").info["nodes"] == before.counts["nodes"]


def test_one_of_this_format_needs_nothing(data: Path) -> None:
    assert upgrade(data) is None
    assert len(Catalog(data).ids()) == 1


def test_ways_that_were_prepared_by_another_version(data: Path) -> None:
    """The format is the same, but the engine would answer what was prepared."""
    folder = data / "current" / "routing"
    folder.mkdir()
    meta = {"format": 1, "engine": "3.0", "modes": {"auto": {}}}
    (folder / "matrix.json").write_text(json.dumps(meta))
    assert upgrade(data) is not None
    assert upgrade(data) is None


def test_profiles_that_the_setting_names_since(data: Path) -> None:
    settings = Settings(data=data, prepared_profiles=["truck"])
    quiet = Reporter(quiet=True)
    assert upgrade_dataset(data, "current", quiet, settings) is None  # it has no roads
    (data / "current" / "routing").mkdir()
    (data / "current" / "routing" / "matrix.json").write_text('{"chosen": ["foot-shortest"]}')
    assert upgrade(data) is None
    assert upgrade_dataset(data, "current", quiet, settings) is not None


def test_without_a_served_one_the_newest_is_meant(data: Path) -> None:
    change(data, format=1)
    (data / "current").unlink()
    assert upgrade(data) is not None


def test_a_newer_one_is_left_to_a_newer_program(data: Path) -> None:
    change(data, format=FORMAT_VERSION + 1)
    with pytest.raises(MapyardError, match="a newer Mapyard made it; upgrade the program"):
        upgrade(data)


def test_a_damaged_source_is_not_built_from(data: Path) -> None:
    change(data, format=1)
    source = data / "current" / "source.osm.pbf"
    content = bytearray(source.read_bytes())
    content[-1] ^= 1
    source.unlink()  # a link to the file of other tests
    source.write_bytes(content)
    with pytest.raises(MapyardError, match=r"has changed since .*mapyard build monaco\.osm\.pbf"):
        upgrade(data)


def let_a_node_wait(data: Path, tmp_path: Path) -> dict[str, Any]:
    """Leave the served dataset as an update does that builds no roads; return its files."""
    folder, made = data / "current", tmp_path / "made"
    made.mkdir()
    with osmium.SimpleWriter(str(tmp_path / "changed.osm.pbf")) as writer:
        writer.add(osmium.osm.mutable.Node(id=1 << 40, version=1, location=(7.42, 43.74)))
    ids = [np.array([1 << 40]), *[np.empty(0, np.int64)] * 2]
    none = [np.empty(0, np.int64)] * 3
    header = Header(replication_sequence=77, replication_timestamp=1_775_500_000)
    changed = tmp_path / "changed.osm.pbf"
    assert update_source(folder, made, changed, ids, none, header, is_needed=False)
    (made / "source").rename(folder / "source")
    (folder / "source.osm.pbf").rename(folder / "source" / "base.osm.pbf")
    parts = json.loads((folder / "manifest.json").read_text())["parts"]
    parts["source"]["files"] = {
        name: msgspec.to_builtins(describe_file(folder / name)) for name in list_files(folder)
    }
    return {"parts": parts}


def test_changes_that_wait_are_part_of_the_source(data: Path, tmp_path: Path) -> None:
    change(data, format=1, **let_a_node_wait(data, tmp_path))
    before = Catalog(data).ids()
    report = upgrade(data)
    assert (data / "current" / "source.osm.pbf").is_file()
    assert report.manifest.replication.sequence == 77
    assert report.manifest.osm_timestamp == "2026-04-06T18:26:40Z"
    assert open_store(data / "current" / "elements").find_rows(NODE, np.array([1 << 40]))[0] >= 0
    assert len(Catalog(data).ids()) == len(before) + 1
    assert not (data / "upgrade.osm.pbf").exists()


@pytest.mark.parametrize("name", ["base.osm.pbf", "changed.osm.pbf", "deleted.npy"])
def test_each_file_of_a_source_has_to_be_well(name: str, data: Path, tmp_path: Path) -> None:
    change(data, format=1, **let_a_node_wait(data, tmp_path))
    path = data / "current" / "source" / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(MapyardError, match=rf"source/{name} of .* has changed since"):
        upgrade(data)
    path.unlink()
    with pytest.raises(MapyardError, match=rf"has no source/{name}"):
        upgrade(data)


def test_a_missing_source_is_named(data: Path) -> None:
    change(data, format=1, sources=[{"name": "liechtenstein.osm.pbf"}])
    (data / "current" / "source.osm.pbf").unlink()
    with pytest.raises(MapyardError, match=r"mapyard build liechtenstein\.osm\.pbf"):
        upgrade(data)


def test_a_manifest_that_reads_otherwise_is_of_its_format_first(data: Path) -> None:
    change(data, format=2, counts=[1, 2, 3], replication="none")
    with pytest.raises(MapyardError, match=r"has format 2.*mapyard datasets upgrade"):
        Catalog(data).get_current()
    assert upgrade(data) is not None
    change(data, counts=[1, 2, 3])
    with pytest.raises(MapyardError, match="is broken"):
        Catalog(data).get_current()


def test_a_part_whose_plugin_is_gone_is_named(data: Path) -> None:
    manifest = json.loads((data / "current" / "manifest.json").read_text())
    change(data, format=1, parts={**manifest["parts"], "census": {"files": {}}})
    with pytest.raises(MapyardError, match="no part census"):
        upgrade(data)


def test_every_format_has_its_line_in_the_docs() -> None:
    page = (ROOT / "docs" / "releasing.md").read_text()
    formats = [int(number) for number in re.findall(r"(?m)^\| (\d+) \|", page)]
    assert formats == list(range(1, FORMAT_VERSION + 1))


def test_the_command_says_what_it_did(data: Path) -> None:
    app = build_app(["datasets"])
    done = runner.invoke(app, ["datasets", "upgrade", "--data", str(data)])
    assert (done.exit_code, "of this version already" in done.output) == (0, True)
    old = change(data, format=2)
    listed = runner.invoke(app, ["datasets", "list", "--data", str(data)], env={"COLUMNS": "200"})
    assert "mapyard datasets upgrade" in listed.output
    done = runner.invoke(app, ["datasets", "upgrade", old, "--data", str(data)])
    assert done.exit_code == 0, done.output
    assert "is now served" in done.output
    done = runner.invoke(app, ["datasets", "upgrade", "nothing", "--data", str(data)])
    assert (done.exit_code, "known are" in done.output) == (1, True)
