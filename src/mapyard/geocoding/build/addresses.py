"""Addresses: every element with a house number, and the street or place each belongs to."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.cells import Cells, Near, boxes_of_points, in_blocks
from mapyard.geocoding.build.columns import (
    Floats,
    Ints,
    TagColumn,
    iter_portions,
    join_keys,
    round_positions,
    sort_stably,
)
from mapyard.geocoding.build.memo import ADDRESS, Memo, name_points
from mapyard.geocoding.words.regions import read_areas
from mapyard.store.columns import ranges
from mapyard.store.distinct import distinct_rows
from mapyard.store.reader import E7, Store
from mapyard.text.analysis import name_key

#: A street of the right name farther away is not the one that is meant.
MAX_STREET_M: Final = 3_000.0
#: Distance that a street of another municipality is thought farther away than it is.
OTHER_TOWN_M: Final = 500.0
#: A number without street or place belongs to a street within this distance.
MAX_NEAREST_M: Final = 150.0
METERS: Final = 111_195.0
_PART: Final = 50_000
_PAIRS: Final = 200_000
#: Edge of the squares by which streets of a name are looked for.
_SQUARE_DEG: Final = 0.1
#: A place that meets more squares is looked at wherever its name is.
_MOST_SQUARES: Final = 1_024
_NOWHERE: Final = -(1 << 13)
_NO_CHOICE: Final = 1 << 62

# How an address came to its parent.
BY_STREET, BY_PLACE, BY_NEARNESS, ALONE = 0, 1, 2, 3


class Addresses(NamedTuple):
    """One entry per element with a house number or house name."""

    rows: Ints
    lon: Floats
    lat: Floats
    numbers: TagColumn
    street: TagColumn
    place: TagColumn
    postcode: TagColumn
    city: TagColumn
    #: State, district, suburb and the like, in one text.
    areas: TagColumn

    def __len__(self) -> int:
        return len(self.rows)

    def names(self) -> Ints:
        """Return what their positions are known by in the memo."""
        return name_points(self.rows, ADDRESS)


class Parents(NamedTuple):
    """What addresses may belong to: streets, squares, places. Indexed by document number."""

    lon: Floats
    lat: Floats
    #: Boxes in degrees, (n, 4).
    boxes: Floats
    municipality: Ints
    #: Number of each key of a name; its documents are those from one of the offsets to the next.
    keys: dict[str, int]
    offsets: Ints
    documents: Ints


class StreetPieces(NamedTuple):
    """The sorted rows of all pieces of streets, and the document of each."""

    rows: Ints
    documents: Ints


class Assignment(NamedTuple):
    """Parent document of each address (−1 none yet) and how it was found."""

    parent: Ints
    how: NDArray[np.int8]


def find_addresses(memo: Memo) -> Addresses:
    """Return all addresses of the store, sorted by row."""
    store = memo.store
    keys = ("addr:housenumber", "addr:conscriptionnumber")
    rows = distinct_rows([store.rows_with_key(key) for key in keys]).astype(np.int64)
    # An interpolation line with a range as its own number is no house.
    rows = rows[~store.has_key(rows, "addr:interpolation")]
    points = memo.by_row("address_position", rows, lambda rows: find_positions(store, rows))
    known = ~np.isnan(points[:, 0])
    rows, lon, lat = rows[known], points[known, 0], points[known, 1]

    def column(*keys: str) -> TagColumn:
        first, *others = (TagColumn(store, rows, key) for key in keys)
        for other in others:
            first = first.fill(other)
        return first

    return Addresses(
        rows, lon, lat,
        numbers=column("addr:housenumber", "addr:conscriptionnumber"),
        street=column("addr:street", "addr:street:name"),
        place=column("addr:place", "addr:block_number", "addr:neighbourhood"),
        postcode=column("addr:postcode", "postal_code"),
        city=column("addr:city", "addr:town", "addr:village", "addr:municipality", "addr:hamlet"),
        areas=read_areas(store, rows),
    )  # fmt: skip


def find_positions(store: Store, rows: Ints) -> Floats:
    """Return the point of each row in degrees: a node's own, else one inside near the centroid.

    An (n, 2) array, NaN where a row has no geometry.
    """
    found = np.full((len(rows), 2), np.nan)
    for part in iter_portions(store, rows):
        shapes = store.geometries(rows[part])
        points = shapely.centroid(shapes)
        outside = (shapely.get_dimensions(shapes) == 2) & ~shapely.intersects(shapes, points)
        points[outside] = shapely.point_on_surface(shapes[outside])
        found[part, 0], found[part, 1] = shapely.get_x(points), shapely.get_y(points)
    return np.column_stack(round_positions(found[:, 0], found[:, 1]))


def assign_parents(
    memo: Memo, addresses: Addresses, municipality: Ints, parents: Parents, streets: StreetPieces
) -> Assignment:
    """Return the parent of each address.

    By the name in addr:street, then addr:place; the nearest of that name, one of the same
    municipality before others. Without both: the nearest street.
    """
    count = len(addresses)
    parent = np.full(count, -1, np.int64)
    how = np.full(count, ALONE, np.int8)
    for column, code in ((addresses.street, BY_STREET), (addresses.place, BY_PLACE)):
        open_ = (parent < 0) & (column.codes >= 0)
        by_name = find_of_name(addresses.lon, addresses.lat, column, open_, municipality, parents)
        found = by_name >= 0
        parent[found], how[found] = by_name[found], code
    nameless = (addresses.street.codes < 0) & (addresses.place.codes < 0)
    lone = np.flatnonzero(nameless)
    nearest = _nearest_streets(memo, addresses, lone, streets.rows)
    lone, nearest = lone[nearest >= 0], nearest[nearest >= 0]
    parent[lone] = streets.documents[np.searchsorted(streets.rows, nearest)]
    how[lone] = BY_NEARNESS
    return Assignment(parent, how)


def _nearest_streets(memo: Memo, addresses: Addresses, lone: Ints, rows: Ints) -> Ints:
    """Return the street piece nearest to some addresses, of equally near ones the first."""
    lon, lat = addresses.lon[lone], addresses.lat[lone]
    reach_deg = widen_reach(MAX_NEAREST_M, lat)
    outlines = Outlines(memo.store, rows, reach_deg)

    def compute(open_: Ints) -> Ints:
        near, shapes = outlines.find(lon[open_], lat[open_])
        place = find_nearest_in_reach(shapes, lon[open_], lat[open_], MAX_NEAREST_M)
        return np.where(place >= 0, np.append(near, -1)[place], -1)

    dirty = memo.cells_around(memo.compare("street", rows), reach_deg)
    names = addresses.names()[lone]
    return memo.by_point("nearest_street", lon, lat, in_blocks(lon, lat, compute), dirty, names)


def widen_reach(reach_m: float, lat: Floats) -> float:
    """Return the degrees that are no less than a distance, east and west of points as well."""
    farthest = float(np.abs(lat).max(initial=0.0))
    return reach_m / METERS / max(0.01, float(np.cos(np.radians(farthest))))


class Outlines:
    """Lines by place. Areas count by their outline, as squares and plazas are streets too."""

    def __init__(self, store: Store, rows: Ints, reach_deg: float) -> None:
        self._store, self._rows, self._reach_deg = store, rows, reach_deg
        self._near = Near(store, rows, reach_deg)

    def find(self, lon: Floats, lat: Floats) -> tuple[Ints, NDArray[np.object_]]:
        """Return the rows that may be in reach of points, and their lines."""
        cells = Cells(boxes_of_points(lon, lat), self._reach_deg)
        near = self._rows[self._near.find(lon, lat)]
        near = near[cells.meet(self._store.boxes(near) / E7)]
        shapes = self._store.geometries(near)
        is_area = shapely.get_dimensions(shapes) == 2
        shapes[is_area] = shapely.boundary(shapes[is_area])
        return near, shapes


def find_nearest_in_reach(
    shapes: NDArray[np.object_], lon: Floats, lat: Floats, reach_m: float
) -> Ints:
    """Return the place of the nearest shape of each point in degrees, −1 for none in reach.

    Distances are those on Mercator's map, where a meter is as long to the east as to the north. Of
    equally near shapes the first counts.
    """
    found = np.full(len(lon), len(shapes), np.int64)
    scale = np.cos(np.radians(lat)) * METERS
    points = shapely.points(lon, _to_mercator(lat))
    tree = shapely.STRtree(shapely.transform(shapes, _project))
    for start in range(0, len(points) if len(shapes) else 0, _PART):
        part = slice(start, start + _PART)
        farthest_deg = reach_m / max(1e-3, float(scale[part].min()))
        (index, nearest), distance = tree.query_nearest(
            points[part], max_distance=farthest_deg, all_matches=True, return_distance=True
        )
        near = distance * scale[part][index] <= reach_m
        np.minimum.at(found, index[near] + start, nearest[near])
    found[found == len(shapes)] = -1
    return found


def _project(points: Floats) -> Floats:
    return np.column_stack([points[:, 0], _to_mercator(points[:, 1])])


def _to_mercator(lat: Floats) -> Floats:
    """Return latitudes on Mercator's map, in degrees of longitude."""
    return np.asarray(np.degrees(np.arcsinh(np.tan(np.radians(np.clip(lat, -89.9, 89.9))))))


