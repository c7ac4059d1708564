"""The text index of a dataset: a tantivy index for name search.

It holds one document per element with a searchable text: `name`, `name_key`, `other`, `group`,
`eid`. (The geocoder looks its words up in postings of its own, geocoding/search/postings.py.)

An update hard-links the index of the dataset before, deletes from it what changed and adds one
segment with all documents that are newer than the last full build: they have the key `fresh`. So
there are never more than two parts, however many updates there were.

All text fields take ready terms (see analysis.py): terms of one value are separated by spaces,
keys are whole. Nothing is ordered by BM25, so that an answer does not depend on what else is in the
extract.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import tantivy
from tantivy import FieldType, Occur, Order

from mapyard.text.links import link_files

Query = tantivy.Query

#: Terms fields: space-separated terms, no positions.
TERM_FIELDS: Final = ("name", "other")
#: Key fields: each value is one term.
KEY_FIELDS: Final = ("name_key", "group", "fresh")
NUMBER_FIELDS: Final = ("eid",)

_WRITER_BYTES: Final = 200_000_000


_FRESH: Final = "1"


def _build_schema() -> Any:
    builder = tantivy.SchemaBuilder()
    for name in TERM_FIELDS:
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="basic")
    for name in KEY_FIELDS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in NUMBER_FIELDS:
        builder.add_integer_field(name, fast=True, indexed=True)
    return builder.build()


_SCHEMA: Final = _build_schema()


class IndexWriter:
    """Writes a new index; memory is bounded by the writer's own buffer."""

    def __init__(self, folder: Path, base: Path | None = None) -> None:
        """Begin an index in a folder: empty, or one with all but the fresh documents of `base`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._is_patch = base is not None
        #: Files that are those of `base` on disk.
        self.linked: list[Path] = []
        if base is not None:
            self.linked = link_index(base, folder)
        self._index = tantivy.Index(_SCHEMA, path=str(folder))
        # One thread: builds are to be the same twice, and segments few.
        self._writer = self._index.writer(_WRITER_BYTES, 1)
        self.count = 0
        if self._is_patch:
            self._writer.delete_documents_by_term("fresh", _FRESH)

    def delete(self, field: str, numbers: Iterable[int]) -> None:
        """Delete the documents of `base` with one of these numbers in a field."""
        for number in numbers:
            self._writer.delete_documents_by_term(field, number)

    def add(
        self,
        terms: Iterable[tuple[str, Iterable[str]]],
        keys: Iterable[tuple[str, Iterable[str]]],
        numbers: Iterable[tuple[str, int]],
    ) -> None:
        """Add one document: (field, terms), (field, keys), (field, number)."""
        document = tantivy.Document()
        for field, values in terms:
            text = " ".join(values)
            if text:
                document.add_text(field, text)
        for field, values in keys:
            for value in values:
                document.add_text(field, value)
        for field, number in numbers:
            document.add_integer(field, number)
        if self._is_patch:
            document.add_text("fresh", _FRESH)
        self._writer.add_document(document)
        self.count += 1

    def close(self) -> None:
        """Write everything to disk."""
        self._writer.commit()
        self._writer.wait_merging_threads()


def link_index(base: Path, folder: Path) -> list[Path]:
    """Make an index of the same files: segments never change, the lists of them are copied.

    Return those that are the same on disk.
    """
    files = [path for path in base.iterdir() if path.suffix != ".lock"]
    for path in files:
        if path.suffix == ".json":
            shutil.copy(path, folder / path.name)
    return link_files([path for path in files if path.suffix != ".json"], folder)


class TextIndex:
    """An opened index; may be used by several threads."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():  # tantivy's own error is a ValueError
            raise FileNotFoundError(folder)
        self._index = tantivy.Index.open(str(folder))
        self.schema = self._index.schema
        self._searcher = self._index.searcher()

    # ---- queries ----------------------------------------------------------------------------

    def term(self, field: str, value: str) -> Any:
        """Return the query for one whole term or key."""
        return Query.term_query(self.schema, field, value)

    def prefix(self, field: str, value: str) -> Any:
        """Return the query for terms that begin with a text."""
        return Query.fuzzy_term_query(self.schema, field, value, 0, True, True)

    def fuzzy(self, field: str, value: str, distance: int = 1, *, prefix: bool = False) -> Any:
        """Return the query for terms within an edit distance (a swap of neighbors counts one)."""
        return Query.fuzzy_term_query(self.schema, field, value, distance, True, prefix)

    def number_range(self, field: str, low: int, high: int) -> Any:
        """Return the query for low ≤ number ≤ high."""
        return Query.range_query(self.schema, field, FieldType.Integer, low, high)

    def numbers(self, field: str, numbers: list[int]) -> Any:
        """Return the query for any of some numbers."""
        return Query.term_set_query(self.schema, field, numbers)

    @staticmethod
    def all_of(queries: Sequence[Any]) -> Any:
        """Return the conjunction; scores add up."""
        if len(queries) == 1:
            return queries[0]
        return Query.boolean_query([(Occur.Must, query) for query in queries])

    @staticmethod
    def any_of(queries: Sequence[Any]) -> Any:
        """Return the disjunction; the best score counts."""
        return queries[0] if len(queries) == 1 else Query.disjunction_max_query(list(queries))

    @staticmethod
    def without(query: Any, excluded: Sequence[Any]) -> Any:
        """Return the query less the documents of the excluded ones."""
        if not excluded:
            return query
        return Query.boolean_query(
            [(Occur.Must, query), *((Occur.MustNot, other) for other in excluded)]
        )

    # ---- answers ----------------------------------------------------------------------------

    def search_ordered(self, query: Any, field: str, limit: int, offset: int = 0) -> list[int]:
        """Return the numbers in `field` of the matching documents, ascending."""
        result = self._searcher.search(
            query, limit, count=False, order_by_field=field, order=Order.Asc, offset=offset
        )
        return [hit[0] for hit in result.hits]

    def count(self, query: Any) -> int:
        """Return the number of matching documents."""
        result: Any = self._searcher.search(query, 1, count=True)
        return int(result.count)
