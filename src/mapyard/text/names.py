"""Which tags are names, and the names of many rows at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

#: Keys of whole names, each also with a language (`alt_name:de`) and numbered (`name_1`).
NAME_KEYS: Final = (
    "name", "official_name", "short_name", "alt_name", "loc_name", "int_name", "nat_name",
    "reg_name", "old_name", "uic_name", "bridge:name", "tunnel:name",
)  # fmt: skip
#: Keys by which things are looked for besides their names.
OTHER_KEYS: Final = ("ref", "int_ref", "nat_ref", "loc_ref", "operator", "brand", "iata", "icao")
_KEY = re.compile(
    rf"(?P<base>{'|'.join(NAME_KEYS)})(?:_\d+)?(?::(?P<suffix>[a-z]{{2,3}}(?:[-_][A-Za-z0-9_-]+)?"
    r"|left|right|ja_[a-z]+|latin))?"
)


@lru_cache(maxsize=4_096)
def parse_name_key(key: str) -> tuple[str, str] | None:
    """Return (base key, language or "") of a key that holds a name, or None."""
    match = _KEY.fullmatch(key)
    return (match["base"], match["suffix"] or "") if match else None


def split_values(text: str) -> list[str]:
    """Return the single values of a tag value with semicolons."""
    if ";" not in text:
        return [text]
    return [value.strip() for value in text.split(";") if value.strip()]


def iter_names(tags: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield (base key, language or "", name) of an element, the main name first."""
    if "name" in tags:
        for value in split_values(tags["name"]):
            yield "name", "", value
    for key, value in tags.items():
        if key == "name" or "name" not in key:
            continue
        parsed = parse_name_key(key)
        if parsed:
            for single in split_values(value):
                yield *parsed, single


def get_name(tags: Any, langs: tuple[str, ...] = ()) -> str:
    """Return the name in the first of the languages that has one, else the local one, else "".

    A language falls back to its base ("pt-BR" → "pt"); without any, int_name and name:en serve
    before official and short names.
    """
    for lang in langs:
        for candidate in dict.fromkeys((lang, lang.replace("-", "_"), lang.partition("-")[0])):
            name = tags.get(f"name:{candidate}")
            if name:
                return str(name)
    for key in ("name", "int_name", "name:en", "official_name", "short_name", "alt_name"):
        if tags.get(key):
            return split_values(tags[key])[0]
    return ""
