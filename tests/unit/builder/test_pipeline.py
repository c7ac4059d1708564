from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import msgspec
import osmium
import pytest
from osmium.osm.mutable import Node
from typer.testing import CliRunner

from killed import kill_while_building
from mapyard.builder import pipeline
from mapyard.builder.pipeline import STORE_STEP, Step, StepContext, build_dataset
from mapyard.builder.preflight import Estimate, NoRoom, check_room
from mapyard.builder.progress import Reporter
from mapyard.builder.steps import select_steps
from mapyard.cli import build_app
from mapyard.dataset.catalog import GUESTS_NAME, Busy, Catalog
from mapyard.dataset.manifest import verify_files
from mapyard.errors import InvalidRequest, MapyardError
from mapyard.osm import source
from mapyard.osm.source import is_sorted
from mapyard.store.reader import open_store
from osm_files import EXAMPLES, write_osm

MONACO = EXAMPLES / "monaco.osm.pbf"


def build(source: Path, data: Path, *more: Step) -> pipeline.BuildReport:
    return build_dataset([source], data, [STORE_STEP, *more], Reporter(quiet=True))


def small(tmp_path: Path, name: str = "small.osm") -> Path:
    return write_osm(tmp_path / name, {1: (7.4, 43.7, {"name": "x"})})


def test_a_build_is_whole_served_and_described(tmp_path: Path) -> None:
    data = tmp_path / "data"
    report = build(MONACO, data)
    catalog = Catalog(data)
    assert catalog.find_current() == report.dataset_id
    assert report.dataset_id.startswith("2026-04-06T202115Z-")
    manifest = catalog.manifest("current")
    assert manifest.counts == {"nodes": 41339, "ways": 6180, "relations": 348, "listed": 10670}
    assert manifest.osm_timestamp == "2026-04-06T20:21:15Z"
    assert manifest.replication.sequence == 4747
    assert manifest.sources == [{"name": "monaco.osm.pbf", "bytes": MONACO.stat().st_size}]
    assert set(manifest.parts) == {"source", "store"}
    assert verify_files(report.folder, manifest) == []
    problems = msgspec.json.decode((report.folder / "report.json").read_bytes())["problems"]
    assert ["relation/7385", "member ways or nodes lie outside the extract"] in problems[
        "area relation not assembled"
    ]


def test_a_sorted_file_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise AssertionError("read before the store reads it")

    monkeypatch.setattr(source, "iter_blocks", refuse)
    build(MONACO, tmp_path / "data")


@pytest.mark.parametrize("fault", ["unsorted", "doubled", "not dense"])
def test_what_only_says_that_it_is_sorted_is_sorted_then(tmp_path: Path, fault: str) -> None:
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    path = tmp_path / "liar.osm.pbf"
    kind = "pbf,pbf_dense_nodes=false" if fault == "not dense" else "pbf"
    file = osmium.io.File(str(path), kind)
    ids = {"unsorted": [3, 1, 2], "doubled": [1, 2, 2, 3]}
    with osmium.SimpleWriter(file, header=header) as writer:
        for osm_id in ids.get(fault, [1, 2, 3]):
            writer.add_node(Node(id=osm_id, location=(osm_id, 0), version=1))
    report = build(path, tmp_path / "data")
    store = open_store(report.folder / "elements")
    assert store.ids[:].tolist() == [1, 2, 3]
    assert is_sorted(report.folder / "source.osm.pbf")
    assert verify_files(report.folder, report.manifest) == []
    assert list(report.manifest.parts) == ["source", "store"]
    stages = msgspec.json.decode((report.folder / "report.json").read_bytes())["stages"]
    assert "source: sorting and merging" in [stage["name"] for stage in stages]


def test_a_second_build_replaces_the_first_and_prune_removes_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    first = build(small(tmp_path), data)
    second = build(small(tmp_path), data)
    catalog = Catalog(data)
    assert set(catalog.ids()) == {first.dataset_id, second.dataset_id}
    catalog.use(first.dataset_id)
    assert catalog.find_current() == first.dataset_id
    catalog.use(second.dataset_id)
    assert catalog.prune(keep=1) == [first.dataset_id]
    assert catalog.ids() == [second.dataset_id]
    with pytest.raises(MapyardError, match="is being served"):
        catalog.remove(second.dataset_id)
    with pytest.raises(MapyardError, match="no dataset 'nonsense'"):
        catalog.use("nonsense")


