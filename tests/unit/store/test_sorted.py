"""Finding many numbers in a sorted array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mapyard.store.sorted import find_sorted


@pytest.mark.parametrize("kind", [np.uint32, np.int64, np.int32])
@pytest.mark.parametrize(
    ("known_count", "wanted_count"), [(0, 3), (3, 0), (1, 9), (50, 4_000), (4_000, 50)]
)
def test_each_number_is_found_where_it_is(kind: Any, known_count: int, wanted_count: int) -> None:
    random = np.random.default_rng(known_count)
    known = np.sort(random.choice(10_000, known_count, replace=False)).astype(kind)
    places = {number: place for place, number in enumerate(known.tolist())}
    wanted = random.integers(0, 10_000, wanted_count).astype(kind)
    in_runs = np.concatenate([np.sort(part) for part in np.array_split(wanted, 5)])
    for asked in (wanted, np.sort(wanted), np.sort(wanted)[::-1], in_runs):
        assert find_sorted(known, asked).tolist() == [places.get(n, -1) for n in asked.tolist()]


def test_numbers_of_several_types_are_compared_by_value() -> None:
    known = np.array([3, 7, 2**32 - 1], np.uint32)
    assert find_sorted(known, np.array([-1, 3, 2**32 - 1, 2**33])).tolist() == [-1, 0, 2, -1]
