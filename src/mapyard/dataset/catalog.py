"""The data folder: its datasets, which one is served, and the switch between them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from mapyard.dataset.manifest import Manifest, read_manifest, verify_files
from mapyard.errors import MapyardError
from mapyard.private import check_data_folder

_BUILDING = ".building-"
_REMOVING = ".removing-"
_DAMAGED = "damaged"
#: In a region of a fleet: the sorted eids of elements that other regions own.
GUESTS_NAME = "guests.npy"
#: Where `current` points when no dataset may be served.
WITHDRAWN = "datasets/.withdrawn"


class Busy(MapyardError):  # noqa: N818
    """Another build or update works in this data folder."""


class Catalog:
    """The datasets of one data folder."""

    def __init__(self, data: Path) -> None:
        check_data_folder(data)
        self.data = data
        self.folder = data / "datasets"
        self.link = data / "current"

    def ids(self) -> list[str]:
        """Return the ids of all whole datasets, oldest data first."""
        if not self.folder.is_dir():
            return []
        return sorted(
            p.name
            for p in self.folder.iterdir()
            if not p.name.startswith(".") and (p / "manifest.json").is_file()
        )

    def find_current(self) -> str | None:
        """Return the id of the served dataset, or None."""
        try:
            target = self.link.readlink().name
        except OSError:
            return None
        return target if (self.folder / target / "manifest.json").is_file() else None

    def get_current(self) -> Path:
        """Return the folder of the served dataset; raises MapyardError when none can be read."""
        dataset_id = self.find_current()
        if dataset_id is None:
            raise MapyardError(
                f"there is no dataset in {self.data}; build one: "
                f"mapyard build SOURCE --data {self.data}",
                status=404,
            )
        folder = self.folder / dataset_id
        read_manifest(folder)
        return folder

    def path(self, dataset_id: str) -> Path:
        """Return the folder of a dataset; raises MapyardError for an unknown id."""
        if dataset_id == "current":
            return self.get_current()
        if dataset_id not in self.ids():
            known = ", ".join(self.ids()) or "none"
            raise MapyardError(f"no dataset {dataset_id!r} in {self.data}; known are: {known}")
        return self.folder / dataset_id

    def manifest(self, dataset_id: str) -> Manifest:
        """Return the manifest of a dataset."""
        return read_manifest(self.path(dataset_id))

    def use(self, dataset_id: str) -> None:
        """Switch the served dataset, atomically."""
        path = self.path(dataset_id)
        read_manifest(path)
        fault = self.damage(path.name)
        if fault:
            raise MapyardError(
                f"{path.name} is damaged: {fault}; build it again, or once its files are repaired "
                f"run: mapyard datasets verify {path.name}"
            )
        temporary = self.data / f".current-{secrets.token_hex(4)}"
        temporary.symlink_to(Path("datasets") / path.name)
        temporary.replace(self.link)
        sync_folder(self.data)

    def damage(self, dataset_id: str) -> str:
        """Return why a dataset may not be served, "" when nothing is known."""
        try:
            return (self.data / _DAMAGED / dataset_id).read_text().strip()
        except OSError:
            return ""

    def note_damage(self, dataset_id: str, fault: str) -> None:
        """Keep a dataset from being served; "" lets it again."""
        marker = self.data / _DAMAGED / dataset_id
        if not fault:
            marker.unlink(missing_ok=True)
            return
        marker.parent.mkdir(exist_ok=True)
        draft = marker.with_name(f".{dataset_id}.{secrets.token_hex(4)}")
        draft.write_text(fault + "\n")
        draft.replace(marker)

    def withdraw(self, dataset_id: str, fault: str) -> str | None:
        """Take a damaged dataset out of service; return which serves now, or None.

        The newest other dataset whose files are as they were built takes its place.
        """
        self.note_damage(dataset_id, fault)
        if self.find_current() != dataset_id:
            return self.find_current()
        for other in reversed(self.ids()):
            if other == dataset_id or self.damage(other):
                continue
            try:
                if verify_files(self.path(other), self.manifest(other)):
                    continue
            except MapyardError:
                continue  # of another version
            self.use(other)
            return other
        temporary = self.data / f".current-{secrets.token_hex(4)}"
        temporary.symlink_to(WITHDRAWN)
        temporary.replace(self.link)
        sync_folder(self.data)
        return None

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest `keep` datasets and the served one; return what was removed.

        A reader that has a removed dataset open keeps its files until it closes them. Raises
        MapyardError where regions of a fleet lie here: which of them are served is not known.
        """
        if any((self.path(name) / GUESTS_NAME).is_file() for name in self.ids()):
            raise MapyardError(
                "this data folder holds regions of a fleet, of which the newest are not all that "
                "is served; docs/fleet.md tells which ones may go"
            )
        current = self.find_current()
        others = [i for i in self.ids() if i != current]
        spare = others[: max(0, len(others) - max(0, keep - (current is not None)))]
        for dataset_id in spare:
            self.remove(dataset_id)
        return spare

    def remove(self, dataset_id: str) -> None:
        """Remove one dataset that is not served."""
        if dataset_id == self.find_current():
            raise MapyardError(f"{dataset_id} is being served; use another dataset first")
        path = self.path(dataset_id)
        # Renamed first, so that a kill midway leaves no dataset that looks whole.
        hidden = self.folder / f"{_REMOVING}{path.name}"
        path.rename(hidden)
        self.note_damage(dataset_id, "")
        shutil.rmtree(hidden)

    def clean(self) -> list[str]:
        """Remove what killed builds left; call only while holding the lock."""
        if not self.folder.is_dir():
            return []
        left = [p for p in self.folder.iterdir() if p.name.startswith((_BUILDING, _REMOVING))]
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        return [p.name for p in left]

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the data folder for one build or update; raises Busy when another has it.

        The kernel lets go of the lock when its holder dies.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.data / "build.lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                file.seek(0)
                holder = file.read().strip()
                raise Busy(
                    f"{self.data} is in use by another build or update"
                    + (f" (process {holder})" if holder else "")
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def new_folder(self) -> Path:
        """Make the folder in which a dataset is built."""
        path = self.folder / f"{_BUILDING}{secrets.token_hex(4)}"
        path.mkdir(parents=True)
        return path

    def publish(self, building: Path, dataset_id: str) -> Path:
        """Give a built folder its name; every file must have been synced."""
        target = self.folder / dataset_id
        building.rename(target)
        sync_folder(self.folder)
        return target


def new_dataset_id(osm_timestamp: str) -> str:
    """Return an id that sorts by the time of the data, such as 2026-04-06T202115Z-1a2b3c."""
    when = osm_timestamp or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{when.replace(':', '')}-{secrets.token_hex(3)}"


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make a written file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
