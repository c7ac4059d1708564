"""What countries are called: a table of our own, with babel as the peer that reads CLDR itself."""

from __future__ import annotations

import pytest

from mapyard.geocoding.answer.formats import country_name


@pytest.mark.parametrize(
    ("code", "langs", "name"),
    [
        ("DE", ("fr",), "Allemagne"),
        ("DE", (), "Deutschland"),
        ("DE", ("tlh", "es"), "Alemania"),
        ("DE", ("en-US",), "Germany"),
        ("DE", ("de_AT",), "Deutschland"),
        ("BY", ("de",), "Belarus"),
        ("US", ("zh-TW",), "美國"),
        ("US", ("zh-CN",), "美国"),
        ("FR", ("iw",), "צרפת"),
        ("", ("en",), ""),
        ("XY", ("en",), ""),
    ],
)
def test_a_country_is_called_by_the_first_language_that_is_known(
    code: str, langs: tuple[str, ...], name: str
) -> None:
    assert country_name(code, langs) == name


def test_all_names_are_those_of_cldr() -> None:
    babel = pytest.importorskip("babel")
    locales = pytest.importorskip("babel.localedata").locale_identifiers()
    codes = [code for code in babel.Locale("en").territories if len(code) == 2]
    for identifier in (*locales, "zh_HK", "zh_MO", "sr_ME", "in", "ji"):
        theirs = babel.Locale.parse(identifier).territories
        for code in codes:
            if theirs.get(code):
                assert country_name(code, (identifier,)) == theirs[code], (identifier, code)
