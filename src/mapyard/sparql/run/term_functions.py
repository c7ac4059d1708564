"""Functions of SPARQL 1.2: triple terms, and texts with a base direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mapyard.sparql.terms.terms import (
    DIRECTIONS,
    RDF_DIR_LANG_STRING,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
    boolean,
    split_language,
)
from mapyard.sparql.terms.values import ExpressionError


def make_triple(subject: Term, predicate: Term, target: Term) -> TripleTerm:
    """TRIPLE."""
    if not isinstance(subject, Iri | BlankNode) or not isinstance(predicate, Iri):
        raise ExpressionError
    return TripleTerm(subject, predicate, target)


def _part(index: int) -> Callable[[Term], Term]:
    def apply(term: Term) -> Term:
        if not isinstance(term, TripleTerm):
            raise ExpressionError
        return term[index]

    return apply


def _language_direction(term: Term) -> Literal:
    if not isinstance(term, Literal):
        raise ExpressionError
    return Literal(split_language(term.language)[1])


def _with_direction(text: Term, language: Term, direction: Term) -> Literal:
    tag, way = _plain(language), _plain(direction)
    if not tag or "--" in tag or way not in DIRECTIONS:
        raise ExpressionError
    return Literal(_plain(text), RDF_DIR_LANG_STRING, f"{tag.lower()}--{way}")


def _plain(term: Term) -> str:
    if not isinstance(term, Literal) or term.datatype != XSD_STRING:
        raise ExpressionError
    return term.lexical


def _has(index: int) -> Callable[[Term], Literal]:
    return lambda term: boolean(
        isinstance(term, Literal) and bool(split_language(term.language)[index])
    )


TERM_FUNCTIONS: Final[dict[str, Callable[..., Term]]] = {
    "TRIPLE": make_triple,
    "SUBJECT": _part(0),
    "PREDICATE": _part(1),
    "OBJECT": _part(2),
    "ISTRIPLE": lambda term: boolean(isinstance(term, TripleTerm)),
    "LANGDIR": _language_direction,
    "STRLANGDIR": _with_direction,
    "HASLANG": _has(0),
    "HASLANGDIR": _has(1),
}
