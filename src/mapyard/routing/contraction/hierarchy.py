"""Cheapest ways in a contracted graph: its arrays, built once, mapped by all processes.

`kernels/` has the loops. Costs and times are whole milliseconds here and lengths centimeters, in
32 bits, so that sums are exact and a way's time and length are those of its parts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.routing.contraction.tiles import Ints
from mapyard.routing.kernels import address, load_kernels, map_array

type Int32s = NDArray[np.int32]

#: The cost of no way. What takes more than 223 hours is none; an end of it may take off 74 at most.
NO_WAY: Final = 0x3FFFFFFF
LEAST_START_MS: Final = -0x0FFFFFFF
#: Positions that are searched from at once, and to: between them the deadline is looked at.
_ROWS_PER_CALL, _COLUMNS_PER_CALL = 32, 1024
_PAIRS_PER_CALL: Final = 2_000
#: Columns of a shortcut.
_ARC_COLUMNS: Final = 4


#: Columns of a contracted graph, in the order of kernels.h.
_FIRSTS: Final = ("up_first", "down_first")
_NAMES: Final = (
    "parent", "depth", *_FIRSTS, "up", "down", "up_middle", "down_middle", "round", "round_middle",
)  # fmt: skip


class _Struct(ctypes.Structure):
    """`Hierarchy` of kernels.h."""

    _fields_ = [("count", ctypes.c_int64), *[(name, ctypes.c_void_p) for name in _NAMES]]


@dataclass(frozen=True, slots=True)
class Ways:
    """Cost, time and length of ways; the cost is `NO_WAY` where there is none."""

    cost_ms: Int32s
    time_ms: Int32s
    length_cm: Int32s


@dataclass(frozen=True, slots=True)
class Starts:
    """Where searches of positions begin."""

    first: NDArray[np.int64]  #: per position, and one more: a place in the other columns
    vertex: Int32s
    cost_ms: Int32s
    time_ms: Int32s
    length_cm: Int32s

    def __len__(self) -> int:
        return len(self.first) - 1

    def slice(self, begin: int, end: int) -> Starts:
        """Return some positions."""
        first, low, high = self.first[begin : end + 1], self.first[begin], self.first[end]
        return Starts(
            np.ascontiguousarray(first - low),
            *(values[low:high] for values in self.columns),
        )

    @property
    def columns(self) -> tuple[Int32s, Int32s, Int32s, Int32s]:
        """Return what each place has."""
        return self.vertex, self.cost_ms, self.time_ms, self.length_cm


@dataclass(frozen=True, slots=True)
class HierarchyArrays:
    """The arrays of a contracted graph, as kernels.h says; vertices are in order of contraction."""

    parent: Int32s
    depth: Int32s
    up_first: NDArray[np.uint32]
    down_first: NDArray[np.uint32]
    up: Int32s  #: (shortcuts, 4)
    down: Int32s
    up_middle: Int32s
    down_middle: Int32s
    round: Int32s  #: (vertices, 4)
    round_middle: Int32s


#: Makes an array by name, shape and kind of numbers, to be filled.
type Maker = Callable[[str, tuple[int, ...], type[np.generic]], NDArray[Any]]


def make_plain(name: str, shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return an array in memory."""
    return np.empty(shape, kind)


