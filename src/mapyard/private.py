"""Folders and files that only the service's own user may read: who owns what, and with which bits.

The data folder holds password hashes, sessions and the secret that signs cookies. A folder in which
somebody else may write could be swapped under the server's feet, so it is refused, not repaired.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from pathlib import Path
from typing import Final

from mapyard.errors import MapyardError

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


class UnsafeFolder(MapyardError):  # noqa: N818 - as in errors.py, named for what it says
    """The data folder belongs to somebody else, or anybody may write into it."""


def check_data_folder(folder: Path) -> None:
    """Raise UnsafeFolder unless the folder, where it exists, is ours (or root's) and closed."""
    problem = find_problem(folder)
    if problem:
        raise UnsafeFolder(problem)


def find_problem(folder: Path) -> str:
    """Return what makes a data folder unsafe and what to do about it, '' when nothing does."""
    try:
        status = folder.stat()
    except OSError:
        return ""  # it is not there yet, or whoever needs it will say why it cannot be read
    if status.st_uid not in (0, os.geteuid()):
        name = user_name(status.st_uid)
        return (
            f"the data folder {folder} belongs to the user {name}, not to {user_name(os.geteuid())}"
            f"; run this as {name} (sudo -u {name} mapyard …), or name another folder with --data"
        )
    if status.st_mode & stat.S_IWOTH:
        return (
            f"anybody may write into the data folder {folder}; "
            f"close it with: chmod o-w {folder}, or name another folder with --data"
        )
    return ""


def make_private_folder(folder: Path) -> None:
    """Make a folder for its owner only; one that is there is closed."""
    folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    close(folder)


def make_private_file(path: Path) -> None:
    """Make an empty file for its owner only; one that is there is closed.

    A file that is there is not opened: closing it would drop the locks that SQLite holds on it.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        close(path)


def close(path: Path) -> None:
    """Take all rights of others from a file or folder; what belongs to somebody else stays."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            path.chmod(mode & 0o700)


def user_name(number: int) -> str:
    """Return the name of a user, or its number."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
