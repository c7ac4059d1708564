"""Speed limits by country, each as OSM's wiki page Default speed limits has it."""

from __future__ import annotations

import pytest

from mapyard.routing.tagging.limits import UNLIMITED, find_default, read_limit

#: Country, inside towns, outside of them, on motorways.
ROWS = """
    AT 50 100 130
    AU 50 100 100
    CH 50  80 120
    CN 50  70 120
    CZ 50  90 130
    DE 50 100 none
    DK 50  80 130
    ES 30  90 120
    FI 50  80 120
    FR 50  80 130
    GB 48  97 113
    GH 50  90 100
    IE 50  80 120
    IM 48  97 -
    IT 50  90 130
    KG 60  90 110
    KR 50  60  80
    KZ 60 110 140
    LI 50  80 -
    MK 50  90 130
    MX 50 100 110
    NA 60 100 120
    NZ 50 100 100
    PL 50  90 140
    RO 50  90 130
    RS 50  80 130
    SE 50  70 110
    TL 50  90 120
    UA 50  90 130
    UY 45  90 -
    ZA 60 100 120
"""


@pytest.mark.parametrize("row", [line.split() for line in ROWS.split("\n") if line.strip()])
def test_limits_by_country(row: list[str]) -> None:
    country, *limits = row
    for name, limit in zip(("urban", "rural", "motorway"), limits, strict=True):
        expected = {"none": UNLIMITED, "-": None}.get(limit, limit)
        found = read_limit(f"{country}:{name}")
        assert found == (float(expected) if isinstance(expected, str) else expected), name


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        ("AT:trunk", 100), ("SK:trunk", 130), ("DK:trunk", 80), ("SE:trunk", 70),
        ("IS:living_street", 10), ("BA:living_street", 5), ("IM:living_street", 32),
        ("BE-BRU:urban", 30), ("BE-VLG:rural", 70), ("US-NY:zone25", 40.2), ("XX:urban", 50),
        ("XX:rural", None), ("DE:tempo", None),
    ],
)  # fmt: skip
def test_other_roads_and_regions(value: str, limit: float | None) -> None:
    assert read_limit(value) == (None if limit is None else pytest.approx(limit, abs=0.1))


def test_every_country_is_faster_outside_of_towns() -> None:
    """A row with its columns exchanged would show here."""
    from mapyard.routing.tagging.limits import _BY_COUNTRY

    for country, (urban, rural, motorway, living, *_) in _BY_COUNTRY.items():
        assert urban is not None
        assert rural is not None
        assert 20 <= urban <= rural <= 120, country
        assert motorway is None or motorway >= rural or country in ("NZ", "AU"), country
        assert living is None or living <= urban, country
        assert find_default(country, "urban") == urban