def contract(
    count: int,
    tail: Ints,
    head: Ints,
    cost_ms: Int32s,
    time_ms: Int32s,
    length_cm: Int32s,
    *,
    make: Maker = make_plain,
    make_scratch: Maker = make_plain,
) -> HierarchyArrays:
    """Contract the arcs of a graph whose vertices are numbered in the order to contract them.

    `make` gives the arrays of the result by their names, `make_scratch` those that are needed
    meanwhile: 17 bytes for each pair of vertices that is joined.
    """
    kernels = load_kernels()
    tail, head = np.ascontiguousarray(tail, np.int32), np.ascontiguousarray(head, np.int32)
    for ends in (tail, head):
        if ends.size and not 0 <= ends.min() <= ends.max() < count:
            raise ValueError("an arc leads out of the graph")
    arcs = [address(tail, np.int32), address(head, np.int32, len(tail))]
    weights = [address(column, np.int32, len(tail)) for column in (cost_ms, time_ms, length_cm)]
    if cost_ms.size and cost_ms.min() < 0:
        raise ValueError("a cost is less than nothing")
    completion = kernels.complete(count, len(tail), *arcs)
    if not completion:
        raise MemoryError("no memory is left to contract the road graph")
    try:
        joined = kernels.count_joined(completion)
        shortcuts = [
            make_scratch(name, (joined,), np.int32)
            for name in ("up", "down", "up_middle", "down_middle")
        ]
        dropped = make_scratch("dropped", (joined,), np.uint8)
        kept = np.zeros(2, np.int64)
        round_middle = make("round_middle", (count,), np.int32)
        if kernels.customize(
            completion, len(tail), *arcs, weights[0],
            *(address(column, np.int32) for column in shortcuts), address(dropped, np.uint8),
            address(round_middle, np.int32, count), address(kept, np.int64),
        ):  # fmt: skip
            raise MemoryError("no memory is left to contract the road graph")
        ups, downs = kept.tolist()
        shapes: dict[str, tuple[int, ...]] = {
            **dict.fromkeys(_FIRSTS, (count + 1,)), "up": (ups, _ARC_COLUMNS),
            "down": (downs, _ARC_COLUMNS), "up_middle": (ups,), "down_middle": (downs,),
            "round": (count, _ARC_COLUMNS),
        }  # fmt: skip
        arrays = {
            name: make(name, shapes.get(name, (count,)), np.uint32 if name in _FIRSTS else np.int32)
            for name in _NAMES
            if name != "round_middle"
        }
        for name in _FIRSTS:
            arrays[name][0] = 0
        found = HierarchyArrays(**arrays, round_middle=round_middle)
        struct = _describe(found)
        if kernels.keep_shortcuts(completion, len(tail), *arcs, *weights, ctypes.addressof(struct)):
            raise MemoryError("no memory is left to contract the road graph")
    finally:
        kernels.free_completion(completion)
    return found


def _describe(arrays: HierarchyArrays) -> _Struct:
    count = len(arrays.parent)
    ups, downs = len(arrays.up_middle), len(arrays.down_middle)
    sizes = {
        "up_first": count + 1, "down_first": count + 1, "up": 4 * ups, "down": 4 * downs,
        "up_middle": ups, "down_middle": downs, "round": 4 * count,
    }  # fmt: skip
    return _Struct(
        count,
        *(
            address(
                getattr(arrays, name),
                np.uint32 if name in _FIRSTS else np.int32,
                sizes.get(name, count),
            )
            for name in _NAMES
        ),
    )


