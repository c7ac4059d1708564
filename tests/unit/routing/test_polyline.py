"""Encoded polylines against the format's own example, and back and forth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.routing import polyline
from mapyard.routing.kernels import KernelsMissing
from mapyard.routing.polyline import decode_polyline, encode_polyline

#: The example of the format's description.
EXAMPLE = np.array([[-120.2, 38.5], [-120.95, 40.7], [-126.453, 43.252]])
EXAMPLE_TEXT = "_p~iF~ps|U_ulLnnqC_mqNvxq`@"


def test_the_documented_example():
    assert encode_polyline(EXAMPLE, 5) == EXAMPLE_TEXT
    np.testing.assert_allclose(decode_polyline(EXAMPLE_TEXT, 5), EXAMPLE, atol=1e-9)


def test_nothing_is_no_position():
    assert decode_polyline("").shape == (0, 2)


@pytest.mark.parametrize("digits", [5, 6, 7])
@given(
    places=st.lists(st.tuples(st.floats(-180, 180), st.floats(-90, 90)), min_size=1, max_size=30)
)
def test_comes_back_at_its_precision(digits, places):
    positions = np.array(places)
    decoded = decode_polyline(encode_polyline(positions, digits), digits)
    np.testing.assert_allclose(decoded, positions, atol=0.51 * 10.0**-digits)


def test_heights_are_every_third_number():
    text = encode_polyline(np.array([[0.0, 0.0], [0.0, 0.0]]), 5, np.array([1.0, -1.0]))
    assert text == "??gE??nK"


@given(
    places=st.lists(st.tuples(st.floats(-180, 180), st.floats(-90, 90)), min_size=1, max_size=30)
)
def test_without_c_the_text_is_the_same(places):
    def refuse():
        raise KernelsMissing("none")

    positions = np.array(places)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(polyline, "load_kernels", refuse)
        slow = encode_polyline(positions, 6)
    assert slow == encode_polyline(positions, 6)
    wide = np.column_stack([positions, np.zeros(len(positions))])
    assert slow == encode_polyline(wide[:, :2], 6)
