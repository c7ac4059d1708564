"""Name search over all elements: /search.

The answer is ordered by relevance, then by (osm_id, type). Relevance is a small number of tiers, so
that it is the same on every page and in every process:

0. the whole name, of a place (town, boundary, island, …)
1. the whole name
2. every word is in the names (any language; alternative, old, short, official, local names)
3. every word, or the beginning of one, is in the names
4. the same in the names, ref, operator and brand together
5. with one typo per word of four letters and more; only when the tiers above have nothing
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.features.by_place import PlacedWriter, Records, make_record
from mapyard.store.distinct import distinct_rows
from mapyard.store.reader import Store
from mapyard.text.analysis import Slot, name_keys, slots, terms
from mapyard.text.folding import is_spaceless
from mapyard.text.index import IndexWriter, TextIndex
from mapyard.text.names import OTHER_KEYS, iter_names, parse_name_key, split_values

#: Longer texts are no names: they find nothing.
MAX_QUERY_LETTERS: Final = 300
_ALL_WORDS: Final = 2
_LAST_TIER: Final = 5
#: Tiers that find together what all but the last do, the cheap ones first.
_WITHOUT_TYPOS: Final = (1, _ALL_WORDS, 4)
_BATCH: Final = 512
#: Elements that are looked at before it is asked which names are in the box or which elements a
#: filter lets through at all, and how many of these the index finds in the time of looking at one.
_SCANNED: Final = _BATCH
_CHEAPER: Final = 4
#: Names around a box that are read before the index is asked, and after so much was looked at.
_FEW_RECORDS: Final = 4_096
_MOST_RECORDS: Final = 32_768
_TERM_FIELDS: Final = ("name", "other")
_PLACE_KEYS: Final = ("place", "boundary")
_REF = re.compile(r"[^\W\d_]+|\d+")

Rows = NDArray[Any]
#: Gets rows, returns which of them a filter lets through.
Keep = Callable[[Rows], NDArray[np.bool_]]


class Filter(NamedTuple):
    """What an answer is narrowed by."""

    store: Store
    keep: Keep
    #: Rows among which all are that it lets through; None where these are many, or nobody knows.
    find_candidates: Callable[[], Rows | None] = lambda: None
    #: Returns the names around its box, None where these are more than a number.
    find_records: Callable[[int], Records | None] | None = None


class _Names(Protocol):
    """Names in which words are looked for: the whole index, or records around a box."""

    def term(self, field: str, value: str) -> Any:
        """Return what finds a whole term or key."""

    def prefix(self, field: str, value: str) -> Any:
        """Return what finds terms that begin with a text."""

    def all_of(self, parts: Sequence[Any]) -> Any:
        """Return what finds elements that all parts find."""

    def any_of(self, parts: Sequence[Any]) -> Any:
        """Return what finds elements that one of the parts finds."""


class Page(NamedTuple):
    """Found elements in order; `next_place` is (tier, eid) of the last one when more follow."""

    eids: list[int]
    tiers: list[int]
    next_place: tuple[int, int] | None


# ---- documents ------------------------------------------------------------------------------


def find_searchable_rows(store: Store) -> NDArray[np.uint32]:
    """Return the sorted rows that have any text to search."""
    keys = [key for key in store.keys if key in OTHER_KEYS or parse_name_key(key)]
    return distinct_rows([store.rows_with_key(key) for key in keys])


def add_documents(writer: IndexWriter, placed: PlacedWriter, store: Store, rows: Rows) -> None:
    """Write the documents of these rows; others' documents are not touched."""
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        eids, texts = store.eids(part), store.tags_json(part)
        records = [
            _add_document(writer, eid, orjson.loads(text))
            for eid, text in zip(eids.tolist(), texts, strict=True)
        ]
        placed.add(eids, store.boxes(part), records)


