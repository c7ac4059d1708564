"""Keys come out sorted, whatever the memory; files of a sort do not stay."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mapyard.store.sorting import Sorter


@pytest.mark.parametrize("memory_bytes", [1, 200_000, 1_000_000, 1 << 30])
@pytest.mark.parametrize("most", [3, 2**20, 2**64])
def test_keys_come_sorted_and_equal_ones_together(
    tmp_path: Path, memory_bytes: int, most: int
) -> None:
    rng = np.random.default_rng(most % 7)
    parts = [
        rng.integers(0, most - 1, count, np.uint64, endpoint=True)
        for count in (0, 10, 50_000, 1, 70_000)
    ]
    with Sorter(tmp_path, memory_bytes) as sorter:
        for part in parts:
            sorter.add(part)
        blocks = list(sorter.blocks())
    assert np.array_equal(np.concatenate(blocks), np.sort(np.concatenate(parts)))
    for before, after in pairwise(blocks):
        assert before[-1] < after[0]
    assert not list(tmp_path.iterdir())


def test_nothing_sorts_to_nothing_and_unread_runs_do_not_stay(tmp_path: Path) -> None:
    with Sorter(tmp_path, 1) as sorter:
        assert not list(sorter.blocks())
    with Sorter(tmp_path, 1) as sorter:
        sorter.add(np.arange(100_000, dtype=np.uint64))
        assert list(tmp_path.rglob("*.npy"))
    assert not list(tmp_path.iterdir())
