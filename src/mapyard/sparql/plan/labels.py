"""`SERVICE wikibase:label`: names in the wanted languages, out of the map's own tags.

`?x` gets `?xLabel` out of `name:de`, `name:en`, `name`, in the order of the languages; `?xAltLabel`
and `?xDescription` likewise. Written as OPTIONALs and a BIND: nothing else has to know of it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mapyard.sparql.plan.algebra import (
    Bgp,
    Call,
    Expression,
    Extend,
    Join,
    LeftJoin,
    Pattern,
    Service,
    TriplePattern,
    Var,
)
from mapyard.sparql.plan.variables import visible
from mapyard.sparql.terms.prefixes import OSM, OSM_KEY, RDFS, WIKIBASE
from mapyard.sparql.terms.terms import Iri, Literal

LABEL_SERVICE: Final = WIKIBASE + "label"


class _Kind(NamedTuple):
    suffix: str
    predicate: str
    key: str


_KINDS: Final = (
    _Kind("AltLabel", "http://www.w3.org/2004/02/skos/core#altLabel", "alt_name"),
    _Kind("Description", "http://schema.org/description", "description"),
    _Kind("Label", RDFS + "label", "name"),
)
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]+)*")


def add_labels(group: Pattern, service: Service, names: frozenset[str]) -> Pattern:
    """Return the group with the labels that the service gives.

    `names` are all variables of the query: without triples of its own the service labels those of
    them that are called like another one with `Label`, `AltLabel` or `Description` behind.
    """
    triples = _triples(service.pattern)
    languages = [
        language
        for triple in triples
        if triple.predicate == Iri(WIKIBASE + "language") and isinstance(triple.object, Literal)
        for language in map(str.strip, triple.object.lexical.split(","))
        if _LANGUAGE.fullmatch(language) and language != "mul"
    ]
    bound = visible(group)
    wanted: list[tuple[Var, Var, _Kind]] = []
    for triple in triples:
        kind = next((k for k in _KINDS if triple.predicate == Iri(k.predicate)), None)
        if kind and isinstance(triple.subject, Var) and isinstance(triple.object, Var):
            wanted.append((triple.subject, triple.object, kind))
    if not wanted:
        for var in bound:
            wanted += [
                (var, Var(var.name + kind.suffix), kind)
                for kind in _KINDS
                if var.name + kind.suffix in names
            ]
    for var, label, kind in wanted:
        if label not in bound:
            group = _add(group, var, label, kind, languages)
    return group


def _triples(pattern: Pattern) -> list[TriplePattern]:
    match pattern:
        case Bgp(triples):
            return list(triples)
        case Join(left, right):
            return _triples(left) + _triples(right)
    return []


def _add(group: Pattern, var: Var, label: Var, kind: _Kind, languages: list[str]) -> Pattern:
    choices: list[Expression] = []
    for number, language in enumerate((*languages, "")):
        text = Var(f" {label.name} {number}")
        key = f"{kind.key}:{language}" if language else kind.key
        group = LeftJoin(group, Bgp((TriplePattern(var, Iri(OSM_KEY + key), text),)))
        choices.append(Call("STRLANG", (text, Literal(language))) if language else text)
    if kind.suffix == "Label":  # an element without a name is called by the end of its IRI
        ends = Literal(f"^{re.escape(OSM)}|^.*[/#]")
        name = Call("REPLACE", (Call("STR", (var,)), ends, Literal("")))
        choices.append(Call("IF", (Call("ISIRI", (var,)), name, Call("STR", (var,)))))
    return Extend(group, label, Call("COALESCE", tuple(choices)))


def is_label_service(service: Service) -> bool:
    """Return whether a SERVICE is that of labels."""
    return service.name == Iri(LABEL_SERVICE)
