"""Old generations in object storage: what goes with them, and what others still need."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from mapyard.cli import build_app
from mapyard.dataset.manifest import FilePart
from mapyard.fleet.generation import (
    CURRENT_NAME,
    FORMAT,
    Generation,
    Raster,
    Region,
    read_generation,
)
from mapyard.fleet.objects import Objects
from mapyard.fleet.prune import plan_pruning, prune

pytest.importorskip("obstore")


def publish(
    objects: Objects, name: str, created: str, rasters: Sequence[Raster] = (), **datasets: str
) -> None:
    regions = [Region(region, {}, (0, 0, 1, 1), each, 1) for region, each in datasets.items()]
    for region in regions:
        for file in ("manifest.json", "elements/ids.npy"):
            objects.put(f"datasets/{region.name}/{region.dataset}/{file}", b"x")
        objects.put(f"builds/{region.name}-{region.dataset}.json", msgspec.json.encode(region))
    generation = Generation(FORMAT, name, created, created, 0.0, regions, rasters=list(rasters))
    objects.put(f"generations/{name}.json", msgspec.json.encode(generation))
    objects.put(CURRENT_NAME, msgspec.json.encode({"generation": name}))


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    made = Objects(str(tmp_path / "store"))
    made.put("sources/abc/source.osm.pbf", b"x")
    raster = Raster("one.hgt", FilePart(1, "1"))
    for name in (raster.place, f"{raster.place}.ok"):
        made.put(name, b"x")
    publish(made, "g1", "2026-01-01T00:00:00Z", [raster], a="a1", b="b1")
    publish(made, "g2", "2026-01-02T00:00:00Z", a="a2", b="b1")
    publish(made, "g3", "2026-01-03T00:00:00Z", a="a3", b="b3")
    return made


def age(objects: Objects, days: float) -> None:
    """Let all that is there be so old."""
    for path in Path(objects.url).rglob("*"):
        if path.is_file():
            then_s = path.stat().st_mtime - days * 86_400
            os.utime(path, (then_s, then_s))


def test_what_only_old_generations_have_goes(objects: Objects) -> None:
    pruned = plan_pruning(objects, 2)
    assert (pruned.kept, pruned.gone) == (["g3", "g2"], ["g1"])
    before = objects.list("")
    prune(objects, pruned)
    assert set(before) - set(objects.list("")) == {
        "generations/g1.json", "datasets/a/a1/manifest.json", "datasets/a/a1/elements/ids.npy",
        "builds/a-a1.json", "elevation/1/one.hgt", "elevation/1/one.hgt.ok",
    }  # fmt: skip
    assert plan_pruning(objects, 2) == (["g3", "g2"], [], [])


def test_the_current_one_stays_and_the_one_before(objects: Objects) -> None:
    publish(objects, "g4", "2026-01-04T00:00:00Z", a="a4", b="b4")
    publish(objects, "g5", "2026-01-05T00:00:00Z", a="a5", b="b5")
    objects.put(CURRENT_NAME, msgspec.json.encode({"generation": "g3"}))  # somebody went back
    pruned = plan_pruning(objects, 2)
    assert (pruned.kept, pruned.gone) == (["g5", "g4", "g3", "g2"], ["g1"])
    assert [name for name in pruned.files if name.startswith("datasets/b")] == []


def test_what_belongs_to_none_goes_when_it_is_old(objects: Objects) -> None:
    """An extract, and the remains of a build that failed; not those of one that is running."""
    failed = ["builds/c-c1.json", "datasets/c/c1/manifest.json"]
    objects.put(failed[0], msgspec.json.encode(Region("c", {}, (0, 0, 1, 1), "c1", 1)))
    objects.put(failed[1], b"x")
    objects.put("sources/abc/source.osm.pbf.ok", b"")
    assert not set(failed) & set(plan_pruning(objects, 2).files)
    age(objects, 8)
    running = ["builds/c-c2.json", "datasets/c/c2/manifest.json", "sources/def/guests.npy"]
    objects.put(running[0], msgspec.json.encode(Region("c", {}, (0, 0, 1, 1), "c2", 1)))
    objects.put(running[1], b"x")
    objects.put(running[2], b"x")
    files = plan_pruning(objects, 3).files
    assert sorted(files) == sorted(
        [*failed, "sources/abc/source.osm.pbf", "sources/abc/source.osm.pbf.ok"]
    )
    # The note that an extract is whole goes before the extract.
    assert files.index("sources/abc/source.osm.pbf.ok") < files.index("sources/abc/source.osm.pbf")
    assert set(running) <= set(plan_pruning(objects, 3, 0.0).files)


class Crashing(Objects):
    """Fails at the so-manieth call that changes something."""

    def __init__(self, url: str, calls: int) -> None:
        super().__init__(url)
        self.left = calls

    def delete(self, names: Sequence[str]) -> None:
        for name in names:  # one by one: it may stop between any two
            self._count()
            super().delete([name])

    def put(self, name: str, data: bytes) -> None:
        self._count()
        super().put(name, data)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("calls", range(8))
def test_a_run_that_is_stopped_is_finished_by_the_next(
    objects: Objects, tmp_path: Path, calls: int
) -> None:
    whole = Objects(str(tmp_path / "whole"))
    for name in objects.list(""):
        whole.put(name, objects.get(name) or b"")
    prune(whole, plan_pruning(whole, 2))
    with pytest.raises(KeyboardInterrupt):
        prune(Crashing(objects.url, calls), plan_pruning(objects, 2))
    kept = {one.dataset for one in read_generation(objects, "g3").regions}
    assert kept == {"a3", "b3"} and read_generation(objects, "g2").id == "g2"
    again = plan_pruning(objects, 2)
    assert again.kept == ["g3", "g2"]
    prune(objects, again)
    assert objects.list("") == whole.list("")


def test_the_command_says_what_it_would_do(tmp_path: Path, objects: Objects) -> None:
    before = objects.list("")
    words = ["fleet", "prune", str(tmp_path / "store"), "--keep", "2"]
    dry = CliRunner().invoke(build_app(["fleet"]), words)
    assert dry.exit_code == 0
    assert "g1 would be removed" in dry.output
    assert "1 generations" in dry.output
    assert objects.list("") == before
    assert CliRunner().invoke(build_app(["fleet"]), [*words, "--yes"]).exit_code == 0
    assert objects.list("generations/") == ["generations/g2.json", "generations/g3.json"]
    assert CliRunner().invoke(build_app(["fleet"]), [*words[:-1], "1"]).exit_code == 2


def test_an_empty_place_has_nothing_to_remove(tmp_path: Path) -> None:
    assert plan_pruning(Objects(str(tmp_path / "empty")), 2) == ([], [], [])
