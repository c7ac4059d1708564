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

from mapyard.geocoding.read.fillers import NUMBER_WORDS, drop_recipients, find_fillers
from mapyard.geocoding.search.gazetteer import Gazetteer
from mapyard.geocoding.search.postings import Postings
from mapyard.geocoding.words.categories import IN_WORDS, NEAR_WORDS
from mapyard.geocoding.words.country_names import find_countries
from mapyard.geocoding.words.housenumbers import (
    Candidate,
    iter_candidates,
    join_number,
    spell_corpus,
    spell_numbers,
    split_hyphenless,
)
from mapyard.text.analysis import Slot, is_ordinal, name_key, slots
from mapyard.text.folding import fold, is_spaceless, read_numeral, split_grams
from mapyard.text.latin import MARK, latin_alternatives, skeleton, split_sounds
from mapyard.text.words import STREET_WORDS, TRANSLATIONS

#: More letters than this are no address: nothing is found.
MAX_QUERY_LETTERS: Final = 500
#: Words beyond this many are not looked at; addresses have fewer.
MAX_WORDS: Final = 16
#: House numbers of more words are not looked for.
MAX_NUMBER_WORDS: Final = 10
_LITTLE_WEIGHT: Final = 0.1
#: A word that is nowhere in the index: a typo, or something that nobody maps.
_UNKNOWN_WEIGHT: Final = 0.4
#: A house number counts less than the town: the right street before the right number elsewhere.
_NUMBER_WEIGHT: Final = 0.35
#: All words of a country's name together, besides others.
_COUNTRY_WEIGHT: Final = 0.25
_FILLER_WEIGHT: Final = 0.02
_POSTCODE_LETTERS: Final = 4
#: The beginning of a kind's name, while typing, and the most kinds that it may be.
_COMPLETED_LETTERS: Final = 4
_COMPLETED_KINDS: Final = 8
#: A last word of no more letters is just begun, and weighs less.
_BEGUN_LETTERS: Final = 3
_BEGUN_WEIGHT: Final = 0.3
_SHORTEST_CODE: Final = 3
_CODE = re.compile(r"^(?=.*[a-z])[a-z0-9]{5,8}$")
_ZIP4 = re.compile(r"(?<![\d-])(\d{5})-(\d{4})(?![\d-])")
#: A word and a number written as one: Städtle25, 25Städtle.
_GLUED = re.compile(
    r"^(?:(?P<number>\d{1,4})(?=[^\W\d_]{4}))?(?P<word>[^\W\d_]{4,})"
    r"(?(number)$|(?P<behind>\d{1,4}[a-z]?)$)"
)
_GLUED_LETTERS: Final = 6
#: A state and its postcode written as one: MD21231.
_STATE_ZIP = re.compile(r"^[a-z]{2}\d{5}$")
#: A number and what follows it behind a comma, which is no part of it: "4, 104".
_BREAKS = re.compile(r"(?<![^\W_])(\d+[a-z]?)\s*,[\s,]*(?=([^\W_]+))")
_HYPHENED = re.compile(r"(?<![\w-])(\d{2,5})\s?-\s?(\d{2,4})(?![\w-])")
#: The beginning of a British postcode: "LS2 7" of LS2 7LY.
_OUTWARD = re.compile(r"(?<!\w)([a-z]{1,2}\d[a-z\d]?)\s+(\d)(?=\s*(?:,|$))", re.IGNORECASE)
_STROKES = re.compile(r"(?<![\d/])(\d{1,4})\s?/\s?(\d{1,3})(?![\d/])")
_RANGES = re.compile(r"(?<![\d-])(\d{1,5})\s*[-–—]\s*(\d{1,5})(?![\d-])")
# Areas of Chinese and Japanese addresses, each to the end of its word for what it is.
_AREAS = re.compile("[^市区县乡镇里村町路街道州省都府]+[市区县乡镇里村町路街道州省都府]|.+")
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
    #: Whether it says nothing about where: "Nr.", the number of a flat.
    is_filler: bool
    #: Whether it says of anything where it is.
    is_context: bool
    #: Whether it is only the beginning of the word for the kinds.
    is_unfinished: bool
    #: Whether it is (part of) the name of a country behind or before everything else.
    is_country: bool

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
    #: Numbers that are written with a hyphen between them.
    ranges: frozenset[tuple[str, str]] = frozenset()
    #: What was left out: "c/o Meier".
    ignored: tuple[str, ...] = ()
    #: Place of a last word that is just begun, −1: nothing has to match it.
    begun: int = -1

    def required(self, *, names_of_houses: bool) -> list[int]:
        """Return the words that a document is to match: neither little ones nor numbers.

        With `names_of_houses` words that are the number of some house ("first floor") count as
        numbers too, as long as other words remain.
        """
        strong = [i for i, w in enumerate(self.words) if not w.slot.is_little and not w.is_filler]
        strong = [i for i in strong if i != self.begun] or strong
        strong = [i for i in strong if not self.words[i].is_country] or strong
        tests = (self._may_be_number, self._has_number)
        for is_number in tests if names_of_houses else tests[1:]:
            kept = [i for i in strong if not is_number(i)]
            if kept:
                return kept
        return strong or list(range(len(self.words)))

    @property
    def asks_for_kind(self) -> bool:
        """Whether all words but little ones and countries name a kind."""
        return all(
            (word.categories and not word.is_unfinished)
            or word.slot.is_little
            or word.is_filler
            or word.is_country
            for word in self.words
        ) and any(word.categories for word in self.words)

    @property
    def place_of_kind(self) -> list[str]:
        """The words besides those for a kind, where all of them may say where it is; else ()."""
        if not any(word.categories for word in self.words):
            return []
        rest = [w for w in self.words if not (w.categories or w.slot.is_little or w.is_filler)]
        return [w.text for w in rest] if all(w.is_context or w.is_country for w in rest) else []

    def _has_number(self, i: int) -> bool:
        slot = self.words[i].slot
        if slot.has_digit and self.words[i].is_known and is_ordinal(slot.word):
            return False  # 220th Street
        return slot.has_digit or any(
            c.is_known and c.start <= i < c.stop and any(map(str.isdigit, c.key))
            for c in self.numbers
        )

    def _may_be_number(self, i: int) -> bool:
        return self._has_number(i) or any(
            c.is_known and not c.is_name and c.stop - c.start > 1 and c.start <= i < c.stop
            for c in self.numbers
        )


