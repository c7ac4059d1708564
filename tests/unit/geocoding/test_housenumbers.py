from __future__ import annotations

import pytest

from mapyard.geocoding.words.housenumbers import iter_candidates, leading_number, parse_numbers


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("12", ("12",)),
        ("12 A", ("12a",)),
        ("12a", ("12a",)),
        ("4 bis", ("4bis",)),
        ("56Bis", ("56bis",)),
        ("7;9", ("7", "9")),
        ("1;3;5", ("1", "3", "5")),
        ("17-19", ("17-19", "17", "19")),
        ("1-4", ("1-4", "1", "2", "3", "4")),
        ("1-999", ("1-999",)),
        ("12/3", ("12-3", "12")),
        ("226 1/2", ("226-1-2",)),
        ("39A/B", ("39a-b", "39a", "39b")),
        ("5a-c", ("5a-c", "5a", "5b", "5c")),
        ("Funaadu", ("funaadu",)),
        ("", ()),
    ],
)
def test_parse_numbers(text: str, keys: tuple[str, ...]) -> None:
    assert parse_numbers(text) == keys


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("landstrasse 5 schaan", ["5"]),
        ("landstrasse 12 a", ["12a", "12"]),
        ("39a b", ["39a-b", "39a"]),
        ("vaduz", []),
        ("10 e", ["10e", "10"]),
        ("4 bis rue x", ["4bis", "4"]),
        ("1234567 x", []),
        ("226 1 2 main", ["226-1-2", "226-1", "226", "1-2", "1", "2"]),
        ("magu c 165", ["c-165", "165"]),
        ("lot 10006", ["lot-10006", "10006"]),
        ("g18 road", ["g18"]),
        ("32bis", ["32bis"]),
    ],
)
def test_iter_candidates(query: str, expected: list[str]) -> None:
    assert [candidate.key for candidate in iter_candidates(query.split())] == expected


def test_leading_number() -> None:
    assert leading_number("12a") == 12
    assert leading_number("funaadu") == -1


@pytest.mark.parametrize("letter", ["ا", "އ", "ອ", "ཨ", "ᄋ"])
def test_letters_that_have_no_sound(letter: str) -> None:
    assert parse_numbers(f"5 {letter}")[0] == "5"
    assert parse_numbers(f"{letter} 5")[0].strip("-") == "5"
