"""Triples as Turtle and N-Triples, in chunks of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import batched
from typing import Final

from mapyard.sparql.engine import Triples
from mapyard.sparql.terms.terms import RDF_TYPE, Iri, Term, format_term

TURTLE_TYPE: Final = "text/turtle"
N_TRIPLES_TYPE: Final = "application/n-triples"

_BATCH: Final = 2000
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_:-]*[A-Za-z0-9_:-])?")


def write_n_triples(triples: Triples) -> Iterator[bytes]:
    """Yield N-Triples."""
    for batch in batched(triples.triples, _BATCH, strict=False):
        lines = (f"{format_term(s)} {format_term(p)} {format_term(o)} .\n" for s, p, o in batch)
        yield "".join(lines).encode("utf-8", "replace")


def write_turtle(triples: Triples) -> Iterator[bytes]:
    """Yield Turtle with the query's prefixes; triples of one subject in a row share it."""
    by_length = sorted(triples.prefixes.items(), key=lambda item: -len(item[1]))
    declared: set[str] = set()
    for batch in batched(triples.triples, _BATCH, strict=False):
        used: dict[str, str] = {}
        body: list[str] = []
        last: Term | None = None
        for subject, predicate, target in batch:
            verb = "a" if predicate == Iri(RDF_TYPE) else _shorten(predicate, by_length, used)
            value = _shorten(target, by_length, used)
            if subject == last:
                body.append(f" ;\n    {verb} {value}")
            else:
                body.append(" .\n" if last is not None else "")
                body.append(f"{_shorten(subject, by_length, used)} {verb} {value}")
                last = subject
        heads = [f"@prefix {p}: <{n}> .\n" for p, n in used.items() if p not in declared]
        declared.update(used)
        yield "".join([*heads, *body, " .\n"]).encode("utf-8", "replace")


def _shorten(term: Term, by_length: list[tuple[str, str]], used: dict[str, str]) -> str:
    """Return a term with a prefix where one fits; notes the prefix."""
    if isinstance(term, Iri):
        for prefix, namespace in by_length:
            if namespace and term.value.startswith(namespace):
                local = term.value[len(namespace) :]
                if _LOCAL.fullmatch(local):
                    used[prefix] = namespace
                    return f"{prefix}:{local}"
                break
    return format_term(term)