def understand(gazetteer: Gazetteer, text: str, *, complete: bool = False) -> Understood:
    """Return what a text asks for; without words when it is no query at all.

    With `complete` the last word may be the beginning of any word, so it is not a little one.
    """
    postings = gazetteer.postings
    if len(text) > MAX_QUERY_LETTERS:
        return Understood(text, (), (), 0)
    kept, ignored = drop_recipients(text)
    kept = _join_postcodes(gazetteer, spell_numbers(_ZIP4.sub(r"\1", kept)))
    typed = [part for slot in slots(kept) for part in _split(gazetteer, slot)][:MAX_WORDS]
    if complete and typed:
        typed[-1] = typed[-1]._replace(is_little=False)
    for i, (slot, following) in enumerate(itertools.pairwise(typed)):
        # The country before a postcode: "FL-9490", "CH 8000".
        if len(slot.word) <= 2 and slot.word.isalpha() and _POSTCODE.match(following.word):
            typed[i] = slot._replace(is_little=True)
    plain = [slot.word for slot in typed]
    categories = _find_categories(gazetteer, plain)
    is_completed = complete and bool(plain) and not categories[-1]
    if is_completed and len(plain[-1]) >= _COMPLETED_LETTERS:
        categories[-1] = gazetteer.kinds.complete(plain[-1], _COMPLETED_KINDS)
    named = find_countries(
        plain, gazetteer.country_set, gazetteer.country_phrases, gazetteer.country_firsts
    )
    edge = _find_edge(plain, named)
    breaks = frozenset((m[1], fold(m[2])) for m in _BREAKS.finditer(kept.lower()))
    fillers = find_fillers(plain[:-1] if complete else plain, breaks)
    total = log2(len(gazetteer.kind) + 2)
    words = []
    for i, slot in enumerate(typed):
        alternatives, frequency = _known_alternatives(gazetteer, typed, i)
        weight = _LITTLE_WEIGHT if slot.is_little else _weigh(frequency, total)
        if not frequency:
            weight = min(weight, _UNKNOWN_WEIGHT)
        if slot.has_digit and len(slot.word) < _POSTCODE_LETTERS:
            weight = min(weight, _NUMBER_WEIGHT)
        # While typing, the last word may become another one.
        is_open = complete and i == len(typed) - 1
        is_street_word = slot.word in STREET_WORDS and not is_open
        # A word for "street" that no street here has is that of another language.
        is_filler = i in fillers or (is_street_word and not frequency and len(typed) > 1)
        if is_filler:
            weight = _FILLER_WEIGHT
        elif i in edge:
            weight = _COUNTRY_WEIGHT / len(edge)
        words.append(
            Word(
                slot, alternatives, frequency > 0, weight, categories[i], named[i], is_street_word,
                is_filler,
                any(postings.frequency("context", a[0]) for a in slot.alternatives if len(a) == 1),
                is_open and is_completed,
                i in edge,
            )
        )  # fmt: skip
    labels = {i for i in fillers if plain[i] not in NUMBER_WORDS}
    strokes = frozenset((m[1], m[2]) for m in _STROKES.finditer(kept))
    numbers = _find_numbers(gazetteer, plain, labels, breaks, strokes)
    near, is_near = _find_near(plain, categories)
    begun = _find_begun(words) if complete else -1
    if begun >= 0:
        share = len(plain[begun]) / _BEGUN_LETTERS
        words[begun] = words[begun]._replace(weight=words[begun].weight * share * _BEGUN_WEIGHT)
    ranges = frozenset((m[1], m[2]) for m in _RANGES.finditer(kept))
    return Understood(text, tuple(words), numbers, near, is_near, ranges, tuple(ignored), begun)


