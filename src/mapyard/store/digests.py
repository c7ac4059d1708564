"""Digests of runs of values, to tell in one pass which of many are the same in two datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import offsets_of
from mapyard.store.kernels import load_kernels, place

Digests = NDArray[np.uint64]


def digest_runs(digests: Digests, values: NDArray[Any], lengths: NDArray[Any]) -> None:
    """Mix runs of values, which lie one after the other, into a digest of each, in place.

    `values` are of shape (n,) or (n, width), `lengths` count them for each run. Two runs have the
    same digest by chance once in 2 ** 64; this is no protection against who means to.
    """
    values = np.ascontiguousarray(values)
    ends = offsets_of(lengths) * (values.nbytes // max(1, len(values)))
    is_right = len(lengths) == len(digests) and ends[-1] == values.nbytes
    kernel = load_kernels().digest_runs
    if (
        not is_right
        or kernel(place(values), values.nbytes, place(ends), len(digests), place(digests)) >= 0
    ):
        raise ValueError(f"{len(lengths)} runs of {len(values)} values and {len(digests)} digests")
