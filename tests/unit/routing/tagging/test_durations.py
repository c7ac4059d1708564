"""How long ferries take."""

from __future__ import annotations

import pytest

from mapyard.routing.tagging.durations import read_duration_s, tag_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20", 1200),
        ("20 min", 1200),
        ("0:20", 1200),
        ("00:20", 1200),
        ("01:05:30", 3930),
        ("48:00", 172_800),
        ("PT20M", 1200),
        ("PT1H30M", 5400),
        ("P1DT2H", 93_600),
        ("pt90s", 90),
        ("0", None),
        ("PT", None),
        ("P", None),
        ("00:00", None),
        ("half an hour", None),
        ("-5", None),
        ("", None),
    ],
)
def test_durations_are_read(text: str, seconds: int | None) -> None:
    """https://wiki.openstreetmap.org/wiki/Key:duration"""
    assert read_duration_s(text) == seconds


def test_the_engine_reads_clocks_only() -> None:
    assert tag_duration({"duration": "PT90M"}) == {"duration": "01:30:00"}
    assert tag_duration({"duration": "P2D"}) == {"duration": "48:00:00"}
    assert tag_duration({"duration": "soon"}) == {}
    assert tag_duration({}) == {}
