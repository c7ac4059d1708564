"""RDF terms and XSD names: what the scalar functions and the writers work on."""

from __future__ import annotations

from typing import Final, NamedTuple

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
GEO: Final = "http://www.opengis.net/ont/geosparql#"

XSD_STRING: Final = XSD + "string"
XSD_BOOLEAN: Final = XSD + "boolean"
XSD_INTEGER: Final = XSD + "integer"
XSD_DECIMAL: Final = XSD + "decimal"
XSD_FLOAT: Final = XSD + "float"
XSD_DOUBLE: Final = XSD + "double"
XSD_DATETIME: Final = XSD + "dateTime"
XSD_DATE: Final = XSD + "date"
XSD_DURATION: Final = XSD + "dayTimeDuration"
XSD_MONTHS: Final = XSD + "yearMonthDuration"
XSD_YEAR: Final = XSD + "gYear"
XSD_YEAR_MONTH: Final = XSD + "gYearMonth"
RDF_LANG_STRING: Final = RDF + "langString"
#: Of texts with a language and a base direction, which `language` holds together: `ar--rtl`.
RDF_DIR_LANG_STRING: Final = RDF + "dirLangString"
DIRECTIONS: Final = ("ltr", "rtl")
RDF_TYPE: Final = RDF + "type"
WKT_LITERAL: Final = GEO + "wktLiteral"

INTEGER_TYPES: Final = frozenset(
    XSD + name
    for name in (
        "integer",
        "nonPositiveInteger",
        "negativeInteger",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
        "positiveInteger",
    )
)
NUMERIC_TYPES: Final = INTEGER_TYPES | {XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE}


class Iri(NamedTuple):
    """An IRI, without angle brackets."""

    value: str


class BlankNode(NamedTuple):
    """A blank node, by its label."""

    label: str
    kind: str = "bnode"  # keeps it unequal to Iri, which is a tuple of one text too


class Literal(NamedTuple):
    """A literal: lexical form, datatype IRI, language tag ("" when there is none).

    With a base direction the tag is `ar--rtl`, as it is written.
    """

    lexical: str
    datatype: str = XSD_STRING
    language: str = ""


class TripleTerm(NamedTuple):
    """A triple as a term: what is said, without being said."""

    subject: Iri | BlankNode
    predicate: Iri
    object: Iri | BlankNode | Literal | TripleTerm


Term = Iri | BlankNode | Literal | TripleTerm

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)
_IRI_ESCAPES = str.maketrans(
    {c: f"\\u{ord(c):04X}" for c in [*map(chr, range(0x21)), *'<>"{}|^`\\']}
)


def format_term(term: Term) -> str:
    """Return the term as N-Triples writes it; also a valid Turtle and TSV term."""
    if isinstance(term, Literal):
        text = f'"{term.lexical.translate(_ESCAPE_TABLE)}"'
        if term.language:
            return f"{text}@{term.language}"
        return text if term.datatype == XSD_STRING else f"{text}^^<{term.datatype}>"
    if isinstance(term, Iri):
        return f"<{term.value.translate(_IRI_ESCAPES)}>"
    if isinstance(term, TripleTerm):
        return f"<<( {' '.join(map(format_term, term))} )>>"
    return f"_:{term.label}"


def split_language(tag: str) -> tuple[str, str]:
    """Return language and base direction of a literal's tag, "" for what it has not."""
    language, _, direction = tag.partition("--")
    return language, direction


def boolean(value: bool) -> Literal:
    """Return the xsd:boolean literal."""
    return TRUE if value else FALSE


TRUE: Final = Literal("true", XSD_BOOLEAN)
FALSE: Final = Literal("false", XSD_BOOLEAN)
