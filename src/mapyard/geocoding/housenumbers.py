"""House numbers: their one spelling, lists and ranges, and candidates in a query.

The key of a number has no spaces: "12 A" → "12a", "4 bis" → "4bis", "12/3" and "12-3" → "12-3".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from mapyard.text.folding import fold, split_words

#: A range wider than this is no range of house numbers ("1-999" is a name of its own).
MAX_RANGE: Final = 200
_SUFFIXES: Final = frozenset(["bis", "ter", "quater", "quinquies", "sexies"])
_RANGE = re.compile(r"^(\d{1,5})\s*[-–—]\s*(\d{1,5})$")
_LETTERS = re.compile(r"^(\d{1,5})\s*([a-z])(?:\s*[-–—]\s*([a-z])|((?:\s*[/+&,]\s*[a-z])+))$")
_NUMBER = re.compile(r"^\d{1,5}")
_WORD = re.compile(r"^(\d{1,6}([a-z]{0,3}|quater)|[a-z]{1,3}\d{1,5})$")
_PART = re.compile(rf"^(\d{{1,5}}[a-z]?|[a-z]|{'|'.join(sorted(_SUFFIXES))})$")
#: A short word that is part of the number behind it: "C-165".
_BEFORE = re.compile(r"^([a-z]{1,2}|lot|nr|no|num|haus|house|apt)$")


def join_number(words: Sequence[str]) -> str:
    """Return the key of a house number from its folded words."""
    key = ""
    for word in words:
        attached = not key or (word.isalpha() and key[-1].isdigit())
        key += word if attached else f"-{word}"
    return key


@lru_cache(maxsize=65_536)
def parse_numbers(text: str) -> tuple[str, ...]:
    """Return the keys of all numbers that one addr:housenumber stands for.

    "7;9" → 7 9; "17-19" → 17-19 17 19; "1-4" → 1-4 1 2 3 4; "39A/B" → 39a-b 39a 39b. A range of
    two even or two odd numbers holds the even or odd ones only.
    """
    keys: dict[str, None] = {}
    for part in re.split(r"[;,]|\s\+\s", text):
        folded = fold(part).strip()
        words = split_words(folded)
        if not words:
            continue
        keys[join_number(words)] = None
        if match := _RANGE.match(folded):
            low, high = int(match[1]), int(match[2])
            if low < high <= low + MAX_RANGE:
                step = 2 if (high - low) % 2 == 0 else 1
                keys |= dict.fromkeys(map(str, range(low, high + 1, step)))
        elif match := _LETTERS.match(folded):
            letters = re.findall(r"[a-z]", (match[4] or "") + (match[3] or ""))
            first = match[2]
            if match[3] and first < match[3]:
                letters = [chr(code) for code in range(ord(first), ord(match[3]) + 1)]
            keys |= dict.fromkeys(match[1] + letter for letter in [first, *letters])
    return tuple(keys)


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
        parts = 1
        if start + 1 < len(words) and _PART.match(words[start + 1]):
            parts = 2
            if start + 2 < len(words) and len(words[start + 2]) == 1:
                parts = 3
        for count in range(parts, 0, -1):
            yield Candidate(join_number(words[start : start + count]), start, start + count)
