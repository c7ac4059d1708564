from __future__ import annotations

import pytest

from mapyard.osm.area_rule import AREA, NOT_AREA, area_bits


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("building", "yes", AREA),
        ("building", "no", 0),
        ("area", "yes", AREA),
        ("area", "no", NOT_AREA),
        ("highway", "residential", 0),
        ("highway", "services", AREA),
        ("natural", "water", AREA),
        ("natural", "coastline", 0),
        ("barrier", "hedge", AREA),
        ("barrier", "fence", 0),
        ("man_made", "pier", AREA),
        ("man_made", "pipeline", 0),
        ("aeroway", "taxiway", 0),
        ("name", "Square", 0),
    ],
)
def test_what_a_tag_says(key: str, value: str, expected: int) -> None:
    assert area_bits(key, value) == expected
