"""A plain in-memory RDF dataset as a source: small graphs, the W3C test suite, and a reference.

Every pattern is one pass over the triples; the feature store's own source is osm/source.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.plan.algebra import TriplePattern, Var
from mapyard.sparql.run.table import expand, join_indexes
from mapyard.sparql.sources.source import Bound, Context, Matches, Position, Source
from mapyard.sparql.terms.ids import FIRST_SOURCE_SPACE, PAYLOAD, SHIFT, Ids, find_inline
from mapyard.sparql.terms.terms import Iri, Literal, Term

_SPACE: Final = FIRST_SOURCE_SPACE
Triple = tuple[Term, Term, Term]


class TripleGraph:
    """Triples of a default graph and of named graphs; duplicates within a graph are dropped."""

    def __init__(
        self, default: Iterable[Triple] = (), named: dict[Term, Iterable[Triple]] | None = None
    ) -> None:
        self._terms: list[Term] = []
        self._ids: dict[Term, int] = {}
        self._triples: dict[int | None, NDArray[np.int64]] = {None: self._encode(default)}
        for name, triples in (named or {}).items():
            self._triples[self._id(name)] = self._encode(triples)

    def _id(self, term: Term) -> int:
        found = self._ids.get(term) or find_inline(term)
        if found is None:
            found = self._ids[term] = _SPACE << SHIFT | len(self._terms)
            self._terms.append(term)
        return found

    def _encode(self, triples: Iterable[Triple]) -> NDArray[np.int64]:
        rows = {tuple(self._id(term) for term in triple) for triple in triples}
        return np.array(sorted(rows), np.int64).reshape(-1, 3)

    def find_id(self, term: Term) -> int | None:
        """Return the id of a term that occurs in the data."""
        return self._ids.get(term)

    def find_texts(self, texts: list[str]) -> Ids:
        """Return the ids of plain texts, 0 for those that do not occur."""
        return np.array([self._ids.get(Literal(text), 0) for text in texts], np.int64)

    def texts(self, ids: Ids) -> None:
        """Return nothing: terms of every kind share one space."""

    def decode(self, ids: Ids) -> Sequence[Term]:
        """Return the terms of ids."""
        return [self._terms[i] for i in (ids & PAYLOAD).tolist()]

    def select(self, default: Sequence[Iri], named: Sequence[Iri]) -> Source:
        """Return the dataset whose default graph merges `default`, with the `named` graphs."""
        chosen = object.__new__(TripleGraph)
        chosen._terms, chosen._ids = self._terms, self._ids
        none = np.empty((0, 3), np.int64)
        parts = [self._triples.get(self._id(iri), none) for iri in default]
        chosen._triples = {None: np.unique(np.concatenate([none, *parts]), axis=0)}
        for iri in named:
            chosen._triples[self._id(iri)] = self._triples.get(self._id(iri), none)
        return chosen

    def match(
        self, s: Position, p: Position, o: Position, graph: int | None, context: Context
    ) -> Iterator[Matches]:
        """Yield the triples of a pattern, all at once."""
        triples = self._triples.get(graph)
        if triples is None:
            return
        positions: list[Position] = [s, p, o]
        for column, position in enumerate(positions):
            if isinstance(position, int):
                triples = triples[triples[:, column] == position]
        arrays = [(i, a) for i, a in enumerate(positions) if isinstance(a, np.ndarray)]
        index: NDArray[Any] | None = None
        if arrays:
            length = len(arrays[0][1])
            counts, start, order = join_indexes(
                [a for _, a in arrays], [triples[:, i] for i, _ in arrays], length, len(triples)
            )
            index, place = expand(counts, start)
            triples = triples[order[place]]
        free = [triples[:, i] if positions[i] is None else None for i in range(3)]
        yield Matches(len(triples), index, free[0], free[1], free[2])

    def shorten(self, triples: tuple[TriplePattern, ...], unread: set[Var]) -> list[TriplePattern]:
        """Return the triples as they are."""
        return list(triples)

    def estimate(self, s: Bound, p: Bound, o: Bound, context: Context) -> float:
        """Return a count for constants, with a rough guess for bound variables."""
        triples = self._triples[None]
        for column, position in enumerate((s, p, o)):
            if isinstance(position, int):
                triples = triples[triples[:, column] == position]
        bound = sum(
            position is not None and not isinstance(position, int) for position in (s, p, o)
        )
        return float(len(triples) / 10**bound)

    def graphs(self, context: Context) -> Ids:
        """Return the ids of the named graphs."""
        return np.array([name for name in self._triples if name is not None], np.int64)

    def nodes(self, graph: int | None, context: Context) -> Ids | None:
        """Return all subjects and objects of a graph."""
        triples = self._triples.get(graph)
        if triples is None:
            return np.empty(0, np.int64)
        return np.unique(triples[:, [0, 2]])

    def count_by_predicate(self, context: Context) -> None:
        """Return nothing: counting goes the common way."""

    def count_by_object(self, predicate: int, context: Context) -> None:
        """Return nothing, likewise."""

    def shapes(self, ids: Ids) -> None:
        """Return nothing: geometries are WKT literals like any other."""

    def near(
        self, shape: Any, radius_m: float, predicates: Sequence[int], context: Context
    ) -> None:
        """Return nothing: there is no spatial index."""
