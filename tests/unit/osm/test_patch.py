"""A source with changes: the elements patched one by one, however little is held at once."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import osmium
import osmium.osm.mutable
import pytest

from mapyard.osm import patch
from mapyard.osm.pbf import Header, iter_first_elements, read_header

NODES, WAYS = 60_000, 9_000

#: Version by (type, id): what tells elements apart here.
Versions = dict[tuple[int, int], int]


def write(path: Path, elements: Versions) -> None:
    with osmium.SimpleWriter(str(path)) as writer:
        for (kind, id), version in sorted(elements.items()):
            if kind == 0:
                where = (id / 1e5 - 90, 47.1)
                writer.add(osmium.osm.mutable.Node(id=id, version=version, location=where))
            elif kind == 1:
                writer.add(osmium.osm.mutable.Way(id=id, version=version, nodes=[2 * id, 2]))
            else:
                members = [("w", id, "outer")]
                writer.add(osmium.osm.mutable.Relation(id=id, version=version, members=members))


def read(path: Path) -> list[tuple[tuple[int, int], int]]:
    items = cast(Any, osmium.FileProcessor(str(path)))
    return [(patch.key_of(item), item.version) for item in items]


@pytest.mark.parametrize("share", [0.00002, 0.001, 0.2])
def test_patched_source_has_the_changed_elements(
    share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch, "_MERGED_AT_ONCE", 2)
    monkeypatch.setattr(patch, "_COPIED_AT_ONCE", 1000)
    chance = random.Random(5)
    # Even ids are there, odd ones may be made.
    before: Versions = {(0, 2 * i): 1 for i in range(1, NODES)}
    before |= {(1, 2 * i): 1 for i in range(1, WAYS)} | {(2, 2 * i): 1 for i in range(1, 500)}
    changed: Versions = {}
    deleted = {key for key in before if chance.random() < share}
    for kind, id in before:
        if chance.random() < share:
            changed[kind, id + chance.choice([-1, 0, 1])] = 2
    changed[0, 1] = changed[2, 5_000] = 2  # before the first and after the last
    deleted -= set(changed)
    write(tmp_path / "old.osm.pbf", before)
    write(tmp_path / "changed.osm.pbf", changed | {(0, 99): 7})  # a change that was not chosen
    blobs = list(iter_first_elements(tmp_path / "old.osm.pbf"))
    assert len(blobs) > 8

    patch.patch_source(
        tmp_path / "old.osm.pbf",
        tmp_path / "new.osm.pbf",
        tmp_path / "changed.osm.pbf",
        set(changed),
        deleted,
        Header(replication_sequence=17),
    )
    wanted = {key: version for key, version in before.items() if key not in deleted} | changed
    if (0, 99) not in changed:
        wanted.pop((0, 99), None)
    assert read(tmp_path / "new.osm.pbf") == sorted(wanted.items())
    assert read_header(tmp_path / "new.osm.pbf").replication_sequence == 17
