"""The cheapest way from one position to another, in one call of `kernels/way.c`."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.hierarchy import Hierarchy, Int32s
from mapyard.routing.contraction.places import End, Places
from mapyard.routing.kernels import address, load_kernels

_MS: Final = 1000
_CM: Final = 100
#: Edges of a way for which there is room at first.
_ROOM: Final = 1024


class Contracted(NamedTuple):
    """A contracted graph and the edges that its vertices are."""

    hierarchy: Hierarchy
    begin: Int32s  #: per edge, -1 where it is not used
    first_end: NDArray[np.uint32]  #: per edge, and one more: a place in `end`
    end: Int32s  #: vertices
    edge: Int32s  #: per vertex


class Edges(NamedTuple):
    """Columns of whole edges."""

    cost_ms: Int32s
    time_ms: Int32s
    length_cm: Int32s
    start: Int32s  #: crossings
    end: Int32s


@dataclass(frozen=True, slots=True)
class Way:
    """The cheapest way from a position to another."""

    edges: Int32s
    ends: tuple[End, End]  #: on the first and on the last edge
    vertices: Int32s  #: of the contracted graph, one per edge
    is_relaxed: bool  #: of the graph without rules for dead ends and such
    cost_s: float
    time_s: float
    length_m: float


class _ContractedStruct(ctypes.Structure):
    """`Contracted` of kernels.h."""

    _fields_ = [(name, ctypes.c_void_p) for name in Contracted._fields]


class _NetworkStruct(ctypes.Structure):
    """`Network` of kernels.h."""

    _fields_ = [
        ("strict", _ContractedStruct),
        ("relaxed", _ContractedStruct),
        *[(name, ctypes.c_void_p) for name in Edges._fields],
        ("asks_again", ctypes.c_int64),
        ("cost_scale", ctypes.c_int64),
    ]


class _Sides(ctypes.Structure):
    """`Sides` of kernels.h."""

    _fields_ = [
        ("count", ctypes.c_int64),
        *[(name, ctypes.c_void_p) for name in ("edge", "share", "away_m")],
    ]


class FoundStruct(ctypes.Structure):
    """`Found` of kernels.h."""

    _fields_ = [
        *[
            (name, ctypes.c_int32)
            for name in ("cost_ms", "time_ms", "length_cm", "begin", "last", "is_relaxed")
        ],
        ("count", ctypes.c_int64),
    ]


class Network:
    """What ways of a mode are found in: with rules for private roads and dead ends, and without.

    Threads may share it.
    """

    def __init__(
        self,
        strict: Contracted,
        relaxed: Contracted,
        edges: Edges,
        *,
        asks_again: bool,
        cost_scale: int = _MS,
    ) -> None:
        """Take arrays that stay as they are.

        `asks_again` says whether the rules are left out where there is no way by them,
        `cost_scale` in what parts costs are counted.
        """
        count = len(edges.cost_ms)
        self._arrays = strict, relaxed, edges  # kept while their addresses are
        self._struct = _NetworkStruct(
            *(
                _ContractedStruct(
                    graph.hierarchy.where,
                    address(graph.begin, np.int32, count),
                    address(graph.first_end, np.uint32, count + 1),
                    address(graph.end, np.int32),
                    address(graph.edge, np.int32, graph.hierarchy.count),
                )
                for graph in (strict, relaxed)
            ),
            *(address(column, np.int32, count) for column in edges),
            asks_again,
            cost_scale,
        )
        self._scale = cost_scale
        #: Where C finds it.
        self.where = ctypes.addressof(self._struct)

    def find_way(self, origin: Places, destination: Places) -> Way | None:
        """Return the way from one position to another, None where there is none."""
        one, other, found = _describe(origin), _describe(destination), FoundStruct()
        room = _ROOM
        while True:
            path = np.empty((2, room), np.int32)
            where = address(path, np.int32)
            result = load_kernels().find_way(
                self.where, ctypes.addressof(one), ctypes.addressof(other),
                ctypes.addressof(found), where, where + path.strides[0], room,
            )  # fmt: skip
            if result < 0:
                raise MemoryError("no memory is left for a search")
            if not result:
                return None
            if found.count <= room:
                break
            room = found.count
        vertices, edges = path[:, : found.count]
        ends = origin.get_end(found.begin), destination.get_end(found.last)
        return self.make_way(found, vertices, edges, ends)

    def make_way(
        self, found: FoundStruct, vertices: Int32s, edges: Int32s, ends: tuple[End, End]
    ) -> Way:
        """Return a way that C has found."""
        return Way(
            edges,
            ends,
            vertices,
            bool(found.is_relaxed),
            found.cost_ms / self._scale,
            found.time_ms / _MS,
            found.length_cm / _CM,
        )


def _describe(places: Places) -> _Sides:
    count = len(places.edge)
    return _Sides(
        count,
        address(places.edge, np.int32, count),
        address(places.share, np.float64, count),
        address(places.away_m, np.float64, count),
    )
