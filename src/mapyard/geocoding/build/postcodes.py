"""Postcodes and written cities of addresses and documents; postcodes as documents."""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from mapyard.geocoding.build.addresses import find_nearest
from mapyard.geocoding.build.assembly import METERS, Assembly
from mapyard.geocoding.build.cells import Cells, Near, boxes_of_points, in_blocks
from mapyard.geocoding.build.chains import Areas, find_doubt
from mapyard.geocoding.build.columns import Floats, Ints, TagColumn, count_pairs
from mapyard.geocoding.build.memo import Nearest
from mapyard.store.reader import E7
from mapyard.store.sorted import find_sorted

#: A postcode or city is taken over from the nearest address within this distance.
REACH_M: Final = 1_000.0
_REACH_DEG: Final = REACH_M / METERS
_STRIP_E7: Final = 1e10
_PART: Final = 50_000

Mask = NDArray[np.bool_]


def assign_postcodes(made: Assembly) -> None:
    """Give addresses and documents a postcode, and add the postcodes as documents.

    An address has its own, else that of its building, street or nearest address.
    """
    addresses, store = made.addresses, made.store
    own = addresses.postcode
    areas = store.rows_with_tag("boundary", "postal_code").astype(np.int64)
    areas = areas[store.is_area(areas)]
    area_codes = TagColumn(store, areas, "postal_code")
    all_texts = sorted({*own.texts, *area_codes.texts})
    number = {text: i for i, text in enumerate(all_texts)}
    codes = np.array([number[t] for t in own.texts] + [-1], np.int64)[own.codes]
    document_codes = np.full(made.count, -1, np.int64)
    dirty = find_doubt(made.memo, "postal_area", areas)
    if len(areas):
        of_area = np.array([number[t] for t in area_codes.texts] + [-1])[area_codes.codes]
        lon, lat = made.columns()
        open_ = np.flatnonzero(codes < 0)
        names = addresses.names()[open_]
        area = _find_areas(made, areas, dirty, addresses.lon[open_], addresses.lat[open_], names)
        codes[open_] = np.append(of_area, -1)[area]
        area = _find_areas(made, areas, dirty, lon, lat, made.point_names())
        document_codes = np.append(of_area, -1)[area]
    _spread(made, "postcode", codes, document_codes, codes < 0, document_codes < 0)
    made.postcode_texts = all_texts
    made.address_postcode = codes
    counts = np.bincount(codes[codes >= 0], minlength=len(all_texts)).astype(np.float64)
    used = np.flatnonzero(counts)
    sums = [
        np.bincount(codes[codes >= 0], weights=axis[codes >= 0], minlength=len(all_texts))
        for axis in (addresses.lon, addresses.lat)
    ]
    made.add_postcodes(
        [all_texts[i] for i in used], sums[0][used] / counts[used], sums[1][used] / counts[used]
    )
    made.postcode = np.r_[document_codes, used]


def _find_areas(
    made: Assembly, areas: Ints, dirty: Cells | None, lon: Floats, lat: Floats, names: Ints
) -> Ints:
    """Return the place of the last of the sorted postal areas that hold each point, −1 none."""

    of_place = Areas(made.store, areas)

    def compute(open_: Ints) -> Ints:
        area, point = of_place.find(lon[open_], lat[open_])
        found = np.full(len(open_), -1, np.int64)
        found[point] = areas[area]
        return found

    blocks = in_blocks(lon, lat, compute)
    rows = made.memo.by_point("postal_area_at", lon, lat, blocks, dirty, names)
    return np.where(rows >= 0, np.searchsorted(areas, rows), -1)


def assign_cities(made: Assembly) -> None:
    """Give a written city to addresses and documents that lie in no town that is mapped."""
    own = made.addresses.city.codes
    codes = own.copy()
    document_codes = np.full(made.count, -1, np.int64)
    lone = made.town < 0
    # Addresses whose city shows, be it by the street that they belong to.
    parent = made.assignment.parent
    shown = (made.address_town < 0) | ((parent >= 0) & lone[parent])
    _spread(made, "city", codes, document_codes, (own < 0) & shown, lone)
    made.address_city = np.where((own < 0) & (made.address_town < 0), codes, own)
    made.city = np.where(lone, document_codes, -1)


