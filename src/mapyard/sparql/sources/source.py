"""What the evaluator asks of the data: the seam between SPARQL and where triples come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mapyard.deadline import Deadline
from mapyard.sparql.plan.algebra import TriplePattern, Var
from mapyard.sparql.terms.ids import Ids, Mask, Texts
from mapyard.sparql.terms.terms import Iri, Term

#: One position of a pattern to match: free, one term, or one term per input row.
Position = int | Ids | None


class Matches(NamedTuple):
    """A chunk of matches.

    `rows` are the input rows of the matches (None when no position was an array); the others hold
    the ids of the positions that were free, None for the others.
    """

    length: int
    rows: NDArray[np.int64] | None
    subject: Ids | None = None
    predicate: Ids | None = None
    object: Ids | None = None


class Source(Protocol):
    """Triples by pattern. All methods may be called from several threads."""

    def find_id(self, term: Term) -> int | None:
        """Return the id of a term in the source's own spaces; None when it has none there."""
        ...

    def find_texts(self, texts: list[str]) -> Ids:
        """Return `find_id` of plain texts, 0 where it has none."""
        ...

    def texts(self, ids: Ids) -> Texts | None:
        """Return the texts of ids of one space of the source; None: ask `decode`."""
        ...

    def decode(self, ids: Ids) -> Sequence[Term]:
        """Return the terms of ids of one space of the source, where there are no `texts`."""
        ...

    def select(self, default: Sequence[Iri], named: Sequence[Iri]) -> Source:
        """Return the source with the dataset that FROM and FROM NAMED describe."""
        ...

    def match(
        self, s: Position, p: Position, o: Position, graph: int | None, context: Context
    ) -> Iterator[Matches]:
        """Yield the triples of a pattern in chunks; a triple once per input row that fits it.

        Args:
            s: subject; arrays of s, p and o have equal length.
            p: predicate.
            o: object.
            graph: id of a named graph, None for the default graph.
            context: term pool and deadline of the query.
        """
        ...

    def shorten(self, triples: tuple[TriplePattern, ...], unread: set[Var]) -> list[TriplePattern]:
        """Return triples that mean the same, fewer where the source knows a short cut.

        `unread` are the variables that nothing but these triples mentions.
        """
        ...

    def estimate(self, s: Bound, p: Bound, o: Bound, context: Context) -> float:
        """Return about how many triples match, per input row where a position is BOUND."""
        ...

    def graphs(self, context: Context) -> Ids:
        """Return the ids of the named graphs."""
        ...

    def nodes(self, graph: int | None, context: Context) -> Ids | None:
        """Return all subjects and objects of a graph, where `path*` may start; None: too many."""
        ...

    def count_by_predicate(self, context: Context) -> tuple[Ids, NDArray[np.int64]] | None:
        """Return the predicates and how many triples each has, if that is known cheaply."""
        ...

    def count_by_object(
        self, predicate: int, context: Context
    ) -> tuple[Ids, NDArray[np.int64]] | None:
        """Return the objects of a predicate, sorted, and how many triples each has, likewise."""
        ...

    def shapes(self, ids: Ids) -> NDArray[np.object_] | None:
        """Return shapely geometries of ids of the source; None where they are no geometries."""
        ...

    def near(
        self, shape: Any, radius_m: float, predicates: Sequence[int], context: Context
    ) -> Ids | None:
        """Return the sorted ids of subjects that may be that near a shape; None: no index.

        `predicates` are those that the subject is known to have.
        """
        ...


class _BoundMark:
    """Marks a position whose variable is bound before."""


BOUND = _BoundMark()
Bound = int | _BoundMark | None


class Context(Protocol):
    """What a source may use of the running query."""

    deadline: Deadline

    def encode(self, term: Term) -> int:
        """Return the id of a term."""
        ...

    def decode(self, ids: Ids) -> Sequence[Term | None]:
        """Return the terms of ids."""
        ...


__all__ = ["BOUND", "Bound", "Context", "Mask", "Matches", "Position", "Source", "Texts"]
