"""Files that a dataset shares with the one before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def link_files(files: Iterable[Path], folder: Path) -> list[Path]:
    """Put files into a folder by their names; return those that are the same on disk.

    Others are copies: a file system may be without hard links.
    """
    linked = []
    for path in files:
        target = folder / path.name
        try:
            os.link(path, target)
            linked.append(target)
        except OSError:
            shutil.copy(path, target)
    return linked
