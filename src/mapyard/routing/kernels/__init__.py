"""The loops of routing that are written in C: how the library is found and called.

The library is plain C without Python's headers, compiled by `hatch_build.py` at setup or when a
wheel is built, and called by ctypes, which lets go of the interpreter lock. Functions take whole
arrays; what they are given is checked here, as C would not.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Final

#: Has to be the one in kernels.h.
_VERSION: Final = 1
LIBRARY_NAME: Final = "kernels.so"


class KernelsMissing(ImportError):  # noqa: N818 - says what was met
    """The library is not there, or of another version."""


@cache
def load_kernels() -> ctypes.CDLL:
    """Return the library; raise `KernelsMissing`. MAPYARD_KERNELS names another file of it."""
    path = Path(os.environ.get("MAPYARD_KERNELS") or Path(__file__).with_name(LIBRARY_NAME))
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelsMissing(
            f"{path.name} cannot be loaded ({error}): run `make setup` again"
        ) from error
    if library.kernels_version() != _VERSION:
        raise KernelsMissing(f"{path.name} is of another version: run `make setup` again")
    return library


def has_kernels() -> bool:
    """Return whether the library is there."""
    try:
        load_kernels()
    except KernelsMissing:
        return False
    return True
