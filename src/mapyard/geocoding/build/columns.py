"""Tag columns of many rows at once, and the small array helpers of the build."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.reader import E7, Rows, Store
from mapyard.store.sorted import find_sorted

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Rows of a portion, and as how many of them a relation counts.
_PORTION: Final = 20_000
_COST_OF_RELATION: Final = 50
#: Distinct values in a range no longer than this are found by a table.
_SMALL_TABLE: Final = 1 << 16


class TagColumn:
    """The values of one key for some rows: an index per row into distinct texts.

    `codes` is −1 where a row lacks the key.
    """

    __slots__ = ("codes", "texts")

    def __init__(self, store: Store, rows: Rows, key: str) -> None:
        kvs = store.tag_values(rows, key)
        first, stop = store.kv_range(key)
        # The numbers of one key's values are a range: a table of it costs less than to sort. Its
        # last place is that of rows that lack the key.
        kvs -= first
        kvs[kvs < 0] = stop - first
        is_used = np.zeros(stop - first + 1, np.bool_)
        is_used[kvs] = True
        is_used[-1] = False
        number = np.cumsum(is_used) - 1
        number[-1] = -1
        self.texts: list[str] = store.values(np.flatnonzero(is_used) + first)
        self.codes: Ints = number[kvs]

    @classmethod
    def of(cls, texts: list[str], codes: Ints) -> TagColumn:
        """Return a column of these texts."""
        made: TagColumn = object.__new__(cls)
        made.texts, made.codes = texts, codes
        return made

    def fill(self, other: TagColumn) -> TagColumn:
        """Return the column with gaps filled from another one over the same rows."""
        if not other.texts:
            return self
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
    return number_values(label)[1]


def join_keys(*columns: Ints) -> Ints:
    """Return one dense number per distinct combination of the columns, in the order of these."""
    number = number_values(columns[0])[1]
    for column in columns[1:]:
        dense = number_values(column)[1]
        number = number_values(number * (int(dense.max(initial=0)) + 1) + dense)[1]
    return number


def number_values(values: Ints) -> tuple[Ints, Ints]:
    """Return the sorted distinct values, and for each value its place among them."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low > max(_SMALL_TABLE, 4 * len(values)):
        found, numbers = np.unique(values, return_inverse=True)
        return found, numbers.astype(np.int64, copy=False)
    is_used = np.zeros(high - low + 1, np.bool_)
    places = values - low
    is_used[places] = True
    return np.flatnonzero(is_used) + low, (np.cumsum(is_used) - 1)[places]


def sort_stably(values: Ints) -> Ints:
    """Return the order that sorts numbers ≥ 0, in which equal ones stay as they are."""
    bits = len(values).bit_length()
    if int(values.max(initial=0)) >> (62 - bits):
        return np.argsort(values, kind="stable")
    # Numbers are sorted several times faster than places.
    keys = (values << bits) | np.arange(len(values))
    keys.sort()
    return keys & ((1 << bits) - 1)


def find_places(known: Ints, wanted: NDArray[Any]) -> Ints:
    """Return the places in a sorted array at which wanted numbers are, of those that are there."""
    place = find_sorted(known, wanted)
    return place[place >= 0]


def count_pairs(one: Ints, other: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct pairs of two columns (numbers ≥ 0) in order, and how often each is."""
    width = int(other.max(initial=0)) + 1
    pairs, counts = np.unique(one * width + other, return_counts=True)
    return pairs // width, pairs % width, counts


def round_positions(lon: Floats, lat: Floats) -> tuple[Floats, Floats]:
    """Return positions on the grid of 1e-7 degree, on which all of the geocoder works."""
    return np.round(lon * E7) / E7, np.round(lat * E7) / E7
