"""A dataset out of object storage: whole and as it was written, or not there at all."""

from __future__ import annotations

import fcntl
from pathlib import Path

import msgspec
import pytest

from mapyard.dataset.manifest import Manifest, Part, describe_file
from mapyard.errors import MapyardError
from mapyard.fleet.front import without_secrets
from mapyard.fleet.generation import Region
from mapyard.fleet.objects import Objects
from mapyard.fleet.pull import _fetch, pull_region, remove_fetched

pytest.importorskip("obstore")


def upload(folder: Path, name: str, content: bytes = b"abc") -> Path:
    file = folder / "datasets" / "elements.bin"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    part = Part(files={name: describe_file(file)})
    manifest = Manifest(id="d", created="2026-01-01T00:00:00Z", parts={"store": part})
    (file.parent / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return file


def test_a_dataset_is_fetched(tmp_path: Path) -> None:
    upload(tmp_path / "bucket", "elements.bin")
    _fetch(Objects(str(tmp_path / "bucket")), "datasets", tmp_path / "fresh")
    assert (tmp_path / "fresh" / "elements.bin").read_bytes() == b"abc"


def test_what_was_changed_is_refused(tmp_path: Path) -> None:
    file = upload(tmp_path / "bucket", "elements.bin")
    file.write_bytes(b"abd")
    with pytest.raises(MapyardError, match="checksum differs"):
        _fetch(Objects(str(tmp_path / "bucket")), "datasets", tmp_path / "fresh")


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/tmp/outside"])
def test_no_file_is_written_outside(tmp_path: Path, name: str) -> None:
    upload(tmp_path / "bucket", name)
    with pytest.raises(MapyardError, match="a file outside of it"):
        _fetch(Objects(str(tmp_path / "bucket")), "datasets", tmp_path / "fresh")
    assert not (tmp_path / "outside").exists()


def test_what_was_fetched_of_other_generations_is_removed(tmp_path: Path) -> None:
    bucket, data = tmp_path / "bucket", tmp_path / "data"
    for dataset in ("old", "new"):
        upload(bucket, "elements.bin")
        target = bucket / "datasets" / "r1" / dataset
        target.mkdir(parents=True)
        for name in ("elements.bin", "manifest.json"):
            (bucket / "datasets" / name).rename(target / name)
        region = Region("r1", {}, (0, 0, 1, 1), dataset, 3)
        pull_region(Objects(str(bucket)), region, data)
    (data / "datasets" / "built-here").mkdir()
    url = Objects(str(bucket)).url
    assert remove_fetched(data, "s3://another/store", ["new"]) == []
    with (data / "datasets" / ".old.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_fetched(data, url, ["new"]) == []  # somebody is fetching it
    assert remove_fetched(data, url, ["new"]) == ["old"]
    left = {path.name for path in (data / "datasets").iterdir() if path.is_dir()}
    assert left == {"new", "built-here"}


def test_what_goes_on_carries_no_key() -> None:
    sent = [
        (b"accept", b"*/*"),
        (b"x-api-key", b"pk"),
        (b"authorization", b"pk"),
        (b"cookie", b"s"),
    ]
    assert without_secrets(sent) == [(b"accept", b"*/*")]
