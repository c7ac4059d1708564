"""Tag columns of many rows at once, and the small array helpers of the build."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.reader import E7, Rows, Store

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Rows of a portion, and as how many of them a relation counts.
_PORTION: Final = 20_000
_COST_OF_RELATION: Final = 50


class TagColumn:
    """The values of one key for some rows: an index per row into distinct texts.

    `codes` is −1 where a row lacks the key.
    """

    __slots__ = ("codes", "texts")

    def __init__(self, store: Store, rows: Rows, key: str) -> None:
        kvs = store.tag_values(rows, key)
        present = kvs >= 0
        # The numbers of one key's values are a range: a table of it costs less than to sort.
        first = int(kvs[present].min()) if present.any() else 0
        is_used = np.zeros(max(0, int(kvs.max(initial=-1)) - first + 1), np.bool_)
        is_used[kvs[present] - first] = True
        number = np.append(np.cumsum(is_used) - 1, -1)
        self.texts: list[str] = store.values(np.flatnonzero(is_used) + first)
        self.codes: Ints = number[np.where(present, kvs - first, -1)]

    @classmethod
    def of(cls, texts: list[str], codes: Ints) -> TagColumn:
        """Return a column of these texts."""
        made: TagColumn = object.__new__(cls)
        made.texts, made.codes = texts, codes
        return made

    def fill(self, other: TagColumn) -> TagColumn:
        """Return the column with gaps filled from another one over the same rows."""
        usable = (self.codes < 0) & (other.codes >= 0)
        codes = np.where(usable, other.codes + len(self.texts), self.codes)
        return TagColumn.of(self.texts + other.texts, codes)

    def get(self, index: int) -> str:
        """Return the text of one row, "" when absent."""
        code = self.codes[index]
        return self.texts[code] if code >= 0 else ""

    def to_list(self) -> list[str]:
        """Return the text of each row, "" when absent."""
        texts = [*self.texts, ""]
        return [texts[code] for code in self.codes.tolist()]


def centers(store: Store, rows: Rows) -> tuple[Floats, Floats]:
    """Return lon and lat in degrees of the middle of each row's box; NaN without a geometry."""
    boxes = store.boxes(rows).astype(np.float64)
    lon = (boxes[:, 0] + boxes[:, 2]) / (2 * E7)
    lat = (boxes[:, 1] + boxes[:, 3]) / (2 * E7)
    missing = boxes[:, 0] > boxes[:, 2]
    lon[missing] = lat[missing] = np.nan
    return round_positions(lon, lat)


def iter_portions(store: Store, rows: Rows) -> Iterator[slice]:
    """Yield where portions of rows lie, in order, whose shapes take some megabytes.

    Relations, such as routes, have hundreds of times as many positions as others.
    """
    cost = np.cumsum(np.where(rows < store.relation_start, 1, _COST_OF_RELATION))
    edges = [0, *(np.flatnonzero(np.diff(cost // _PORTION)) + 1).tolist(), len(rows)]
    for start, stop in pairwise(edges):
        yield slice(start, stop)


def group_offsets(groups: NDArray[Any], count: int) -> Ints:
    """Return the count + 1 offsets of sorted group numbers 0 … count − 1."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=offsets[1:])
    return offsets


def connected_components(count: int, one: Ints, other: Ints) -> Ints:
    """Return the component number of each of `count` items linked by pairs; numbers are dense."""
    label = np.arange(count)
    while True:
        lowest = np.minimum(label[one], label[other])
        before = label.copy()
        np.minimum.at(label, one, lowest)
        np.minimum.at(label, other, lowest)
        label = label[label]
        if np.array_equal(label, before):
            break
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def join_keys(*columns: Ints) -> Ints:
    """Return one dense number per distinct combination of the columns, in the order of these."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        dense = np.unique(column, return_inverse=True)[1]
        number = number * (int(dense.max(initial=0)) + 1) + dense
        number = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return number


def find_places(known: Ints, wanted: NDArray[Any]) -> Ints:
    """Return the places in a sorted array at which wanted numbers are, of those that are there."""
    if not len(known):
        return np.empty(0, np.int64)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return place[known[place] == wanted]


def count_pairs(one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct pairs of two columns (numbers ≥ 0) in order, and how often each is."""
    width = int(other.max(initial=0)) + 1
    pairs, counts = np.unique(one * width + other, return_counts=True)
    return pairs // width, pairs % width, counts


def round_positions(lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
    """Return positions on the grid of 1e-7 degree, on which all of the geocoder works."""
    return np.round(lon * E7) / E7, np.round(lat * E7) / E7
