"""Points of interest: everything else with a name, and unnamed things people ask for by kind."""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.addresses import (
    Addresses,
    Outlines,
    Parents,
    StreetPieces,
    find_nearest_in_reach,
    find_of_name,
    find_positions,
    widen_reach,
)
from mapyard.geocoding.build.assembly import Assembly, Pois
from mapyard.geocoding.build.cells import Cells, Near, boxes_of_points, in_blocks
from mapyard.geocoding.build.columns import Ints, TagColumn, iter_portions
from mapyard.geocoding.build.memo import ADDRESS, MIDDLE, Memo, name_points
from mapyard.geocoding.words.categories import CATEGORY_KEYS, FURTHER_KEYS, indexed_tags
from mapyard.store.distinct import distinct_rows
from mapyard.store.reader import E7, Store
from mapyard.store.sorted import find_sorted
from mapyard.text.names import parse_name_key

#: A point of interest stands on a street no farther away than this.
MAX_STREET_M: Final = 100.0
#: Things that stand on no street, be one near: mountains, rivers, districts, routes.
_NO_STREET_KEYS: Final = (
    "natural", "waterway", "landuse", "boundary", "place", "route", "geological", "mountain_pass",
)  # fmt: skip
_NO_STREET_TAGS: Final = (("highway", "motorway_junction"), ("type", "route"))
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
    rows = wanted[~taken[wanted]]
    # A name alone is enough for nodes and areas; lines without a kind are pieces of something.
    is_bare = find_sorted(said, rows) < 0
    is_bare &= (rows >= store.way_start) & (rows < store.relation_start) & ~store.is_area(rows)
    rows = rows[~is_bare]
    for key, value in _UNWANTED:
        rows = rows[~store.has_tag(rows, key, value)]
    # Interpolation lines and border lines.
    is_border = store.has_key(rows, "boundary") & (rows >= store.way_start)
    is_border[is_border] = ~store.is_area(rows[is_border])
    return rows[~is_border].astype(np.int64)


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


def find_streets_of(made: Assembly, parents: Parents, streets: StreetPieces) -> Ints:
    """Return the street that each point of interest without an address stands on, −1 for none.

    The one that it names; else that of the nearest house or the nearest street, what is nearer.
    """
    store, pois, addresses = made.store, made.pois(), made.addresses
    own = TagColumn(store, pois.rows, "addr:street")
    named = (pois.entry < 0) & (own.codes >= 0)
    of_name = find_of_name(pois.lon, pois.lat, own, named, pois.municipality, parents)
    found = np.where(of_name >= made.first_street, of_name, -1)
    open_ = (pois.entry < 0) & (own.codes < 0)
    for key in (*_NO_STREET_KEYS, "addr:place"):
        open_ &= ~store.has_key(pois.rows, key)
    for key, value in _NO_STREET_TAGS:
        open_ &= ~store.has_tag(pois.rows, key, value)
    # Railways, cables and hedges pass by; a platform may be a line.
    is_line = (pois.rows >= store.way_start) & (pois.rows < store.relation_start)
    is_line &= ~store.is_area(pois.rows)
    open_ &= ~is_line | store.has_key(pois.rows, "public_transport")
    chosen = np.flatnonzero(open_)
    parent = made.assignment.parent
    signs = np.flatnonzero((addresses.street.codes >= 0) & (parent >= made.first_street))
    nearest = _find_signs(made.memo, pois, chosen, streets.rows, addresses, signs)
    chosen, nearest = chosen[nearest >= 0], nearest[nearest >= 0]
    houses = addresses.rows[signs], parent[signs]
    for known, of_row in (houses, (streets.rows, streets.documents)):
        place = np.minimum(np.searchsorted(known, nearest), max(0, len(known) - 1))
        same = known[place] == nearest if len(known) else np.zeros(len(nearest), np.bool_)
        found[chosen[same]] = of_row[place[same]]
    return found


def _find_signs(
    memo: Memo, pois: Pois, chosen: Ints, streets: Ints, addresses: Addresses, signs: Ints
) -> Ints:
    """Return the row of the street piece or house with a street nearest to each chosen one, −1."""
    lon, lat = pois.lon[chosen], pois.lat[chosen]
    reach_deg = widen_reach(MAX_STREET_M, lat)
    outlines = Outlines(memo.store, streets, reach_deg)
    near_signs = Near(memo.store, addresses.rows[signs], reach_deg)

    def compute(open_: Ints) -> Ints:
        near, shapes = outlines.find(lon[open_], lat[open_])
        cells = Cells(boxes_of_points(lon[open_], lat[open_]), reach_deg)
        houses = signs[near_signs.find(lon[open_], lat[open_])]
        houses = houses[cells.hold(addresses.lon[houses], addresses.lat[houses])]
        points = shapely.points(addresses.lon[houses], addresses.lat[houses])
        everything = np.concatenate([shapes, points])
        place = find_nearest_in_reach(everything, lon[open_], lat[open_], MAX_STREET_M)
        return np.concatenate([near, addresses.rows[houses], [-1]])[place]

    rows = distinct_rows([streets, addresses.rows[signs]]).astype(np.int64)
    dirty = memo.cells_around(memo.compare("sign", rows), reach_deg)
    names = name_points(pois.rows[chosen], MIDDLE)
    return memo.by_point("nearest_sign", lon, lat, in_blocks(lon, lat, compute), dirty, names)


def _find_buildings(memo: Memo, rows: Ints, buildings: Ints) -> Ints:
    """Return the last of the sorted building rows that each row stands in, −1 for none."""
    store = memo.store
    points = memo.by_row("poi_position", rows, lambda rows: find_positions(store, rows))
    lon, lat = points.T
    near_buildings = Near(store, buildings)

    def compute(open_: Ints) -> Ints:
        inside = np.full(len(open_), -1, np.int64)
        cells = Cells(boxes_of_points(lon[open_], lat[open_]))
        near = buildings[near_buildings.find(lon[open_], lat[open_])]
        near = near[cells.meet(store.boxes(near) / E7)]
        tree = shapely.STRtree(shapely.points(lon[open_], lat[open_]))
        for portion in iter_portions(store, near):
            part = near[portion]
            outline, point = tree.query(store.geometries(part), predicate="intersects")
            np.maximum.at(inside, point, part[outline])
        return inside

    known = np.flatnonzero(~np.isnan(lon))
    found = np.full(len(rows), -1, np.int64)
    lon, lat = lon[known], lat[known]
    dirty = memo.cells_around(memo.compare("building", buildings))
    names = name_points(rows[known], ADDRESS)
    found[known] = memo.by_point("building", lon, lat, in_blocks(lon, lat, compute), dirty, names)
    return found
