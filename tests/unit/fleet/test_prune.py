"""Old generations in object storage: what goes with them, and what others still need."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from mapyard.cli import build_app
from mapyard.fleet.generation import CURRENT_NAME, FORMAT, Generation, Region
from mapyard.fleet.objects import Objects
from mapyard.fleet.prune import plan_pruning, prune

pytest.importorskip("obstore")


def publish(objects: Objects, name: str, created: str, **datasets: str) -> None:
    regions = [Region(region, {}, (0, 0, 1, 1), each, 1) for region, each in datasets.items()]
    for region in regions:
        for file in ("manifest.json", "elements/ids.npy"):
            objects.put(f"datasets/{region.name}/{region.dataset}/{file}", b"x")
        objects.put(f"builds/{region.name}-{region.dataset}.json", msgspec.json.encode(region))
    generation = Generation(FORMAT, name, created, created, 0.0, regions)
    objects.put(f"generations/{name}.json", msgspec.json.encode(generation))
    objects.put(CURRENT_NAME, msgspec.json.encode({"generation": name}))


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    made = Objects(str(tmp_path / "store"))
    made.put("sources/abc/source.osm.pbf", b"x")
    publish(made, "g1", "2026-01-01T00:00:00Z", a="a1", b="b1")
    publish(made, "g2", "2026-01-02T00:00:00Z", a="a2", b="b1")
    publish(made, "g3", "2026-01-03T00:00:00Z", a="a3", b="b3")
    return made


def test_what_only_old_generations_have_goes(objects: Objects) -> None:
    pruned = plan_pruning(objects, 2)
    assert (pruned.kept, pruned.gone) == (["g3", "g2"], ["g1"])
    before = objects.list("")
    prune(objects, pruned)
    assert set(before) - set(objects.list("")) == {
        "generations/g1.json", "datasets/a/a1/manifest.json", "datasets/a/a1/elements/ids.npy",
        "builds/a-a1.json",
    }  # fmt: skip
    assert plan_pruning(objects, 2).files == []


def test_the_current_one_stays(objects: Objects) -> None:
    objects.put(CURRENT_NAME, msgspec.json.encode({"generation": "g1"}))  # somebody went back
    pruned = plan_pruning(objects, 1)
    assert (pruned.kept, pruned.gone) == (["g3", "g1"], ["g2"])
    assert [name for name in pruned.files if name.startswith("datasets/b")] == []


def test_the_command_says_what_it_would_do(tmp_path: Path, objects: Objects) -> None:
    before = objects.list("")
    words = ["fleet", "prune", str(tmp_path / "store"), "--keep", "1"]
    dry = CliRunner().invoke(build_app(["fleet"]), [*words, "--dry-run"])
    assert dry.exit_code == 0
    assert "g1 would be removed" in dry.output
    assert "2 generations" in dry.output
    assert objects.list("") == before
    assert CliRunner().invoke(build_app(["fleet"]), words).exit_code == 0
    assert [name for name in objects.list("datasets/") if "/a3/" not in name] == [
        "datasets/b/b3/elements/ids.npy", "datasets/b/b3/manifest.json",
    ]  # fmt: skip


def test_an_empty_place_has_nothing_to_remove(tmp_path: Path) -> None:
    assert plan_pruning(Objects(str(tmp_path / "empty")), 2) == ([], [], [])
