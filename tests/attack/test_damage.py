"""Files of a dataset that change under the server: found, named, and taken out of service."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mapyard.cli import build_app
from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import (
    Damaged,
    check_quickly,
    iter_faults,
    read_manifest,
    write_manifest,
)
from mapyard.errors import MapyardError
from mapyard.http import background
from mapyard.http.background import JobContext, check_dataset
from mapyard.http.services import Services
from mapyard.library.snapshot import NoDataset, Snapshots
from mapyard.settings import Settings
from servers import copy_data


@pytest.fixture
def two(monaco: Path, tmp_path: Path) -> tuple[Path, str, str]:
    """A data folder with two datasets; the second is served."""
    data = copy_data(monaco, tmp_path / "data")
    catalog = Catalog(data)
    first = catalog.find_current()
    assert first is not None
    second = first + "b"
    shutil.copytree(catalog.folder / first, catalog.folder / second, copy_function=os.link)
    manifest = read_manifest(catalog.folder / first)
    manifest.id = second
    (catalog.folder / second / "manifest.json").unlink()
    write_manifest(catalog.folder / second, manifest)
    catalog.use(second)
    return data, first, second


def flip(path: Path) -> None:
    """Change one byte in the middle of a file; its other names keep theirs."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)


def run_check(data: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    monkeypatch.setattr(background, "CHECK_BYTES_PER_S", 1 << 40)
    settings = Settings(data=data)
    services = Services(settings, Snapshots(settings))
    check_dataset(JobContext(services, threading.Event()))
    return services


@pytest.mark.parametrize(
    "pattern",
    ["elements/lon.npy", "elements/*rtree*.npy", "text/index/*", "text/postings/*.npy",
     "text/postings/near/*", "text/placed/*.npy", "routing/tiles.tar",
     "tiles.pmtiles", "tiles/*.npy", "source.osm.pbf"],
)  # fmt: skip
def test_a_flipped_byte_anywhere_takes_the_dataset_out_of_service(
    two: tuple[Path, str, str],
    pattern: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    data, first, second = two
    folder = Catalog(data).path(second)
    path = max(folder.glob(pattern), key=lambda path: path.stat().st_size)
    flip(path)
    name = str(path.relative_to(folder))
    services = run_check(data, monkeypatch)
    assert Catalog(data).find_current() == first
    assert f"{name} has changed since it was built" in caplog.text
    assert f"serving {first} instead" in caplog.text
    snapshot = services.snapshots.lease()
    assert snapshot.id == first
    snapshot.release()
    services.snapshots.close()
    with pytest.raises(MapyardError, match="is damaged"):
        Catalog(data).use(second)


def test_a_whole_dataset_stays(two: tuple[Path, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    data, _, second = two
    services = run_check(data, monkeypatch)
    assert Catalog(data).find_current() == second
    assert list(services.extras["checked datasets"]) == [second]


def test_without_another_dataset_there_is_no_service_until_one_is_well(
    two: tuple[Path, str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    data, first, second = two
    snapshots = Snapshots(Settings(data=data))
    held = snapshots.lease()
    path = Catalog(data).path(second) / "elements" / "lon.npy"
    whole = path.read_bytes()
    for name in (first, second):
        flip(Catalog(data).path(name) / "elements" / "lon.npy")
    run_check(data, monkeypatch)
    assert "no other is well" in caplog.text
    with pytest.raises(NoDataset, match="damaged") as caught:
        snapshots.lease()
    assert caught.value.status == 503
    assert not snapshots.is_ready
    held.release()
    path.write_bytes(whole)
    result = CliRunner().invoke(
        build_app(["datasets"]), ["datasets", "verify", second, "--data", str(data)]
    )
    assert result.exit_code == 0, result.output
    Catalog(data).use(second)
    again = snapshots.lease()
    assert again.id == second
    again.release()
    snapshots.close()


def test_what_is_seen_at_once_is_not_opened_and_the_old_one_serves_on(
    two: tuple[Path, str, str], caplog: pytest.LogCaptureFixture
) -> None:
    data, first, second = two
    catalog = Catalog(data)
    catalog.use(first)
    snapshots = Snapshots(Settings(data=data))
    snapshots.lease().release()
    path = catalog.path(second) / "elements" / "lon.npy"
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-8])
    catalog.use(second)
    with caplog.at_level(logging.ERROR):
        snapshot = snapshots.lease()
    assert snapshot.id == first
    assert "elements/lon.npy has" in caplog.text
    assert f"serving {first} on" in caplog.text
    snapshot.release()
    snapshots.close()


def test_quick_look(two: tuple[Path, str, str]) -> None:
    data, _, second = two
    folder = Catalog(data).path(second)
    check_quickly(folder, read_manifest(folder))
    flip(folder / "elements" / "store.json")
    with pytest.raises(Damaged, match=r"elements/store\.json has changed"):
        check_quickly(folder, read_manifest(folder))
    (folder / "elements" / "store.json").unlink()
    with pytest.raises(Damaged, match=r"elements/store\.json is missing"):
        check_quickly(folder, read_manifest(folder))


def test_a_dataset_of_before_has_no_blocks(two: tuple[Path, str, str]) -> None:
    data, _, second = two
    folder = Catalog(data).path(second)
    manifest = read_manifest(folder)
    for part in manifest.parts.values():
        for file in part.files.values():
            file.blocks = ""
    assert set(iter_faults(folder, manifest)) == {""}
    flip(folder / "elements" / "lon.npy")
    assert "elements/lon.npy has changed since it was built" in set(iter_faults(folder, manifest))
