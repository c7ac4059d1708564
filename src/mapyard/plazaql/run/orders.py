"""Order and groups: keys of all rows at once, and one number of many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapyard.plazaql.run.expressions import Texts, Truths, Vector
from mapyard.plazaql.run.values import Elements, Groups, Ints
from mapyard.store.reader import Store


def find_keys(vector: Vector) -> NDArray[np.float64]:
    """Return numbers in the order of a vector's values, NaN where one is unknown."""
    if isinstance(vector, Texts):
        texts = np.empty(len(vector.texts), np.object_)
        texts[:] = vector.texts
        place = np.empty(len(texts))
        place[np.argsort(texts, kind="stable")] = np.arange(len(texts))
        return np.append(place, np.nan)[vector.codes]
    if isinstance(vector, Truths):
        return np.where(vector.known, vector.values, np.nan)
    return vector.values


def make_groups(elements: Elements, rows: Ints, vector: Vector) -> Groups:
    """Return rows grouped by the values of a vector; those of unknown ones in none."""
    if isinstance(vector, Texts):
        return Groups(elements, rows, vector.codes, list(vector.texts))
    if isinstance(vector, Truths):
        numbers = np.where(vector.known, vector.values.astype(np.int64), -1)
        return Groups(elements, rows, numbers, [False, True])
    known = ~np.isnan(vector.values)
    keys, codes = np.unique(vector.values[known], return_inverse=True)
    numbers = np.full(len(rows), -1, np.int64)
    numbers[known] = codes
    return Groups(elements, rows, numbers, keys.tolist())


def write_key(key: Any) -> str:
    """Return the key of a group as a text."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return f"{key:g}" if isinstance(key, float) else str(key)


def aggregate(name: str, values: Any) -> float | None:
    """Return one number of many; None where there is none, but a sum of nothing is 0."""
    values = values[~np.isnan(values)]
    if name == "sum":
        return float(values.sum())
    if not len(values):
        return None
    if name == "avg":
        return float(values.mean())
    return float(values.min() if name == "min" else values.max())


def find_quadtiles(store: Store, rows: Ints) -> Ints:
    """Return the place of each row along a curve through all squares of the map."""
    boxes = store.boxes(rows).astype(np.int64)
    x = ((boxes[:, 0] + boxes[:, 2]) // 2 + 1_800_000_000) >> 6
    y = ((boxes[:, 1] + boxes[:, 3]) // 2 + 900_000_000) >> 6
    found = np.zeros(len(rows), np.int64)
    for bit in range(26):
        found |= ((x >> bit) & 1) << (2 * bit) | ((y >> bit) & 1) << (2 * bit + 1)
    return found
