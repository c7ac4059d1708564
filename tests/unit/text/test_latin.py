"""Names of other scripts in Latin letters."""

from __future__ import annotations

import pytest

from mapyard.text.analysis import script_terms
from mapyard.text.distance import is_near_word
from mapyard.text.folding import fold
from mapyard.text.latin import skeleton


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("улица Руставели", "ulitsa"),
        ("Θεσσαλονίκη", "thessaloniki"),
        ("თბილისი", "tbilisi"),
        ("南京西路", "nanjing"),
        ("南京西路", "lu"),
        ("コンビニ", "konbini"),
        ("މާލެ", "maale"),
    ],
)
def test_names_have_words_in_latin_letters(name: str, typed: str) -> None:
    assert typed in script_terms(name)


def test_latin_names_have_none() -> None:
    assert script_terms("Städtle") == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("shchelkovskaya", "scelkovskaja"),
        ("dobrolyubova", "dobroljubova"),
        ("khimki", "himki"),
        ("tsvetnoy", "cvetnoj"),
        ("zhukova", "zukova"),
    ],
)
def test_systems_of_transliteration_have_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("臺灣銀行", "台湾银行"),
        ("二段", "2段"),
        ("二十三番", "23番"),
        ("１２", "12"),
        ("٣٤", "34"),
        ("१२", "12"),
        ("こんびに", "コンビニ"),
        ("県", "县"),
    ],
)
def test_one_spelling_for_digits_and_characters(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("one", "other", "most", "is_near"),
    [
        ("schan", "schaan", 1, True),
        ("shcaan", "schaan", 1, True),
        ("shan", "schaan", 1, False),
        ("shan", "schaan", 2, True),
        ("vaduz", "balzers", 2, False),
    ],
)
def test_distance(one: str, other: str, most: int, is_near: bool) -> None:
    assert is_near_word(one, other, most) is is_near
