"""Kinds of things: which tag says what an element is, and the words people use for it.

The words are in categories.txt, written from common usage as people type them.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Final

from mapyard.text.folding import fold, split_words

#: Keys that say what a thing is, the more telling first.
CATEGORY_KEYS: Final = (
    "amenity", "shop", "tourism", "leisure", "historic", "office", "craft", "healthcare",
    "emergency", "club", "sport", "railway", "public_transport", "aeroway", "aerialway",
    "man_made", "natural", "waterway", "water", "mountain_pass", "military", "power", "telecom",
    "attraction", "playground", "artwork_type", "landuse", "highway", "piste:type", "route",
    "place", "boundary", "bridge", "building", "barrier",
)  # fmt: skip

_NEAR_WORDS: Final = (
    "near nearby around close next nahe bei beim um pres proche vicino cerca perto bij naast ved"
)
_IN_WORDS: Final = "in at by im a au aux de dans en em i to"
#: Words between a kind and a place that ask for what is around it: "museum near Schaan".
NEAR_WORDS: Final = frozenset(_NEAR_WORDS.split())
#: Words that may also ask for what is in it, or be part of a name: "hôtel de Paris".
IN_WORDS: Final = frozenset(_IN_WORDS.split())
#: At most this many words make one phrase.
MAX_PHRASE: Final = 4


@lru_cache(maxsize=1)
def _phrases() -> dict[tuple[str, ...], tuple[str, ...]]:
    table: dict[tuple[str, ...], dict[str, None]] = {}
    text = resources.files("mapyard.geocoding").joinpath("categories.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        tag, _, words = line.partition(": ")
        for phrase in [*words.split(), tag.partition("=")[2]]:
            key = tuple(split_words(fold(phrase.replace("_", " "))))
            table.setdefault(key, {})[tag] = None
    return {key: tuple(tags) for key, tags in table.items()}


def find_phrase(words: list[str], start: int) -> tuple[int, tuple[str, ...]] | None:
    """Return (stop, tags) of the longest category phrase at words[start:], or None."""
    phrases = _phrases()
    for stop in range(min(len(words), start + MAX_PHRASE), start, -1):
        tags = phrases.get(tuple(words[start:stop]))
        if tags:
            return stop, tags
    return None


@lru_cache(maxsize=1)
def indexed_tags() -> frozenset[str]:
    """Return the tags "key=value" that have words."""
    return frozenset(tag for tags in _phrases().values() for tag in tags)


def get_category(tags: dict[str, str]) -> tuple[str, str]:
    """Return (key, value) that says what an element is, ("", "") when nothing does."""
    for key in CATEGORY_KEYS:
        value = tags.get(key)
        if value and value != "no":
            return key, value
    return "", ""
