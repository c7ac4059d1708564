"""Columns: flat little-endian arrays, each one .npy file, written once and then mapped."""

from __future__ import annotations

import math
import mmap
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]


class ColumnWriter:
    """Appends arrays to one .npy file; memory stays at one chunk."""

    def __init__(self, folder: Path, name: str, dtype: DTypeLike, width: int = 0) -> None:
        self._dtype = np.dtype(dtype)
        self._width = width
        self.length = 0
        self._file = (folder / f"{name}.npy").open("wb")
        self._write_header()

    def _write_header(self) -> None:
        shape = (self.length, self._width) if self._width else (self.length,)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        # numpy pads the header so that the first axis can grow in place.
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: Array) -> None:
        """Append values of shape (n,) or (n, width)."""
        values = np.ascontiguousarray(values, dtype=self._dtype)
        self.length += len(values)
        try:
            self._file.write(values.data if values.size else b"")
        except OSError as error:
            raise self._name(error) from error

    def _name(self, error: OSError) -> OSError:
        return OSError(error.errno, f"{error.strerror}: writing {self._file.name}")

    def close(self) -> None:
        """Write the final length and close the file."""
        try:
            self._file.seek(0)
            self._write_header()
            self._file.close()
        except OSError as error:
            raise self._name(error) from error

    def abandon(self) -> None:
        """Close the file as it is, also on a full disk."""
        with suppress(OSError, ValueError):
            self._file.close()

    def __enter__(self) -> ColumnWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_column(folder: Path, name: str, values: Array) -> None:
    """Write one whole column."""
    with ColumnWriter(folder, name, values.dtype, values.shape[1] if values.ndim == 2 else 0) as w:
        w.append(values)


def open_column(folder: Path, name: str) -> Array:
    """Map a column read-only as a plain ndarray; raises FileNotFoundError when absent."""
    path = folder / f"{name}.npy"
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        if 0 in shape:
            return np.empty(shape, dtype)
        values = np.frombuffer(map_file(file), dtype, math.prod(shape), file.tell())
    return values.reshape(shape)


def map_column(folder: Path, name: str) -> tuple[int, mmap.mmap]:
    """Map a column's file; return where its values begin, and the map: slices of it are bytes."""
    with (folder / f"{name}.npy").open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        return file.tell(), map_file(file)


def map_file(file: BinaryIO) -> mmap.mmap:
    """Map a whole open file read-only. The map keeps no descriptor, where Python can do without."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def write_offsets(folder: Path, name: str, lengths: Array) -> None:
    """Write the offsets of runs with these lengths, in four bytes each where these suffice."""
    offsets = offsets_of(lengths)
    write_column(folder, name, offsets.astype(np.uint32) if offsets[-1] < 1 << 32 else offsets)


def narrow_type(count: int) -> DTypeLike:
    """Return the type of the fewest bytes that numbers below a count take."""
    return np.min_scalar_type(max(0, count - 1))


def write_narrow(folder: Path, name: str, values: Array) -> None:
    """Write whole numbers from 0 up, in the fewest bytes that hold the largest."""
    largest = int(values.max()) if len(values) else 0
    write_column(folder, name, values.astype(narrow_type(largest + 1)))


def write_heap(folder: Path, name: str, items: list[bytes]) -> None:
    """Write byte strings as `name_bytes` and `name_offsets`."""
    texts, offsets = join_heap(items)
    write_offsets(folder, f"{name}_offsets", np.diff(offsets))
    write_column(folder, f"{name}_bytes", texts)


def join_heap(items: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return byte strings one after the other, and where each begins and the last ends."""
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    return np.frombuffer(b"".join(items), np.uint8), offsets_of(lengths)


class Heap:
    """Byte strings by index, on two mapped columns.

    The bytes are read from the map itself: that gives a string in half the time of a view on it.
    """

    __slots__ = ("_base", "_data", "_offset_view", "offsets")

    def __init__(self, folder: Path, name: str) -> None:
        self.offsets = open_column(folder, f"{name}_offsets")
        self._offset_view = memoryview(self.offsets)
        self._base, self._data = map_column(folder, f"{name}_bytes")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        base, offsets = self._base, self._offset_view
        return self._data[base + offsets[index] : base + offsets[index + 1]]

    def get(self, index: int, trim: int = 0) -> bytes:
        """Return one string without `trim` bytes at both ends."""
        base, offsets = self._base, self._offset_view
        return self._data[base + offsets[index] + trim : base + offsets[index + 1] - trim]

    def take(self, indexes: Array, trim: int = 0) -> list[bytes]:
        """Return the strings at the indexes, in their order, without `trim` bytes at both ends."""
        data = self._data
        starts = (self.offsets[indexes].astype(np.int64) + (self._base + trim)).tolist()
        ends = (self.offsets[indexes + 1].astype(np.int64) + (self._base - trim)).tolist()
        return [data[a:b] for a, b in zip(starts, ends, strict=True)]

    def span(self, start: int, stop: int) -> list[bytes]:
        """Return the strings of the index range [start, stop)."""
        if stop <= start:
            return []
        offsets = self.offsets[start : stop + 1]
        data = self._data[self._base + int(offsets[0]) : self._base + int(offsets[-1])]
        edges = (offsets - offsets[0]).tolist()
        return [data[a:b] for a, b in pairwise(edges)]

    def raw(self, start: int, stop: int) -> memoryview:
        """Return the bytes of the index range, run together, without a copy."""
        offsets = self._offset_view
        return memoryview(self._data)[self._base + offsets[start] : self._base + offsets[stop]]

    def find(self, text: bytes, start: int, stop: int) -> int:
        """Return the first index in [start, stop) whose string is ≥ text; the range is sorted."""
        while start < stop:
            middle = (start + stop) // 2
            if self[middle] < text:
                start = middle + 1
            else:
                stop = middle
        return start


def offsets_of(lengths: Array) -> NDArray[np.int64]:
    """Return the n + 1 offsets of runs with these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(starts: Array, lengths: Array) -> NDArray[np.int64]:
    """Return the concatenation of arange(start, start + length) for each pair."""
    lengths = np.asarray(lengths, np.int64)
    total = int(lengths.sum())
    if total == 0:
        return np.empty(0, np.int64)
    shift = np.asarray(starts, np.int64) - (np.cumsum(lengths) - lengths)
    return np.arange(total, dtype=np.int64) + np.repeat(shift, lengths)


def find_place(values: Array, *wanted: int) -> Any:
    """Return the places at which a sorted array reaches each of the numbers; one as an int.

    The numbers are converted to the array's type: numpy would else convert, and so copy, the array.
    """
    places = np.searchsorted(values, np.array(wanted).astype(values.dtype))
    return int(places[0]) if len(wanted) == 1 else places
