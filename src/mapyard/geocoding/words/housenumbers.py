"""House numbers of the world: their one spelling, lists and ranges, and candidates in a query.

The key of a number is Latin and has no spaces: "12 A" → "12a", "4 bis" → "4bis", "12/3" and "12-3"
→ "12-3", "д. 3, корп. 7" → "3k7", "2之2號" → "2-2", "6729½" → "6729-1-2".
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from anyascii import anyascii

from mapyard.text.folding import fold, spell_numerals, split_words

#: A range wider than this is no range of house numbers ("1-999" is a name of its own).
MAX_RANGE: Final = 200
_SMALLEST_LISTED: Final = 10
_SUFFIXES: Final = frozenset(["bis", "ter", "quater", "quinquies", "sexies"])
_RANGE = re.compile(r"^(\d{1,5})\s*[-–—/]\s*(\d{1,5})$")
_LETTERS = re.compile(r"^(\d{1,5})\s*([a-z])(?:\s*[-–—]\s*([a-z])|((?:\s*[/+&,]\s*[a-z])+))$")
_PAIR = re.compile(r"^(\d{1,5}[a-z]?)\s*/\s*(\d{1,4}[a-z]?)$")
_NUMBER = re.compile(r"^\d{1,5}")
_WORD = re.compile(
    r"^(\d{1,6}(?:[^\W\d_]{0,3}|quater)(?:[kcsкс]\d{1,3}){0,2}|[^\W\d_]{1,3}\d{1,5})$"
)
_PART = re.compile(rf"^(\d{{1,5}}[a-z]?|[^\W\d_]|[kcsкс]\d{{1,3}}|{'|'.join(sorted(_SUFFIXES))})$")
#: A short word that is part of the number behind it: "C-165".
_BEFORE = re.compile(r"^([a-z]{1,2}|lot)$")
_ATTACHED = re.compile(r"^[kscкс]\d{1,3}$")

# ---- spellings of the world -------------------------------------------------------------------

_FRACTION = re.compile("[¼½¾⅐-⅞]")
_SPELLINGS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        # Russian: house, corpus, structure, letter.
        (r"(?<![^\W_])(?:дом|д|владение|влд?|уч(?:асток)?)\.?\s*(?=\d)", " "),
        (r"(?:(?<=\d)|(?<=\d[а-я]))\s*,?\s*(?:корпус|корп|кор|к)\.?\s*(?=\d)", "к"),
        (r"(?:(?<=\d)|(?<=\d[а-я]))\s*,?\s*(?:строение|стр|с)\.?\s*(?=\d)", "с"),
        (r"(?<=\d)\s*,?\s*(?:литера?|лит)\.?\s*(?=[а-я]\b)", ""),
        (r"(?<=\d)\s*,?\s*\b(?:korpus|korp|kor)\.?\s*(?=\d)", "k"),
        (r"(?<=\d)\s+k\.?\s*(?=\d)", "k"),
        # Chinese and Japanese.
        (r"(?<=[\u3040-\u30ff\u4e00-\u9fff])(?<![段巷弄號号邻鄰目])\s*(\d{1,2})-(\d{1,3})-(\d{1,4})(?!\d)",
         r"\1丁目 \2-\3 "),
        (r"(\d+)\s*(?:之|-|の|ノ)\s*(\d+)\s*[號号]?(?!\s*[樓楼段巷弄鄰邻]|\d|-)", r" \1-\2 "),
        (r"(?<=丁目)\s*(\d+)\s*番\s*地?\s*の?\s*(\d+)\s*号?", r" \1-\2 "),
        (r"(\d+)\s*番\s*地?\s*の?\s*(\d+)\s*号?", r" \1-\2 "),
        (r"(\d+)\s*番\s*地", r" \1 "),
        (r"(\d+)\s*[號号]\s*之\s*(\d+)", r" \1-\2 "),
        (r"(\d+)\s*[號号](?!室)", r" \1, "),
        # The same in Latin letters: "er duan 27 xiang 2 hao".
        (r"(?<=\d)\s*hao(?![^\W_])", ", "),
        # Numero sign in its spellings; none at all.
        (r"(?<![^\W_])n\s*[°º]\s*(?=\d)", " "),
    )
)  # fmt: skip
_HAS_WORDS = re.compile(r"[^\x00-\x7f]|kor|\dk| k|duan|hao")
#: Chinese numerals in Latin letters, and sections of streets with them: "er duan".
_SOUNDS: Final = ("yi", "er", "san", "si", "wu", "liu", "qi", "ba", "jiu")
_SECTIONS = re.compile(rf"(?<![^\W_])({'|'.join(_SOUNDS)})[\s-]*(?=duan(?![^\W_]))", re.IGNORECASE)


def spell_numbers(text: str) -> str:
    """Return a text with house numbers in the spelling that the keys are made of."""
    if not _HAS_WORDS.search(text.lower()):
        return text
    if _FRACTION.search(text):
        text = _FRACTION.sub(lambda m: " " + unicodedata.normalize("NFKC", m[0]), text)
        text = text.replace("\u2044", "/")
    text = spell_numerals(unicodedata.normalize("NFKC", text.replace("№", " ")))
    text = _SECTIONS.sub(lambda m: f"{_SOUNDS.index(m[1].lower()) + 1} ", text)
    for pattern, form in _SPELLINGS:
        text = pattern.sub(form, text)
    return text


@lru_cache(maxsize=16_384)
def _latin(word: str) -> str:
    return word if word.isascii() else anyascii(word).lower()


def join_number(words: Sequence[str]) -> str:
    """Return the key of a house number from its folded words."""
    key = ""
    for word in words:
        is_attached = word.isalpha() or _ATTACHED.match(word)
        latin = _latin(word)
        if is_attached and latin[:1] == "c" and not word.isalpha():
            latin = "s" + latin[1:]  # the Cyrillic letter is often typed so
        attached = not key or (is_attached and key[-1].isdigit())
        key += latin if attached else f"-{latin}"
    return key


@lru_cache(maxsize=65_536)
def parse_numbers(text: str) -> tuple[str, ...]:
    """Return the keys of all numbers that one addr:housenumber stands for.

    "7;9" → 7 9; "17-19" → 17-19 17 19; "1-4" → 1-4 1 2 3 4; "39A/B" → 39a-b 39a 39b. A range of
    two even or two odd numbers holds the even or odd ones only. Of "1234/5" both numbers count, as
    in Czechia; of "12/3" the first one, as the second is a flat. The first key is the number as it
    is written.
    """
    keys: dict[str, None] = {}
    for part in re.split(r"[;,、]|\s\+\s", spell_numbers(text)):
        folded = fold(part).strip()
        words = split_words(folded)
        if not words:
            continue
        keys[join_number(words)] = None
        if match := _RANGE.match(folded):
            low, high = int(match[1]), int(match[2])
            # Joined by a stroke, small numbers are a house and its flat.
            is_list = "/" not in folded or low >= _SMALLEST_LISTED
            if low < high <= low + MAX_RANGE and is_list:
                step = 2 if (high - low) % 2 == 0 else 1
                keys |= dict.fromkeys(map(str, range(low, high + 1, step)))
        elif match := _LETTERS.match(folded):
            letters = re.findall(r"[a-z]", (match[4] or "") + (match[3] or ""))
            first = match[2]
            if match[3] and first < match[3]:
                letters = [chr(code) for code in range(ord(first), ord(match[3]) + 1)]
            keys |= dict.fromkeys(match[1] + letter for letter in [first, *letters])
        if match := _PAIR.match(folded):
            keys[match[1]] = None
            if leading_number(match[1]) >= 100:
                keys[match[2]] = None
    return tuple(keys)


@lru_cache(maxsize=65_536)
def is_hyphened(text: str) -> bool:
    """Return whether a number is two with a hyphen between them: 89-63."""
    return "/" not in text and _RANGE.match(text) is not None


def is_range(text: str) -> bool:
    """Return whether a number is a range of several: 12-14."""
    match = _RANGE.match(text)
    return match is not None and int(match[1]) < int(match[2]) <= int(match[1]) + MAX_RANGE


def leading_number(key: str) -> int:
    """Return the number at the start of a key, or -1."""
    match = _NUMBER.match(key)
    return int(match.group()) if match else -1


class Candidate(NamedTuple):
    """Words [start, stop) of a query that may be a house number."""

    key: str
    start: int
    stop: int
    #: Whether any house has this number.
    is_known: bool = False
    #: Whether the words are the whole name of something, too.
    is_name: bool = False


def iter_candidates(words: Sequence[str]) -> Iterator[Candidate]:
    """Yield what may be a house number in a query, at each place the longest first.

    Digits with up to three letters ("12", "12a", "32bis"), with further parts ("12 a", "226 1/2"),
    or behind a short word ("c-165", "lot 10006").
    """
    for start, word in enumerate(words):
        if _BEFORE.match(word):
            if start + 1 < len(words) and words[start + 1][0].isdigit():
                yield Candidate(join_number(words[start : start + 2]), start, start + 2)
            continue
        if not _WORD.match(word):
            continue
        if words[start + 1 : start + 2] == ["丁目"] and len(words) > start + 2:
            numbers = [word, *itertools.takewhile(str.isdigit, words[start + 2 :])]
            yield Candidate(join_number(numbers), start, start + 1 + len(numbers))
        parts = 1
        if start + 1 < len(words) and _PART.match(words[start + 1]):
            parts = 2
            if start + 2 < len(words) and len(words[start + 2]) == 1:
                parts = 3
        for count in range(parts, 0, -1):
            yield Candidate(join_number(words[start : start + count]), start, start + count)


def spell_corpus(key: str) -> list[str]:
    """Return what a number with a stroke may be in Russian: 3/7 → 3к7, 3с7."""
    one, _, other = key.partition("-")
    return [f"{one}k{other}", f"{one}s{other}"] if one.isdigit() and other.isdigit() else []


def split_hyphenless(key: str) -> list[str]:
    """Return what a long number may be with a hyphen: 115112 → 115-112 (Queens)."""
    if not key.isdigit() or len(key) not in (4, 5, 6):
        return []
    return [f"{key[:cut]}-{key[cut:]}" for cut in range(len(key) - 2, 1, -1)] + (
        [f"{key[:-3]}-{key[-3:]}"] if len(key) == 6 else []
    )
