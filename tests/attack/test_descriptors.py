"""Switches of the dataset: nothing of the old one stays open, and its disk is free at once."""

from __future__ import annotations

import gc
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mapyard.dataset.manifest import read_manifest, write_manifest
from mapyard.library.snapshot import Snapshots
from mapyard.server.local import LocalClient
from mapyard.settings import Settings
from servers import copy_data

QUERIES = (
    "/api/v1/features?limit=5&tags=amenity",
    "/api/v1/features/way/94399684",
    "/api/v1/search?q=casino",
    "/api/v1/geocode?q=avenue+de+monte-carlo",
    "/api/v1/geocode/reverse?lat=43.7384&lng=7.4246",
    "/api/v1/geocode/autocomplete?q=mona",
    "/api/v1/tiles/14/8529/5975.mvt",
    "/api/v1/tiles/6/33/23.mvt",
    "/api/v1/sparql?query=SELECT%20(COUNT(*)%20AS%20%3Fn)%20%7B%3Fs%20osmkey:amenity%20%3Fo%7D",
    "/api/v1/overpass?data=node[amenity=cafe];out;",
    "/api/v1/nearest?lat=43.7384&lng=7.4246",
)


def open_files() -> list[str]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except OSError:
            continue
    return found


def mapped(name: str) -> set[str]:
    """The files of a dataset that this process has mapped."""
    with Path("/proc/self/maps").open() as lines:
        return {line.split()[-1] for line in lines if name in line}


@pytest.fixture
def two(monaco: Path, tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A data folder with two datasets, and their names."""
    data = copy_data(monaco, tmp_path / "data")
    first = (data / "current").readlink().name
    second = first + "b"
    shutil.copytree(data / "datasets" / first, data / "datasets" / second, copy_function=os.link)
    manifest = data / "datasets" / second / "manifest.json"
    manifest.unlink()
    write_manifest(
        manifest.parent,
        msgspec.structs.replace(read_manifest(data / "datasets" / first), id=second),
    )
    gc.collect()
    gc.disable()
    yield data, [first, second]
    gc.enable()


def switch(data: Path, name: str) -> None:
    link = data / "next"
    link.symlink_to(f"datasets/{name}")
    link.replace(data / "current")


def wait_until_unmapped(text: str) -> None:
    """Wait until nothing of a path is mapped: threads of the text index let go a moment later."""
    ends_s = time.monotonic() + 20
    while mapped(text) and time.monotonic() < ends_s:
        time.sleep(0.1)
    assert not mapped(text)


def test_fifty_switches_leave_no_open_file(two: tuple[Path, list[str]]) -> None:
    data, names = two
    snapshots = Snapshots(Settings(data=data))
    files = 0
    for i in range(50):
        switch(data, names[i % 2])
        snapshot = snapshots.lease()
        assert snapshot.id == names[i % 2]
        snapshot.open_all()
        snapshot.release()
        del snapshot
        files = files or len(open_files())
        wait_until_unmapped(f"{data}/datasets/{names[1 - i % 2]}/")
        assert not [file for file in open_files() if names[1 - i % 2] + "/" in file]
        # The text index and what earlier tests left may have a few of their own for a moment.
        assert len(open_files()) <= files + 5
    snapshots.close()
    wait_until_unmapped(f"{data}/datasets/")


def test_answers_keep_nothing_of_a_dataset(two: tuple[Path, list[str]]) -> None:
    data, names = two
    with LocalClient(Settings(data=data)) as client:
        for i in range(4):
            switch(data, names[i % 2])
            for query in QUERIES:
                assert client.get(query).status_code == 200, query
            ends = {"origin": "43.7384,7.4246", "destination": "43.7311,7.4197"}
            assert client.post("/api/v1/route", json=ends).status_code == 200
            wait_until_unmapped(f"{data}/datasets/{names[1 - i % 2]}/")
            assert not [file for file in open_files() if names[1 - i % 2] + "/" in file]


def test_a_pruned_dataset_frees_its_disk(two: tuple[Path, list[str]]) -> None:
    data, names = two
    switch(data, names[0])
    snapshots = Snapshots(Settings(data=data))
    old = snapshots.lease()
    old.open_all()
    switch(data, names[1])
    new = snapshots.lease()
    shutil.rmtree(data / "datasets" / names[0])
    assert mapped(f"{data}/datasets/{names[0]}/")  # a request may still be running on it
    old.release()
    del old
    wait_until_unmapped(f"{data}/datasets/{names[0]}/")
    assert not [file for file in open_files() if file.endswith("(deleted)") and names[0] in file]
    new.release()
    del new
    snapshots.close()
