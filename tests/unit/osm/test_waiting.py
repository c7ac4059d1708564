"""Changes that wait beside a base: day after day, and joined, the source that was meant."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import osmium
import osmium.osm.mutable
import pytest

from mapyard.osm import waiting
from mapyard.osm.merge import Key, key_of
from mapyard.osm.patch import Ids, encode_header
from mapyard.osm.pbf import Header
from mapyard.osm.waiting import (
    BASE_NAME,
    WHOLE_NAME,
    list_files,
    read_source_header,
    update_source,
    write_whole,
)

BOX = (7.0, 43.0, 8.0, 44.0)
#: Version and a word by (type, id).
Elements = dict[Key, tuple[int, str]]


def write(path: Path, elements: Elements, header: Header | None = None) -> None:
    path.parent.mkdir(exist_ok=True)
    if header is not None and not elements:
        path.write_bytes(encode_header(header, Header()))
        return
    box = osmium.io.Header()
    if header is not None:
        west, south, east, north = BOX
        box.add_box(osmium.osm.Box(west, south, east, north))
    with osmium.SimpleWriter(str(path), header=box, overwrite=True) as writer:
        for (kind, id), (version, word) in sorted(elements.items()):
            said = {"id": id, "version": version, "tags": {"name": word}}
            if kind == 0:
                writer.add(osmium.osm.mutable.Node(location=(7.5, 43.5), **said))
            elif kind == 1:
                writer.add(osmium.osm.mutable.Way(nodes=[id, 1], **said))
            else:
                writer.add(osmium.osm.mutable.Relation(members=[("w", id, "")], **said))


def read(path: Path) -> list[tuple[Key, tuple[int, str]]]:
    return [
        (key_of(item), (item.version, item.tags["name"])) for item in osmium.FileProcessor(path)
    ]


def ids_of(keys: set[Key]) -> Ids:
    return [np.array(sorted(id for k, id in keys if k == kind), np.int64) for kind in range(3)]


@pytest.fixture
def day(tmp_path: Path) -> Callable[..., bool]:
    """What an update does with the source of a day, shared base and all."""

    def run(number: int, changed: Elements, deleted: set[Key], *, is_needed: bool = False) -> bool:
        before, folder = tmp_path / str(number - 1), tmp_path / str(number)
        folder.mkdir()
        write(tmp_path / "changed.osm.pbf", changed)
        waits = update_source(
            before, folder, tmp_path / "changed.osm.pbf", ids_of(set(changed)), ids_of(deleted),
            Header(replication_sequence=number), is_needed=is_needed,
        )  # fmt: skip
        if waits:
            (folder / BASE_NAME).hardlink_to(before / list_files(before)[0])
        assert read_source_header(folder).replication_sequence == number
        assert read_source_header(folder).bbox == BOX
        return waits

    return run


def test_random_days(
    tmp_path: Path, day: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_MOST_WAITING", 1.2)
    chance = random.Random(3)
    keys = [(kind, id) for kind in range(3) for id in range(1, 300)]
    now: Elements = {key: (chance.choice([0, 1, 5]), "day 0") for key in keys if key[1] % 2}
    write(tmp_path / "0" / WHOLE_NAME, now, Header(bbox=BOX))
    kinds = []
    for number in range(1, 15):
        changed: Elements = {}
        for key in chance.sample(keys, 40):
            # As an update selects them: none older than what is there, whatever was deleted.
            version = chance.choice([0, now[key][0] + chance.randrange(2) if key in now else 2])
            changed[key] = (version, f"day {number}")
        deleted = set(chance.sample(keys, 30)) - set(changed)
        now = {key: said for key, said in now.items() if key not in deleted} | changed
        waits = day(number, changed, deleted, is_needed=number == 6)
        kinds.append(waits)
        folder = tmp_path / str(number)
        assert (folder / WHOLE_NAME).exists() != waits
        assert (folder / "source").exists() == waits
        whole = folder / WHOLE_NAME
        if waits:
            assert (folder / BASE_NAME).samefile(tmp_path / str(number - 1) / list_files(
                tmp_path / str(number - 1))[0])  # fmt: skip
            whole = tmp_path / "whole.osm.pbf"
            write_whole(folder, whole)
        assert read(whole) == sorted(now.items()), number
    assert kinds[:6] == [True] * 5 + [False]  # until it was needed
    assert False in kinds[6:]  # and until too much waited
    assert kinds[6] is True


def test_what_comes_back_may_be_older_than_in_the_base(
    tmp_path: Path, day: Callable[..., bool]
) -> None:
    base: Elements = {(0, id): (9, f"base {id * id}") for id in range(1, 5000)}
    write(tmp_path / "0" / WHOLE_NAME, base, Header(bbox=BOX))
    assert day(1, {}, {(0, 7), (0, 8)})
    assert day(2, {(0, 7): (3, "back")}, set())
    assert day(3, {(0, 7): (4, "again")}, {(0, 7)})  # an update may name both
    write_whole(tmp_path / "3", tmp_path / "whole.osm.pbf")
    found = dict(read(tmp_path / "whole.osm.pbf"))
    assert found[0, 7] == (4, "again")
    assert (0, 8) not in found
    assert len(found) == 4998


def test_a_day_that_needs_it_whole_or_changes_much_leaves_no_base(
    tmp_path: Path, day: Callable[..., bool]
) -> None:
    base: Elements = {(0, id): (1, f"{id}") for id in range(1, 5000)}
    write(tmp_path / "0" / WHOLE_NAME, base, Header(bbox=BOX))
    assert not day(1, {(0, 7): (2, "x")}, set(), is_needed=True)
    assert list_files(tmp_path / "1") == [WHOLE_NAME]
    assert not day(2, {(0, id): (2, f"new {id}") for id in range(1, 2000)}, set())
    assert [file.name for file in (tmp_path / "2").iterdir()] == [WHOLE_NAME]
