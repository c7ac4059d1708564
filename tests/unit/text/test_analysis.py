"""Analysis: what is written in different ways must meet in the index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapyard.text.analysis import MAX_WORDS, name_key, slots, split_compound, terms
from mapyard.text.folding import fold, split_words


def matches(query: str, name: str) -> bool:
    """Whether every word of the query has an alternative whose terms are all terms of the name."""
    found = set(terms(name))
    return all(
        any(found.issuperset(alternative) for alternative in slot.alternatives)
        for slot in slots(query)
    )


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Städtle", "stadtle"),
        ("STRAßE", "strasse"),
        ("Ærøskøbing", "aeroskobing"),
        ("Đorđe Łódź", "dorde lodz"),
        ("L’Hôpital", "l'hopital"),
        ("مُحَمَّد", "محمد"),
        ("إسكندرية", "اسكندريه"),
        ("Ｆｕｌｌ", "full"),
        ("ﾊﾟﾘ", "パリ"),
        ("İstanbul", "istanbul"),
        ("Йошкар-Ола", "иошкар-ола"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_fold_keeps_the_vowels_of_thaana_and_devanagari() -> None:
    assert fold("މާލެ") == "މާލެ"
    assert fold("हिन्दी") == "हिन्दी"
    assert split_words(fold("މާލެ ދިވެހި")) == ["މާލެ", "ދިވެހި"]


def test_direction_marks_are_dropped() -> None:
    assert fold("\u200fمالي\u200e") == "مالي"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("landstr", "Landstrasse"),
        ("Landstr.", "Landstraße"),
        ("Land Strasse", "Landstrasse"),
        ("Landstrasse", "Landstr."),
        ("Clematis Weg", "Clematisweg"),
        ("Clematisweg", "Clematis Weg"),
        ("Clematis-Weg", "Clematisweg"),
        ("Clematisweg", "Clematis-Weg"),
        ("Noflerstrasse", "Nofler Strasse"),
        ("Staedtle", "Städtle"),
        ("Stadtle", "Städtle"),
        ("Städtle", "Staedtle"),
        ("av de la costa", "Avenue de la Costa"),
        ("Avenue Foch", "Av. Foch"),
        ("bd des moulins", "Boulevard des Moulins"),
        ("boulevard italie", "Boulevard d'Italie"),
        ("boulevard d italie", "Boulevard d'Italie"),
        ("Boulevard ditalie", "Boulevard d’Italie"),
        ("Quai Albert 1er", "Quai Albert Ier"),
        ("Rainier 3", "Avenue Prince Rainier III"),
        ("prince rainier III", "Avenue Prince Rainier 3"),
        ("1st street", "First Street"),
        ("st johns rd", "St. John's Road"),
        ("Saint Martin", "St Martin"),
        ("c/ Major", "Carrer Major"),
        ("Pza Mayor", "Plaza Mayor"),
        ("Montecarlo", "Monte-Carlo"),
        ("Fleur de Lys", "Fleur-de-Lys"),
        ("Leonberg Stuttgart", "Leonberg/Stuttgart"),
        ("練馬", "東京都練馬区"),
        ("東京都練馬区", "東京都練馬区"),
        ("كويت", "شارع الكويت"),
        ("الاسكندرية", "الإسكندريّة"),
        ("މާލެ", "މާލެ ސިޓީ"),
    ],
)
def test_both_spellings_meet(query: str, name: str) -> None:
    assert matches(query, name)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Landweg", "Landstrasse"),
        ("練区", "東京都練馬区"),
        ("39", "39a Lofts"),
        ("Rainier 4", "Avenue Prince Rainier III"),
    ],
)
def test_different_names_do_not_meet(query: str, name: str) -> None:
    assert not matches(query, name)


@pytest.mark.parametrize(
    "names",
    [
        ("Nofler Strasse", "Noflerstr.", "NOFLERSTRASSE", "noflerstraße"),
        ("Avenue d'Italie", "av. d’italie", "Avenue d'ITALIE"),
        ("Saint John Street", "St. John St"),
        ("Quai Albert Ier", "quai albert 1er"),
    ],
)
def test_name_key_is_one_for_all_spellings(names: tuple[str, ...]) -> None:
    assert len({name_key(name) for name in names}) == 1


def test_name_keys_of_other_names_differ() -> None:
    assert name_key("Landweg") != name_key("Landstrasse")
    assert name_key("12a") != name_key("12b")


def test_split_compound_leaves_short_stems() -> None:
    assert split_compound("landstrasse") == ("land", "strasse")
    assert split_compound("umweg") is None
    assert split_compound("weg") is None


def test_little_words_and_digits_are_marked() -> None:
    little, word, number = slots("de Costa 12a")
    assert little.is_little
    assert not word.is_little
    assert number.has_digit


@given(st.text(max_size=200))
def test_any_text_is_found_by_itself(text: str) -> None:
    assert len(slots(text)) <= MAX_WORDS
    if len(slots(text)) < MAX_WORDS:
        assert matches(text, text)
    assert all(" " not in term for term in terms(text))


@given(st.text(max_size=100))
def test_fold_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)
