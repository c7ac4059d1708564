"""Files merged and sorted slice by slice give what they give at once."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import osmium
import pytest
from osmium.osm.mutable import Node

from mapyard.osm import merge
from mapyard.osm.pbf import iter_first_elements
from mapyard.osm.source import is_sorted, prepare_source
from osm_files import EXAMPLES, osm_xml

MONACO = EXAMPLES / "monaco.osm.pbf"


def read(path: Path) -> list[tuple[Any, ...]]:
    """Return every element with all that it has."""
    found = []
    for item in osmium.FileProcessor(str(path)):
        more: Any = None
        if item.is_node():
            more = (item.location.x, item.location.y)
        elif item.is_way():
            more = [node.ref for node in item.nodes]
        else:
            more = [(member.type, member.ref, member.role) for member in item.members]
        own = (item.type_str(), item.id, item.version, item.timestamp, item.changeset)
        found.append((*own, dict(item.tags), more))
    return found


@pytest.fixture(scope="module")
def whole() -> list[tuple[Any, ...]]:
    return read(MONACO)


@pytest.fixture(params=[20_000, 200_000, 10**9])
def slice_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(merge, "_LEAST_SLICE_BYTES", request.param)
    return request.param


def write_part(path: Path, keep: Any) -> Path:
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    items: Any = osmium.FileProcessor(str(MONACO))
    with osmium.SimpleWriter(str(path), header=header) as writer:
        for item in items:
            if keep(item):
                writer.add(item)
    return path


def test_overlapping_files_are_one(tmp_path: Path, slice_bytes: int, whole: Any) -> None:
    """Each element is in two of three files."""
    parts = [
        write_part(tmp_path / f"{i}.osm.pbf", lambda item, i=i: item.id % 3 != i) for i in range(3)
    ]
    target = tmp_path / "source.osm.pbf"
    said: list[str] = []
    prepare_source(parts, target, said.append, trust=True, memory_bytes=0)
    assert said == ["merging"]
    assert is_sorted(target)
    assert read(target) == whole
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_file_whose_blobs_reach_over_many_slices(
    tmp_path: Path, slice_bytes: int, whole: Any
) -> None:
    # One blob holds nodes from the first to the last of the other file.
    few = write_part(tmp_path / "few.osm.pbf", lambda item: item.id % 97 == 0)
    most = write_part(tmp_path / "most.osm.pbf", lambda item: item.id % 97)
    if slice_bytes < 100_000:
        assert len(list(merge._choose_cuts([merge._Input(most, tmp_path)], 0))) > 5
    for inputs in ([few, most], [most, few]):
        prepare_source(inputs, tmp_path / "source.osm.pbf", trust=True, memory_bytes=0)
        assert read(tmp_path / "source.osm.pbf") == whole


def test_the_newest_version_wins_whichever_file_has_it(tmp_path: Path, slice_bytes: int) -> None:
    header = osmium.io.Header()
    header.set("sorting", "Type_then_ID")
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.osm.pbf")
        with osmium.SimpleWriter(str(paths[-1]), header=header) as writer:
            for osm_id in range(1, 20_001):
                version = 1 + (osm_id + number) % 3
                tags = {"of": f"{number}"}
                writer.add(Node(id=osm_id, location=(1, 1), version=version, tags=tags))
    target = tmp_path / "source.osm.pbf"
    prepare_source(paths, target, trust=True, memory_bytes=0)
    found = [(item.id, item.version, item.tags["of"]) for item in osmium.FileProcessor(str(target))]
    assert found == [(i, 3, str((2 - i) % 3)) for i in range(1, 20_001)]


@pytest.mark.parametrize("dense", ["true", "false"])
def test_what_is_not_sorted_is_sorted(
    tmp_path: Path, slice_bytes: int, dense: str, whole: Any
) -> None:
    rng = random.Random(1)
    path = tmp_path / "mixed.osm.pbf"
    file = osmium.io.File(str(path), f"pbf,pbf_dense_nodes={dense}")
    items: Any = osmium.FileProcessor(str(MONACO))
    chunks = [list(range(start, start + 997)) for start in range(0, len(whole), 997)]
    rng.shuffle(chunks)
    wanted = {index: place for place, chunk in enumerate(chunks) for index in chunk}
    held: dict[int, list[Any]] = {}
    for index, item in enumerate(items):
        held.setdefault(wanted[index], []).append(copy_of(item))
    with osmium.SimpleWriter(file) as writer:
        for place in sorted(held):
            for item in held[place]:
                writer.add(item)
    assert sum(1 for _ in iter_first_elements(path)) > 3
    target = tmp_path / "source.osm.pbf"
    said: list[str] = []
    prepare_source([path], target, said.append, memory_bytes=0)
    assert said == ["sorting and merging"]
    assert read(target) == whole


def copy_of(item: Any) -> Any:
    mutable = osmium.osm.mutable
    if item.is_node():
        place = (item.location.lon, item.location.lat)
        return mutable.Node(item, tags=dict(item.tags), location=place)
    if item.is_way():
        return mutable.Way(item, tags=dict(item.tags), nodes=[node.ref for node in item.nodes])
    members = [(member.type, member.ref, member.role) for member in item.members]
    return mutable.Relation(item, tags=dict(item.tags), members=members)


def test_files_of_all_kinds_together(tmp_path: Path, slice_bytes: int) -> None:
    one, other = tmp_path / "a" / "x.osm.gz", tmp_path / "b" / "x.osm.gz"
    for path, nodes in ((one, {3: (0, 0), 1: (1, 1)}), (other, {2: (2, 2), 1: (1, 1)})):
        path.parent.mkdir()
        path.write_bytes(gzip.compress(osm_xml(nodes).encode()))
    target = tmp_path / "source.osm.pbf"
    prepare_source([one, other, MONACO], target, memory_bytes=0)
    found = read(target)
    assert [item[1] for item in found[:3]] == [1, 2, 3]
    assert len(found) == 3 + len(read(MONACO))
