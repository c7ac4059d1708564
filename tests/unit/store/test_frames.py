"""Integers in frames read back as they were written, whatever widths they need."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mapyard.store.columns import open_column
from mapyard.store.frames import FRAME, Frames, FrameWriter, write_frames
from mapyard.store.key_values import KeyValues, KeyValuesWriter

BITS = [0, 1, 8, 9, 16, 17, 32, 33, 50]


def draw(seed: int) -> np.ndarray:
    """Return runs of numbers around a common one, each run of another width."""
    rng = np.random.default_rng(seed)
    parts = [np.empty(0, np.int64)]
    for _ in range(int(rng.integers(0, 12))):
        middle, width = int(rng.integers(-(2**60), 2**60)), int(rng.choice(BITS))
        parts.append(middle + rng.integers(0, 2**width, int(rng.integers(1, 3 * FRAME))))
    return np.concatenate(parts)


@pytest.mark.parametrize("seed", range(40))
def test_numbers_read_back_by_index_slice_and_array(tmp_path: Path, seed: int) -> None:
    values = draw(seed)
    with FrameWriter(tmp_path, "x") as writer:
        for part in np.array_split(values, 5):
            writer.append(part)
    frames = Frames(tmp_path, "x")
    assert len(frames) == len(values)
    assert (frames[:] == values).all()
    assert np.array_equal(np.concatenate([values[:0], *frames.chunks()]), values)
    rng = np.random.default_rng(seed)
    for start, stop in np.sort(rng.integers(0, len(values) + 1, (20, 2)), axis=1).tolist():
        assert (frames[start:stop] == values[start:stop]).all()
    if len(values):
        for count in (1, 50, 3_000):  # few, and so many that widths are compared
            places = rng.integers(0, len(values), count)
            assert (frames[places] == values[places]).all()
        assert [frames[i] for i in range(0, len(values), 7)] == values[::7].tolist()
        assert frames[-1] == values[-1]
    with pytest.raises(IndexError):
        frames[len(values)]


@pytest.mark.parametrize("seed", range(40))
def test_ascending_ranges_are_searched_like_sorted_lists(tmp_path: Path, seed: int) -> None:
    # Three ascending ranges, as of nodes, ways and relations, which begin within frames.
    values = draw(seed)
    parts = [np.unique(part) for part in np.array_split(values, 3)]
    values = np.concatenate(parts)
    write_frames(tmp_path, "x", values)
    frames = Frames(tmp_path, "x")
    rng = np.random.default_rng(seed)
    edges = np.cumsum([0, *map(len, parts)]).tolist()
    for start, stop in pairwise(edges):
        some = rng.choice(values, 60).tolist() if len(values) else []
        wanted = [*some, *(v + 1 for v in some), -(2**62), 2**62]
        expected = []
        for value in wanted:
            place = bisect_left(values.tolist(), value, start, stop)
            assert frames.find(value, start, stop) == place
            expected.append(place if place < stop and values[place] == value else -1)
        assert [frames.index(value, start, stop) for value in wanted] == expected
        assert frames.locate(np.array(wanted), start, stop).tolist() == expected
        few = np.array(wanted[:3])
        assert frames.locate(few, start, stop).tolist() == expected[:3]


def test_alike_numbers_take_no_bytes_each(tmp_path: Path) -> None:
    write_frames(tmp_path, "x", np.full(64_000, 2**40))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 64_000 / 64 * 16 + 1_000


def test_values_of_keys_take_the_bytes_that_they_need(tmp_path: Path) -> None:
    numbers = [np.arange(count) for count in (3, 0, 256, 257, 70_000, 1)]
    writer = KeyValuesWriter(tmp_path)
    for part in numbers:
        writer.begin(len(part) - 1)
        for half in np.array_split(part, 2):
            writer.extend(half)
        writer.end()
    writer.close()
    values = KeyValues(tmp_path)
    for key, part in enumerate(numbers):
        assert values.get(key, len(part)).tolist() == part.tolist()
    assert [values.get(key, 1).itemsize for key in (0, 2, 3, 4)] == [1, 1, 2, 4]


@pytest.mark.parametrize(
    ("spread", "width"),
    [(0, 0), (1, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4), (2**32 - 1, 4), (2**32, 8),
     (2**64 - 1, 8)],
)  # fmt: skip
def test_a_frame_takes_as_few_bytes_as_its_values_allow(
    tmp_path: Path, spread: int, width: int
) -> None:
    least = -(2**63)
    values = np.full(FRAME, least, np.int64)
    values[17] = least + spread
    write_frames(tmp_path, "x", values)
    assert (Frames(tmp_path, "x")[:] == values).all()
    # Eight more bytes stand behind the last frame.
    assert len(open_column(tmp_path, "x_offset")) == FRAME * width + 8
