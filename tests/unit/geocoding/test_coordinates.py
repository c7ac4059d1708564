from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.geocoding.coordinates import (
    decode_plus_code,
    encode_plus_code,
    find_coordinates,
    find_plus_code,
)


@pytest.mark.parametrize(
    "text",
    [
        "47.14, 9.52",
        "47.14 9.52",
        "(47.14, 9.52)",
        "47.14;9.52",
        "geo:47.14,9.52?z=12",
        "N 47.14 E 9.52",
        "47.14° N, 9.52° E",
        "9.52E 47.14N",
        "47°8.4'N 9°31.2'E",
        "47° 08' 24\" N, 9° 31' 12\" E",
        "N47°08′24″ E9°31′12″",
    ],
)
def test_notations_of_one_point(text: str) -> None:
    found = find_coordinates(text)
    assert found is not None
    assert (found.lat, found.lon) == pytest.approx((47.14, 9.52), abs=1e-6)
    assert not found.rest


def test_southern_and_western_signs() -> None:
    assert find_coordinates("33.5 S, 70.6 W") == pytest.approx((-70.6, -33.5, ""), abs=1e-9)
    assert find_coordinates("-33.5, -70.6")[:2] == (-70.6, -33.5)  # type: ignore[index]


def test_text_before_coordinates_is_kept() -> None:
    found = find_coordinates("starbucks 48.2,16.36")
    assert found == (16.36, 48.2, "starbucks")


@pytest.mark.parametrize(
    "text",
    ["Landstrasse 5", "9490 Vaduz", "5 12", "47.14", "91.5, 9.5", "47° 70' N 9° E", "", "12, Rue"],
)
def test_no_coordinates(text: str) -> None:
    assert find_coordinates(text) is None


def test_plus_codes_of_the_specification() -> None:
    # From the test data of the specification.
    assert decode_plus_code("7FG49Q00+")[:2] == pytest.approx((2.775, 20.375))  # type: ignore[index]
    assert decode_plus_code("8FVC2222+22")[:2] == pytest.approx((8.0000625, 47.0000625))  # type: ignore[index]
    assert decode_plus_code("4VCPPQGP+Q9")[:2] == pytest.approx((174.7859375, -41.2730625))  # type: ignore[index]
    assert encode_plus_code(8.0, 47.0) == "8FVC2222+22"


def test_short_plus_code_takes_the_nearest() -> None:
    code = find_plus_code("4HRF+5X Vaduz")
    assert code is not None
    assert (code.is_short, code.rest) == (True, "Vaduz")
    found = decode_plus_code(code.code, (9.52, 47.14))
    assert found is not None
    assert abs(found.lon - 9.52) <= 0.5
    assert abs(found.lat - 47.14) <= 0.5
    assert encode_plus_code(found.lon, found.lat).endswith("4HRF+5X")


@pytest.mark.parametrize("text", ["C++", "A+B", "12+", "rock+roll", "+49 123"])
def test_no_plus_code(text: str) -> None:
    found = find_plus_code(text)
    assert found is None or decode_plus_code(found.code) is None


@given(st.floats(-179.99, 179.99), st.floats(-89.99, 89.99))
def test_plus_codes_round_trip(lon: float, lat: float) -> None:
    found = decode_plus_code(encode_plus_code(lon, lat))
    assert found is not None
    assert abs(found.lat - lat) <= 0.000125
    assert abs(found.lon - lon) <= 0.000125


def test_long_texts_take_no_time() -> None:
    import time

    started_s = time.process_time()
    for text in ("1 " * 70, "a1.1 " * 30, "1.1," * 35, "N1" * 70, "a " * 10_000, "1" * 10_000):
        find_coordinates(text)
        find_plus_code(text)
    assert time.process_time() - started_s < 0.1
