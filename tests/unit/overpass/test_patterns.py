# ruff: noqa: E501 - tables
"""Regular expressions over the values of a key: the short ways must find what the long way does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapyard.overpass.parse.literals import find_anchored_text, find_required_texts
from mapyard.overpass.parse.patterns import match_values

VALUES = ["", "a", "ab", "abab", "aba", "Hauptstrasse", "Hauptstraße", "Vaduz", "vaduz", "12a",
          "Rue de l'Église", "x;y", "abc\nabc", "KELVIN", "mass", "ma\u017f\u017f", "100%"]  # fmt: skip


def _heap(values: list[str]) -> tuple[memoryview, np.ndarray]:
    data = [value.encode() for value in values]
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in data])]).astype(np.int64)
    return memoryview(b"".join(data)), offsets


def _find(pattern: str, values: list[str], *, ignore_case: bool = False) -> list[str]:
    found = match_values(pattern, ignore_case, *_heap(values))
    return [values[index] for index in found.tolist()]


@pytest.mark.parametrize(
    "pattern",
    ["strasse", "^Haupt", "stra(ss|ß)e$", "^vaduz$", "aba", "^a", "b$", "^ab$", "[Vv]aduz", "^$",
     "a|b", "(ab)+", "(ab)*c", "x?y", "^Rue .*(Église|Eglise)$", "\\d+", "l'É", "c.a", "100%$"],
)  # fmt: skip
def test_finds_what_the_pattern_alone_finds(pattern: str) -> None:
    expected = [value for value in VALUES if re.search(pattern, value, re.DOTALL)]
    assert _find(pattern, VALUES) == [
        value for value in expected if not (pattern == "^$" and value)
    ]


def test_case_is_ignored_beyond_ascii() -> None:
    assert _find("église", VALUES, ignore_case=True) == ["Rue de l'Église"]
    assert _find("^MASS$", VALUES, ignore_case=True) == ["mass", "ma\u017f\u017f"]
    assert _find("vaduz", VALUES, ignore_case=True) == ["Vaduz", "vaduz"]


@given(
    st.lists(st.text("ab;", max_size=6), max_size=12),
    st.sampled_from(
        ["ab", "aba", "ba$", "^ab", "a.b", "(ab|ba)a", "ab|bb", "aab?", "^a;b$", "bab"]
    ),
)
@settings(max_examples=200, deadline=None)
def test_values_that_overlap_in_the_heap_are_not_missed(values: list[str], pattern: str) -> None:
    assert _find(pattern, values) == [value for value in values if re.search(pattern, value)]


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("strasse", ["strasse"]), ("^Haupt(gasse|weg)$", ["Haupt"]), ("foo|bar", ["foo", "bar"]),
        ("foo|b", None), ("(foo)?", None), ("fo*", None), ("fooo*bar", ["foo"]), ("[ab]cde", ["cde"]),
        ("a\\.bc", ["a.bc"]), ("(?i)foo", None), ("\\bfoo", ["foo"]), ("fo{2}", ["fo"]), ("fo{0,2}", None),
    ],
)  # fmt: skip
def test_required_texts(pattern: str, texts: list[str] | None) -> None:
    assert find_required_texts(pattern) == texts


def test_anchored_texts() -> None:
    assert find_anchored_text("^abc") == (True, "abc", False)
    assert find_anchored_text("abc$") == (False, "abc", True)
    assert find_anchored_text("a.c$") is None
    assert find_anchored_text("^") is None
