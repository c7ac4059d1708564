"""How an address is written in each country, and what countries are called.

The orders are those of OpenCage's address formatting (data/README.md): lines of components, with
alternatives where one may be missing.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Final

_TOKEN = re.compile(r"\{([^}]+)\}")
_SPACES = re.compile(r"\s{2,}")
_LONE: Final = " ,-."


@lru_cache(maxsize=1)
def _templates() -> dict[str, list[str]]:
    packed = resources.files("mapyard.geocoding").joinpath("data/address_formats.txt.gz")
    found = {}
    for line in gzip.decompress(packed.read_bytes()).decode().splitlines():
        code, _, text = line.partition("\t")
        found[code] = text.split("\\n")
    return found


def format_lines(parts: Mapping[str, str], country_code: str) -> list[str]:
    """Return the lines of an address: name, number, street, suburb, postcode, city, county, state,
    state_code and country, each "" or missing where it is unknown, in the order of a country.
    """
    templates = _templates()

    def fill(match: re.Match[str]) -> str:
        for alternative in match[1].split("|"):
            found = " ".join(filter(None, (parts.get(name, "") for name in alternative.split("+"))))
            if found:
                return found
        return ""

    lines = []
    for template in templates.get(country_code) or templates["default"]:
        text = _SPACES.sub(" ", _TOKEN.sub(fill, template)).replace(" ,", ",")
        lines.append(text.strip(_LONE) if any(map(str.isalnum, text)) else "")
    return [line for line in dict.fromkeys(lines) if line]


def join_lines(parts: list[str]) -> str:
    """Return the parts as one line, empty ones and repetitions left out."""
    return ", ".join(part for part in dict.fromkeys(parts) if part)


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
