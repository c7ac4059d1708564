"""The arrays of edges and vertices that a graph is written as."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.hierarchy import Hierarchy, Int32s, open_arrays
from mapyard.routing.contraction.spread import TurnArrays
from mapyard.routing.contraction.tiles import Ints
from mapyard.routing.contraction.way import Contracted
from mapyard.routing.kernels import map_array
from mapyard.store.columns import ranges


@dataclass(frozen=True, slots=True)
class EdgeArrays:
    """What all modes know of the edges."""

    tile_ids: NDArray[np.int64]
    tile_starts: NDArray[np.int64]
    tile_places: NDArray[np.int64]  #: (tiles, 3), in the tar: edges, records, texts
    length_cm: Int32s
    start: Int32s  #: junction
    end: Int32s  #: junction, -1 off the extract


@dataclass(frozen=True, slots=True)
class CostArrays:
    """What an edge as a whole takes in a mode."""

    cost_ms: Int32s
    time_ms: Int32s
    connected: NDArray[np.uint8]  #: whether it leads on to many crossings (1), is led to (2)


@dataclass(frozen=True, slots=True)
class VertexArrays:
    """Where ways over edges begin and end in a contracted graph."""

    begin: Int32s  #: per edge, -1 where it is not used
    first_end: NDArray[np.uint32]  #: per edge, and one more: a place in `end`
    end: Int32s  #: vertices
    edge: Int32s  #: per vertex
    is_end: NDArray[np.uint8]  #: per vertex


def write_arrays(
    arrays: EdgeArrays | CostArrays | VertexArrays | TurnArrays, folder: Path, name: str
) -> None:
    """Write each column into a file of its own."""
    for field in fields(arrays):
        np.save(folder / f"{name}-{field.name}.npy", getattr(arrays, field.name))


def map_arrays[Arrays: (EdgeArrays, CostArrays, VertexArrays, TurnArrays)](
    kind: type[Arrays], folder: Path, name: str
) -> Arrays:
    """Return what was written, mapped."""
    return kind(
        **{field.name: map_array(folder / f"{name}-{field.name}.npy") for field in fields(kind)}
    )


class Graph:
    """A contracted graph and its edges."""

    def __init__(self, folder: Path, name: str) -> None:
        """Map what was written."""
        self.vertices = map_arrays(VertexArrays, folder, name)
        self.hierarchy = Hierarchy(open_arrays(folder, name))

    @property
    def contracted(self) -> Contracted:
        """Return what single ways are found in."""
        vertices = self.vertices
        return Contracted(
            self.hierarchy, vertices.begin, vertices.first_end, vertices.end, vertices.edge
        )

    def find_ends(self, edges: Ints) -> tuple[Ints, Int32s]:
        """Return the vertices at which a way onto an edge ends: places in `edges`, vertices."""
        first = self.vertices.first_end[edges].astype(np.int64)
        count = self.vertices.first_end[edges + 1] - first
        return np.repeat(np.arange(len(edges)), count), self.vertices.end[ranges(first, count)]
