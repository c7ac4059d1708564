"""Which set of own speeds is on for a dataset: a link, switched like the dataset itself.

    DATA/speeds/ID-OF-A-DATASET -> sets/ID
    DATA/speeds/sets/ID/            speeds.csv as imported, and a prepared folder per mode

A link per dataset, so that an update can prepare the speeds for the new one before it is switched
to, and both are switched to at once.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from typing import Final

from mapyard.dataset.catalog import sync_folder

SPEEDS_FOLDER: Final = "speeds"
_SETS: Final = "sets"


def find_own_speeds(data: Path, dataset_id: str) -> Path | None:
    """Return the set of own speeds that is on for a dataset, None where there is none."""
    link = data / SPEEDS_FOLDER / dataset_id
    try:
        return link.parent / link.readlink()
    except OSError:
        return None


def make_set(data: Path) -> Path:
    """Make the folder of a new set."""
    folder = data / SPEEDS_FOLDER / _SETS / secrets.token_hex(6)
    folder.mkdir(parents=True)
    return folder


def switch_on(data: Path, dataset_id: str, folder: Path) -> None:
    """Switch a dataset to a set, atomically; its files have to be synced."""
    speeds = data / SPEEDS_FOLDER
    temporary = speeds / f".{dataset_id}-{secrets.token_hex(4)}"
    temporary.symlink_to(Path(_SETS) / folder.name)
    temporary.replace(speeds / dataset_id)
    sync_folder(speeds)


def switch_off(data: Path, dataset_id: str) -> None:
    """Take a dataset's own speeds away."""
    (data / SPEEDS_FOLDER / dataset_id).unlink(missing_ok=True)
    sync_folder(data / SPEEDS_FOLDER)


def clean_sets(data: Path, keep: Path | None = None) -> None:
    """Remove links of datasets that are gone, and sets that no link names; but for one to keep.

    That is the set that was on before: readers may be about to open it.
    """
    speeds = data / SPEEDS_FOLDER
    if not speeds.is_dir():
        return
    named = {keep.name} if keep is not None else set()
    for link in speeds.iterdir():
        if link.is_symlink():
            if (data / "datasets" / link.name).is_dir():
                named.add(link.readlink().name)
            else:
                link.unlink()
    for folder in (speeds / _SETS).iterdir() if (speeds / _SETS).is_dir() else ():
        if folder.name not in named:
            shutil.rmtree(folder, ignore_errors=True)
