"""How an address is written in each country, and what countries are called.

Orders follow the postal habits of the countries; where a country is not listed, the number follows
the street and the postcode precedes the town, as in most of Europe.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_NUMBER_FIRST: Final = """
AU BM BS BZ CA CI CN DZ EG FR GB GG GH GI GY HK IE IL IM IN IR JE JM JO JP KE KR LB LK LU MA MC
MG MT MU MV MY NC NG NZ OM PF PH PK QA RE SA SC SG SN TH TN TT US VI VN YT ZA ZW
"""
#: Number before the street.
NUMBER_FIRST: Final = frozenset(_NUMBER_FIRST.split())
_POSTCODE_LAST: Final = """
AU BD BM BN CA CN EG GB GG GI HK ID IE IM IN JE JM JP KE KR LB LK MT MV MY NG NP NZ PH PK SA SG
TH TT TW US VN ZA
"""
#: Postcode behind the town.
POSTCODE_LAST: Final = frozenset(_POSTCODE_LAST.split())
#: The state is part of the line of the town.
WITH_STATE: Final = frozenset(("AU", "BR", "CA", "IN", "MX", "MY", "US"))


def format_street(street: str, number: str, country_code: str) -> str:
    """Return the line of street and number."""
    if not street or not number:
        return street or number
    if country_code in NUMBER_FIRST:
        return f"{number} {street}"
    return f"{street} {number}"


def format_town(town: str, postcode: str, state: str, country_code: str) -> str:
    """Return the line of postcode and town, with the state where it belongs there."""
    if country_code in WITH_STATE and state and state != town:
        tail = f"{state} {postcode}".strip()
        return ", ".join(part for part in (town, tail) if part)
    parts = (town, postcode) if country_code in POSTCODE_LAST else (postcode, town)
    return " ".join(part for part in parts if part)


def join_lines(parts: list[str]) -> str:
    """Return the parts as one line, empty ones and repetitions left out."""
    kept: list[str] = []
    for part in parts:
        if part and part not in kept:
            kept.append(part)
    return ", ".join(kept)


@lru_cache(maxsize=1_024)
def country_name(code: str, langs: tuple[str, ...]) -> str:
    """Return what a country is called in the first language that CLDR knows, else in its own."""
    from babel import Locale, UnknownLocaleError  # large; the first answer may wait, not a start
    from babel.languages import get_official_languages

    official = get_official_languages(code, de_facto=True) if code else ()
    for lang in (*langs, *official[:1], "en"):
        try:
            name = Locale.parse(lang.replace("-", "_")).territories.get(code)
        except (UnknownLocaleError, ValueError):
            continue
        if name:
            return str(name)
    return ""
