from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.accounts.keys import hash_key, is_well_formed, make_key

BASE62 = string.digits + string.ascii_letters


@pytest.mark.parametrize("environment", ["live", "test"])
def test_new_keys_have_the_published_form(environment: str) -> None:
    key = make_key(environment)
    prefix = f"pk_{environment}_"
    assert key.startswith(prefix)
    assert len(key) - len(prefix) >= 32
    assert set(key[len(prefix) :]) <= set(BASE62)
    assert is_well_formed(key)


def test_keys_differ() -> None:
    assert len({make_key("live") for _ in range(1000)}) == 1000


@given(st.integers(8, 45), st.sampled_from(BASE62))
def test_one_wrong_character_is_noticed(position: int, character: str) -> None:
    key = make_key("live")
    mistyped = key[:position] + character + key[position + 1 :]
    assert is_well_formed(mistyped) == (mistyped == key)


def test_live_is_not_test() -> None:
    assert not is_well_formed(make_key("live").replace("live", "test"))


@given(st.text())
def test_any_text_is_refused_without_an_error(text: str) -> None:
    assert not is_well_formed(text)
    assert len(hash_key(text)) == 32
