"""The soak in its short form: `make soak` runs it for an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

import soak
from servers import copy_data


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_minute_of_load(monaco: Path, tmp_path: Path) -> None:
    data = copy_data(monaco, tmp_path / "data")
    report, faults = soak.run(data, seconds=75, requests=6_000)
    assert report.requests == 6_000
    assert not faults
    limited = {account for account, status in report.answers if status == 429}
    assert len(limited) == len(soak.LIMITED)  # they were above their limits, so those were tried


def test_what_lies_outside_of_a_window_is_not_counted() -> None:
    report = soak.Report(admitted={1: [(0.0, 0.1), (30.0, 30.1), (60.05, 60.2), (90.0, 90.1)]})
    assert report.most_in_a_window(1) == 2
    report.admitted[1].append((59.0, 59.9))
    assert report.most_in_a_window(1) == 3
