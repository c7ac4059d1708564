"""Where datasets of people's own lie: DATA/userdata/{dataset}/{version}, and uploads on their way.

A version is made beside the others and never changed. What nobody serves is swept after a while:
requests that began before it was replaced may still read it.
"""

from __future__ import annotations

import shutil
import time
from collections import OrderedDict
from collections.abc import Collection
from pathlib import Path
from threading import Lock
from typing import Final

from mapyard.private import make_private_folder
from mapyard.store.reader import Store, open_store

_INCOMING: Final = "incoming"
#: How long what is not served is left, seconds: longer than a stream may take.
GRACE_S: Final = 4_000.0
_OPEN: Final = 64


def incoming_folder(data: Path) -> Path:
    """Return the folder of uploads, made where it is not there yet."""
    folder = data / "userdata" / _INCOMING
    make_private_folder(folder)
    return folder


def version_folder(data: Path, dataset_id: str, version: str) -> Path:
    """Return the folder of one version of a dataset."""
    return data / "userdata" / dataset_id / version


class OpenStores:
    """Stores of datasets, opened at their first use; the least used are let go."""

    def __init__(self) -> None:
        self._stores: OrderedDict[Path, Store] = OrderedDict()
        self._lock = Lock()

    def open(self, folder: Path) -> Store:
        """Return the store of a version; raise FileNotFoundError where it is gone."""
        with self._lock:
            store = self._stores.get(folder)
            if store is None:
                store = self._stores[folder] = open_store(folder)
                if len(self._stores) > _OPEN:
                    self._stores.popitem(last=False)
            self._stores.move_to_end(folder)
            return store


def sweep(
    data: Path,
    versions: Collection[tuple[str, str | None]],
    uploads: Collection[str],
    grace_s: float = GRACE_S,
) -> int:
    """Delete what is old but for versions that are served and uploads that wait; return how many.

    `versions` are pairs of dataset and version.
    """
    root = data / "userdata"
    if not root.is_dir():
        return 0
    before = time.time() - grace_s
    kept = {*versions, *((_INCOMING, upload) for upload in uploads)}
    swept = 0
    for dataset in root.iterdir():
        for version in dataset.iterdir() if dataset.is_dir() else ():
            is_old = version.stat().st_mtime < before
            if (dataset.name, version.name) not in kept and is_old:
                if version.is_dir():
                    shutil.rmtree(version, ignore_errors=True)
                else:
                    version.unlink(missing_ok=True)
                swept += 1
        if dataset.name != _INCOMING and not any(dataset.iterdir()):
            dataset.rmdir()
    return swept
