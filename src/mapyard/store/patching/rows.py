"""How the rows of a store and of changed elements become the rows of a new one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.osm.elements import NODE, RELATION, WAY
from mapyard.store.distinct import distinct
from mapyard.store.merge import Splice
from mapyard.store.patching.upserts import Upserts
from mapyard.store.reader import Store
from mapyard.store.row_map import RowMap

Ints = NDArray[np.int64]


class RowPlan(NamedTuple):
    """Old rows and upserts, and what becomes of them: one splice over all, and one per type.

    An old element is *kept* when it stays as it is; one that changed *lasts* too, in another form.
    """

    counts: list[int]  # of the new store, by type
    row_map: RowMap  # of all that last
    kept: RowMap  # of those that are kept
    replaced: Ints  # old rows that are not kept, sorted
    new_rows: Ints  # of the upserts
    old_at: Ints  # before which old row each upsert comes, or which it was
    every: Splice
    by_type: list[Splice]

    def find_old(self, rows: NDArray[Any]) -> Ints:
        """Return which old row each new one was, or before which it comes; `rows` are sorted."""
        old = self.row_map.invert(rows)
        is_new = np.flatnonzero(old < 0)
        place = np.searchsorted(self.new_rows, rows[is_new])
        old[is_new] = self.old_at[place]
        return old


def plan_rows(old: Store, upserts: Upserts, deleted: list[Ints]) -> RowPlan:
    """Plan the rows of a new store; `deleted` are sorted ids by type, those not there are none."""
    by_type, counts, new_rows, old_at = [], [], [], []
    replaced, starts, places = [], [], []
    first_new = 0
    for kind in (NODE, WAY, RELATION):
        first, stop = old.type_range(kind)
        ids = upserts.ids[kind]
        known = old.ids.locate(ids, first, stop)
        removed = old.ids.locate(deleted[kind], first, stop)
        removed = np.setdiff1d(removed[removed >= 0], known)
        gone = distinct(known[known >= 0], removed)
        at = old.ids.seek(ids, first, stop)
        splice = Splice(stop - first, gone - first, at - first)
        rows = splice.new_place + first_new
        by_type.append(splice)
        counts.append(splice.count)
        new_rows.append(rows)
        old_at.append(at)
        replaced.append(gone)
        starts += [splice.kept_starts + first, known[known >= 0], removed]
        places += [splice.kept_places + first_new, rows[known >= 0], np.full(len(removed), -1)]
        first_new += splice.count
    row_map = RowMap.join(starts, places, old.row_count)
    not_kept, rows = np.concatenate(replaced), np.concatenate(new_rows)
    bounds = np.concatenate(old_at)
    every = Splice(old.row_count, not_kept, bounds)
    return RowPlan(
        counts, row_map, row_map.without(not_kept), not_kept, rows, bounds, every, by_type
    )
