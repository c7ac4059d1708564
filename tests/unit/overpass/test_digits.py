"""Numbers written in arrays read like numbers written one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mapyard.overpass.write.digits import constant, degrees, fill, integers, join_runs, render


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=30))
def test_integers(values: list[int]) -> None:
    text = render([integers(np.array(values)), constant(b"\n")], len(values))
    assert text.split(b"\n")[:-1] == [b"%d" % value for value in values]


@given(st.lists(st.integers(-1_800_000_000, 1_800_000_000), min_size=1, max_size=30))
def test_degrees(values: list[int]) -> None:
    text = render([degrees(np.array(values)), constant(b"\n")], len(values))
    expected = [
        (b"-" if value < 0 else b"") + b"%d.%07d" % divmod(abs(value), 10_000_000)
        for value in values
    ]
    assert text.split(b"\n")[:-1] == expected


def test_runs_and_slots() -> None:
    ends = np.array([False, True, True])
    assert join_runs([integers(np.array([1, 20, 300]))], ends) == [b"1,20", b"300"]
    assert fill(b"a\x01b\x01", [b"X", b""]) == b"aXb"
    assert render([constant(b"x")], 0) == b""
