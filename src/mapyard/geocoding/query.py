"""Understanding a query: its words, what they may be, how much each counts.

No grammar and no statistics of other countries: the index itself says what a word can be. Each word
becomes a `Word` with its terms, the kinds of things it names, the country it names, and a weight.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from math import log2
from typing import Final, NamedTuple

from mapyard.geocoding.categories import IN_WORDS, NEAR_WORDS, find_phrase
from mapyard.geocoding.gazetteer import Gazetteer
from mapyard.geocoding.housenumbers import Candidate, iter_candidates, join_number
from mapyard.text.analysis import Slot, slots
from mapyard.text.folding import fold, is_spaceless, split_words
from mapyard.text.index import TextIndex
from mapyard.text.words import STREET_WORDS

#: More letters than this are no address: nothing is found.
MAX_QUERY_LETTERS: Final = 500
#: Words beyond this many are not looked at; addresses have fewer.
MAX_WORDS: Final = 16
#: Languages in which country names are understood.
COUNTRY_LANGS: Final = (
    "en", "de", "fr", "it", "es", "pt", "nl", "ca", "da", "sv", "nb", "pl", "cs", "ru", "ja", "zh",
    "ar", "tr", "el", "hu", "ro", "uk", "ko",
)  # fmt: skip
#: House numbers of more words are not looked for.
MAX_NUMBER_WORDS: Final = 7
_LITTLE_WEIGHT: Final = 0.1
#: A word that is nowhere in the index: a typo, or something that nobody maps.
_UNKNOWN_WEIGHT: Final = 0.4
#: A house number counts less than the town: the right street before the right number elsewhere.
_NUMBER_WEIGHT: Final = 0.35
_POSTCODE_LETTERS: Final = 4
_POSTCODE = re.compile(r"^\d{4,5}$")


class Word(NamedTuple):
    """One word of a query."""

    slot: Slot
    #: Alternatives: tuples of terms that must all match.
    alternatives: tuple[tuple[str, ...], ...]
    #: Whether any alternative is in the index at all.
    is_known: bool
    weight: float
    categories: tuple[str, ...]
    country: str
    #: Whether it only says what kind of street something is.
    is_street_word: bool

    @property
    def text(self) -> str:
        """The word as typed, folded."""
        return self.slot.word


class Understood(NamedTuple):
    """A query, understood."""

    text: str
    words: tuple[Word, ...]
    numbers: tuple[Candidate, ...]
    #: Place of the first word behind "near", 0 when there is none.
    near: int
    #: Whether what stands before it says "near", not "in" or "of".
    is_near: bool = False

    def required(self, *, names_of_houses: bool) -> list[int]:
        """Return the words that a document is to match: neither little ones nor numbers.

        With `names_of_houses` words that are the number of some house ("first floor") count as
        numbers too, as long as other words remain.
        """
        strong = [i for i, w in enumerate(self.words) if not w.slot.is_little]
        tests = (self._may_be_number, self._has_number)
        for is_number in tests if names_of_houses else tests[1:]:
            kept = [i for i in strong if not is_number(i)]
            if kept:
                return kept
        return strong or list(range(len(self.words)))

    def _has_number(self, i: int) -> bool:
        return self.words[i].slot.has_digit or any(
            c.is_known and c.start <= i < c.stop and any(map(str.isdigit, c.key))
            for c in self.numbers
        )

    def _may_be_number(self, i: int) -> bool:
        return self._has_number(i) or any(
            c.is_known and c.stop - c.start > 1 and c.start <= i < c.stop for c in self.numbers
        )


def understand(gazetteer: Gazetteer, text: str, *, complete: bool = False) -> Understood:
    """Return what a text asks for; without words when it is no query at all.

    With `complete` the last word may be the beginning of any word, so it is not a little one.
    """
    index, countries = gazetteer.index, tuple(gazetteer.country_codes)
    if len(text) > MAX_QUERY_LETTERS:
        return Understood(text, (), (), 0)
    typed = [part for slot in slots(text) for part in _split_kind(index, slot)][:MAX_WORDS]
    if complete and typed:
        typed[-1] = typed[-1]._replace(is_little=False)
    for i, (slot, following) in enumerate(itertools.pairwise(typed)):
        # The country before a postcode: "FL-9490", "CH 8000".
        if len(slot.word) <= 2 and slot.word.isalpha() and _POSTCODE.match(following.word):
            typed[i] = slot._replace(is_little=True)
    plain = [slot.word for slot in typed]
    categories = _find_categories(plain)
    named = _find_countries(plain, countries)
    total = log2(index.document_count + 2)
    words = []
    for i, slot in enumerate(typed):
        alternatives, frequency = _known_alternatives(index, typed, i)
        weight = _LITTLE_WEIGHT if slot.is_little else _weigh(frequency, total)
        if not frequency:
            weight = min(weight, _UNKNOWN_WEIGHT)
        if slot.has_digit and len(slot.word) < _POSTCODE_LETTERS:
            weight = min(weight, _NUMBER_WEIGHT)
        words.append(
            Word(
                slot,
                alternatives,
                frequency > 0,
                weight,
                categories[i],
                named[i],
                slot.word in STREET_WORDS,
            )
        )
    numbers = _find_numbers(gazetteer, plain)
    near, is_near = _find_near(plain, categories)
    return Understood(text, tuple(words), numbers, near, is_near)


def _find_numbers(gazetteer: Gazetteer, words: list[str]) -> tuple[Candidate, ...]:
    """Return what may be a house number, longest first: digits, and what is one somewhere."""
    found = {(c.start, c.stop): c for c in iter_candidates(words)}
    for start in range(len(words)):
        for stop in range(start + 1, min(len(words), start + MAX_NUMBER_WORDS) + 1):
            key = join_number(words[start:stop])
            if gazetteer.is_number(key):
                found[start, stop] = Candidate(key, start, stop, is_known=True)
    return tuple(sorted(found.values(), key=lambda c: (c.start - c.stop, c.start)))


def _split_kind(index: TextIndex, slot: Slot) -> list[Slot]:
    """Split a kind off the end of a word of a script without spaces: 練馬駅 → 練馬, 駅."""
    word = slot.word
    if len(word) < 3 or not is_spaceless(word) or index.frequency("place_name", word):
        return [slot]
    for length in range(min(3, len(word) - 2), 0, -1):
        if find_phrase([word[-length:]], 0):
            return [*slots(word[:-length]), *slots(word[-length:])]
    return [slot]


def _known_alternatives(
    index: TextIndex, typed: list[Slot], i: int
) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Return the alternatives of a word, joined with its neighbors too, and how often it occurs."""
    slot = typed[i]
    alternatives = dict.fromkeys(slot.alternatives)
    frequency = 0
    for alternative in slot.alternatives:
        counts = [_count(index, term) for term in alternative]
        frequency = max(frequency, min(counts))
    for first in (i - 1, i):
        if first >= 0 and first + 1 < len(typed):
            joined = typed[first].word + typed[first + 1].word
            if not typed[first].has_digit and index.frequency("place_name", joined):
                alternatives[joined,] = None
                frequency = max(frequency, 1)
    if not frequency and len(slot.word) >= 6 and not slot.has_digit:
        for cut in range(3, len(slot.word) - 2):
            pair = (slot.word[:cut], slot.word[cut:])
            if all(index.frequency("place_name", part) for part in pair):
                alternatives[pair] = None
                frequency = 1
    return tuple(alternatives), frequency


