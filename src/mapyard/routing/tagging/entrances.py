"""Where ways and other areas meet the rims of areas, and the pairs of nodes that ways lead between.

Counted in arrays, over the ways that `read_areas` has written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mapyard.routing.tagging.blocks import Bools, Ints, is_in
from mapyard.routing.tagging.rings import Areas
from mapyard.store.columns import ColumnWriter, open_column
from mapyard.store.distinct import distinct

type Keys = NDArray[np.uint64]

#: Ways that are looked at together.
_AT_ONCE: Final = 1 << 16


class Entrances:
    """The nodes of rims that another way leads to, or another area shares."""

    def __init__(self, folder: Path, areas: Areas, numbers: Ints, rims: Ints) -> None:
        """Look at the areas of the numbers, whose rims have these nodes, sorted."""
        self._rims = rims
        self._counts = np.zeros(len(rims), np.uint8)
        for number in numbers.tolist():
            if not areas[number].is_way:
                self._count(distinct(np.searchsorted(rims, areas.nodes(number))))
        ids, refs = open_column(folder, "road_ids"), open_column(folder, "road_refs")
        offsets = open_column(folder, "road_refs_offsets")
        with ColumnWriter(folder, "taken", np.uint64) as taken:
            for start in range(0, len(ids), _AT_ONCE):
                edges = offsets[start : start + _AT_ONCE + 1]
                is_member = is_in(ids[start : start + _AT_ONCE], areas.member_ways)
                taken.append(self._add(refs[edges[0] : edges[-1]], np.diff(edges), is_member))
        #: Pairs between which a way leads, sorted.
        self._taken: Keys = distinct(open_column(folder, "taken"))

    def among(self, nodes: Ints) -> set[int]:
        """Return the nodes of rims that are entrances."""
        return set(nodes[self._counts[np.searchsorted(self._rims, nodes)] > 1].tolist())

    def pair(self, ends: Ints) -> Keys:
        """Return one number for each pair of nodes of rims, shape (n, 2), whatever their order."""
        at = np.sort(np.searchsorted(self._rims, ends), axis=1).astype(np.uint64)
        return at[:, 0] << np.uint64(32) | at[:, 1]

    def is_taken(self, pairs: Keys) -> Bools:
        """Return between which pairs a way leads already."""
        if not len(self._taken):
            return np.zeros(len(pairs), np.bool_)
        at = np.minimum(np.searchsorted(self._taken, pairs), len(self._taken) - 1)
        return np.asarray(self._taken[at] == pairs)

    def _count(self, at: Ints) -> None:
        """Count one more way or area at nodes, up to two."""
        self._counts[at] = np.minimum(self._counts[at] + 1, 2)

    def _add(self, refs: Ints, lengths: Ints, is_member: Bools) -> Keys:
        """Count ways, and return the pairs of nodes of rims that follow each other."""
        row_of = np.repeat(np.arange(len(lengths)), lengths)
        met = is_in(refs, self._rims)
        follows = met[1:] & met[:-1] & (row_of[1:] == row_of[:-1])
        ends = np.column_stack([refs[:-1][follows], refs[1:][follows]])
        # The ways of multipolygons count as these; each node once per way.
        met &= ~is_member[row_of]
        at = np.searchsorted(self._rims, refs[met])
        once = distinct(row_of[met] << 32 | at) & 0xFFFFFFFF
        nodes, times = np.unique(once, return_counts=True)
        self._counts[nodes] = np.minimum(self._counts[nodes] + times, 2)
        return self.pair(ends)
