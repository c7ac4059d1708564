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
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.store.distinct import distinct_rows
from mapyard.store.reader import Store
from mapyard.text.analysis import Slot, name_keys, slots, terms
from mapyard.text.folding import is_spaceless
from mapyard.text.index import IndexWriter, TextIndex, all_of, any_of, without
from mapyard.text.names import OTHER_KEYS, iter_names, parse_name_key, split_values

#: Longer texts are no names: they find nothing.
MAX_QUERY_LETTERS: Final = 300
_LAST_TIER: Final = 5
_BATCH: Final = 512
#: Elements that are looked at before it is asked which ones a filter lets through at all, and how
#: many of these the index finds by number in the time of looking at one.
_SCANNED: Final = _BATCH
_CHEAPER: Final = 4
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


def add_documents(writer: IndexWriter, store: Store, rows: Rows) -> None:
    """Write the documents of these rows; others' documents are not touched."""
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        texts = store.tags_json(part)
        for eid, text in zip(store.eids(part).tolist(), texts, strict=True):
            _add_document(writer, eid, orjson.loads(text))


def _add_document(writer: IndexWriter, eid: int, tags: dict[str, str]) -> None:
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
    writer.add(
        terms=(("name", name_terms), ("other", other_terms)),
        keys=(
            ("name_key", keys),
            ("group", [] if tags.keys().isdisjoint(_PLACE_KEYS) else ["place"]),
        ),
        numbers=(("eid", eid),),
    )


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
    tiers = _build_tiers(index, text)
    if not tiers:
        return Page([], [], None)
    found: list[tuple[int, int]] = []
    first = after[0] if after else 0
    skip = 0 if after else offset
    wanted = limit + 1
    narrow = _Narrow(index, keep) if keep else None
    is_met = False  # by anything, whether a filter lets it through or not
    for tier in range(len(tiers)):
        if tier == _LAST_TIER and (is_met or index.count(any_of(tiers[:tier]))):
            break
        if tier < first:
            continue
        query = without(tiers[tier], tiers[:tier]) if tier else tiers[tier]
        last = after[1] if after and tier == first else None
        scanned = 0
        while len(found) < wanted:
            if deadline is not None:
                deadline.check()
            part = query
            if last is not None:
                part = all_of([query, index.number_range("eid", last + 1, 2**62)])
                if narrow is not None:
                    part = narrow.apply(part, scanned)
            batch = max(_BATCH, wanted - len(found)) if keep else skip + wanted - len(found)
            eids = index.search_ordered(part, "eid", batch)
            if not eids:
                break
            is_met, last = True, eids[-1]
            scanned += len(eids)
            kept = _filter(eids, keep)
            found += [(tier, eid) for eid in kept[skip:]]
            skip = max(0, skip - len(kept))
            if len(eids) < batch:
                break
        if len(found) >= wanted:
            break
    page, rest = found[:limit], found[limit:]
    return Page(
        [eid for _, eid in page], [tier for tier, _ in page], page[-1] if rest and page else None
    )


class _Narrow:
    """Adds to queries what only a filter knows, once many elements did not pass it.

    A box of some kilometers holds some thousand elements, where a country has a hundred thousand
    whose name begins alike.
    """

    def __init__(self, index: TextIndex, keep: Filter) -> None:
        self._index, self._keep = index, keep

    @cached_property
    def _rows(self) -> Rows | None:
        return self._keep.find_candidates()

    @cached_property
    def _among(self) -> Any:
        assert self._rows is not None
        return self._index.numbers("eid", self._keep.store.eids(self._rows).tolist())

    def apply(self, query: Any, scanned: int) -> Any:
        """Return the query, narrowed where that pays after so many elements of its answer."""
        if scanned < _SCANNED or self._rows is None or len(self._rows) > _CHEAPER * scanned:
            return query
        return all_of([query, self._among])


def _filter(eids: list[int], keep: Filter | None) -> list[int]:
    if keep is None:
        return eids
    store, mask_of, _ = keep
    order = np.array(eids, np.int64)
    rows = store.find_eid_rows(order)
    by_row = np.argsort(rows, kind="stable")
    mask = np.zeros(len(rows), np.bool_)
    mask[by_row] = mask_of(rows[by_row])
    kept: list[int] = order[mask].tolist()
    return kept


def _build_tiers(index: TextIndex, text: str) -> list[Any]:
    """Return the query of each tier, or [] when nothing can be found."""
    if len(text) > MAX_QUERY_LETTERS:
        return []
    words = slots(text)
    if not words:
        return []
    whole = any_of([index.term("name_key", key) for key in name_keys(text)])
    in_names = [_match(index, slot, ("name",)) for slot in words]
    begun = [
        any_of([exact, *_begin(index, slot, ("name",))])
        for slot, exact in zip(words, in_names, strict=True)
    ]
    anywhere = [
        any_of([_match(index, slot, ("name", "other")), *_begin(index, slot, ("name", "other"))])
        for slot in words
    ]
    mistyped = [
        any_of([query, *_mistype(index, slot, ("name", "other"))])
        for slot, query in zip(words, anywhere, strict=True)
    ]
    return [
        all_of([whole, index.term("group", "place")]),
        whole,
        all_of(in_names),
        all_of(begun),
        all_of(anywhere),
        all_of(mistyped),
    ]


def _match(index: TextIndex, slot: Slot, fields: tuple[str, ...]) -> Any:
    """Return the query for a word as a whole."""
    return any_of(
        [
            all_of([any_of([index.term(field, term) for field in fields]) for term in alternative])
            for alternative in slot.alternatives
        ]
    )


def _begin(index: TextIndex, slot: Slot, fields: tuple[str, ...]) -> list[Any]:
    """Return the queries for a word as the beginning of one."""
    word = slot.alternatives[0][0]
    if len(word) < 2 and not is_spaceless(word):
        return []
    return [index.prefix(field, word) for field in fields]


def _mistype(index: TextIndex, slot: Slot, fields: tuple[str, ...]) -> list[Any]:
    """Return the queries for a word with one typo; never for numbers."""
    if slot.has_digit or is_spaceless(slot.word):
        return []
    words = dict.fromkeys(alternative[0] for alternative in slot.alternatives[:2])
    return [index.fuzzy(field, word) for word in words if len(word) >= 4 for field in fields]
