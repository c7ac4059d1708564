"""Interpolation ways: the house numbers between two numbered nodes of a line."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mapyard.geocoding.build.addresses import Addresses
from mapyard.geocoding.build.columns import Ints, TagColumn
from mapyard.geocoding.words.housenumbers import leading_number, parse_numbers
from mapyard.store.reader import Store

#: A longer run of numbers between two nodes is a mistake in the data.
MAX_STEPS: Final = 1_000
_STEPS: Final = {"all": 1, "odd": 2, "even": 2, "alphabetic": 0}


class Interpolations(NamedTuple):
    """Stretches of interpolation ways between two consecutive numbered nodes.

    `first` and `last` are places in the way's list of nodes; `low_number` belongs to `first` and
    may be the larger one.
    """

    way: Ints
    first: Ints
    last: Ints
    first_number: Ints
    last_number: Ints
    step: Ints
    #: Address entry of the node at `first`, whose street the stretch belongs to.
    address: Ints

    def __len__(self) -> int:
        return len(self.way)


def find_interpolations(store: Store, addresses: Addresses) -> Interpolations:
    """Return all stretches; nodes between two numbered ones only bend the line.

    Works with intermediate numbered nodes, with the range on the way itself (its two numbers are
    then those of its ends) and with all, odd, even or a number as the step.
    """
    rows = store.rows_with_key("addr:interpolation").astype(np.int64)
    rows = rows[(rows >= store.way_start) & (rows < store.relation_start)]
    nothing = np.empty(0, np.int64)
    if not len(rows):
        return Interpolations(*([nothing] * 7))
    nodes = store.way_nodes(rows)
    refs = np.asarray(nodes.values, np.int64)
    owners = nodes.owners()
    place = np.arange(len(refs)) - nodes.offsets[owners]
    entry = np.searchsorted(addresses.rows, refs)
    entry[entry == len(addresses)] = 0
    known = (addresses.rows[entry] == refs) if len(addresses) else np.zeros(len(refs), np.bool_)
    numbers = [leading_number(next(iter(parse_numbers(t)), "")) for t in addresses.numbers.texts]
    number_of = np.array([*numbers, -1], np.int64)
    value = np.where(known, number_of[addresses.numbers.codes[entry]], -1) if known.any() else None
    if value is None:
        return Interpolations(*([nothing] * 7))
    at = np.flatnonzero(value >= 0)
    one, other = at[:-1], at[1:]
    same = owners[one] == owners[other]
    one, other = one[same], other[same]
    kinds = TagColumn(store, rows, "addr:interpolation")
    steps = np.array([_read_step(text) for text in kinds.texts] + [0], np.int64)
    step = steps[kinds.codes[owners[one]]]
    gap = np.abs(value[other] - value[one])
    good = (step > 0) & (gap > step) & (gap <= MAX_STEPS * np.maximum(step, 1))
    one, other, step = one[good], other[good], step[good]
    return Interpolations(
        way=rows[owners[one]], first=place[one], last=place[other],
        first_number=value[one], last_number=value[other], step=step, address=entry[one],
    )  # fmt: skip


def _read_step(text: str) -> int:
    return int(text) if text.isdigit() and 0 < int(text) <= 100 else _STEPS.get(text, 0)


def position_on_line(
    lonlat: np.ndarray[tuple[int, int], np.dtype[np.float64]], fraction: float
) -> tuple[float, float]:
    """Return the point at a fraction of the length of a line of (n, 2) degrees."""
    if len(lonlat) < 2:
        return float(lonlat[0, 0]), float(lonlat[0, 1])
    scale = np.cos(np.radians(lonlat[:, 1].mean()))
    lengths = np.hypot(np.diff(lonlat[:, 0]) * scale, np.diff(lonlat[:, 1]))
    along = np.r_[0.0, np.cumsum(lengths)]
    target = fraction * along[-1]
    return (
        float(np.interp(target, along, lonlat[:, 0])),
        float(np.interp(target, along, lonlat[:, 1])),
    )


def project_on_line(
    lonlat: np.ndarray[tuple[int, int], np.dtype[np.float64]], lon: float, lat: float
) -> tuple[float, float, float, float]:
    """Return the point of a line of (n, 2) degrees nearest to a position.

    As fraction of the length, longitude, latitude, distance in degrees of latitude.
    """
    scale = np.cos(np.radians(lat))
    xy = np.column_stack([(lonlat[:, 0] - lon) * scale, lonlat[:, 1] - lat])
    step = np.diff(xy, axis=0)
    squares = (step**2).sum(axis=1)
    share = np.clip(-(xy[:-1] * step).sum(axis=1) / np.where(squares > 0, squares, 1.0), 0, 1)
    nearest = xy[:-1] + share[:, None] * step
    distances = np.hypot(nearest[:, 0], nearest[:, 1])
    best = int(distances.argmin())
    lengths = np.sqrt(squares)
    total = float(lengths.sum())
    along = float(lengths[:best].sum() + share[best] * lengths[best])
    return (
        along / total if total else 0.0,
        float(nearest[best, 0] / scale + lon),
        float(nearest[best, 1] + lat),
        float(distances[best]),
    )
