"""Integer columns in frames: 64 values are a base and offsets of as many bytes as these 64 need.

Neighboring rows have similar ids and times, so an offset takes one or two bytes where the value
takes eight. One value is two touches of memory: the frame's base and place, then its offset. Sorted
columns are searched by the bases first, then within one frame.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.store.columns import ColumnWriter, open_column

Ints = NDArray[np.int64]

_BITS: Final = 6
#: Values of one frame.
FRAME: Final = 1 << _BITS
_LAST: Final = FRAME - 1
#: Bytes that an offset may take, and the largest offset of each.
_WIDTHS: Final = np.array([0, 1, 2, 4, 8], np.int64)
_LARGEST: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFFFF, 2**64 - 1], np.uint64)
#: By width: type, shift from bytes to offsets, and the bits of an offset.
_TYPES: Final = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
_SHIFTS: Final = (0, 0, 1, 0, 2, 0, 0, 0, 3)
_MASKS: Final = np.array([2 ** (8 * width) - 1 for width in range(9)], np.uint64)
#: A place is a byte and, in the lowest bits, a width.
_PLACE_BITS: Final = 4
_WIDTH: Final = 15
_WITHIN: Final = np.arange(FRAME, dtype=np.int64)
#: Values that are read together: they stay in the processor's cache.
_IN_CACHE: Final = 1 << 15
#: Up to so many values are searched one by one.
_FEW: Final = 40
#: From so many on it pays to look whether all are of one width.
_MANY: Final = 1_000
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
        values = np.asarray(values).astype(np.int64, copy=False)
        if len(self._waiting):
            values = np.concatenate([self._waiting, values])
        whole = len(values) >> _BITS << _BITS
        for start in range(0, whole, FRAME * _AT_ONCE):
            stop = min(whole, start + FRAME * _AT_ONCE)
            self._write(values[start:stop].reshape(-1, FRAME))
        self._waiting = values[whole:].copy()

    def _write(self, frames: Ints) -> None:
        bases = frames.min(axis=1)
        offsets = (frames - bases[:, None]).view(np.uint64)
        largest = offsets.max(axis=1)
        widths = _WIDTHS[np.searchsorted(_LARGEST, largest)]  # the first that holds the largest
        sizes = widths * FRAME
        starts = self._offsets.length + np.cumsum(sizes) - sizes
        self._bases.append(bases)
        self._places.append(starts << _PLACE_BITS | widths)
        out = np.empty(int(sizes.sum()), np.uint8)
        starts -= self._offsets.length
        for width, kind in _TYPES.items():
            chosen = np.flatnonzero(widths == width)
            if len(chosen):
                size = width * FRAME
                packed = offsets[chosen].astype(kind).view(np.uint8).reshape(-1, size)
                out[starts[chosen][:, None] + np.arange(size)] = packed
        self._offsets.append(out)

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
        for start in range(0, len(values), FRAME * _AT_ONCE):
            writer.append(values[start : start + FRAME * _AT_ONCE])


class Frames:
    """A written column, read like an array: by index, slice or array of indexes, as int64."""

    __slots__ = (
        "_arrays", "_base_view", "_bases", "_place_view", "_places", "_views", "_words", "length",
    )  # fmt: skip

    def __init__(self, folder: Path, name: str) -> None:
        self._bases: Ints = open_column(folder, f"{name}_base")
        self._places: Ints = open_column(folder, f"{name}_place")
        offsets = open_column(folder, f"{name}_offset")
        self.length = int(self._bases[-1])
        self._base_view, self._place_view = memoryview(self._bases), memoryview(self._places)
        self._arrays = {width: offsets.view(kind) for width, kind in _TYPES.items()}
        self._views = {width: memoryview(array) for width, array in self._arrays.items()}
        # Eight bytes from any byte on.
        self._words = np.ndarray((len(offsets) - 7,), "<u8", offsets.data, 0, (1,))

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
        indexes = indexes.astype(np.int64, copy=False)
        frames = indexes >> _BITS
        places = self._places.take(frames)
        bases = self._bases.take(frames)
        within = indexes & _LAST
        widths = places & _WIDTH
        if len(indexes) >= _MANY and (widths == (width := int(widths[0]))).all():
            # Of one width they are read faster.
            if width:
                at = (places >> _PLACE_BITS + _SHIFTS[width]) + within
                bases += self._arrays[width].take(at).astype(np.int64)
            return bases
        found = self._words[(places >> _PLACE_BITS) + within * widths]
        found &= _MASKS.take(widths)
        bases += found.view(np.int64)
        return bases

    def span(self, start: int, stop: int) -> Ints:
        """Return the values of the index range [start, stop)."""
        if stop <= start:
            return np.empty(0, np.int64)
        if stop - start > _IN_CACHE:
            whole = np.empty(stop - start, np.int64)
            for begin in range(start, stop, _IN_CACHE):
                end = min(stop, begin + _IN_CACHE)
                whole[begin - start : end - start] = self.span(begin, end)
            return whole
        first = start >> _BITS
        frames = slice(first, ((stop - 1) >> _BITS) + 1)
        places = self._places[frames]
        widths = places & _WIDTH
        values = np.repeat(self._bases[frames], FRAME).reshape(-1, FRAME)
        for width, array in self._arrays.items():
            chosen = np.flatnonzero(widths == width)
            if len(chosen):
                at = (places[chosen] >> _PLACE_BITS + _SHIFTS[width])[:, None] + _WITHIN
                values[chosen] += array.take(at).astype(np.int64)
        return values.ravel()[start - (first << _BITS) : stop - (first << _BITS)]

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
        first, last = (start + _LAST) >> _BITS, stop >> _BITS
        if len(values) <= _FEW or first >= last:
            return np.array([self.index(v, start, stop) for v in values.tolist()], np.int64)
        frames = self._bases[first:last].searchsorted(values, side="right") + (first - 1)
        inside = frames >= first
        places = np.maximum(frames, first) << _BITS
        # The last value of the frame that is not above the wanted one: halves, then quarters, ….
        for step in (32, 16, 8, 4, 2, 1):
            places += np.where(self.take(places + step) <= values, step, 0)
        result = np.where(inside & (self.take(places) == values), places, -1)
        for low, high in ((start, min(first << _BITS, stop)), (last << _BITS, stop)):
            edge = self.span(low, high)
            if len(edge):
                place = np.minimum(edge.searchsorted(values), len(edge) - 1)
                result = np.where(edge[place] == values, place + low, result)
        return result
