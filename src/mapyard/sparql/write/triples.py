"""Triples as Turtle, N-Triples, RDF/XML and JSON-LD, in chunks of bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import batched, groupby
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import orjson

from mapyard.errors import Unsupported
from mapyard.sparql.engine import Triples
from mapyard.sparql.terms.terms import (
    RDF,
    RDF_TYPE,
    XSD_STRING,
    Iri,
    Literal,
    Term,
    TripleTerm,
    format_term,
    split_language,
)

TURTLE_TYPE: Final = "text/turtle"
N_TRIPLES_TYPE: Final = "application/n-triples"
RDF_XML_TYPE: Final = "application/rdf+xml"
JSON_LD_TYPE: Final = "application/ld+json"
#: What XML can name of the end of an IRI.
_NAME_AT_END = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*$")

_ITS: Final = "http://www.w3.org/2005/11/its"
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


def write_rdf_xml(triples: Triples) -> Iterator[bytes]:
    """Yield RDF/XML, one description per triple; raises Unsupported for what it cannot name."""
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<rdf:RDF xmlns:rdf="{RDF}">\n'.encode()
    for batch in batched(triples.triples, _BATCH, strict=False):
        yield "".join(_description(*triple) for triple in batch).encode("utf-8", "replace")
    yield b"</rdf:RDF>\n"


def _description(subject: Term, predicate: Term, target: Term) -> str:
    assert isinstance(predicate, Iri)
    found = _NAME_AT_END.search(predicate.value)
    if found is None:
        raise Unsupported(
            f"RDF/XML has no name for the predicate <{predicate.value}>; ask for text/turtle"
        )
    name, space = found[0], escape(predicate.value[: found.start()], {'"': "&quot;"})
    head = f'<p:{name} xmlns:p="{space}"'
    if isinstance(target, Literal):
        kind = ""
        if target.language:
            language, direction = split_language(target.language)
            kind = f" xml:lang={quoteattr(language)}"
            if direction:
                kind += f' xmlns:its="{_ITS}" its:version="2.0" its:dir="{direction}"'
        elif target.datatype != XSD_STRING:
            kind = f" rdf:datatype={quoteattr(target.datatype)}"
        value = f"{head}{kind}>{escape(target.lexical)}</p:{name}>"
    elif isinstance(target, TripleTerm):
        raise Unsupported("RDF/XML cannot hold triple terms here; ask for text/turtle")
    elif isinstance(target, Iri):
        value = f"{head} rdf:resource={quoteattr(target.value)}/>"
    else:
        value = f'{head} rdf:nodeID="{target.label}"/>'
    about = (
        f"rdf:about={quoteattr(subject.value)}"
        if isinstance(subject, Iri)
        else f'rdf:nodeID="{subject[0]}"'
    )
    return f"<rdf:Description {about}>{value}</rdf:Description>\n"


def write_json_ld(triples: Triples) -> Iterator[bytes]:
    """Yield JSON-LD in its expanded form: an object per subject in a row."""
    separator = b"["
    for subject, group in groupby(triples.triples, key=lambda triple: triple[0]):
        node: dict[str, list[object]] = {}
        for _, predicate, target in group:
            is_type = predicate == Iri(RDF_TYPE) and isinstance(target, Iri)
            key = "@type" if is_type else str(predicate[0])
            node.setdefault(key, []).append(target[0] if is_type else _json_value(target))
        yield separator + orjson.dumps({"@id": _json_name(subject), **node})
        separator = b",\n"
    yield b"]" if separator != b"[" else b"[]"


def _json_name(term: Term) -> str:
    return term.value if isinstance(term, Iri) else f"_:{term[0]}"


def _json_value(term: Term) -> dict[str, str]:
    if isinstance(term, TripleTerm):
        raise Unsupported("JSON-LD cannot hold triple terms; ask for text/turtle")
    if not isinstance(term, Literal):
        return {"@id": _json_name(term)}
    if term.language:
        language, direction = split_language(term.language)
        found = {"@value": term.lexical, "@language": language}
        return found | ({"@direction": direction} if direction else {})
    if term.datatype == XSD_STRING:
        return {"@value": term.lexical}
    return {"@value": term.lexical, "@type": term.datatype}
