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
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from mapyard.sparql.terms.terms import (
    XSD_DATETIME,
    XSD_INTEGER,
    BlankNode,
    Iri,
    Literal,
    Term,
)

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


def terms_of(texts: Texts) -> Sequence[Term]:
    """Return texts of one kind as terms."""
    kind, values, datatype = texts
    if kind == "iri":
        return list(map(Iri, values))
    if kind == "bnode":
        return list(map(BlankNode, values))
    return [Literal(value, datatype) for value in values]


def format_datetime(unix_s: int) -> str:
    """Return the lexical form of a point in time, whole seconds."""
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
