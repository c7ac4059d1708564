"""How an address is written in each country, and what countries are called.

The orders are those of OpenCage's address formatting (data/README.md): lines of components, with
alternatives where one may be missing.
"""

from __future__ import annotations

import gzip
import lzma
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
    labels, official = _country_labels()
    own = official.get(code, "")
    for lang in (*langs, *([own] if own else []), "en"):
        tag = lang.replace("_", "-").lower()
        while tag:
            name = labels.get(tag, {}).get(code)
            if name:
                return name
            tag = tag.rpartition("-")[0]
    return ""


@lru_cache(maxsize=1)
def _country_labels() -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return language → code → name, where a language differs from its parent; code → language."""
    packed = resources.files("mapyard.geocoding").joinpath("data/country_labels.txt.xz")
    labels: dict[str, dict[str, str]] = {}
    for line in lzma.decompress(packed.read_bytes()).decode().splitlines():
        head, _, tail = line.partition("\t")
        short, _, meant = head.partition(">")
        if meant:
            labels[short] = labels.get(meant.rpartition("-")[0], {}) | labels.get(meant, {})
        else:
            pairs = (entry.partition(" ") for entry in tail.split("\t"))
            labels[head] = {code: name for code, _, name in pairs}
    return labels, labels.pop("official")
