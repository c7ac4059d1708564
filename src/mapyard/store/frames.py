"""Integer columns in frames: 64 values are a base and offsets of as many bytes as these 64 need.

Neighboring rows have similar ids and times, so an offset takes one or two bytes where the value
takes eight. One value is two touches of memory: the frame's base and place, then its offset. Sorted
columns are searched by the bases first, then within one frame. Single values are read here, as a
call of C takes longer than that; many by kernels/frames.c.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.native import address
from mapyard.store.columns import ColumnWriter, open_column
from mapyard.store.kernels import Column, load_kernels, place

Ints = NDArray[np.int64]
Rows = NDArray[np.uint32]

_BITS: Final = 6
#: Values of one frame.
FRAME: Final = 1 << _BITS
_LAST: Final = FRAME - 1
#: By width: type, and shift from bytes to offsets.
_TYPES: Final = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
_SHIFTS: Final = (0, 0, 1, 0, 2, 0, 0, 0, 3)
#: A place is a byte and, in the lowest bits, a width.
_PLACE_BITS: Final = 4
_WIDTH: Final = 15
#: Frames that are written and read whole at once.
_AT_ONCE: Final = 1 << 14


class FrameWriter:
    """Appends integers to the columns `name_base`, `name_place` and `name_offsets`.

    A place is the first byte of a frame's offsets times 16, plus the width of each; behind the last
    frame base and place are the number of values and of bytes.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._bases = ColumnWriter(folder, f"{name}_base", np.int64)
        self._places = ColumnWriter(folder, f"{name}_place", np.int64)
        self._offsets = ColumnWriter(folder, f"{name}_offset", np.uint8)
        self._waiting = np.empty(0, np.int64)
        self.length = 0

    def append(self, values: NDArray[Any]) -> None:
        """Append values; what does not fill a frame waits."""
        self.length += len(values)
        for start in range(0, len(values), FRAME * _AT_ONCE):
            part = np.asarray(values[start : start + FRAME * _AT_ONCE]).astype(np.int64, copy=False)
            if len(self._waiting):
                part = np.concatenate([self._waiting, part])
            whole = len(part) >> _BITS << _BITS
            if whole:
                self._write(part[:whole].reshape(-1, FRAME))
            self._waiting = part[whole:].copy()

    def _write(self, frames: Ints) -> None:
        frames = np.ascontiguousarray(frames)
        count, written = len(frames), self._offsets.length
        bases, places = np.empty(count, np.int64), np.empty(count, np.int64)
        offsets = np.empty(frames.nbytes, np.uint8)
        size = load_kernels().pack_frames(
            place(frames), count, written, place(bases), place(places), place(offsets)
        )
        self._bases.append(bases)
        self._places.append(places)
        self._offsets.append(offsets[:size])

    def close(self) -> None:
        """Write the last frame and the ends, and close the files."""
        if rest := len(self._waiting):
            # Filled up with a value of its own, so that it gets no wider.
            filled = np.concatenate([self._waiting, np.repeat(self._waiting[-1:], FRAME - rest)])
            self._write(filled.reshape(1, FRAME))
        self._bases.append(np.array([self.length]))
        self._places.append(np.array([self._offsets.length << _PLACE_BITS]))
        self._offsets.append(np.zeros(8, np.uint8))  # offsets are read eight bytes at once
        for writer in (self._bases, self._places, self._offsets):
            writer.close()

    def __enter__(self) -> FrameWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_frames(folder: Path, name: str, values: NDArray[Any]) -> None:
    """Write one whole column of integers in frames."""
    with FrameWriter(folder, name) as writer:
        writer.append(values)


