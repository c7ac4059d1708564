from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.errors import InvalidCursor, StaleCursor
from mapyard.results.cursor import decode_cursor, encode_cursor, hash_query

QUERY = hash_query("features", ("a", 1))
POSITIONS = st.lists(
    st.one_of(st.integers(-(2**62), 2**62), st.floats(allow_nan=False), st.text(max_size=20)),
    min_size=1,
    max_size=4,
)


@given(POSITIONS)
def test_positions_come_back(position: list[int | float | str]) -> None:
    cursor = encode_cursor("2026-a", QUERY, position)
    assert decode_cursor(cursor, "2026-a", QUERY) == position
    assert cursor.replace("-", "").replace("_", "").isalnum()


def test_another_dataset_is_stale_even_for_another_query() -> None:
    cursor = encode_cursor("2026-a", QUERY, [7])
    with pytest.raises(StaleCursor, match="first page"):
        decode_cursor(cursor, "2026-b", QUERY)
    with pytest.raises(StaleCursor):
        decode_cursor(cursor, "2026-b", hash_query("other"))


def test_another_query_is_invalid() -> None:
    cursor = encode_cursor("2026-a", QUERY, [7])
    with pytest.raises(InvalidCursor, match="another query"):
        decode_cursor(cursor, "2026-a", hash_query("features", ("a", 2)))


@given(st.data())
def test_a_damaged_cursor_is_invalid(data: st.DataObject) -> None:
    cursor = encode_cursor("2026-a", QUERY, [12345, 1.5])
    # The last character holds bits that base64 does not use.
    place = data.draw(st.integers(0, len(cursor) - 2))
    letter = data.draw(st.sampled_from("ABCXYZabcxyz0189-_").filter(lambda c: c != cursor[place]))
    with pytest.raises(InvalidCursor):
        decode_cursor(cursor[:place] + letter + cursor[place + 1 :], "2026-a", QUERY)


@pytest.mark.parametrize("text", ["", "x", "é", "====", "AAAA" * 10, "A" * 5000, "a b", "..."])
def test_any_text_is_invalid_not_a_crash(text: str) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(text, "2026-a", QUERY)


def test_a_position_of_another_shape_is_invalid() -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(encode_cursor("d", QUERY, ["x"]), "d", QUERY, tuple[int])


def test_equal_queries_hash_equal() -> None:
    assert hash_query({"a": 1, "b": 2}) == hash_query({"b": 2, "a": 1})
    assert hash_query(("a",), "b") != hash_query("a", ("b",))
