from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mapyard.dataset.catalog import Catalog
from mapyard.dataset.manifest import Manifest, write_manifest
from mapyard.errors import NotInstalled
from mapyard.library import snapshot as snapshot_module
from mapyard.library.snapshot import NoDataset, Snapshot, Snapshots
from mapyard.settings import Settings


class Part:
    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def openers(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Parts without files, counted as they are opened."""
    opened: dict[str, int] = {}

    def open_part(name: str) -> object:
        def opener(snapshot: Snapshot) -> Part:
            opened[name] = opened.get(name, 0) + 1
            if name == "missing":
                raise FileNotFoundError(snapshot.folder / name)
            return Part(f"{snapshot.id} {name}")

        return opener

    made = {name: open_part(name) for name in ("store", "text", "missing")}
    monkeypatch.setattr(snapshot_module, "OPENERS", made)
    return opened


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path)


def add(catalog: Catalog, name: str, *, use: bool = True) -> None:
    folder = catalog.folder / name
    folder.mkdir(parents=True)
    write_manifest(folder, Manifest(id=name, created="", osm_timestamp=f"time of {name}"))
    if use:
        catalog.use(name)


@pytest.fixture
def snapshots(tmp_path: Path) -> Iterator[Snapshots]:
    made = Snapshots(Settings(data=tmp_path))
    yield made
    made.close()


def test_no_dataset(snapshots: Snapshots, catalog: Catalog) -> None:
    assert not snapshots.is_ready
    with pytest.raises(NoDataset, match="mapyard build"):
        snapshots.lease()
    add(catalog, "one")
    assert snapshots.is_ready


def test_parts_are_opened_once_and_closed_with_the_last_lease(
    snapshots: Snapshots, catalog: Catalog, openers: dict[str, int]
) -> None:
    add(catalog, "one")
    first, second = snapshots.lease(), snapshots.lease()
    assert first is second
    assert first.timestamp == "time of one"
    text = first.part("text")
    assert second.part("text") is text
    assert openers == {"store": 1, "text": 1}
    add(catalog, "two")
    third = snapshots.lease()
    assert third.id == "two"
    first.release()
    assert not text.closed
    assert second.part("text") is text
    second.release()
    assert text.closed
    assert not third.part("store").closed
    third.release()
    assert not third.part("store").closed


def test_missing_parts(snapshots: Snapshots, catalog: Catalog) -> None:
    add(catalog, "one")
    lease = snapshots.lease()
    for name in ("missing", "unheard-of"):
        with pytest.raises(NotInstalled) as caught:
            lease.part(name)
        assert caught.value.status == 501
        assert f"'{name}'" in caught.value.message
    lease.open_all()
    assert set(lease.open_parts) == {"store", "text"}
    lease.release()


def test_a_dataset_that_cannot_be_opened_leaves_the_old_one_served(
    snapshots: Snapshots,
    catalog: Catalog,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add(catalog, "one")
    snapshots.lease().release()
    add(catalog, "two")
    (catalog.folder / "two" / "manifest.json").write_text("{")
    for _ in range(3):
        lease = snapshots.lease()
        assert lease.id == "one"
        lease.release()
    assert caplog.text.count("cannot be opened") == 1  # not once per request
    monkeypatch.setattr(snapshot_module, "RETRY_S", 0.0)
    snapshots._retry_at_s = 0.0
    write_manifest(catalog.folder / "two", Manifest(id="two", created=""))
    assert snapshots.lease().id == "two"


def test_switch_is_told(snapshots: Snapshots, catalog: Catalog) -> None:
    told: list[tuple[str, str | None]] = []
    snapshots.on_switch = lambda new, old: told.append((new.id, old.id if old else None))
    add(catalog, "one")
    snapshots.lease().release()
    add(catalog, "two")
    snapshots.lease().release()
    snapshots.lease().release()
    assert told == [("one", None), ("two", "one")]


def test_many_threads(snapshots: Snapshots, catalog: Catalog, openers: dict[str, int]) -> None:
    add(catalog, "one")
    add(catalog, "two", use=False)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(300):
                lease = snapshots.lease()
                part = lease.part("text")
                assert not part.closed
                assert part.name == f"{lease.id} text"
                lease.release()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for round_ in range(40):
        catalog.use(("two", "one")[round_ % 2])
    for thread in threads:
        thread.join()
    assert failures == []