class Frames:
    """A written column, read like an array: by index, slice or array of indexes, as int64."""

    __slots__ = (
        "_base_view", "_kept", "_kernels", "_place_view", "_views", "address", "length",
    )  # fmt: skip

    def __init__(self, folder: Path, name: str) -> None:
        bases: Ints = open_column(folder, f"{name}_base")
        places: Ints = open_column(folder, f"{name}_place")
        offsets: NDArray[np.uint8] = open_column(folder, f"{name}_offset")
        self.length = int(bases[-1])
        frames = -(-self.length >> _BITS)
        if min(len(bases), len(places)) <= frames or self.length < 0:
            raise ValueError(f"the column {name} in {folder} is damaged: it ends too early")
        self._base_view, self._place_view = memoryview(bases), memoryview(places)
        self._views = {width: memoryview(offsets.view(kind)) for width, kind in _TYPES.items()}
        self._kernels = load_kernels()
        column = Column(
            address(bases, np.int64), address(places, np.int64), address(offsets, np.uint8),
            self.length, len(offsets),
        )  # fmt: skip
        self._kept = (column, bases, places, offsets)  # as long as their addresses are used
        #: For kernels.
        self.address = ctypes.addressof(column)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self.length)
            return self.span(start, stop) if step == 1 else self.take(np.arange(start, stop, step))
        if isinstance(index, int | np.integer):
            index = int(index)
            if not -self.length <= index < self.length:
                raise IndexError(f"{index} of {self.length}")
            return self.item(index if index >= 0 else index + self.length)
        index = np.asarray(index)
        return self.take(np.flatnonzero(index) if index.dtype == np.bool_ else index)

    def item(self, index: int) -> int:
        """Return one value."""
        place = self._place_view[index >> _BITS]
        base: int = self._base_view[index >> _BITS]
        width = place & _WIDTH
        if not width:
            return base
        at = (place >> _PLACE_BITS + _SHIFTS[width]) + (index & _LAST)
        return base + self._views[width][at]

    def take(self, indexes: NDArray[Any]) -> Ints:
        """Return the values at the indexes, in their order."""
        kernel = self._kernels.take_frames
        if indexes.dtype == np.uint32:
            kernel = self._kernels.take_frames_32
        elif indexes.dtype != np.int64:
            indexes = indexes.astype(np.int64)
        if not indexes.flags.c_contiguous:
            indexes = np.ascontiguousarray(indexes)
        out = np.empty(indexes.shape, np.int64)
        bad = kernel(self.address, place(indexes), indexes.size, place(out))
        if bad >= 0:
            raise IndexError(f"{indexes.flat[bad]} of {self.length}, or a damaged frame")
        return out

    def span(self, start: int, stop: int) -> Ints:
        """Return the values of the index range [start, stop)."""
        out = np.empty(max(0, stop - start), np.int64)
        if len(out):
            bad = self._kernels.read_frames(self.address, start, stop, place(out))
            if bad >= 0:
                raise IndexError(f"{start + bad} of {self.length}, or a damaged frame")
        return out

    def chunks(self) -> Iterator[Ints]:
        """Yield all values in order, some at once."""
        for start in range(0, self.length, FRAME * _AT_ONCE):
            yield self.span(start, min(self.length, start + FRAME * _AT_ONCE))

    def find(self, value: int, start: int, stop: int) -> int:
        """Return the first index in [start, stop) whose value is ≥ a value; the range ascends."""
        low, high = self._narrow(value, start, stop)
        while low < high:
            middle = (low + high) >> 1
            if self.item(middle) < value:
                low = middle + 1
            else:
                high = middle
        return low

    def _narrow(self, value: int, start: int, stop: int) -> tuple[int, int]:
        """Return a range of at most two frames that holds the place of a value.

        Only frames that lie in the range whole have their smallest value in front.
        """
        first, last = (start + _LAST) >> _BITS, stop >> _BITS
        if first >= last:
            return start, stop
        frame = bisect_right(self._base_view, value, first, last) - 1
        return max(start, frame << _BITS), stop if frame + 1 == last else (frame + 1) << _BITS

    def index(self, value: int, start: int, stop: int) -> int:
        """Return the index of a value in an ascending range [start, stop), −1 where absent."""
        first, last = (start + _LAST) >> _BITS, stop >> _BITS
        frame = bisect_right(self._base_view, value, first, last) - 1 if first < last else -1
        if first <= frame < last - 1:
            place = self._place_view[frame]
            if width := place & _WIDTH:
                rest = value - self._base_view[frame]
                at = place >> _PLACE_BITS + _SHIFTS[width]
                offsets = self._views[width]
                found = bisect_left(offsets, rest, at, at + FRAME)
                is_there = found < at + FRAME and offsets[found] == rest
                return (frame << _BITS) + found - at if is_there else -1
        found = self.find(value, start, stop)
        return found if found < stop and self.item(found) == value else -1

    def locate(self, values: Ints, start: int, stop: int) -> Ints:
        """Return the index of each value in an ascending range [start, stop), −1 where absent."""
        values = np.ascontiguousarray(values, np.int64)
        out = np.empty(len(values), np.int64)
        bad = self._kernels.locate_frames(
            self.address, place(values), len(values), start, stop, place(out)
        )
        if bad >= 0:
            raise IndexError(f"[{start}, {stop}) of {self.length}, or a damaged frame")
        return out

    def seek(self, values: Ints, start: int, stop: int) -> Ints:
        """Return the first index in an ascending range [start, stop) with a value ≥ each."""
        values = np.ascontiguousarray(values, np.int64)
        out = np.empty(len(values), np.int64)
        bad = self._kernels.seek_frames(
            self.address, place(values), len(values), start, stop, place(out)
        )
        if bad >= 0:
            raise IndexError(f"[{start}, {stop}) of {self.length}, or a damaged frame")
        return out


def take_runs(offsets: Frames, values: Frames, indexes: NDArray[Any]) -> tuple[Rows, Ints]:
    """Return runs of `values`, one after the other, and where each begins and the last ends.

    Run i are the values from `offsets[i]` up to `offsets[i + 1]`, which fit into four bytes.
    """
    indexes = np.ascontiguousarray(indexes, np.int64)
    begins, ends = np.empty(len(indexes), np.int64), np.empty(len(indexes) + 1, np.int64)
    kernels, count = load_kernels(), len(indexes)
    bad = kernels.measure_frame_runs(
        offsets.address, place(indexes), count, place(begins), place(ends)
    )
    if bad < 0:
        out = np.empty(ends[-1], np.uint32)
        bad = kernels.gather_frame_runs(
            values.address, place(begins), place(ends), count, place(out)
        )
    if bad >= 0:
        raise IndexError(f"{indexes[bad]} of {len(offsets) - 1}, or a damaged frame")
    return out, ends
