"""The loops of routing that are written in C: order, contraction, search, positions."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_float, c_int32, c_int64, c_uint8, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.native import Functions, KernelsMissing, address, load_library

__all__ = ["KernelsMissing", "address", "has_kernels", "load_kernels", "map_array"]

#: Has to be the one in kernels.h.
_VERSION: Final = 16
_FUNCTIONS: Final[Functions] = {
    "take_memory_from": (None, (c_void_p,)),
    "order_roads": (c_int32, (c_int32, c_int32, *[c_void_p] * 5)),
    "complete": (c_void_p, (c_int32, c_int64, *[c_void_p] * 2)),
    "count_joined": (c_int64, (c_void_p,)),
    "free_completion": (None, (c_void_p,)),
    "customize": (c_int32, (c_void_p, c_int64, *[c_void_p] * 10)),
    "keep_shortcuts": (c_int32, (c_void_p, c_int64, *[c_void_p] * 6)),
    "find_connected": (c_int32, (c_int32, c_int64, *[c_void_p] * 4, c_int32, c_int32, c_void_p)),
    "search": (c_void_p, (c_void_p, c_int32, c_int64, *[c_void_p] * 5)),
    "free_labels": (None, (c_void_p,)),
    "count_labels": (c_int64, (c_void_p,)),
    "combine": (None, (c_void_p,) * 5),
    "find_ways": (c_int32, (c_void_p, c_int64, *[c_void_p] * 5)),
    "decode_shapes": (c_int32, (c_void_p, c_int64, c_int64, *[c_void_p] * 3)),
    "snap": (c_int32, (c_void_p, c_int64, *[c_void_p] * 2, c_uint8, c_double, *[c_void_p] * 5)),
    "find_places": (
        c_int64,
        (c_void_p, c_int64, c_void_p, c_uint8, c_double, *[c_void_p] * 5, c_int64),
    ),
    "join_line": (c_int64, (c_void_p, c_int64, *[c_void_p] * 5, c_int64, c_void_p)),
    "encode_line": (c_int64, (c_int64, c_int64, c_void_p, c_double, c_void_p)),
    "find_way": (c_int32, (*[c_void_p] * 6, c_int64)),
    "find_trip": (c_int32, (*[c_void_p] * 5, c_int64, *[c_void_p] * 2, c_int64)),
    "find_near": (
        c_int64,
        (c_void_p, c_double, c_double, c_uint8, c_double, c_void_p, c_void_p, c_int64),
    ),
    "measure_way": (None, (c_void_p, c_int64, c_void_p, c_void_p, c_void_p)),
    "spread": (c_void_p, (c_void_p, c_int32, c_int64, *[c_void_p] * 4, c_int32, c_int32)),
    "list_reached": (c_int64, (c_void_p,) * 4),
    "count_cut": (c_int64, (c_void_p,)),
    "free_spread": (None, (c_void_p,)),
    "surround": (None, (c_void_p, c_int64, c_void_p, c_void_p)),
    "fill_grid": (None, (c_void_p, c_int64, *[c_void_p] * 4, c_double, c_void_p)),
    "fill_gaps": (c_int32, (c_void_p, c_void_p, c_int64, c_float, c_float)),
    "trace_rings": (
        c_int32,
        (*[c_void_p] * 2, c_double, c_double, *[c_void_p] * 2, c_int64, c_int64, *[c_void_p] * 2),
    ),
    "unpack_way": (c_int64, (c_void_p, c_int32, c_int32, c_void_p, c_int64)),
}


@cache
def load_kernels() -> ctypes.CDLL:
    """Return the library; raise `KernelsMissing`."""
    return load_library("routing", _VERSION, _FUNCTIONS)


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
