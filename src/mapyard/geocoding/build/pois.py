"""Points of interest: everything else with a name, and unnamed things people ask for by kind."""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.addresses import Addresses, find_positions
from mapyard.geocoding.build.cells import Cells, boxes_of_points
from mapyard.geocoding.build.columns import Ints, TagColumn
from mapyard.geocoding.build.memo import Memo
from mapyard.geocoding.words.categories import CATEGORY_KEYS, FURTHER_KEYS, indexed_tags
from mapyard.store.distinct import distinct_rows
from mapyard.store.reader import E7, Store
from mapyard.text.names import parse_name_key

#: Lines with a name that are no places to go to.
_UNWANTED: Final = (("type", "restriction"), ("type", "associatedStreet"), ("type", "street"))


def find_poi_rows(store: Store, taken: NDArray[np.bool_]) -> Ints:
    """Return the sorted rows of points of interest.

    `taken` marks, per row, what is already a place, a street or a river.
    """
    named = [store.rows_with_key(key) for key in store.keys if parse_name_key(key)]
    named += [store.rows_with_key("addr:housename"), store.rows_with_key("brand")]
    for tag in indexed_tags():
        key, _, value = tag.partition("=")
        if key not in FURTHER_KEYS:
            named.append(store.rows_with_tag(key, value))
    wanted = distinct_rows(named)
    said = distinct_rows([store.rows_with_key(key) for key in CATEGORY_KEYS])
    named_or_said = np.intersect1d(wanted, said, assume_unique=True)
    # A name alone is enough for nodes and areas; lines without a kind are pieces of something.
    bare = np.setdiff1d(wanted, said, assume_unique=True)
    keep_bare = (bare < store.way_start) | store.is_area(bare) | (bare >= store.relation_start)
    rows = distinct_rows([named_or_said, bare[keep_bare]])
    for key, value in _UNWANTED:
        rows = np.setdiff1d(rows, store.rows_with_tag(key, value), assume_unique=True)
    rows = rows[~taken[rows]]
    # Interpolation lines and border lines.
    border = store.rows_with_key("boundary")
    border = border[(border >= store.way_start) & ~store.is_area(border)]
    rows = np.setdiff1d(rows, border, assume_unique=True)
    return rows.astype(np.int64)


def find_addresses_of(
    memo: Memo, rows: Ints, addresses: Addresses
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return per row the address entry it has (−1 none), and whether it is its building's.

    Its own entry first, else that of the building with a number it stands in.
    """
    store = memo.store
    entry = np.searchsorted(addresses.rows, rows)
    entry[entry == len(addresses)] = 0
    own = addresses.rows[entry] == rows if len(addresses) else np.zeros(len(rows), np.bool_)
    found = np.where(own, entry, -1)
    of_building = np.zeros(len(rows), np.bool_)
    has_street = TagColumn(store, rows, "addr:street").codes >= 0
    open_ = np.flatnonzero((found < 0) & ~has_street)
    building = _find_buildings(memo, rows[open_], addresses.rows[store.is_area(addresses.rows)])
    inside = open_[building >= 0]
    found[inside] = np.searchsorted(addresses.rows, building[building >= 0])
    of_building[inside] = True
    return found, of_building


def _find_buildings(memo: Memo, rows: Ints, buildings: Ints) -> Ints:
    """Return the last of the sorted building rows that each row stands in, −1 for none."""
    store = memo.store
    points = memo.by_row("poi_position", rows, lambda rows: find_positions(store, rows))
    lon, lat = points.T

    def compute(open_: Ints) -> Ints:
        inside = np.full(len(open_), -1, np.int64)
        cells = Cells(boxes_of_points(lon[open_], lat[open_]))
        near = buildings[cells.meet(store.boxes(buildings) / E7)]
        tree = shapely.STRtree(shapely.points(lon[open_], lat[open_]))
        for start in range(0, len(near), 20_000):
            part = near[start : start + 20_000]
            outline, point = tree.query(store.geometries(part), predicate="intersects")
            np.maximum.at(inside, point, part[outline])
        return inside

    known = np.flatnonzero(~np.isnan(lon))
    found = np.full(len(rows), -1, np.int64)
    lon, lat = lon[known], lat[known]
    dirty = memo.cells_of_changes("building", buildings)
    found[known] = memo.by_point("building", lon, lat, compute, dirty)
    return found
