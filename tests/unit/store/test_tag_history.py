"""Counts of tags on earlier days, on updates made by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mapyard.store import tag_history
from mapyard.store.tag_history import TagHistory, keep_history, write_history

CAFE = ("amenity", "cafe")
KEY = ("amenity", None)


def extend(folder: Path, times: list[str], *changes: dict[tuple[str, str | None], int]) -> Path:
    """Write the history of one update after the other; return the newest folder."""
    previous = folder / "0"
    previous.mkdir()
    for number, delta in enumerate(changes, 1):
        target = folder / str(number)
        target.mkdir()
        more = Counter({tag: count for tag, count in delta.items() if count > 0})
        less = Counter({tag: -count for tag, count in delta.items() if count < 0})
        write_history(target, previous, (times[number - 1], times[number]), less, more)
        previous = target
    return previous


def test_a_new_dataset_knows_only_its_own_day(tmp_path: Path) -> None:
    history = TagHistory(tmp_path, "2026-01-05T20:00:00Z")
    assert history.counts(*CAFE, 7) == [("2026-01-05", 7)]
    assert TagHistory(tmp_path, "").counts(*CAFE, 7) == []


def test_counts_go_back_from_today(tmp_path: Path) -> None:
    times = [f"2026-01-0{day}T20:00:00Z" for day in (1, 2, 4, 6)]
    newest = extend(tmp_path, times, {CAFE: 2, KEY: 3}, {CAFE: -5}, {KEY: 1})
    history = TagHistory(newest, times[-1])
    assert history.counts(*CAFE, 10) == [
        ("2026-01-01", 13), ("2026-01-02", 15), ("2026-01-04", 10), ("2026-01-06", 10),
    ]  # fmt: skip
    assert history.counts(*KEY, 20) == [
        ("2026-01-01", 16), ("2026-01-02", 19), ("2026-01-06", 20),
    ]  # fmt: skip
    assert history.counts("shop", None, 4) == [("2026-01-01", 4), ("2026-01-06", 4)]


def test_updates_of_one_day_are_one_change(tmp_path: Path) -> None:
    times = ["2026-01-01T20:00:00Z", *(f"2026-01-02T0{hour}:00:00Z" for hour in (1, 2, 3))]
    newest = extend(tmp_path, times, {CAFE: 2, KEY: 1}, {CAFE: 3, KEY: -1}, {CAFE: -1})
    history = TagHistory(newest, times[-1])
    assert history.counts(*CAFE, 10) == [("2026-01-01", 6), ("2026-01-02", 10)]
    assert len(history._tags) == 1  # the key's changes cancel each other


def test_the_oldest_days_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_history, "MAX_ROWS", 3)
    times = [f"2026-01-0{day}T20:00:00Z" for day in (1, 2, 3, 4)]
    newest = extend(tmp_path, times, {CAFE: 1, KEY: 1}, {CAFE: 1}, {CAFE: 1})
    history = TagHistory(newest, times[-1])
    assert history.since == "2026-01-02"
    assert history.counts(*CAFE, 9) == [("2026-01-02", 7), ("2026-01-03", 8), ("2026-01-04", 9)]
    assert history.counts(*KEY, 5) == [("2026-01-02", 5), ("2026-01-04", 5)]


def test_a_dataset_of_the_same_data_goes_on(tmp_path: Path) -> None:
    times = ["2026-01-01T20:00:00Z", "2026-01-02T20:00:00Z"]
    newest = extend(tmp_path, times, {CAFE: 2})
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    keep_history(fresh, newest)
    assert TagHistory(fresh, times[-1]).counts(*CAFE, 9) == [("2026-01-01", 7), ("2026-01-02", 9)]
    keep_history(fresh, tmp_path / "0")  # it has none
