"""A day of minutes: counters as what they grew by, gauges as the most, old minutes as nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapyard.http import metrics, minutes
from mapyard.http.minutes import MINUTES, ROW, Minutes, read_minutes, read_numbers

START_S = 1_000_000 * 60.0


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    names = [name for name in ROW.names or () if name != "minute"]
    found = dict.fromkeys(names, 0)
    monkeypatch.setattr(minutes, "read_numbers", lambda: dict(found))
    return found


def test_a_minute_is_gathered(tmp_path: Path, numbers: dict[str, int]) -> None:
    gathered = Minutes(tmp_path)
    numbers |= {"requests": 100}
    gathered.look(START_S)  # what was before is not of this minute
    numbers |= {"requests": 104, "server_errors": 1, "queries": 7}
    gathered.look(START_S + 20)
    numbers |= {"requests": 110, "queries": 2}
    gathered.look(START_S + 40)
    numbers |= {"requests": 111}
    gathered.look(START_S + 60)
    rows = read_minutes(tmp_path, 3, START_S + 60)
    assert rows["requests"].tolist() == [0, 10, 1]
    assert rows["server_errors"].tolist() == [0, 1, 0]
    assert rows["queries"].tolist() == [0, 7, 2]
    assert rows["minute"].tolist() == [999_999, 1_000_000, 1_000_001]


def test_counters_that_began_anew(tmp_path: Path, numbers: dict[str, int]) -> None:
    gathered = Minutes(tmp_path)
    numbers |= {"requests": 100}
    gathered.look(START_S)
    numbers |= {"requests": 3}
    gathered.look(START_S + 5)
    assert read_minutes(tmp_path, 1, START_S)["requests"].tolist() == [3]


def test_another_process_goes_on(tmp_path: Path, numbers: dict[str, int]) -> None:
    first = Minutes(tmp_path)
    first.look(START_S)
    numbers |= {"requests": 5}
    first.look(START_S + 1)
    second = Minutes(tmp_path)
    second.look(START_S + 2)
    numbers |= {"requests": 7}
    second.look(START_S + 3)
    assert read_minutes(tmp_path, 1, START_S)["requests"].tolist() == [7]


def test_yesterday_is_not_shown(tmp_path: Path, numbers: dict[str, int]) -> None:
    gathered = Minutes(tmp_path)
    gathered.look(START_S)
    numbers |= {"requests": 9}
    gathered.look(START_S + 1)
    a_day_later = read_minutes(tmp_path, now_s=START_S + 60 * MINUTES)
    assert len(a_day_later) == MINUTES
    assert not a_day_later["requests"].any()
    assert read_minutes(tmp_path / "none")["requests"].sum() == 0


def test_what_the_metrics_say() -> None:
    before = read_numbers()
    requests = metrics.Requests()
    requests.running = 3
    for status in (200, 204, 404, 503):
        requests.note("/api/v1/tiles/{z}/{x}/{y}", "GET", status, 0.01, 1)
    requests.hand_over()
    metrics.TILES_MADE.inc()
    after = read_numbers()
    grown = {name: after[name] - before[name] for name in after}
    assert grown["requests"] == 4
    assert (grown["client_errors"], grown["server_errors"]) == (1, 1)
    assert (grown["tiles"], grown["tiles_made"]) == (1, 1)
    assert after["in_flight"] == 3
    requests.running = 0
    requests.hand_over()
