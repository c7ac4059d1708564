"""Solutions as SPARQL Results JSON, XML, CSV and TSV, and booleans; in chunks of bytes.

Every distinct term is written once per chunk and then put together by rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape
from typing import Final, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from mapyard.sparql.engine import Solutions
from mapyard.sparql.run.runtime import Runtime
from mapyard.sparql.run.table import Numbers, Table
from mapyard.sparql.sources.source import Texts
from mapyard.sparql.terms.ids import SHIFT, Ids, terms_of
from mapyard.sparql.terms.terms import (
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
    format_term,
    split_language,
)
from mapyard.sparql.terms.values import format_double
from mapyard.store.distinct import distinct

JSON_TYPE: Final = "application/sparql-results+json"
XML_TYPE: Final = "application/sparql-results+xml"
CSV_TYPE: Final = "text/csv"
TSV_TYPE: Final = "text/tab-separated-values"

#: Rows up to which terms are decoded one by one instead of each distinct one once.
_FEW: Final = 256
_CSV_QUOTED = re.compile(r'[,"\r\n]')
_TSV_ESCAPED = re.compile(r'[\x00-\x1f"\\<>{}|^`]')
_CONTROL: Final = {i: "�" for i in range(32) if i not in (9, 10, 13)}


class TermWriter(Protocol):
    """Writes terms of one format."""

    def term(self, term: Term) -> str:
        """Return one term."""
        ...

    def many(self, texts: Texts) -> list[str]:
        """Return many terms of one kind."""
        ...


def write_column(table: Table, name: str, runtime: Runtime, writer: TermWriter) -> list[str]:
    """Return the text of each entry of a column, "" where it is unbound."""
    column = table.columns.get(name)
    if isinstance(column, Numbers) and bool(column.valid.all()):
        return writer.many(Texts("literal", _format_doubles(column.values), XSD_DOUBLE))
    return write_terms(table.ids(name, runtime.pool), runtime, writer)


def _format_doubles(values: NDArray[np.float64]) -> list[str]:
    """Return `format_double` of many numbers."""
    if len(values) and bool(np.isfinite(values).all()):
        text = orjson.dumps(values.tolist()).decode()
        if "e" not in text:  # where there is an exponent the two differ in its form
            return text[1:-1].split(",")
    return [format_double(value) for value in values.tolist()]


def write_terms(ids: Ids, runtime: Runtime, writer: TermWriter) -> list[str]:
    """Return the text of each term, "" where there is none."""
    if len(ids) <= _FEW:
        return _write_distinct(ids, runtime, writer)
    unique, inverse = np.unique(ids, return_inverse=True)
    if len(unique) == len(ids):
        return _write_distinct(ids, runtime, writer)
    written = _write_distinct(unique, runtime, writer)
    result: list[str] = np.array(written, np.object_)[inverse].tolist()
    return result


def _write_distinct(ids: Ids, runtime: Runtime, writer: TermWriter) -> list[str]:
    texts = runtime.pool.texts(ids)
    if texts is not None:
        return writer.many(texts)
    kinds = np.maximum(ids >> SHIFT, -1)  # all negative ids are of one kind
    numbers = distinct(kinds).tolist()
    if len(numbers) == 1:
        return ["" if term is None else writer.term(term) for term in runtime.decode(ids)]
    result = np.empty(len(ids), np.object_)
    for number in numbers:
        chosen = kinds == number
        result[chosen] = _write_distinct(ids[chosen], runtime, writer)
    mixed: list[str] = result.tolist()
    return mixed


# JSON -------------------------------------------------------------------------------------------


def json_text(text: str) -> str:
    """Return a JSON string; lone surrogates, which no UTF-8 holds, are replaced."""
    try:
        return orjson.dumps(text).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(text.encode("utf-8", "replace").decode()).decode()


def json_texts(texts: list[str]) -> list[str]:
    """Return JSON strings without their quotes."""
    if not texts:
        return []
    try:
        # The quotes of one string and the next only meet between strings: others are escaped.
        return orjson.dumps(texts).decode()[2:-2].split('","')
    except orjson.JSONEncodeError:
        return [json_text(text)[1:-1] for text in texts]


class JsonTerms:
    """Terms as members of SPARQL Results JSON, each after a name."""

    def __init__(self, name: str) -> None:
        self._key = json_text(name) + ":"

    def term(self, term: Term) -> str:
        """Return one term."""
        return self._key + _json_term(term)

    def many(self, texts: Texts) -> list[str]:
        """Return many terms of one kind."""
        kind, values, datatype = texts
        name = {"iri": "uri", "bnode": "bnode", "literal": "literal"}[kind]
        head = f'{self._key}{{"type":"{name}","value":"'
        tail = '"}'
        if kind == "literal" and datatype != XSD_STRING:
            tail = f'","datatype":{json_text(datatype)}}}'
        return [f"{head}{value}{tail}" for value in json_texts(values)]


def _json_term(term: Term) -> str:
    if isinstance(term, Iri):
        return f'{{"type":"uri","value":{json_text(term.value)}}}'
    if isinstance(term, BlankNode):
        return f'{{"type":"bnode","value":{json_text(term.label)}}}'
    if isinstance(term, TripleTerm):
        parts = ",".join(
            f'"{name}":{_json_term(part)}' for name, part in zip(term._fields, term, strict=True)
        )
        return f'{{"type":"triple","value":{{{parts}}}}}'
    value = json_text(term.lexical)
    if term.language:
        language, direction = split_language(term.language)
        way = f',"its:dir":"{direction}"' if direction else ""
        return f'{{"type":"literal","value":{value},"xml:lang":"{language}"{way}}}'
    if term.datatype == XSD_STRING:
        return f'{{"type":"literal","value":{value}}}'
    return f'{{"type":"literal","value":{value},"datatype":{json_text(term.datatype)}}}'


def write_json(solutions: Solutions) -> Iterator[bytes]:
    """Yield SPARQL 1.1 Query Results JSON."""
    names = solutions.variables
    writers = [JsonTerms(name) for name in names]
    yield b'{"head":{"vars":' + orjson.dumps(names) + b'},"results":{"bindings":['
    separator = ""
    for table in solutions.pieces():
        if not table.length:
            continue
        columns = [
            write_column(table, name, solutions.runtime, writer)
            for name, writer in zip(names, writers, strict=True)
        ]
        if not names:
            rows = [""] * table.length
        elif all(all(column) for column in columns):
            rows = list(map(",".join, zip(*columns, strict=True)))
        else:
            rows = [",".join(filter(None, row)) for row in zip(*columns, strict=True)]
        # Nothing is put before or behind the joined text: it may be megabytes.
        rows[0] = f"{separator}{{{rows[0]}"
        rows[-1] += "}"
        yield "},{".join(rows).encode()
        separator = ","
    yield b"]}}"


def write_json_boolean(value: bool) -> bytes:
    """Return the answer of ASK."""
    return b'{"head":{},"boolean":' + (b"true" if value else b"false") + b"}"


class PlainTerms:
    """Terms by a function of one term."""

    def __init__(self, write: Callable[[Term], str]) -> None:
        self.term = write

    def many(self, texts: Texts) -> list[str]:
        """Return many terms of one kind."""
        return [self.term(term) for term in terms_of(texts)]


# XML --------------------------------------------------------------------------------------------

_ITS: Final = "http://www.w3.org/2005/11/its"
_XML_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>'
)


def _xml_text(text: str) -> str:
    return escape(text.translate(_CONTROL), quote=False)


def _xml_term(term: Term) -> str:
    if isinstance(term, Iri):
        return f"<uri>{_xml_text(term.value)}</uri>"
    if isinstance(term, BlankNode):
        return f"<bnode>{_xml_text(term.label)}</bnode>"
    if isinstance(term, TripleTerm):
        parts = zip(term._fields, map(_xml_term, term), strict=True)
        return f"<triple>{''.join(f'<{name}>{text}</{name}>' for name, text in parts)}</triple>"
    if term.language:
        language, direction = split_language(term.language)
        way = f' xmlns:its="{_ITS}" its:version="2.0" its:dir="{direction}"' if direction else ""
        return f'<literal xml:lang="{language}"{way}>{_xml_text(term.lexical)}</literal>'
    if term.datatype == XSD_STRING:
        return f"<literal>{_xml_text(term.lexical)}</literal>"
    datatype = escape(term.datatype.translate(_CONTROL))
    return f'<literal datatype="{datatype}">{_xml_text(term.lexical)}</literal>'


def write_xml(solutions: Solutions) -> Iterator[bytes]:
    """Yield SPARQL Query Results XML."""
    heads = "".join(f'<variable name="{name}"/>' for name in solutions.variables)
    yield f"{_XML_HEAD}{heads}</head><results>".encode()
    for table in solutions.pieces():
        columns = []
        for name in solutions.variables:
            head = f'<binding name="{name}">'
            columns.append(
                write_column(
                    table,
                    name,
                    solutions.runtime,
                    PlainTerms(lambda term, head=head: f"{head}{_xml_term(term)}</binding>"),  # type: ignore[misc] # bound now
                )
            )
        rows = zip(*columns, strict=True) if columns else iter([()] * table.length)
        yield "".join(f"<result>{''.join(row)}</result>" for row in rows).encode()
    yield b"</results></sparql>"


def write_xml_boolean(value: bool) -> bytes:
    """Return the answer of ASK."""
    return f"{_XML_HEAD}</head><boolean>{str(value).lower()}</boolean></sparql>".encode()


# CSV and TSV ------------------------------------------------------------------------------------


def _csv_term(term: Term) -> str:
    if isinstance(term, Literal):
        text = term.lexical
    elif isinstance(term, TripleTerm):
        text = format_term(term)
    else:
        text = term.value if isinstance(term, Iri) else f"_:{term.label}"
    if any(char in text for char in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _tsv_term(term: Term) -> str:
    if isinstance(term, Literal) and term.datatype in (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE):
        # Turtle's own short forms: a decimal has a point, a double an exponent.
        plain = term.lexical.lstrip("+-").replace(".", "", 1)
        exponent = plain.lower().replace("e+", "e").replace("e-", "e").replace("e", "", 1)
        if (
            (term.datatype == XSD_INTEGER and plain.isdigit() and "." not in term.lexical)
            or (term.datatype == XSD_DECIMAL and plain.isdigit() and "." in term.lexical)
            or (term.datatype == XSD_DOUBLE and exponent.isdigit() and "e" in plain.lower())
        ):
            return term.lexical
    return format_term(term)


class CsvTerms(PlainTerms):
    """Terms as fields of CSV."""

    def __init__(self) -> None:
        super().__init__(_csv_term)

    def many(self, texts: Texts) -> list[str]:
        """Return many terms of one kind."""
        kind, values, _ = texts
        if kind != "bnode" and not _CSV_QUOTED.search("".join(values)):
            return values
        return super().many(texts)


class TsvTerms(PlainTerms):
    """Terms as fields of TSV."""

    def __init__(self) -> None:
        super().__init__(_tsv_term)

    def many(self, texts: Texts) -> list[str]:
        """Return many terms of one kind."""
        kind, values, datatype = texts
        if kind == "bnode":
            return [f"_:{value}" for value in values]
        if datatype == XSD_INTEGER:
            return values
        if kind == "iri" and not _TSV_ESCAPED.search("".join(values)):
            return [f"<{value}>" for value in values]
        if kind == "literal" and not _TSV_ESCAPED.search("".join(values)):
            tail = '"' if datatype == XSD_STRING else f'"^^<{datatype}>'
            return [f'"{value}{tail}' for value in values]
        return super().many(texts)


def write_csv(solutions: Solutions) -> Iterator[bytes]:
    """Yield SPARQL 1.1 Query Results CSV: values without their types."""
    names = [_csv_term(Literal(name)) for name in solutions.variables]
    return _write_lines(solutions, ",".join(names) + "\r\n", CsvTerms(), ",", "\r\n")


def write_tsv(solutions: Solutions) -> Iterator[bytes]:
    """Yield SPARQL 1.1 Query Results TSV: terms as in Turtle."""
    head = "\t".join(f"?{name}" for name in solutions.variables) + "\n"
    return _write_lines(solutions, head, TsvTerms(), "\t", "\n")


def _write_lines(
    solutions: Solutions, head: str, writer: TermWriter, separator: str, end: str
) -> Iterator[bytes]:
    yield head.encode()
    for table in solutions.pieces():
        columns = [
            write_column(table, name, solutions.runtime, writer) for name in solutions.variables
        ]
        if not columns:
            yield (end * table.length).encode()
        elif table.length:
            rows = zip(*columns, strict=True)
            yield (end.join(map(separator.join, rows)) + end).encode("utf-8", "replace")