def _spread(
    made: Assembly, name: str, codes: Ints, document_codes: Ints, open_: Mask, documents: Mask
) -> None:
    """Fill gaps from the nearest address that has a code; streets take their majority's.

    The masks are the gaps to fill, of addresses and documents.
    """
    addresses = made.addresses
    known = np.flatnonzero(codes >= 0)
    lon, lat = made.columns()
    sources = _Sources(made, name, known)
    own = made.address_municipality
    of_documents = made.point_names()
    for target, x, y, names, municipality, gaps in (
        (document_codes, lon, lat, of_documents, made.municipality(), np.flatnonzero(documents)),
        (codes, addresses.lon, addresses.lat, addresses.names(), own, np.flatnonzero(open_)),
    ):
        found = sources.find(x[gaps], y[gaps], names[gaps], municipality[gaps])
        target[gaps[found >= 0]] = codes[found[found >= 0]]
    _prefer_majority(made, codes, document_codes)


class _Sources:
    """Addresses that others take something over from: the nearest of the same municipality."""

    def __init__(self, made: Assembly, name: str, known: Ints) -> None:
        self._made = made
        self._name = name
        self._known = known
        self._rows = made.addresses.rows[known]
        self._near = Near(made.store, self._rows, _REACH_DEG)
        labels = made.place_rows(made.address_municipality[known])
        self._changes = made.memo.compare(f"{name}_known", self._rows, labels)
        self._dirty = made.memo.cells_around(self._changes, _REACH_DEG)

    def find(self, lon: Floats, lat: Floats, names: Ints, municipality: Ints) -> Ints:
        """Return the address nearest to each point, −1 where there is none in reach."""
        addresses, known = self._made.addresses, self._known

        def compute(open_: Ints) -> Ints:
            cells = Cells(boxes_of_points(lon[open_], lat[open_]), _REACH_DEG)
            near = known[self._near.find(lon[open_], lat[open_])]
            near = near[cells.hold(addresses.lon[near], addresses.lat[near])]
            points = self._in_strips(near)
            asked = _in_strips(lon[open_], lat[open_], municipality[open_])
            place = find_nearest(points, asked, _REACH_DEG * E7)
            return np.where(place >= 0, np.append(addresses.rows[near], -1)[place], -1)

        def improve(places: Ints, rows: Ints) -> Ints:
            found = rows.copy()
            entries = find_sorted(addresses.rows, self._changes.new)
            points = self._in_strips(entries)
            for start in range(0, len(places) if len(entries) else 0, _PART):
                part = places[start : start + _PART]
                asked = _in_strips(lon[part], lat[part], municipality[part])
                place = find_nearest(points, asked, _REACH_DEG * E7)
                at = np.flatnonzero(place >= 0)
                asked, other = asked[at], place[at]
                before = rows[start + at]
                own = self._in_strips(find_sorted(addresses.rows, before))
                own[before < 0] = None
                gap = np.nan_to_num(shapely.distance(own, asked), nan=np.inf)
                other_gap = shapely.distance(points[other], asked)
                row = self._changes.new[other]
                is_first = (other_gap < gap) | ((other_gap == gap) & (row < before))
                found[start + at[is_first]] = row[is_first]
            return found

        labels = self._made.place_rows(municipality)
        nearest = Nearest(self._changes.same, improve)
        rows = self._made.memo.by_point(
            f"{self._name}_source", lon, lat, in_blocks(lon, lat, compute), self._dirty,
            names, labels=labels, nearest=nearest,
        )  # fmt: skip
        return find_sorted(addresses.rows, rows)

    def _in_strips(self, entries: Ints) -> NDArray[np.object_]:
        made, strip = self._made, self._made.address_municipality[entries]
        return _in_strips(made.addresses.lon[entries], made.addresses.lat[entries], strip)


def _in_strips(lon: Floats, lat: Floats, municipality: Ints) -> NDArray[np.object_]:
    """Return points in 1e-7 degree, each municipality in a strip of its own.

    So nothing crosses a border. Whole numbers, so that equal distances are equal.
    """
    x, y = np.round(lon * E7) + municipality * _STRIP_E7, np.round(lat * E7)
    found: NDArray[np.object_] = shapely.points(x, y)
    return found


def _prefer_majority(made: Assembly, codes: Ints, document_codes: Ints) -> None:
    """Set the code of a street to that of most of its addresses."""
    parent = made.assignment.parent
    chosen = np.flatnonzero((parent >= 0) & (codes >= 0))
    documents, values, counts = count_pairs(parent[chosen], codes[chosen])
    order = np.lexsort((-counts, documents))
    documents, values = documents[order], values[order]
    first = np.diff(documents, prepend=-1) > 0
    document_codes[documents[first]] = values[first]
