"""Which replication source is used: DATA/updates/source keeps what `--source` once named."""

from __future__ import annotations

import os
from pathlib import Path

from mapyard.dataset.manifest import Manifest
from mapyard.private import make_private_file
from mapyard.settings import Settings

_FILE = "source"


def find_source(data: Path, settings: Settings, manifest: Manifest, given: str = "") -> str:
    """Return the source's URL, "" when none is known: given, set, used before, the extract's."""
    return given or settings.update_source or _read(data) or manifest.replication.url


def keep_source(data: Path, url: str) -> None:
    """Use this source from now on, unless another is given or set."""
    folder = data / "updates"
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{_FILE}.{os.getpid()}"
    make_private_file(draft)  # it may have a password
    draft.write_text(url + "\n")
    draft.replace(folder / _FILE)


def _read(data: Path) -> str:
    try:
        return (data / "updates" / _FILE).read_text().strip()
    except OSError:
        return ""
