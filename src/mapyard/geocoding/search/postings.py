"""Which documents have a term, in flat arrays: what the geocoder looks its words up in.

For every field a column of documents, sorted by term and document, and the offsets of each term in
it. So the documents of a term are a slice, and so are those of all terms with a beginning; nothing
is decoded, and what several words have in common is found by arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.caches import cache_method
from mapyard.geocoding.search.vocabulary import Vocabulary, write_vocabulary
from mapyard.store.columns import offsets_of, open_column, write_column

#: Terms of names, parts of joined street names (land and strasse of Landstrasse), terms of where
#: something is; whole names, kinds.
FIELDS: Final = ("name", "part", "context", "key", "category")

Documents = NDArray[np.int32]
_NOTHING: Final = np.empty(0, np.int32)
_KEPT: Final = 4_096
_KEPT_MOST: Final = 256


class _Numbers(dict[str, int]):
    """A number for each term; one that is asked for the first time gets the next."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class PostingsWriter:
    """Collects the terms of documents, and writes them all at the end."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._terms = {field: array("I") for field in FIELDS}
        #: Documents, and how many terms of each follow each other.
        self._documents = {field: array("I") for field in FIELDS}
        self._counts = {field: array("I") for field in FIELDS}
        self._is_nearly_sorted = False

    def add(self, document: int, texts: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Add (field, distinct terms) of a document."""
        number = self._numbers.__getitem__
        for field, terms in texts:
            found = array("I", map(number, terms))
            self._terms[field].extend(found)
            self._documents[field].append(document)
            self._counts[field].append(len(found))

    def take_over(self, before: Postings, documents: NDArray[Any]) -> None:
        """Add what is known of other documents: the new number of each, −1 for none."""
        self._is_nearly_sorted = True
        known = np.array([self._numbers[term] for term in before.terms()], np.uint32)
        for field in FIELDS:
            at, numbers = before.pairs(field)
            target = documents[numbers]
            kept = target >= 0
            self._terms[field].frombytes(known[at[kept]].tobytes())
            self._documents[field].frombytes(target[kept].astype(np.uint32).tobytes())
            self._counts[field].frombytes(np.ones(int(kept.sum()), np.uint32).tobytes())

    def close(self, folder: Path) -> None:
        """Write everything into a new folder."""
        is_used = np.zeros(len(self._numbers), np.bool_)
        for numbers in self._terms.values():
            is_used[np.asarray(numbers)] = True
        used = [term for term, is_there in zip(self._numbers, is_used, strict=True) if is_there]
        used.sort()  # as UTF-8 sorts: by code point
        place = np.zeros(len(self._numbers), np.int64)
        place[[self._numbers[term] for term in used]] = np.arange(len(used))
        write_vocabulary(folder, used)
        for field in FIELDS:
            # Field by field, and each let go of: together they are most of what a build holds.
            terms, documents, counts = (
                np.asarray(lists.pop(field))
                for lists in (self._terms, self._documents, self._counts)
            )
            joined = place[terms]
            joined <<= 32
            joined |= np.repeat(documents, counts)
            del terms, documents, counts
            # What was taken over is in order: merging it with the rest is a matter of one pass.
            joined.sort(kind="stable" if self._is_nearly_sorted else "quicksort")
            lengths = np.bincount(joined >> 32, minlength=len(used))
            write_column(folder, f"{field}_offsets", offsets_of(lengths).astype(np.uint32))
            write_column(folder, f"{field}_documents", joined.astype(np.int32))


class Postings:
    """Opened postings; may be used by several threads."""

    def __init__(self, folder: Path) -> None:
        self.vocabulary = Vocabulary(folder)
        self._offsets = {field: open_column(folder, f"{field}_offsets") for field in FIELDS}
        self._documents = {field: open_column(folder, f"{field}_documents") for field in FIELDS}
        self._views = {field: memoryview(offsets) for field, offsets in self._offsets.items()}
        #: The sorted documents that have all of the terms in a field.
        self.of_all = cache_method(self._find_all, _KEPT)
        #: The sorted documents that have at least so many of the terms in a field.
        self.of_most = cache_method(self._find_most, _KEPT_MOST)

    def frequency(self, field: str, term: str) -> int:
        """Return the number of documents with a term."""
        number = self.vocabulary.find(term)
        return self.count(field, number, number + 1) if number >= 0 else 0

    def count(self, field: str, first: int, stop: int) -> int:
        """Return how often documents have terms in a range."""
        offsets = self._views[field]
        return int(offsets[stop]) - int(offsets[first])

    def of(self, field: str, first: int, stop: int) -> Documents:
        """Return the documents with terms in a range: sorted for each term."""
        offsets = self._views[field]
        found: Documents = self._documents[field][offsets[first] : offsets[stop]]
        return found

    def _find_all(self, field: str, terms: tuple[str, ...]) -> Documents:
        numbers = [self.vocabulary.find(term) for term in terms]
        if min(numbers) < 0:
            return _NOTHING
        runs = sorted((self.of(field, n, n + 1) for n in numbers), key=len)
        found = runs[0]
        for run in runs[1:]:
            if not len(found):
                break
            found = found[run.take(run.searchsorted(found), mode="clip") == found]
        return found

    def _find_most(self, field: str, terms: tuple[str, ...], minimum: int) -> Documents:
        numbers = {self.vocabulary.find(term) for term in terms} - {-1}
        runs = [self.of(field, number, number + 1) for number in numbers]
        if len(runs) < minimum:
            return _NOTHING
        documents = np.sort(np.concatenate(runs))
        # Sorted, what occurs so often is the same that many places further.
        again = documents[minimum - 1 :] == documents[: len(documents) - minimum + 1]
        found = documents[: len(again)][again]
        return found[np.r_[True, found[1:] != found[:-1]]] if len(found) else _NOTHING

    def runs(self, field: str, numbers: NDArray[np.int64]) -> list[Documents]:
        """Return the documents of each of some terms that has any."""
        offsets = self._offsets[field]
        starts, stops = offsets[numbers], offsets[numbers + 1]
        documents = self._documents[field]
        kept = (stops > starts).nonzero()[0]
        return [
            documents[start:stop]
            for start, stop in zip(starts[kept].tolist(), stops[kept].tolist(), strict=True)
        ]

    def complete(self, field: str, prefix: str, limit: int) -> list[int]:
        """Return up to `limit` numbers of terms of a field that begin with a text."""
        first, stop = self.vocabulary.span(prefix)
        lengths = np.diff(self._offsets[field][first : stop + 1].astype(np.int64))
        found: list[int] = (first + np.flatnonzero(lengths)[:limit]).tolist()
        return found

    def terms(self) -> list[str]:
        """Return all terms in order."""
        return [self.vocabulary[number] for number in range(len(self.vocabulary))]

    def pairs(self, field: str) -> tuple[NDArray[np.int64], Documents]:
        """Return the term and the document of all postings of a field."""
        offsets = self._offsets[field].astype(np.int64)
        lengths = offsets[1:] - offsets[:-1]
        return np.repeat(np.arange(len(lengths)), lengths), self._documents[field]


def open_postings(folder: Path) -> Postings:
    """Open the postings of a part `text`; raises FileNotFoundError where there are none."""
    return Postings(folder / "postings")
