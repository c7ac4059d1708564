"""A dataset's source: one whole file, or a base with changes that wait beside it.

    source.osm.pbf           the whole, or
    source/base.osm.pbf      the whole as of an earlier update, shared with that dataset
    source/changed.osm.pbf   what is new or another one since; its header is that of the source
    source/deleted.npy       ids × 4 + type of what is gone since

So an update that builds nothing out of the source costs by its changes. Where changes wait there is
no source.osm.pbf that could be taken for the newest: `write_whole` makes one.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import numpy as np

from mapyard.errors import MapyardError
from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.osm.patch import Ids, encode_header, patch_source
from mapyard.osm.pbf import Header, read_header

WHOLE_NAME: Final = "source.osm.pbf"
_FOLDER: Final = "source"
BASE_NAME: Final = f"{_FOLDER}/base.osm.pbf"
_CHANGED: Final = f"{_FOLDER}/changed.osm.pbf"
_DELETED: Final = f"{_FOLDER}/deleted.npy"
#: Changes may wait until they are so much of the base.
_MOST_WAITING: Final = 0.05


def list_files(dataset: Path) -> list[str]:
    """Return the names of the files that a dataset's source is made of, the largest first."""
    if (dataset / _FOLDER).is_dir():
        return [BASE_NAME, _CHANGED, _DELETED]
    return [WHOLE_NAME]


def require_files(dataset: Path, extract: str) -> list[str]:
    """Return the names of the files of a dataset's source; raise MapyardError where one is gone.

    The error says that the dataset is to be built of `extract` again.
    """
    files = list_files(dataset)
    for file in files:
        if not (dataset / file).is_file():
            raise MapyardError(
                f"{dataset.name} has no {file}; build it again with: mapyard build {extract}"
            )
    return files


def read_source_header(dataset: Path) -> Header:
    """Return the header of a dataset's source."""
    return read_header(dataset / (_CHANGED if BASE_NAME in list_files(dataset) else WHOLE_NAME))


def update_source(
    before: Path,
    folder: Path,
    changed: Path,
    ids: Ids,
    deleted: Ids,
    header: Header,
    *,
    is_needed: bool,
) -> bool:
    """Write the source of a dataset in `folder`: that of the one before with changes.

    It is whole where it `is_needed` or too much would wait. Return whether it is not: then its base
    is to be the first of `list_files(before)`, as it is.
    """
    base = list_files(before)[0]
    if is_needed and base == WHOLE_NAME:
        patch_source(before / base, folder / WHOLE_NAME, changed, ids, deleted, header)
        return False
    (folder / _FOLDER).mkdir()
    if base == WHOLE_NAME:
        waiting = folder / _FOLDER / "none.osm.pbf"
        waiting.write_bytes(encode_header(read_header(before / base), Header()))
        patch_source(waiting, folder / _CHANGED, changed, ids, deleted, header)
        waiting.unlink()
        gone: Ids = deleted
    else:
        patch_source(before / _CHANGED, folder / _CHANGED, changed, ids, deleted, header)
        # What came back stays in it: that may be of an older version than in the base.
        known = _read_deleted(before / _DELETED)
        gone = [np.union1d(*both) for both in zip(known, deleted, strict=True)]
    eids = np.concatenate([gone[kind] * 4 + kind for kind in (NODE, WAY, RELATION)])
    np.save(folder / _DELETED, np.sort(eids))
    size = sum((folder / name).stat().st_size for name in (_CHANGED, _DELETED))
    if not is_needed and size <= _MOST_WAITING * (before / base).stat().st_size:
        return True
    _join(before / base, folder, folder / WHOLE_NAME)
    shutil.rmtree(folder / _FOLDER)
    return False


def write_whole(dataset: Path, target: Path) -> None:
    """Write the whole source of a dataset where changes wait."""
    _join(dataset / BASE_NAME, dataset, target)


def _join(base: Path, folder: Path, target: Path) -> None:
    """Write a base with the changes that wait in a dataset."""
    changed, gone = folder / _CHANGED, _read_deleted(folder / _DELETED)
    patch_source(base, target, changed, None, gone, read_header(changed))


def _read_deleted(path: Path) -> Ids:
    eids = np.load(path)
    return [eids[eids % 4 == kind] // 4 for kind in (NODE, WAY, RELATION)]
