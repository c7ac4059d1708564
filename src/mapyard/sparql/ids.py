"""Terms as 64-bit integers, so that joins, groups and comparisons never touch a Python object.

An id is `space << 56 | payload`; 0 is unbound. Equal terms always have equal ids: what a term's id
is depends on the term alone (and the source), never on where it came from.

| space | payload |
|---|---|
| 1 POOL | index into the terms of this query |
| 2 INTEGER | the value of a canonical xsd:integer, shifted to be positive |
| 3 DATETIME | Unix seconds of an xsd:dateTime in whole seconds with Z, shifted likewise |
| 16 … 127 | belong to the source |
| negative ids | belong to the source (63 bits of payload) |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.terms import (
    XSD_DATETIME,
    XSD_INTEGER,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
)
from mapyard.store.distinct import distinct

if TYPE_CHECKING:
    from mapyard.sparql.source import Source

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Kind = OneOf["iri", "bnode", "literal"]


class Texts(NamedTuple):
    """The texts of terms that are all IRIs, all blank nodes, or literals of one datatype."""

    kind: Kind
    values: list[str]
    datatype: str = ""


SHIFT: Final = 56
PAYLOAD: Final = (1 << SHIFT) - 1
UNBOUND: Final = 0
POOL: Final = 1
INTEGER: Final = 2
DATETIME: Final = 3
FIRST_SOURCE_SPACE: Final = 16

#: Texts that are looked up one by one; more go to the source together.
_FEW_TEXTS: Final = 8

_BIAS: Final = 1 << (SHIFT - 1)
_INTEGER_BASE: Final = (INTEGER << SHIFT) + _BIAS
_DATETIME_BASE: Final = (DATETIME << SHIFT) + _BIAS
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,15}")
_CANONICAL_DATETIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z")


def integer_ids(values: NDArray[Any]) -> Ids:
    """Return the ids of xsd:integer values below 2⁵⁵."""
    return np.asarray(values, np.int64) + _INTEGER_BASE


def datetime_ids(unix_s: NDArray[Any]) -> Ids:
    """Return the ids of xsd:dateTime values in UTC."""
    return np.asarray(unix_s, np.int64) + _DATETIME_BASE


def integer_values(ids: Ids) -> Ids:
    """Return the values of ids in INTEGER or DATETIME space."""
    return (ids & PAYLOAD) - _BIAS


def make_ids(space: int, payload: NDArray[Any]) -> Ids:
    """Return the ids of payloads in one space."""
    return np.asarray(payload, np.int64) | (space << SHIFT)


def spaces(ids: Ids) -> Ids:
    """Return the space of each id; negative for negative ids."""
    return ids >> SHIFT


def in_space(ids: Ids, space: int) -> bool:
    """Return whether there are ids and all are in one space."""
    if not len(ids):
        return False
    return bool(int(ids.min()) >> SHIFT == space and int(ids.max()) >> SHIFT == space)


class TermPool:
    """The terms of one query that have no id of their own, numbered as they come."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.terms: list[Term] = []
        self._ids: dict[Term, int] = {}

    def encode(self, term: Term) -> int:
        """Return the id of a term."""
        found = self._ids.get(term)
        if found is None:
            found = find_inline(term) or self._source.find_id(term)
            if found is None:
                found = POOL << SHIFT | len(self.terms)
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
            return [Literal(_format(v), XSD_DATETIME) for v in integer_values(ids).tolist()]
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
            return Texts("literal", list(map(_format, integer_values(ids).tolist())), XSD_DATETIME)
        return self._source.texts(ids)

    def decode_one(self, term_id: int) -> Term | None:
        """Return the term of one id."""
        return self.decode(np.array([term_id], np.int64))[0]


def terms_of(texts: Texts) -> Sequence[Term]:
    """Return texts of one kind as terms."""
    kind, values, datatype = texts
    if kind == "iri":
        return list(map(Iri, values))
    if kind == "bnode":
        return list(map(BlankNode, values))
    return [Literal(value, datatype) for value in values]


def _format(unix_s: int) -> str:
    return (_EPOCH + timedelta(seconds=unix_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_inline(term: Term) -> int | None:
    """Return the id of a term whose id is its value; None for others."""
    if isinstance(term, Literal):
        if term.datatype == XSD_INTEGER and _CANONICAL_INTEGER.fullmatch(term.lexical):
            return _INTEGER_BASE + int(term.lexical)
        if term.datatype == XSD_DATETIME:
            found = _CANONICAL_DATETIME.fullmatch(term.lexical)
            if found and int(found[1]) >= 1000:
                try:
                    when = datetime(*(int(g) for g in found.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type] # six ints
                except ValueError:
                    return None
                return _DATETIME_BASE + int((when - _EPOCH).total_seconds())
    return None
