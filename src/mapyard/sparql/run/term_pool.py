"""The terms of one query: those with an id of their own, and those numbered as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from mapyard.sparql.sources.source import Source
from mapyard.sparql.terms.ids import (
    DATETIME,
    INTEGER,
    PAYLOAD,
    POOL,
    SHIFT,
    UNBOUND,
    Ids,
    Texts,
    find_inline,
    format_datetime,
    integer_values,
    terms_of,
)
from mapyard.sparql.terms.terms import XSD_DATETIME, XSD_INTEGER, XSD_STRING, Literal, Term
from mapyard.store.distinct import distinct

#: About what a term of the pool takes besides its text: tuple, index, place in a list.
TERM_BYTES: Final = 300
#: Texts that are looked up one by one; more go to the source together.
_FEW_TEXTS: Final = 8


class TermPool:
    """The terms of one query that have no id of their own, numbered as they come."""

    def __init__(self, source: Source, spend: Callable[[int], None] | None = None) -> None:
        """Make an empty pool; `spend` is told the bytes of each new term, and may raise."""
        self._source = source
        self._spend = spend
        self.terms: list[Term] = []
        self._ids: dict[Term, int] = {}

    def encode(self, term: Term) -> int:
        """Return the id of a term."""
        found = self._ids.get(term)
        if found is None:
            found = find_inline(term) or self._source.find_id(term)
            if found is None:
                found = POOL << SHIFT | len(self.terms)
                if self._spend is not None:
                    self._spend(TERM_BYTES + len(term[0]))
                self.terms.append(term)
            self._ids[term] = found
        return found

    def encode_many(self, terms: Iterable[Term | None]) -> Ids:
        """Return the ids of terms; None is unbound."""
        terms = list(terms)
        encode, known = self.encode, self._ids
        texts = [
            t
            for t in dict.fromkeys(terms)
            if isinstance(t, Literal) and t.datatype == XSD_STRING and t not in known
        ]
        if len(texts) > _FEW_TEXTS:
            found = self._source.find_texts([t.lexical for t in texts])
            if self._spend is not None:
                self._spend(sum(TERM_BYTES + len(text.lexical) for text in texts))
            for text, term_id in zip(texts, found.tolist(), strict=True):
                if not term_id:
                    term_id = POOL << SHIFT | len(self.terms)
                    self.terms.append(text)
                known[text] = term_id
        return np.array(
            [0 if t is None else known.get(t) or encode(t) for t in terms], dtype=np.int64
        )

    def decode(self, ids: Ids) -> Sequence[Term | None]:
        """Return the terms of ids, in order; None for unbound."""
        if not len(ids):
            return []
        space = ids >> SHIFT
        first = int(space[0])
        if first >= 0 and (len(ids) == 1 or bool((space == first).all())):
            return self._decode_space(first, ids)
        result = np.full(len(ids), None, np.object_)
        for number in distinct(np.where(space < 0, -1, space)).tolist():
            mask = space < 0 if number < 0 else space == number
            part = self._decode_space(number, ids[mask])
            holder = np.empty(len(part), np.object_)
            for index, term in enumerate(part):
                holder[index] = term  # a term is a tuple: numpy would spread it
            result[mask] = holder
        return result.tolist()

    def _decode_space(self, space: int, ids: Ids) -> Sequence[Term | None]:
        if space == POOL:
            terms = self.terms
            return [terms[i] for i in (ids & PAYLOAD).tolist()]
        if space == INTEGER:
            return [Literal(str(v), XSD_INTEGER) for v in integer_values(ids).tolist()]
        if space == DATETIME:
            return [Literal(format_datetime(v), XSD_DATETIME) for v in integer_values(ids).tolist()]
        if space == UNBOUND:
            return [None] * len(ids)
        texts = self._source.texts(ids)
        if texts is None:
            return self._source.decode(ids)
        return terms_of(texts)

    def texts(self, ids: Ids) -> Texts | None:
        """Return the texts of ids if they are all of one space, and of one kind for sure."""
        if not len(ids):
            return None
        space = int(ids[0]) >> SHIFT
        if space in (UNBOUND, POOL):
            return None
        if len(ids) > 1:
            found = ids >> SHIFT
            if space >= 0:
                if not bool((found == space).all()):
                    return None
            elif not bool((found < 0).all()):
                return None
        if space == INTEGER:
            return Texts("literal", list(map(str, integer_values(ids).tolist())), XSD_INTEGER)
        if space == DATETIME:
            return Texts(
                "literal", list(map(format_datetime, integer_values(ids).tolist())), XSD_DATETIME
            )
        return self._source.texts(ids)

    def decode_one(self, term_id: int) -> Term | None:
        """Return the term of one id."""
        return self.decode(np.array([term_id], np.int64))[0]
