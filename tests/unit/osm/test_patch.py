"""A source with changes: the elements patched one by one, however little is held at once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import numpy as np
import osmium
import osmium.osm.mutable
import pytest

from mapyard.osm import patch
from mapyard.osm.merge import Key, key_of
from mapyard.osm.pbf import Header, iter_blocks, iter_first_elements, read_header
from mapyard.osm.source import is_sorted

NODES, WAYS = 60_000, 9_000
WHEN = "2024-03-0{}T04:05:06Z"

#: Versions and what tells elements of the same version apart.
Elements = dict[Key, tuple[int, str]]


def write(path: Path, elements: Elements) -> None:
    with osmium.SimpleWriter(str(path)) as writer:
        for key, (version, word) in sorted(elements.items()):
            writer.add(make(key, version, word))


def make(key: Key, version: int, word: str) -> Any:
    kind, id = key
    said: dict[str, Any] = {"id": id, "version": version}
    if version:
        said |= {"timestamp": WHEN.format(version), "changeset": id % 1000, "uid": version}
        said["user"] = f"mapper {word}"
    if id % 5 == 0:
        said["tags"] = {"name": word, "": "", f"ref:{id}": "ä"}
    if kind == 0:
        # Deleted nodes of ways and clipped maps: one without a place.
        where = None if id % 97 == 0 else (id / 1e5 - 90, 47.1 + version)
        return osmium.osm.mutable.Node(location=where, **said)
    if kind == 1:
        return osmium.osm.mutable.Way(nodes=[2 * id, version, 2][: id % 4], **said)
    members = [("w", id, word), ("n", version, ""), ("r", id, "outer")][: id % 4]
    return osmium.osm.mutable.Relation(members=members, **said)


def show(item: Any) -> tuple[object, ...]:
    if item.is_node():
        holds: object = (item.location.x, item.location.y)
    elif item.is_way():
        holds = [node.ref for node in item.nodes]
    else:
        holds = [(member.type, member.ref, member.role) for member in item.members]
    return (
        key_of(item), item.version, str(item.timestamp), item.changeset, item.uid, item.user,
        dict(item.tags), holds,
    )  # fmt: skip


def read(path: Path) -> list[tuple[object, ...]]:
    return [show(item) for item in cast(Any, osmium.FileProcessor(str(path)))]


def ids_of(keys: set[Key]) -> list[patch.Ints]:
    return [np.array(sorted(id for k, id in keys if k == kind), np.int64) for kind in range(3)]


@pytest.mark.parametrize("held", [50, 100_000])
@pytest.mark.parametrize("share", [0.00002, 0.001, 0.2])
def test_patched_source_has_the_changed_elements(
    share: float, held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch, "_MERGED_AT_ONCE", 2)
    monkeypatch.setattr(patch, "_HELD_CHANGES", held)
    monkeypatch.setattr(patch, "_COPIED_AT_ONCE", 1000)
    chance = random.Random(5)
    # Even ids are there, odd ones may be made.
    before: Elements = {(0, 2 * i): (chance.choice([0, 1, 3]), "old") for i in range(1, NODES)}
    before |= {(1, 2 * i): (1, "old") for i in range(1, WAYS)}
    before |= {(2, 2 * i): (1, "old") for i in range(1, 500)}
    deleted = {key for key in before if chance.random() < share}
    # Newer, of the same version, or without one.
    changed: Elements = {
        (kind, id + chance.choice([-1, 0, 1])): (chance.choice([0, 3, 4]), "new")
        for kind, id in before
        if chance.random() < share
    }
    changed[0, 1] = changed[2, 5_000] = (2, "new")  # before the first and after the last
    changed |= {(0, 2 * NODES + i): (1, "new") for i in range(200)}
    deleted |= {(1, 1), (0, 1)}  # is not there; is named as changed too
    changed[0, 44] = (0, "new")
    before[0, 44] = (3, "old")
    write(tmp_path / "old.osm.pbf", before)
    left_out: Elements = {(0, 99): (7, "no"), (1, 12_000): (7, "no"), (2, 8): (7, "no")}
    changed = {key: value for key, value in changed.items() if key not in left_out}
    write(tmp_path / "changed.osm.pbf", changed | left_out)
    assert len(list(iter_first_elements(tmp_path / "old.osm.pbf"))) > 8

    patch.patch_source(
        tmp_path / "old.osm.pbf",
        tmp_path / "new.osm.pbf",
        tmp_path / "changed.osm.pbf",
        ids_of(set(changed)),
        ids_of(deleted),
        Header(replication_sequence=17),
    )
    wanted = {key: said for key, said in before.items() if key not in deleted} | changed
    write(tmp_path / "wanted.osm.pbf", wanted)
    assert read(tmp_path / "new.osm.pbf") == read(tmp_path / "wanted.osm.pbf")
    assert read_header(tmp_path / "new.osm.pbf").replication_sequence == 17
    assert is_sorted(tmp_path / "new.osm.pbf")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "changed.osm.pbf", "new.osm.pbf", "old.osm.pbf", "wanted.osm.pbf",
    ]  # fmt: skip


def test_all_may_come_and_all_may_go(tmp_path: Path) -> None:
    empty, full = tmp_path / "empty.osm.pbf", tmp_path / "full.osm.pbf"
    elements: Elements = {(kind, id): (1, "x") for kind in range(3) for id in range(1, 9)}
    write(empty, {})
    write(full, elements)
    nothing = ids_of(set())
    patch.patch_source(empty, tmp_path / "came.osm.pbf", full, None, nothing, Header())
    assert read(tmp_path / "came.osm.pbf") == read(full)
    everything = ids_of(set(elements))
    patch.patch_source(full, tmp_path / "gone.osm.pbf", empty, None, everything, Header())
    assert read(tmp_path / "gone.osm.pbf") == []
    patch.patch_source(empty, tmp_path / "still.osm.pbf", empty, None, everything, Header())
    assert read(tmp_path / "still.osm.pbf") == []


def test_untouched_blobs_are_the_same_bytes(tmp_path: Path) -> None:
    old, changed, new = (tmp_path / f"{name}.osm.pbf" for name in ("old", "changed", "new"))
    write(old, {(0, id): (1, "x") for id in range(1, 40_000)})
    write(changed, {(0, 20_000): (2, "y")})
    patch.patch_source(old, new, changed, None, ids_of({(0, 20_001)}), Header())
    before, after = (
        [path.read_bytes()[start:stop] for start, stop, _ in iter_first_elements(path)]
        for path in (old, new)
    )
    assert len(before) == len(after) > 4
    same = [one == other for one, other in zip(before, after, strict=True)]
    assert same.count(False) == 1


@pytest.mark.parametrize("kind", range(3))
def test_first_elements_are_those_of_the_blocks(kind: int, tmp_path: Path) -> None:
    """They are read off the beginning of a blob; the strings before may be many or none."""
    path = tmp_path / "map.osm.pbf"
    elements: Elements = {(kind, 3 * id): (id % 3, f"{id}" * 20) for id in range(1, 20_000)}
    for found in (elements, {(kind, 7): (0, "")}, {(kind, 1 << 40): (1, "x" * 200)}):
        path.unlink(missing_ok=True)
        write(path, found)
        firsts = [first for _, _, first in iter_first_elements(path)]
        assert firsts == [(block.type, int(block.ids[0])) for block in iter_blocks(path)]
