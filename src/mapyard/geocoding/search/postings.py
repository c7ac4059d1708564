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
from mapyard.geocoding.search.vocabulary import (
    Vocabulary,
    link_vocabulary,
    write_vocabulary,
)
from mapyard.native import address
from mapyard.store.columns import ColumnWriter, offsets_of, open_column, write_column
from mapyard.store.derive import UNLIMITED
from mapyard.store.kernels import load_kernels
from mapyard.store.kernels import place as place_of
from mapyard.store.sorting import Sorter

#: Terms of names, parts of joined street names (land and strasse of Landstrasse), terms of where
#: something is; whole names, kinds.
FIELDS: Final = ("name", "part", "context", "key", "category")

Documents = NDArray[np.int32]
_SPOOLED_AT_ONCE: Final = 1 << 18
_SPLICED_AT_ONCE: Final = 1 << 20
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
        self._before: tuple[Postings, Documents] | None = None
        self._work = tempfile.TemporaryDirectory(prefix="work-", dir=folder)
        self._spools = {field: _Spool(Path(self._work.name), field) for field in FIELDS}

    def add(self, document: int, texts: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Add (field, distinct terms) of a document."""
        number = self._numbers.__getitem__
        for field, terms in texts:
            self._spools[field].add(document, map(number, terms))

    def take_over(self, before: Postings, documents: NDArray[Any]) -> None:
        """Add what is known of other documents: the new number of each, −1 for none.

        They have to be in the same order as before.
        """
        kept = documents[documents >= 0]
        if (kept[1:] <= kept[:-1]).any():
            raise ValueError("documents that are taken over are in another order than before")
        self._before = before, np.ascontiguousarray(documents, np.int32)

    def close(self) -> list[Path]:
        """Write everything; return the files that are the same on disk as before."""
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
            if self._before is not None:
                return self._splice(*self._before, used, count)
            place = np.zeros(count, np.int64)
            place[[number for _, number in used]] = np.arange(len(used))
            write_vocabulary(self._folder, [term for term, _ in used])
            del used
            for field, spool in self._spools.items():
                self._write_field(field, spool, place, int(is_used.sum()))
            return []

    def _splice(
        self, before: Postings, documents: Documents, used: list[tuple[str, int]], count: int
    ) -> list[Path]:
        """Write what is left of the postings before, with what was added in between.

        Args:
            before: the postings that were taken over.
            documents: new number of each document there, −1 for none.
            used: (term, number) of all added terms, in order.
            count: of the numbers of terms that were added.
        """
        old = before.vocabulary
        places = np.array([old.place(term) for term, _ in used], np.int64)
        is_old = np.array(
            [at < len(old) and old[at] == term for at, (term, _) in zip(places, used, strict=True)],
            np.bool_,
        )
        counts = {field: before.count_kept(field, documents) for field in FIELDS}
        is_left = np.any([kept > 0 for kept in counts.values()], axis=0)
        is_left[places[is_old]] = True
        left = np.flatnonzero(is_left)
        # For each term its number before, −1 for new ones.
        runs = np.insert(left, np.searchsorted(left, places[~is_old]), -1)
        is_new = runs < 0
        new_number = np.full(len(old) + 1, -1, np.int64)
        new_number[runs[~is_new]] = np.flatnonzero(~is_new)
        number = new_number[places]
        number[~is_old] = np.flatnonzero(is_new)
        place = np.zeros(count, np.int64)
        place[[number for _, number in used]] = number
        linked = []
        if len(runs) == len(old) and not is_new.any():
            linked = link_vocabulary(before.folder, self._folder)
        else:
            terms = old.take_all()
            added = iter([term for (term, _), known in zip(used, is_old, strict=True) if not known])
            write_vocabulary(
                self._folder, [next(added) if run < 0 else terms[run] for run in runs.tolist()]
            )
        for field, spool in self._spools.items():
            keys = [np.empty(0, np.int64)]
            keys += [(place[terms] << 32) | documents for terms, documents in spool.blocks()]
            added_keys = np.sort(np.concatenate(keys))
            lengths = np.append(counts[field], 0)[runs]
            lengths += np.bincount(added_keys >> 32, minlength=len(runs))
            with ColumnWriter(self._folder, f"{field}_documents", np.int32) as writer:
                for block in before.splice(field, documents, runs, added_keys):
                    writer.append(block)
            self._write_offsets(field, lengths)
        return linked

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
        self._write_offsets(field, lengths)

    def _write_offsets(self, field: str, lengths: NDArray[np.int64]) -> None:
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
        self.folder = folder
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
        return self.vocabulary.take_all()

    # ---- writing the next ones ------------------------------------------------------------------

    def count_kept(self, field: str, documents: Documents) -> NDArray[np.int64]:
        """Return how many documents of each term have a new number; −1 is none."""
        counts = np.empty(len(self.vocabulary), np.int64)
        self._check(load_kernels().count_kept(*self._runs(field, documents), place_of(counts)))
        return counts

    def splice(
        self, field: str, documents: Documents, runs: NDArray[np.int64], keys: NDArray[np.int64]
    ) -> Iterator[Documents]:
        """Yield the documents of the terms `runs`, by new number, with others put in between.

        Args:
            field: of the terms.
            documents: new number of each document, ascending, −1 for none.
            runs: terms in order, −1 for one that is new.
            keys: sorted, of what is put in: place in `runs` << 32 | new number.
        """
        added = (keys & 0xFFFFFFFF).astype(np.int32)
        added_offsets = np.searchsorted(keys, np.arange(len(runs) + 1) << 32)
        lengths = np.append(np.diff(self._offsets[field].astype(np.int64)), 0)[runs]
        ends = np.cumsum(lengths) + added_offsets[1:]
        kernel = load_kernels().splice_runs
        start = 0
        while start < len(runs):
            done = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + _SPLICED_AT_ONCE, "right")))
            found = np.empty(int(ends[stop - 1]) - done, np.int32)
            count = kernel(
                *self._runs(field, documents), address(runs, np.int64), start, stop,
                address(added, np.int32), address(added_offsets, np.int64),
                place_of(found), len(found),
            )  # fmt: skip
            self._check(count)
            yield found[:count]
            start = stop

    def _runs(self, field: str, documents: Documents) -> tuple[int, ...]:
        values, offsets = self._documents[field], self._offsets[field]
        return (
            address(values, np.int32), address(offsets, np.uint32), len(offsets) - 1, len(values),
            address(documents, np.int32), len(documents),
        )  # fmt: skip

    def _check(self, count: int) -> None:
        if count < 0:
            raise IndexError(f"the postings in {self.folder} are damaged")


def open_postings(folder: Path) -> Postings:
    """Open the postings of a part `text`; raises FileNotFoundError where there are none."""
    return Postings(folder / "postings")
