"""The terms of a dataset: sorted, numbered, and found whole, by their beginning, or nearly.

The number of a term is its place in the sorted list, so the terms with a beginning are one range. A
tantivy index of the same terms, one document each, finds those within an edit distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import tantivy
from numpy.typing import NDArray

from mapyard.caches import cache_method
from mapyard.store.columns import Heap, write_heap
from mapyard.text.index import link_index
from mapyard.text.links import link_files

Terms = NDArray[np.int64]

_FILES: Final = ("term_bytes.npy", "term_offsets.npy")
_KEPT: Final = 65_536
_KEPT_NEAR: Final = 2_048
#: More terms than this are never taken for one misspelled word.
MAX_NEAR: Final = 10_000
_WRITER_BYTES: Final = 30_000_000


def _build_schema() -> Any:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("term", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("number", fast=True, indexed=False)
    return builder.build()


_SCHEMA: Final = _build_schema()


def write_vocabulary(folder: Path, terms: Sequence[str]) -> None:
    """Write sorted terms into a folder."""
    (folder / "near").mkdir()
    write_heap(folder, "term", [term.encode() for term in terms])
    index = tantivy.Index(_SCHEMA, path=str(folder / "near"))
    writer = index.writer(_WRITER_BYTES, 1)  # one thread: the same files twice
    for number, term in enumerate(terms):
        document = tantivy.Document()
        document.add_text("term", term)
        document.add_integer("number", number)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()


def link_vocabulary(before: Path, folder: Path) -> list[Path]:
    """Take over the terms of another folder; return the files that are the same on disk."""
    (folder / "near").mkdir()
    linked = link_index(before / "near", folder / "near")
    return linked + link_files([before / name for name in _FILES], folder)


class Vocabulary:
    """Opened terms; may be used by several threads."""

    def __init__(self, folder: Path) -> None:
        self._terms = Heap(folder, "term")
        self._schema = _SCHEMA
        self._searcher = tantivy.Index.open(str(folder / "near")).searcher()
        #: Number of a term, −1 for one that is nowhere.
        self.find = cache_method(self._find, _KEPT)
        #: First and behind the last number of the terms with a beginning.
        self.span = cache_method(self._span, _KEPT)
        #: Numbers of the terms within an edit distance, a swap of neighbors counting one; with
        #: `prefix` of those that begin with such a text.
        self.near = cache_method(self._near, _KEPT_NEAR)

    def __len__(self) -> int:
        return len(self._terms)

    def __getitem__(self, number: int) -> str:
        return self._terms[number].decode()

    def place(self, term: str) -> int:
        """Return the number of the first term that is not before one."""
        return self._terms.find(term.encode(), 0, len(self._terms))

    def take_all(self) -> list[str]:
        """Return all terms in order."""
        return [term.decode() for term in self._terms.span(0, len(self._terms))]

    def _find(self, term: str) -> int:
        if not self._searcher.doc_freq("term", term):
            return -1  # as most of what is asked for
        return self._terms.find(term.encode(), 0, len(self._terms))

    def _span(self, prefix: str) -> tuple[int, int]:
        text = prefix.encode()
        first = self._terms.find(text, 0, len(self._terms))
        # No text of UTF-8 has the byte FF.
        return first, self._terms.find(text + b"\xff", first, len(self._terms))

    def _near(self, term: str, distance: int, prefix: bool) -> Terms:
        query = tantivy.Query.fuzzy_term_query(self._schema, "term", term, distance, True, prefix)
        hits = self._searcher.search(query, min(MAX_NEAR, len(self) or 1), count=False).hits
        addresses = [hit[1] for hit in hits]
        found = np.array(self._searcher.fast_field_values("number", addresses), np.int64)
        found.sort()
        return found
