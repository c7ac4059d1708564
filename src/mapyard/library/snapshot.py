"""The open dataset of a worker: parts opened when first asked for, closed with the last lease.

Requests lease the snapshot from start to end. `current` is looked at on each lease: when it names
another dataset, the new one is opened, and the old one closes when its last request is through.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mapyard.dataset.catalog import WITHDRAWN, Catalog
from mapyard.dataset.manifest import Damaged, Manifest, check_quickly, read_manifest
from mapyard.dataset.own_speeds import SPEEDS_FOLDER, find_own_speeds
from mapyard.errors import MapyardError, NotInstalled
from mapyard.settings import Settings

if TYPE_CHECKING:
    from mapyard.features.by_place import PlacedNames
    from mapyard.geocoding.geocoder import Geocoder
    from mapyard.store.reader import Store
    from mapyard.text.index import TextIndex

log = logging.getLogger(__name__)

#: Opens one part of a snapshot: gets the snapshot, returns any object; `close()` is called on it
#: if it has one. Raises NotInstalled, or FileNotFoundError, when the dataset is without it.
Opener = Callable[["Snapshot"], Any]
#: Part name → opener. Route modules add theirs with `register_part`.
OPENERS: Final[dict[str, Opener]] = {}
#: How long a dataset that could not be opened is left alone, seconds.
RETRY_S: Final = 5.0


class NoDataset(MapyardError):  # noqa: N818
    """Nothing has been built yet."""

    status, code = 503, "overloaded"


def register_part(name: str, opener: Opener) -> None:
    """Make `snapshot.part(name)` open with this function."""
    OPENERS[name] = opener


class Snapshot:
    """One dataset directory, open; safe to use from several threads."""

    def __init__(self, folder: Path, settings: Settings, *, check: bool = True) -> None:
        """Open a dataset; `check` its files as far as that takes no time."""
        self.folder = folder
        self.id = folder.name
        self.settings = settings
        self.manifest: Manifest = read_manifest(folder)
        if check:
            check_quickly(folder, self.manifest)
        #: The set of own speeds that are on, for its whole life.
        self.own_speeds = find_own_speeds(folder.parent.parent, folder.name)
        #: Time of the data, ISO 8601 UTC, or "" when the dataset does not know it.
        self.timestamp = self.manifest.osm_timestamp
        self._parts: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._leases = 0
        self._retired = False

    @property
    def store(self) -> Store:
        """Return the feature store."""
        return cast("Store", self.part("store"))

    def part(self, name: str) -> Any:
        """Return an open part; raise NotInstalled when the dataset was built without it."""
        part = self._parts.get(name)
        if part is not None:
            return part
        with self._lock:
            if name not in self._parts:
                opener = OPENERS.get(name)
                if opener is None:
                    raise NotInstalled.part(name)
                try:
                    self._parts[name] = opener(self)
                except FileNotFoundError:
                    raise NotInstalled.part(name) from None
            return self._parts[name]

    def find_data_time(self, part: str) -> str:
        """Return of when the data of a part is, "" where that is not known."""
        return self.manifest.find_data_time(part)

    @property
    def open_parts(self) -> list[str]:
        """Return the names of the parts opened so far."""
        return list(self._parts)

    def open_all(self) -> None:
        """Open every part that the dataset has, ahead of the first request."""
        for name in OPENERS:
            try:
                self.part(name)
            except NotInstalled:
                continue

    def lease(self) -> Snapshot:
        """Count one user more."""
        with self._lock:
            self._leases += 1
        return self

    def release(self) -> None:
        """Count one user less; the last user of a retired snapshot closes it."""
        with self._lock:
            self._leases -= 1
            self._close_if_done()

    def retire(self) -> None:
        """Close as soon as no one uses it."""
        with self._lock:
            self._retired = True
            self._close_if_done()

    def _close_if_done(self) -> None:
        if not self._retired or self._leases:
            return
        for part in self._parts.values():
            if hasattr(part, "close"):
                part.close()
        self._parts.clear()


def _open_store(snapshot: Snapshot) -> Store:
    from mapyard.store.reader import open_store

    return open_store(snapshot.folder / "elements")


def _open_text(snapshot: Snapshot) -> TextIndex:
    from mapyard.text.index import TextIndex

    return TextIndex(snapshot.folder / "text" / "index")


def _open_placed_names(snapshot: Snapshot) -> PlacedNames:
    from mapyard.features.by_place import PlacedNames

    return PlacedNames(snapshot.folder / "text" / "placed")


def _open_geocoder(snapshot: Snapshot) -> Geocoder:
    from mapyard.geocoding.geocoder import open_geocoder

    try:
        return open_geocoder(snapshot.folder / "text", snapshot.store)
    except FileNotFoundError:
        raise NotInstalled.part("text") from None


# Parts that several questions read: known whichever of these is imported first.
register_part("store", _open_store)
register_part("text", _open_text)
register_part("placed names", _open_placed_names)
register_part("geocoder", _open_geocoder)


class Snapshots:
    """Hands out leases on the dataset that `current` names."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._link = os.fspath(settings.data / "current")
        self._target = ""
        self._own_folder = os.fspath(settings.data / SPEEDS_FOLDER)
        self._own = ""  # the set of own speeds that is on, "" for none
        self._snapshot: Snapshot | None = None
        self._retry_at_s = 0.0
        #: The dataset that the log says cannot be opened, while none is served.
        self._refused = ""
        self._lock = threading.Lock()
        #: Called with (new, old) after a switch, to open the new one's parts ahead.
        self.on_switch: Callable[[Snapshot, Snapshot | None], None] = lambda new, old: None

    def lease(self) -> Snapshot:
        """Return the current snapshot, leased: call `release()` on it at the end."""
        try:
            target = os.readlink(self._link)  # noqa: PTH115 - one microsecond on each request
        except OSError:
            target = ""
        own = self._read_own(target)
        snapshot = self._snapshot
        if snapshot is None or target != self._target or own != self._own:
            snapshot = self._switch(target, own)
        return snapshot.lease()

    def _read_own(self, target: str) -> str:
        link = f"{self._own_folder}/{target.rpartition('/')[2]}"
        if not os.access(link, os.F_OK):  # as a rule; an exception would take as long again
            return ""
        try:
            return os.readlink(link)  # noqa: PTH115
        except OSError:
            return ""

    @property
    def timestamp(self) -> str:
        """Return the time of the data last leased, "" when there is none or it is unknown."""
        snapshot = self._snapshot
        return snapshot.timestamp if snapshot is not None else ""

    @property
    def is_ready(self) -> bool:
        """Return whether a dataset can be leased."""
        try:
            self.lease().release()
        except MapyardError:
            return False
        return True

    def close(self) -> None:
        """Let the current snapshot go."""
        with self._lock:
            if self._snapshot is not None:
                self._snapshot.retire()
            self._snapshot = None
            self._target = ""

    def _switch(self, target: str, own: str) -> Snapshot:
        with self._lock:
            old = self._snapshot
            is_served = target == "" or (target, own) == (self._target, self._own)
            if old is not None and (is_served or time.monotonic() < self._retry_at_s):
                return old
            if target == WITHDRAWN:
                if old is not None:
                    old.retire()
                    self._snapshot, self._target = None, ""
                raise NoDataset(
                    "the dataset is damaged and was taken out of service; build it again with: "
                    "mapyard build SOURCE",
                    headers={"Retry-After": "60"},
                )
            try:
                if not target:
                    raise FileNotFoundError(self._link)
                fault = Catalog(self.settings.data).damage(Path(target).name)
                if fault:
                    raise Damaged(fault)
                new = Snapshot(Path(self._link).parent / target, self.settings)
                new.part("store")
            except (OSError, ValueError, KeyError, MapyardError) as error:
                self._retry_at_s = time.monotonic() + RETRY_S
                if old is None:
                    if target not in ("", self._refused):
                        log.error("dataset %s cannot be opened: %s", target, error)
                    self._refused = target
                    raise NoDataset(
                        "no dataset is served yet; build one with: mapyard build SOURCE",
                        headers={"Retry-After": "5"},
                    ) from error
                log.error("dataset %s cannot be opened: %s; serving %s on", target, error, old.id)
                return old
            self._snapshot, self._target, self._own = new, target, own
            if old is not None and old.id == new.id:
                log.info("own speeds of dataset %s are %s", new.id, own or "off")
            elif old is not None:
                log.info("serving dataset %s instead of %s", new.id, old.id)
            if old is not None:
                old.retire()
        self.on_switch(new, old)
        return new
