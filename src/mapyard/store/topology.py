"""How elements hang together: nodes of ways, members of relations, and the reverse of both."""

from __future__ import annotations

import ctypes
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.store.arrays import Ints, Members, Ragged, Rows
from mapyard.store.columns import Heap, ranges
from mapyard.store.elements import ElementColumns
from mapyard.store.frames import Frames, take_runs
from mapyard.store.kernels import describe_runs, load_kernels, place


class TopologyColumns(ElementColumns):
    """References between elements."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._way_offsets: NDArray[Any] = self._column("way_offsets")
        self._way_refs: NDArray[np.uint32] = self._column("way_refs")
        self._way_offset_view = memoryview(self._way_offsets)
        self._way_ref_view = memoryview(self._way_refs)
        self._ways = describe_runs(self._way_refs, self._way_offsets, self.way_count)

    def way_nodes(self, rows: Rows) -> Ragged:
        """Return the node rows of ways, in order; values ≥ node_count are missing nodes.

        `node_ids` gives the OSM ids of both kinds.
        """
        rows = np.ascontiguousarray(rows, np.int64)
        kernels, runs = load_kernels(), ctypes.addressof(self._ways)
        asked = place(rows), self.way_start, len(rows)
        offsets = np.empty(len(rows) + 1, np.int64)
        bad = kernels.measure_runs(runs, *asked, place(offsets))
        if bad >= 0:
            raise IndexError(f"row {rows[bad]} is not a way, or its nodes are damaged")
        refs = np.empty(offsets[-1], np.uint32)
        kernels.gather_runs(runs, *asked, place(refs))
        return Ragged(refs, offsets)

    @cached_property
    def missing_node_ids(self) -> Ints:
        """OSM ids of nodes that ways refer to and the extract lacks."""
        return self._column("missing_node_ids")

    def node_ids(self, refs: NDArray[Any]) -> Ints:
        """Return the OSM ids of way_nodes values, missing nodes included."""
        missing = refs >= self.node_count
        if not missing.any():
            return self.ids.take(refs)
        ids = self.ids.take(np.where(missing, 0, refs))
        ids[missing] = self.missing_node_ids[refs[missing] - self.node_count]
        return ids

    @cached_property
    def _node_ways(self) -> tuple[Frames, Frames]:
        return Frames(self._folder, "node_way_offsets"), Frames(self._folder, "node_ways")

    def ways_of_nodes(self, rows: Rows) -> Ragged:
        """Return the way rows that each node is part of, sorted within a node."""
        return Ragged(*take_runs(*self._node_ways, rows))

    @cached_property
    def roles(self) -> list[str]:
        """Texts of member roles by role index."""
        heap = Heap(self._folder, "role_text")
        return [role.decode() for role in heap.span(0, len(heap))]

    @cached_property
    def _members(self) -> tuple[NDArray[Any], Ints, NDArray[np.uint32], NDArray[Any]]:
        column = self._column
        return (
            column("member_offsets"),
            column("missing_member_eids"),
            column("member_rows"),
            column("member_roles"),
        )

    def members(self, rows: Rows) -> Members:
        """Return the members of relations, in order."""
        offsets, missing_eids, member_rows, roles = self._members
        index = np.asarray(rows, np.int64) - self.relation_start
        starts = offsets[index].astype(np.int64)
        lengths = offsets[index + 1] - starts
        place = ranges(starts, lengths)
        relation = np.repeat(np.arange(len(index)), lengths)
        position = place - np.repeat(starts, lengths)
        stored = member_rows[place].astype(np.int64)
        present = stored < self.row_count

        def find_eids() -> Ints:
            eids = self.eids(np.where(present, stored, 0))
            eids[~present] = missing_eids[stored[~present] - self.row_count]
            return eids

        row = np.where(present, stored, -1)
        return Members(relation, row, roles[place].astype(np.uint32), position, find_eids)

    @cached_property
    def _member_of(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[Any]]:
        return (
            self._column("member_of_rows"),
            self._column("member_of_relations"),
            self._column("member_of_places"),
        )

    def relations_of(self, rows: Rows) -> tuple[Ints, Rows, NDArray[np.uint32]]:
        """Return for sorted rows of any type the relations that hold them.

        Three arrays, one entry per membership: index into `rows`, relation row, role index.
        """
        members, relations, places = self._member_of
        rows = np.asarray(rows).astype(np.uint32, copy=False)
        start = np.searchsorted(members, rows, side="left")
        length = np.searchsorted(members, rows, side="right") - start
        place = ranges(start, length)
        owner = np.repeat(np.arange(len(rows)), length)
        return owner, relations[place], self._members[3][places[place]].astype(np.uint32)