def test_a_changed_file_fails_verification(tmp_path: Path) -> None:
    report = build(small(tmp_path), tmp_path / "data")
    column = report.folder / "elements" / "ids_base.npy"
    column.write_bytes(column.read_bytes() + b"x")
    (report.folder / "elements" / "lat.npy").unlink()
    faults = verify_files(report.folder, report.manifest)
    assert sorted(faults) == [
        "elements/ids_base.npy has changed since it was built",
        "elements/lat.npy is missing",
    ]


def failing(error: BaseException) -> Step:
    def run(ctx: StepContext) -> dict[str, Any]:
        (ctx.folder / "half").write_text("half")
        raise error

    return Step("failing", run, lambda _: Estimate(0, 0))


@pytest.mark.parametrize("error", [MapyardError("no"), KeyboardInterrupt(), ValueError("bug")])
def test_a_build_that_fails_leaves_the_served_dataset(tmp_path: Path, error: BaseException) -> None:
    data = tmp_path / "data"
    served = build(small(tmp_path), data)
    with pytest.raises(type(error)):
        build(small(tmp_path), data, failing(error))
    assert [p.name for p in (data / "datasets").iterdir()] == [served.dataset_id]
    assert Catalog(data).find_current() == served.dataset_id


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(MapyardError, match=r"the disk of .* is full \(No space left on device\)"):
        build(small(tmp_path), tmp_path / "data", failing(full))


def test_too_little_room_is_refused_with_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(NoRoom, match=r"needs about 1000000\.00 GB of disk .* GB are free"):
        check_room(tmp_path, [Estimate(0, 10**15)])
    with pytest.raises(NoRoom, match=r"needs about 1000000\.00 GB of memory, .* are available"):
        check_room(tmp_path, [Estimate(10**15, 0)])


def test_one_build_at_a_time(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Catalog(data).lock(), pytest.raises(Busy, match=f"process {os.getpid()}"):
        build(small(tmp_path), data)
    build(small(tmp_path), data)


def test_regions_of_a_fleet_are_not_pruned(tmp_path: Path) -> None:
    data = tmp_path / "data"
    built = [build(small(tmp_path), data).dataset_id for _ in range(2)]
    (data / "datasets" / built[0] / GUESTS_NAME).touch()
    with pytest.raises(MapyardError, match="regions of a fleet"):
        Catalog(data).prune(keep=1)
    assert Catalog(data).ids() == sorted(built)


def test_an_extract_without_elements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MapyardError, match="holds no elements"):
        build(write_osm(tmp_path / "none.osm", {}), tmp_path / "data")
    assert Catalog(tmp_path / "data").ids() == []


def test_all_extracts_of_a_folder_are_built(tmp_path: Path) -> None:
    folder = tmp_path / "extracts"
    folder.mkdir()
    for number in (2, 1):
        write_osm(folder / f"{number}.osm", {number: (number, 0.0)})
    (folder / "readme.txt").write_text("no extract")
    app = build_app(["build"])
    done = CliRunner().invoke(
        app, ["build", str(folder), "--data", str(tmp_path / "data"), "--only", "store"]
    )
    assert done.exit_code == 0, done.output
    manifest = Catalog(tmp_path / "data").manifest("current")
    assert manifest.counts["nodes"] == 2
    assert [Path(source["name"]).name for source in manifest.sources] == ["1.osm", "2.osm"]
    (tmp_path / "empty").mkdir()
    done = CliRunner().invoke(app, ["build", str(tmp_path / "empty"), "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert "no extract in this folder" in done.stderr


def test_unknown_parts_are_named() -> None:
    with pytest.raises(InvalidRequest, match="no part nonsense; parts are store"):
        select_steps(["nonsense"])
    assert [step.name for step in select_steps([])] == ["store"]


def test_kill_at_any_moment_then_build_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    served = build(small(tmp_path), data).dataset_id
    program = ["-m", "mapyard", "build", str(MONACO), "--data", str(data), "--only", "store"]
    interrupted = 0
    for after_s in (0.0, 0.1, 0.3, 0.5, 0.8):
        interrupted += kill_while_building(program, data, after_s)
        catalog = Catalog(data)
        current = catalog.find_current()
        assert current is not None
        assert verify_files(catalog.path(current), catalog.manifest(current)) == []
    assert interrupted
    assert served in Catalog(data).ids()
    report = build(MONACO, data)
    assert not [p for p in (data / "datasets").iterdir() if p.name.startswith(".")]
    assert Catalog(data).find_current() == report.dataset_id
