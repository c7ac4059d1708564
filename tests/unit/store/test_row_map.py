"""Where rows went, and sequences out of old and new items, against plain loops."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mapyard.store.columns import offsets_of, open_column
from mapyard.store.frames import Frames, write_frames
from mapyard.store.merge import Splice, places_of
from mapyard.store.row_map import GONE, RowMap


def draw(seed: int) -> tuple[list[int], np.random.Generator]:
    """Return a random map as a list: new numbers that ascend, −1 for what is gone."""
    random = np.random.default_rng(seed)
    numbers, new = [], 0
    for _ in range(int(random.integers(0, 60))):
        new += int(random.integers(0, 5)) * (random.random() < 0.1)
        numbers.append(-1 if random.random() < 0.1 else new)
        new += numbers[-1] >= 0
    return numbers, random


@pytest.mark.parametrize("seed", range(20))
def test_a_map_is_what_its_list_says(seed: int) -> None:
    numbers, random = draw(seed)
    row_map = RowMap.of(np.array(numbers, np.int64))
    assert len(row_map) == len(numbers)
    asked = random.integers(-2, len(numbers) + 3, 200)
    expected = [numbers[i] if 0 <= i < len(numbers) else -1 for i in asked.tolist()]
    assert row_map[asked].tolist() == expected
    mapped, gone = row_map.take(asked.astype(np.uint32))
    assert [-1 if row == GONE else row for row in mapped.tolist()] == expected
    assert gone == expected.count(-1)
    assert row_map.gone.tolist() == [i for i, new in enumerate(numbers) if new < 0]
    wanted = np.arange(-1, max([*numbers, 0]) + 3)
    places = {new: i for i, new in enumerate(numbers) if new >= 0}
    assert row_map.invert(wanted).tolist() == [places.get(new, -1) for new in wanted.tolist()]
    more = np.flatnonzero(random.random(len(numbers)) < 0.3)
    fewer = [-1 if i in more else new for i, new in enumerate(numbers)]
    assert row_map.without(more)[np.arange(len(numbers))].tolist() == fewer
    count = len(numbers) // 2
    assert row_map.head(count)[np.arange(len(numbers))].tolist() == (
        numbers[:count] + [-1] * (len(numbers) - count)
    )


def test_single_rows() -> None:
    row_map = RowMap.of(np.array([0, -1, 3]))
    assert [row_map[row] for row in range(4)] == [0, -1, 3, -1]


@pytest.mark.parametrize("seed", range(20))
def test_splices_are_what_a_loop_gives(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(0, 40))
    gone = np.flatnonzero(random.random(count) < 0.2)
    at = np.sort(random.integers(0, count + 1, int(random.integers(0, 10))))
    splice = Splice(count, gone, at)
    expected: list[tuple[str, int]] = []
    for place in range(count + 1):
        expected += [("new", i) for i in np.flatnonzero(at == place).tolist()]
        if place < count and place not in gone:
            expected.append(("old", place))
    assert splice.count == len(expected)
    assert splice.new_place.tolist() == [i for i, (kind, _) in enumerate(expected) if kind == "new"]
    kept = [i for i in range(count) if i not in gone]
    row_map = RowMap.join([splice.kept_starts, gone], [splice.kept_places, gone * 0 - 1], count)
    assert row_map[np.arange(count)].tolist() == [
        expected.index(("old", i)) if i in kept else -1 for i in range(count)
    ]

    old, new = random.integers(0, 1000, count), random.integers(0, 1000, len(at))
    values = [int((old if kind == "old" else new)[i]) for kind, i in expected]
    assert splice.values(old, new).tolist() == values
    splice.write(tmp_path, "plain", old, new, lambda part: part + 1000)
    assert open_column(tmp_path, "plain").tolist() == [
        value + 1000 * (kind == "old") for value, (kind, _) in zip(values, expected, strict=True)
    ]
    write_frames(tmp_path, "old", old)
    splice.write_frames(tmp_path, "framed", Frames(tmp_path, "old"), new)
    assert Frames(tmp_path, "framed")[:].tolist() == values

    lengths, own = random.integers(0, 4, count), random.integers(0, 4, len(at))
    offsets, own_offsets = offsets_of(lengths), offsets_of(own)
    runs, own_runs = np.arange(offsets[-1]), np.arange(own_offsets[-1]) + 500
    parts = [
        (runs[offsets[i] : offsets[i + 1]] if kind == "old" else
         own_runs[own_offsets[i] : own_offsets[i + 1]]).tolist()
        for kind, i in expected
    ]  # fmt: skip
    merged, ends = splice.ragged(runs, offsets, own_runs, own_offsets)
    splice.write_ragged(tmp_path, ("r", "r_offsets"), runs, offsets, own_runs, own_offsets)
    for found, edges in (
        (merged, ends),
        (open_column(tmp_path, "r"), open_column(tmp_path, "r_offsets")),
    ):
        assert [found[a:b].tolist() for a, b in pairwise(edges.tolist())] == parts


@pytest.mark.parametrize("seed", range(5))
def test_places_of_numbers(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = np.sort(random.choice(500, 200, replace=False)).astype(np.uint32)
    wanted = np.sort(random.choice(600, 80, replace=False))
    found = places_of(values, wanted)
    assert values[found].tolist() == sorted(set(values.tolist()) & set(wanted.tolist()))
    write_frames(tmp_path, "v", values)
    frames = Frames(tmp_path, "v")
    for start, stop in ((0, 200), (3, 150), (70, 70)):
        expected = np.searchsorted(values[start:stop], wanted) + start
        assert frames.seek(wanted, start, stop).tolist() == expected.tolist()
    with pytest.raises(IndexError):
        frames.seek(wanted, 0, 201)
