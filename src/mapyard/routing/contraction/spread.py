"""All that is reached from places within a bound, or that reaches them.

A plain search over the turns of a mode's graph (`kernels/spread.c`): what is asked for is small,
and contraction helps for single ways only.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.hierarchy import NO_WAY, Int32s, Starts
from mapyard.routing.contraction.tiles import Ints
from mapyard.routing.kernels import address, load_kernels

_FIELDS: Final = ("first", "back_first", "turn", "back", "edge", "length")


class _Struct(ctypes.Structure):
    """`Turns` of kernels.h."""

    _fields_ = [(name, ctypes.c_void_p) for name in _FIELDS]


@dataclass(frozen=True, slots=True)
class TurnArrays:
    """The turns of a graph by vertex, and backward."""

    first: NDArray[np.uint32]  #: per vertex, and one more
    turn: Int32s  #: (turns, 3): the vertex after, cost and time, the edge before included
    back_first: NDArray[np.uint32]
    back: Int32s  #: (turns, 2): the vertex before, and the turn


def sort_turns(count: int, tail: Ints, head: Ints, cost_ms: Int32s, time_ms: Int32s) -> TurnArrays:
    """Return the turns between so many vertices."""
    ways = np.flatnonzero(cost_ms < NO_WAY).astype(np.int32)
    ways = ways[np.argsort(tail[ways], kind="stable")]
    turn = np.empty((len(ways), 3), np.int32)
    for column, values in enumerate((head, cost_ms, time_ms)):
        turn[:, column] = values[ways]
    tail, head = tail[ways], head[ways]
    back = np.empty((len(ways), 2), np.int32)
    back[:, 1] = np.argsort(head, kind="stable")
    back[:, 0] = tail[back[:, 1]]
    return TurnArrays(_count_up(tail, count), turn, _count_up(head, count), back)


def _count_up(vertices: Ints, count: int) -> NDArray[np.uint32]:
    counts = np.bincount(vertices, minlength=count)
    return np.append(0, np.cumsum(counts)).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Reached:
    """Vertices, and what the cheapest ways take up to the begin of their edges, or from there."""

    vertex: Int32s
    time_ms: Int32s
    length_cm: Int32s
    is_cut: bool  #: whether there is more beyond the bounds


class Spreading:
    """Searches over a graph's turns. Threads may share it."""

    def __init__(self, arrays: TurnArrays, edge: Int32s, length_cm: Int32s) -> None:
        """Search the turns; `edge` is of each vertex, the length of each edge."""
        self._count = len(edge)
        self._arrays = arrays, edge, length_cm  # kept while their addresses are
        self._struct = _Struct(
            address(arrays.first, np.uint32, self._count + 1),
            address(arrays.back_first, np.uint32, self._count + 1),
            address(arrays.turn, np.int32, 3 * len(arrays.turn)),
            address(arrays.back, np.int32, 2 * len(arrays.turn)),
            address(edge, np.int32),
            address(length_cm, np.int32),
        )

    def find_reached(
        self, starts: Starts, *, backward: bool, most_ms: int, most_cm: int
    ) -> Reached:
        """Return all vertices whose way takes no more than that, in time and length."""
        vertex = starts.vertex
        if vertex.size and not 0 <= vertex.min() <= vertex.max() < self._count:
            raise ValueError("a vertex that the graph does not have")
        kernels = load_kernels()
        found = kernels.spread(
            ctypes.addressof(self._struct), backward, len(vertex),
            *(address(column, np.int32, len(vertex)) for column in starts.columns),
            most_ms, most_cm,
        )  # fmt: skip
        if not found:
            raise MemoryError("no memory is left for a search")
        try:
            count = kernels.list_reached(found, None, None, None)
            columns = [np.empty(count, np.int32) for _ in range(3)]
            kernels.list_reached(found, *(address(column, np.int32) for column in columns))
            is_cut = kernels.count_cut(found) > 0
        finally:
            kernels.free_spread(found)
        vertex, time_ms, length_cm = columns
        return Reached(vertex, time_ms, length_cm, is_cut)
