"""Which areas hold a point, and where that may have changed since the build before."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.cells import Cells, Near, in_blocks
from mapyard.geocoding.build.columns import Floats, Ints
from mapyard.geocoding.build.memo import UNKNOWN, Memo
from mapyard.geocoding.build.places import Place
from mapyard.store.columns import offsets_of
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store

#: Differences of shapes are found to the rounding of their coordinates.
_ROUNDING_DEG: Final = 1e-6


class Chains:
    """For points: which areas contain them. A chain is a tuple of place indexes, large to small."""

    def __init__(self, places: list[Place], memo: Memo) -> None:
        self._places = np.array([i for i, p in enumerate(places) if p.is_area], np.int64)
        self._rows = np.array([p.row for p in places], np.int64)
        self._areas = Areas(memo.store, self._rows[self._places])
        self._ids: dict[tuple[int, ...], int] = {(): 0}
        self.chains: list[tuple[int, ...]] = [()]
        self._memo = memo
        self._dirty = find_doubt(memo, "area", self._rows[self._places])
        self._before = self._read_before() if self._dirty is not None else None

    def find(self, lon: Floats, lat: Floats, names: Ints) -> Ints:
        """Return the chain id of each point; ids index `chains`. `names` are for the memo."""

        def compute(open_: Ints) -> Ints:
            return self._find_part(lon[open_], lat[open_])

        def translate(old: NDArray[Any]) -> Ints:
            assert self._before is not None
            return self._before[old]

        return self._memo.by_point(
            "chain", lon, lat, in_blocks(lon, lat, compute), self._dirty, names,
            translate=translate,
        )  # fmt: skip

    def _find_part(self, lon: Floats, lat: Floats) -> Ints:
        area, point = self._areas.find(lon, lat)
        area = self._places[area]
        counts = np.bincount(point, minlength=len(lon))
        width = int(counts.max(initial=0))
        if not width:
            return np.zeros(len(lon), np.int64)
        table = np.full((len(lon), width), -1, np.int64)
        starts = np.cumsum(counts) - counts
        table[point, np.arange(len(point)) - starts[point]] = area
        distinct, inverse = np.unique(table, axis=0, return_inverse=True)
        ids = np.array([self._id_of(tuple(row[row >= 0].tolist())) for row in distinct], np.int64)
        return ids[inverse.ravel()]

    def _id_of(self, chain: tuple[int, ...]) -> int:
        known = self._ids.get(chain)
        if known is None:
            known = self._ids[chain] = len(self.chains)
            self.chains.append(chain)
        return known

    # ---- from build to build ----------------------------------------------------------------

    def remember(self) -> None:
        """Put the chains into the memo, by the rows of their places."""
        lengths = np.array([len(chain) for chain in self.chains], np.int64)
        flat = np.array([place for chain in self.chains for place in chain], np.int64)
        self._memo.put("chain_offsets", offsets_of(lengths))
        self._memo.put("chain_rows", self._rows[flat].astype(np.uint32))

    def _read_before(self) -> Ints:
        """Return the id now of each chain of the build before; where areas changed is dirty."""
        assert self._memo.previous is not None
        areas = self._places.tolist()
        place_of = dict(zip(self._rows[areas].tolist(), areas, strict=True))
        rows = self._memo.previous.map_rows(self._memo.get("chain_rows")).tolist()
        offsets = self._memo.get("chain_offsets").tolist()
        ids = []
        for start, stop in pairwise(offsets):
            chain = sorted(place_of[row] for row in rows[start:stop] if row in place_of)
            ids.append(self._id_of(tuple(chain)))
        return np.array(ids, np.int64)

    def number_anew(self, *columns: Ints) -> list[Ints]:
        """Keep the chains that occur in the columns of ids, in their order; return new columns."""
        used = distinct(np.zeros(1, np.int64), *columns)
        order = sorted(used.tolist(), key=lambda number: self.chains[number])
        new = np.full(len(self.chains), UNKNOWN, np.int64)
        new[order] = np.arange(len(order))
        self.chains = [self.chains[number] for number in order]
        self._ids = {chain: number for number, chain in enumerate(self.chains)}
        return [new[column] for column in columns]


class Areas:
    """Areas by place; the shapes of those that the last points were near to are kept."""

    def __init__(self, store: Store, rows: Ints) -> None:
        self._store, self._rows = store, rows
        self._near = Near(store, rows)
        self._kept: dict[int, Any] = {}

    def find(self, lon: Floats, lat: Floats) -> tuple[Ints, Ints]:
        """Return (area, point) of each of some points that an area holds, by point, then area.

        Points are in degrees, neighbors; areas are places in the rows.
        """
        near = self._near.find(lon, lat)
        if not len(near):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        shapes = self._read(near)
        shapely.prepare(shapes)
        # Prepared areas against a tree of points: one pass per area, whatever its size.
        points = shapely.points(np.nan_to_num(lon, nan=999.0), np.nan_to_num(lat, nan=999.0))
        area, point = shapely.STRtree(points).query(shapes, predicate="intersects")
        order = np.lexsort((area, point))
        return near[area[order]], point[order]

    def _read(self, near: Ints) -> NDArray[np.object_]:
        wanted = near.tolist()
        fresh = np.array([area for area in wanted if area not in self._kept], np.int64)
        read = zip(fresh.tolist(), self._store.geometries(self._rows[fresh]), strict=True)
        known = {**self._kept, **dict(read)}
        self._kept = {area: known[area] for area in wanted}
        shapes = np.empty(len(wanted), np.object_)
        shapes[:] = list(self._kept.values())
        return shapes


def find_doubt(memo: Memo, name: str, rows: Ints) -> Cells | None:
    """Return the cells in which a point may lie in other areas of a set than in the build before.

    Where an area was changed these are the parts that it lost or won. None in a build from nothing.
    """
    old_rows, new_rows, _ = memo.compare(name, rows)
    if memo.previous is None:
        return None
    old = memo.previous.store.geometries(old_rows)
    before = dict(zip(memo.previous.map_rows(old_rows).tolist(), old, strict=True))
    after = dict(zip(new_rows.tolist(), memo.store.geometries(new_rows), strict=True))
    gone = [shape for row, shape in zip(old_rows.tolist(), old, strict=True)
            if memo.previous.row_map[row] < 0]  # fmt: skip
    parts = [*gone]
    for row in before.keys() | after.keys():
        parts += _find_difference(before.get(row), after.get(row))
    boxes = shapely.bounds(shapely.get_parts(np.array(parts, np.object_)))
    return Cells(boxes[~np.isnan(boxes[:, 0])], _ROUNDING_DEG)


def _find_difference(one: Any, other: Any) -> list[Any]:
    if one is None or other is None:
        return [shape for shape in (one, other) if shape is not None]
    if shapely.equals_exact(one, other):
        return []
    if not shapely.is_valid([one, other]).all():
        return [one, other]
    return [shapely.symmetric_difference(one, other)]