def _add_document(writer: IndexWriter, eid: int, tags: dict[str, str]) -> bytes:
    """Add an element to the index; return its record."""
    name_terms: dict[str, None] = {}
    keys: dict[str, None] = {}
    for name in dict.fromkeys(name for _, _, name in iter_names(tags)):
        name_terms |= dict.fromkeys(terms(name))
        keys |= dict.fromkeys(name_keys(name))
    other_terms: dict[str, None] = {}
    for key in OTHER_KEYS:
        for value in split_values(tags[key]) if key in tags else ():
            other_terms |= dict.fromkeys(terms(value))
            if key.endswith("ref"):
                parts = _REF.findall(value.lower())
                other_terms |= dict.fromkeys([*parts, "".join(parts)])
    by_terms = ("name", name_terms), ("other", other_terms)
    by_keys = (
        ("name_key", keys),
        ("group", [] if tags.keys().isdisjoint(_PLACE_KEYS) else ["place"]),
    )
    writer.add(terms=by_terms, keys=by_keys, numbers=(("eid", eid),))
    return make_record((*by_terms, *by_keys))


# ---- queries --------------------------------------------------------------------------------


def search_names(
    index: TextIndex,
    text: str,
    limit: int,
    *,
    after: tuple[int, int] | None = None,
    offset: int = 0,
    keep: Filter | None = None,
    deadline: Deadline | None = None,
) -> Page:
    """Return one page of the elements found by a text.

    Args:
        index: the dataset's text index.
        text: what is looked for.
        limit: size of the page.
        after: (tier, eid) of the last element of the page before.
        offset: elements to leave out at the start, when `after` is None.
        keep: what the elements are narrowed by.
        deadline: looked at between batches.
    """
    words = slots(text) if len(text) <= MAX_QUERY_LETTERS else []
    if not words:
        return Page([], [], None)
    in_index = _InIndex(index, text, words, keep)
    source = _choose(in_index, text, words, keep)
    found: list[tuple[int, int]] = []
    first = after[0] if after else 0
    skip = 0 if after else offset
    wanted = limit + 1
    is_met = False  # by anything, whether a filter lets it through or not
    for tier in range(first, _LAST_TIER + 1):
        if tier == _LAST_TIER:
            if is_met or in_index.knows():
                break
            source = in_index
        last = after[1] if after and tier == first else None
        scanned = 0
        while len(found) < wanted:
            if deadline is not None:
                deadline.check()
            batch = max(_BATCH, wanted - len(found)) if keep else skip + wanted - len(found)
            eids = source.find(tier, last, batch, scanned)
            if not eids:
                break
            is_met, last = True, eids[-1]
            scanned += len(eids)
            kept = _filter(eids, keep)
            found += [(tier, eid) for eid in kept[skip:]]
            skip = max(0, skip - len(kept))
            if len(eids) < batch:
                break
            if source is in_index and tier < _LAST_TIER and scanned >= _SCANNED:
                source = _read_records(text, words, keep, _MOST_RECORDS) or source
        if len(found) >= wanted:
            break
    page, rest = found[:limit], found[limit:]
    return Page(
        [eid for _, eid in page], [tier for tier, _ in page], page[-1] if rest and page else None
    )


def _choose(
    in_index: _InIndex, text: str, words: list[Slot], keep: Filter | None
) -> _InIndex | _InRecords:
    """Return where to begin: the names around a box if reading them is less than what is found."""
    source = _read_records(text, words, keep, _FEW_RECORDS)
    if source is None and keep and keep.find_records and in_index.count_words() > _SCANNED:
        source = _read_records(text, words, keep, _MOST_RECORDS)
    return source or in_index


def _read_records(
    text: str, words: list[Slot], keep: Filter | None, most: int
) -> _InRecords | None:
    records = keep.find_records(most) if keep and keep.find_records else None
    return None if records is None else _InRecords(records, text, words)


class _InRecords:
    """The tiers of a search among the names around a box."""

    def __init__(self, records: Records, text: str, words: list[Slot]) -> None:
        self._records = records
        self._masks = _iter_tiers(records, text, words)
        self._tiers: list[list[int]] = []
        self._is_met: NDArray[np.bool_] | None = None

    def find(self, tier: int, last: int | None, most: int, _scanned: int) -> list[int]:
        """Return the first eids of a tier behind `last`."""
        while len(self._tiers) <= tier:
            mask = next(self._masks)
            new = mask if self._is_met is None else mask & ~self._is_met
            self._is_met = mask if self._is_met is None else mask | self._is_met
            self._tiers.append(self._records.list_eids(new).tolist())
        eids = self._tiers[tier]
        start = 0 if last is None else bisect_right(eids, last)
        return eids[start : start + most]


