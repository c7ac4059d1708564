"""Finding many numbers in a sorted array: in one pass where these are sorted as well."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.native import address
from mapyard.store.kernels import load_kernels

#: Where more than one of so many numbers is smaller than the one before, each is searched alone.
_ASCENTS: Final = 16


def find_sorted(known: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each wanted number is in an ascending array, −1 where it is not.

    Both are whole numbers; two arrays of rows (uint32) are compared as they are.
    """
    kind: type[np.generic] = np.uint32 if known.dtype == wanted.dtype == np.uint32 else np.int64
    known, wanted = (np.ascontiguousarray(values, kind) for values in (known, wanted))
    if _ASCENTS * np.count_nonzero(wanted[1:] < wanted[:-1]) > len(wanted) and len(known):
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[place] == wanted, place, -1)
    found = np.empty(len(wanted), np.int64)
    kernels = load_kernels()
    find = kernels.find_sorted_32 if kind is np.uint32 else kernels.find_sorted_64
    asked = address(known, kind), len(known), address(wanted, kind), len(wanted)
    find(*asked, address(found, np.int64))
    return found