def _join_postcodes(gazetteer: Gazetteer, text: str) -> str:
    """Return a text with postcodes as they are mapped: 104-41 as 10441, or 104 if that is all.

    The beginning of one, written apart, becomes one word: LS2 7.
    """

    def join(match: re.Match[str]) -> str:
        codes = (match[1] + match[2], match[1])
        known = next((code for code in codes if code in gazetteer.postcodes), "")
        is_number = gazetteer.is_number(match[0].replace(" ", ""))
        return match[0] if is_number or not known else known

    def join_parts(match: re.Match[str]) -> str:
        code = fold(match[1] + match[2])
        return code if gazetteer.postings.complete("context", code, 1) else match[0]

    return _OUTWARD.sub(join_parts, _HYPHENED.sub(join, text))


def _find_begun(words: list[Word]) -> int:
    """Return the place of a last word of few letters behind others, −1 without one."""
    last = words[-1].text if words else ""
    is_begun = 0 < len(last) <= _BEGUN_LETTERS and not is_spaceless(last)
    others = [w for w in words[:-1] if not (w.slot.is_little or w.is_filler or w.slot.has_digit)]
    return len(words) - 1 if is_begun and others else -1


def _find_edge(words: list[str], countries: list[str]) -> set[int]:
    """Return the places of a country's name at the beginning or the end, besides other words."""
    if all(countries) or not any(countries):
        return set()
    last = len(words)
    while last and not countries[last - 1] and words[last - 1].isdigit():
        last -= 1
    stop = first = last
    while first and countries[first - 1]:
        first -= 1
    found = set(range(first, stop))
    if not found:
        stop = next(i for i, code in enumerate(countries) if not code)
        found = set(range(stop))
    return found


