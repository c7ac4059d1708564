"""Kinds of things: which tag says what an element is, and the words people use for it.

The words are in categories.txt, written from common usage as people type them, and in
data/kinds.txt.xz: names and terms of the editor's presets in many languages (data/README.md).
"""

from __future__ import annotations

import lzma
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from typing import Final, NamedTuple

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
    "near nearby around close next nahe bei beim um pres proche vicino cerca perto prop bij naast "
    "nabij ved nar naer lahella poblizu blizko blizu u kod pri kolo obok blisko niedaleko yakin "
    "yakininda kozeleben langa aproape dekat gan κοντα рядом возле около у близ біля поруч "
    "قرب בקרבת ליד"
)
_IN_WORDS: Final = "in at by im a au aux de dans en em i to с"
#: Words between a kind and a place that ask for what is around it: "museum near Schaan".
NEAR_WORDS: Final = frozenset(_NEAR_WORDS.split())
#: Words that may also ask for what is in it, or be part of a name: "hôtel de Paris".
IN_WORDS: Final = frozenset(_IN_WORDS.split())
#: At most this many words make one phrase.
MAX_PHRASE: Final = 4


#: Tags besides those that say what a thing is and of what kind.
FURTHER_KEYS: Final = ("cuisine", "religion")
#: Things without a name are found by their kind, where people look for that: of these keys all,
_UNNAMED_KEYS: Final = ("amenity", "shop", "tourism", "healthcare", "craft", "office")
#: but for furniture and parts of something.
_FURNITURE: Final = frozenset(
    f"amenity={value}"
    for value in (
        "bench", "waste_basket", "parking_space", "parking_entrance", "bicycle_repair_station",
        "hunting_stand", "grit_bin", "feeding_place", "vending_machine", "loading_dock", "lounger",
        "table", "clock", "letter_box", "dog_toilet", "watering_place",
    )
) | {"tourism=information", "tourism=artwork"}  # fmt: skip
_TERM: Final = "~"


class Found(NamedTuple):
    """A phrase for a kind in a query: where it stops, its tags, whether it is the kind's name."""

    stop: int
    tags: tuple[str, ...]
    is_name: bool


class Kinds:
    """The words for the kinds of things that a dataset holds."""

    def __init__(self, has_tag: Callable[[str], bool]) -> None:
        #: Tags as they are written in the table → those of them that there are.
        present: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}
        for phrase, text in _iter_phrases():
            tags = present.get(text)
            if tags is None:
                tags = present[text] = tuple(filter(has_tag, text.split(" ")))
            if not tags:
                continue
            if phrase.startswith(_TERM):
                self._terms[phrase[1:]] = tags
            else:
                self._names[phrase] = tags
        #: First words of phrases: most words of a query are none.
        self._firsts = {phrase.partition(" ")[0] for phrase in (*self._names, *self._terms)}
        self._sorted = sorted(phrase for phrase in self._names if " " not in phrase)

    def find(self, words: Sequence[str], start: int) -> Found | None:
        """Return the longest phrase at words[start:], or None."""
        if words[start] not in self._firsts:
            return None
        for stop in range(min(len(words), start + MAX_PHRASE), start, -1):
            phrase = " ".join(words[start:stop])
            for table, is_name in ((self._names, True), (self._terms, False)):
                tags = table.get(phrase)
                if tags:
                    return Found(stop, tags, is_name)
        return None

    def complete(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the tags of names that begin with a text, when they are few."""
        found: dict[str, None] = {}
        for phrase in self._sorted[bisect_left(self._sorted, word) :]:
            if not phrase.startswith(word):
                break
            found |= dict.fromkeys(self._names[phrase])
            if len(found) > limit:
                return ()
        return tuple(found)


def _read(name: str) -> str:
    file = resources.files("mapyard.geocoding").joinpath(name)
    if name.endswith(".xz"):
        return lzma.decompress(file.read_bytes()).decode()
    return file.read_text()


def _own_phrases() -> dict[str, str]:
    table: dict[str, dict[str, None]] = {}
    for line in _read("categories.txt").splitlines():
        if line.startswith("#"):
            continue
        tag, _, words = line.partition(": ")
        for phrase in [*words.split(), tag.partition("=")[2]]:
            key = " ".join(split_words(fold(phrase.replace("_", " "))))
            table.setdefault(key, {})[tag] = None
    return {phrase: " ".join(tags) for phrase, tags in table.items()}


def _iter_phrases() -> Iterator[tuple[str, str]]:
    """Yield phrases, those that only describe a kind behind a mark, and their tags.

    Our own words come last, as they win.
    """
    for line in _read("data/kinds.txt.xz").splitlines():
        tags, *phrases = line.split("\t")
        for phrase in phrases:
            yield phrase, tags
    yield from _own_phrases().items()


@lru_cache(maxsize=1)
def indexed_tags() -> frozenset[str]:
    """Return the tags "key=value" whose things are found by their kind even without a name."""
    own = {tag for tags in _own_phrases().values() for tag in tags.split(" ")}
    kinds = {line.partition("\t")[0] for line in _read("data/kinds.txt.xz").splitlines()}
    said = own | {tag for texts in kinds for tag in texts.split(" ")}
    of_key = {tag for tag in said if tag.partition("=")[0] in _UNNAMED_KEYS}
    return frozenset(own | of_key - _FURNITURE)


@lru_cache(maxsize=1)
def _brands() -> dict[str, list[str]]:
    lines = (line.split("\t") for line in _read("data/brands.txt.xz").splitlines())
    return {brand: names.split("|") for brand, names in lines}


def find_brand_names(brand: str) -> list[str]:
    """Return other names of a brand."""
    return _brands().get(fold(brand), [])


def get_category(tags: dict[str, str]) -> tuple[str, str]:
    """Return (key, value) that says what an element is, ("", "") when nothing does."""
    for key in CATEGORY_KEYS:
        value = tags.get(key)
        if value and value != "no":
            return key, value
    return "", ""
