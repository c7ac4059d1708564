"""Finding candidate documents, and how each word of the query matches each of them.

A word can match in several ways, each of a level, and each way is some runs of the postings. Where
all words have to match, the documents of the rarest are the candidates, and the runs of the others
are looked at for these only. What matches how is one bit per level; the worth of a word, its best
level and whether it names the thing are read off a table of all sets of bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox
from mapyard.geocoding.kinds import LAYERS, NAMES
from mapyard.geocoding.read.query import Understood, Word
from mapyard.geocoding.search.gazetteer import Gazetteer
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7
from mapyard.text.analysis import name_key
from mapyard.text.folding import is_han, is_spaceless, split_grams
from mapyard.text.words import SUFFIX_FORMS

Documents = NDArray[np.int32]
Mask = NDArray[np.bool_]
Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]
Keep = Callable[[Ints], NDArray[np.bool_]]

# Levels, in the order of preference.
NOTHING, CONTEXT_FUZZY, NAME_FUZZY, CONTEXT_PREFIX, CONTEXT, NAME_PREFIX, CATEGORY, NAME = range(8)
#: What a level is worth of the word's weight.
WORTH: Final = np.array([0.0, 0.62, 0.66, 0.82, 0.96, 0.86, 0.90, 1.0])
#: Levels at which a word says what the thing itself is, not where.
IS_NAME: Final = np.array([0, 0, 1, 0, 0, 1, 1, 1], np.bool_)
#: Levels at which a word says where something is.
IS_WHERE: Final = np.array([0, 1, 0, 1, 1, 0, 0, 0], np.bool_)
#: Levels at which a number is part of a name or a postcode, and no house number.
IS_BOUND: Final = np.array([0, 0, 0, 0, 1, 0, 0, 1], np.bool_)
#: For each set of levels, one bit each: the best level, its worth, whether any is of a name.
_SETS: Final = np.arange(256)
_HAS: Final = (_SETS[:, None] >> np.arange(8)) & 1 > 0
_BEST: Final = np.where(_HAS, np.arange(8), 0).max(axis=1).astype(np.int8)
_MOST_WORTH: Final = np.where(_HAS, WORTH, 0.0).max(axis=1)
_ANY_NAME: Final = (_HAS & IS_NAME).any(axis=1)
#: More than the words of a query: lengths and places are packed with it.
_PLACES: Final = 64
#: Scores are whole numbers, so that what is equal is equal.
_SCALE: Final = 4096
#: From this share of all documents on a bitmap of them is quicker than sorting.
_DENSE: Final = 1 / 32
#: Postcodes are found by their beginning from this many digits, and at most so many of them.
SHORTEST_CODE: Final = 3
MAX_CODES: Final = 24
#: Characters of a name in a script without spaces, of which one may be wrong, or two.
SHORT_RUN: Final = 3
TWO_WRONG: Final = 7
#: Candidates of one pass.
MAX_CANDIDATES: Final = 300
#: Candidates of a name and its areas when there is a focus, which may favor any of them.
MAX_FOCUSED: Final = 2_000


class Filters(NamedTuple):
    """What may be found at all."""

    #: One or several, by comma; "" for all.
    layer: str = ""
    countries: tuple[str, ...] = ()
    bbox: Bbox | None = None
    #: Gets element rows, returns which may be answers: tag filters of the caller.
    keep: Keep | None = None
    #: Whether results are to say what their score is made of.
    explain: bool = False

    def allows(self, *layers: str) -> bool:
        """Return whether things of one of the layers may be found."""
        return not self.layer or not set(self.layer.split(",")).isdisjoint(layers)

    def pick(self, gazetteer: Gazetteer, documents: Documents) -> Documents:
        """Return the documents whose element `keep` lets through."""
        if self.keep is None:
            return documents
        documents = documents[gazetteer.row[documents] >= 0]
        rows = gazetteer.row[documents]
        order = np.argsort(rows, kind="stable")
        return documents[order][self.keep(rows[order])]

    def mask(self, g: Gazetteer, documents: Documents) -> Mask | None:
        """Return which documents the other filters let through; None for all."""
        masks = []
        if self.layer:
            layers = set(self.layer.split(","))
            # Of points of interest the layer is also the kind.
            kinds = [bool(layers & {one, other}) for one, other in zip(LAYERS, NAMES, strict=True)]
            masks.append(np.array(kinds)[g.kind[documents]])
        if self.countries:
            codes = [code in self.countries for code in g.country_codes] + [False]
            masks.append(np.array(codes)[g.country[documents]])
        if self.bbox is not None:
            lon, lat = g.lon[documents], g.lat[documents]
            boxes = [
                (lon >= round(box.west * E7)) & (lon <= round(box.east * E7))
                & (lat >= round(box.south * E7)) & (lat <= round(box.north * E7))
                for box in self.bbox.split()
            ]  # fmt: skip
            masks.append(np.logical_or.reduce(boxes))
        return np.logical_and.reduce(masks) if masks else None


NO_FILTERS: Final = Filters()


class Candidates(NamedTuple):
    """Documents and, per document and word, the level of the match."""

    documents: Ints
    #: (documents, words)
    levels: NDArray[np.int8]
    #: Length and place of the longest run of words that is a whole name of the document.
    whole: NDArray[np.int64]
    whole_start: NDArray[np.int64]
    #: Whether the document is of a kind that the query names.
    by_category: NDArray[np.bool_]


class Way(NamedTuple):
    """One way in which a word matches documents: those of some runs of the postings."""

    level: int
    runs: tuple[Documents, ...]
    #: Documents in the runs, those in several of them counted again.
    size: int
    #: Whether there is one run, and it ascends.
    is_sorted: bool


class Matcher:
    """One query against the postings."""

    def __init__(
        self,
        gazetteer: Gazetteer,
        query: Understood,
        filters: Filters,
        *,
        complete: bool,
        limit: int,
        favor: Callable[[Documents], NDArray[np.int32]],
    ) -> None:
        """Begin; where more than `limit` documents match equally, those with most `favor` stay."""
        self._gazetteer = gazetteer
        self._postings = gazetteer.postings
        self._vocabulary = gazetteer.postings.vocabulary
        self._count = len(gazetteer.kind)
        self._query = query
        self._filters = filters
        self._complete = complete
        self._limit = limit
        self._favor = favor
        self._exact: dict[int, list[Way]] = {}
        self._loose: dict[int, list[Way]] = {}
        #: Documents whose bits are known, by word.
        self._judged: tuple[Documents, dict[int, Bits]] = np.empty(0, np.int32), {}

    def find_all(self) -> Documents:
        """Return the documents that all words match, unknown ones loosely."""
        required = self._query.required(names_of_houses=True)
        ways = {i: self._ways(i) for i in required}
        if not ways or not all(ways.values()):
            return np.empty(0, np.int32)
        begun = self._query.begun
        optional = [begun] if begun >= 0 and begun not in required else []
        return self._find(ways, len(ways), optional)

    def find_most(self) -> Documents:
        """Return the documents that most words match, exactly or loosely."""
        required = self._query.required(names_of_houses=False)
        ways = {i: self._exact_ways(i) + self._loose_ways(i) for i in required}
        ways = {i: found for i, found in ways.items() if found}
        # A long query may hold many words that nobody mapped (floor, building, company).
        minimum = max(1, min(len(required) - 1, (len(required) + 1) // 2))
        return self._find(ways, min(minimum, len(ways)), []) if ways else np.empty(0, np.int32)

    def _find(self, ways: dict[int, list[Way]], minimum: int, optional: Iterable[int]) -> Documents:
        """Return the best documents that enough words match, at least one of them as a name."""
        order = sorted(ways, key=lambda i: sum(way.size for way in ways[i]))
        # What enough words match, one of the rarest matches that are more than may be missing.
        first = [way for i in order[: len(ways) - minimum + 1] for way in ways[i]]
        names = [way for found in ways.values() for way in found if IS_NAME[way.level]]
        if not names:
            return np.empty(0, np.int32)
        if sum(way.size for way in names) < sum(way.size for way in first):
            first = names
        documents = self._union(first)
        allowed = self._filters.mask(self._gazetteer, documents)
        if allowed is not None:
            documents = documents[allowed]
        known: dict[int, Bits] = {}
        for i in order:
            if not len(documents):
                return documents
            bits = known[i] = self._match(ways[i], documents)
            if minimum == len(ways) and not bits.all():
                kept = bits.nonzero()[0]
                documents = documents[kept]
                known = {j: other[kept] for j, other in known.items()}
        kept = np.logical_or.reduce([_ANY_NAME[bits] for bits in known.values()])
        if minimum < len(ways):
            kept &= np.sum([bits > 0 for bits in known.values()], axis=0) >= minimum
        if not kept.all():
            documents = documents[kept]
            known = {j: other[kept] for j, other in known.items()}
        if len(documents) > self._limit:
            scores = np.zeros(len(documents), np.int32)
            known |= {i: self._match(self._ways(i), documents) for i in optional}
            for i, bits in known.items():
                weight = self._query.words[i].weight * _SCALE
                scores += np.round(_MOST_WORTH * weight).astype(np.int32)[bits]
            best = self._find_best(documents, scores)
            documents = documents[best]
            known = {j: other[best] for j, other in known.items()}
        self._judged = documents, known
        return documents

    def _find_best(self, documents: Documents, scores: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the places of the best documents, ascending."""
        above, equal = _split_best(scores, self._limit)
        left = self._limit - len(above)
        if len(equal) > left:
            favored, same = _split_best(self._favor(documents[equal]), left)
            equal = equal[np.concatenate([favored, same[: left - len(favored)]])]
        return np.sort(np.concatenate([above, equal]))

    def _union(self, ways: Sequence[Way]) -> Documents:
        """Return the sorted documents of all ways."""
        if len(ways) == 1 and ways[0].is_sorted:
            return ways[0].runs[0]
        runs = [run for way in ways for run in way.runs]
        if sum(way.size for way in ways) < self._count * _DENSE:
            return distinct(*runs)
        is_found = np.zeros(self._count, np.bool_)
        for run in runs:
            is_found[run] = True
        return is_found.nonzero()[0].astype(np.int32)

    def _match(self, ways: Sequence[Way], documents: Documents) -> Bits:
        """Return for each document the levels of the ways that match it, one bit each."""
        bits = np.zeros(len(documents), np.uint8)
        for way in ways if len(documents) else ():
            bits |= self._hold(way, documents).view(np.uint8) << np.uint8(way.level)
        return bits

    def _hold(self, way: Way, documents: Documents) -> Mask:
        """Return which of the sorted documents a way matches."""
        if way.is_sorted and way.size > len(documents):
            run = way.runs[0]
            return run.take(run.searchsorted(documents), mode="clip") == documents
        if way.size > self._count * _DENSE:
            is_held = np.zeros(self._count, np.bool_)
            for run in way.runs:
                is_held[run] = True
            return is_held[documents]
        run = way.runs[0] if len(way.runs) == 1 else np.concatenate(way.runs)
        mask = np.zeros(len(documents), np.bool_)
        place = documents.searchsorted(run)
        mask[place[documents.take(place, mode="clip") == run]] = True
        return mask

    # ---- the ways a word can match ----------------------------------------------------------

    def _ways(self, i: int) -> list[Way]:
        """Return the ways of a word: exact ones, and others where it is unknown or unfinished."""
        if not self._query.words[i].is_known or i in self._loose:
            return self._exact_ways(i) + self._loose_ways(i)
        if self._complete and i == len(self._query.words) - 1:
            return self._exact_ways(i) + self._prefix_ways(i)
        return self._exact_ways(i)

    def _exact_ways(self, i: int) -> list[Way]:
        if i not in self._exact:
            self._exact[i] = self._find_exact(self._query.words[i])
        return self._exact[i]

    def _all_of(self, level: int, field: str, alternatives: Iterable[tuple[str, ...]]) -> list[Way]:
        """Return the way of documents that have all terms of an alternative."""
        found = [self._postings.of_all(field, alternative) for alternative in alternatives]
        return _make_way(level, [run for run in found if len(run)], is_sorted=True)

    def _terms(self, level: int, field: str, numbers: Iterable[int]) -> list[Way]:
        """Return the way of documents that have one of some terms."""
        of = self._postings.of
        found = [of(field, number, number + 1) for number in numbers]
        return _make_way(level, [run for run in found if len(run)], is_sorted=True)

    def _find_exact(self, word: Word) -> list[Way]:
        found = self._all_of(NAME, "name", word.alternatives)
        found += self._all_of(CONTEXT, "context", word.alternatives)
        if word.slot.has_digit and len(word.text) >= SHORTEST_CODE:
            # The first digits of postcodes.
            codes = self._postings.complete("context", word.text, MAX_CODES)
            own = self._vocabulary.find(word.text)
            found += self._terms(CONTEXT_PREFIX, "context", [code for code in codes if code != own])
            # And what is mapped of a longer one: 104 of 10441.
            shorter = [word.text[:length] for length in range(SHORTEST_CODE, len(word.text) - 1)]
            known = [code for code in shorter if code in self._gazetteer.postcodes]
            found += self._all_of(CONTEXT_PREFIX, "context", [(code,) for code in known])
        found += self._all_of(NAME_PREFIX, "part", word.alternatives)
        if word.country:
            in_country = self._gazetteer.documents_in(word.country)
            found += _make_way(CONTEXT, [in_country], is_sorted=True)
        if word.categories:
            level = NAME_FUZZY if word.is_unfinished else CATEGORY
            found += self._all_of(level, "category", [(tag,) for tag in word.categories])
        return found

    def _loose_ways(self, i: int) -> list[Way]:
        if i not in self._loose:
            self._loose[i] = self._prefix_ways(i) + self._fuzzy_ways(i)
        return self._loose[i]

    def _prefix_ways(self, i: int) -> list[Way]:
        word = self._query.words[i].slot.alternatives[0][0]
        if is_spaceless(word) and len(word) >= SHORT_RUN:
            return self._mistyped_run(word)
        is_last = self._complete and i == len(self._query.words) - 1
        shortest = 1 if is_last or is_spaceless(word) else 4
        if len(word) < shortest:
            return []
        span = self._vocabulary.span(word)
        found = _make_way(NAME_PREFIX, [self._postings.of("name", *span)])
        if len(word) >= 2 or word.isdigit():
            found += _make_way(CONTEXT_PREFIX, [self._postings.of("context", *span)])
        return found

    def _mistyped_run(self, word: str) -> list[Way]:
        """Return the way of names with a run in which a character is another, lost or swapped."""
        terms = tuple(dict.fromkeys(word))
        wrong = 1 if len(terms) < TWO_WRONG else 2
        if not is_han(word):
            # Few characters make many words, so it is pairs of them that count.
            terms, wrong = tuple(split_grams(word)), 2
        run = self._postings.of_most("name", terms, len(terms) - wrong)
        return _make_way(NAME_FUZZY, [run], is_sorted=True) if len(terms) > wrong else []

    def _fuzzy_ways(self, i: int) -> list[Way]:
        word = self._query.words[i]
        if word.slot.has_digit or is_spaceless(word.text):
            return []
        is_last = self._complete and i == len(self._query.words) - 1
        found = []
        for spelled in dict.fromkeys(a[0] for a in word.alternatives if len(a) == 1):
            if len(spelled) < 4:
                continue
            distance = 2 if len(spelled) >= 8 and not is_last else 1
            near = self._vocabulary.near(spelled, distance, is_last)
            found += self._near(NAME_FUZZY, "name", near)
            found += self._near(CONTEXT_FUZZY, "context", near)
            if self._is_before_street_word(i):  # Clemattis Weg, of Clematisweg
                found += self._near(NAME_FUZZY, "part", near)
        return found

    def _near(self, level: int, field: str, near: NDArray[np.int64]) -> list[Way]:
        return _make_way(level, self._postings.runs(field, near))

    def _is_before_street_word(self, i: int) -> bool:
        words = self._query.words
        return i + 1 < len(words) and words[i + 1].text in SUFFIX_FORMS

    # ---- judging ----------------------------------------------------------------------------

    def judge(self, documents: Documents) -> Candidates:
        """Return the levels of all words for these documents."""
        count = len(self._query.words)
        judged, known = self._judged
        if documents is not judged:
            documents, known = distinct(documents).astype(np.int32), {}
        levels = np.zeros((len(documents), count), np.int8)
        whole = np.zeros(len(documents), np.int64)
        if len(documents):
            for i in range(count):
                bits = known[i] if i in known else self._match(self._ways(i), documents)
                levels[:, i] = _BEST[bits]
            whole = self._find_whole(documents)
        return Candidates(
            documents.astype(np.int64), levels, whole // _PLACES, whole % _PLACES,
            self._find_kinds(documents),
        )  # fmt: skip

    def _find_kinds(self, documents: Documents) -> Mask:
        tags = {t for word in self._query.words if not word.is_unfinished for t in word.categories}
        ways = self._all_of(CATEGORY, "category", [(tag,) for tag in tags])
        return self._match(ways, documents) > 0

    def _find_whole(self, documents: Documents) -> NDArray[np.int64]:
        """Return length and place of the longest run of words that is a document's whole name."""
        words = [word.text for word in self._query.words]
        whole = np.zeros(len(documents), np.int64)
        for start in range(len(words)):
            for stop in range(start + 1, min(len(words), start + 8) + 1):
                run = self._postings.of_all("key", (name_key(" ".join(words[start:stop])),))
                for way in _make_way(NAME, [run], is_sorted=True):
                    score = (stop - start) * _PLACES + start
                    np.maximum(whole, score, out=whole, where=self._hold(way, documents))
        return whole


def _make_way(level: int, runs: Sequence[Documents], *, is_sorted: bool = False) -> list[Way]:
    """Return the way of some runs, each of them sorted or not; none where they are empty."""
    size = sum(map(len, runs))
    return [Way(level, tuple(runs), size, is_sorted and len(runs) == 1)] if size else []


def _split_best(
    scores: NDArray[np.int32], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the scores above the last of the `limit` best, and of those like it."""
    least = np.partition(scores, -limit)[-limit]
    return (scores > least).nonzero()[0], (scores == least).nonzero()[0]