def _find_numbers(
    gazetteer: Gazetteer,
    words: list[str],
    fillers: set[int],
    breaks: frozenset[tuple[str, str]],
    strokes: frozenset[tuple[str, str]],
) -> tuple[Candidate, ...]:
    """Return what may be a house number, longest first: digits, and what is one somewhere.

    The number of a flat counts only where there is no other. `strokes` are numbers with a stroke
    between them.
    """

    def is_whole(start: int, stop: int) -> bool:
        return breaks.isdisjoint(itertools.pairwise(words[start:stop]))

    found = {
        (c.start, c.stop): c
        for c in iter_candidates(words)
        if not breaks or is_whole(c.start, c.stop)
    }
    for start in range(len(words)):
        for stop in range(start + 1, min(len(words), start + MAX_NUMBER_WORDS) + 1):
            key = join_number(words[start:stop])
            if breaks and not is_whole(start, stop):
                break
            if gazetteer.is_number(key):
                is_name = stop > start + 1 and _is_name(gazetteer, words[start:stop])
                found[start, stop] = Candidate(key, start, stop, is_known=True, is_name=is_name)
            elif stop == start + 1:
                for other in split_hyphenless(key):
                    if gazetteer.is_number(other):
                        found[start, stop] = Candidate(other, start, stop, is_known=True)
                        break
    candidates = list(found.values())
    for start, pair in enumerate(itertools.pairwise(words)):
        for key in spell_corpus("-".join(pair)) if pair in strokes else ():
            # It counts where the number as it is written is not mapped.
            known = [key] if gazetteer.is_number(key) else []
            candidates += [Candidate(k, start, start + 2, is_known=True) for k in known]
    candidates.sort(key=lambda c: (c.start - c.stop, c.start))
    plain = [
        c
        for c in candidates
        if fillers.isdisjoint(range(c.start, c.stop)) or (c.is_known and c.stop - c.start > 1)
    ]
    return tuple(plain or candidates)


def _is_name(gazetteer: Gazetteer, words: list[str]) -> bool:
    return gazetteer.postings.frequency("key", name_key(" ".join(words))) > 0


def _split(gazetteer: Gazetteer, slot: Slot) -> list[Slot]:
    """Split what is written as one word and is none: 練馬駅, 台北市中山區, Städtle25."""
    word, postings = slot.word, gazetteer.postings
    if len(word) < 3 or postings.frequency("name", word):
        return [slot]
    if is_spaceless(word):
        return _split_kind(gazetteer, slot) or _split_areas(gazetteer, word) or [slot]
    if _STATE_ZIP.match(word):
        return [*slots(word[:2]), *slots(word[2:])]
    glued = _GLUED.match(word)
    if glued is None:
        return [slot]
    name = glued["word"]
    if not postings.frequency("name", name) and len(name) < _GLUED_LETTERS:
        return [slot]
    parts = (glued["number"], name, glued["behind"])
    return [slot for part in parts if part for slot in slots(part)]


def _split_kind(gazetteer: Gazetteer, slot: Slot) -> list[Slot]:
    """Split a kind off the end of a word of a script without spaces: 練馬駅 → 練馬, 駅."""
    word, postings = slot.word, gazetteer.postings
    for length in range(min(8, len(word) - 2), 0, -1):
        if gazetteer.kinds.find([word[-length:]], 0) and _has_grams(postings, word[:-length]):
            return [*slots(word[:-length]), *slots(word[-length:])]
    return []


def _split_areas(gazetteer: Gazetteer, word: str) -> list[Slot]:
    """Split a run of Han that nothing is called, behind the country and the words for areas."""
    postings = gazetteer.postings
    if _is_of_one(postings, word):
        return []
    length = next((n for n in range(len(word) - 2, 1, -1) if (word[:n],) in
                   gazetteer.country_phrases), 0)  # fmt: skip
    parts = [word[:length], *_AREAS.findall(word[length:])] if length else _AREAS.findall(word)
    if len(parts) < 2 or not all(_has_grams(postings, part) for part in parts[length > 0 :]):
        return []
    return [slot for part in parts for slot in slots(part)]


