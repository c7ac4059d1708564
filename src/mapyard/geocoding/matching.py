"""Finding candidate documents, and how each word of the query matches each of them.

For every word and document there is one level, the best that holds. They are read off the scores of
one query, three bits a word, so nothing about a document has to be loaded to judge it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapyard.geo.bbox import Bbox
from mapyard.geocoding.gazetteer import Gazetteer
from mapyard.geocoding.query import Understood, Word
from mapyard.store.distinct import distinct
from mapyard.store.reader import E7
from mapyard.text.analysis import name_key
from mapyard.text.folding import is_spaceless, split_grams
from mapyard.text.index import all_of, any_of, at_least, constant, with_optional
from mapyard.text.words import SUFFIX_FORMS

Ints = NDArray[np.int64]
Keep = Callable[[Ints], NDArray[np.bool_]]

# Levels, in the order of preference.
NOTHING, CONTEXT_FUZZY, NAME_FUZZY, CONTEXT_PREFIX, CONTEXT, NAME_PREFIX, CATEGORY, NAME = range(8)
#: What a level is worth of the word's weight.
WORTH: Final = np.array([0.0, 0.62, 0.66, 0.82, 0.96, 0.86, 0.90, 1.0])
#: Levels at which a word says what the thing itself is, not where.
IS_NAME: Final = np.array([0, 0, 1, 0, 0, 1, 1, 1], np.bool_)
#: Levels at which a number is part of a name or a postcode, and no house number.
IS_BOUND: Final = np.array([0, 0, 0, 0, 1, 0, 0, 1], np.bool_)
_BITS: Final = 3
_WORDS_PER_QUERY: Final = 24 // _BITS
#: More than the words of a query: lengths and places are packed with it.
_PLACES: Final = 64
_SCALE: Final = 4096
#: Postcodes are found by their beginning from this many digits, and at most so many of them.
SHORTEST_CODE: Final = 3
MAX_CODES: Final = 24
#: Characters of a name in a script without spaces, of which one may be wrong.
LONG_RUN: Final = 4
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

    def pick(self, gazetteer: Gazetteer, documents: Ints) -> Ints:
        """Return the documents whose element `keep` lets through."""
        if self.keep is None:
            return documents
        documents = documents[gazetteer.row[documents] >= 0]
        rows = gazetteer.row[documents]
        order = np.argsort(rows, kind="stable")
        return documents[order][self.keep(rows[order])]

    def queries(self, gazetteer: Gazetteer) -> list[Any]:
        """Return the conditions as queries."""
        index = gazetteer.index
        found = []
        if self.layer:
            found.append(any_of([index.term("layer", name) for name in self.layer.split(",")]))
        if self.countries:
            found.append(any_of([index.term("country", code) for code in self.countries]))
        if self.bbox is not None:
            boxes = [
                all_of(
                    [
                        index.number_range("lon", round(box.west * E7), round(box.east * E7)),
                        index.number_range("lat", round(box.south * E7), round(box.north * E7)),
                    ]
                )
                for box in self.bbox.split()
            ]
            found.append(any_of(boxes))
        return [constant(query, 0.0) for query in found]


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


class Matcher:
    """One query against the index."""

    def __init__(
        self,
        gazetteer: Gazetteer,
        query: Understood,
        filters: Filters,
        *,
        complete: bool,
        limit: int = MAX_CANDIDATES,
    ) -> None:
        self._gazetteer = gazetteer
        self._index = gazetteer.index
        self._query = query
        self._filters = filters.queries(gazetteer)
        self._complete = complete
        self._limit = limit
        self._selection: tuple[int, Any] = (-1, None)
        self._exact: dict[int, list[tuple[int, Any]]] = {}
        self._loose: dict[int, list[tuple[int, Any]]] = {}

    def find_all(self) -> Ints:
        """Return the documents that all words match, unknown ones loosely."""
        required = self._query.required(names_of_houses=True)
        if not required:
            return np.empty(0, np.int64)
        queries, names = [], []
        begun = self._query.begun
        optional = []
        if begun >= 0 and begun not in required:
            variants = self._exact_variants(begun) + self._prefix_variants(begun)
            optional = [self._scored(begun, variants)] if variants else []
        for i in required:
            variants = self._exact_variants(i)
            if not self._query.words[i].is_known:
                variants = variants + self._loose_variants(i)
            elif self._complete and i == len(self._query.words) - 1:
                variants = variants + self._prefix_variants(i)
            if not variants:
                return np.empty(0, np.int64)
            queries.append(self._scored(i, variants))
            names += [query for level, query in variants if IS_NAME[level]]
        return self._run(queries, names, optional)

    def find_most(self) -> Ints:
        """Return the documents that most words match, exactly or loosely."""
        required = self._query.required(names_of_houses=False)
        queries, names = [], []
        for i in required:
            variants = self._exact_variants(i) + self._loose_variants(i)
            if variants:
                queries.append(self._scored(i, variants))
                names += [query for level, query in variants if IS_NAME[level]]
        if not queries:
            return np.empty(0, np.int64)
        # A long query may hold many words that nobody mapped (floor, building, company).
        minimum = max(1, min(len(required) - 1, (len(required) + 1) // 2))
        minimum = min(minimum, len(queries))
        return self._run([at_least(queries, minimum)], names)

    def _run(self, queries: list[Any], names: list[Any], optional: list[Any] | None = None) -> Ints:
        """Return the best documents of which at least one word is (in) the name."""
        if not names:
            return np.empty(0, np.int64)
        named = constant(at_least(names, 1), 0.0)
        query = with_optional(all_of([*queries, named, *self._filters]), optional or [])
        hits = self._index.search(query, self._limit)
        # As long as nothing is cut off, the query itself stands for its documents.
        self._selection = len(hits.addresses), constant(query, 0.0)
        if len(hits.addresses) < self._limit:
            return self._gazetteer.documents_at(hits.addresses)
        hits = self._index.search_parts(query, self._limit)
        documents = self._gazetteer.documents_at(hits.addresses)
        return documents[np.lexsort((documents, -hits.scores))[: self._limit]]

    # ---- the ways a word can match ----------------------------------------------------------

    def _scored(self, i: int, variants: list[tuple[int, Any]]) -> Any:
        """Return the query for a word, its score the worth of the best level."""
        weight = self._query.words[i].weight
        # Multiples of a power of two: sums are exact in whatever order the index adds them up.
        scores = [round(weight * float(WORTH[level]) * _SCALE) / _SCALE for level, _ in variants]
        return any_of([constant(q, s) for (_, q), s in zip(variants, scores, strict=True)])

    def _exact_variants(self, i: int) -> list[tuple[int, Any]]:
        if i not in self._exact:
            self._exact[i] = self._find_exact(self._query.words[i])
        return self._exact[i]

    def _find_exact(self, word: Word) -> list[tuple[int, Any]]:
        index = self._index
        found = []
        for level, field in ((NAME, "place_name"), (CONTEXT, "context")):
            queries = [
                all_of([index.term(field, term) for term in alternative])
                for alternative in word.alternatives
                if all(index.frequency(field, term) for term in alternative)
            ]
            if queries:
                found.append((level, any_of(queries)))
        if word.slot.has_digit and len(word.text) >= SHORTEST_CODE:
            # The first digits of postcodes.
            codes = [
                term
                for term, _ in index.complete("context", word.text, MAX_CODES)
                if term != word.text
            ]
            if codes:
                found.append((CONTEXT_PREFIX, any_of([index.term("context", c) for c in codes])))
        parts = [
            all_of([index.term("place_part", term) for term in alternative])
            for alternative in word.alternatives
            if all(index.frequency("place_part", term) for term in alternative)
        ]
        if parts:
            found.append((NAME_PREFIX, any_of(parts)))
        if word.country:
            found.append((CONTEXT, index.term("country", word.country)))
        if word.categories:
            tags = [index.term("category", tag) for tag in word.categories]
            found.append((NAME_FUZZY if word.is_unfinished else CATEGORY, any_of(tags)))
        return found

    def _loose_variants(self, i: int) -> list[tuple[int, Any]]:
        if i not in self._loose:
            self._loose[i] = self._prefix_variants(i) + self._fuzzy_variants(i)
        return self._loose[i]

    def _prefix_variants(self, i: int) -> list[tuple[int, Any]]:
        word = self._query.words[i].slot.alternatives[0][0]
        if is_spaceless(word) and len(word) >= LONG_RUN:
            # A run of characters of which one is another, or missing.
            grams = [self._index.term("place_name", gram) for gram in split_grams(word)]
            return [(NAME_FUZZY, constant(at_least(grams, len(grams) - 2), 1.0))]
        is_last = self._complete and i == len(self._query.words) - 1
        shortest = 1 if is_last or is_spaceless(word) else 4
        if len(word) < shortest:
            return []
        found = [(NAME_PREFIX, self._index.prefix("place_name", word))]
        if len(word) >= 2 or word.isdigit():
            found.append((CONTEXT_PREFIX, self._index.prefix("context", word)))
        return found

    def _fuzzy_variants(self, i: int) -> list[tuple[int, Any]]:
        word = self._query.words[i]
        if word.slot.has_digit or is_spaceless(word.text):
            return []
        is_last = self._complete and i == len(self._query.words) - 1
        found = []
        for spelled in dict.fromkeys(a[0] for a in word.alternatives if len(a) == 1):
            if len(spelled) < 4:
                continue
            distance = 2 if len(spelled) >= 8 and not is_last else 1
            fields = [(NAME_FUZZY, "place_name"), (CONTEXT_FUZZY, "context")]
            if self._is_before_street_word(i):  # Clemattis Weg, of Clematisweg
                fields.append((NAME_FUZZY, "place_part"))
            for level, field in fields:
                found.append((level, self._index.fuzzy(field, spelled, distance, prefix=is_last)))
        return found

    def _is_before_street_word(self, i: int) -> bool:
        words = self._query.words
        return i + 1 < len(words) and words[i + 1].text in SUFFIX_FORMS

    # ---- judging ----------------------------------------------------------------------------

    def judge(self, documents: Ints) -> Candidates:
        """Return the levels of all words for these documents."""
        documents = distinct(documents)
        words = range(len(self._query.words))
        levels = np.zeros((len(documents), len(words)), np.int8)
        if not len(documents):
            nothing = np.zeros(0, np.int64)
            return Candidates(documents, levels, nothing, nothing, nothing.astype(np.bool_))
        count, among = self._selection
        if count != len(documents) or count == self._limit:
            numbers = self._gazetteer.document_number[documents].tolist()
            among = constant(self._index.numbered("document", numbers), 0.0)
        for first in range(0, len(words), _WORDS_PER_QUERY):
            part = list(words[first : first + _WORDS_PER_QUERY])
            queries = []
            for shift, i in enumerate(part):
                variants = self._exact_variants(i)
                loose = not self._query.words[i].is_known or i in self._loose
                if loose:
                    variants = variants + self._loose_variants(i)
                elif self._complete and i == len(words) - 1:
                    variants = variants + self._prefix_variants(i)
                if variants:
                    scale = float(1 << (_BITS * shift))
                    queries.append(any_of([constant(q, level * scale) for level, q in variants]))
            if not queries:
                continue
            found, scores = self._score(among, queries, len(documents))
            place = np.searchsorted(documents, found)
            for shift, i in enumerate(part):
                levels[place, i] = (scores >> (_BITS * shift)) & 7
        whole, start = self._find_whole(among, documents)
        return Candidates(documents, levels, whole, start, self._find_kinds(among, documents))

    def _find_kinds(self, among: Any, documents: Ints) -> NDArray[np.bool_]:
        words = [word for word in self._query.words if not word.is_unfinished]
        tags = {tag for word in words for tag in word.categories}
        found = np.zeros(len(documents), np.bool_)
        if tags:
            of_kind = any_of([self._index.term("category", tag) for tag in sorted(tags)])
            hits, _ = self._score(among, [constant(of_kind, 1.0)], len(documents))
            found[np.searchsorted(documents, hits)] = True
        return found

    def _score(self, among: Any, queries: list[Any], count: int) -> tuple[Ints, Ints]:
        hits = self._index.search(all_of([among, at_least(queries, 1)]), count)
        found = self._gazetteer.documents_at(hits.addresses)
        return found, np.round(hits.scores).astype(np.int64)

    def _find_whole(self, among: Any, documents: Ints) -> tuple[Ints, Ints]:
        """Return length and place of the longest run of words that is a document's whole name."""
        words = [word.text for word in self._query.words]
        queries = []
        for start in range(len(words)):
            for stop in range(start + 1, min(len(words), start + 8) + 1):
                key = name_key(" ".join(words[start:stop]))
                if self._index.frequency("place_key", key):
                    score = (stop - start) * _PLACES + start
                    queries.append(constant(self._index.term("place_key", key), float(score)))
        whole = np.zeros(len(documents), np.int64)
        if queries:
            found, scores = self._score(among, [any_of(queries)], len(documents))
            whole[np.searchsorted(documents, found)] = scores
        return whole // _PLACES, whole % _PLACES
