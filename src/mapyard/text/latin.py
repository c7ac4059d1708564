"""Names of other scripts in Latin letters, as people without a keyboard for them type.

Systems of transliteration differ (Shchyolkovskaya, Ščëlkovskaja), so a word has two forms: the
plain one, and a skeleton in which what they write differently is the same.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import Final

from anyascii import anyascii

from mapyard.text.folding import is_spaceless

#: Marks skeletons in the index, so that they meet nothing but skeletons.
MARK: Final = "~"
_HAN = re.compile("[\u4e00-\u9fff\u3400-\u4dbf]+")
_SYLLABLE = re.compile("[A-Z][a-z]*")
_MOST_SYLLABLES: Final = 12
#: A syllable of Chinese in Latin letters (pinyin), without its tone.
_SYLLABLES: Final = (
    "(?:(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?"
    "(?:iang|iong|uang|ang|eng|ing|ong|ian|iao|uai|uan|ai|an|ao|ei|en|er|ia|ie|in|iu|ou|ua|ue|ui|un"
    "|uo|ve|[aeiouv]))"
)
_SOUND = re.compile(_SYLLABLES)
_SOUNDS = re.compile(f"{_SYLLABLES}+")
# What systems of transliteration write differently, the longer first.
_SAME: Final = (
    ("shch", "s"), ("sch", "s"), ("tch", "c"), ("sc", "s"), ("kh", "h"),
    ("zh", "z"), ("sh", "s"), ("ch", "c"),
    ("ts", "c"), ("tz", "c"), ("dj", "z"), ("dh", "d"), ("gh", "g"), ("th", "t"), ("ph", "f"),
    ("ck", "k"), ("qu", "k"), ("ks", "x"), ("oo", "u"), ("ou", "u"), ("ee", "i"), ("yo", "e"),
    ("jo", "e"), ("io", "e"), ("yu", "u"), ("ju", "u"), ("iu", "u"), ("ya", "a"), ("ja", "a"),
    ("ia", "a"), ("ye", "e"), ("je", "e"), ("ie", "e"), ("y", "i"), ("j", "i"), ("w", "v"),
    ("q", "k"),
)  # fmt: skip
_DOUBLED = re.compile(r"(.)\1+")


@lru_cache(maxsize=65_536)
def skeleton(word: str) -> str:
    """Return the skeleton of a folded Latin word: shchelkovskaya and scelkovskaja have the same."""
    for one, other in _SAME:
        if one in word:
            word = word.replace(one, other)
    return _DOUBLED.sub(r"\1", word)


@lru_cache(maxsize=16_384)
def latin_terms(word: str) -> tuple[str, ...]:
    """Return a folded word of another script in Latin letters, () when it is Latin.

    A run of Han gives the sounds of its characters, of each two and of all: nanjing, xi, lu.
    """
    if word.isascii():
        return ()
    text = anyascii(word)
    plain = "".join(re.findall("[a-z0-9]+", text.lower()))
    if not plain or plain.isdigit():
        return ()
    found = dict.fromkeys((plain, MARK + skeleton(plain)))
    if _HAN.fullmatch(word):
        syllables = _split_syllables(text)
        found |= dict.fromkeys(syllables)
        found |= dict.fromkeys(map("".join, itertools.pairwise(syllables)))
    elif is_spaceless(word):
        found = {plain: None}
    return tuple(found)


@lru_cache(maxsize=16_384)
def latin_alternatives(word: str) -> tuple[tuple[str, ...], ...]:
    """Return what a folded word of another script may be in Latin letters, () when it is Latin.

    Each alternative is terms that all belong to it: of a run of Han all of its sounds.
    """
    found = latin_terms(word)
    if not found or not _HAN.fullmatch(word):
        return tuple((term,) for term in found if len(term) > 1)
    whole = tuple((term,) for term in found[:2])
    return (*whole, tuple(dict.fromkeys(_split_syllables(anyascii(word)))))


def split_sounds(word: str) -> tuple[str, ...]:
    """Return the syllables of two and more Chinese characters in Latin letters, () for others."""
    if not word.isascii() or not _SOUNDS.fullmatch(word):
        return ()
    found: list[str] = []
    rest = word
    while rest:
        # The longest beginning that leaves syllables behind it.
        for match in sorted(_beginnings(rest), key=len, reverse=True):
            if len(match) == len(rest) or _SOUNDS.fullmatch(rest[len(match) :]):
                found.append(match)
                rest = rest[len(match) :]
                break
        else:
            return ()
    return tuple(found) if 1 < len(found) <= _MOST_SYLLABLES else ()


def _beginnings(word: str) -> list[str]:
    return [word[:n] for n in range(1, min(6, len(word)) + 1) if _SOUND.fullmatch(word[:n])]


def _split_syllables(text: str) -> list[str]:
    return [part.lower() for part in _SYLLABLE.findall(text)][:_MOST_SYLLABLES]
