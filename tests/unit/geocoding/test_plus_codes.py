from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.geocoding.read.plus_codes import decode_plus_code, encode_plus_code, find_plus_code

pytestmark = pytest.mark.topic("coordinates")


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


@pytest.mark.parametrize(
    "text", ["Vaduz 4HRF+5X", "4HRF+5X Vaduz", "4hrf+5x, Vaduz", "Vaduz, 4HRF+5X"]
)
def test_the_place_of_a_short_code_before_or_behind_it(text: str) -> None:
    code = find_plus_code(text)
    assert code is not None
    assert (code.code, code.rest) == ("4HRF+5X", "Vaduz")