def _count(index: TextIndex, term: str) -> int:
    return index.frequency("place_name", term) + index.frequency("context", term)


def _weigh(frequency: int, total: float) -> float:
    """Return the weight of a word: 1 for rare ones, less for words like "street"."""
    return max(0.35, 1.0 - 0.65 * log2(frequency + 1) / total)


def _find_categories(words: list[str]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()] * len(words)
    start = 0
    while start < len(words):
        phrase = find_phrase(words, start)
        if phrase:
            for i in range(start, phrase[0]):
                found[i] = phrase[1]
            start = phrase[0]
        else:
            start += 1
    return found


def _find_near(words: list[str], categories: list[tuple[str, ...]]) -> tuple[int, bool]:
    """Return the place behind a preposition between a kind and something else, 0 without.

    And whether the preposition is one of nearness.
    """
    between = NEAR_WORDS | IN_WORDS
    for i in range(1, len(words) - 1):
        if words[i] in between and all(categories[k] for k in range(i)):
            stop = i + 1
            while stop < len(words) - 1 and words[stop] in between:
                stop += 1
            return stop, any(word in NEAR_WORDS for word in words[i:stop])
    return 0, False


def _find_countries(words: list[str], codes: tuple[str, ...]) -> list[str]:
    """Return for each word the code of the country that it is (part of) the name of, else ""."""
    found = [""] * len(words)
    names = _country_names(codes)
    start = 0
    while start < len(words):
        for stop in range(min(len(words), start + 4), start, -1):
            code = names.get(tuple(words[start:stop]))
            if code:
                found[start:stop] = [code] * (stop - start)
                start = stop
                break
        else:
            start += 1
    return found


@lru_cache(maxsize=32)
def _country_names(codes: tuple[str, ...]) -> dict[tuple[str, ...], str]:
    """Return folded words → code, from CLDR, of the countries of a dataset."""
    found: dict[tuple[str, ...], str] = {}
    for lang in COUNTRY_LANGS:
        from babel import Locale

        territories = Locale.parse(lang).territories
        for code in codes:
            name = territories.get(code)
            if name:
                found.setdefault(tuple(split_words(fold(name))), code)
    # A code counts only in capitals where it is written alone; folded, two letters are too common.
    return {words: code for words, code in found.items() if words}
