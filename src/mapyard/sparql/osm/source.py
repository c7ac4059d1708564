"""OpenStreetMap as triples, straight from the feature store: no second copy of the data.

The vocabulary is osm2rdf's (QLever) and Sophox's; docs/sparql.md lists it. `?s ?p ?o` gives the
triples of osm2rdf; those of Sophox, and the relations between geometries, answer when named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.errors import NotInstalled, Unsupported
from mapyard.osm.elements import TYPE_BY_NAME
from mapyard.sparql.osm.decode import decode_texts
from mapyard.sparql.osm.ids import (
    ABSENT,
    CENTROID_NODE,
    CHANGESET,
    CLOSED_NAMESPACES,
    ELEMENT,
    ELEMENT_IRI,
    GEOMETRY_IRI,
    GEOMETRY_NODE,
    GEOMETRY_TYPES,
    KEY,
    KEY_PREFIXES,
    KEY_SPACES,
    SYNONYMS,
    VALUE,
    VOCABULARY,
    VOCABULARY_INDEX,
    VOCABULARY_IRIS,
    WIKIDATA_ITEM,
    find_point_id,
    unescape_key,
    vocabulary_id,
)
from mapyard.sparql.osm.members import RoleOf, match_roles
from mapyard.sparql.osm.names import ContainsEntity, ContainsWord, OpenIndex
from mapyard.sparql.osm.predicates import (
    Predicate,
    of_space,
)
from mapyard.sparql.osm.shapes import (
    find_near,
    shapes_of_ids,
)
from mapyard.sparql.osm.tags import TagPredicate
from mapyard.sparql.osm.values import ValueIndex
from mapyard.sparql.osm.vocabulary import OBJECT_SPACES, POOL_DATATYPES, Vocabulary
from mapyard.sparql.plan.algebra import TriplePattern, Var
from mapyard.sparql.sources.source import Bound, Context, Matches, Position, Source, Texts
from mapyard.sparql.terms.ids import (
    INTEGER,
    PAYLOAD,
    POOL,
    SHIFT,
    Ids,
    make_ids,
)
from mapyard.sparql.terms.prefixes import (
    GEOMETRY_TEXT,
    OSM,
    OSM_CHANGESET,
    QLEVER,
    WIKIDATA,
    shorten_iri,
)
from mapyard.sparql.terms.terms import GEO, WKT_LITERAL, XSD_STRING, Iri, Literal, Term
from mapyard.store.distinct import distinct
from mapyard.store.reader import Store
from mapyard.text.index import TextIndex

#: Rows whose tags are read one by one; for more, the postings of every key are looked through.
_FEW_ROWS: Final = 3000
#: Terms whose ids are remembered.
_KNOWN_TERMS: Final = 20_000


_GEOMETRY_OF: Final = frozenset(Iri(GEO + n) for n in ("hasGeometry", "hasDefaultGeometry"))
_TEXT_OF: Final = frozenset(Iri(GEO + n) for n in ("asWKT", "hasSerialization"))


def _no_index() -> TextIndex:
    raise NotInstalled.part("text")


class OsmSource:
    """The store of one dataset as a source; safe to use from several threads."""

    def __init__(self, store: Store, open_index: OpenIndex | None = None) -> None:
        """Make a source of a store; `open_index` gives its text index, for search by words."""
        self.store = store
        self._open_index = open_index or _no_index
        self._vocabulary = Vocabulary(store)
        self._known: dict[Term, int] = {}
        self._cache: dict[int, Predicate | None] = {}
        self._counts: tuple[Ids, NDArray[np.int64]] | None = None

    @cached_property
    def values(self) -> ValueIndex:
        """Shared ids of tag texts; found at the first query."""
        return ValueIndex(self.store)

    # Terms ---------------------------------------------------------------------------------------

    def find_id(self, term: Term) -> int | None:
        """Return the id of a term that the store can give; those of queries come again."""
        found = self._known.get(term)
        if found is None:
            found = self._find_id(term)
            if found is not None:
                if len(self._known) > _KNOWN_TERMS:
                    self._known.clear()
                self._known[term] = found
        return found

    def _find_id(self, term: Term) -> int | None:
        if isinstance(term, Literal):
            if term.datatype == XSD_STRING:
                kv = self.values.find(term.lexical)
                return None if kv is None else VALUE << SHIFT | kv
            return find_point_id(term.lexical) if term.datatype == WKT_LITERAL else None
        if not isinstance(term, Iri):
            return None
        iri = SYNONYMS.get(term.value, term.value)
        if iri in VOCABULARY_INDEX:
            return vocabulary_id(iri)
        if found := ELEMENT_IRI.fullmatch(iri):
            element_type, osm_id = TYPE_BY_NAME[found[1]], int(found[2])
            row = self.store.find_row(element_type, osm_id)
            if row >= 0:
                return ELEMENT << SHIFT | row
            return ABSENT << SHIFT | (osm_id * 4 + element_type) if osm_id >= 0 else None
        for prefix, space in KEY_PREFIXES.items():
            if iri.startswith(prefix):
                key = self.store.find_key(unescape_key(iri.removeprefix(prefix)))
                if key >= 0:
                    return space << SHIFT | key
        if iri.startswith(WIKIDATA + "Q"):
            number = iri.removeprefix(WIKIDATA + "Q")
            if number.isascii() and number.isdigit() and len(number) < 16 and number[0] != "0":
                return WIKIDATA_ITEM << SHIFT | int(number)
        if found := GEOMETRY_IRI.fullmatch(iri):
            row = self.store.find_row(GEOMETRY_TYPES[found[1]], int(found[3]))
            space = CENTROID_NODE if found[2] else GEOMETRY_NODE
            return space << SHIFT | row if row >= 0 else None
        if iri.startswith(OSM_CHANGESET):
            number = iri.removeprefix(OSM_CHANGESET)
            if number.isascii() and number.isdigit() and len(number) < 16 and number[0] != "0":
                return CHANGESET << SHIFT | int(number)
        return None

    def find_texts(self, texts: list[str]) -> Ids:
        """Return the ids of tag texts, 0 for texts that no tag has."""
        kvs = self.values.find_many(texts)
        return np.where(kvs >= 0, make_ids(VALUE, np.maximum(kvs, 0)), 0)

    def texts(self, ids: Ids) -> Texts:
        """Return the texts of ids of one space."""
        return decode_texts(self.store, ids)

    def decode(self, ids: Ids) -> Sequence[Term]:
        """Not asked: all ids of one space have texts."""
        raise AssertionError("ids of the store have texts")

    def select(self, default: Sequence[Iri], named: Sequence[Iri]) -> Source:
        """Refuse: there is one graph, the map."""
        raise Unsupported("this service has one graph, the map; leave FROM and FROM NAMED out")

    def graphs(self, context: Context) -> Ids:
        """Return nothing: there are no named graphs."""
        return np.empty(0, np.int64)

    def nodes(self, graph: int | None, context: Context) -> None:
        """Return None: all terms of the map are too many to begin a path at."""

    # Predicates ----------------------------------------------------------------------------------

    def predicate(self, term_id: int) -> Predicate | None:
        """Return the virtual predicate of an id, None when it has no triples."""
        if term_id not in self._cache:
            space, payload = term_id >> SHIFT, term_id & PAYLOAD
            found: Predicate | None = None
            if space in KEY_SPACES:
                found = TagPredicate(self.store, self.values, self.store.keys[payload], space)
            elif space == VOCABULARY and VOCABULARY_IRIS[payload].startswith(QLEVER):
                found = self._text_predicate(VOCABULARY_IRIS[payload])
            elif space == VOCABULARY:
                make = self._vocabulary.predicates.get(VOCABULARY_IRIS[payload])
                found = make() if make is not None else None
            elif space in (ELEMENT, ABSENT):
                return RoleOf(self._vocabulary.relations, term_id)
            else:
                return None
            self._cache[term_id] = found
        return self._cache[term_id]

    def _text_predicate(self, iri: str) -> Predicate:
        if iri.endswith("word"):
            return ContainsWord(self.store, self.values, self._open_index)
        return ContainsEntity(self.store, self.values)

    def find_strange(self, iri: str) -> str | None:
        """Return what is wrong with a predicate that no triple of the map has; None: nothing."""
        if self.find_id(Iri(iri)) is not None:
            return None
        for prefix in KEY_PREFIXES:
            if iri.startswith(prefix) and prefix != OSM:
                near = get_close_matches(iri.removeprefix(prefix), self.store.keys, 1, 0.75)
                hint = f"; did you mean {shorten_iri(prefix + near[0])}?" if near else ""
                return f"no element has the key of {shorten_iri(iri)}{hint}"
        if not iri.startswith((*CLOSED_NAMESPACES, OSM)):
            return None
        near = get_close_matches(iri, [*VOCABULARY_IRIS, *SYNONYMS], 1, 0.6)
        hint = f"; did you mean {shorten_iri(near[0])}?" if near else ""
        return f"{shorten_iri(iri)} is not a predicate of this service{hint}"

    # Patterns ------------------------------------------------------------------------------------

    def match(
        self, s: Position, p: Position, o: Position, graph: int | None, context: Context
    ) -> Iterator[Matches]:
        """Yield the triples of a pattern in chunks."""
        if graph is not None:
            return
        if isinstance(p, int):
            predicate = self.predicate(p)
            if predicate is not None:
                yield from predicate.match(s, o, context)
        elif p is None:
            yield from self._match_any(s, o, context)
        else:
            yield from self._match_given(s, p, o, context)

    def _match_given(self, s: Position, p: Ids, o: Position, context: Context) -> Iterator[Matches]:
        """Yield the triples with a predicate per input row."""
        elements = np.isin(p >> SHIFT, (ELEMENT, ABSENT))
        if elements.any():
            rows = np.flatnonzero(elements)
            for match in match_roles(
                self._vocabulary.relations, _part(s, rows), p[rows], _part(o, rows), context
            ):
                yield from _spread_rows(match, rows)
        for term_id in distinct(p[~elements]).tolist():
            predicate = self.predicate(term_id)
            if predicate is None:
                continue
            rows = np.flatnonzero(p == term_id)
            for match in predicate.match(_part(s, rows), _part(o, rows), context):
                yield from _spread_rows(match, rows)

    def _match_any(self, s: Position, o: Position, context: Context) -> Iterator[Matches]:
        """Yield the triples of all predicates of osm2rdf."""
        if s is not None:
            length = len(s) if isinstance(s, np.ndarray) else 1
            if length <= _FEW_ROWS:
                yield from self._match_tags(s, o, context)
                yield from self._match_each(self._own(o, context), s, o, context)
                return
        predicates: Sequence[int] = [KEY << SHIFT | k for k in range(len(self.store.keys))]
        if o is not None and not np.isin(np.asarray(o) >> SHIFT, (VALUE, INTEGER)).any():
            predicates = []
        elif s is None and isinstance(o, int) and o >> SHIFT == VALUE:
            text = self.store.values(np.array([o & PAYLOAD]))[0]
            keys = self.store.kv_keys(self.values.kvs_of_text(text))
            predicates = [KEY << SHIFT | k for k in keys.tolist()]
        yield from self._match_each(self._own(o, context), s, o, context)
        yield from self._match_each(predicates, s, o, context)

    def _match_each(
        self, predicates: Sequence[int], s: Position, o: Position, context: Context
    ) -> Iterator[Matches]:
        for term_id in predicates:
            predicate = self.predicate(term_id)
            assert predicate is not None
            for match in predicate.match(s, o, context):
                if match.length:
                    yield match._replace(predicate=np.full(match.length, term_id, np.int64))

    @cached_property
    def _own_predicates(self) -> dict[int, frozenset[int]]:
        """The predicates of osm2rdf but for tags, each with the spaces of its objects."""
        named = self._vocabulary.predicates
        return {vocabulary_id(n): spaces for n, spaces in OBJECT_SPACES.items() if n in named}

    def _own(self, o: Position, context: Context) -> list[int]:
        """Return the predicates that may have an object, or any of some."""
        if o is None:
            return list(self._own_predicates)
        ids = np.atleast_1d(np.asarray(o, np.int64))
        asked = frozenset(distinct(np.maximum(ids >> SHIFT, -1)).tolist())
        found = [p for p, spaces in self._own_predicates.items() if asked & spaces]
        if asked != {POOL}:
            return found
        # Of what is no term of the map itself only few datatypes can be objects.
        terms = context.decode(distinct(ids))
        datatypes = {term.datatype for term in terms if isinstance(term, Literal)}
        names = {p: VOCABULARY_IRIS[p & PAYLOAD] for p in found}
        return [p for p in found if POOL_DATATYPES[names[p]] in datatypes]

    def _match_tags(self, s: Position, o: Position, context: Context) -> Iterator[Matches]:
        """Yield the tags of few elements, from their own lists of tags."""
        assert s is not None
        ids = s if isinstance(s, np.ndarray) else np.array([s], np.int64)
        index, rows = of_space(ids, ELEMENT)
        pairs: dict[int, list[int]] = {}
        for place, text in zip(index.tolist(), self.store.tags_json(rows), strict=True):
            for key in orjson.loads(text):
                pairs.setdefault(self.store.find_key(key), []).append(place)
        for key, places in pairs.items():
            context.deadline.check()
            chosen = np.array(places, np.int64)
            term_id = KEY << SHIFT | key
            predicate = self.predicate(term_id)
            assert predicate is not None
            part_o = o[chosen] if isinstance(o, np.ndarray) else o
            for match in predicate.match(ids[chosen], part_o, context):
                assert match.rows is not None
                yield match._replace(
                    rows=chosen[match.rows] if isinstance(s, np.ndarray) else None,
                    predicate=np.full(match.length, term_id, np.int64),
                )

    def shorten(self, triples: tuple[TriplePattern, ...], unread: set[Var]) -> list[TriplePattern]:
        """Return the triples with `?s geo:hasGeometry ?x . ?x geo:asWKT ?g` made one."""
        nodes: dict[object, TriplePattern] = {
            t.object: t for t in triples if t.predicate in _GEOMETRY_OF and t.object in unread
        }
        result = list(triples)
        for text in triples:
            first = nodes.get(text.subject)
            if first is None or text.predicate not in _TEXT_OF:
                continue
            if sum(first.object in (t.subject, t.object) for t in triples) == 2:
                result.remove(first)
                short = TriplePattern(first.subject, Iri(GEOMETRY_TEXT), text.object)
                result[result.index(text)] = short
        return result

    def estimate(self, s: Bound, p: Bound, o: Bound, context: Context) -> float:
        """Return about how many triples match, per input row."""
        rows = float(max(1, self.store.row_count))
        if not isinstance(p, int):
            if s is not None:
                return 0.5 if o is not None else 20.0
            return rows / 10 if o is not None else rows * 15
        predicate = self.predicate(p)
        if predicate is None:
            return 0.0
        if s is not None:
            if isinstance(o, int):
                return min(1.0, predicate.count_object(o, context) / rows)
            if o is not None:
                return 0.001
            if isinstance(s, int):
                return predicate.count_subject(s, context)
            return predicate.per_subject
        if o is None:
            return float(predicate.total)
        return predicate.count_object(o, context) if isinstance(o, int) else predicate.per_object

    def count_by_predicate(self, context: Context) -> tuple[Ids, NDArray[np.int64]]:
        """Return all predicates of `?s ?p ?o` with the number of their triples."""
        if self._counts is None:
            ids = [*self._own_predicates, *(KEY << SHIFT | k for k in range(len(self.store.keys)))]
            counts = []
            for term_id in ids:
                context.deadline.check()
                predicate = self.predicate(term_id)
                assert predicate is not None
                counts.append(predicate.count(context))
            found = np.array(counts, np.int64)
            self._counts = np.array(ids, np.int64)[found > 0], found[found > 0]
        return self._counts

    def count_by_object(
        self, predicate: int, context: Context
    ) -> tuple[Ids, NDArray[np.int64]] | None:
        """Return the values of a tag predicate, sorted, with their counts."""
        found = self.predicate(predicate)
        return found.count_values() if isinstance(found, TagPredicate) else None

    def shapes(self, ids: Ids) -> NDArray[np.object_] | None:
        """Return the shapes of geometry ids; None when none of them is one."""
        return shapes_of_ids(self.store, ids)

    def near(
        self, shape: Any, radius_m: float, predicates: Sequence[int], context: Context
    ) -> Ids | None:
        """Return the sorted elements whose box meets a shape's; with tags only, if so asked."""
        found = (self.predicate(p) for p in predicates)
        listed = any(predicate is not None and predicate.is_listed for predicate in found)
        return make_ids(ELEMENT, find_near(self.store, shape, radius_m, listed))


def _part(position: Position, rows: NDArray[np.int64]) -> Position:
    return position[rows] if isinstance(position, np.ndarray) else position


def _spread_rows(match: Matches, rows: NDArray[np.int64]) -> Iterator[Matches]:
    """Give matches of one predicate the rows of the input that asked for it."""
    if match.rows is not None:
        yield match._replace(rows=rows[match.rows])
        return
    for row in rows.tolist():  # nothing but the predicate was an array
        yield match._replace(rows=np.full(match.length, row))
