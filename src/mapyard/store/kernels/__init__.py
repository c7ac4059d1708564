"""The loops of the store that are written in C: columns in frames, runs of nodes, boxes."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_double, c_int64, c_void_p
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.native import Functions, address, load_library

#: Has to be the one in kernels.h.
_VERSION: Final = 13
_FUNCTIONS: Final[Functions] = {
    "take_frames": (c_int64, (c_void_p, c_void_p, c_int64, c_void_p)),
    "take_frames_32": (c_int64, (c_void_p, c_void_p, c_int64, c_void_p)),
    "read_frames": (c_int64, (c_void_p, c_int64, c_int64, c_void_p)),
    "pack_frames": (c_int64, (c_void_p, c_int64, c_int64, *[c_void_p] * 3)),
    "locate_frames": (c_int64, (c_void_p, c_void_p, *[c_int64] * 3, c_void_p)),
    "seek_frames": (c_int64, (c_void_p, c_void_p, *[c_int64] * 3, c_void_p)),
    "measure_frame_runs": (c_int64, (c_void_p, c_void_p, c_int64, c_void_p, c_void_p)),
    "gather_frame_runs": (c_int64, (c_void_p, c_void_p, c_void_p, c_int64, c_void_p)),
    "measure_runs": (c_int64, (c_void_p, c_void_p, c_int64, c_int64, c_void_p)),
    "gather_runs": (None, (c_void_p, c_void_p, c_int64, c_int64, c_void_p)),
    "seek_in_runs": (c_int64, (*[c_void_p] * 3, c_int64, c_void_p)),
    "count_owners": (c_int64, (c_void_p, c_int64, c_void_p, c_void_p)),
    "list_owners": (None, (c_void_p, c_int64, c_int64, *[c_void_p] * 3)),
    "map_rows": (c_int64, (c_void_p, c_void_p, c_int64, c_void_p)),
    "measure_lines": (c_int64, (c_void_p, c_void_p, c_int64, c_void_p)),
    "gather_lines": (None, (c_void_p, c_void_p, c_int64, c_void_p, c_void_p)),
    "find_nodes": (c_int64, (c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64)),
    "find_boxes": (
        c_int64,
        (c_void_p, c_int64, c_int64, c_void_p, *[c_int64] * 2, *[c_void_p] * 2),
    ),
    "find_tagged": (c_int64, (*[c_void_p] * 4, c_int64)),
    "drop_repeats": (c_int64, (c_void_p, c_int64)),
    "hilbert_codes": (None, (c_void_p, c_void_p, c_int64, c_void_p)),
    "digest_runs": (c_int64, (c_void_p, c_int64, c_void_p, c_int64, c_void_p)),
    "find_sorted_32": (None, (c_void_p, c_int64, c_void_p, c_int64, c_void_p)),
    "find_sorted_64": (None, (c_void_p, c_int64, c_void_p, c_int64, c_void_p)),
    "count_kept": (c_int64, (c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p)),
    "splice_runs": (
        c_int64,
        (
            *[c_void_p] * 2,
            *[c_int64] * 2,
            c_void_p,
            c_int64,
            c_void_p,
            *[c_int64] * 2,
            *[c_void_p] * 3,
            c_int64,
        ),
    ),
    "thin_outlines": (
        c_int64,
        (c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_int64, c_void_p),
    ),
    "simplify_polygons": (
        c_int64,
        (c_void_p, c_double, c_void_p, c_int64, *[c_void_p] * 5),
    ),
    "gather_outlines": (c_int64, (c_void_p, c_void_p, c_int64, c_void_p)),
    "spill_begin": (c_void_p, (c_char_p, c_int64, c_int64)),
    "spill_end": (None, ()),
    "spill_trim": (None, ()),
    "spill_tell": (None, (c_void_p,)),
}


class Column(ctypes.Structure):
    """What kernels.h calls Frames."""

    _fields_ = (
        ("bases", c_void_p),
        ("places", c_void_p),
        ("offsets", c_void_p),
        ("length", c_int64),
        ("offset_bytes", c_int64),
    )


class Runs(ctypes.Structure):
    """Runs of values."""

    _fields_ = (
        ("values", c_void_p),
        ("offsets", c_void_p),
        ("run_count", c_int64),
        ("value_count", c_int64),
        ("is_wide", c_int64),
    )


def describe_runs(values: NDArray[np.uint32], offsets: NDArray[Any], count: int) -> Runs:
    """Return `count` runs for kernels; the arrays have to be kept as long as it is used."""
    is_wide = offsets.dtype == np.int64
    kind: type[np.generic] = np.int64 if is_wide else np.uint32
    return Runs(
        address(values, np.uint32), address(offsets, kind, count + 1), count, len(values), is_wide
    )


class Shifts(ctypes.Structure):
    """Where rows went."""

    _fields_ = (
        ("starts", c_void_p),
        ("shifts", c_void_p),
        ("count", c_int64),
        ("end", c_int64),
    )


class Lines(ctypes.Structure):
    """Texts of relations by their lines."""

    _fields_ = (
        ("run_offsets", c_void_p),
        ("run_lengths", c_void_p),
        ("text_offsets", c_void_p),
        ("run_starts", c_void_p),
        ("texts", c_void_p),
        ("offset_width", c_int64),
        ("length_width", c_int64),
        ("text_width", c_int64),
        ("relation_count", c_int64),
        ("run_count", c_int64),
        ("line_count", c_int64),
        ("text_bytes", c_int64),
    )


class Map(ctypes.Structure):
    """Nodes and ways by place."""

    _fields_ = (
        ("lon", c_void_p),
        ("lat", c_void_p),
        ("boxes", c_void_p),
        ("ways", Runs),
        ("node_count", c_int64),
    )


class Tree(ctypes.Structure):
    """A packed tree of boxes."""

    _fields_ = (
        ("items", c_void_p),
        ("nodes", c_void_p),
        ("rows", c_void_p),
        ("item_count", c_int64),
        ("node_count", c_int64),
        ("fanout", c_int64),
    )


class Tagged(ctypes.Structure):
    """The elements with a tag, and the nodes of a tree that hold one."""

    _fields_ = (
        ("nodes", c_void_p),
        ("rows", c_void_p),
        ("first", c_int64),
        ("row_count", c_int64),
    )


class Outlines(ctypes.Structure):
    """Shapes on a grid."""

    _fields_ = (
        ("xy", c_void_p),
        ("rings", c_void_p),
        ("features", c_void_p),
        ("vertex_count", c_int64),
        ("ring_count", c_int64),
        ("feature_count", c_int64),
        ("is_wide_xy", c_int64),
        ("is_wide_rings", c_int64),
        ("is_wide_features", c_int64),
    )


class Thinned(ctypes.Structure):
    """Room for what is left of them."""

    _fields_ = (
        ("xy", c_void_p),
        ("rings", c_void_p),
        ("features", c_void_p),
        ("left", c_void_p),
        ("vertex_room", c_int64),
        ("ring_room", c_int64),
    )


class Spilled(ctypes.Structure):
    """What large arrays take."""

    _fields_ = (
        ("held_bytes", c_int64),
        ("spilled_bytes", c_int64),
        ("refused_bytes", c_int64),
        ("refused_error", c_int64),
    )


def place(array: NDArray[Any]) -> int:
    """Return where an array lies that is known to be right; `native.address` looks at others."""
    where: int = array.__array_interface__["data"][0]
    return where


@cache
def load_kernels() -> ctypes.CDLL:
    """Return the library; raise `KernelsMissing`."""
    return load_library("store", _VERSION, _FUNCTIONS)
