"""Speed limits as mappers write them. The figures are those of the wiki's Default speed limits."""

from __future__ import annotations

import pytest

from mapyard.routing.tagging.limits import UNLIMITED, find_default, find_limit, read_limit


@pytest.mark.parametrize(
    ("value", "kmh"),
    [
        ("50", 50),
        ("50 km/h", 50),
        ("50kph", 50),
        ("30 mph", 48.3),
        ("30mph", 48.3),
        ("10 knots", 18.5),
        ("7.5", 7.5),
        ("7,5", 7.5),
        ("walk", 5),
        ("none", UNLIMITED),
        ("80;60", 60),
        ("signals", None),
        ("variable", None),
        ("", None),
        ("50 furlongs", None),
        ("DE:urban", 50),
        ("de:rural", 100),
        ("DE:zone:30", 30),
        ("DE:zone30", 30),
        ("DE:30", 30),
        ("GB:zone20", 32.2),
        ("GB:20_zone", None),
        ("GB:nsl_single", 97),
        ("RO:urban", 50),
        ("CH:rural", 80),
        ("CH:trunk", 100),
        ("FI:trunk", 80),
        ("BE-VLG:rural", 70),
        ("US-CA:urban", 50),
        ("XX:rural", None),
        ("urban", 50),
        ("AT:bicycle_road", 30),
    ],
)
def test_values_are_limits(value: str, kmh: float | None) -> None:
    assert read_limit(value) == (None if kmh is None else pytest.approx(kmh, abs=0.1))


def test_a_number_wins_over_where_it_comes_from() -> None:
    assert find_limit({"maxspeed": "30", "source:maxspeed": "DE:urban"}) == 30
    assert find_limit({"maxspeed": "signals", "maxspeed:type": "DE:rural"}) == 100
    assert find_limit({"zone:maxspeed": "AT:30"}) == 30
    assert find_limit({"source:maxspeed": "sign"}) is None
    assert find_limit({"maxspeed:lanes": "100|80|none"}) == UNLIMITED


def test_countries_have_their_own() -> None:
    assert find_default("GB", "motorway") == 113
    assert find_default("DE", "motorway") == UNLIMITED
    assert find_default("RU", "living_street") == 20
    assert find_default("DE", "living_street") == 5
    assert find_default(None, "rural") is None