class Hierarchy:
    """A contracted graph that ways are searched in. Threads may share it."""

    def __init__(self, arrays: HierarchyArrays) -> None:
        """Take the arrays; they have to stay as they are."""
        self._arrays = arrays
        self._kernels = load_kernels()
        self.count = len(arrays.parent)
        for first, middle in (
            (arrays.up_first, arrays.up_middle), (arrays.down_first, arrays.down_middle),
        ):  # fmt: skip
            if int(first[-1]) != len(middle):
                raise ValueError("a contracted graph whose arrays do not fit together")
        self._struct = _describe(arrays)
        #: Where C finds it.
        self.where = ctypes.addressof(self._struct)

    def find_table(self, origins: Starts, destinations: Starts, deadline: Deadline) -> Ways:
        """Return the cheapest ways from all origins to all destinations.

        The way from a vertex to itself is nothing. Raises `Timeout` at the deadline.
        """
        shape = len(origins), len(destinations)
        table = Ways(*(np.empty(shape, np.int32) for _ in range(3)))
        for left in range(0, shape[1], _COLUMNS_PER_CALL):
            right = min(left + _COLUMNS_PER_CALL, shape[1])
            deadline.check()
            with self._search(destinations.slice(left, right), upward=False) as to:
                for top in range(0, shape[0], _ROWS_PER_CALL):
                    bottom = min(top + _ROWS_PER_CALL, shape[0])
                    deadline.check()
                    with self._search(origins.slice(top, bottom), upward=True) as since:
                        block = self._combine(since, to, (bottom - top, right - left))
                    table.cost_ms[top:bottom, left:right] = block.cost_ms
                    table.time_ms[top:bottom, left:right] = block.time_ms
                    table.length_cm[top:bottom, left:right] = block.length_cm
        return table

    @contextmanager
    def _search(self, starts: Starts, *, upward: bool) -> Iterator[int]:
        self._check(starts.vertex)
        count = len(starts.vertex)
        if starts.cost_ms.size and starts.cost_ms.min() < LEAST_START_MS:
            raise ValueError("a search begins with too little")
        labels = self._kernels.search(
            self.where, upward, len(starts), address(starts.first, np.int64),
            *(address(column, np.int32, count) for column in starts.columns),
        )  # fmt: skip
        if not labels:
            raise MemoryError("no memory is left for a search")
        try:
            yield labels
        finally:
            self._kernels.free_labels(labels)

    def _combine(self, since: int, to: int, shape: tuple[int, int]) -> Ways:
        block = Ways(*(np.empty(shape, np.int32) for _ in range(3)))
        columns = (block.cost_ms, block.time_ms, block.length_cm)
        self._kernels.combine(since, to, *(address(column, np.int32) for column in columns))
        return block

    def find_ways(self, sources: Int32s, targets: Int32s, deadline: Deadline) -> Ways:
        """Return the cheapest ways between pairs of vertices.

        The way from a vertex to itself is a round. Raises `Timeout` at the deadline.
        """
        self._check(sources)
        self._check(targets)
        ways = Ways(*(np.empty(len(sources), np.int32) for _ in range(3)))
        for begin in range(0, len(sources), _PAIRS_PER_CALL):
            deadline.check()
            part = slice(begin, begin + _PAIRS_PER_CALL)
            columns = [
                column[part]
                for column in (sources, targets, ways.cost_ms, ways.time_ms, ways.length_cm)
            ]
            count = len(columns[0])
            if self._kernels.find_ways(
                self.where, count, *(address(column, np.int32, count) for column in columns)
            ):
                raise MemoryError("no memory is left for a search")
        return ways

    def unpack(self, source: int, target: int) -> Int32s:
        """Return the vertices of the cheapest way, both ends among them, none without a way."""
        way = np.empty(1024, np.int32)
        self._check(np.array([source, target], np.int32))
        while True:
            count = self._kernels.unpack_way(
                self.where, source, target, address(way, np.int32), len(way)
            )
            if count < 0:
                raise MemoryError("no memory is left for a search")
            if count <= len(way):
                return way[:count]
            way = np.empty(count, np.int32)

    def measure_way(self, way: Int32s) -> tuple[Int32s, Int32s]:
        """Return cost and time of each step of an unpacked way, from a vertex to the next."""
        self._check(way)
        steps = max(0, len(way) - 1)
        cost_ms, time_ms = np.empty(steps, np.int32), np.empty(steps, np.int32)
        self._kernels.measure_way(
            self.where, len(way), address(np.ascontiguousarray(way), np.int32),
            address(cost_ms, np.int32), address(time_ms, np.int32),
        )  # fmt: skip
        return cost_ms, time_ms

    def _check(self, vertices: Int32s) -> None:
        if vertices.size and not 0 <= vertices.min() <= vertices.max() < self.count:
            raise ValueError("a vertex that the graph does not have")


def open_arrays(folder: Path, name: str) -> HierarchyArrays:
    """Map the arrays into memory."""
    return HierarchyArrays(
        **{
            field.name: map_array(folder / f"{name}-{field.name}.npy")
            for field in fields(HierarchyArrays)
        }
    )
