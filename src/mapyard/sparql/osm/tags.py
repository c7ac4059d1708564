"""Tag predicates: `osmkey:amenity` and its spellings in both dialects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.osm.ids import ELEMENT, LINK_KEYS, SOPHOX_KEYS, VALUE, WIKIDATA_ITEM
from mapyard.sparql.osm.predicates import Pairs, Predicate, chunks, of_space, spread
from mapyard.sparql.osm.values import ValueIndex
from mapyard.sparql.run.table import expand, join_indexes
from mapyard.sparql.sources.source import Context, Matches, Position
from mapyard.sparql.terms.ids import POOL, SHIFT, Ids, integer_ids, make_ids
from mapyard.sparql.terms.terms import XSD, XSD_DATE, Iri, Literal, Term
from mapyard.store.reader import Store

_ITEM = re.compile(r"Q?([0-9]{1,15})")
_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,9})\s*")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
#: Objects looked up one by one; more are joined with the whole key.
_FEW: Final = 32
#: Values per key whose kv ids are remembered.
_REMEMBERED: Final = 1000

Kvs = NDArray[Any]


class TagPredicate(Predicate):
    """The values of one key: texts, but where the public endpoints give something else."""

    is_listed = True
    forward_is_single = True

    def __init__(self, store: Store, values: ValueIndex, key: str, space: int) -> None:
        self._store = store
        self._index = values
        self._key = key
        self._space = space
        self._start, self._stop = store.kv_range(key)
        self.total = store.key_count(key)
        count = max(1, self._stop - self._start)
        self.per_subject = self.total / max(1, store.row_count)
        self.per_object = self.total / count
        is_wikidata = key == "wikidata" or key.endswith(":wikidata")
        is_wikipedia = key == "wikipedia" or key.endswith(":wikipedia")
        self._known: dict[int, list[int]] = {}
        self._kind = "text"
        if space in (SOPHOX_KEYS, LINK_KEYS):
            self._kind = "text" if space == SOPHOX_KEYS else "none"
            if is_wikidata:
                self._kind = "wikidata"
            elif is_wikipedia:
                self._kind = "wikipedia"
            elif space == LINK_KEYS and key in ("start_date", "end_date"):
                self._kind = "date"
        elif key == "admin_level":
            self._kind = "integer"
        if self._kind == "none":
            self.total = 0

    # From kv ids to objects and back -------------------------------------------------------------

    def _objects(self, kvs: Kvs, context: Context) -> Ids:
        """Return the object of each kv id; 0 where there is none."""
        if self._kind == "text":
            return make_ids(VALUE, self._index.shared[kvs])
        if self._kind == "none":
            return np.zeros(len(kvs), np.int64)
        unique, inverse = np.unique(kvs, return_inverse=True)
        texts = self._store.values(unique)
        if self._kind == "integer":
            ids = make_ids(VALUE, self._index.shared[unique])
            for place, text in enumerate(texts):
                if found := _INTEGER.fullmatch(text):
                    ids[place] = integer_ids(np.array([int(found[1])]))[0]
        elif self._kind == "wikidata":
            items = (_ITEM.match(text.strip()) for text in texts)
            ids = np.array(
                [0 if found is None else WIKIDATA_ITEM << SHIFT | int(found[1]) for found in items],
                np.int64,
            )
        else:
            make = _wikipedia_iri if self._kind == "wikipedia" else _date_literal
            terms = [make(text) for text in texts]
            ids = np.array([0 if t is None else context.encode(t) for t in terms], np.int64)
        return ids[inverse]

    def _kvs_of(self, objects: Ids, context: Context) -> tuple[NDArray[np.int64], Kvs]:
        """Return (index into objects, kv id) of all kv ids with these objects."""
        if self._kind == "text":
            index, shared = of_space(objects, VALUE)
            if len(index) <= _FEW:
                found = [
                    (place, kv)
                    for place, text in zip(index.tolist(), self._store.values(shared), strict=True)
                    if (kv := self._store.find_kv(self._key, text)) >= 0
                ]
                pairs = np.array(found, np.int64).reshape(-1, 2)
                return pairs[:, 0], pairs[:, 1]
        kvs = np.arange(self._start, self._stop)
        values = self._objects(kvs, context)
        counts, start, order = join_indexes([objects], [values], len(objects), len(kvs))
        index, place = expand(counts, start)
        return index, kvs[order[place]]

    def _normalize(self, position: Position) -> Position:
        """Take the text "8" for 8 where this key gives integers: older queries write so."""
        if self._kind != "integer" or position is None:
            return position
        ids = np.atleast_1d(np.asarray(position, np.int64)).copy()
        index, shared = of_space(ids, VALUE)
        for place, text in zip(index.tolist(), self._store.values(shared), strict=True):
            if found := _INTEGER.fullmatch(text):
                ids[place] = integer_ids(np.array([int(found[1])]))[0]
        return ids if isinstance(position, np.ndarray) else int(ids[0])

    def count_values(self) -> tuple[Ids, NDArray[np.int64]] | None:
        """Return the objects, sorted, and how many elements have each; None but for texts."""
        if self._kind != "text":
            return None
        counts = self._store.kv_counts(self._start, self._stop)
        objects = make_ids(VALUE, self._index.shared[self._start : self._stop])
        order = np.argsort(objects)
        order = order[counts[order] > 0]
        return objects[order], counts[order]

    # Triples -------------------------------------------------------------------------------------

    def match(self, s: Position, o: Position, context: Context) -> Iterator[Matches]:
        """Yield the triples of this key."""
        return super().match(s, self._normalize(o), context)

    def scan(self, context: Context) -> Iterator[tuple[Ids, Ids]]:
        """Yield all elements that have the key, in the order of rows."""
        rows, kvs = self._store.key_postings(self._key)
        for part in chunks(len(rows)):
            yield self._both(make_ids(ELEMENT, rows[part]), kvs[part], context)

    def _both(self, other: NDArray[np.int64], kvs: Kvs, context: Context) -> Pairs:
        objects = self._objects(kvs, context)
        if self._kind != "text":
            keep = objects != 0
            return other[keep], objects[keep]
        return other, objects

    def forward(self, subjects: Ids, context: Context) -> Pairs:
        """Return the value of each element that has the key."""
        index, rows = of_space(subjects, ELEMENT)
        if not len(index):
            return index, index
        kvs = self._store.tag_values(rows, self._key)
        has = kvs >= 0
        return self._both(index[has], kvs[has], context)

    def backward(self, objects: Ids, context: Context) -> Pairs:
        """Return the elements with these values."""
        unique, inverse = np.unique(objects, return_inverse=True)
        index, kvs = self._kvs_of(unique, context)
        if len(kvs) <= _FEW:
            parts = [self._store.rows_with_kv(kv) for kv in kvs.tolist()]
            if len(unique) == 1 and len(objects) == 1 and len(parts) == 1:
                return np.zeros(len(parts[0]), np.int64), make_ids(ELEMENT, parts[0])
            lengths = [len(part) for part in parts]
            found = np.concatenate(parts) if parts else np.empty(0, np.int64)
            pairs = np.repeat(index, lengths), make_ids(ELEMENT, found)
        else:
            rows, all_kvs = self._store.key_postings(self._key)
            counts, start, order = join_indexes(
                [kvs], [all_kvs.astype(np.int64)], len(kvs), len(rows)
            )
            which, place = expand(counts, start)
            pairs = index[which], make_ids(ELEMENT, rows[order[place]])
        return spread(inverse, pairs[0], pairs[1], len(unique))

    def subjects_of(self, term_id: int, context: Context) -> Iterator[Ids]:
        """Yield the elements with one value; which kv ids that means is remembered."""
        kvs = self._known.get(term_id)
        if kvs is None:
            kvs = self._kvs_of(np.array([term_id], np.int64), context)[1].tolist()
            if len(self._known) < _REMEMBERED and term_id >> SHIFT != POOL:
                self._known[term_id] = kvs
        for kv in kvs:
            rows = self._store.rows_with_kv(kv)
            for part in chunks(len(rows)):
                yield make_ids(ELEMENT, rows[part])

    def count_object(self, term_id: int, context: Context) -> float:
        """Return how many elements have one value."""
        objects = np.array([term_id], np.int64)
        normal = self._normalize(objects)
        assert isinstance(normal, np.ndarray)
        _, kvs = self._kvs_of(normal, context)
        return float(sum(self._store.kv_counts(kv, kv + 1)[0] for kv in kvs.tolist()))


def _wikipedia_iri(text: str) -> Term | None:
    language, colon, title = text.partition(":")
    if not colon:
        return Iri("https://www.wikipedia.org/wiki/" + _quote(text))
    if not re.fullmatch(r"[a-z-]{2,20}", language):
        return None
    return Iri(f"https://{language}.wikipedia.org/wiki/{_quote(title)}")


def _quote(title: str) -> str:
    return quote(title.replace(" ", "_"), safe="/:@!$&'()*,;=~-._")


def _date_literal(text: str) -> Term | None:
    found = _DATE.fullmatch(text)
    if not found or not 1 <= int(found[2] or 1) <= 12 or not 1 <= int(found[3] or 1) <= 31:
        return None
    datatype = XSD_DATE if found[3] else XSD + ("gYearMonth" if found[2] else "gYear")
    return Literal(text, datatype)
