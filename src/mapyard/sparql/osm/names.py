"""Search by words: `ql:contains-word` and `ql:contains-entity`, as QLever writes it.

A record of text is a name (ref, operator, brand) of the map, as the literal that it is.
`?name ql:contains-word "monte carlo*"` gives the names that have all words, whatever their case and
accents; a star takes the beginning of a word. `?name ql:contains-entity ?element` gives who bears
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import orjson

from mapyard.errors import Unsupported
from mapyard.sparql.osm.ids import ELEMENT, VALUE
from mapyard.sparql.osm.predicates import Pairs, Predicate, concat_pairs, of_space
from mapyard.sparql.osm.values import ValueIndex
from mapyard.sparql.sources.source import Context, Matches, Position
from mapyard.sparql.terms.ids import Ids, make_ids
from mapyard.sparql.terms.terms import Literal
from mapyard.store.reader import Rows, Store
from mapyard.text.analysis import Slot, slots, terms
from mapyard.text.index import TextIndex
from mapyard.text.names import OTHER_KEYS, parse_name_key

#: Opens the text index of the dataset; raises NotInstalled where it was built without.
OpenIndex = Callable[[], TextIndex]
_FIELDS: Final = ("name", "other")
#: Elements read between two looks at the deadline.
_BATCH: Final = 4_096


def is_searched(key: str) -> bool:
    """Return whether a tag's value is searched by its words."""
    return key in OTHER_KEYS or parse_name_key(key) is not None


class _Words:
    """The words of one search."""

    def __init__(self, text: str) -> None:
        self._slots: list[tuple[Slot, bool]] = []
        for word in text.split():
            found = slots(word.rstrip("*"))
            for place, slot in enumerate(found):
                self._slots.append((slot, word.endswith("*") and place == len(found) - 1))

    def __bool__(self) -> bool:
        return bool(self._slots)

    def query(self, index: TextIndex) -> Any:
        """Return what finds the elements that have all words in any of their names."""
        parts = []
        for slot, is_begin in self._slots:
            ways = [
                index.all_of(
                    [index.any_of([index.term(field, term) for field in _FIELDS]) for term in one]
                )
                for one in slot.alternatives
            ]
            if is_begin:
                ways += [index.prefix(field, slot.alternatives[0][0]) for field in _FIELDS]
            parts.append(index.any_of(ways))
        return index.all_of(parts)

    def are_in(self, text: str) -> bool:
        """Return whether one text has all words."""
        have = set(terms(text))
        return all(
            any(have.issuperset(one) for one in slot.alternatives)
            or (is_begin and any(term.startswith(slot.alternatives[0][0]) for term in have))
            for slot, is_begin in self._slots
        )


class ContainsWord(Predicate):
    """`?name ql:contains-word "words"`."""

    total = 1 << 40
    per_subject = 10.0
    per_object = 200.0

    def __init__(self, store: Store, values: ValueIndex, open_index: OpenIndex) -> None:
        self._store = store
        self._values = values
        self._open = open_index

    def match(self, s: Position, o: Position, context: Context) -> Iterator[Matches]:
        """Yield the names that have the words; these must be given."""
        if o is None:
            raise Unsupported(
                'ql:contains-word takes its words as a text: ?name ql:contains-word "monte carlo*"'
            )
        is_array = isinstance(s, np.ndarray) or isinstance(o, np.ndarray)
        length = len(s) if isinstance(s, np.ndarray) else len(o) if isinstance(o, np.ndarray) else 1
        objects = o if isinstance(o, np.ndarray) else np.full(length, o, np.int64)
        if isinstance(o, int) and isinstance(s, np.ndarray):
            kept = np.flatnonzero(np.isin(s, self.backward(objects[:1], context)[1]))
            yield Matches(len(kept), kept)
            return
        rows, found = self.backward(objects, context)
        if s is not None:
            keep = found == (s[rows] if isinstance(s, np.ndarray) else s)
            rows, found = rows[keep], found[keep]
        yield Matches(len(rows), rows if is_array else None, subject=found if s is None else None)

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return the names with the words of texts."""
        unique, inverse = np.unique(objects, return_inverse=True)
        pairs = []
        for number, term in enumerate(context.decode(unique)):
            if isinstance(term, Literal) and (words := _Words(term.lexical)):
                found = self._find(words, context)
                places = np.flatnonzero(inverse == number)
                pairs.append((np.repeat(places, len(found)), np.tile(found, len(places))))
        return concat_pairs(pairs)

    def _find(self, words: _Words, context: Context) -> Ids:
        index = self._open()
        query = words.query(index)
        count = index.count(query)
        eids = index.search_ordered(query, "eid", count) if count else []
        rows = np.sort(self._store.find_eid_rows(np.array(eids, np.int64)))
        texts: dict[str, bool] = {}
        for start in range(0, len(rows), _BATCH):
            context.deadline.check()
            for tags in self._store.tags_json(rows[start : start + _BATCH]):
                for key, text in orjson.loads(tags).items():
                    if text not in texts and is_searched(key):
                        texts[text] = words.are_in(text)
        kvs = self._values.find_many([text for text, fits in texts.items() if fits])
        return np.sort(make_ids(VALUE, kvs[kvs >= 0]))

    def count_object(self, term_id: int, context: Context) -> float:
        """Return about how many names have the words."""
        term = context.decode(np.array([term_id], np.int64))[0]
        words = _Words(term.lexical) if isinstance(term, Literal) else None
        if not words:
            return 0.0
        index = self._open()
        return float(index.count(words.query(index)))


class ContainsEntity(Predicate):
    """`?name ql:contains-entity ?element`."""

    per_subject = 2.0
    per_object = 2.0

    def __init__(self, store: Store, values: ValueIndex) -> None:
        self._store = store
        self._values = values
        self._keys = [key for key in store.keys if is_searched(key)]
        self.total = sum(len(store.rows_with_key(key)) for key in self._keys)

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield all names with their elements."""
        for key in self._keys:
            context.deadline.check()
            rows, kvs = self._store.key_postings(key)
            pairs = np.unique(np.stack([self._values.shared[kvs], rows.astype(np.uint32)]), axis=1)
            yield make_ids(VALUE, pairs[0]), make_ids(ELEMENT, pairs[1])

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the elements that bear names, each once."""
        index, shared = of_space(subjects, VALUE)
        keys = [key in OTHER_KEYS or parse_name_key(key) is not None for key in self._store.keys]
        pairs = []
        for place, text in zip(index.tolist(), self._store.values(shared), strict=True):
            context.deadline.check()
            kvs = self._values.kvs_of_text(text)
            owners = self._store.kv_keys(kvs).tolist()
            parts: list[Rows] = [
                self._store.rows_with_kv(kv)
                for kv, key in zip(kvs.tolist(), owners, strict=True)
                if keys[key]
            ]
            rows = np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)
            pairs.append((np.full(len(rows), place, np.int64), make_ids(ELEMENT, rows)))
        return concat_pairs(pairs)

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return the names of elements."""
        index, rows = of_space(objects, ELEMENT)
        places: list[int] = []
        texts: list[str] = []
        for start in range(0, len(rows), _BATCH):
            context.deadline.check()
            part = rows[start : start + _BATCH]
            for place, tags in zip(
                index[start : start + _BATCH].tolist(), self._store.tags_json(part), strict=True
            ):
                loaded = orjson.loads(tags)
                found = dict.fromkeys(text for key, text in loaded.items() if is_searched(key))
                texts += found
                places += [place] * len(found)
        return np.array(places, np.int64), make_ids(VALUE, self._values.find_many(texts))
