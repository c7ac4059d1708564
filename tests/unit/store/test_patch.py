"""Patching a store equals loading the changed data: random maps, all kinds of changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mapyard.osm.pbf import iter_blocks
from mapyard.osm.source import prepare_source
from mapyard.store.patching import trees
from mapyard.store.patching.patch import patch_store
from mapyard.store.reader import open_store
from mapyard.store.shapes import Problems
from mapyard.store.writer import write_store
from osm_files import write_osm
from stores import find_differences

TAGS: list[dict[str, str]] = [
    {}, {"building": "yes"}, {"highway": "path", "name": "A"}, {"natural": "water"},
    {"type": "multipolygon", "natural": "wood"}, {"type": "route"}, {"area": "no", "building": "x"},
]  # fmt: skip


class RandomMap:
    """Elements of a random map; `change()` alters some of them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: dict[int, Any] = {i: self.node() for i in self.pick(1, 60, 40)}
        self.ways: dict[int, Any] = {i: self.way() for i in self.pick(1, 30, 15)}
        self.relations: dict[int, Any] = {i: self.relation() for i in self.pick(1, 15, 8)}

    def pick(self, low: int, high: int, count: int) -> list[int]:
        return self.random.choice(np.arange(low, high), count, replace=False).tolist()

    def tags(self) -> dict[str, str]:
        return TAGS[int(self.random.integers(len(TAGS)))]

    def node(self) -> Any:
        lon, lat = self.random.integers(-30, 30, 2).tolist()
        if self.random.random() < 0.05:
            lat = 950  # off the globe: it has no position
        return (lon / 10, lat / 10, self.tags() if self.random.random() < 0.3 else {})

    def way(self) -> Any:
        refs = self.pick(1, 60, int(self.random.integers(1, 7)))
        return (refs + refs[:1] if self.random.random() < 0.6 else refs, self.tags())

    def relation(self) -> Any:
        kinds = self.random.choice(["node", "way", "way", "relation"], 4).tolist()
        roles = self.random.choice(["", "outer", "inner", "stop"], 4).tolist()
        ids = [
            int(self.random.integers(1, {"node": 60, "way": 30, "relation": 15}[k])) for k in kinds
        ]
        return (list(zip(kinds, ids, roles, strict=True)), self.tags())

    def change(self) -> None:
        for elements, make, high in (
            (self.nodes, self.node, 60),
            (self.ways, self.way, 30),
            (self.relations, self.relation, 15),
        ):
            for osm_id in self.pick(1, high, int(self.random.integers(0, 6))):
                if self.random.random() < 0.3:
                    elements.pop(osm_id, None)
                else:
                    elements[osm_id] = make()

    def write(self, path: Path) -> Path:
        write_osm(path.with_suffix(".osm"), self.nodes, self.ways, self.relations)
        prepare_source([path.with_suffix(".osm")], path)
        return path

    def copy(self) -> list[dict[int, Any]]:
        return [dict(self.nodes), dict(self.ways), dict(self.relations)]


def patch_and_compare(
    tmp_path: Path, step: int, world: RandomMap, before: list[dict[int, Any]], problems: Problems
) -> Problems:
    """Patch the store `s{step - 1}`, compare it with a fresh one, and return its problems."""
    after = world.copy()
    changed = [
        {i: e for i, e in new.items() if old.get(i) != e}
        for old, new in zip(before, after, strict=True)
    ]
    deleted = [
        np.array(sorted(set(old) - set(new)), np.int64)
        for old, new in zip(before, after, strict=True)
    ]
    path = tmp_path / f"c{step}.osm"
    write_osm(path, *changed)
    source = tmp_path / f"c{step}.osm.pbf"
    if any(changed):
        prepare_source([path], source)
    blocks = [b for b in iter_blocks(source) if len(b.ids)] if any(changed) else []
    old, folder = tmp_path / f"s{step - 1}", tmp_path / f"s{step}"
    patched = patch_store(old, folder, blocks, deleted, problems)
    fresh = write_store(tmp_path / f"f{step}", world.write(tmp_path / f"{step}.osm.pbf"))
    new, expected = (open_store(tmp_path / f"{name}{step}") for name in "sf")
    assert find_differences(new, expected) == []
    assert {k: sorted(v) for k, v in patched.problems.items()} == {
        k: sorted(v) for k, v in fresh["problem_ids"].items()
    }
    return patched.problems


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("max_loose_share", [0.05, 100.0])
def test_random_changes(
    tmp_path: Path, seed: int, max_loose_share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MAX_LOOSE_SHARE", max_loose_share)
    world = RandomMap(seed)
    problems = write_store(tmp_path / "s0", world.write(tmp_path / "0.osm.pbf"))["problem_ids"]
    for step in (1, 2, 3):
        before = world.copy()
        world.change()
        problems = patch_and_compare(tmp_path, step, world, before, problems)


def test_a_node_without_a_position_comes_and_goes(tmp_path: Path) -> None:
    world = RandomMap(0)
    world.nodes = {i: (0.1 * i, 0.0, {}) for i in (1, 2, 3)}
    world.ways, world.relations = {1: ([1, 2], {"highway": "path"})}, {}
    problems = write_store(tmp_path / "s0", world.write(tmp_path / "0.osm.pbf"))["problem_ids"]
    off_the_globe = (0.1, 95.0, {})
    for step, (node, way) in enumerate(
        [
            (off_the_globe, None),
            (None, [1, 3]),  # gone, and another way refers to it
            (off_the_globe, [1, 2, 3]),
            ((0.1, 0.5, {}), None),
            (None, [3, 1]),
        ],
        1,
    ):
        before = world.copy()
        world.nodes.pop(1, None)
        if node is not None:
            world.nodes[1] = node
        world.nodes = dict(sorted(world.nodes.items()))
        if way is not None:
            world.ways[2] = (way, {"highway": "track"})
        problems = patch_and_compare(tmp_path, step, world, before, problems)
