"""The turns of a graph: pairs of edges that follow each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.contraction.tiles import Ints, RoadGraph
from mapyard.store.columns import ranges


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns as columns."""

    origin: Ints  #: the edge before
    destination: Ints  #: the edge after
    node: Ints  #: first node of the edge after
    local_index: Ints  #: of the road before, at the node
    is_reverse: NDArray[np.bool_]  #: back on the road before; only where there is no other way

    def __len__(self) -> int:
        return len(self.origin)

    def move(self, move: Callable[[Any], Any]) -> Turns:
        """Return the turns with what is to be held instead of each column."""
        return Turns(*(move(getattr(self, field.name)) for field in fields(self)))

    def select(self, mask: NDArray[np.bool_] | slice) -> Turns:
        """Return the turns where the mask is set, or of a range."""
        return Turns(
            self.origin[mask], self.destination[mask], self.node[mask], self.local_index[mask],
            self.is_reverse[mask],
        )  # fmt: skip


def find_turns(
    graph: RoadGraph, usable: NDArray[np.bool_], access: int, *, restricted: bool
) -> Turns:
    """Return all turns between usable edges, those back on the same road included.

    Over a node that is closed to the mode (a bollard) only the way back is left. `restricted`
    leaves out what simple turn restrictions forbid.
    """
    edges = np.flatnonzero(usable).astype(np.int32)
    junction = graph.junction
    begins = junction[graph.start[edges]]
    by_begin = edges[np.argsort(begins, kind="stable")]
    first = np.searchsorted(np.sort(begins), np.arange(len(junction) + 1))
    ends = junction[graph.end[edges]]
    count = first[ends + 1] - first[ends]
    origin = np.repeat(edges, count)
    destination = by_begin[ranges(first[ends], count)]

    columns = graph.edges
    is_reverse = columns.local_index[destination] == columns.opposing_local_index[origin]
    allowed = is_reverse | ((graph.nodes.access[graph.end[origin]] & access) > 0)
    if restricted:
        after = columns.local_index[destination]
        banned = (columns.banned_turns[origin] >> np.minimum(after, 8)) & 1
        allowed &= banned == 0
    turns = Turns(
        origin=origin,
        destination=destination,
        node=graph.start[destination].astype(np.int32),
        local_index=columns.opposing_local_index[origin],
        is_reverse=is_reverse,
    )
    return turns.select(allowed)