def _is_of_one(postings: Postings, word: str) -> bool:
    """Return whether all pairs of characters of a run belong to one thing."""
    grams = tuple(split_grams(word))
    return any(len(postings.of_all(field, grams)) for field in ("name", "context"))


def _has_grams(postings: Postings, word: str) -> bool:
    return all(_count(postings, gram) for gram in split_grams(word))


def _known_alternatives(
    gazetteer: Gazetteer, typed: list[Slot], i: int
) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Return the alternatives of a word, joined with its neighbors too, and how often it occurs."""
    postings, slot = gazetteer.postings, typed[i]
    alternatives = dict.fromkeys(slot.alternatives)
    if not slot.has_digit and (gazetteer.has_other_scripts or not slot.word.isascii()):
        alternatives |= _latin_forms(slot.word)
        alternatives |= {(word,): None for word in TRANSLATIONS.get(slot.word, ())}
        if number := read_numeral(slot.word):
            alternatives[number,] = None
    frequency = 0
    for alternative in alternatives:
        counts = [_count(postings, term) for term in alternative]
        frequency = max(frequency, min(counts))
    for first in (i - 1, i):
        if first >= 0 and first + 1 < len(typed):
            joined = typed[first].word + typed[first + 1].word
            has_digit = typed[first].has_digit
            # A postcode may be written apart: V6G 1Y7.
            is_code = has_digit and _CODE.match(joined) and postings.frequency("context", joined)
            if is_code or (not has_digit and postings.frequency("name", joined)):
                alternatives[joined,] = None
                frequency = max(frequency, 1)
    if not frequency and slot.has_digit and len(slot.word) > _POSTCODE_LETTERS:
        # A longer postcode than those that are known: 104008 of 104.
        for length in range(len(slot.word) - 1, _SHORTEST_CODE - 1, -1):
            if postings.frequency("context", slot.word[:length]):
                return (*alternatives, (slot.word[:length],)), 1
    if not frequency and gazetteer.has_other_scripts and (sounds := split_sounds(slot.word)):
        # Chinese in Latin letters, its characters joined in another way: dongyilu.
        frequency = min(_count(postings, sound) for sound in sounds)
        if frequency:
            alternatives[sounds] = None
    if not frequency:
        # A part of a joined name: "Schloss" of Schlossstrasse.
        frequency = postings.frequency("part", slot.word)
    if not frequency and len(slot.word) >= 6 and not slot.has_digit:
        for cut in range(3, len(slot.word) - 2):
            pair = (slot.word[:cut], slot.word[cut:])
            if all(postings.frequency("name", part) for part in pair):
                alternatives[pair] = None
                frequency = 1
    return tuple(alternatives), frequency


@lru_cache(maxsize=8_192)
def _latin_forms(word: str) -> dict[tuple[str, ...], None]:
    """Return a word as those who write other scripts in Latin letters would."""
    if word.isascii():
        return {(MARK + skeleton(word),): None} if len(word) > 2 else {}
    return dict.fromkeys(latin_alternatives(word))


def _count(postings: Postings, term: str) -> int:
    return postings.frequency("name", term) + postings.frequency("context", term)


def _weigh(frequency: int, total: float) -> float:
    """Return the weight of a word: 1 for rare ones, less for words like "street"."""
    return max(0.35, 1.0 - 0.65 * log2(frequency + 1) / total)


def _find_categories(gazetteer: Gazetteer, words: list[str]) -> list[tuple[str, ...]]:
    """Return the tags of kinds that each word names.

    A term that only describes a kind counts where no name has it: "petrol", but not "art".
    """
    found: list[tuple[str, ...]] = [()] * len(words)
    start = 0
    while start < len(words):
        phrase = gazetteer.kinds.find(words, start)
        if phrase and not phrase.is_name:
            terms = words[start : phrase.stop]
            if all(gazetteer.postings.frequency("name", term) for term in terms):
                phrase = None
        if phrase:
            found[start : phrase.stop] = [phrase.tags] * (phrase.stop - start)
            start = phrase.stop
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
