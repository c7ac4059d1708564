"""Postcodes and written cities of addresses and documents; postcodes as documents."""

from __future__ import annotations

from typing import Final

import numpy as np
import shapely

from mapyard.geocoding.assembly import METERS, Assembly
from mapyard.geocoding.columns import Ints, TagColumn

#: A postcode or city is taken over from the nearest address within this distance.
REACH_M: Final = 1_000.0
_STRIP_DEG: Final = 1_000.0


def assign_postcodes(made: Assembly) -> None:
    """Give addresses and documents a postcode, and add the postcodes as documents.

    An address has its own, else that of its building, street or nearest address.
    """
    addresses = made.addresses
    texts = addresses.postcode.texts
    codes = addresses.postcode.codes.copy()
    lon, lat = made.columns()
    areas = made.store.rows_with_tag("boundary", "postal_code").astype(np.int64)
    areas = areas[made.store.is_area(areas)]
    area_codes = TagColumn(made.store, areas, "postal_code")
    all_texts = list(dict.fromkeys(texts + area_codes.texts))
    number = {text: i for i, text in enumerate(all_texts)}
    codes = np.array([number[t] for t in texts] + [-1], np.int64)[codes]
    document_codes = np.full(made.count, -1, np.int64)
    if len(areas):
        shapes = made.store.geometries(areas)
        shapely.prepare(shapes)
        of_area = np.array([number[t] for t in area_codes.texts] + [-1])[area_codes.codes]
        for target, x, y in ((codes, addresses.lon, addresses.lat), (document_codes, lon, lat)):
            tree = shapely.STRtree(shapely.points(np.nan_to_num(x), np.nan_to_num(y)))
            area, point = tree.query(shapes, predicate="intersects")
            open_ = target[point] < 0
            target[point[open_]] = of_area[area[open_]]
    _spread(made, codes, document_codes)
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


def assign_cities(made: Assembly) -> None:
    """Give a written city to addresses and documents that lie in no town that is mapped."""
    codes = made.addresses.city.codes.copy()
    document_codes = np.full(made.count, -1, np.int64)
    _spread(made, codes, document_codes)
    own = made.addresses.city.codes
    made.address_city = np.where((own < 0) & (made.address_town < 0), codes, own)
    made.city = np.where(made.town < 0, document_codes, -1)


def _spread(made: Assembly, codes: Ints, document_codes: Ints) -> None:
    """Fill gaps (−1) from the nearest address that has a code; streets take their majority's."""
    addresses = made.addresses
    lon, lat = made.columns()
    known = np.flatnonzero(codes >= 0)
    if not len(known):
        return
    # Each municipality lies in a strip of its own, so that nothing crosses a border.
    own = made.address_municipality.astype(np.float64) * _STRIP_DEG
    chain = made.chains.find(lon, lat)
    of_document = made.municipality_of_chain[chain] * _STRIP_DEG
    points = shapely.points(addresses.lon + own, addresses.lat)
    tree = shapely.STRtree(points[known])
    for target, asked in (
        (document_codes, shapely.points(lon + of_document, lat)), (codes, points)
    ):  # fmt: skip
        open_ = np.flatnonzero(target < 0)
        index, nearest = tree.query_nearest(
            asked[open_], max_distance=REACH_M / METERS, all_matches=False
        )
        target[open_[index]] = codes[known[nearest]]
    _prefer_majority(made, codes, document_codes)


def _prefer_majority(made: Assembly, codes: Ints, document_codes: Ints) -> None:
    """Set the code of a street to that of most of its addresses."""
    parent = made.assignment.parent
    chosen = np.flatnonzero((parent >= 0) & (codes >= 0))
    if not len(chosen):
        return
    pairs, counts = np.unique(
        np.column_stack([parent[chosen], codes[chosen]]), axis=0, return_counts=True
    )
    order = np.lexsort((-counts, pairs[:, 0]))
    pairs = pairs[order]
    first = np.r_[True, pairs[1:, 0] != pairs[:-1, 0]]
    document_codes[pairs[first, 0]] = pairs[first, 1]
