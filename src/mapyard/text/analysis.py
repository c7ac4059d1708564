"""Analysis of names and addresses: the terms of a name, and the slots of a query.

One analysis serves both sides of the index. A name gives a set of terms. A query gives one `Slot`
per word, with alternatives; an alternative is a tuple of terms that must all be there. What is
written joined, apart, abbreviated, with umlauts or as a numeral meets in one of them:

    terms("Landstrasse")    landstrasse land strasse
    slots("Landstr.")       [landstr] or [landstrasse] or [land, strasse]
    terms("Clematis Weg")   clematis weg clematisweg
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from mapyard.text.folding import (
    fold,
    fold_umlauts,
    is_spaceless,
    split_apostrophe,
    split_grams,
    split_words,
)
from mapyard.text.latin import latin_terms
from mapyard.text.words import (
    ABBREVIATIONS,
    GROUPS,
    LITTLE_WORDS,
    ORDINAL_ENDINGS,
    ORDINALS,
    ROMAN,
    SUFFIX_FORMS,
    SUFFIXES,
)

#: Longer queries are refused or cut by the callers; more words than this are ignored.
MAX_WORDS = 24
MAX_WORD_LETTERS = 60
_HAS_UMLAUT = re.compile("[äöüåøÄÖÜÅØ]|[aouAOU][\u0308\u030a]")
_ORDINAL = re.compile(rf"^(\d{{1,3}})(?:{'|'.join(sorted(set(ORDINAL_ENDINGS), key=len)[::-1])})$")
_MIN_STEM = 3


class Slot(NamedTuple):
    """One word of a query and what may stand for it in a name."""

    #: The word as typed, folded.
    word: str
    #: Each alternative is a tuple of terms that must all be in the name.
    alternatives: tuple[tuple[str, ...], ...]
    #: Whether it is a word like "de" or "of", which hardly tells names apart.
    is_little: bool
    has_digit: bool


@lru_cache(maxsize=65_536)
def split_compound(word: str) -> tuple[str, str] | None:
    """Return (stem, full form of the street word) of a joined street name, or None."""
    for suffix, full in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            return word[: -len(suffix)], full
    return None


def is_ordinal(word: str) -> bool:
    """Return whether a folded word is a number with an ending: 220th."""
    return word[0].isdigit() and _ORDINAL.match(word) is not None


def _parts(bare: str) -> tuple[str, str] | None:
    return split_compound(bare) if len(bare) > _MIN_STEM + 1 else None


@lru_cache(maxsize=65_536)
def _numeral(word: str) -> str | None:
    """Return the number that an ordinal or Roman numeral stands for."""
    if word[0].isdigit():
        match = _ORDINAL.match(word)
        return match.group(1) if match else None
    return ORDINALS.get(word) or ROMAN.get(word)


@lru_cache(maxsize=65_536)
def _word_forms(word: str) -> tuple[tuple[str, ...], ...]:
    """Return the alternatives of one folded word; the first is the word itself."""
    if is_spaceless(word):
        return ((word,), tuple(split_grams(word))) if len(word) > 1 else ((word,),)
    bare, joined = split_apostrophe(word)
    forms: list[tuple[str, ...]] = [(bare,)]
    if joined != bare:
        forms.append((joined,))
    forms += [(full,) for full in ABBREVIATIONS.get(bare, ())]
    compound = _parts(bare)
    if compound:
        stem, full = compound
        forms += [(stem + full,), (stem, full)]
    number = _numeral(bare)
    if number:
        forms.append((number,))
    if bare.startswith("ال") and len(bare) > 4:
        forms.append((bare[2:],))
    return tuple(dict.fromkeys(forms))


@lru_cache(maxsize=1_024)
def _spell(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the folded spellings of a text, one, or two with umlauts, and the words of each.

    Kept for the moment: all that is asked of a name while it is indexed begins with it.
    """
    spellings = [fold(text)]
    if not text.isascii() and _HAS_UMLAUT.search(text):
        spellings.append(fold_umlauts(text))
    return tuple((spelling, tuple(split_words(spelling))) for spelling in spellings)


@lru_cache(maxsize=16_384)
def terms(name: str) -> tuple[str, ...]:
    """Return the terms under which a name is found, each once: of whole words and their parts."""
    return tuple(dict.fromkeys((*whole_terms(name), *part_terms(name))))