def find_nearest(shapes: NDArray[np.object_], points: NDArray[np.object_], reach: float) -> Ints:
    """Return the place of the nearest shape within a reach of each point, −1 for none.

    Of equally near ones the first, so that it does not matter what else there is.
    """
    found = np.full(len(points), len(shapes), np.int64)
    tree = shapely.STRtree(shapes)
    for start in range(0, len(points) if len(shapes) else 0, _PART):
        index, nearest = tree.query_nearest(
            points[start : start + _PART], max_distance=reach, all_matches=True
        )
        np.minimum.at(found, index + start, nearest)
    found[found == len(shapes)] = -1
    return found


def find_of_name(
    lon: Floats,
    lat: Floats,
    column: TagColumn,
    open_: NDArray[np.bool_],
    municipality: Ints,
    parents: Parents,
) -> Ints:
    """Return the nearest parent of the name in a column for the open points, else −1."""
    found = np.full(len(lon), -1, np.int64)
    keys = np.array([parents.keys.get(name_key(text), -1) for text in column.texts] + [-1])
    chosen = np.flatnonzero(open_)
    chosen = chosen[keys[column.codes[chosen]] >= 0]
    near = _Near(parents)
    wanted = keys[column.codes[chosen]]
    runs = near.runs_of(wanted, lon[chosen], lat[chosen])
    pairs = np.cumsum(sum(counts for _, counts in runs))
    cuts = np.flatnonzero(np.diff(pairs // _PAIRS)) + 1
    scale = np.cos(np.radians(lat[chosen]))
    sides = np.ascontiguousarray(parents.boxes.T)
    for part in np.split(np.arange(len(chosen)), cuts):
        # All pairs of an address and what has its name and may be in reach.
        choice = np.concatenate(
            [near.documents[ranges(starts[part], counts[part])] for starts, counts in runs]
        )
        address = np.concatenate([np.repeat(part, counts[part]) for _, counts in runs])
        if len(runs) > 1:
            order = sort_stably(address)
            address, choice = address[order], choice[order]
        at = chosen[address]
        cost = _distances_m(lon[at], lat[at], scale[address], sides, parents, choice)
        is_far = cost > MAX_STREET_M
        cost[parents.municipality[choice] != municipality[at]] += OTHER_TOWN_M
        cost[is_far] = np.inf
        # Of the choices of each address the best, of equal ones the first.
        starts = np.flatnonzero(np.diff(address, prepend=-1))
        best = np.minimum.reduceat(cost, starts) if len(starts) else cost
        counts = np.diff(starts, append=len(address))
        choice[cost != np.repeat(best, counts)] = _NO_CHOICE
        first = np.minimum.reduceat(choice, starts) if len(starts) else choice
        is_near = np.isfinite(best)
        found[at[starts][is_near]] = first[is_near]
    return found


class _Near:
    """Parents by name and square, as a country has thousands of streets of one name."""

    def __init__(self, parents: Parents) -> None:
        key = np.repeat(np.arange(len(parents.keys)), np.diff(parents.offsets))
        west, south, east, north = parents.boxes[parents.documents].T
        reach_deg = MAX_STREET_M / METERS
        # As far as the distance is measured, at the latitude of any point in reach.
        farthest = np.minimum(90, np.maximum(np.abs(south), np.abs(north)) + reach_deg)
        east_deg = np.minimum(360, reach_deg / np.maximum(1e-9, np.cos(np.radians(farthest))))
        low_x, high_x = _square(west - east_deg), _square(east + east_deg)
        low_y, high_y = _square(south - reach_deg), _square(north + reach_deg)
        width, height = high_x - low_x + 1, high_y - low_y + 1
        is_large = width * height > _MOST_SQUARES
        width[is_large | ~np.isfinite(west)] = 0
        item = np.repeat(np.arange(len(key)), width)
        x = ranges(low_x, width)
        rows = np.repeat(np.arange(len(item)), height[item])
        numbers = _name_in_square(key[item[rows]], x[rows], ranges(low_y[item], height[item]))
        # What is large comes in no square, but with every one of its name.
        everywhere = np.flatnonzero(is_large)
        numbers = np.concatenate([numbers, _name_in_square(key[everywhere], _NOWHERE, _NOWHERE)])
        order = sort_stably(numbers)
        numbers = numbers[order]
        self._starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        #: Each name in a square once, and how many parents that is.
        self._numbers = numbers[self._starts]
        self._counts = np.diff(self._starts, append=len(numbers))
        self._has_large = bool(len(everywhere))
        self.documents = parents.documents[np.concatenate([item[rows], everywhere])[order]]

    def runs_of(self, keys: Ints, lon: Floats, lat: Floats) -> list[tuple[Ints, Ints]]:
        """Return where in `documents` those of names near points begin, and how many: some runs."""
        runs = [self._find(_name_in_square(keys, _square(lon), _square(lat)))]
        if self._has_large:
            runs.append(self._find(_name_in_square(keys, _NOWHERE, _NOWHERE)))
        return runs

    def _find(self, wanted: Ints) -> tuple[Ints, Ints]:
        place = np.searchsorted(self._numbers, wanted)
        place[place == len(self._numbers)] = 0
        if not len(self._numbers):
            return place, place
        is_there = self._numbers[place] == wanted
        return self._starts[place], np.where(is_there, self._counts[place], 0)


def _square(degrees: Floats) -> Ints:
    """Return the columns of lons or the rows of lats; of none, any."""
    return np.floor(np.nan_to_num(degrees) / _SQUARE_DEG).astype(np.int64)


def _name_in_square(keys: Ints, x: Ints | int, y: Ints | int) -> Ints:
    """Return one number for each name in a square; columns and rows lie within ±2 ** 13."""
    return np.asarray((keys << 28) + ((x + (1 << 13)) << 14) + (y + (1 << 13)))


def _distances_m(
    lon: Floats, lat: Floats, scale: Floats, sides: Floats, parents: Parents, choice: Ints
) -> Floats:
    """Return the distance of each point to the box of its choice; the middle breaks ties.

    `scale` is the cosine of the latitude, `sides` are those of the boxes: four columns.
    """
    west, south, east, north = (side[choice] for side in sides)
    dx = np.maximum(0, np.maximum(west - lon, lon - east)) * scale
    dy = np.maximum(0, np.maximum(south - lat, lat - north))
    middle = np.hypot((parents.lon[choice] - lon) * scale, parents.lat[choice] - lat)
    return np.asarray((np.hypot(dx, dy) + middle * 0.01) * METERS)


def group_orphans(
    addresses: Addresses, assignment: Assignment, municipality: Ints
) -> tuple[Ints, list[str]]:
    """Return groups of addresses whose street or place is not mapped, and their names.

    The first array gives the group of each address, −1 where it has a parent or no name.
    """
    name = addresses.street.fill(addresses.place)
    orphans = np.flatnonzero((assignment.parent < 0) & (name.codes >= 0))
    group = np.full(len(addresses), -1, np.int64)
    if not len(orphans):
        return group, []
    keys: dict[str, int] = {}
    codes = np.array(
        [keys.setdefault(name_key(text) or text, len(keys)) for text in name.texts], np.int64
    )
    # Without municipalities the written city tells streets of one name apart.
    town = np.where(
        municipality[orphans] >= 0, municipality[orphans], -2 - addresses.city.codes[orphans]
    )
    number = join_keys(codes[name.codes[orphans]], town)
    group[orphans] = number
    labels = [""] * (int(number.max()) + 1)
    for index, code in zip(number.tolist(), name.codes[orphans].tolist(), strict=True):
        labels[index] = name.texts[code]
    return group, labels
