"""Libraries of loops in C: how one is found, checked and called.

A room with a folder `kernels/` has its own: plain C without Python's headers, compiled by
`hatch_build.py` at setup or when a wheel is built, and called by ctypes, which lets go of the
interpreter lock. Functions take whole arrays; what they are given is checked before, or told by
them to be none.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.errors import MapyardError

LIBRARY_NAME: Final = "kernels.so"
#: Name → what it returns, and its arguments, as in kernels.h; pointers are addresses.
Functions = Mapping[str, tuple[Any, tuple[Any, ...]]]


class KernelsMissing(MapyardError):  # noqa: N818 - says what was met
    """A library is not there, or of another version."""


def load_library(room: str, version: int, functions: Functions) -> ctypes.CDLL:
    """Return the library of a room, such as "store"; raise `KernelsMissing`.

    MAPYARD_KERNELS names a folder with others: `store.so`, `routing.so`.
    """
    folder = os.environ.get("MAPYARD_KERNELS")
    own = Path(__file__).parent / room / "kernels" / LIBRARY_NAME
    path = Path(folder) / f"{room}.so" if folder else own
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelsMissing(
            f"the C of {room} cannot be loaded ({error}): run `make setup` again"
        ) from error
    if library.kernels_version() != version:
        raise KernelsMissing(f"the C of {room} is of another version: run `make setup` again")
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def address(array: NDArray[Any], kind: type[np.generic], count: int | None = None) -> int:
    """Return where an array lies, after a look at what it holds and at how many values."""
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"{array.dtype} of strides {array.strides}, not {np.dtype(kind)} in a row")
    if count is not None and array.size != count:
        raise ValueError(f"{array.size} values, not {count}")
    if array.flags.writeable and array.size:  # a third of the time
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    where: int = array.__array_interface__["data"][0]
    return where
