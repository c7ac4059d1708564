"""Which documents have a term, in flat arrays: what the geocoder looks its words up in.

For every field a column of documents, sorted by term and document, and the offsets of each term in
it. So the documents of a term are a slice, and so are those of all terms with a beginning; nothing
is decoded, and what several words have in common is found by arrays.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.caches import cache_method
from mapyard.geocoding.search.vocabulary import Vocabulary, write_vocabulary
from mapyard.store.columns import ColumnWriter, offsets_of, open_column, write_column
from mapyard.store.derive import UNLIMITED
from mapyard.store.sorting import Sorter

#: Terms of names, parts of joined street names (land and strasse of Landstrasse), terms of where
#: something is; whole names, kinds.
FIELDS: Final = ("name", "part", "context", "key", "category")

Documents = NDArray[np.int32]
_SPOOLED_AT_ONCE: Final = 1 << 18
_NOTHING: Final = np.empty(0, np.int32)
_KEPT: Final = 4_096
_KEPT_MOST: Final = 256


class _Numbers(dict[str, int]):
    """A number for each term; one that is asked for the first time gets the next."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class PostingsWriter:
    """Collects the terms of documents in files, and writes them all at the end.

    Only the terms themselves, each once, are held.
    """

    def __init__(self, folder: Path, memory_bytes: int = UNLIMITED) -> None:
        """Begin postings in a new folder; sorting them takes `memory_bytes`."""
        folder.mkdir(parents=True)
        self._folder, self._memory_bytes = folder, memory_bytes
        self._numbers = _Numbers()
        self._work = tempfile.TemporaryDirectory(prefix="work-", dir=folder)
        self._spools = {field: _Spool(Path(self._work.name), field) for field in FIELDS}

    def add(self, document: int, texts: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Add (field, distinct terms) of a document."""
        number = self._numbers.__getitem__
        for field, terms in texts:
            self._spools[field].add(document, map(number, terms))

    def take_over(self, before: Postings, documents: NDArray[Any]) -> None:
        """Add what is known of other documents: the new number of each, −1 for none."""
        known = np.array([self._numbers[term] for term in before.terms()], np.uint32)
        for field in FIELDS:
            at, numbers = before.pairs(field)
            target = documents[numbers]
            kept = target >= 0
            self._spools[field].append(known[at[kept]], target[kept])

    def close(self) -> None:
        """Write everything."""
        with self._work:
            count = len(self._numbers)
            is_used = np.zeros(count, np.bool_)
            for spool in self._spools.values():
                spool.close()
                for terms, _ in spool.blocks():
                    is_used[terms] = True
            numbers = list(self._numbers.items())
            self._numbers.clear()
            used = [pair for pair in numbers if is_used[pair[1]]]
            del numbers
            used.sort()  # as UTF-8 sorts: by code point
            place = np.zeros(count, np.int64)
            place[[number for _, number in used]] = np.arange(len(used))
            write_vocabulary(self._folder, [term for term, _ in used])
            del used
            for field, spool in self._spools.items():
                self._write_field(field, spool, place, int(is_used.sum()))

    def _write_field(self, field: str, spool: _Spool, place: NDArray[np.int64], count: int) -> None:
        lengths = np.zeros(count, np.int64)
        with (
            Sorter(Path(self._work.name), self._memory_bytes) as sorter,
            ColumnWriter(self._folder, f"{field}_documents", np.int32) as writer,
        ):
            for terms, documents in spool.blocks():
                at = place[terms]
                lengths += np.bincount(at, minlength=count)
                sorter.add((at.astype(np.uint64) << np.uint64(32)) | documents)
            for keys in sorter.blocks():
                writer.append((keys & np.uint64(0xFFFFFFFF)).astype(np.int32))
        write_column(self._folder, f"{field}_offsets", offsets_of(lengths).astype(np.uint32))


class _Spool:
    """The terms of documents in one field, in the order in which they came."""

    def __init__(self, folder: Path, field: str) -> None:
        self._folder = folder
        self._names = f"{field}-terms", f"{field}-documents"
        self._files = [ColumnWriter(folder, name, np.uint32) for name in self._names]
        self._terms, self._documents, self._counts = array("I"), array("I"), array("I")

    def add(self, document: int, terms: Iterable[int]) -> None:
        """Add the terms of a document."""
        before = len(self._terms)
        self._terms.extend(terms)
        count = len(self._terms) - before
        if count:
            self._documents.append(document)
            self._counts.append(count)
        if before + count >= _SPOOLED_AT_ONCE:
            self._flush()

    def append(self, terms: NDArray[Any], documents: NDArray[Any]) -> None:
        """Add pairs of a term and a document."""
        for file, values in zip(self._files, (terms, documents), strict=True):
            file.append(values)

    def _flush(self) -> None:
        documents = np.repeat(np.asarray(self._documents), np.asarray(self._counts))
        self.append(np.asarray(self._terms), documents)
        self._terms, self._documents, self._counts = array("I"), array("I"), array("I")

    def close(self) -> None:
        """Write the rest; then there are blocks."""
        self._flush()
        for file in self._files:
            file.close()

    def blocks(self) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
        """Yield terms and documents."""
        terms, documents = (open_column(self._folder, name) for name in self._names)
        for start in range(0, len(terms), _SPOOLED_AT_ONCE):
            part = slice(start, start + _SPOOLED_AT_ONCE)
            yield terms[part], documents[part]


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
