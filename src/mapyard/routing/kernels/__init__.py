"""The loops of routing that are written in C: how the library is found and called.

The library is plain C without Python's headers, compiled by `hatch_build.py` at setup or when a
wheel is built, and called by ctypes, which lets go of the interpreter lock. Functions take whole
arrays; what they are given is checked here, as C would not.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import c_double, c_int32, c_int64, c_uint8, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: Has to be the one in kernels.h.
_VERSION: Final = 8
LIBRARY_NAME: Final = "kernels.so"
#: Name → what it returns, and its arguments, as in kernels.h; pointers are addresses.
_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "order_roads": (c_int32, (c_int32, c_int32, *[c_void_p] * 5)),
    "contract": (c_void_p, (c_int32, c_int64, *[c_void_p] * 6)),
    "free_hierarchy": (None, (c_void_p,)),
    "find_connected": (c_int32, (c_int32, c_int64, *[c_void_p] * 4, c_int32, c_int32, c_void_p)),
    "search": (c_void_p, (c_void_p, c_int32, c_int64, *[c_void_p] * 5)),
    "free_labels": (None, (c_void_p,)),
    "count_labels": (c_int64, (c_void_p,)),
    "combine": (None, (c_void_p,) * 5),
    "find_ways": (c_int32, (c_void_p, c_int64, *[c_void_p] * 5)),
    "decode_shapes": (c_int32, (c_void_p, c_int64, c_int64, *[c_void_p] * 3)),
    "snap": (c_int32, (c_void_p, c_int64, *[c_void_p] * 2, c_uint8, c_double, *[c_void_p] * 5)),
    "join_line": (c_int64, (c_void_p, c_int64, *[c_void_p] * 6, c_int64)),
    "find_near": (
        c_int64,
        (c_void_p, c_double, c_double, c_uint8, c_double, c_void_p, c_void_p, c_int64),
    ),
    "measure_way": (None, (c_void_p, c_int64, c_void_p, c_void_p, c_void_p)),
    "unpack_way": (c_int64, (c_void_p, c_int32, c_int32, c_void_p, c_int64)),
}


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
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def address(array: NDArray[Any], kind: type[np.generic], count: int | None = None) -> int:
    """Return where an array lies, after a look at what it holds and at how many values."""
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"{array.dtype} of strides {array.strides}, not {np.dtype(kind)} in a row")
    if count is not None and array.size != count:
        raise ValueError(f"{array.size} values, not {count}")
    where: int = array.__array_interface__["data"][0]
    return where


def map_array(path: Path) -> NDArray[Any]:
    """Map an array of a .npy file, as a plain one: `memmap` takes a microsecond at each touch."""
    return np.asarray(np.load(path, mmap_mode="r"))


def has_kernels() -> bool:
    """Return whether the library is there."""
    try:
        load_kernels()
    except KernelsMissing:
        return False
    return True