@lru_cache(maxsize=16_384)
def part_terms(name: str) -> tuple[str, ...]:
    """Return the parts of joined street names in a name: landstrasse → land, strasse."""
    found: dict[str, None] = {}
    for _, words in _spell(name):
        for word in words:
            if parts := _parts(split_apostrophe(word)[0]):
                found |= dict.fromkeys(parts)
    return tuple(found)


@lru_cache(maxsize=8_192)
def postcode_terms(code: str) -> tuple[str, ...]:
    """Return the terms of a postcode: its parts, and all of it joined (V6G 1Y7 → v6g1y7)."""
    words = split_words(fold(code))
    return tuple(dict.fromkeys((*words, "".join(words))))


@lru_cache(maxsize=8_192)
def script_terms(name: str) -> tuple[str, ...]:
    """Return the words of a name in Latin letters, those that are not."""
    if name.isascii():
        return ()
    words = _spell(name)[0][1]
    return tuple(dict.fromkeys(term for word in words for term in latin_terms(word)))


@lru_cache(maxsize=65_536)
def _word_terms(word: str) -> tuple[str, ...]:
    """Return the terms of one folded word, its parts aside."""
    bare = split_apostrophe(word)[0]
    parts = _parts(bare)
    found = dict.fromkeys(
        term[:MAX_WORD_LETTERS] for form in _word_forms(word) if form != parts for term in form
    )
    if is_spaceless(word):
        found |= dict.fromkeys(word)
    if "'" in word:
        found[word.partition("'")[0]] = None
    return tuple(found)


@lru_cache(maxsize=16_384)
def whole_terms(name: str) -> tuple[str, ...]:
    """Return the terms of the whole words of a name, each once, in order of appearance."""
    found: dict[str, None] = {}
    for spelling, words in _spell(name):
        previous = ""
        for word in words:
            found |= dict.fromkeys(_word_terms(word))
            bare = split_apostrophe(word)[0]
            if previous and bare in SUFFIX_FORMS:
                found[previous + bare] = None
                for full in ABBREVIATIONS.get(bare, ()):
                    found[previous + full] = None
            previous = bare
        if "-" in spelling:
            for hyphened in re.findall(r"[^\W_]+(?:-[^\W_]+)+", spelling):
                found[hyphened.replace("-", "")[:MAX_WORD_LETTERS]] = None
    return tuple(found)


def _is_little(word: str) -> bool:
    return word in LITTLE_WORDS or split_apostrophe(word)[0] in LITTLE_WORDS


def count_words(name: str) -> int:
    """Return the number of words of a name, little ones aside."""
    return sum(not _is_little(word) for word in _spell(name)[0][1][:MAX_WORDS])


def slots(text: str) -> list[Slot]:
    """Return the slots of a query in order, at most `MAX_WORDS`."""
    spellings = [words[:MAX_WORDS] for _, words in _spell(text)]
    found = []
    for i, word in enumerate(spellings[0]):
        forms = dict.fromkeys(_word_forms(word[:MAX_WORD_LETTERS]))
        # Both spellings have the same words unless a letter is lost, which folding never does.
        if len(spellings) > 1 and len(spellings[1]) == len(spellings[0]):
            forms |= dict.fromkeys(_word_forms(spellings[1][i][:MAX_WORD_LETTERS]))
        found.append(
            Slot(
                word=word[:MAX_WORD_LETTERS],
                alternatives=tuple(forms),
                is_little=_is_little(word),
                has_digit=any(letter.isdigit() for letter in word),
            )
        )
    return found


@lru_cache(maxsize=65_536)
def name_key(name: str) -> str:
    """Return the key under which two spellings of one whole name are equal.

    "Nofler Strasse", "Noflerstr." and "NOFLERSTRASSE" have the same key, as have "St. John Street"
    and "Saint John St". It is coarse: compare it only among names that are near each other.
    """
    return _join_key(split_words(fold(name)))


def _join_key(words: Iterable[str]) -> str:
    return " ".join(map(_word_key, words))


@lru_cache(maxsize=65_536)
def _word_key(word: str) -> str:
    bare = split_apostrophe(word)[0]
    parts = _parts(bare) or (_numeral(bare) or bare,)
    return " ".join(GROUPS.get(part, part) for part in parts)


def name_keys(name: str) -> list[str]:
    """Return the keys of a name in its folded spellings, without empty ones."""
    return [key for key in dict.fromkeys(_join_key(words) for _, words in _spell(name)) if key]
