"""The nearest street of a name: as comparing an address with every street of the name finds it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mapyard.geocoding.build.addresses import (
    MAX_STREET_M,
    METERS,
    OTHER_TOWN_M,
    Parents,
    find_of_name,
)
from mapyard.geocoding.build.columns import TagColumn
from mapyard.text.analysis import name_key

NAMES = ["High Street", "Low Road", "The Green", "Nowhere Lane"]


class _Column(TagColumn):
    """A column of names as a store would give it."""

    def __init__(self, texts: list[str], codes: np.ndarray) -> None:
        self.texts, self.codes = texts, codes


def _expected(
    lon: float, lat: float, name: str, town: int, parents: Parents, names: list[str]
) -> int:
    best, best_m = -1, math.inf
    scale = math.cos(math.radians(lat))
    for document, other in enumerate(names):
        if other != name:
            continue
        west, south, east, north = parents.boxes[document]
        dx = max(0.0, west - lon, lon - east) * scale
        dy = max(0.0, south - lat, lat - north)
        middle = math.hypot(
            (parents.lon[document] - lon) * scale, float(parents.lat[document]) - lat
        )
        distance_m = (math.hypot(dx, dy) + middle * 0.01) * METERS
        if not distance_m <= MAX_STREET_M:
            continue
        cost_m = distance_m + (0 if parents.municipality[document] == town else OTHER_TOWN_M)
        if cost_m < best_m - 1e-9:
            best, best_m = document, cost_m
    return best


@pytest.mark.parametrize(
    ("middle", "spread"),
    [((9.5, 47.1), 0.15), ((-0.02, 0.01), 0.3), ((179.9, -16.8), 0.2), ((20.0, 88.9), 4.0)],
)
def test_finds_what_comparing_with_every_street_finds(
    middle: tuple[float, float], spread: float
) -> None:
    draw = np.random.default_rng(7)
    count = 300
    lon, lat = (middle[i] + draw.uniform(-spread, spread, count) * (1 - 0.8 * i) for i in (0, 1))
    # Some streets have some length, some places are as large as a country, some lie nowhere.
    size = draw.choice([0.0, 0.004, 0.05, 9.0], count, p=[0.3, 0.5, 0.15, 0.05])
    boxes = np.column_stack([lon - size, lat - size / 2, lon + size, lat + size / 2])
    boxes[:5] = lon[:5] = np.nan
    codes = draw.integers(0, 3, count)
    order = np.argsort(codes, kind="stable")
    parents = Parents(
        lon, lat, boxes, draw.integers(0, 3, count),
        {name_key(name): number for number, name in enumerate(NAMES[:3])},
        np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=3))]), order,
    )  # fmt: skip
    asked = 400
    at_lon, at_lat = (
        middle[i] + draw.uniform(-spread, spread, asked) * (1 - 0.8 * i) for i in (0, 1)
    )
    at_lon[0] = at_lat[0] = np.nan
    column = _Column(NAMES, draw.integers(-1, 4, asked))
    town = draw.integers(0, 3, asked)
    open_ = draw.random(asked) < 0.9

    found = find_of_name(at_lon, at_lat, column, open_, town, parents)

    names = [NAMES[code] for code in codes]
    expected = [
        _expected(at_lon[i], at_lat[i], NAMES[column.codes[i]], int(town[i]), parents, names)
        if open_[i] and column.codes[i] >= 0
        else -1
        for i in range(asked)
    ]
    assert found.tolist() == expected
    assert len(set(expected)) > 10