class _InIndex:
    """The tiers of a search in the whole index.

    Once many elements did not pass a filter, what only the filter knows is added to the queries: a
    box of some kilometers holds some thousand elements, where a country has a hundred thousand
    whose name begins alike.
    """

    def __init__(self, index: TextIndex, text: str, words: list[Slot], keep: Filter | None) -> None:
        self._index, self._text, self._words, self._keep = index, text, words, keep

    def find(self, tier: int, last: int | None, most: int, scanned: int) -> list[int]:
        """Return the first eids of a tier behind `last`; `scanned` of it were looked at so far."""
        index = self._index
        query = index.without(self._tiers[tier], self._tiers[:tier])
        if last is not None:
            query = index.all_of([query, index.number_range("eid", last + 1, 2**62)])
            if self._keep is not None and scanned >= _SCANNED:
                query = self._narrow(query, scanned)
        return index.search_ordered(query, "eid", most)

    def count_words(self) -> int:
        """Return how many elements have all words in their names."""
        return self._index.count(self._tiers[_ALL_WORDS])

    def knows(self) -> bool:
        """Return whether anything is found without typos."""
        return any(self._index.count(self._tiers[tier]) for tier in _WITHOUT_TYPOS)

    @cached_property
    def _tiers(self) -> list[Any]:
        index, words = self._index, self._words
        return [*_iter_tiers(index, self._text, words), _mistype_all(index, words)]

    @cached_property
    def _rows(self) -> Rows | None:
        assert self._keep is not None
        return self._keep.find_candidates()

    @cached_property
    def _among(self) -> Any:
        assert self._keep is not None
        assert self._rows is not None
        return self._index.numbers("eid", self._keep.store.eids(self._rows).tolist())

    def _narrow(self, query: Any, scanned: int) -> Any:
        if self._rows is None or len(self._rows) > _CHEAPER * scanned:
            return query
        return self._index.all_of([query, self._among])


def _filter(eids: list[int], keep: Filter | None) -> list[int]:
    if keep is None:
        return eids
    store = keep.store
    order = np.array(eids, np.int64)
    rows = store.find_eid_rows(order)
    by_row = np.argsort(rows, kind="stable")
    mask = np.zeros(len(rows), np.bool_)
    mask[by_row] = keep.keep(rows[by_row])
    kept: list[int] = order[mask].tolist()
    return kept


def _iter_tiers(names: _Names, text: str, words: list[Slot]) -> Iterator[Any]:
    """Yield what finds the elements of each tier but the last."""
    whole = names.any_of([names.term("name_key", key) for key in name_keys(text)])
    yield names.all_of([whole, names.term("group", "place")])
    yield whole
    in_names = [_match(names, slot, ("name",)) for slot in words]
    yield names.all_of(in_names)
    yield names.all_of(
        [
            names.any_of([exact, *_begin(names, slot, ("name",))])
            for slot, exact in zip(words, in_names, strict=True)
        ]
    )
    yield names.all_of([names.any_of(_find_anywhere(names, slot)) for slot in words])


def _mistype_all(index: TextIndex, words: list[Slot]) -> Any:
    """Return the query of the last tier."""
    return index.all_of(
        [index.any_of([*_find_anywhere(index, slot), *_mistype(index, slot)]) for slot in words]
    )


def _find_anywhere(names: _Names, slot: Slot) -> list[Any]:
    return [_match(names, slot, _TERM_FIELDS), *_begin(names, slot, _TERM_FIELDS)]


def _match(names: _Names, slot: Slot, fields: tuple[str, ...]) -> Any:
    """Return what finds a word as a whole."""
    return names.any_of(
        [
            names.all_of(
                [names.any_of([names.term(field, term) for field in fields]) for term in one]
            )
            for one in slot.alternatives
        ]
    )


def _begin(names: _Names, slot: Slot, fields: tuple[str, ...]) -> list[Any]:
    """Return what finds a word as the beginning of one."""
    word = slot.alternatives[0][0]
    if len(word) < 2 and not is_spaceless(word):
        return []
    return [names.prefix(field, word) for field in fields]


def _mistype(index: TextIndex, slot: Slot) -> list[Any]:
    """Return the queries for a word with one typo; never for numbers."""
    if slot.has_digit or is_spaceless(slot.word):
        return []
    words = dict.fromkeys(alternative[0] for alternative in slot.alternatives[:2])
    return [index.fuzzy(field, word) for word in words if len(word) >= 4 for field in _TERM_FIELDS]
