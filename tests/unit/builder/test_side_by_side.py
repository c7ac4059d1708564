"""Parts built side by side are the same, and end with the build."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import osmium
import pytest

from mapyard.builder import side_by_side
from mapyard.builder.pipeline import Step, build_dataset
from mapyard.builder.preflight import Estimate
from mapyard.builder.progress import LineReporter
from mapyard.builder.steps import select_steps
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import Manifest, verify_files
from mapyard.errors import MapyardError
from osm_files import EXAMPLES

MONACO = EXAMPLES / "monaco.osm.pbf"


def files_of(manifest: Manifest) -> dict[str, object]:
    """Return the checksums of all files but those that no two builds have alike: tantivy's."""
    return {
        name: described
        for part in manifest.parts.values()
        for name, described in part.files.items()
        if not name.startswith(("routing/", "text/index/", "text/postings/near/"))
    }


@pytest.mark.slow
def test_for_every_number_of_jobs_the_same_comes_out(tmp_path: Path) -> None:
    steps = select_steps(["text", "tiles"])
    made = {}
    for jobs in (1, 2, 5):
        said: list[str] = []
        with LineReporter(said.append) as progress:
            report = build_dataset([MONACO], tmp_path / str(jobs), steps, progress, jobs=jobs)
        assert verify_files(report.folder, report.manifest) == []
        assert list(report.manifest.parts) == ["source", "store", "text", "tiles"]
        assert [path.name for path in report.folder.iterdir() if path.name.startswith(".")] == []
        made[jobs] = report.manifest
        begun = {line.split(" ")[0]: place for place, line in enumerate(said)}
        ended = {line.split(":")[0]: i for i, line in enumerate(said) if ": done" in line}
        is_beside = begun["text"] < ended["tiles"] and begun["tiles"] < ended["text"]
        assert is_beside == (jobs > 1)
    assert len(files_of(made[1])) > 50
    for jobs in (2, 5):
        assert files_of(made[jobs]) == files_of(made[1])
        for name, part in made[jobs].parts.items():
            assert part.report == made[1].parts[name].report
            assert name == "text" or set(part.files) == set(made[1].parts[name].files)


@pytest.mark.slow
def test_roads_are_read_beside_the_store(tmp_path: Path) -> None:
    # Not sorted by type: the first attempt ends when the store meets a way before a node.
    unsorted = tmp_path / "unsorted.osm.pbf"
    kinds = (osmium.osm.WAY, osmium.osm.NODE, osmium.osm.RELATION)
    with osmium.SimpleWriter(str(unsorted)) as writer:
        for kind in kinds:
            for one in osmium.FileProcessor(str(MONACO), kind):
                writer.add(one)
    names = []
    for source, jobs in ((MONACO, 1), (MONACO, 2), (unsorted, 2)):
        said: list[str] = []
        data = tmp_path / f"{source.name}-{jobs}"
        with LineReporter(said.append) as progress:
            report = build_dataset([source], data, select_steps(["routing"]), progress, jobs=jobs)
        assert verify_files(report.folder, report.manifest) == []
        assert [path.name for path in report.folder.iterdir() if path.name.startswith(".")] == []
        assert not [name for name in report.manifest.parts["store"].files if "part-" in name]
        names.append(set(report.manifest.parts["routing"].files))
        edges = report.manifest.parts["routing"].report["edges"]
        assert edges > 1_000
        begun = [line.split(" …")[0] for line in said]
        assert ("routing: reading the source" in begun) == (jobs == 2)
        if jobs == 2:
            assert (
                begun.index("routing: reading the source")
                < begun.index("store: tags")
                < begun.index("routing")
            )
    assert names[0] == names[1] == names[2]


def test_what_a_part_fails_of_ends_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAPYARD_IMPORTANCE_FILE", "")
    steps = select_steps(["text", "tiles"])
    from mapyard.settings import Settings

    missing = Settings(importance_file=tmp_path / "none.csv")
    with pytest.raises(MapyardError, match=r"none\.csv"), LineReporter(list) as progress:
        build_dataset([MONACO], tmp_path / "data", steps, progress, settings=missing, jobs=2)
    assert Catalog(tmp_path / "data").ids() == []
    assert list((tmp_path / "data" / "datasets").iterdir()) == []


def test_steps_of_plugins_run_after_the_others(tmp_path: Path) -> None:
    seen: list[bool] = []

    def run(ctx: object) -> None:
        seen.append((ctx.folder / "tiles.pmtiles").exists())  # type: ignore[attr-defined]

    own = Step("own", run, lambda pbf: Estimate(0, 0))
    steps = [*select_steps(["tiles", "text"]), own]
    assert not side_by_side.can_run_apart(own)
    with LineReporter(lambda line: None) as progress:
        build_dataset([MONACO], tmp_path / "data", steps, progress, jobs=2)
    assert seen == [True]


def processes_of(folder: Path) -> list[int]:
    """Return the processes that have a file of a folder open or mapped."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                if str(folder) in (process / "maps").read_text():
                    found.append(int(process.name))
            except OSError:
                continue
    return found


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_nothing_runs_on_when_a_build_is_killed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = ["-m", "mapyard", "build", str(MONACO), "--data", str(data), "--jobs", "3"]
    build = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until_s = time.monotonic() + 60
        while not list(data.glob("datasets/.*/.part-text/text/*")):
            assert build.poll() is None and time.monotonic() < until_s
            time.sleep(0.002)
        assert processes_of(data)  # those of parts have the elements mapped
    finally:
        build.send_signal(signal.SIGKILL)
        build.wait()
    until_s = time.monotonic() + 20
    while processes_of(data) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert processes_of(data) == []
    with LineReporter(lambda line: None) as progress:
        report = build_dataset([MONACO], data, select_steps(["tiles"]), progress)
    assert report.cleaned
    assert [path.name for path in (data / "datasets").iterdir()] == [report.dataset_id]
