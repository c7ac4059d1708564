"""A tree in memory finds what a look at every box does."""

from __future__ import annotations

import numpy as np
import pytest

from mapyard.store.rtree import Rtree


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 300, 5_000])
def test_a_tree_in_memory_finds_what_meets_a_box(count: int) -> None:
    rng = np.random.default_rng(count)
    low = rng.integers(-1_000_000, 1_000_000, (count, 2))
    boxes = np.hstack([low, low + rng.integers(0, 50_000, (count, 2))]).astype(np.int32)
    rows = rng.permutation(10 * count)[:count].astype(np.uint32)
    tree = Rtree.of(rows, boxes)
    for x0, y0 in rng.integers(-1_100_000, 1_000_000, (50, 2)).tolist():
        x1, y1 = x0 + 90_000, y0 + 70_000
        meets = (boxes[:, 0] <= x1) & (boxes[:, 2] >= x0) & (boxes[:, 1] <= y1)
        expected = rows[meets & (boxes[:, 3] >= y0)]
        assert sorted(tree.search(x0, y0, x1, y1).tolist()) == sorted(expected.tolist())
